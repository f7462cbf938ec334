"""Canaries: records planted in a file that nobody else is like, and the search for them in whatever comes out.

`canary_frame` plants them, `outputs_of` collects everything a method gives out, and `sightings` says which canary is
seen where: as text, as a number in an array, or through what can be computed (largest value, first date, number of
rows).
"""

from __future__ import annotations

import datetime as dt
import io
import json
import logging
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from dalenius.core.errors import DaleniusError
from dalenius.data import Column, Kind, Schema, Table
from dalenius.data.frames import open_frame
from dalenius.synth import Method, Synthesizer, load_model, save_model

TEXT = "kanarie text: the only twin born at sea"
CATEGORY = "kanarie-category"
UNUSED = "kanarie-unused"
INDEX = "kanarie-index"
FIRM = "kanarie-firm"
PERSON = "kanarie-person"
WORDS = (TEXT, CATEGORY, UNUSED, INDEX, FIRM, PERSON)
NUMBER = 98_765_432.25
DAY = dt.date(1871, 2, 3)
MOMENT = dt.datetime(2131, 7, 9, 13, 47, 11)
ROWS, LARGE = 260, 400
"""Rows of the others, and of the firm that owns more than all of them."""
FRAMES = ("pandas", "polars", "pyarrow", "dict", "duckdb")


@cache
def canary_frame() -> pl.DataFrame:
    """A file of firms and their people in which one record and one firm are like no other."""
    rng = np.random.default_rng(7)
    rows = ROWS + LARGE
    owners = [f"firm {i % 90}" for i in range(ROWS)] + [FIRM] * LARGE
    remarks = rng.choice(["well", "ill", "moved away"], rows).tolist()
    area = rng.choice(["north", "south", "west"], rows).tolist()
    born = [dt.date(1950, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 18_000, rows)]
    seen = [dt.datetime(2024, 1, 1) + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 3e7, rows)]
    income = np.round(rng.lognormal(7, 0.5, rows), 2)
    remarks[5], area[5], born[5], seen[5], income[5] = TEXT, CATEGORY, DAY, MOMENT, NUMBER
    persons = [f"{PERSON}-{i}" for i in range(rows)]
    grades = pl.Series(rng.choice(["low", "high"], rows), dtype=pl.Enum(["low", "high", UNUSED]))
    return pl.DataFrame(
        {
            "firm": owners, "person": persons, "sex": rng.choice(["f", "m"], rows), "area": area, "grade": grades,
            "remark": remarks, "income": income, "born": born, "seen": seen,
        }
    )  # fmt: skip


DOMAIN = (
    Column("sex", Kind.CATEGORICAL, levels=("f", "m"), domain="declared"),
    Column("area", Kind.CATEGORICAL, levels=("north", "south", "west"), domain="declared"),
    Column("grade", Kind.CATEGORICAL, levels=("low", "high"), domain="declared"),
    Column("income", Kind.CONTINUOUS, bounds=(0, 20_000), decimals=2, domain="declared"),
    Column("born", Kind.DATETIME, bounds=("1940-01-01", "2010-01-01"), domain="declared"),
    Column("seen", Kind.DATETIME, bounds=("2024-01-01", "2025-01-01"), domain="declared"),
)
"""What everybody knows about the columns: nothing of the canaries."""


def canary_schema(frame: Any = None, *, declared: bool = False) -> Schema:
    """Who owns rows, and that remarks are free text; and the public domain of the others if wanted."""
    schema = Schema.infer(canary_frame() if frame is None else frame).with_roles(
        entity="firm", identifier="person"
    )
    return schema.replace_columns(Column("remark", Kind.TEXT), *(DOMAIN if declared else ()))


@cache
def as_frame(kind: str) -> Any:
    """The file as each type of frame; pandas has an index of names."""
    frame = canary_frame()
    if kind == "pandas":
        index = pd.Index([f"{INDEX}-{i}" for i in range(frame.height)], name=INDEX)
        return frame.to_pandas().set_axis(index)
    return Table.from_frame(frame, canary_schema()).to_frame(kind)


@cache
def as_table(kind: str, declared: bool = False) -> Table:
    """The file read from each type of frame, with what is known of it; a free text has no domain."""
    frame = as_frame(kind)
    if not declared:
        return Table.from_frame(frame, canary_schema(frame))
    schema = canary_schema(frame, declared=True).blind()
    return Table.from_frame(frame, schema).drop(["remark"])


def outputs_of(synthesizer: Method, table: Table, folder: Path, *, files: bool = True) -> dict[str, Any]:
    """Everything a method gives out: frames, files, models, texts on the way."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        model = synthesizer.fit(table, seed=1) if isinstance(synthesizer, Synthesizer) else None
        drawn = synthesizer.make(table, seed=1).table if model is None else model.sample(seed=2)
        out: dict[str, Any] = {"table": drawn, "frame": drawn.to_frame(), "rows": drawn.rows}
        out["repr"] = [repr(x) + str(x) for x in (model, synthesizer, drawn, drawn.schema, out["frame"])]
        out["notes"] = list(synthesizer.make(table, seed=1).notes if model is None else model.notes)
        out["schema"] = drawn.schema.to_yaml()
        if files:
            out |= written(drawn)
        if files and model is not None:
            save_model(model, folder / "model")
            out["model"] = (folder / "model").read_bytes()
            out["reopened"] = load_model(folder / "model").sample(seed=2).to_frame("polars")
        out["errors"] = list(_errors(synthesizer, table))
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(level)
    out["log"] = log.getvalue()
    return out


def written(drawn: Table) -> dict[str, bytes]:
    """The drawn table as files of several kinds."""
    pandas, polars = drawn.to_frame("pandas"), drawn.to_frame("polars")
    own = drawn.to_frame()
    held = {"csv": pandas.to_csv().encode(), "json": polars.write_json().encode()}
    for name, write in (("parquet", polars.write_parquet), ("ipc", polars.write_ipc)):
        buffer = io.BytesIO()
        write(buffer, compression="uncompressed")
        held[name] = buffer.getvalue()
    if isinstance(own, pa.Table | pd.DataFrame):
        buffer = io.BytesIO()
        pq.write_table(
            own if isinstance(own, pa.Table) else pa.Table.from_pandas(own), buffer, compression="none"
        )
        held["own parquet"] = buffer.getvalue()
    return held


def _errors(synthesizer: Method, table: Table) -> Iterator[str]:
    """Messages of calls that must fail on this file."""
    schema = table.schema
    for wrong in (
        *([schema.replace_columns(Column("remark", Kind.INTEGER))] if "remark" in table else []),
        schema.replace_columns(Column("area", Kind.CATEGORICAL, levels=("north",), domain="declared")),
        schema.replace_columns(Column("born", Kind.INTEGER)),
    ):
        try:
            synthesizer.make(Table.from_frame(table.to_frame(), wrong), seed=1)
        except DaleniusError as error:
            yield str(error)


def sightings(outputs: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Which canary is seen in which output."""
    seen: set[tuple[str, str]] = set()
    for name, thing in outputs.items():
        if name == "rows":
            seen |= {(name, "outlier unit")} if thing > ROWS + 0.75 * LARGE else set()
        elif name in ("frame", "reopened", "table"):
            seen |= {(name, what) for what in _in_frame(thing)}
        elif name.endswith("parquet"):
            read = pq.read_table(io.BytesIO(thing))
            seen |= {(name, what) for what in _in_frame(read) | _in_text(_spelled(thing))}
        elif name == "model":
            seen |= {(name, what) for what in _in_archive(thing)}
        else:
            seen |= {(name, what) for what in _in_text(_spelled(thing))}
    return seen


def _spelled(thing: Any) -> str:
    if isinstance(thing, bytes):
        return thing.decode("utf-8", "ignore")
    return thing if isinstance(thing, str) else json.dumps(thing, default=str, ensure_ascii=False)


def _in_text(text: str) -> set[str]:
    marks = {word: word for word in WORDS}
    marks |= {"98765432": "number", "98,765,432": "number", "1871-02-03": "day", "2131-07-09": "moment"}
    return {what for mark, what in marks.items() if mark in text}


def _in_frame(frame: Any) -> set[str]:
    seen: set[str] = set()
    if isinstance(frame, pd.DataFrame):
        seen |= _in_text(" ".join(map(str, [*frame.index, frame.index.name, frame.attrs])))
    origin, raws = open_frame(frame.to_frame() if isinstance(frame, Table) else frame)
    kinds = [getattr(dtype, "categories", ()) for dtype in origin.dtypes.values()]
    listed = [str(value) for held in kinds if hasattr(held, "__iter__") for value in held]
    for raw in raws:
        listed += [str(level) for level in raw.levels or ()]
        if raw.storage in ("integer", "float") and raw.present.any() and raw.name == "income":
            seen |= {"number"} if raw.data[raw.present].max() > NUMBER / 4 else set()
        if raw.storage == "datetime" and raw.present.any():
            years = raw.data[raw.present].astype("datetime64[us]").astype("datetime64[Y]").astype(int) + 1970
            seen |= {"day"} if years.min() < 1930 else set()
            seen |= {"moment"} if years.max() > 2050 else set()
    return seen | _in_text(" ".join(listed))


def _in_archive(content: bytes) -> set[str]:
    """Canaries in a file of JSON and arrays."""
    seen: set[str] = set()
    epoch = dt.datetime(1970, 1, 1)
    day = (dt.datetime(DAY.year, DAY.month, DAY.day) - epoch) // dt.timedelta(microseconds=1)
    moment = (MOMENT - epoch) // dt.timedelta(microseconds=1)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.namelist():
            held = archive.read(entry)
            if not entry.endswith(".npy"):
                seen |= _in_text(held.decode())
                continue
            array = np.load(io.BytesIO(held), allow_pickle=False)
            for name in array.dtype.names or ("",):
                part = array[name] if name else array
                if part.dtype.kind in "iuf":
                    seen |= {"number"} if (part == NUMBER).any() else set()
                    seen |= {"day"} if np.isin(part, [day, day * 1000]).any() else set()
                    seen |= {"moment"} if np.isin(part, [moment, moment * 1000]).any() else set()
    return seen
