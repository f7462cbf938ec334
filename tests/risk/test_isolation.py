"""Predicates, weights, partitions and attacks that isolate (D'Acquisto et al. 2024)."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from dalenius import DaleniusError, Table, make_synthesizer
from dalenius.data import examples
from dalenius.risk import isolation as iso
from dalenius.risk.isolation import attacks, chance, gain, partition, weights


def test_predicates_know_what_they_exclude() -> None:
    young, old = iso.Predicate.of(iso.Between("age", 0, 30)), iso.Predicate.of(iso.Between("age", 30, 99))
    assert not young.is_disjoint(old), "30 fits both"
    assert young.is_disjoint(iso.Predicate.of(iso.Between("age", 30, 99, open_low=True)))
    women = iso.Predicate.of(iso.OneOf("sex", frozenset({"f"})))
    others = iso.Predicate.of(iso.OneOf("sex", frozenset({"f"}), negated=True))
    assert women.is_disjoint(others)
    assert young.minus(women).is_disjoint(women)
    assert not young.is_disjoint(women)
    assert young.minus(women).describe() == "0 <= age <= 30 and not (sex in {f})"
    table = Table.from_frame({"age": [20.0, None, 40.0], "sex": ["f", "m", None]})
    assert young.mask(table).tolist() == [True, False, False]
    assert others.mask(table).tolist() == [False, True, True]
    with pytest.raises(DaleniusError, match="numbers"):
        iso.Predicate.of(iso.Between("sex", 0, 1)).mask(table)


def test_weight_models_agree_on_independent_columns() -> None:
    rng = np.random.default_rng(1)
    frame = {"a": rng.integers(0, 4, 40_000).astype(str), "b": rng.integers(0, 5, 40_000).astype(str)}
    cell = iso.Predicate.of(iso.OneOf("a", frozenset({"1"})), iso.OneOf("b", frozenset({"2", "3"})))
    grid = [(str(a), str(b)) for a in range(4) for b in range(5)]
    exact = weights.ExactWeights.of(
        {"a": [g[0] for g in grid], "b": [g[1] for g in grid], "p": [0.05] * 20}, "p"
    )
    assert exact.weight(cell) == pytest.approx(0.1)
    for model in (
        weights.MarginWeights.of(frame),
        iso.ReferenceWeights.of(frame),
        weights.FunctionWeights(exact.weight),
    ):
        assert model.weight(cell) == pytest.approx(0.1, abs=0.01)
    with pytest.raises(DaleniusError, match="add up to 1"):
        weights.ExactWeights.of({"a": ["x"], "p": [0.5]}, "p")
    with pytest.raises(DaleniusError, match="single columns"):
        weights.MarginWeights.of(frame).weight(cell.minus(cell))


@pytest.mark.parametrize("cells", [2, 7, 64])
def test_balanced_partition_covers_everybody_once(cells: int) -> None:
    frame = examples.survey(800, seed=1).select("region", "sex", "age", "marital")
    table = Table.from_frame(frame)
    parts = partition.balanced_partition(table, cells)
    fits = np.column_stack([part.mask(table) for part in parts])
    assert len(parts) == cells
    assert (fits.sum(axis=1) == 1).all()
    assert all(a.is_disjoint(b) for a, b in combinations(parts, 2))
    spread = partition.partition_spread(fits.mean(axis=0))
    assert spread < 0.6
    fresh = Table.from_frame(examples.survey(500, seed=2).select("region", "sex", "age", "marital"))
    assert (np.column_stack([part.mask(fresh) for part in parts]).sum(axis=1) == 1).all()


def test_partition_bounds() -> None:
    weights = [0.0075] * 50 + [0.0125] * 50
    assert partition.partition_spread(weights) == pytest.approx(0.25)
    bound = partition.partition_lower_bound(100, 100, 0.25)
    assert bound <= partition.partition_expectation(weights, 100, 100) == pytest.approx(35.788144, abs=1e-6)


@pytest.mark.parametrize(
    ("n", "k", "wanted", "tolerance"), [(5, 5, 2.048, 0.03), (5, 10, 3.2805, 0.03), (100, 300, 71.853, 0.3)]
)
def test_oblivious_guesses_isolate_as_often_as_the_formula_says(
    n: int, k: int, wanted: float, tolerance: float
) -> None:
    rng = np.random.default_rng(3)
    cells = max(n, k)
    drawn = rng.integers(0, cells, (5000, n))
    found = [np.count_nonzero(np.bincount(row, minlength=cells)[:k] == 1) for row in drawn]
    assert np.mean(found) == pytest.approx(wanted, abs=tolerance)


@pytest.mark.parametrize(("k", "chance"), [(5, 0.4096), (10, 0.38742)])
def test_hash_attack_on_classes(k: int, chance: float) -> None:
    people = {"x": np.arange(20_000), "y": np.arange(20_000) % 7}
    found = attacks.class_isolation_attack(people, np.arange(20_000) // k)
    assert found["isolates"].mean() == pytest.approx(chance, abs=0.03)
    assert found["expected"][0] == pytest.approx(chance, abs=1e-5)


def people_with_one_special(rows: int = 40) -> list[tuple[str, ...]]:
    """Nobody else shares the last person's first four values, but every three of them are shared."""
    rng = np.random.default_rng(5)
    special = ("1", "1", "1", "1", "b", "c")
    others = [
        tuple(rng.permutation(["1", "1", "1", "0"])) + tuple(rng.choice(["a", "b", "c"], 2))
        for _ in range(rows - 1)
    ]
    return [*others, special]


def margins(people: list[tuple[str, ...]], most: int) -> dict:
    names = "pqrstu"
    return {
        tuple(names[i] for i in chosen): Counter(tuple(row[i] for i in chosen) for row in people)
        for size in range(1, most + 1)
        for chosen in combinations(range(6), size)
    }


def test_overlapping_tables_give_a_whole_record_away() -> None:
    people = people_with_one_special()
    wanted = dict(zip("pqrstu", people[-1], strict=True))
    found = [r for r in attacks.marginal_bootstrap(margins(people, 5)) if set(r.start) == set("pqrs")]
    assert [r.record for r in found] == [wanted]
    fewer = [r for r in attacks.marginal_bootstrap(margins(people, 4)) if set(r.start) == set("pqrs")]
    assert [set(r.record) for r in fewer] == [set("pqrs")]
    assert fewer[0].unknown == ("t", "u")
    noisy = margins(people, 5)
    table = noisy["p", "q", "r", "s", "t"]
    table["1", "1", "1", "1", "a"] = 1
    odd = next(r for r in attacks.marginal_bootstrap(noisy) if set(r.start) == set("pqrs"))
    assert odd.ambiguous == ("t",)


def test_adaptive_intruder_isolates_with_few_counts() -> None:
    columns = ["region", "sex", "age", "marital", "education"]
    people = Table.from_frame(examples.survey(200, seed=1).select(columns))
    found = attacks.adaptive_isolation(
        lambda p: p.count(people), examples.survey(2000, seed=2).select(columns), 150
    )
    assert found.queries <= 150
    assert len(found.predicates) > 20
    assert all(p.isolates(people) for p in found.predicates)


def test_differences_and_complements() -> None:
    assert attacks.differencing_isolations({"a": 4, "b": 5, "c": 9}, [("a", "b"), ("b", "c")], n=10) == [
        ("a", "b"),
        ("c", "everybody"),
    ]
    assert chance.finite_isolation_probability(1, 100, 10) == pytest.approx(0.1)
    table = gain.release_isolation_gain({"rare": (1e-6, 1), "common": (0.1, 1000)}, 10_000)
    assert table["gain"].to_list() == pytest.approx([101.004916, 1.000450], abs=1e-6)
    assert iso.cell_isolation_gain(0.5, 1, 10_000).weight_too_large
    assert not iso.cell_isolation_gain(1e-6, 1, 10_000).weight_too_large


COLUMNS = ["region", "age", "marital", "education", "employment"]


def test_gain_tells_a_copy_from_a_release_about_other_people() -> None:
    people, outside = (examples.survey(400, seed=s).select(COLUMNS) for s in (1, 2))
    weights = iso.ReferenceWeights.of(outside)
    copied = iso.empirical_isolation_gain(
        iso.record_predicates, lambda t, seed: t, people, weights, guesses=150
    )
    assert copied.success == 1
    assert copied.result().interval.low > 1
    assert 0 <= copied.narrow(1e-2).success <= 1
    others = examples.survey(400, seed=3).select(COLUMNS)
    fresh = iso.empirical_isolation_gain(
        iso.record_predicates, lambda t, seed: others, people, weights, guesses=150
    )
    assert fresh.result().interval.low < 1, "a release about others isolates no better than chance"
    cart = make_synthesizer("cart")
    made = iso.empirical_isolation_gain(
        iso.record_predicates, lambda t, seed: cart.fit(t, seed=seed).sample(seed=seed), people, weights,
        guesses=100, population=10_000,
    )  # fmt: skip
    assert made.success < copied.success
    biased = iso.empirical_isolation_gain(
        iso.record_predicates, lambda t, seed: t, people, iso.ReferenceWeights.of(people), guesses=20
    )
    assert not biased.result().trusted
