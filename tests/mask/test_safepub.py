"""SafePub: k from ε, δ and β to the last digit, scores, search, and what it pays (audits: tests/dp)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.data.schema import Column, Kind, Role, Schema
from dalenius.data.table import Table
from dalenius.dp import Budget, ledger_path, open_ledger
from dalenius.mask.lattice.ladder import Ladder
from dalenius.mask.lattice.search import Lattice
from dalenius.mask.lattice.walk import walk
from dalenius.mask.safepub import SafePub, drawn_rows, explain_parameters
from dalenius.mask.safepub_k import (
    auto_beta,
    beta_max,
    beta_profile,
    gamma,
    min_k,
    reached_delta,
    seen_chance,
    tails,
)
from dalenius.mask.safepub_scores import Scoring, choice_chances, majority_count, sensitivity
from dalenius.synth import Candidate

LN2 = math.log(2)


def test_shares_and_tails() -> None:
    assert [beta_max(e) for e in (0.9, 1.8, 2.7)] == pytest.approx([0.593430, 0.834701, 0.932794], abs=1e-6)
    assert [gamma(beta_max(e), e) for e in (0.9, 1.8, 2.7)] == pytest.approx(
        [0.834701, 0.972676, 0.995483], abs=1e-6
    )
    assert gamma(0.5, LN2) == pytest.approx(0.75)
    wanted = [0.5, 0.25, 0.125, 0.0625, 0.1875, 0.109375, 0.0625, 0.035156]
    assert tails(range(1, 9), 0.5, LN2).tolist() == pytest.approx(wanted, abs=1e-6)
    d = [
        0.5,
        0.25,
        0.1875,
        0.1875,
        0.109375,
        0.089844,
        0.089844,
        0.054688,
        0.046143,
        0.046143,
        0.028687,
        0.024521,
    ]
    assert [reached_delta(k, 0.5, LN2) for k in range(1, 13)] == pytest.approx(d, abs=1e-6)
    assert (min_k(0.01, 0.5, LN2), min_k(1e-4, 0.5, LN2)) == (17, 41)


@pytest.mark.parametrize(
    ("epsilon", "beta", "k", "below", "at"),
    [(0.9, None, 44, 1.1449e-4, 9.8983e-5), (1.8, None, 77, 1.0168e-4, 8.6929e-5),
     (2.7, None, 133, 1.0274e-4, 9.5837e-5), (2.7, 0.9, 88, 1.0450e-4, 9.4046e-5), (2.7, 0.2, 6, 3.2e-4, 6.4e-5)],
)  # fmt: skip
def test_around_the_threshold(epsilon: float, beta: float | None, k: int, below: float, at: float) -> None:
    share = beta_max(epsilon) if beta is None else beta
    assert reached_delta(k - 1, share, epsilon) == pytest.approx(below, rel=1e-4)
    assert reached_delta(k, share, epsilon) == pytest.approx(at, rel=1e-4)
    assert min_k(1e-4, share, epsilon) == k


TABLE = {
    0.9: {None: 44, 0.5: 30, 0.4: 21, 0.3: 15, 0.2: 10, 0.59: 46},
    1.8: {None: 77, 0.8: 62, 0.7: 33, 0.6: 23, 0.5: 17, 0.4: 13, 0.3: 10, 0.2: 6, 0.83: 74},
    2.7: {None: 133, 0.9: 88, 0.8: 42, 0.7: 26, 0.6: 19, 0.5: 14, 0.4: 11, 0.3: 8, 0.2: 6, 0.93: 127},
}


@pytest.mark.parametrize("epsilon", TABLE)
def test_the_paper_s_table_of_k(epsilon: float) -> None:
    for beta, k in TABLE[epsilon].items():
        share = beta_max(epsilon) if beta is None else beta
        assert min_k(1e-4, share, epsilon) == k
        assert min_k(1e-4, share, epsilon, "arx") == k + 1


FIGURE = {
    0.1: (38, 49, 60), 0.25: (38, 49, 62), 0.5: (39, 51, 63), 1: (47, 61, 74), 1.5: (62, 80, 99), 2: (81, 113, 131),
    2.5: (108, 166, 195), 3: (181, 226, 271), 3.5: (301, 376, 451), 4: (499, 623, 748), 5: (1363, 1703, 2044),
    6: (3712, 4639, 5567),
}  # fmt: skip


def test_k_of_the_largest_share() -> None:
    for epsilon, wanted in FIGURE.items():
        assert tuple(min_k(d, beta_max(epsilon), epsilon) for d in (1e-4, 1e-5, 1e-6)) == wanted


@pytest.mark.slow
def test_the_exact_delta_needs_fewer() -> None:
    asked = [
        (LN2, 0.5),
        (0.9, beta_max(0.9)),
        (0.9, 0.5),
        (0.9, 0.3),
        (1.8, 0.8),
        (1.8, 0.5),
        (2.7, 0.9),
        (2.7, 0.7),
    ]
    found = [min_k(1e-4, b, e, "tight") for e, b in [*asked, (2.7, 0.5), (2.7, 0.2)]]
    assert found == [28, 32, 23, 11, 49, 15, 88, 26, 14, 6]


def test_the_share_is_chosen_without_data() -> None:
    assert [auto_beta(e, 1e-4) for e in (2.7, 1.8, 0.9)] == [0.3, 0.2, 0.3]
    seen = beta_profile(2.7, 1e-4)["group that is seen"].to_list()
    assert seen == pytest.approx([50.0, 30.0, 26.7, 27.5, 28.0, 31.7, 37.1, 52.5, 97.8, 142.6], abs=0.06)
    assert [min_k(1e-4, b, 2.7) for b in (0.1, 0.05, 0.01)] == [5, 4, 2]
    assert "groups of 27 are seen" in explain_parameters(3.0, 1e-4)
    assert "below one in 500 records" in explain_parameters(3.0, 0.01, rows=500)
    assert seen_chance(4, 0.5, 5) == 0
    with pytest.raises(OptionError, match=r"at most 0\.59343"):
        min_k(1e-4, 0.7, 0.9)


def test_scores_and_choices() -> None:
    features, sizes = np.array([0, 0, 0, 1, 1, 2]), np.array([3, 1, 1, 2, 2, 2])
    assert [majority_count(features, sizes, k, target_counted=False) for k in (1, 2, 4, 6)] == [7, 7, 5, 0]
    assert [majority_count(features, sizes, k) for k in (1, 2, 3, 4)] == [7, 7, 3, 0]  # no cell of four
    assert choice_chances(np.array([5.0, 7.0]), 2.0, 2.0) == pytest.approx([0.268941, 0.731059], abs=1e-6)
    assert sensitivity("discernibility", 1) == 5
    assert sensitivity("entropy", 10) == pytest.approx(100 / 9 + 1)
    assert sensitivity("precision", 1) == 1


def test_rows_are_drawn_as_often_as_said() -> None:
    counts = np.zeros(400)
    for _ in range(100):
        counts[drawn_rows(400, 0.3)] += 1
    total = counts.sum()
    assert total == pytest.approx(0.3 * 40_000, abs=5.5 * np.sqrt(40_000 * 0.21))
    assert abs(counts[:200].sum() - counts[200:].sum()) < 5.5 * np.sqrt(40_000 * 0.21)


def people(rows: int = 3000, seed: int = 1) -> Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    frame = {
        "age": age, "sex": rng.choice(["f", "m"], rows), "region": rng.choice(["n1", "n2", "s1"], rows),
        "ill": np.where(rng.random(rows) < age / 120, "y", "n"), "note": [f"free {i}" for i in range(rows)],
    }  # fmt: skip
    columns = (
        Column("age", Kind.INTEGER, bounds=(0, 99), domain="declared"),
        Column("sex", Kind.CATEGORICAL, levels=("f", "m"), domain="declared"),
        Column("region", Kind.CATEGORICAL, levels=("n1", "n2", "s1"), domain="declared"),
        Column("ill", Kind.CATEGORICAL, levels=("n", "y"), domain="declared"),
        Column("note", Kind.TEXT),
    )
    return Table.from_frame(frame, Schema(columns))


LEVELS = {"age": [10, 20, 40, "all"], "region": {"north": ["n1", "n2"], "south": ["s1"]}}
NAMES = ("age", "sex", "region", "ill")


@pytest.mark.parametrize(
    ("score", "more"),
    [("precision", {}), ("granularity", {}), ("group-count", {}), ("classification", {"target": "ill"}),
     ("discernibility", {"total": 3000}), ("entropy", {"total": 3000}), ("precision", {"steps": 8})],
)  # fmt: skip
def test_what_leaves_looks_like_k_others(score: str, more: dict) -> None:
    step = SafePub(NAMES, levels=LEVELS, epsilon=2.0, delta=1e-4, score=score, **more)
    made = step.apply(people())
    assert made.table.names == list(NAMES)
    counts = made.table.to_frame("polars").group_by(NAMES).len()["len"]
    assert len(counts) == 0 or counts.min() >= step.k
    assert made.lens.dropped == {"note"}
    assert "note" not in made.notes[0]
    assert "levels of the columns: ε = 0.2" in made.ledger
    seen = made.lens.see(people()).take(made.lens.links).to_frame("polars")
    assert seen.cast(pl.String).equals(made.table.to_frame("polars").cast(pl.String))


def test_every_node_is_walked_once_and_holds_its_groups() -> None:
    """Groups made out of finer groups are those of the rows themselves, counted by polars."""
    table = people(400).select(list(NAMES))
    ladders = [Ladder.of(table, name, LEVELS.get(name)) for name in NAMES]
    lattice = Lattice(ladders, [])
    shape = tuple(ladder.height + 1 for ladder in ladders)
    seen = set()
    for at in walk(lattice):
        seen.add(at.levels)
        made = {x.column: x.maps[here][x.codes] for x, here in zip(ladders, at.levels, strict=True)}
        wanted = {tuple(row[:-1]): row[-1] for row in pl.DataFrame(made).group_by(NAMES).len().rows()}
        found = {tuple(map(int, key)): int(n) for *key, n in zip(*at.codes, at.sizes, strict=True)}
        assert found == wanted
    assert len(seen) == math.prod(shape)


def test_the_target_s_score_by_hand() -> None:
    """The commonest illness of each group of the others, where k or more share both, counted by polars."""
    table, k = people(400).select(list(NAMES)), 5
    ladders = [Ladder.of(table, name, LEVELS.get(name)) for name in NAMES]
    nodes, scores = Scoring(Lattice(ladders, []), "classification", k, NAMES.index("ill")).all()
    for levels, score in list(zip(nodes, scores, strict=True))[::7]:
        made = {x.column: x.maps[here][x.codes] for x, here in zip(ladders, levels, strict=True)}
        shown = pl.DataFrame(made).group_by(NAMES).len().filter(pl.col("len") >= k)
        best = shown.group_by([n for n in NAMES if n != "ill"]).agg(pl.col("len").max())["len"].sum()
        assert score == best * (1 - levels[-1] / ladders[-1].height)


def test_fixed_levels_cost_nothing() -> None:
    step = SafePub(
        NAMES, levels=LEVELS, epsilon=2.0, delta=1e-4, fixed={"age": 4, "region": 1}, bound="tight"
    )
    assert step.for_records == 2.0
    made = step.apply(people())
    assert set(made.table["region"].levels) <= {"north", "south"}
    assert "exponential" not in made.ledger


def test_a_promise_on_paper_is_called_one() -> None:
    """With δ = 0.5 every drawn record may be shown alone; nothing has to be known about the file to say so."""
    loose, usual = (SafePub(NAMES, levels=LEVELS, epsilon=2.0, delta=d).apply(people()) for d in (0.5, 1e-4))
    assert "on paper only" in " ".join(loose.notes)
    assert "on paper only" not in " ".join(usual.notes)


def test_the_ledger_pays_before_anything_is_drawn(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    open_ledger(ledger_path(data), 3.0, 1e-4, accounting="approximate")
    options = {"variables": ["sex"], "epsilon": 2.0, "delta": 5e-5}
    candidate = Candidate("safepub", options).paid_beside(data)
    assert not candidate.repeatable
    made = candidate.make(people())
    assert open_ledger(ledger_path(data)).spent == pytest.approx(2.0)
    assert "records that look alike" in made.ledger
    with pytest.raises(OptionError, match="would cost 4 of a budget of 3"):
        candidate.make(people())
    pure = Budget(5.0)
    with pytest.raises(OptionError, match="the ledger has none"):
        SafePub(("sex",), ledger=pure).apply(people())
    assert not pure.spends


def test_faults() -> None:
    with pytest.raises(OptionError, match="2 faults"):
        SafePub(("age",), epsilon=1.0, search=2.0, target="ill")
    with pytest.raises(OptionError, match="needs total"):
        SafePub(("age",), score="entropy")
    with pytest.raises(OptionError, match=r"allows 0\.59343 at most"):
        SafePub(("age",), epsilon=1.0, beta=0.9)
    with pytest.raises(DataError, match=r"1 of its 3 codes are not in the hierarchy"):
        SafePub(("region",), levels={"region": {"north": ["n1", "n2"]}}).apply(people(50))
    schema = people(10).schema.with_roles(identifier="note")
    with pytest.raises(DataError, match="never leaves"):
        SafePub(("note",)).apply(Table.from_frame(people(10).to_frame("polars"), schema))
    twice = pl.concat([people(20).to_frame("polars").with_columns(pl.Series("who", range(20)))] * 2)
    schema = Schema((*people(20).schema.columns, Column("who", Kind.INTEGER, (Role.ENTITY,))))
    with pytest.raises(DataError, match="several records"):
        SafePub(("sex",)).apply(Table.from_frame(twice, schema))
    few = SafePub(("sex",), delta=1e-6).apply(people(5))
    assert few.table.rows == 0
