"""Small areas before and after a protection: what is kept from which level on, what contradicts, who is off."""

from __future__ import annotations

import polars as pl
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.utility.areas import area_counts, policy_impact

GEO = ["block", "tract", "state"]
BEFORE = pl.DataFrame({
    "block": ["1", "2", "3", "4"], "tract": ["A", "A", "B", "B"], "state": ["S"] * 4,
    "pop": [10, 0, 5, 200], "adult": [8, 0, 5, 150], "homes": [4, 0, 2, 80], "inside": [10, 0, 5, 190],
    "quarters": [0, 0, 0, 10], "land": [1, 0, 1, 1],
})  # fmt: skip
AFTER = BEFORE.with_columns(
    pl.Series("pop", [8, 2, 6, 199]), pl.Series("adult", [8, 0, 4, 150]), pl.Series("homes", [0, 1, 7, 80]),
    pl.Series("inside", [8, 2, 6, 190]),
)  # fmt: skip
ROLES = {"people": "pop", "adults": "adult", "households": "homes", "in households": "inside",
         "group quarters": "quarters", "land": "land"}  # fmt: skip


def test_by_hand():
    found = policy_impact(BEFORE, AFTER, geography=GEO, counts=["pop", "adult"], roles=ROLES)
    assert found.kept_from == {"pop": "tract", "adult": None}
    lines = {(r["level"], r["count"]): r for r in found.invariants.rows(named=True)}
    assert lines["block", "pop"]["kept %"] == 0
    assert lines["block", "pop"]["mean change"] == pytest.approx((2 + 2 + 1 + 1) / 4)
    assert lines["block", "adult"]["kept %"] == 75
    assert lines["tract", "pop"]["kept %"] == 100
    flags = {r["flag"]: r for r in found.flags.rows(named=True)}
    assert flags["people where there is no land"]["areas after %"] == 25
    assert flags["people without anybody of age"]["areas after %"] == 25
    assert flags["people without a household"]["areas after %"] == 25
    assert flags["households without people"]["areas after %"] == 0
    assert flags["fewer people than households"]["areas after %"] == 25
    assert flags["any"]["areas after %"] == 75
    assert flags["any"]["areas before %"] == 0
    assert flags["any"]["people after %"] == pytest.approx(100 * 16 / 215)
    errors = {(r["level"], r["count"], r["true count"]): r for r in found.errors.rows(named=True)}
    assert errors["block", "pop", "0"]["bias"] == 2
    assert errors["block", "pop", "0"]["mean absolute error %"] is None
    assert errors["block", "pop", "1 to 9"]["mean absolute error %"] == 20
    assert errors["block", "pop", "100 to 999"]["bias"] == -1


def test_nothing_changed_and_areas_that_appear():
    same = policy_impact(BEFORE, BEFORE, geography=GEO, counts=["pop"], roles=ROLES)
    assert same.kept_from == {"pop": "block"}
    assert same.flags["areas more"].abs().max() == 0
    less = policy_impact(BEFORE.head(3), BEFORE, geography=GEO, counts=["pop"])
    assert less.kept_from == {"pop": None}
    assert less.invariants["largest change"].max() == 200
    assert less.flags.is_empty()


def test_people_become_areas_and_bad_input_is_named():
    people = {"block": ["1", "1", "2"], "tract": ["A", "A", "A"], "age": [30, 4, 70], "w": [2.0, 1.0, 1.0]}
    made = area_counts(people, ["block", "tract"], {"pop": "", "adult": "age >= 18"}, weight="w")
    assert made.rows() == [("1", "A", 3.0, 2.0), ("2", "A", 1.0, 1.0)]
    with pytest.raises(OptionError, match="roles"):
        policy_impact(BEFORE, AFTER, geography=GEO, counts=["pop"], roles={"dogs": "pop"})
    with pytest.raises(OptionError, match="nowhere"):
        policy_impact(BEFORE, AFTER, geography=["nowhere"], counts=["pop"])
    with pytest.raises(DataError, match="several rows"):
        policy_impact(BEFORE, pl.concat([AFTER, AFTER]), geography=GEO, counts=["pop"])
