"""One rule of who owns rows: counting, risk, disclosure control and splits agree on it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import OptionError
from dalenius.counts.pair import Pair
from dalenius.data import Schema, Table
from dalenius.data.units import deal, kept_together, units_of
from dalenius.risk.identity import replicated_rows, replicated_uniques
from dalenius.synth.sdc import protect
from dalenius.synth.sdc import replicated_uniques as repeated

ROLES = [{}, {"entity": "who"}, {"household": "home"}, {"entity": "who", "household": "home"}]


def visits(people: int, seed: int) -> pl.DataFrame:
    """People with one to four rows each, one or two people a home."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), rng.integers(1, 5, people))
    return pl.DataFrame(
        {
            "home": [f"h{w // 2}" for w in who],
            "who": [f"p{w}" for w in who],
            "sex": rng.choice(["f", "m"], people)[who],
            "year": rng.integers(1940, 1990, people)[who],
            "ill": rng.choice(["yes", "no"], len(who)),
        }
    )


def table(roles: dict[str, str], people: int = 60, seed: int = 1) -> Table:
    frame = visits(people, seed)
    return Table.from_frame(frame, Schema.infer(frame).with_roles(keys=["sex", "year"], **roles))


@pytest.mark.parametrize("roles", ROLES, ids=str)
def test_risk_and_disclosure_control_agree_on_who_is_replicated(roles):
    original = table(roles)
    protected = visits(60, 1).unique("who", maintain_order=True).drop("home", "who")
    keys = ["sex", "year"]
    pair = Pair(original, protected, keys=keys)
    flags = replicated_rows(pair).replicated
    assert flags.any()
    assert repeated(original, protected, keys).tolist() == flags.tolist()
    left = protect(protected, original, uniques=True, keys=keys).table
    assert left.rows == protected.height - flags.sum()
    assert replicated_uniques(pair.swap_in(left)).value == 0


def test_a_person_with_several_rows_is_single():
    """Counted by rows nobody would be unique: risk would call the file safe, and nothing would be removed."""
    data = {"who": ["a", "a", "b", "b", "b"], "sex": ["f", "f", "m", "m", "m"]}
    original = Table.from_frame(data, Schema.infer(data).with_roles(entity="who", keys=["sex"]))
    protected = {"sex": ["f", "m"]}
    assert replicated_uniques(Pair(original, protected)).value == 100
    assert repeated(original, protected, ["sex"]).tolist() == [True, True]
    assert replicated_uniques(Pair(original, protected, unit="record")).value == 0


def test_rows_without_an_owner_are_their_own():
    table = Table.from_frame({"who": ["a", None, "a", None, "b"]})
    units = units_of(table.with_schema(table.schema.with_roles(entity="who")))
    assert units.count == 4
    assert len(set(units.owners_of_rows[[1, 3]])) == 2


def test_entity_before_household_before_record():
    counts = {str(roles): table(roles).units.count for roles in ROLES}
    people, rows = 60, visits(60, 1).height
    assert list(counts.values()) == [rows, people, people // 2, people]
    both = table(ROLES[3])
    assert [units_of(both, unit).count for unit in ("entity", "household", "record")] == [60, 30, rows]
    assert [Pair(both, both, unit=u).units.count for u in ("entity", "household", "record")] == [60, 30, rows]
    with pytest.raises(OptionError, match="no column has the role 'household'"):
        units_of(table(ROLES[1]), "household")


@pytest.mark.parametrize("roles", ROLES, ids=str)
@pytest.mark.parametrize("aside", [1, 20, 70])
def test_a_split_divides_neither_people_nor_households(roles, aside):
    whole = table(roles)
    kept, held = deal(whole, aside, 3)
    assert sorted([*kept.tolist(), *held.tolist()]) == list(range(whole.rows))
    assert abs(len(held) - aside) <= 8 // 2
    frame = visits(60, 1)
    for column in roles.values():
        assert not set(frame[column].gather(kept)) & set(frame[column].gather(held))


def test_somebody_who_moves_ties_two_homes_together():
    data = {"home": ["x", "y", "z", None], "who": ["a", "a", "b", "c"]}
    moved = Table.from_frame(data, Schema.infer(data).with_roles(entity="who", household="home"))
    assert kept_together(moved).codes.tolist() == [0, 0, 1, 2]


def test_splits_of_next_to_nothing():
    assert [len(part) for part in deal(Table.from_frame({"a": [1]}), 1, 1)] == [1, 0]
    assert [len(part) for part in deal(table(ROLES[3]).take(np.zeros(0, int)), 3, 1)] == [0, 0]
