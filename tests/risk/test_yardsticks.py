"""Figures that mean something only beside others: people outside, other tolerances, lengths of keys, neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius import DaleniusError, Pair, Table, make_synthesizer
from dalenius.data import examples
from dalenius.risk import (
    adversarial,
    attack_grid,
    cap_scores,
    inference,
    new_row_curve,
    new_rows,
    replicated_uniques,
    shared_neighbour_identifiability,
    shared_neighbour_profile,
    singling_out,
    unique_exact_matches,
)

# ten records by hand (Hittmeir); the key combination (z, 1) is absent from the synthetic file
GT = {"a": list("xxxxyyyyzz"), "b": list("1122112211"), "t": list("pqppqqpqpq")}
SD = {"a": list("xxxxyyyyzz"), "b": list("1122112222"), "t": list("ppqpqqppqq")}


def test_new_rows_within_a_share_of_the_column() -> None:
    # range 200, sd 81.65: 101 is 1 off (0.005 of the range), 150 is 50 off (0.25), 300 is met, 0 is 100 off (0.5)
    real = {"a": [100, 200, 300], "c": ["x", "y", "z"]}
    fake = {"a": [101, 150, 300, 0], "c": ["x", "y", "z", "x"]}
    pair = Pair(real, fake)
    curve = new_row_curve(pair, [0, 0.005, 0.25, 0.5], relative_to="range")
    assert curve["protected"].to_list() == [0.75, 0.5, 0.25, 0]
    spread = float(np.std([100, 200, 300]))
    curve = new_row_curve(pair, [1 / spread, 50 / spread, 100 / spread], relative_to="sd")
    assert curve["protected"].to_list() == [0.5, 0.25, 0]
    found = new_rows(pair, tolerance=0.25, relative_to="range")
    assert found.value == 75
    assert "of the range" in found.sentence
    with pytest.raises(DaleniusError):
        new_rows(pair, relative_to="mean")


def test_shared_neighbours_beside_people_outside() -> None:
    rng = np.random.default_rng(4)
    people, made, outside = ({c: rng.normal(size=300) for c in "xy"} for _ in range(3))
    pair = Pair(people, made, outside)
    found = shared_neighbour_profile(pair, records=True)
    assert found.table["neighbours"].to_list() == [4, 5, 6, 7, 10]
    assert found.value == pytest.approx(100 * shared_neighbour_identifiability(pair).value)
    assert 100 * found.records["at_risk"].mean() == pytest.approx(found.value)
    assert found.yardsticks["holdout"] == pytest.approx(found.value, abs=8), "fresh people are like outsiders"
    assert found.interval.low <= found.value <= found.interval.high
    assert "does not see copying" in found.sentence
    assert not shared_neighbour_profile(Pair(people, made)).trusted
    noisy = shared_neighbour_identifiability(pair, noise_at_risk=True)
    assert noisy.value == pytest.approx(found.value / 100 + float((noisy.label[300:] < 0).mean()))
    with pytest.raises(DaleniusError):
        shared_neighbour_profile(pair, [])


def test_grid_says_how_many_have_no_match() -> None:
    pair = Pair(GT, SD)
    found = attack_grid(pair, ["a", "b"], "t", (1, 2), ("fr-nn",))
    assert found["unmatched"].to_list() == [
        0,
        2,
    ]  # (z, 1) occurs twice in the original and never in the other
    assert cap_scores(pair, ["a", "b"], "t").radii.rows() == [(0, 8), (1, 2)]


def test_zero_cap_collapses_with_the_length_of_the_key() -> None:
    people = examples.survey(1500, seed=1)
    keys = ["region", "sex", "age", "marital", "education", "employment"]
    people = people.select(*keys, "health")
    made = make_synthesizer("cart").fit(Table.from_frame(people), seed=1).sample(seed=2)
    short, long = (cap_scores(Pair(people, made), keys[:k], "health") for k in (2, 6))
    assert long.zero_cap < 0.8 * short.zero_cap
    assert abs(long.ignoring_cap - long.mean_gcap) < 0.05
    assert long.original.mean() > short.original.mean() + 0.1, "the original's own risk rises"
    assert short.unmatched < long.unmatched


def test_the_holdouts_replicated_uniques_by_hand():
    """Only x is met by exactly one protected record; 5 of 9 samples of 4 others leave its outsider single."""
    original = {"a": ["x", "q", "r", "s", "t"]}
    protected = {"a": ["x", "w", "w", "u", "u"]}
    holdout = {"a": ["x", "y", "y", "w", "v"]}
    result = replicated_uniques(Pair(original, protected, holdout, keys=["a"]))
    assert result.value == 20.0
    assert result.yardsticks == pytest.approx({"original": 100.0, "holdout": 100 / 9})


@pytest.mark.parametrize("measure", [singling_out, adversarial])
def test_a_small_holdout_hides_no_copy(measure) -> None:
    """A quarter as many people outside: a copy looks as bad as with equally many, and fresh people as harmless."""
    rng = np.random.default_rng(5)
    people, fresh, others = (
        {c: rng.integers(0, 12, n).astype(str) for c in "abcdef"} for n in (400, 400, 400)
    )
    few = {c: v[:100] for c, v in others.items()}
    for holdout in (others, few):
        copy, harmless = (measure(Pair(people, file, holdout)).added for file in (people, fresh))
        whole = 100 if measure is singling_out else 0.5
        assert copy == pytest.approx(whole, rel=0.1)
        assert harmless == pytest.approx(0, abs=0.1 * whole)


def test_the_worst_target_of_an_attack_is_the_one_most_is_added_to() -> None:
    """Nearly everybody has the same c, so that one person more is much of what is left to gain; b adds more people."""
    rng = np.random.default_rng(3)

    def draw(n: int) -> dict[str, np.ndarray]:
        k = rng.integers(0, 40, n)
        return {
            "k": k.astype(str),
            "b": rng.integers(0, 3, n).astype(str),
            "c": np.where(rng.random(n) < 0.004, "y", "n"),
        }

    people, others = draw(1500), draw(1500)
    found = inference(Pair(people, people, others, targets=["c", "b"]), known=["k"])
    assert found.table["secret"][0] == "b"


def test_no_match_is_safe_only_beside_strangers() -> None:
    """Nobody found may be the measure's weakness; only people set aside tell."""
    real, made = {"a": list("xyzw"), "b": list("1234")}, {"a": list("xyzw"), "b": list("4321")}
    alone = unique_exact_matches(Pair(real, made))
    assert (alone.value, alone.trusted) == (0.0, False)
    assert unique_exact_matches(Pair(real, made, {"a": ["x"], "b": ["2"]})).trusted
    assert unique_exact_matches(Pair(real, real)).trusted
