"""Every registered masker: real rows changed, a lens that tells how, nothing else touched, no value in an error."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from dalenius import Candidate, Pair
from dalenius.core.errors import DaleniusError
from dalenius.data import Column, Kind, Schema, Table, examples
from dalenius.data.lens_file import read_lens, write_lens
from dalenius.data.steps.step import differs
from dalenius.synth import METHODS

MASKERS = [name for name in METHODS if METHODS[name].info.masks]
SEEDABLE = [name for name in MASKERS if METHODS[name].info.seedable]
COLUMNS = [
    "person_id",
    "household_id",
    "region",
    "sex",
    "age",
    "marital",
    "education",
    "income",
    "diagnosis",
    "weight",
    "longitude",
    "latitude",
]
EXTRA: dict[str, dict[str, Any]] = {"coarsen-date": {"column": "born"}}
"""What a masker needs beyond the options of its example."""


@cache
def survey(rows: int = 300, seed: int = 4) -> Table:
    frame = examples.survey(rows, seed=seed).select(COLUMNS)
    born = pl.Series("born", [dt.date(1940, 1, 1) + dt.timedelta(37 * i) for i in range(rows)])
    schema = examples.survey_schema().select(COLUMNS)
    column = Column("born", Kind.DATETIME)
    full = Schema((*schema.columns, column)).with_roles(keys=["region", "sex", "age"], targets=["diagnosis"])
    return Table.from_frame(frame.with_columns(born), full)


def candidate(name: str) -> Candidate:
    return Candidate(name, {**METHODS[name].info.example_options, **EXTRA.get(name, {})})


@pytest.mark.parametrize("name", MASKERS)
def test_rows_are_the_original_s_and_the_lens_says_what_changed(name: str, tmp_path) -> None:
    table = survey()
    made = candidate(name).make(table, seed=1)
    lens = made.lens()
    assert lens is not None
    assert len(lens.links) == made.table.rows
    assert len(np.unique(lens.links)) == made.table.rows, "nobody comes out twice"
    assert not np.array_equal(lens.links, np.sort(lens.links)), "the order of the rows tells nothing"
    assert not {"person_id", "household_id"} & set(made.table.names)
    changed = {*lens.mapped, *lens.perturbed, *lens.gaps}
    own = table.take(lens.links)
    for column in made.table.names:
        if column not in changed:
            assert not differs(own[column], made.table[column]).any(), column
    pair = Pair(table, made.table, lens=lens, keys=[k for k in ("region", "sex", "age") if k in made.table])
    for column in lens.mapped:  # through the maps and with its gaps a column is what was released
        if column in made.table and column not in lens.perturbed:
            seen, out = pair.original.take(lens.links)[column], pair.protected[column]
            assert not differs(seen, out).any(), column
    write_lens(lens, tmp_path / "x.lens")
    again = read_lens(tmp_path / "x.lens")
    assert str(again) == str(lens)
    assert again.see_own(table).to_frame("polars").equals(lens.see_own(table).to_frame("polars"))


@pytest.mark.parametrize("name", SEEDABLE)
def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    table = survey()
    first = digest(candidate(name).make(table, seed=5).table)
    several = candidate(name).make(table, copies=2, seed=5)
    assert digest(several.tables[0]) == first
    assert digest(several.tables[1]) == digest(candidate(name).make(table, seed=5, first=1).table)


def digest(table: Table) -> str:
    return hashlib.sha256(table.to_frame("polars").write_csv().encode()).hexdigest()


@cache
def odd_files() -> dict[str, pl.DataFrame]:
    rows = 300
    plain = survey(rows).to_frame("polars")
    missing = plain.with_columns(*(pl.lit(None, plain[n].dtype).alias(n) for n in ("age", "income", "sex")))
    constant = plain.with_columns(
        pl.lit(40).alias("age"), pl.lit(7000.5).alias("income"), pl.lit("f").alias("sex")
    )
    pay = plain["income"].cast(pl.Float64).scatter(3, np.inf)
    infinite = plain.with_columns(pay.alias("income"))
    many = plain.with_columns(pl.Series("region", [f"ZZSECRET{i}" for i in range(rows)]))
    odd = {"missing": missing, "constant": constant, "infinite": infinite, "many": many}
    return {**odd, "one": plain[:1], "none": plain[:0]}


@pytest.mark.parametrize("file", ["missing", "constant", "infinite", "many", "one", "none"])
@pytest.mark.parametrize("name", MASKERS)
def test_odd_files_are_masked_or_refused_in_words(name: str, file: str) -> None:
    whole = odd_files()[file]
    frame = whole.select(n for n in whole.columns if n not in ("person_id", "household_id"))
    kinds = survey(10).schema.select(frame.columns)
    columns = [
        Column(c.name, Kind.CONTINUOUS if c.name == "income" else c.kind, roles=c.roles) for c in kinds
    ]
    table = Table.from_frame(frame, Schema(tuple(columns)))
    told, made = "", None
    try:
        made = candidate(name).make(table, seed=2)
    except DaleniusError as error:
        told = str(error)
    assert "ZZSECRET" not in told
    assert len(told) < 1000
    assert bool(told) != (made is not None and made.table.rows <= table.rows)


@pytest.mark.parametrize("name", MASKERS)
def test_what_a_steward_must_know_is_there(name: str) -> None:
    info = METHODS[name].info
    assert info.plain
    assert info.meaning
    assert info.reference
    assert candidate(name).cost(survey(50)).seconds > 0


SCRIPT = """
from tests.common.test_maskers import SEEDABLE, candidate, digest, survey
table = survey(1500)
print(*(digest(candidate(name).make(table, seed=5).table) for name in SEEDABLE))
"""


@pytest.mark.slow
def test_one_and_eight_threads_give_the_same_bytes() -> None:
    said = []
    for threads in ("1", "8"):
        environment = {
            **os.environ,
            "NUMBA_NUM_THREADS": threads,
            "OMP_NUM_THREADS": threads,
            "POLARS_MAX_THREADS": threads,
        }
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        said.append(done.stdout.split())
    assert len(said[0]) == len(SEEDABLE)
    assert said[0] == said[1]
