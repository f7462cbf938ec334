"""Example tables and suppression patterns of Langsrud (PSD 2024) and of the R packages' documentation."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dalenius.tables import Dominance, FewContributors, PPercent, SingletonRules, SmallCount, define
from dalenius.tables import protect as protect_and_audit
from dalenius.tables.gauss import gauss_suppress

protect = partial(
    protect_and_audit, repair=False
)  # the bare elimination, as the paper and R's package have it

COUNTRIES = ("I", "P", "S")
OFF = SingletonRules.none()


def crossing(rows, inner):
    """Name → indicator over the inner cells, for all crossings with totals."""
    lines = [*dict.fromkeys(r for r, _ in rows), "Tot"]
    cells = {}
    for line in lines:
        for country in (*COUNTRIES, "Tot"):
            cells[f"{line}|{country}"] = [int(line in (r, "Tot") and country in (c, "Tot")) for r, c in inner]
    return cells


TABLE1 = [(age, c) for age in ("Yng", "Old") for c in COUNTRIES]
ORDER1 = ["Tot|Tot", "Old|Tot", "Tot|S", "Tot|I", "Old|I", "Yng|Tot", "Yng|S", "Old|S", "Tot|P", "Old|P"]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("none", {"Old|I", "Old|P"}),
        *(
            (m, {"Old|I", "Yng|S", "Old|S", "Old|P"})
            for m in ("virtual", "subspace", "subspace_strict", "anysum")
        ),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_table_1(method, expected, seed):
    """Zeros cannot protect each other; the order of the other rows does not matter."""
    inner = [TABLE1[i] for i in np.random.default_rng(seed).permutation(6)]
    cells = crossing(TABLE1, inner)
    names, matrix = list(cells), np.array(list(cells.values())).T
    zero = [cell in (("Yng", "I"), ("Yng", "P")) for cell in inner]
    result = gauss_suppress(
        matrix,
        [names.index(n) for n in ORDER1],
        [names.index(n) for n in ("Yng|I", "Yng|P")],
        small_rows=zero,
        small=method,
    )
    assert {names[i] for i in result.secondary} == expected


@pytest.mark.parametrize(
    ("method", "expected"), [("none", {"Old|P"}), ("anysum", {"Old|P"}), ("subspace", {"Total2", "Old|P"})]
)
def test_table_2(method, expected):
    names = [f"{a}|{c}" for a, c in TABLE1] + ["Total1", "Total2"]
    special = np.array([[0, 1], [1, 0], [1, 1], [1, 1], [1, 1], [1, 1]])
    matrix = np.hstack([np.eye(6, dtype=int), special])
    order = [names.index(n) for n in ("Total1", "Total2", "Old|I", "Yng|S", "Old|S", "Old|P")]
    result = gauss_suppress(matrix, order, [0, 1], small_rows=[1, 1, 0, 0, 0, 0], small=method)
    assert {names[i] for i in result.secondary} == expected


ROWS3 = [
    (r[:3], r[3]) for r in ["IndI", "AgrP", "GovP", "AgrS", "EntS", "IndP", "IndS", "EntI", "EntP", "GovS"]
]
OWNER3 = {("Ent", "I"): 1, ("Ent", "P"): 1, ("Gov", "S"): 1, ("Ind", "P"): 2, ("Ind", "S"): 2}
ORDER3 = [
    "Agr|I",
    "Gov|I",
    "Tot|Tot",
    "Tot|S",
    "Tot|P",
    "Ind|Tot",
    "Agr|Tot",
    "Ent|Tot",
    "Agr|S",
    "Ent|S",
    "Gov|Tot",
    "Gov|P",
    "Tot|I",
    "Ind|I",
    "Agr|P",
]
PRIMARY3 = ["Ent|I", "Ent|P", "Gov|S", "Ind|P", "Ind|S"]
WITHIN = replace(OFF, ids=True, within=True)
PATTERNS3 = {
    "none": (OFF, "Gov|P Ind|I"),
    "virtual": (replace(OFF, ids=True, virtual="plain"), "Ent|S Gov|P Ind|I"),
    "within, top row": (replace(WITHIN, row_check="top"), "Agr|P Agr|S Gov|P Ind|I"),
    "within, parallel": (
        replace(WITHIN, row_check="top", parallel=True),
        "Agr|P Agr|S Gov|Tot Ind|I Ind|Tot",
    ),
    "within, any row": (WITHIN, "Agr|P Agr|S Gov|Tot Ind|I Ind|Tot"),
    "combinations": (replace(WITHIN, combinations=2), "Agr|P Agr|S Ent|S Gov|P Gov|Tot Ind|I Ind|Tot"),
    "default": (SingletonRules(), "Agr|P Agr|S Ent|S Gov|P Gov|Tot Ind|I Ind|Tot"),
}


def table3():
    cells = crossing([("Agr", ""), ("Ent", ""), ("Gov", ""), ("Ind", "")], ROWS3)
    return list(cells), np.array(list(cells.values())).T


@pytest.mark.parametrize("pattern", PATTERNS3)
def test_table_3(pattern):
    rules, expected = PATTERNS3[pattern]
    names, matrix = table3()
    owners = [OWNER3.get(row, 0) for row in ROWS3]
    order, primary = ([names.index(n) for n in which] for which in (ORDER3, PRIMARY3))
    result = gauss_suppress(matrix, order, primary, owners=owners, singleton=rules)
    assert {names[i] for i in result.secondary} == set(expected.split())


FIRMS1 = """Agr|P: B 11.5; Agr|S: A 2.7, D 7.1; Ent|I: B 25.7; Ent|P: D 11.8; Ent|S: B 6.5, D 10.8; Gov|P: C 67.7;
Gov|S: A 16.4, B 96.6; Ind|I: A 2.3, B 21.6, C 16.8; Ind|P: B 75.9, C 77.4; Ind|S: B 11.5"""
FIRMS2 = """Agr|P: C 2, D 1.9; Agr|S: A 25.7, C 96.6; Ent|I: B 2.7; Ent|P: B 12.2; Ent|S: B 75.9, C 16.8, D 16.4;
Gov|P: A 21.6, C 43.2; Gov|S: B 15.5; Ind|I: A 24.5, B 21.1; Ind|P: D 83.9; Ind|S: D 2.3"""
MAGNITUDE1 = """Agr|P: A 75.9, B 24.5; Agr|S: A 96.6, B 43.2; Ent|I: B 16.8; Ent|P: B 7.1, D 2.3;
Ent|S: A 77.4, B 11.5, C 16.4; Gov|P: B 21.6, D 2; Gov|S: C 6.5, D 2.7;
Ind|I: B 9.6, C 8.8, D 1.9; Ind|P: B 25.7, D 3.4; Ind|S: C 8.4"""


def firms(text):
    rows = []
    for cell in text.replace("\n", " ").split(";"):
        where, parts = cell.split(":")
        sector, country = where.strip().split("|")
        rows += [(sector, country, *part.split()) for part in parts.split(",")]
    return {
        "sector": [r[0] for r in rows],
        "country": [r[1] for r in rows],
        "sector2": ["public" if r[0] == "Gov" else "private" for r in rows],
        "eu": ["nonEU" if r[1] == "I" else "EU" for r in rows],
        "company": [r[2] for r in rows],
        "value": [float(r[3]) for r in rows],
    }


COUNTS = {
    ("1", "F"): (8, 11, 13, 13, 11, 13, 13),
    ("1", "T"): (10, 11, 13, 13, 11, 13, 13),
    ("2 top", "F"): (7, 9, 10, 12, 10, 11, 12),
    ("2 top", "T"): (8, 10, 10, 12, 11, 11, 12),
    ("2 any", "F"): (7, 10, 11, 12, 10, 11, 12),
    ("2 any", "T"): (8, 11, 11, 12, 11, 11, 12),
}
SWITCHES = ("FF", "tF", "tt", "tT", "TF", "Tt", "TT")


@pytest.mark.parametrize(("data", "virtual"), COUNTS)
def test_numeric_singleton_counts(data, virtual):
    """The 42 counts of the R test "More NumSingleton", for the plain and the hierarchical virtual cells."""
    model = define(
        firms(FIRMS1 if data == "1" else FIRMS2), ["sector", "country"], value="value", contributor="company"
    )
    check = "top" if data.endswith("top") else "any"
    for letter in ("T", "H") if virtual == "T" else ("F",):
        found = []
        for switch in SWITCHES:
            rules = SingletonRules.from_code(f"numTT{letter}{switch}", check)
            found.append(int(protect(model, Dominance([(1, 80)]), singleton=rules).suppressed.sum()))
        assert tuple(found) == COUNTS[data, virtual]


def cell_names(model, mask):
    short = [":".join(code for code in row) for row in model.cells.iter_rows()]
    return {short[i] for i in np.flatnonzero(mask)}


def named(text):
    return set(text.replace("|", ":").replace("Tot", "Total").split())


def test_magnitude1_few_contributors():
    model = define(firms(MAGNITUDE1), ["sector", "country"], value="value")
    bare = protect(model, FewContributors(1), singleton=SingletonRules.none())
    assert cell_names(model, bare.primary) == named("Ent|I Ind|S")
    assert cell_names(model, bare.secondary) == named("Gov|P Ind|I Ent|P Gov|S")
    assert cell_names(model, protect(model, FewContributors(1)).suppressed) == cell_names(
        model, bare.suppressed
    ) | {"Ind:P"}


def test_magnitude1_dominance():
    model = define(firms(MAGNITUDE1), ["sector", "country"], value="value")
    bare = protect(model, Dominance([(1, 80)]), singleton=SingletonRules.none())
    assert cell_names(model, bare.primary) == named("Ent|I Gov|P Ind|P Ind|S")
    assert cell_names(model, bare.secondary) == named("Ind|I Ent|P Gov|S")
    full = protect(model, Dominance([(1, 80)]))
    assert cell_names(model, full.suppressed) == cell_names(model, bare.suppressed) | named("Ind|Tot Gov|Tot")


def test_magnitude1_companies_and_formula():
    model = define(
        firms(MAGNITUDE1), formula="~ sector * country + sector2 * eu", value="value", contributor="company"
    )
    rule = Dominance([(1, 80), (2, 99)])
    bare = protect(model, rule, singleton=SingletonRules.none())
    assert cell_names(model, bare.primary) == named("Agr|Tot Agr|P Agr|S Ent|I Ent|P Gov|P Gov|S Ind|P Ind|S")
    assert cell_names(model, bare.secondary) == named("Ind|Tot Ind|I")
    full = protect(model, rule)
    assert cell_names(model, full.suppressed) == cell_names(model, bare.suppressed) | {"Ent:S"}
    percent = protect(
        define(firms(MAGNITUDE1), ["sector", "country"], value="value", contributor="company"), PPercent(10)
    )
    assert int(percent.primary.sum()) == 11
    assert int(percent.suppressed.sum()) == 14
    assert cell_names(percent.model, percent.secondary) == named("Ent|S Gov|Tot Ind|I")


def test_dominance_with_weights():
    cells = {"v1": [100], "v2": [90, 10], "v3": [80, 20], "v4": [70, 30], "v5": [80, 10, 10], "v6": [70, 10, 10, 10],
             "v7": [60, 20, 10, 10]}  # fmt: skip
    weights = [1, 2, 1, 2, 1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1]
    firm = list("ACBACCCCBAABAACABA")
    frame = {
        "v": [name for name, parts in cells.items() for _ in parts],
        "x": [x for parts in cells.values() for x in parts],
        "w": weights,
        "firm": firm,
    }
    weighted = define(frame, by="v", value="x", weight="w")
    assert weighted.amount[1:].tolist() == [100, 190, 180, 170, 180, 170, 160]
    assert cell_names(weighted, Dominance([(1, 70), (2, 90)]).protects(weighted).mask) == {"v1"}
    assert cell_names(weighted, Dominance([(2, 90)], weighting="tau-argus").protects(weighted).mask) == {
        "v1",
        "v2",
    }
    plain = define(frame, by="v", value="x", contributor="firm")
    shares = Dominance([(2, 90)]).shares(plain)[2][1:]
    np.testing.assert_allclose(shares, [1, 1, 1, 1, 0.9, 1, 0.9])


def test_z1():
    incomes = {"annet": [11, 7, 5, 13, 9, 12, 6, 9], "arbeid": [11, 1, 8, 2, 14, 9, 4, 3],
               "soshjelp": [55, 29, 35, 17, 63, 24, 22, 38], "trygd": [36, 18, 25, 13, 52, 22, 8, 15]}  # fmt: skip
    frame = {
        "region": list("ABCDEFGH") * 4,
        "income": [name for name in incomes for _ in range(8)],
        "n": [n for counts in incomes.values() for n in counts],
    }
    model = define(frame, ["region", "income"], freq="n")
    result = protect(model, SmallCount(3))
    assert cell_names(model, result.primary) == {f"{r}:arbeid" for r in "BDH"}
    assert cell_names(model, result.secondary) == {f"{r}:annet" for r in "BDH"}


def test_three_by_five():
    """Candidates in natural order, zeros first, and zeros first with ones as singletons."""
    counts = [1, 1, 1, 5, 5, 9, 9, 9, 9, 9, 0, 0, 0, 7, 7]
    frame = {"r": [str(i // 5 + 1) for i in range(15)], "c": list("ABCDE") * 3, "n": counts}
    model = define(frame, formula="~ r * c", freq="n")
    primary = (model.frequency < 5) & (model.frequency > 0)
    natural = np.arange(len(model.cells))
    zeros_first = np.concatenate([np.flatnonzero(model.frequency == 0), np.flatnonzero(model.frequency > 0)])
    ones = model.counts == 1

    def found(order, **options):
        secondary = np.isin(natural, gauss_suppress(model.matrix, order, primary, **options).secondary)
        return cell_names(model, secondary)

    assert found(natural) == {"3:A", "3:B", "3:C"}
    assert found(zeros_first) == {"2:A", "2:B", "2:C"}
    assert found(zeros_first, small_rows=ones, small="anysum") == {"1:E", "2:A", "2:B", "2:C", "2:E"}


def test_three_by_three():
    frame = {"r": list("111222333"), "c": list("123123123"), "n": [0, 2, 5, 0, 0, 6, 7, 8, 9]}
    model = define(frame, ["r", "c"], freq="n")
    assert not protect(model, SmallCount(3), small="none").secondary.any()
    assert cell_names(model, protect(model, SmallCount(3)).secondary) == {"1:3", "2:3", "3:1", "3:2"}


def example1():
    counts = {"2014": (5, 2, 0, 6, 3, 4), "2015": (5, 0, 0, 6, 3, 4), "2016": (7, 1, 1, 5, 4, 3)}
    rows = [
        (year, age, geo, "nonEU" if geo == "Iceland" else "EU", n)
        for year, numbers in counts.items()
        for (age, geo), n in zip(
            [(a, g) for a in ("young", "old") for g in ("Spain", "Iceland", "Portugal")], numbers, strict=True
        )
    ]
    return dict(zip(("year", "age", "geo", "eu", "n"), map(list, zip(*rows, strict=True)), strict=True))


def of_year(year):
    frame = example1()
    keep = [i for i, y in enumerate(frame["year"]) if y == year]
    return {name: [column[i] for i in keep] for name, column in frame.items()}


def test_example1_2014():
    model = define(of_year("2014"), formula="~ age * geo", freq="n")
    result = protect(model, SmallCount(1))
    assert cell_names(model, result.primary) == {"young:Portugal"}
    assert cell_names(model, result.secondary) == {"old:Portugal", "old:Iceland", "young:Iceland"}


def test_example1_2015():
    model = define(of_year("2015"), formula="~ age * (geo + eu)", freq="n")
    bare = protect(model, SmallCount(2), small="none")
    assert cell_names(model, bare.primary) == {"young:Iceland", "young:nonEU", "young:Portugal"}
    added = {"old:EU", "young:EU", "old:Portugal", "old:nonEU", "old:Iceland"}
    assert cell_names(model, bare.secondary) == added
    assert cell_names(model, protect(model, SmallCount(2)).secondary) == added | {"old:Spain", "young:Spain"}


def test_example1_all_years():
    model = define(example1(), formula="~ age * geo * year + eu * year", freq="n")
    rule = SmallCount(1, protect_zeros=False)
    bare, full = protect(model, rule, small="none"), protect(model, rule)
    order = [model.names.index(n) for n in ("age", "geo", "year")]
    names = {":".join(row[i] for i in order) for row in model.cells.filter(bare.primary).iter_rows()}
    assert names == {"young:Portugal:Total", "young:Iceland:2016", "young:Portugal:2016"}
    assert (int(bare.suppressed.sum()), int(full.suppressed.sum())) == (8, 14)
    spain = model.find(age="young", geo="Spain", year="2016")
    assert full.suppressed[spain].all()
    assert not bare.suppressed[spain].any()


def accidents():
    kinds = {
        "serious": (4, 5, 3, 4, 1, 6),
        "light": (0, 0, 2, 1, 0, 0),
        "none": (0, 1, 1, 4, 0, 0),
        "unknown": (0,) * 6,
    }
    return {
        "mun": [f"k{i}" for i in range(1, 7)] * 4,
        "inj": [kind for kind in kinds for _ in range(6)],
        "n": [n for counts in kinds.values() for n in counts],
    }


def test_accidents():
    model = define(accidents(), ["mun", "inj"], freq="n")
    bare, full = protect(model, SmallCount(3), small="none"), protect(model, SmallCount(3))
    assert int(bare.primary.sum()) == 22
    assert cell_names(model, bare.secondary) == {"k1:Total"}
    assert cell_names(model, full.secondary) == {"k1:Total", "k6:serious"}
    for small in ("none", "auto"):
        public = protect(model, SmallCount(3, protect_zeros=False), small=small)
        assert int(public.primary.sum()) == 8
        assert cell_names(model, public.secondary) == {
            "Total:none",
            "k2:serious",
            "k1:Total",
            "k1:serious",
            "k4:none",
        }
