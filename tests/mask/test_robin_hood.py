"""Robin Hood: the worked example, effort by strategy, an effective k for every class, imputation, disparities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core.errors import DataError, OptionError
from dalenius.data.recipe import Recipe
from dalenius.data.table import Table
from dalenius.mask.lattice.generalise import Generalise
from dalenius.mask.robin_hood import (
    FAILED,
    RobinHood,
    class_table,
    effective_k,
    expected_attempts,
    first_attempt_risk,
    num_to_mask,
)
from dalenius.mask.robin_hood_checks import disparity_odds_ratios, imputation_attack, privacy_by_group


def test_the_worked_example() -> None:
    table = Table.from_frame({"sex": ["f"] * 10, "group": ["M"] * 7 + ["m"] * 3})
    assert num_to_mask(3, 1, 4) == 3
    made = RobinHood(("sex", "group"), fairness="group", k=4).apply(table, 3)
    rows = class_table(table, made.table, ["sex", "group"], "group", 4)
    assert rows.select("A", "B", "C", "D", "E").rows() == [(7, 4, 3, 1, 4), (3, 2, 1, 3, 4)]
    assert rows["k_eff"].to_list() == [pytest.approx(7 + 3 / 7), 4.0]
    assert made.changed == {"group": 4}


@pytest.mark.parametrize(
    ("b", "c", "d", "wanted", "k"),
    [(2, 1, 3, (2.5, 4.5, 3.5), 4), (4, 3, 1, (4.2143, 4.7857, 4.5), 7 + 3 / 7),
     (10, 5, 20, (11.3333, 24.6667, 18.0), 21.6667)],
)  # fmt: skip
def test_effort(b: int, c: int, d: int, wanted: tuple[float, ...], k: float) -> None:
    a, e = b + c, c + d
    found = [expected_attempts(a, c, e, way) for way in (1, 2, 3)]
    assert found == pytest.approx(wanted, abs=6e-5)
    assert found[0] == pytest.approx(
        (float(effective_k(np.array([a]), np.array([c]), np.array([d]))[0]) + 1) / 2
    )
    assert (2 * found[0] - 1) == pytest.approx(k, abs=6e-5)
    assert found[2] - found[0] == pytest.approx(found[1] - found[2])  # B D / 2A
    assert found[2] - found[0] == pytest.approx(b * d / (2 * a))


def test_the_first_attempt() -> None:
    assert [first_attempt_risk(3, 1, 4, way) for way in (1, 2, 3)] == pytest.approx([1 / 3, 1 / 12, 1 / 6])
    rng = np.random.default_rng(1)  # attempts by simulation: shown first, then emptied ones
    tries = []
    for _ in range(4000):
        target_shown = rng.random() < 2 / 3
        tries.append(rng.integers(1, 3) if target_shown else 2 + rng.integers(1, 5))
    assert np.mean(tries) == pytest.approx(2.5, abs=0.15)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(2, 40), st.sampled_from([0.3, 0.5, 1.0]), st.sampled_from([0.2, 1.0])
)
def test_every_class_that_is_possible_has_its_k(seed: int, k: int, small: float, large: float) -> None:
    rng = np.random.default_rng(seed)
    rows = 400
    table = Table.from_frame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.choice(["young", "old", "very old"], rows, p=[0.6, 0.35, 0.05]),
            "group": rng.choice(list("ABC"), rows, p=[0.85, 0.1, 0.05]),
        }
    )
    keys = ["sex", "age", "group"]
    step = RobinHood(tuple(keys), fairness="group", k=k, minority=small, majority=large)
    made = step.apply(table, seed)
    found = class_table(table, made.table, keys, "group", k)
    failed = int(made.figures["groups not possible"])
    assert (found["status"] == FAILED).sum() <= failed  # what others lend may save one in the end
    fine = found.filter(found["C"] > 0)
    assert (fine["k_eff"] >= np.minimum(k, fine["A"]) - 1e-9).all()
    small_ones = found.filter(found["A"] < k)
    assert (small_ones["C"] <= small_ones["A"] * small + 1e-9).all()
    assert set(made.changed) <= {"group"}
    assert made.table.rows == rows


def test_where_no_way_is_found() -> None:
    table = Table.from_frame(
        {"sex": ["f"] * 4 + ["m"] * 33, "group": ["a", "a", "b", "b"] + ["a"] * 30 + ["b"] * 3}
    )
    keys = ("sex", "group")
    flagged = RobinHood(keys, fairness="group", k=10).apply(table, 1)
    assert flagged.figures["groups not possible"] == 2
    assert "2 groups no way" in flagged.notes[0]
    gone = RobinHood(keys, fairness="group", k=10, otherwise="remove").apply(table, 1)
    assert gone.table.rows == 33
    with pytest.raises(DataError, match="2 groups of people alike"):
        RobinHood(keys, fairness="group", k=10, otherwise="raise").apply(table, 1)


def test_nothing_to_do() -> None:
    table = Table.from_frame({"sex": ["f", "m"] * 20, "group": ["a"] * 20 + ["b"] * 20})
    made = RobinHood(("sex", "group"), fairness="group", k=10).apply(table, 1)
    assert made.records == 0


def test_faults() -> None:
    table = Table.from_frame({"sex": ["f", "m", "f"], "group": ["a", None, "b"]})
    with pytest.raises(DataError, match="2 faults"):
        RobinHood(("sex", "group"), fairness="group", k=5).apply(table)
    with pytest.raises(OptionError, match="not one of the keys"):
        RobinHood(("sex",), fairness="group")
    with pytest.raises(OptionError, match="say which key"):
        RobinHood(("sex",))
    with pytest.raises(OptionError, match="minority is 2"):
        RobinHood(("group",), fairness="group", minority=2.0)


def town(rows: int, seed: int, shares: tuple[float, ...] = (0.88, 0.09, 0.03)) -> Table:
    rng = np.random.default_rng(seed)
    group = rng.choice(3, rows, p=shares)
    sick = rng.random(rows) < np.array([0.1, 0.2, 0.5])[group]
    age = np.clip(np.round(rng.normal(38, 15, rows)), 17, 80).astype(int)  # few are very old, as in Adult
    age = np.where(rng.random(rows) < 0.0005, rng.integers(81, 91, rows), age)
    names = np.array(["majority", "minority", "super"])[group]
    return Table.from_frame(
        {
            "age": age.astype(str),
            "sex": rng.choice(["f", "m"], rows),
            "race": names,
            "sick": np.where(sick, "y", "n"),
        }
    )


def test_imputation_undoes_what_other_columns_tell() -> None:
    rng = np.random.default_rng(2)
    group = rng.choice(["M", "m"], 600, p=[0.9, 0.1])
    blind = {"sex": rng.choice(["f", "m"], 600), "group": group, "noise": rng.normal(size=600)}
    telling = {**blind, "noise": (group == "m") * 6.0 + rng.normal(size=600)}
    keys = ["sex", "group"]
    found = []
    for frame in (blind, telling):
        table = Table.from_frame(frame)
        made = RobinHood(tuple(keys), fairness="group", k=60).apply(table, 1)
        found.append(imputation_attack(table, made.table, keys, "group"))
    assert found[0].yardsticks["without imputation"] >= 60
    assert found[0].value > 45
    assert found[1].value < 40
    gains = privacy_by_group(table, made.table, keys, "group").table
    assert gains.filter(gains["group"] == "m")["gain"][0] > gains.filter(gains["group"] == "M")["gain"][0]


def test_odds_ratios() -> None:
    def counted(rates: dict[str, tuple[int, int]]) -> Table:
        rows = [(g, "y") for g, (y, _) in rates.items() for _ in range(y)]
        rows += [(g, "n") for g, (_, n) in rates.items() for _ in range(n)]
        return Table.from_frame({"g": [a for a, _ in rows], "sick": [b for _, b in rows]})

    raw = counted({"M": (100, 900), "m": (200, 800), "s": (500, 500)})
    ratios = disparity_odds_ratios(raw, "sick", "g", "M")
    assert (ratios["m"], ratios["s"]) == pytest.approx((2.25, 9.0))
    both = counted({"M": (100, 900), "o": (180 + 50, 720 + 50)})  # 0.09 : 0.01
    ratios = disparity_odds_ratios(both, "sick", "g", "M", merged={"m": "o", "s": "o"})
    assert (ratios["m"], ratios["s"]) == pytest.approx((2.6883, 2.6883), abs=1e-4)
    third = counted({"M": (100, 900), "o": (180 + 150, 720 + 150)})  # 0.09 : 0.03
    assert disparity_odds_ratios(third, "sick", "g", "M")["o"] == pytest.approx(3.4138, abs=1e-4)
    assert disparity_odds_ratios(raw, "sick", "g", "M", merged={"gone": "nobody"})["gone"] == 1


def levels() -> dict[str, object]:
    ages = range(17, 91)
    top = {5: 75, 10: 70, 20: 60}
    age = [{str(a): f"{w}:{min(a // w * w, top[w])}" for a in ages} for w in (5, 10, 20)]
    return {"age": [*age, "all"], "race": [{"minority": "Other", "super": "Other"}]}


@pytest.mark.slow
def test_disparities_survive_where_recoding_merges_groups() -> None:
    """100,000 people, shares 0.88, 0.09, 0.03 and k = 30: recoding to 30 merges the minorities, Robin Hood does not."""
    keys, merged = ("age", "sex", "race"), {"minority": "Other", "super": "Other"}
    found = {"raw": [], "recoded": [], "robin": []}
    for seed in range(3):
        table = town(100_000, seed)
        coarse = Generalise(keys, levels=levels(), k=30, limit=0.0, loss="entropy").apply(table, seed).table
        first = Generalise(keys, levels=levels(), k=3, limit=0.0, loss="entropy")
        robin = Recipe((first, RobinHood(keys, fairness="race", k=30))).mask(table, seed)
        assert robin.figures["smallest effective k of those possible"] >= 30
        assert 100 * robin.changed.get("race", 0) / table.rows < 5
        for name, file in (("raw", table), ("recoded", coarse), ("robin", robin.table)):
            here = merged if "Other" in map(str, file["race"].levels) else None
            ratios = disparity_odds_ratios(file, "sick", "race", "majority", merged=here)
            found[name].append((ratios["minority"], ratios["super"]))
    raw, recoded, robin_ = (np.mean(found[name], axis=0) for name in ("raw", "recoded", "robin"))
    assert raw == pytest.approx([2.25, 9.0], rel=0.06)
    assert recoded == pytest.approx([3.4, 3.4], rel=0.06)
    np.testing.assert_allclose(robin_, raw, rtol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.002, 0.006, 0.01, 0.02, 0.05, 0.1])
def test_no_other_way_keeps_disparities_better(share: float) -> None:
    """k = 30 and a small minority of any share: Robin Hood is as near to the raw ratios as recoding, or nearer."""
    keys, merged = ("age", "sex", "race"), {"minority": "Other", "super": "Other"}
    off: dict[str, list[float]] = {"robin": [], "recoded": [], "some left out": []}
    for seed in range(2):
        table = town(100_000, seed, (0.91 - share, 0.09, share))
        first = Generalise(keys, levels=levels(), k=3, limit=0.0, loss="entropy")
        steps = {
            "robin": Recipe((first, RobinHood(keys, fairness="race", k=30))).mask(table, seed),
            "recoded": Generalise(keys, levels=levels(), k=30, limit=0.0, loss="entropy").apply(table, seed),
            "some left out": Generalise(keys, levels=levels(), k=30, limit=0.01, loss="entropy").apply(
                table, seed
            ),
        }
        raw = disparity_odds_ratios(table, "sick", "race", "majority")
        for name, made in steps.items():
            here = merged if "Other" in map(str, made.table["race"].levels) else None
            found = disparity_odds_ratios(made.table, "sick", "race", "majority", merged=here)
            off[name].append(max(abs(np.log(found.get(g, 1.0) / raw[g])) for g in ("minority", "super")))
    mean = {name: np.mean(far) for name, far in off.items()}
    assert mean["robin"] <= min(mean["recoded"], mean["some left out"]) + 0.02
    if share >= 0.05:  # enough of them that the first three alike need no merging
        assert mean["robin"] < 0.03
