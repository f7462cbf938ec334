"""Explanations turned back into records: the worked examples of Toma and Kikuchi 2024, to the last digit they print."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from dalenius.core.errors import DataError, OptionError
from dalenius.models import ModelCase
from dalenius.models.explanations import (
    Clip,
    Explanations,
    LinearAttack,
    NearestQueries,
    NNAttack,
    Noise,
    Quantize,
    RandomGuess,
    RecordReconstruction,
    TopK,
    TreeAttack,
    additivity_index,
    agreement,
    audit_explanations,
    coalition,
    exact_shapley,
    explain,
    linear_leak_check,
    linear_shapley,
    permutation_shapley,
    risk_grid,
)
from dalenius.models.explanations.rebuilding import RankWarning
from tests.models.conftest import case

TEST = np.array(
    [
        [1.8, 0.1, 0.3, -0.4],
        [0.4, 1.5, 0.6, 1.0],
        [1.0, 0.8, 0.7, 0.7],
        [2.2, 0.1, 0.3, -0.1],
        [1.9, 0.4, 0.8, 1.0],
    ]
)
TRAIN = np.array(
    [
        [-1.0, 0.3, -0.3, -0.5],
        [1.0, 1.5, 1.4, 0.1],
        [-0.2, -0.2, 0.0, 0.0],
        [-0.1, 0.3, 0.0, 0.5],
        [0.4, -0.9, -0.4, -1.3],
    ]
)
Y = np.array([-1.2, 0.9, -0.2, -0.1, -0.1])
BETA = np.array([0.771323, -0.241038, 0.396786, 0.286774])
SHAPLEY = np.array(
    [
        [1.372954, 0.024104, 0.063486, -0.045884],
        [0.293103, -0.313350, 0.182522, 0.355600],
        [0.755896, -0.144623, 0.222200, 0.269567],
        [1.681483, 0.024104, 0.063486, 0.040148],
        [1.450087, -0.048208, 0.261879, 0.355600],
    ]
)
TABLE_2 = np.array(
    [[1.30, 0.02, 0.06, -0.04], [0.28, -0.29, 0.18, 0.34], [0.72, -0.13, 0.21, 0.26], [1.59, 0.02, 0.06, 0.04],
     [1.37, -0.04, 0.25, 0.34]]
)  # fmt: skip
ROUNDED = {
    0: [0.448, 0.740, 0.634, 0.748],
    1: [0.055294, 0.240294, 0.075588, 0.213676],
    2: [0.010030, 0.022809, 0.011207, 0.022691],
    3: [0.000359, 0.002682, 0.001624, 0.000914],
}


def mae(attack, known, targets, records=TRAIN, truth=TEST):
    return np.abs(attack.fit(known, records).predict(targets) - truth).mean(axis=0)


@pytest.fixture(scope="module")
def linear():
    return LinearRegression().fit(TRAIN, Y)


@pytest.fixture(scope="module")
def shapley(linear):
    return [exact_shapley(linear.predict, x, TRAIN) for x in (TRAIN, TEST)]


def test_a_coalition_takes_its_own_values():
    assert coalition(np.array([2, 5, 1, 3]), np.array([0, 3, 2, 1]), [1, 2]).tolist() == [0, 5, 1, 1]


def test_exact_values_of_a_product():
    def f(v):
        return v[:, 0] * v[:, 1] + v[:, 2] * v[:, 3]

    found = exact_shapley(f, np.array([[2.0, 5, 1, 3]]), np.array([[0.0, 3, 2, 1]]))
    assert found == pytest.approx(np.array([[8, 2, -2, 3]]), abs=1e-9)
    assert found.sum() == pytest.approx(11)
    assert exact_shapley(lambda v: np.column_stack([v[:, 0], v[:, 1]]), TEST, TRAIN).shape == (5, 4, 2)


def test_the_toy_example(linear, shapley):
    assert linear.coef_ == pytest.approx(BETA, abs=1e-6)
    assert linear.intercept_ == pytest.approx(-0.093943, abs=1e-6)
    assert shapley[1] == pytest.approx(SHAPLEY, abs=1e-6)
    assert shapley[1] == pytest.approx(TABLE_2, abs=0.1)
    assert shapley[1].sum(axis=1) == pytest.approx(
        linear.predict(TEST) - linear.predict(TRAIN).mean(), abs=1e-9
    )
    attack = LinearAttack().fit(shapley[0], TRAIN)
    assert np.abs(attack.coefficients - np.diag([1.296474, -4.148718, 2.520249, 3.487069])).max() < 1e-6
    assert attack.intercept == pytest.approx([0.02, 0.20, 0.14, -0.24], abs=1e-6)
    assert mae(LinearAttack(), *shapley).max() < 1e-12


def test_where_perfect_reconstruction_stops(linear):
    four = TRAIN[:4]
    parts = [exact_shapley(linear.predict, x, TRAIN) for x in (four, TEST)]
    assert mae(LinearAttack(), *parts, records=four).mean() == pytest.approx(0.3485, abs=1e-4)

    def f(v):
        return 2 * v[:, 0] - v[:, 1] + 0.5 * v[:, 3]

    parts = [exact_shapley(f, x, TRAIN) for x in (TRAIN, TEST)]
    assert mae(LinearAttack(), *parts) == pytest.approx([0, 0, 0.512156, 0], abs=1e-6)


@pytest.mark.parametrize("decimals", ROUNDED)
def test_rounded_explanations(shapley, decimals):
    known, targets = (Quantize(decimals).apply(s) for s in shapley)
    assert mae(LinearAttack(), known, targets) == pytest.approx(ROUNDED[decimals], abs=1e-6)


def test_trees_err_where_the_line_does_not(linear):
    tables: dict[str, list[float]] = {"lr/dt": [], "dt/lr": [], "dt/dt": []}
    for seed in range(10):
        tree = DecisionTreeRegressor(random_state=seed).fit(TRAIN, Y)
        by_line, by_tree = (
            [exact_shapley(m.predict, x, TRAIN) for x in (TRAIN, TEST)] for m in (linear, tree)
        )
        tables["lr/dt"].append(mae(TreeAttack(seed), *by_line).mean())
        tables["dt/lr"].append(mae(LinearAttack(), *by_tree).mean())
        tables["dt/dt"].append(mae(TreeAttack(seed), *by_tree).mean())
    assert all(np.mean(held) > 0.3 for held in tables.values()), tables


def test_three_ways_agree_on_a_line(linear):
    exact, closed = exact_shapley(linear.predict, TEST, TRAIN), linear_shapley(linear.coef_, TEST, TRAIN)
    sampled = permutation_shapley(linear.predict, TEST, TRAIN, permutations=10, seed=3)
    assert closed == pytest.approx(exact, abs=1e-12)
    assert sampled == pytest.approx(exact, abs=1e-9)


def test_sampling_comes_near_the_exact_values():
    def f(v):
        return np.maximum(v[:, 0], v[:, 1]) * v[:, 2] + np.exp(v[:, 0] * v[:, 1] * v[:, 2])

    exact = exact_shapley(f, TEST[:, :3], TRAIN[:, :3])
    errors = [
        np.abs(permutation_shapley(f, TEST[:, :3], TRAIN[:, :3], permutations=k, seed=1) - exact).mean()
        for k in (10, 1000)
    ]
    assert errors[1] < 0.25
    assert errors[1] < errors[0] / 3


def test_references_drawn_anew_hide_a_little():
    rng = np.random.default_rng(1)
    records, background = rng.normal(size=(300, 3)), rng.normal(size=(1000, 3))

    def f(v):
        return v @ np.array([1.0, -2.0, 0.5])

    def error(resample):
        found = permutation_shapley(f, records, background, permutations=128, resample=resample, seed=1)
        return mae(LinearAttack(), found[:100], found[100:], records[:100], records[100:]).mean()

    assert error(None) < 1e-8
    assert error(64) < error(4)
    assert error(64) > 1e-3


def test_too_many_columns_name_the_way_out():
    with pytest.raises(OptionError, match="'permutation'"):
        exact_shapley(lambda v: v.sum(axis=1), np.zeros((1, 16)), np.zeros((1, 16)))


def test_a_logistic_model_in_log_odds_is_declared_and_confirmed():
    made = case(LogisticRegression(), 200)
    verdict = linear_leak_check(made)
    assert verdict.perfect
    assert verdict.queries_needed == 7
    assert "7 queries" in verdict.sentence
    found = audit_explanations(made, output="logit", attacks=["linear"])
    assert found.result.value == pytest.approx(100, abs=1e-6)
    assert found.rebuilt["linear"].record_success == 1
    seven = audit_explanations(made, output="logit", attacks=["linear"], queries=7)
    assert seven.rebuilt["linear"].mae < 1e-8
    with pytest.warns(RankWarning):
        six = audit_explanations(made, output="logit", attacks=["linear"], queries=6)
    assert six.rebuilt["linear"].mae > 1e-3
    chance = linear_leak_check(made, output="probability")
    assert not chance.perfect
    assert chance.recoverable == ()


def test_the_check_names_what_is_safe():
    made = case(LogisticRegression(), 200)
    made.fitted.model.coef_[0, 2] = 0.0
    verdict = linear_leak_check(made, made.matrix)
    assert verdict.protected == ("x2",)
    assert len(verdict.recoverable) == 5
    assert (verdict.perfect, verdict.rank, verdict.queries_needed) == (False, 6, 6)


def test_categories_are_read_off_too():
    rng = np.random.default_rng(1)

    def draw():
        made = {"age": rng.normal(size=150), "job": rng.choice(["a", "b", "c"], 150)}
        return {**made, "y": made["age"] + (made["job"] == "b") - 2 * (made["job"] == "c")}

    train, others = draw(), draw()
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    coded = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age"]))
    model = make_pipeline(coded, LinearRegression()).fit(pd.DataFrame(train)[["age", "job"]], train["y"])
    made = ModelCase.of(model, train, others, target="y")
    verdict = linear_leak_check(made)
    assert verdict.perfect
    assert verdict.queries_needed == 4
    found = audit_explanations(made, attacks=["linear", "tree"])
    assert found.rebuilt["tree"].per_feature["right %"].to_list()[1] > 95


def test_additive_models_are_told_from_others():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2))
    train = {"a": x[:, 0], "b": x[:, 1], "y": x[:, 0] * x[:, 1]}
    line = LinearRegression().fit(x, x[:, 0])
    tree = DecisionTreeRegressor(max_depth=7, random_state=1).fit(x, train["y"])
    found = [additivity_index(ModelCase.of(m, train, target="y")) for m in (line, tree)]
    assert found[0] < 1e-9
    assert found[1] > 0.2


def test_defences_do_what_they_say():
    values = np.random.default_rng(1).normal(size=(50, 6))
    assert np.count_nonzero(TopK(2).apply(values)) == 100
    assert np.abs(Clip(0.5).apply(values)).max() == 0.5
    assert Quantize(step=0.5).apply(np.array([[0.3, -0.2]])).tolist() == [[0.5, 0.0]]
    assert np.array_equal(Noise(0.1).apply(values, 3), Noise(0.1).apply(values, 3))
    assert not np.array_equal(
        Noise(0.1, sensitivity=1).apply(values, 3), Noise(0.1, sensitivity=1).apply(values, 3)
    )
    assert "no formal guarantee" in Noise(0.1).words
    assert agreement(values, values) == agreement(values, values.copy())
    assert agreement(values, values).ranks == pytest.approx(1)
    assert agreement(values, TopK(1).apply(values)).top == 1
    assert agreement(values, Noise(5.0).apply(values)).ranks < 0.5


def test_defences_lower_the_risk():
    made = case(LogisticRegression(), 300)
    skills = [
        audit_explanations(made, output="logit", attacks=["linear"], defence=d).result.value
        for d in (None, Quantize(2), Quantize(1), Quantize(0), Noise(3.0))
    ]
    assert skills == sorted(skills, reverse=True)
    assert skills[1] > 90  # two decimals protect hardly at all


def test_an_attacker_without_data_of_his_own():
    rng = np.random.default_rng(1)
    records, queries = rng.random((100, 2)), rng.random((500, 2))
    found = mae(NearestQueries(), np.sin(queries), np.sin(records), queries, records)
    guess = mae(RandomGuess(), queries, records, queries, records)
    assert found.max() < 0.05
    assert guess.min() > 0.2


def test_any_matrix_can_be_attacked():
    made = case(LogisticRegression(), 200)
    given = made.matrix * made.fitted.model.coef_[0]  # gradient x input
    found = audit_explanations(made, given=given, attacks=["linear"])
    assert found.result.value > 99.9
    with pytest.raises(OptionError, match="one row a record"):
        audit_explanations(made, given=given[:10])


def test_faults():
    with pytest.raises(DataError, match="one row a record"):
        Explanations(np.zeros((3, 2)), np.zeros((4, 2)), ("a", "b"))
    with pytest.raises(DataError, match="column 'b' hold gaps"):
        Explanations(np.array([[0.0, np.nan]]), np.zeros((1, 2)), ("a", "b"))
    with pytest.raises(OptionError, match="between 0 and 1"):
        NNAttack().fit(np.zeros((5, 1)), np.full((5, 1), 7.0))
    known = Explanations(np.zeros((30, 2)), np.random.default_rng(1).normal(size=(30, 2)), ("a", "b"))
    attack = RecordReconstruction("tree").fit(known)
    with pytest.raises(DataError, match="explanations have 1 columns"):
        attack.rebuild(np.zeros((3, 1)))
    with pytest.raises(OptionError, match="not linear"):
        explain(case(LogisticRegression(), 50), method="linear")


def test_a_constant_column_is_flagged():
    rng = np.random.default_rng(1)
    records = np.column_stack([rng.normal(size=40), np.ones(40)])
    known = Explanations(records * 2, records, ("a", "b"))
    found = RecordReconstruction("linear").fit(known).evaluate(known)
    assert found.per_feature["constant"].to_list() == [False, True]
    assert found.record_success == 1


OPTIMIZERS = {
    name: ("nn", {"optimizer": name, "epochs": 400}) for name in ("sgd", "momentum", "rmsprop", "adam")
}


@pytest.mark.slow
def test_the_shapes_of_the_paper():
    """More queries help, the line is most vulnerable, RMSProp and Adam beat plain steps, everybody beats a guess."""
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    models = {
        "linear": (LogisticRegression(), "logit"),
        "forest": (RandomForestClassifier(100, max_depth=5, random_state=1), "probability"),
        "boosting": (GradientBoostingClassifier(random_state=1), "probability"),
        "svm": (SVC(random_state=1), "decision"),
        "network": (MLPClassifier((12, 12), early_stopping=True, random_state=1), "probability"),
    }
    average = {}
    for name, (model, output) in models.items():
        made = {name: case(model, 1000)}
        attacks = OPTIMIZERS | {"line": ("linear", {})}
        found = risk_grid(
            made, attacks, (30, 300), outputs=(output,), explainers=("permutation",), people=100, repeats=3
        )
        whole = found.filter(found["column"] == "all")
        for attack in OPTIMIZERS:
            few, many = whole.filter(whole["attack"] == attack)["mae"]
            assert many < few + 0.01, (name, attack)
        late = dict(whole.filter(whole["queries"] == 300).select("attack", "mae").iter_rows())
        null = whole["null mae"].min()
        assert max(late.values()) < null, name
        assert min(late["rmsprop"], late["adam"]) < min(late["sgd"], late["momentum"]) + 0.005, (name, late)
        average[name] = np.mean(list(late.values()))
    assert min(average, key=average.get) == "linear", average


def test_exact_only_with_enough_queries():
    made = case(LogisticRegression(), 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        found = risk_grid({"a": made}, ["linear"], (5, 7, 20), outputs=("logit",), repeats=2, people=50)
    whole = dict(found.filter(found["column"] == "all").select("queries", "mae").iter_rows())
    assert whole[5] > 1e-3
    assert max(whole[7], whole[20]) < 1e-8


def test_categories_are_read_off_the_explanations_of_a_logistic_pipeline():
    def draw(seed):
        rng = np.random.default_rng(seed)
        town, age = rng.choice(["a", "b", "c", "d"], 400), rng.normal(50, 10, 400)
        chance = 1 / (1 + np.exp(-(age - 50) / 10 - 0.5 * (town == "c") + 0.8 * (town == "b")))
        return {"town": town, "age": age, "ill": np.where(rng.random(400) < chance, "yes", "no")}

    train, others = draw(1), draw(2)
    coded = make_column_transformer((OneHotEncoder(), ["town"]), (StandardScaler(), ["age"]))
    model = make_pipeline(coded, LogisticRegression()).fit(pd.DataFrame(train)[["town", "age"]], train["ill"])
    found = audit_explanations(ModelCase.of(model, train, others, target="ill"), output="logit")
    assert found.verdict.perfect
    assert found.result.value > 99.9
    assert found.result.values["records right %"] == 100
    assert found.rebuilt["linear"].record_success < 0.9  # four levels are no linear function of one number
