"""The sequential engine: reproducibility, rules, missingness, visit sequences, partial synthesis, plans."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DaleniusError, OptionError
from dalenius.data import Schema, Table
from dalenius.data.examples import survey, survey_schema, violations
from dalenius.synth import Candidate, load_model, save_model
from dalenius.synth.sequential import CartSynthesizer, ParametricSynthesizer

PEOPLE = survey(1500, seed=4)


def people() -> Table:
    return Table.from_frame(PEOPLE, survey_schema())


def same(first: Table, second: Table) -> bool:
    return first.to_frame("polars").equals(second.to_frame("polars"))


@pytest.mark.parametrize("kind", [CartSynthesizer, ParametricSynthesizer])
def test_same_seed_same_rows_with_one_and_two_threads_and_after_saving(kind, tmp_path):
    table = people().select(
        ["region", "district", "sex", "age", "employment", "income", "bmi", "health", "smoker"]
    )
    one, two = (kind(threads=n).fit(table, seed=5) for n in (1, 2))
    save_model(one, tmp_path / "one")
    save_model(two, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    drawn = one.sample(700, seed=6)
    assert same(drawn, two.sample(700, seed=6))
    assert same(drawn, load_model(tmp_path / "one").sample(700, seed=6))
    assert not same(drawn, one.sample(700, seed=7))


def test_every_rule_of_the_survey_is_kept_when_given_and_broken_when_not():
    """``age`` follows from the date of birth, and twenty other rules speak of it."""
    table = people()
    assert sum(violations(Candidate("cart").make(table, seed=1).table.to_frame()).values()) == 0
    with_rules = CartSynthesizer().fit(table, seed=1).sample(seed=2).to_frame()
    assert sum(violations(with_rules).values()) == 0
    without = CartSynthesizer(rules=()).fit(table, seed=1).sample(seed=2).to_frame()
    assert sum(violations(without).values()) > 100


def test_a_column_missing_by_rule_keeps_the_rule_exactly():
    rng = np.random.default_rng(1)
    smoker = rng.choice(["no", "yes"], 2000, p=[0.7, 0.3])
    cigarettes = [
        int(c) if s == "yes" else None for s, c in zip(smoker, rng.integers(1, 40, 2000), strict=True)
    ]
    frame = {"smoker": smoker, "cigarettes": cigarettes}
    rules = ["smoker == 'no' -> is_missing(cigarettes)"]
    for options in ({"rules": rules}, {}):  # the tree finds the rule by itself; stated, it is sure
        out = pl.DataFrame(
            CartSynthesizer(**options).fit(Table.from_frame(frame), seed=1).sample(seed=2).to_frame()
        )
        assert (
            out.filter(pl.col("smoker") == "no")["cigarettes"].null_count() == (out["smoker"] == "no").sum()
        )
        assert out.filter(pl.col("smoker") == "yes")["cigarettes"].null_count() == 0


@pytest.mark.parametrize("kind", [CartSynthesizer, ParametricSynthesizer])
def test_a_column_missing_at_random_keeps_rate_and_dependence(kind):
    rng = np.random.default_rng(2)
    age = rng.integers(18, 90, 6000)
    gone = rng.random(6000) < np.where(age > 60, 0.5, 0.1)
    income = rng.normal(1000 + 10 * age, 100).round()
    frame = pl.DataFrame({"age": age, "income": np.where(gone, np.nan, income)}).with_columns(
        pl.col("income").fill_nan(None)
    )
    out = kind().fit(Table.from_frame(frame), seed=1).sample(seed=2).to_frame()
    assert out["income"].is_null().mean() == pytest.approx(gone.mean(), abs=0.02)
    tolerance = 0.04 if kind is CartSynthesizer else 0.12  # a logistic curve has no step at 60
    for old in (False, True):
        part = out.filter((pl.col("age") > 60) == old)["income"].is_null().mean()
        assert part == pytest.approx(gone[(age > 60) == old].mean(), abs=tolerance)
    known = out.drop_nulls()
    assert known["age"].cast(float).to_frame().with_columns(known["income"]).corr()[0, 1] > 0.8


def test_nested_columns_stay_nested_in_either_order():
    table = people().select(["region", "district", "municipality"])
    for visit in (["region", "district", "municipality"], ["municipality", "region", "district"]):
        out = CartSynthesizer(rules=(), visit=visit).fit(table, seed=1).sample(seed=2).to_frame("polars")
        assert (out["municipality"].str.head(5) == out["district"]).all()
        assert (out["district"].str.head(2) == out["region"]).all()


def test_partial_synthesis_keeps_columns_and_rows():
    table = people().select(["sex", "age", "income", "health"])
    model = CartSynthesizer(keep=["sex", "age"]).fit(table, seed=1)
    out = model.sample(seed=2)
    rows = [
        Counter(zip(*each.select(["sex", "age"]).to_frame("dict").values(), strict=True))
        for each in (out, table)
    ]
    assert rows[0] == rows[1]
    assert not same(out.select(["income"]), table.select(["income"]))
    with pytest.raises(OptionError, match="as many rows as the original"):
        model.sample(10, seed=1)


def test_kept_cells_leave_in_an_order_that_only_the_holder_of_the_data_can_draw():
    places = np.arange(400) + 0.5
    orders = []
    for seed in (1, 2):
        answers = np.random.default_rng(seed).choice(["a", "b"], 400)
        table = Table.from_frame({"place": places, "answer": answers})
        model = CartSynthesizer(keep=["place"]).fit(table, seed=0)
        orders.append(np.array(model.sample(seed=0).to_frame()["place"]))
        assert sorted(orders[-1]) == places.tolist()
        assert abs(np.corrcoef(orders[-1], places)[0, 1]) < 0.3
        assert not np.array_equal(model.kept["place"].data, places)
    assert abs(np.corrcoef(*orders)[0, 1]) < 0.3


def test_strata_are_modelled_apart():
    rng = np.random.default_rng(3)
    g = rng.choice(["a", "b"], 3000)
    x = rng.normal(size=3000)
    y = np.where(g == "a", x, -x) + 0.1 * rng.normal(size=3000)
    table = Table.from_frame({"g": g, "x": x, "y": y})
    out = ParametricSynthesizer(strata=["g"]).fit(table, seed=1).sample(seed=2).to_frame()
    for level, sign in (("a", 1), ("b", -1)):
        mine = np.array(out["g"]) == level
        assert sign * np.corrcoef(np.array(out["x"])[mine], np.array(out["y"])[mine])[0, 1] > 0.9


def test_passive_columns_are_computed_and_predictors_can_be_chosen():
    rng = np.random.default_rng(4)
    height, weight = rng.normal(170, 10, 500).round(), rng.normal(75, 12, 500).round()
    frame = {"height": height, "weight": weight, "bmi": (weight / (height / 100) ** 2).round(1)}
    schema = Schema.infer(frame)
    model = CartSynthesizer(
        passive={"bmi": "weight / (height / 100) / (height / 100)"}, predictors={"weight": []}
    ).fit(Table.from_frame(frame, schema), seed=1)
    out = model.sample(seed=2).to_frame()
    expected = np.array(out["weight"]) / (np.array(out["height"]) / 100) ** 2
    assert np.abs(np.array(out["bmi"]) - expected).max() <= 0.051
    assert "bmi" not in model.columns


def test_visit_by_cardinality_and_dependence_give_every_column():
    table = people().select(["region", "sex", "age", "health", "income"])
    for visit in ("cardinality", "dependence"):
        model = CartSynthesizer(visit=visit).fit(table, seed=1)
        assert sorted(model.visit) == sorted(table.names)
        assert model.sample(seed=1).names == table.names


def test_a_factor_of_many_levels_does_not_hang():
    rng = np.random.default_rng(5)
    code = rng.integers(0, 300, 4000)
    frame = {
        "place": [f"p{c}" for c in code],
        "kind": [f"k{(c + e) % 12}" for c, e in zip(code, rng.integers(0, 2, 4000), strict=True)],
        "job": [f"j{c % 40}" for c in code],
    }
    out = CartSynthesizer(evidence=0).fit(Table.from_frame(frame), seed=1).sample(seed=2).to_frame()
    right = [
        int(k[1:]) in (int(p[1:]) % 12, (int(p[1:]) + 1) % 12)
        for p, k in zip(out["place"], out["kind"], strict=True)
    ]
    assert np.mean(right) > 0.8


def test_copies_differ_and_a_proper_one_is_fitted_anew():
    table = people().select(["sex", "age", "health"])
    plain = CartSynthesizer().make(table, 3, rows=200, seed=1)
    assert len(plain) == 3
    assert not plain.proper
    assert not same(plain.tables[0], plain.tables[1])
    assert CartSynthesizer(proper=True).make(table, 2, seed=1).proper
    with pytest.raises(OptionError, match="copies is 0; use a whole number, 1 or more"):
        Candidate("cart").make(table, 0)


def test_a_candidate_reports_every_fault_at_once():
    def said(options: dict, table: Table | None = None) -> str:
        with pytest.raises(OptionError) as error:
            Candidate("cart", options).check(table)
        return str(error.value)

    odd = {"visits": 1, "minbucket": "five", "methods": {"age": "magic"}, "tuning": {"age": {"leaf": 3}}}
    assert all(word in said(odd) for word in ("visits", "minbucket", "magic", "leaf"))
    absent = {
        "keep": ["nose"],
        "methods": {"sex": "norm", "chin": "cart"},
        "predictors": {"age": ["ear"]},
        "rules": ["age ==="],
    }
    with pytest.raises(DaleniusError) as error:
        CartSynthesizer(**absent).fit(people().select(["sex", "age"]), seed=1)
    for word in ("nose", "chin", "ear", "is for numbers", "age ==="):
        assert word in str(error.value)
        assert word in said(absent, people().select(["sex", "age"]))
    text = said({"minbuckets": 3, "depth": 0, "keep": ["nose"]}, people().select(["sex", "age"]))
    assert "3 faults" in text
    assert all(word in text for word in ("minbuckets", "depth", "nose"))


def follow_up(rows: int = 3000) -> pl.DataFrame:
    """Times until an event, cut off for some, twice as fast in one group; times are drawn so that all differ."""
    rng = np.random.default_rng(6)
    group = rng.choice(["slow", "fast"], rows)
    true = rng.exponential(np.where(group == "fast", 1.0, 4.0))
    cut = rng.exponential(6.0, rows)
    event = np.where(true <= cut, "yes", "no")
    return pl.DataFrame({"event": event, "group": group, "time": np.minimum(true, cut)})


def test_times_to_an_event_follow_their_hazard():
    original = follow_up()
    out = CartSynthesizer(event={"time": "event"}).fit(Table.from_frame(original), seed=1).sample(seed=2)
    drawn = pl.DataFrame(out.to_frame())
    for name in ("slow", "fast"):
        hazard = [
            (part["event"] == "yes").sum() / part["time"].sum()
            for part in (original.filter(pl.col("group") == name), drawn.filter(pl.col("group") == name))
        ]
        assert hazard[1] == pytest.approx(hazard[0], rel=0.15)


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("strata", [[], ["group"]])
def test_a_time_and_its_event_come_from_one_donor(coded, strata, tmp_path):
    original = follow_up(1500)
    if coded:
        original = original.with_columns((pl.col("event") == "yes").cast(pl.Int64))
    gone = pl.Series(
        np.arange(1500) % 10 == 0
    )  # a time that is not known leaves its event to a model of its own
    original = original.with_columns(time=pl.when(gone).then(None).otherwise(pl.col("time")))
    options = CartSynthesizer(event={"time": "event"}, smoothing="none", strata=strata)
    schema = Schema.infer(original)
    schema = schema.replace_columns(replace(schema["time"], release="as-is"))
    model = options.fit(Table.from_frame(original, schema), seed=1)
    assert model.visit.index("event") == model.visit.index("time") + 1
    out = model.sample(seed=2)
    drawn = pl.DataFrame(out.to_frame())
    pairs = set(original.drop_nulls().select("time", "event").iter_rows())
    assert set(drawn.drop_nulls().select("time", "event").iter_rows()) <= pairs
    assert drawn["time"].null_count() == pytest.approx(150, abs=50)
    assert drawn["event"].null_count() == 0
    save_model(model, tmp_path / "m")
    assert same(out, load_model(tmp_path / "m").sample(seed=2))


def test_an_event_that_a_rule_forbids_is_drawn_again():
    original = follow_up(1500)
    early = original.with_columns(
        event=pl.when(pl.col("time") < 0.2).then(pl.lit("no")).otherwise(pl.col("event"))
    )
    options = CartSynthesizer(event={"time": "event"}, rules=["time < 0.2 -> event == 'no'"])
    drawn = pl.DataFrame(options.fit(Table.from_frame(early), seed=1).sample(seed=2).to_frame())
    assert (drawn.filter(pl.col("time") < 0.2)["event"] == "no").all()
    assert (drawn["event"] == "yes").mean() == pytest.approx((early["event"] == "yes").mean(), abs=0.05)


def test_columns_can_be_nested_without_a_schema():
    rng = np.random.default_rng(8)
    town = rng.integers(0, 60, 2000)
    frame = {
        "land": [f"l{t % 5}" for t in town],
        "size": rng.integers(0, 9, 2000),
        "town": [f"t{t}" for t in town],
    }
    out = (
        CartSynthesizer(nested={"town": "land"})
        .fit(Table.from_frame(frame), seed=1)
        .sample(seed=2)
        .to_frame()
    )
    assert all(int(t[1:]) % 5 == int(land[1:]) for t, land in zip(out["town"], out["land"], strict=True))


def test_a_model_by_strata_with_more_classes_than_it_takes_is_saved_whole(tmp_path):
    rng = np.random.default_rng(9)
    frame = {
        "g": rng.choice(["a", "b"], 900), "x": rng.normal(size=900), "y": rng.choice(["u", "v", "w"], 900),
    }  # fmt: skip
    options = CartSynthesizer(methods={"y": "logreg"}, strata=["g"])  # three classes: a multinomial model
    model = options.fit(Table.from_frame(frame), seed=1)
    save_model(model, tmp_path / "m")
    assert same(model.sample(seed=2), load_model(tmp_path / "m").sample(seed=2))


def test_progress_names_every_column():
    told: list[tuple[str, int, int]] = []
    table = people().select(["sex", "age", "health"])
    CartSynthesizer(progress=lambda *step: told.append(step), threads=2).fit(table, seed=1)
    assert sorted(name for name, _, _ in told) == ["age", "health", "sex"]
    assert [step[1:] for step in told] == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trees": 3}, "trees has no effect, since no column is drawn by bag or rf"),
        ({"alpha": 0.01}, "alpha has no effect, since no column is drawn by ctree"),
        ({"donors": 2}, "donors has no effect, since no column is drawn by pmm"),
        ({"weights": "sex"}, "weights: column 'sex' is categorical; name one of numbers"),
        ({"weights": "wt"}, "weights"),
        ({"strata": "sex"}, "strata is 'sex'; use a list of texts"),
    ],
)
def test_options_without_effect_are_refused(options, said):
    data = {"sex": ["f", "m"] * 20, "age": [20, 31, 42, 53] * 10}
    with pytest.raises(OptionError, match=re.escape(said)):
        Candidate("cart", options).make(data)
    Candidate("cart", {"trees": 2, "alpha": 0.1, "methods": {"sex": "rf", "age": "ctree"}}).make(data)
