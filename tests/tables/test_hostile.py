"""Found by a hostile review: one huge value, rules of one name, names of our own columns, options that mean nothing."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.tables import (
    Dominance,
    Except,
    FewContributors,
    Hierarchy,
    KDisclosure,
    Manual,
    PPercent,
    PTable,
    Requirement,
    SingletonRules,
    SmallCount,
    TableError,
    audit,
    controlled_round,
    define,
    parse_rule,
    protect,
    protect_linked,
    read_hierarchy,
    read_suppressed,
    round_table,
    stochastic_round,
)
from dalenius.tables.contributions import Contributions
from dalenius.tables.disclosed import Disclosed
from dalenius.tables.keys import cell_name
from dalenius.tables.rules import cell_mask

BLOCKS = ["local-bdiag", "consistent", "super-consistent"]
WAYS = ["local", "back-tracking", "chained", *BLOCKS]
PEOPLE = {"sex": list("ffmm"), "job": list("abab"), "n": [2, 9, 8, 7]}


@pytest.fixture
def linked():
    data = {"sex": list("ffmm"), "job": list("abab"), "age": list("yooy"), "n": [2, 9, 8, 7]}
    return define(data, tables={"jobs": ["sex", "job"], "ages": ["sex", "age"]}, freq="n", extend0=False)


@pytest.mark.parametrize("unit", [1, 0.1])
def test_bounds_beside_a_huge_cell(unit):
    model = define({"a": list("xyz"), "n": np.array([1, 20, 10**12]) * unit}, by="a", value="n")
    found = audit(protect(model, Manual({"a": ["x"]}), repair=False), intervals="exact")
    assert found.met.all()
    assert found.intervals.low[0] == pytest.approx(0, abs=1e-3)
    assert found.intervals.high[0] == pytest.approx(21 * unit, abs=1e-3)


def test_a_huge_cell_in_the_same_sums_does_not_widen_bounds():
    counts = [[0, 10**12, 3], [4, 5, 10**12], [10**12, 0, 6]]
    data = {"a": np.repeat(list("xyz"), 3), "b": list("pqr") * 3, "n": np.ravel(counts)}
    model = define(data, by=["a", "b"], freq="n", nested=False)
    found = audit(
        protect(model, Manual(model.sizes == 1), small="none"), intervals="exact", cells="suppressed"
    )
    whole = audit(protect(model, Manual(model.sizes == 1), small="none"), intervals="exact", integer=True)
    assert found.intervals.low == pytest.approx(whole.intervals.low, abs=0.5)
    assert found.intervals.high == pytest.approx(whole.intervals.high, abs=0.5)


def test_exact_bounds_where_nothing_limits_a_cell():
    model = define({"a": ["x", "y"], "n": [40, 60]}, by="a", value="n")
    found = audit(protect(model, Manual([0, 1, 2])), intervals="exact")
    assert found.intervals.low.tolist() == [0, 0, 0]
    assert np.isinf(found.intervals.high).all()
    assert audit(protect(model, Manual([0, 1, 2])), requirement=Requirement(down_percent=50)).passed


@pytest.mark.parametrize("how", WAYS)
def test_rules_of_one_name_all_count_in_linked_tables(linked, how):
    first, second = (
        {"sex": ["f"], "job": ["a"], "age": ["Total"]},
        {"sex": ["m"], "job": ["Total"], "age": ["y"]},
    )
    found = protect_linked(linked, Manual(first), Manual(second), how=how).combined.primary
    assert np.flatnonzero(found).tolist() == sorted([*linked.places(first), *linked.places(second)])
    two = protect_linked(linked, SmallCount(8), SmallCount(2), how=how).combined.primary
    assert (two == (linked.frequency <= 8)).all()


@pytest.mark.parametrize("how", WAYS)
def test_places_are_those_of_the_whole_model(linked, how):
    place = int(linked.find(sex="m", age="y")[0])
    found = protect_linked(linked, Manual([place]), Except(SmallCount(2), [place]), how=how).combined.primary
    assert np.flatnonzero(found).tolist() == np.union1d(place, np.flatnonzero(linked.frequency <= 2)).tolist()


@pytest.mark.parametrize("how", BLOCKS)
def test_direct_disclosure_is_protected_in_linked_tables(linked, how):
    result = protect_linked(linked, KDisclosure(2), how=how)
    assert result.combined.secondary.any()
    for part in result.tables.values():
        assert not part.audit().differences.any()
    assert not result.combined.audit().differences.any()
    # The other ways by themselves see nothing of the tables taken together.
    bare = protect_linked(linked, KDisclosure(2), how=how, repair=False).combined
    assert bool(bare.audit().differences.any()) == (how != "super-consistent")


@pytest.mark.parametrize("how", WAYS)
def test_options_that_single_tables_cannot_take(linked, how):
    with pytest.raises(OptionError, match="'forced'"):
        protect_linked(linked, SmallCount(3), how=how, forced=[0])


def test_dimensions_called_like_our_columns_keep_their_codes():
    data = {"status": list("ffmm"), "freq": list("abab"), "shown": list("xyyx"), "n": [2, 9, 8, 7]}
    result = protect(define(data, by=["status", "freq"], freq="n"), SmallCount(3))
    assert result.to_frame().columns == ["status", "freq", "freq_", "flag"]
    assert result.to_frame()["status"].to_list() == result.model.cells["status"].to_list()
    assert set(result.cells["status_"]) == {"published", "primary", "secondary"}
    drawn = result.chart().to_dict()
    assert drawn["encoding"]["x"]["axis"]["title"] == "freq"
    assert {row["across"] for row in next(iter(drawn["datasets"].values()))} == {"Total", "a", "b"}
    odd = define(
        {"reason": list("ab"), "low": list("ab"), "n": [1, 2]}, by=["reason", "low"], freq="n", nested=False
    )
    found = audit(protect(odd, SmallCount(1)))
    assert "reason" in found.at_risk.columns
    assert set(found.cells["low"]) <= {"Total", "a", "b"}


def test_weights_below_one_hide_nobody():
    firms = {"a": ["x", "y"], "v": [100.0, 50.0], "w": [0.1, 0.1]}
    assert PPercent(10).protects(define(firms, by="a", value="v", weight="w")).mask.all()


def test_weights_of_one_change_nothing():
    firms = {"a": ["x"] * 3 + ["y"], "firm": list("AABC"), "v": [100, -100, 50, 9], "w": [1.0] * 4}
    plain = define(firms, by="a", value="v", contributor="firm")
    weighted = define(firms, by="a", value="v", contributor="firm", weight="w")
    assert Contributions.of(weighted).total.tolist() == Contributions.of(plain).total.tolist()


def test_a_veto_keeps_the_protection_levels():
    firms = {"a": list("xxyyyz"), "v": [90.0, 8, 40, 30, 30, 1]}
    model = define(firms, by="a", value="v")
    vetoed = protect(model, Except(PPercent(10), {"a": ["z"]}))
    plain = protect(model, PPercent(10))
    place = int(model.find(a="x")[0])
    assert Disclosed.of(vetoed).above[place] == Disclosed.of(plain).above[place] > 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: PPercent(float("nan")),
        lambda: SmallCount(float("nan")),
        lambda: FewContributors(0),
        lambda: KDisclosure(-1),
        lambda: Dominance(()),
        lambda: Dominance([(1.5, 80)]),
        lambda: Except(KDisclosure(1), [0]).protects(define(PEOPLE, by="sex", freq="n")),
        lambda: Requirement(range_min=float("nan")),
        lambda: SingletonRules(primary="some"),
        lambda: parse_rule("freq:2.9"),
        lambda: parse_rule("freq:3,5"),
        lambda: parse_rule("p:10,zeros=no"),
        lambda: parse_rule("contributors:0"),
        lambda: parse_rule("freq:1e400"),
        lambda: define(PEOPLE, by="sex", extend0="ALL"),
        lambda: define(PEOPLE, by="sex", extend0=False, structural={"sex": ["f"]}),
        lambda: define(PEOPLE, by="sex", contributor="job"),
        lambda: define(PEOPLE, by="sex", weight="n"),
        lambda: protect(define(PEOPLE, by="sex", freq="n"), SmallCount(0), small="nonsense"),
        lambda: protect(define(PEOPLE, by="sex", freq="n"), SmallCount(3), order=["x"]),
        lambda: audit(protect(define(PEOPLE, by="sex"), SmallCount(3)), contributors="interval"),
        lambda: round_table(define(PEOPLE, by="sex"), float("nan")),
        lambda: round_table(define(PEOPLE, by="sex"), 3, key=b""),
        lambda: controlled_round(define(PEOPLE, by="sex"), 2.5),
        lambda: PTable.make(3, float("nan")),
    ],
)
def test_options_that_mean_nothing_are_refused(call):
    with pytest.raises(OptionError):
        call()


@pytest.mark.parametrize("cells", [[-1], [99], [0.5], ["x"], {"sex": ["f"]}])
def test_cells_that_are_not_there(cells):
    with pytest.raises(DataError):
        cell_mask(define(PEOPLE, by=["sex", "job"], freq="n"), cells)


def test_dimensions_of_direct_disclosure_are_checked():
    model = define(PEOPLE, by=["sex", "job"], freq="n")
    for rule in (KDisclosure(1, sensitive=("zz",)), KDisclosure(1, identifying=("zz",))):
        with pytest.raises(DataError, match="'zz'"):
            protect(model, rule)


def test_numbers_beyond_what_can_be_added():
    for huge in (1e300, 2**53):
        with pytest.raises(TableError, match="'n'"):
            define({"a": ["x", "y"], "n": [huge, 1]}, by="a", freq="n")
    with pytest.raises(TableError, match="too large"):
        define({"a": ["x", "y"], "n": [1.7e308, 1.7e308]}, by="a", value="n")
    with pytest.raises(DataError):
        stochastic_round([1e300])


def test_foreign_tables_are_read_as_they_are_written():
    for text in ("12,5", "0,125", "inf"):
        with pytest.raises(TableError, match="neither numbers nor a mark"):
            read_suppressed({"a": ["Total", "x", "y"], "n": [text, ":c", "4"]}, ["a"], "n")
    table = read_suppressed({"a": ["Total", "x", "y"], "n": ["1,234,567.5", ":c", "1 234"]}, ["a"], "n")
    assert np.nan_to_num(table.amounts).tolist() == [1234567.5, 0, 1234]
    for data, by in (({"a": [], "n": []}, ["a"]), ({"a": ["x"], "n": ["1"]}, [])):
        with pytest.raises(DataError, match="at least one"):
            read_suppressed(data, by, "n")
    wide = {f"d{i}": ["Total", *(f"c{j}" for j in range(40))] for i in range(6)}
    with pytest.raises(DataError, match="in parts"):
        read_suppressed({**wide, "n": ["1"] * 41}, list(wide), "n")


def test_a_negative_published_cell_drops_the_assumption():
    cells = {"a": ["Total", "x", "y", "z"], "n": ["-9", ":c", "4", ":c"]}
    found = audit(read_suppressed(cells, ["a"], "n"))
    assert found.passed
    assert "negative" in str(found)


def test_names_of_cells_do_not_run_into_each_other():
    assert cell_name([("a", "x|b=y")]) != cell_name([("a", "x"), ("b", "y")])
    assert cell_name([("b", "y"), ("a", "x")]) == "a=x|b=y"


def test_hierarchy_files_with_gaps_or_without_codes(tmp_path):
    (tmp_path / "gap.csv").write_text("a;g;*\n\nb;g;*\n")
    assert set(read_hierarchy(tmp_path / "gap.csv").leaves) == {"a", "b"}
    for text in ("levels,codes\n", "child,parent\n", "leaf,group\n"):
        (tmp_path / "none.csv").write_text(text)
        with pytest.raises(TableError, match="no code"):
            read_hierarchy(tmp_path / "none.csv")
    with pytest.raises(TableError, match="is part of 'x'"):
        Hierarchy.from_columns([["Total", "b"], ["x", "y"]])


def test_working_objects_do_not_print_the_data():
    firms = {"area": list("wxyz"), "firm": ["SECRET", "B", "C", "D"], "v": [987654.0, 2, 3, 4]}
    model = define(firms, by="area", value="v", contributor="firm")
    result = protect(model, PPercent(12.5))
    found = audit(result)
    things = (
        model.records,
        result,
        result.result,
        Disclosed.of(result),
        found,
        found.intervals,
        found.enough,
    )
    for thing in things:
        assert not any(word in repr(thing) for word in ("SECRET", "9.87", "987654", "12.5"))


def test_white_space_makes_no_second_firm():
    """ACME and 'ACME ' are one contributor: counted as two they would hide that one firm is alone in a cell."""
    firms = {
        "a": ["x", "x", "x", "y", "y", "y"],
        "f": ["ACME", "ACME ", " ACME", "B", "C", "D"],
        "v": [1.0] * 6,
    }
    with pytest.raises(
        TableError, match="column 'f': 2 codes differ from others only by white space"
    ) as caught:
        define(firms, by="a", value="v", contributor="f")
    assert "ACME" not in str(caught.value)
    spaced = {"a": ["x", "x ", "y"], "n": [9, 9, 9]}
    with pytest.raises(TableError, match="column 'a': 1 codes differ"):
        define(spaced, by="a", freq="n")
    assert define({"a": ["x ", "y"], "n": [9, 9]}, by="a", freq="n").cells["a"].to_list() == [
        "Total",
        "x ",
        "y",
    ]
