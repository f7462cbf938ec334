"""Figures are read through the mask: who knows 37 looks for 30-39."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dalenius
from dalenius import Pair
from dalenius.core.errors import DataError
from dalenius.data import examples
from dalenius.data.lens import Lens
from dalenius.data.recipe import Recipe
from dalenius.data.steps import DropColumn, Recode, Round, Step, TopCode
from dalenius.data.table import Table

KEYS, TARGETS = ["region", "sex", "age", "marital"], ["diagnosis"]
COLUMNS = ["region", "sex", "age", "marital", "health", "diagnosis", "income"]


def survey(seed: int, rows: int = 2000) -> Table:
    return Table.from_frame(examples.survey(rows, seed=seed).select(COLUMNS))


def test_age_in_decades_reads_the_truth() -> None:
    original, outside = survey(1), survey(2)
    masked = Recode("age", width=10).apply(original)
    asked = {
        "keys": KEYS,
        "targets": TARGETS,
        "holdout": outside,
        "measures": ["replicated-uniques", "disco"],
    }
    blind = dalenius.evaluate(original, masked.table, **asked)
    assert (blind["replicated-uniques"].value, blind["disco"].value) == (0, 0), (
        "without the lens it reads as safe"
    )
    found = dalenius.evaluate(original, masked.table, lens=masked.lens, **asked)
    assert found["replicated-uniques"].value == pytest.approx(3.2, abs=0.05)
    assert found["disco"].value == pytest.approx(27.2, abs=0.05)


SMALL, STRANGERS = survey(3, 300), survey(4, 200)
STEPS = st.sampled_from(
    [
        Recode("age", width=10),
        Recode("age", cuts=(18, 40, 65)),
        Round("age", 7),
        TopCode("age", high=70, low=30),
        Recode("marital", groups={"divorced": "single", "widowed": "single"}),
        Recode("region", groups={"North": "edge", "South": "edge"}),
        Round("income", 1000),
        TopCode("income", high=30000),
    ]
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=st.lists(STEPS, min_size=1, max_size=4, unique_by=lambda s: (s.do, s.named)),
    seed=st.integers(0, 99),
)
def test_through_the_lens_or_with_both_files_recoded(steps: list[Step], seed: int) -> None:
    usable = [s for s in steps if not (isinstance(s, (Round, TopCode)) and _cut_before(s, steps))]
    seen: list[Step] = []
    for step in usable:
        if step.faults(Recipe(tuple(seen)).apply(SMALL)) == []:
            seen.append(step)
    recipe = Recipe(tuple(seen))
    masked = recipe.mask(SMALL, seed)
    order = np.random.default_rng(seed).permutation(SMALL.rows)
    shuffled, lens = masked.table.take(order), masked.lens.take(order, SMALL.rows)
    names = ["replicated-uniques", "disco", "identical-matches", "two-way-utility"]
    through = dalenius.evaluate(SMALL, shuffled, None, KEYS, TARGETS, STRANGERS, measures=names, lens=lens)
    both = dalenius.evaluate(
        recipe.apply(SMALL), shuffled, None, KEYS, TARGETS, recipe.apply(STRANGERS), measures=names
    )
    assert {n: r.value for n, r in through.results.items()} == {n: r.value for n, r in both.results.items()}
    assert len(through.results) == len(names)


def _cut_before(step: Step, steps: list[Step]) -> bool:
    return any(isinstance(s, Recode) and s.named == step.named for s in steps[: steps.index(step)])


def test_suppressed_cells_and_dropped_keys() -> None:
    frame = {
        "age": [1, 1, 2, 3],
        "sex": ["f", "f", "m", "m"],
        "town": ["a", "b", "c", "d"],
        "ill": list("ynyn"),
    }
    original = Table.from_frame(frame)
    gone = np.array([False, False, True, True])
    after = original.with_vectors(dalenius.data.vector.emptied(original["age"], gone)).drop(["town"])
    lens = Lens(dropped=frozenset(["town"]), gaps={"age": gone})
    pair = Pair(original, after, keys=["age", "sex", "town"], targets=["ill"], lens=lens)
    assert pair.keys == ["age", "sex"]
    assert pair.match(pair.keys).figures["repU"] == 0
    assert pair.match(pair.keys).original.tolist() == [2, 2], "rows with a gap are a group of their own"
    with pytest.raises(DataError, match="lens of another file"):
        Pair(original, after.take(np.arange(2)), lens=lens)
    dropped = DropColumn("town").apply(original)
    assert dropped.lens.dropped == {"town"}


def bits(text: str) -> np.ndarray:
    return np.array([sign == "1" for sign in text])


def test_two_lenses_after_one_another_by_hand() -> None:
    first = Lens(
        perturbed=frozenset("p"), dropped=frozenset("d"), gaps={"a": bits("1000"), "b": bits("1010")},
        links=np.array([4, 3, 1, 0]),
    )  # fmt: skip
    later = Lens(dropped=frozenset("b"), gaps={"a": bits("01"), "c": bits("10")}, links=np.array([3, 0]))
    both = first.then(later)
    assert both.links.tolist() == [0, 4], (
        "rows 3 and 0 of the first file, which are rows 0 and 4 of the original"
    )
    assert {name: gone.tolist() for name, gone in both.gaps.items()} == {
        "a": [False, True],
        "c": [True, False],
    }
    assert (both.perturbed, both.dropped) == ({"p"}, {"d", "b"})
    again = first.then(Lens(gaps={"a": bits("0100")}))
    assert again.gaps["a"].tolist() == [True, True, False, False], "what was empty stays so"
    assert again.links.tolist() == [4, 3, 1, 0]
    assert Lens(gaps={"a": bits("0110")}).then(later).gaps["a"].tolist() == [False, True]


def test_a_gap_is_its_own_row_s_in_whatever_order_the_rows_leave() -> None:
    original = Table.from_frame({"age": [31, 42, 53, 64], "town": ["a", "b", "c", "d"]})
    lens = Lens(gaps={"age": bits("100"), "gone": bits("001")}, links=np.array([2, 0, 3]))
    assert lens.see_own(original).to_frame()["age"] == [31, 42, None, 64]
    some = lens.take(np.array([2, 0]), 3)
    assert some.links.tolist() == [3, 2]
    assert {name: gone.tolist() for name, gone in some.gaps.items()} == {
        "age": [False, True],
        "gone": [True, False],
    }
    assert Lens(gaps={"age": bits("010")}).take(bits("011"), 3).links.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("lens", "told"),
    [
        (Lens(links=np.array([0, 1, 3])), "beyond the original's 3"),
        (Lens(links=np.array([0, -1, 2])), "beyond the original's 3"),
        (Lens(links=np.array([0, 1])), "links 2 rows"),
        (Lens(gaps={"a": bits("01")}), "2 rows for column 'a'"),
    ],
)
def test_a_lens_of_another_file_is_refused(lens: Lens, told: str) -> None:
    original = Table.from_frame({"a": [1, 2, 3]})
    with pytest.raises(DataError, match=told):
        lens.check(original, 3)
    Lens(links=np.array([2, 1, 0]), gaps={"a": bits("010")}).check(original, 3)
    with pytest.raises(DataError, match="files have 3 and 2 rows"):
        Lens(perturbed=frozenset("a")).check(original, 2)


def test_frames_of_any_kind_pass_the_lens() -> None:
    frame = pl.DataFrame({"age": [*range(30, 60), *range(10, 40)], "sex": ["f", "m"] * 30})
    masked = Recode("age", width=10).apply(Table.from_frame(frame))
    pair = Pair(frame, masked.table.to_frame(), frame.to_pandas(), lens=masked.lens)
    assert pair.holdout is not None
    assert pair.original["age"].levels == pair.protected["age"].levels == pair.holdout["age"].levels


def test_compare_and_benchmark_look_through_the_mask() -> None:
    people = survey(5, 300)
    made = dalenius.Candidate("recode", {"column": "age", "width": 10}).make(people)
    asked = {"keys": KEYS, "targets": TARGETS, "measures": ["replicated-uniques", "two-way-utility"]}
    found = dalenius.compare(people, {"masked": made, "copy": people}, None, **asked)
    assert 0 < found["masked"]["replicated-uniques"].value < found["copy"]["replicated-uniques"].value
    tried = dalenius.benchmark(people, {"recode": {"column": "age", "width": 10}}, None, KEYS, TARGETS, replicates=1,
                               measures=["replicated-uniques"])  # fmt: skip
    assert (
        tried.comparison["recode"]["replicated-uniques"].value == found["masked"]["replicated-uniques"].value
    )
