"""SDMX-CSV 2.0: one row an observation, with observation status and confidentiality codes.

Codes of the cross-domain code lists: OBS_STATUS A (normal) and Q (missing because suppressed); CONF_STATUS F (free),
C (confidential, primary) and D (secondary confidentiality); a public file says C for all suppressed cells.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from dalenius.core.errors import DataError
from dalenius.tables.formats.csvtext import read_text, write_text
from dalenius.tables.formats.tablefile import TableFile

STRUCTURE = ("STRUCTURE", "STRUCTURE_ID", "ACTION")
ATTRIBUTES = ("OBS_VALUE", "OBS_STATUS", "CONF_STATUS", "DECIMALS", "COMMENT_OBS")
CONF = {"": "F", "c": "C", "u": "C", "x": "D", "w": "N"}
STATUS = {"": "A", "c": "Q", "u": "Q", "x": "Q", "w": "M"}


def write(table: TableFile, path: Path) -> None:
    """Write SDMX-CSV."""
    comment = table.notes[0] if table.unsafe else None
    count = len(table.flags)
    frame = pl.DataFrame(
        {"STRUCTURE": ["dataflow"] * count, "STRUCTURE_ID": [f"DALENIUS:{table.measure.upper()}(1.0)"] * count,
         "ACTION": ["I"] * count}
    )  # fmt: skip
    clash = [name for name in table.cells.columns if name in (*STRUCTURE, *ATTRIBUTES)]
    if clash:
        raise DataError(f"column {clash[0]!r} has a name of SDMX; rename it")
    frame = frame.hstack(table.cells).with_columns(
        pl.Series("OBS_VALUE", table.texts, dtype=pl.String),
        pl.Series("OBS_STATUS", [STATUS[flag] for flag in table.flags]),
        pl.Series("CONF_STATUS", [CONF[flag] for flag in table.flags]),
        pl.lit(table.decimals).alias("DECIMALS"),
        pl.lit(comment, dtype=pl.String).alias("COMMENT_OBS"),
    )
    write_text(frame, path)


def read(path: Path) -> TableFile:
    """Read SDMX-CSV 1.0 or 2.0; without attributes an empty value counts as confidential."""
    frame = read_text(path)
    if "OBS_VALUE" not in frame.columns:
        raise DataError("there is no column OBS_VALUE; this is not SDMX-CSV")
    known = (*STRUCTURE, *ATTRIBUTES, "DATAFLOW")
    cells = frame.select([name for name in frame.columns if name not in known])
    values = frame["OBS_VALUE"].cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
    conf = (
        frame["CONF_STATUS"].to_list()
        if "CONF_STATUS" in frame.columns
        else ["C" if np.isnan(v) else "F" for v in values]
    )
    internal = "D" in conf
    letters = {"C": "u" if internal else "c", "D": "x", "N": "w", "S": "x", "F": "", None: ""}
    structure = (
        frame["STRUCTURE_ID"][0] if "STRUCTURE_ID" in frame.columns and len(frame) else "DALENIUS:VALUE"
    )
    measure = str(structure).partition(":")[2].partition("(")[0].lower() or "value"
    places = [len(t.partition(".")[2]) for t in frame["OBS_VALUE"].drop_nulls().to_list()]
    decimals = (
        int(frame["DECIMALS"][0]) if "DECIMALS" in frame.columns and len(frame) else max(places, default=0)
    )
    note = frame["COMMENT_OBS"][0] if "COMMENT_OBS" in frame.columns and len(frame) else None
    return TableFile(
        cells, values, [letters[c] for c in conf], measure, decimals, {}, () if note is None else (note,)
    )
