"""Files that end in .pipe: columns between vertical bars."""

from __future__ import annotations

from pathlib import Path

import polars as pl


def read_pipe(path: Path) -> pl.DataFrame:
    """A frame of any kind that Dalenius takes; kinds of columns are inferred from it."""
    return pl.read_csv(path, separator="|")
