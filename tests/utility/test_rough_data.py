"""Odd data and odd calls: no figure is silently wrong, nothing lost looks best, and no small group is named."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DaleniusError, DataError, OptionError
from dalenius.core.pictures import picture
from dalenius.core.result import Result
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.evaluation import benchmark, compare, evaluate
from dalenius.report.uses import use_lines
from dalenius.utility import (
    association_difference,
    column_shapes,
    coverage,
    group_scores,
    household_counts,
    households_kept,
    k_marginal,
    learning_table,
    model_agreement,
    model_prediction,
    model_table,
    relative_improvement,
    sampling_equivalent,
    slope_agreement,
    table_statistics,
    table_utility,
    train_on_protected,
    violation_rates,
    worst_cells,
)
from dalenius.utility.inference import combine, fit_model, fit_synthetic
from dalenius.utility.propensity import learner_propensity, logit_propensity, tree_propensity
from dalenius.utility.propensity.design import build, predictors

SECRET, NUMBER = "ZZSECRETZZ", 987654321


def people(seed: int = 0, rows: int = 200) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    age = rng.integers(16, 90, rows)
    return {
        "sex": rng.choice(["f", "m"], rows).tolist(),
        "region": rng.choice(list("abcd"), rows).tolist(),
        "age": age.tolist(),
        "pay": (1000 + 30 * age + rng.normal(0, 200, rows)).round(2).tolist(),
    }


@pytest.fixture
def pair() -> Pair:
    return Pair(people(), people(1))


def test_a_control_character_in_a_name_does_not_end_the_process():
    data = {"se\x1bx": ["f", "m"] * 30, "a\x00\uffff": ["u", "v", "v"] * 20}
    assert picture(table_chart(data), "words").startswith("<svg")


def table_chart(data: dict[str, Any]) -> Any:
    chart = MEASURES["one-way-utility"](Pair(data, data)).chart
    assert chart is not None
    return chart()


def test_a_column_that_lost_all_its_values_is_not_covered():
    lost = {**people(1), "pay": [None] * 200, "sex": [None] * 200}
    assert coverage(Pair(people(), lost)).value == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("scale", [1e-20, 1e-200, 1e100])
def test_shapes_do_not_depend_on_the_unit(scale):
    first, second = (np.array(people(seed)["pay"]) for seed in (0, 1))
    scaled = column_shapes(Pair({"x": first * scale}, {"x": second * scale})).value
    assert scaled == pytest.approx(column_shapes(Pair({"x": first}, {"x": second})).value)


def test_a_file_that_nothing_can_be_learnt_from_loses_everything():
    flat = {name: [values[0]] * 200 for name, values in people(1).items()}
    gone = {**people(1), "pay": [None] * 200, "age": [None] * 200}
    for lost in (flat, gone):
        pair = Pair(people(), lost)
        assert train_on_protected(pair, targets=["pay"]).value == 1.0
        assert model_prediction(pair, ["pay ~ age"]).value == 1.0
    held = Pair(people(), gone, gone)
    assert math.isnan(model_prediction(held, ["pay ~ age"]).value), "no real row to try it on"


def test_a_number_that_no_longer_varies_has_lost_its_association():
    flat = {**people(1), "pay": [5.5] * 200}
    found = association_difference(Pair(people(), flat), ["age", "pay"])
    assert found.value == pytest.approx(0.93, abs=0.05)


def test_what_cannot_be_measured_is_not_available():
    one = Pair({"sex": ["f", "m"] * 20}, {"sex": ["f", "m"] * 20})
    for name in ("conditionals", "slopes", "pair-trends", "associations", "model-agreement"):
        assert math.isnan(MEASURES[name](one).value), name
    for name in ("k-marginal", "pca", "coverage"):
        assert math.isnan(MEASURES[name](one, columns=[]).value), name


def test_infinities_are_gaps():
    first, second = people(), people(1)
    for data in (first, second):
        data["pay"][0], data["pay"][1] = math.inf, -math.inf
    pair = Pair(first, second)
    assert 0 < slope_agreement(pair, "pay", "age").value < 1
    assert model_agreement(pair, ["pay ~ age"]).value > 0.1
    assert learning_table(pair, ["sex"], learners=["linear"])["original"][0] > 0


def test_slopes_are_in_the_units_of_the_data():
    data = {"x": [20, 40, 60] * 20, "y": [1.5, 2.5, 3.5] * 20}
    table = slope_agreement(Pair(data, data), "y", "x").table
    assert table is not None
    assert table["original"][0] == pytest.approx(0.05)


def test_new_and_vanished_levels_in_regressions():
    new = {**people(1), "region": ["z"] * 100 + people(1)["region"][100:]}
    table = model_table(Pair(people(), new), {"pay ~ region": "gaussian"})
    kept = pl.DataFrame(new).filter(pl.col("region") == "a")["pay"].mean()
    assert table["protected"][0] == pytest.approx(kept), "a new level is not the reference level"
    lost = {**people(1), "region": ["b" if x == "c" else x for x in people(1)["region"]]}
    table = model_table(Pair(people(), lost), {"pay ~ region": "gaussian"})
    assert table["problem"].to_list() == ["", "", "has no coefficient in the protected file", ""]
    declared = pl.DataFrame(people()).with_columns(pl.col("region").cast(pl.Enum(list("abcdx"))))
    assert fit_model("pay ~ region", declared).names[-1] == "regiond"
    with pytest.raises(DataError, match="other coefficients"):
        fit_synthetic("pay ~ region", [people(), lost])


def test_households_without_a_number_and_unknown_members():
    table = Table.from_frame(
        {"hh": ["1", "1", None, None], "age": [None, 5, 30, 40], "sex": ["f", "m", None, "m"]}
    )
    found = household_counts(table, "hh", "age", "sex")
    assert (found.count, found.children_only, found.mixed) == (3, 0, 0)
    data = {"hh": ["1", "1", "2"], "age": [40, 12, 30], "sex": ["f", None, "m"], "w": [1.5, None, 2.5]}
    with pytest.raises(DataError, match="missing or negative"):
        households_kept(Pair(data, data), "hh", weight="w")
    for option in ({"age": "years"}, {"sex": "gender"}, {"weight": "weights"}):
        with pytest.raises(DataError, match="cannot be used"):
            households_kept(Pair(data, data), "hh", **option)


def test_households_need_no_memory_for_sexes_times_households():
    rows = 400_000
    names = [str(i) for i in range(rows)]
    columns = (Column("hh", Kind.CATEGORICAL), Column("sex", Kind.CATEGORICAL))
    table = Table.from_frame({"hh": names, "sex": names}, Schema(columns))
    assert household_counts(table, "hh", sex="sex").mixed == 0


def test_groups_in_tables_of_very_many_cells():
    rng = np.random.default_rng(1)
    levels = [f"v{i}" for i in range(6000)]
    schema = Schema(tuple(Column(name, Kind.CATEGORICAL) for name in "abcdef"))
    files = [{name: rng.permutation(levels).tolist() for name in "abcdef"} for _ in range(2)]
    pair = Pair(files[0], files[0], schema=schema)
    assert group_scores(pair, "a", list("bcdef"), order=5)["score"].min() == 1000.0


def test_columns_called_like_figures():
    data = {"z": ["a"] * 5 + ["b"] * 5, "original": ["u"] * 10}
    found = worst_cells(Pair(data, {**data, "z": ["a"] * 9 + ["b"]}), ["z", "original"])
    assert found.select("z (column)", "original (column)", "original", "protected").row(0) == ("b", "u", 5, 1)


CALLS: dict[str, Any] = {
    "gaps": lambda p: table_utility(p, gaps="keep"),
    "against": lambda p: table_utility(p, against="other"),
    "holdout": lambda p: table_utility(p, 3, against="holdout"),
    "no table": lambda p: table_utility(p, 0),
    "no column": lambda p: table_utility(p, [[]]),
    "no statistic": lambda p: table_utility(p, statistics=[]),
    "order": lambda p: k_marginal(p, order=0),
    "draws": lambda p: sampling_equivalent(p, draws=0),
    "components": lambda p: MEASURES["pca"](p, components=0),
    "method": lambda p: association_difference(p, method="pearsons"),
    "learner": lambda p: learning_table(p, ["sex"], learners=["forest"]),
    "half a slope": lambda p: slope_agreement(p, y="pay"),
    "slope of words": lambda p: slope_agreement(p, "sex", "age"),
    "denominator": lambda p: violation_rates(p.original, ["age > 20"], denominator="some"),
    "base": lambda p: relative_improvement([1, 2], "first"),
    "logit order": lambda p: logit_propensity(p, order=-1),
    "logit levels": lambda p: logit_propensity(p, max_levels=0),
    "repeats": lambda p: tree_propensity(p, repeats=-1),
    "depth": lambda p: tree_propensity(p, depth=0),
    "folds": lambda p: learner_propensity(p, folds=1),
    "max_rows": lambda p: learner_propensity(p, max_rows=0),
    "rows of the original": lambda p: combine([1.0], [1.0], n=0, k=1),
    "nothing to combine": lambda p: combine([], [], n=1, k=1),
    "holdout share": lambda p: benchmark(p.original, ["independent"], holdout_share=1.5),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_odd_options_are_refused_in_words(pair, call):
    with pytest.raises(DaleniusError):
        call(pair)


def test_tables_without_a_row_have_no_figure():
    assert math.isnan(table_statistics(np.array([1, 2]), np.array([0, 0]))["VW"])
    found = table_utility(Pair({**people(), "sex": [None] * 200}, people(1)), 1, gaps="drop")
    assert math.isnan(found["S_pMSE"][-1])
    assert found["first"][-1] == "sex"


def test_targets_of_an_option_are_enough():
    found = evaluate(people(), people(1), keys=["age"], measures=[], options={"disco": {"targets": ["sex"]}})
    assert "disco" in found.results


def planted(seed: int) -> dict[str, Any]:
    data = people(seed)
    data["region"][7], data["sex"][8], data["pay"][7] = SECRET, SECRET, float(NUMBER)
    return data


def test_nobody_is_named_in_results():
    options = {
        "k-marginal": {"by": "region"},
        "learning-penalty": {"subgroup": "region"},
        "model-agreement": {"models": ["pay ~ region + age", "sex ~ age"]},
        "slopes": {"y": "age", "x": "pay", "by": ["region"]},
    }
    # the level is in the protected file too, so that all its coefficients can be compared
    found = evaluate(planted(0), planted(1), holdout=planted(2), measures=[], options=options)
    for result in found.results.values():
        told = json.dumps(result.to_dict()) + repr(result)
        told += json.dumps(result.chart().to_dict(), default=str) if result.chart else ""
        assert SECRET not in told, result.name
        assert str(NUMBER) not in told, result.name


def test_working_objects_do_not_print_records():
    pair = Pair(planted(0), people(1))
    parts = predictors(pair)
    for held in (parts, build(parts), logit_propensity(pair), tree_propensity(pair, repeats=0)):
        assert "array" not in repr(held).replace("place=array", ""), type(held)


def test_refusals_are_of_the_right_kind(pair):
    with pytest.raises(OptionError, match="order is 0; use a number, 1 or more"):
        k_marginal(pair, order=0)


def test_replicates_of_which_one_cannot_be_measured():
    flat = {**people(1), "pay": [40.5] * 200}
    found = compare(people(), {"made": [people(1), flat]}, measures=["slopes", "one-way-utility"])
    assert math.isnan(found["made"]["slopes"].value)
    assert found["made"]["slopes"].interval is None
    assert found["made"]["one-way-utility"].interval is not None


def test_records_are_not_part_of_how_a_result_prints():
    assert SECRET not in repr(Result("demo", 1.0, "One.", records=pl.DataFrame({"name": [SECRET]})))


def test_a_report_says_nothing_about_tables_that_were_not_measured():
    assert not any(
        "not available" in line for line in use_lines(Result("two-way-utility", math.nan, "None."))
    )
