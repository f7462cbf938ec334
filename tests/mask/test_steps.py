"""What every step that masks owes: the same bytes on any number of threads, faults in one error without values."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest

from dalenius import Candidate
from dalenius.core.errors import DaleniusError, OptionError
from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo
from dalenius.data import examples
from dalenius.data.recipe import Recipe
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.steps import Round
from dalenius.data.steps.step import STEPS, Masked, Step, step, step_from
from dalenius.data.table import Table
from dalenius.synth import METHODS

STEPS_HERE = [
    {"do": "microaggregate", "variables": ["age", "bmi"], "k": 4},
    {"do": "microaggregate", "variables": ["age", "bmi"], "k": 4, "method": "varying"},
    {"do": "microaggregate", "variables": ["age", "bmi"], "k": 4, "method": "pca"},
    {"do": "microaggregate", "variables": ["age", "bmi"], "k": 4, "method": "clusters"},
    {"do": "microaggregate", "variables": ["age", "bmi"], "k": 4, "distance": "robust"},
    {"do": "microaggregate", "variables": ["age", "marital"], "k": 4, "distance": "gower"},
    {"do": "microaggregate", "variables": ["age", "bmi"], "method": "optimal"},
    {"do": "suppress", "keys": ["sex", "age", "region"], "k": 3},
    {"do": "suppress", "keys": ["sex", "age", "region"], "k": 3, "compat": "sdcMicro", "alpha": 1.0},
    {"do": "pram", "variables": ["marital", "education"]},
    {"do": "pram", "variables": ["marital"], "method": "two-stage", "strata": ["sex"]},
    {"do": "rank-swap", "variables": ["age", "bmi"]},
    {"do": "swap-households", "hierarchy": ["region", "district"], "keys": ["sex", "marital"], "rate": 0.05},
    {"do": "add-noise", "variables": ["age", "bmi"]},
    {"do": "add-noise", "variables": ["age", "bmi"], "method": "correlated"},
    {"do": "add-noise", "variables": ["age", "bmi"], "method": "rotation"},
    {"do": "add-noise", "variables": ["age", "bmi"], "method": "outliers"},
    {"do": "shuffle", "variables": ["bmi"], "by": ["age", "sex"]},
    {"do": "robin-hood", "keys": ["sex", "region"], "fairness": "region", "k": 25},
]
NAMES = ["do", "method", "distance", "alpha"]
IDS = ["-".join(str(facts[name]) for name in NAMES if name in facts) for facts in STEPS_HERE]
COLUMNS = ["household_id", "region", "district", "sex", "age", "marital", "education", "bmi"]

SCRIPT = """
import hashlib, json, sys
sys.path.insert(0, {root!r})
from tests.mask.test_steps import STEPS_HERE, digest
print(json.dumps([digest(facts) for facts in STEPS_HERE]))
"""


@cache
def people(rows: int = 600) -> Table:
    frame = examples.population(rows, seed=1).select(COLUMNS)
    return Table.from_frame(frame, examples.population_schema().select(COLUMNS))


def digest(facts: dict) -> str:
    return digest_of(step_from(facts).apply(people(), 7).table)


def digest_of(made: Table) -> str:
    whole = hashlib.sha256()
    for name in made.names:
        whole.update(made[name].data.tobytes())
        whole.update(b"" if made[name].state is None else made[name].state.tobytes())
    return whole.hexdigest()


@pytest.mark.slow
def test_the_same_bytes_on_one_and_eight_threads() -> None:
    root = os.fspath(__import__("pathlib").Path(__file__).parents[2])
    told = []
    for threads in ("1", "8"):
        names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
        place = {**os.environ, **dict.fromkeys(names, threads)}
        call = [sys.executable, "-c", SCRIPT.format(root=root)]
        told.append(subprocess.run(call, env=place, capture_output=True, text=True, check=True).stdout)
    assert told[0] == told[1]


@pytest.mark.parametrize("facts", STEPS_HERE, ids=IDS)
def test_a_step_keeps_the_rest_and_repeats_itself(facts: dict) -> None:
    table = people()
    step = step_from(facts)
    made = step.apply(table, 7)
    touched = {*made.lens.perturbed, *made.lens.gaps}
    assert made.records > 0
    assert {*made.changed} <= touched
    assert all(made.table[name] is table[name] for name in table.names if name not in touched)
    assert made.table.names == table.names
    assert digest(facts) == digest_of(made.table)
    assert Recipe.from_dict(Recipe((step,)).to_dict()).steps == (step,)


CODE = "ZZ-SECRET-77123"
BAD = Schema((
    Column("age", Kind.INTEGER), Column("bmi", Kind.CONTINUOUS), Column("sex", Kind.CATEGORICAL),
    Column("none", Kind.CONTINUOUS), Column("wide", Kind.CATEGORICAL),
))  # fmt: skip


def bad_table() -> Table:
    rows = 10_000
    data = {
        "age": np.arange(rows),
        "bmi": [float("inf"), *np.linspace(1, 77123.5, rows - 1)],
        "sex": [CODE] * rows,
        "none": [None] * rows,
        "wide": [f"{CODE}-{i}" for i in range(rows)],
    }
    return Table.from_frame(data, BAD)


@pytest.mark.parametrize(
    ("facts", "faults"),
    [
        ({"do": "microaggregate", "variables": ["bmi", "none"]}, 2),
        ({"do": "microaggregate", "variables": ["age"], "k": 20_000}, 1),
        ({"do": "suppress", "keys": ["sex"], "k": 20_000}, 1),
        ({"do": "suppress", "keys": ["sex", "age"], "importance": {"nose": 2.0}, "subsets": {"5": 3}}, 2),
        ({"do": "pram", "variables": ["bmi", "age"]}, 2),
        ({"do": "rank-swap", "variables": ["sex", "none"]}, 2),
        ({"do": "add-noise", "variables": ["bmi", "none", "sex"]}, 3),
        ({"do": "shuffle", "variables": ["bmi", "none"]}, 2),
        ({"do": "swap-households", "hierarchy": ["nose"], "keys": ["ear"]}, 1),
    ],
)
def test_all_faults_in_one_error_and_no_value(facts: dict, faults: int) -> None:
    with pytest.raises(DaleniusError) as told:
        step_from(facts).apply(bad_table(), 1)
    assert len(told.value.faults) == faults
    assert CODE not in str(told.value)
    assert "77123" not in str(told.value)


def test_ten_thousand_levels_and_constants() -> None:
    table = bad_table()
    wide = step_from({"do": "pram", "variables": ["sex"]}).apply(table, 1)
    assert wide.records == 0  # one level has nothing to change to
    made = step_from({"do": "suppress", "keys": ["wide", "sex"], "k": 2}).apply(table, 1)
    assert made.figures["cells"] == table.rows
    assert (~made.table["wide"].present).all()


@pytest.mark.parametrize("facts", STEPS_HERE, ids=IDS)
def test_empty_files_are_refused_in_words(facts: dict) -> None:
    with pytest.raises(DaleniusError):
        step_from(facts).apply(people().take(np.array([], int)), 1)


def test_every_step_of_the_kit_is_in_this_battery() -> None:
    mine = {name for name, kind in STEPS.items() if kind.__module__.startswith("dalenius.mask.")}
    # these need what this file has not (hierarchies, places, a budget, numbers without gaps): they are tested elsewhere
    apart = ("lattice", "mondrian", "geo", "safepub", "spectral", "series_step")
    other = {name for name in mine if STEPS[name].__module__.split(".")[2] in apart}
    assert {facts["do"] for facts in STEPS_HERE} | {"random-response"} >= mine - other


def test_a_step_s_name_is_taken_once() -> None:
    info = MethodInfo("round", "Another", "Rounds too.", guarantee="none", reference="folklore")
    with pytest.raises(OptionError, match="registered twice"):
        step(type("Another", (Step,), {"info": info, "__module__": __name__}))
    assert STEPS["round"] is Round


def test_a_step_of_a_session_is_a_method_at_once() -> None:
    @step
    @dataclass(frozen=True)
    class Session(Step):
        info: ClassVar[MethodInfo | None] = MethodInfo(
            "of-a-session", "Session", "Does nothing.", guarantee="none", reference="folklore"
        )

        def _apply(self, table: Table, seed: Seed) -> Masked:
            return Masked.of(table, table)

    try:
        assert Candidate("of-a-session").make({"a": [1, 2, 3]}, seed=1).table.rows == 3
    finally:
        del STEPS["of-a-session"]
        METHODS.remove("of-a-session")
