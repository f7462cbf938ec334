"""What reading a file will take, from its own words about its size: asked before memory runs out."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from dalenius.core.cost import Cost, free_bytes, size
from dalenius.core.errors import DataError

CELL_SECONDS, CELL_BYTES = 6e-8, 16.0
"""CPU seconds and peak bytes of a cell of a Parquet file that is read (measured with 15 mixed columns)."""
SURE = 0.75
"""Share of the forecast that must fit: a file is refused only where it cannot be read."""


def reading_cost(path: str | Path) -> Cost | None:
    """Expected time and memory of reading a Parquet file; None for files that do not say how many rows they have.

    Examples
    --------
    >>> import tempfile, dalenius
    >>> file = Path(tempfile.mkdtemp()) / "people.parquet"
    >>> dalenius.write({"age": list(range(1000))}, file)
    >>> reading_cost(file).bytes, reading_cost("people.csv")
    (16000.0, None)
    """
    if not str(path).lower().endswith((".parquet", ".pq")):
        return None
    try:
        about = pa.parquet.read_metadata(path)
    except (OSError, pa.ArrowException):
        return None  # reading it says better what is wrong
    cells = about.num_rows * about.num_columns
    return Cost(CELL_SECONDS * cells, CELL_BYTES * cells)


def refuse_too_large(path: str | Path) -> None:
    """Raise where a file cannot be read into the memory that is free."""
    cost = reading_cost(path)
    free = free_bytes()
    if cost is not None and SURE * cost.bytes > free:
        raise DataError(
            f"{path}: reading it takes about {size(cost.bytes)} of memory and {size(free)} are free; read it in parts "
            "(--stream, with methods and measures that need counts alone), or make a smaller file"
        )
