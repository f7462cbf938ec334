"""Files of R: one data frame in an .rds file, or the only one in an .rda file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dalenius.core.errors import FileError, MissingExtraError, OptionError, names
from dalenius.data.files.access import damage_reported, existing
from dalenius.data.schema import Schema
from dalenius.data.table import Table


def read_r(path: str | Path, schema: Schema | None = None, *, sheet: str | None = None) -> Table:
    """Read a data frame of R; ``sheet`` names it where an .rda file holds several. Factors become categories."""
    path = existing(path)
    try:
        import pyreadr  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError("pyreadr", "files", "read files of R") from None
    with damage_reported(path, "a file of R"):
        objects: dict[Any, Any] = dict(pyreadr.read_r(str(path)))
    if not objects:
        raise FileError(f"{path}: holds no data frame; save one with saveRDS in R")
    if sheet is not None and sheet not in objects:
        raise OptionError(
            f"{path}: there is no data frame {sheet!r}; there are {names([str(n) for n in objects])}"
        )
    if sheet is None and len(objects) > 1:
        raise FileError(
            f"{path}: holds several data frames; name one of {names([str(n) for n in objects])} as sheet"
        )
    return Table.from_frame(objects[sheet if sheet is not None else next(iter(objects))], schema)
