"""Local suppression: every row is supported by enough others, by the reading that was asked for."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dalenius import Candidate, evaluate
from dalenius.cli import app
from dalenius.core.errors import DataError, OptionError
from dalenius.data import examples
from dalenius.data.recipe import Recipe
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.mask import look_alikes
from dalenius.mask.again import made_again
from dalenius.mask.local_suppression import Suppress, certificate
from dalenius.mask.trail import Trail
from dalenius.risk.sample.anonymity import k_anonymity
from dalenius.risk.sample.fitting import rows_that_fit
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


def fits(original: Table, released: Table, keys: Sequence[str]) -> list[int]:
    """Released rows that fit each person's full keys, counted one by one."""
    people, rows = (list(zip(*(t.to_frame()[n] for n in keys), strict=True)) for t in (original, released))
    return [
        sum(all(r is None or r == q for r, q in zip(row, who, strict=True)) for row in rows) for who in people
    ]


def alike(released: Table, keys: Sequence[str]) -> list[int]:
    """Rows that look like each released row, counted one by one."""
    rows = list(zip(*(released.to_frame()[n] for n in keys), strict=True))
    return [rows.count(row) for row in rows]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(6, 60), st.booleans(), st.integers(2, 4))
def test_every_row_looks_like_k_and_every_person_fits_k(seed: int, rows: int, gaps: bool, k: int) -> None:
    keys, table = ["a", "b", "c"], people(seed, rows, gaps)
    made = Suppress(tuple(keys), k).apply(table, 1)
    looks, fit = alike(made.table, keys), fits(table, made.table, keys)
    assert min(looks) >= k
    assert all(f >= looks_like for f, looks_like in zip(fit, looks, strict=True))
    assert (made.figures["smallest group"], made.figures["fewest rows that fit"]) == (min(looks), min(fit))
    assert rows_that_fit(table, made.table, keys).tolist() == fit
    assert made.table["s"].data.tolist() == table["s"].data.tolist()
    cells = sum(int((table[n].present & ~made.table[n].present).sum()) for n in table.names)
    assert made.figures["cells"] == cells == sum(made.changed.values())
    kept = [(made.table[n].data == table[n].data)[made.table[n].present].all() for n in table.names]
    assert all(kept)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(6, 60),
    st.booleans(),
    st.integers(2, 4),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_as_sdcmicro_counts(seed: int, rows: int, gaps: bool, k: int, alpha: float) -> None:
    keys, table = ["a", "b", "c"], people(seed, rows, gaps)
    made = Suppress(tuple(keys), k, compat="sdcMicro", alpha=alpha).apply(table)
    found = frequencies(made.table.select(keys), keys, alpha=alpha)
    assert found.violations(k) == 0
    assert made.figures["rows below"] == sum(looks < k for looks in alike(made.table, keys))
    told = certificate(made.table, keys, k=k, compat="sdcMicro", alpha=alpha)
    assert told["rows below"].to_list()[-1] == 0


ONE_ALONE = {
    "a": ["x"] * 6 + ["y"] * 10,
    "b": ["one"] * 5 + ["two"] + ["one"] * 5 + ["two"] * 5,
    "ill": ["none"] * 5 + ["HIV"] + ["none"] * 10,
}


def test_nobody_is_found_by_the_cell_that_was_hidden(tmp_path: Path) -> None:
    """One row that shows two has k complete rows that show two; but whoever knows x, two knows that none is his."""
    before, file, out = tmp_path / "t.csv", tmp_path / "r.yaml", tmp_path / "t.masked.csv"
    pl.DataFrame(ONE_ALONE).write_csv(before)
    asked = ["mask", str(before), "--keys", "a,b", "--step", "suppress keys=a,b k=3", "-o", str(out)]
    ran = CliRunner().invoke(app, [*asked, "--save-recipe", str(file)])
    assert ran.exit_code == 0, ran.output
    assert "smallest group 1 → 3" in " ".join(ran.output.split())
    masked = Table.from_frame(pl.read_csv(out))
    assert min(alike(masked, ["a", "b"])) == certificate(masked, ["a", "b"]).row(-1)[2] == 3
    assert min(fits(Table.from_frame(ONE_ALONE), masked, ["a", "b"])) == 3
    assert made_again(Table.from_frame(ONE_ALONE), masked, file).lens()


def test_all_faces_say_the_same_k() -> None:
    keys, table = list(KEYS), survey(600)
    trail = Trail.of(table, keys).do("suppress", keys=keys, k=3)
    made = trail.masked
    told = evaluate(
        table, made.table, lens=made.lens, keys=keys, measures=["k-anonymity", "re-identifications"]
    )
    k = told.results["k-anonymity"].value
    assert k == trail.logged[0].after[1] == certificate(made.table, keys)["smallest"].to_list()[-1] == 3
    assert k == k_anonymity(made.table, keys).value == min(alike(made.table, keys))
    fewest = told.results["k-anonymity"].values["fewest records that fit a person's keys"]
    assert fewest == min(fits(table, made.table, keys)) >= 3
    assert told.results["re-identifications"].value == pytest.approx(trail.logged[0].after[0])


def test_who_lends_himself_is_drawn() -> None:
    table = Table.from_frame(ONE_ALONE)
    lent = [Suppress(("a", "b"), 3).apply(table, seed).table["a"].present.tolist() for seed in range(8)]
    assert all(not there[5] and there.count(False) == 3 for there in lent)
    assert len(set(map(tuple, lent))) > 1
    assert lent[0] == Suppress(("a", "b"), 3).apply(table, 0).table["a"].present.tolist()


def test_groups_without_anybody_to_spare_go_as_a_whole() -> None:
    table = Table.from_frame({"sex": list("ffmmm"), "job": ["clerk"] * 4 + ["judge"]})
    made = Suppress(("sex", "job"), 2).apply(table, 1)
    assert made.table.to_frame()["job"] == ["clerk", "clerk", None, None, None]
    strange = Table.from_frame({"a": list("ppqq"), "b": list("uvwx")})
    assert min(alike(Suppress(("a", "b"), 4).apply(strange, 1).table, ["a", "b"])) == 4


def test_no_more_cells_than_the_best_by_half() -> None:
    """Against trying every pattern of gaps for every row."""
    every = list(itertools.product(range(4), repeat=6))
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = [(a, b) for a, b in zip(rng.choice(list("xy"), 6), rng.choice(list("uvw"), 6), strict=True)]
        best = 12
        for gaps in every:
            shown = [
                (None if g & 1 else a, None if g & 2 else b) for g, (a, b) in zip(gaps, rows, strict=True)
            ]
            if min(map(shown.count, shown)) >= 2:
                best = min(best, sum(g.bit_count() for g in gaps))
        table = Table.from_frame({"a": [str(a) for a, _ in rows], "b": [str(b) for _, b in rows]})
        assert best <= Suppress(("a", "b"), 2).apply(table, 1).figures["cells"] <= max(1.5 * best, best + 1)


def test_dear_groups_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    best = Suppress(KEYS, 3).apply(survey(), 1).figures["cells"]
    monkeypatch.setattr(look_alikes, "AGAIN", 0)
    assert best < Suppress(KEYS, 3).apply(survey(), 1).figures["cells"]


def test_special_codes_are_seen() -> None:
    """A code for a refusal stands in the file: it is a value, and no gap."""
    schema = Schema((Column("a", Kind.INTEGER, not_applicable=(-8, -9)), Column("b", Kind.INTEGER)))
    table = Table.from_frame({"a": [-8, -9, *[1] * 6], "b": [1] * 8}, schema)
    made = Suppress(("a", "b"), 3).apply(table, 1)
    assert k_anonymity(made.table, ["a", "b"]).value >= 3
    assert not made.table["a"].present[:2].any()


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
        assert frequencies(part, ["a", "b"], alpha=None).violations(3) == 0


def test_important_keys_keep_their_cells() -> None:
    plain, priced = (Suppress(KEYS, 3, importance=prices).apply(survey()) for prices in ({}, {"age": 50.0}))
    assert plain.changed["age"] > 20
    assert priced.changed.get("age", 0) < plain.changed["age"] / 4


def test_a_risk_threshold_with_weights() -> None:
    table = survey()
    made = Suppress(KEYS, risk=0.05, weight="weight").apply(table)
    found = frequencies(made.table.select([*KEYS, "weight"]), KEYS, weight="weight", alpha=None)
    assert individual_risk(found).max() <= 0.05
    assert 0 < made.figures["cells"] < 0.25 * 4 * table.rows
    assert individual_risk(frequencies(table, KEYS, weight="weight")).max() > 0.05


def test_the_kind_readings_need_fewer_cells_and_leave_people_to_be_found() -> None:
    honest = Suppress(KEYS, 3).apply(survey())
    rows, kind = (Suppress(KEYS, 3, compat="sdcMicro", alpha=alpha).apply(survey()) for alpha in (0.0, 1.0))
    assert kind.figures["cells"] < rows.figures["cells"] < honest.figures["cells"]
    assert honest.figures["people whom fewer than k rows fit"] == 0
    assert rows.figures["people whom fewer than k rows fit"] > 0
    assert "keys of" in rows.notes[0]
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
    assert frequencies(made.table.select(KEYS), KEYS, alpha=None).violations(2) == 0
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
    with pytest.raises(OptionError, match="compat: sdcMicro"):
        Suppress(("a",), alpha=1.0)
    with pytest.raises(DataError, match="allow a larger risk"):
        Suppress(("a", "b"), risk=0.01).apply(table)
    with pytest.raises(DataError, match="no keys are named"):
        Suppress().apply(table)
