"""Local suppression: every row is supported by enough others, by the reading that was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius import Candidate
from dalenius.core.errors import DataError, OptionError
from dalenius.data import examples
from dalenius.data.recipe import Recipe
from dalenius.data.table import Table
from dalenius.mask.local_suppression import Suppress, certificate
from dalenius.risk.sample.frequencies import frequencies
from dalenius.risk.sample.individual import individual_risk

KEYS = ("region", "sex", "age", "marital")


def survey(rows: int = 1000) -> Table:
    return Table.from_frame(examples.survey(rows, seed=1).select(*KEYS, "education", "weight"))


def people(seed: int, rows: int, gaps: bool) -> Table:
    rng = np.random.default_rng(seed)
    columns = {
        "a": rng.choice(list("xyz"), rows, p=[0.7, 0.2, 0.1]).tolist(),
        "b": rng.choice(list("uvw"), rows).tolist(),
        "c": rng.choice(list("pq"), rows, p=[0.9, 0.1]).tolist(),
        "s": rng.choice(list("mn"), rows).tolist(),
    }
    if gaps:
        columns["a"][::7] = [None] * len(columns["a"][::7])
    return Table.from_frame(columns)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(6, 60),
    st.booleans(),
    st.integers(2, 4),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_every_row_has_its_k(seed: int, rows: int, gaps: bool, k: int, alpha: float) -> None:
    table = people(seed, rows, gaps)
    made = Suppress(("a", "b", "c"), k, alpha=alpha).apply(table)
    found = frequencies(made.table.select(["a", "b", "c"]), ["a", "b", "c"], alpha=alpha)
    assert found.violations(k) == 0
    assert made.table["s"].data.tolist() == table["s"].data.tolist()
    cells = sum(int((table[n].present & ~made.table[n].present).sum()) for n in table.names)
    assert made.figures["cells"] == cells == sum(made.changed.values())
    kept = [(made.table[n].data == table[n].data)[made.table[n].present].all() for n in table.names]
    assert all(kept)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(12, 60), st.integers(2, 4), st.integers(2, 5))
def test_a_certificate_for_every_subset(seed: int, rows: int, k: int, pairs: int) -> None:
    table = people(seed, rows, gaps=False)
    made = Suppress(("a", "b", "c"), k, subsets={"2": pairs, "1": 3}).apply(table)
    told = certificate(made.table, ["a", "b", "c"])
    asked = {1: 3, 2: pairs, 3: k}
    assert all(smallest >= asked[size] for _, size, smallest, _ in told.rows())


def test_what_holds_on_all_keys_holds_on_fewer() -> None:
    made = Suppress(KEYS, 3).apply(survey())
    assert certificate(made.table, KEYS)["rows below"].sum() == 0


def test_strata_count_apart() -> None:
    table = people(5, 80, gaps=False)
    made = Suppress(("a", "b"), 3, strata=("s",)).apply(table).table
    for level in range(2):
        part = made.take(np.flatnonzero(made["s"].data == level)).select(["a", "b"])
        assert frequencies(part, ["a", "b"], alpha=0.0).violations(3) == 0


def test_important_keys_keep_their_cells() -> None:
    plain, priced = (Suppress(KEYS, 3, importance=prices).apply(survey()) for prices in ({}, {"age": 50.0}))
    assert plain.changed["age"] > 20
    assert priced.changed.get("age", 0) < plain.changed["age"] / 4


def test_a_risk_threshold_with_weights() -> None:
    table = survey()
    made = Suppress(KEYS, risk=0.05, weight="weight").apply(table)
    found = frequencies(made.table.select([*KEYS, "weight"]), KEYS, weight="weight", alpha=0.0)
    assert individual_risk(found).max() <= 0.05
    assert 0 < made.figures["cells"] < 0.25 * 4 * table.rows
    assert individual_risk(frequencies(table, KEYS, weight="weight")).max() > 0.05


def test_the_kind_reading_needs_fewer_cells_and_leaves_more_exposed() -> None:
    honest, kind = (Suppress(KEYS, 3, alpha=alpha).apply(survey()) for alpha in (0.0, 1.0))
    assert kind.figures["cells"] < honest.figures["cells"]
    assert frequencies(kind.table.select(KEYS), KEYS, alpha=1.0).violations(3) == 0
    assert frequencies(kind.table.select(KEYS), KEYS, alpha=0.0).violations(3) > 100


def test_the_lens_knows_the_gaps() -> None:
    table = survey()
    made = Suppress(KEYS, 3).apply(table)
    seen = made.lens.see_own(table)
    assert all((seen[n].present == made.table[n].present).all() for n in KEYS)


def test_as_a_method_and_in_a_recipe() -> None:
    table = survey(300)
    made = Candidate("suppress", {"keys": list(KEYS), "k": 2}).make(table, seed=1)
    assert frequencies(made.table.select(KEYS), KEYS, alpha=0.0).violations(2) == 0
    step = Suppress(KEYS, 4, subsets={"2": 9}, importance={"age": 2.0})
    assert Recipe.from_dict(Recipe((step,)).to_dict()).steps[0] == step


def test_faults_come_together() -> None:
    table = people(1, 10, gaps=False)
    with pytest.raises(DataError, match="fewer than k = 11"):
        Suppress(("a",), 11).apply(table)
    with pytest.raises(DataError, match="2 faults"):
        Suppress(("a", "b"), subsets={"3": 5}, importance={"s": 2.0}).apply(table)
    with pytest.raises(OptionError, match="3 faults"):
        Suppress(("a", "a"), subsets={"two": 5}, strata=("a",))
    with pytest.raises(DataError, match="no keys are named"):
        Suppress().apply(table)
