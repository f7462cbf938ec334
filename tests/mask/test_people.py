"""k counts people, not their rows; and no other column gives a masked one back, whatever its kind."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius import Candidate, Pair
from dalenius.core.errors import DaleniusError
from dalenius.counts.measure import MEASURES
from dalenius.data.lens import Lens
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.mask.geo.donut import Donut
from dalenius.mask.household_swap import SwapHouseholds
from dalenius.mask.lattice.generalise import Generalise
from dalenius.mask.mondrian import Mondrian


def visits(rows_each: int = 6) -> Table:
    """Sixty people of several rows each."""
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {"person": np.arange(60), "age": rng.integers(20, 80, 60), "sex": rng.choice(["f", "m"], 60)}
    )
    frame = pl.concat([frame] * rows_each)
    table = Table.from_frame(frame)
    return Table.from_frame(frame, table.schema.with_roles(entity="person"))


def fewest(table: Table, source: Table) -> int:
    frame = table.to_frame().with_columns(person=source.to_frame()["person"])
    return int(frame.group_by("age", "sex").agg(pl.col("person").n_unique())["person"].min())


def test_regions_have_k_people() -> None:
    table = visits()
    made = Mondrian(keys=("age", "sex"), k=5).apply(table)
    assert fewest(made.table, table) >= 5
    assert "person" in made.notes[0]


@pytest.mark.parametrize("limit", [0.0, 0.1])
def test_a_generalisation_keeps_k_people(limit: float) -> None:
    table = visits()
    made = Generalise(keys=("age", "sex"), levels={"age": [5, 10, 20, "all"]}, k=6, limit=limit).apply(table)
    assert fewest(made.table, table) >= 6
    with pytest.raises(DaleniusError):
        Generalise(keys=("age", "sex"), levels={"age": [5, 10]}, k=61).apply(table)


def panel(role: str) -> Table:
    """A hundred people with twelve rows each: a height and a sex that stay, a reading that does not."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"who": np.repeat(np.arange(100), 12), "height": np.repeat(rng.normal(170, 10, 100).round(1), 12),
         "sex": np.repeat(rng.choice(["f", "m"], 100), 12), "reading": rng.normal(0, 1, 1200).round(2)}
    )  # fmt: skip
    table = Table.from_frame(frame)
    return Table.from_frame(frame, table.schema.with_roles(**{role: "who"}))


@pytest.mark.parametrize("role", ["entity", "household"])
@pytest.mark.parametrize("step", [{"do": "add-noise", "variables": ["height"], "amount": 0.5},
                                  {"do": "add-noise", "variables": ["height", "reading"], "method": "correlated"},
                                  {"do": "rank-swap", "variables": ["height"]}])  # fmt: skip
def test_noise_does_not_average_out_over_the_rows_of_a_person(step: dict[str, object], role: str) -> None:
    table = panel(role)
    made = Candidate("recipe", {"steps": [step]}).make(table, seed=1)
    lens = made.lens()
    assert lens.links is not None
    who, old = table["who"].data[lens.links], table["height"].data[lens.links]
    new = made.table["height"].data
    row = np.abs(new - old).mean()
    person = np.abs(np.bincount(who, new - old) / 12).mean()
    assert row > 0.1
    assert person == pytest.approx(row)
    assert len(np.unique(made.table["reading"].data)) > 300


def test_a_vote_over_the_rows_of_a_person_tells_no_more_than_one() -> None:
    table = panel("entity")
    made = Candidate("recipe", {"steps": [{"do": "pram", "variables": ["sex"]}]}).make(table, seed=1)
    lens = made.lens()
    assert lens.links is not None
    same = made.table["sex"].categories.codes == table["sex"].categories.codes[lens.links]
    votes = np.bincount(table["who"].data[lens.links], same)
    assert set(votes) == {0, 12}
    with pytest.raises(DaleniusError, match="a person has up to 12 rows"):
        Candidate("random-response", {"variables": ["sex"], "epsilon": 1.0, "domain": "from-data"}).make(
            table
        )


@pytest.mark.parametrize("method", ["mdav", "varying", "optimal", "each"])
def test_means_are_of_k_people(method: str) -> None:
    table = panel("entity")
    step = {"do": "microaggregate", "variables": ["height"], "k": 3, "method": method}
    made = Candidate("recipe", {"steps": [step], "ghosts": False}).make(table, seed=1)
    lens = made.lens()
    assert lens.links is not None
    frame = pl.DataFrame({"mean": made.table["height"].data, "who": table["who"].data[lens.links]})
    assert frame.group_by("mean").agg(pl.col("who").n_unique())["who"].min() >= 3
    assert any("3 people or more" in note for note in made.notes)
    with pytest.raises(DaleniusError, match=r"k = 101 times 12"):
        Candidate("recipe", {"steps": [{**step, "k": 101}]}).make(table, seed=1)


def test_robin_hood_refuses_people_with_several_rows() -> None:
    step = {"do": "robin-hood", "keys": ["sex", "height"], "fairness": "sex", "k": 5}
    with pytest.raises(DaleniusError, match="make one row a person"):
        Candidate("recipe", {"steps": [step]}).make(panel("entity"), seed=1)


@pytest.mark.parametrize("role", ["entity", "household"])
def test_nobody_hides_among_rows_of_his_own(role: str) -> None:
    """Thirty homes far from each other, twelve rows each: every spatial k is 1, not 12."""
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {"who": np.repeat(np.arange(30), 12), "x": np.repeat(np.arange(30) * 9000.0, 12),
         "y": np.repeat(rng.uniform(0, 90_000, 30).round(), 12)}
    )  # fmt: skip
    table = Table.from_frame(frame)
    table = Table.from_frame(frame, table.schema.with_roles(**{role: "who"}))
    made = Donut("x", "y", unit="metres").apply(table, 1)
    assert made.figures["spatial k, mean"] == 1
    assert made.figures["spatial k below 3 in %"] == 100


def test_texts_and_numbers_give_masked_columns_back() -> None:
    rng = np.random.default_rng(1)
    age, place = rng.integers(20, 80, 1500), rng.integers(0, 400, 1500)
    frame = pl.DataFrame(
        {
            "age": age,
            "said": [f"{a} years" for a in age],
            "mixed": (age * 37) % 101,
            "region": [f"r{p % 5}" for p in place],
            "town": [f"t{p}" for p in place],
            "pay": rng.normal(size=1500),
            "hours": rng.integers(0, 60, 1500),
        }
    )
    steps = [{"do": "recode", "column": "age", "width": 10}, {"do": "collapse", "column": "region"}]
    made = Candidate("recipe", {"steps": steps}).make(frame)
    assert made.table.names == ["age", "region", "pay", "hours"]


def test_local_suppression_counts_people_and_is_judged_by_people():
    """Two rows a person: k = 3 people, whatever the number of rows, in the step, its log and the measure."""
    rng = np.random.default_rng(3)
    people = pl.DataFrame(
        {
            "person": np.arange(200),
            "sex": rng.choice(["f", "m"], 200),
            "region": rng.choice(list("abcdefgh"), 200),
        }
    )
    frame = pl.concat([people, people]).sort("person")
    schema = Table.from_frame(frame).schema.with_roles(entity="person", key=["sex", "region"])
    table = Table.from_frame(frame, schema)
    made = Candidate("suppress", {"keys": ["sex", "region"], "k": 3}).make(table, seed=1)
    pair = Pair(table, made.table, keys=["sex", "region"], lens=made.lens())
    once = made.table.to_frame()
    assert MEASURES["k-anonymity"](pair).value >= 3
    sizes = pl.DataFrame(once).group_by("sex", "region").len()["len"].min()
    assert sizes >= 6  # two rows each
    lone = pl.concat([people, people.head(1), people.head(1)]).with_columns(
        region=pl.when(pl.col("person") == 0).then(pl.lit("z")).otherwise(pl.col("region"))
    )
    several = Table.from_frame(lone).schema.with_roles(entity="person")
    same = Pair(
        Table.from_frame(lone, several),
        lone.drop("person"),
        keys=["sex", "region"],
        lens=Lens(links=np.arange(lone.height)),
    )
    assert MEASURES["k-anonymity"](same).value == 1  # three rows of one person


def test_smaller_sets_of_keys_are_shown_by_so_many_people_too() -> None:
    """Two people of region z with two rows each: four rows, and yet fewer than three people."""
    persons = [*range(12), 12, 13]
    data = {
        "person": persons * 2,
        "sex": ["f"] * 28,
        "region": (["a"] * 6 + ["b"] * 6 + ["z"] * 2) * 2,
    }
    table = Table.from_frame(data, Table.from_frame(data).schema.with_roles(entity="person"))
    options = {"keys": ["sex", "region"], "k": 2}
    assert "z" in Candidate("suppress", options).make(table, seed=1).table.to_frame()["region"]
    made = Candidate("suppress", {**options, "subsets": {"1": 3}}).make(table, seed=1).table.to_frame()
    assert "z" not in made["region"]
    assert {"a", "b"} <= set(made["region"])


@pytest.mark.parametrize(("owners", "leaves"), [([0, 1], False), ([0, 0, 0], False), ([0, 1, 2], True)])
def test_a_text_leaves_a_mask_with_three_people(owners: list[int], leaves: bool) -> None:
    assert ("knows Ann" in _texts(owners, [])) == leaves


def test_texts_are_counted_by_the_people_of_the_rows_that_are_left() -> None:
    """The first five rows go; the three that then stand first belong to one person."""
    assert "knows Ann" not in _texts([9, 9, 9], [0, 1, 2, 3, 4])
    assert "knows Ann" in _texts([5, 6, 7], [0, 0, 0, 1, 1])


def _texts(owners: list[int], gone: list[int]) -> list[str]:
    """Texts of a masked file, in which the first rows are too few to stay; the next have a text of their own."""
    rest = range(20, 40)
    data = {
        "person": [*gone, *owners, *rest],
        "town": ["Cy"] * len(gone) + ["Aa"] * (len(owners) + len(rest)),
        "note": ["well"] * len(gone) + ["knows Ann"] * len(owners) + ["well"] * len(rest),
    }
    schema = Table.from_frame(data).schema.with_roles(entity="person")
    schema = schema.replace_columns(Column("note", Kind.TEXT))
    options = {"keys": ["town"], "k": 6, "limit": 0.5, "remove": True}
    return (
        Candidate("generalise", options).make(Table.from_frame(data, schema), seed=1).table.to_frame()["note"]
    )


@pytest.mark.parametrize("rows", [1, 3])
def test_swaps_look_for_somebody_whose_rows_alone_make_a_group(rows: int) -> None:
    data = {
        "who": [*(f"P{i}" for i in range(200)), *["PX"] * rows],
        "region": [*["n", "s"] * 100, *["n"] * rows],
        "sex": [*["f", "f", "m", "m"] * 50, *["x"] * rows],
    }
    table = Table.from_frame(data)
    table = table.with_schema(table.schema.with_roles(entity="who"))
    step = SwapHouseholds(("region",), keys=("sex",), k=3)
    assert step.apply(table, 1).figures["households at risk"] == rows
    homes = table.with_schema(table.schema.with_roles(entity=[], household="who"))
    assert step.apply(homes, 1).figures["households at risk"] == (1 if rows < 3 else 0)
