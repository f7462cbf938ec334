"""What a model keeps beside its fit: records in attributes of its own, values of single people in its steps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import HuberRegressor, LogisticRegression, RidgeCV
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from dalenius.evaluation.policy import Rule, judge
from dalenius.models import ModelCase, structure
from dalenius.models.strange import strange_parts

pytestmark = pytest.mark.filterwarnings("ignore")
ROWS = 241
NAMES = ["age", "pay", "x", "kids", "smokes"]


def people(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(17, 90, ROWS).astype(float),
        "pay": np.round(rng.lognormal(10, 1, ROWS), 2),
        "x": rng.normal(size=ROWS),
        "kids": rng.integers(0, 4, ROWS).astype(float),
        "smokes": rng.integers(0, 2, ROWS).astype(float),
    }


TRAIN, OTHERS = people(1), people(2)
FRAME = pd.DataFrame(TRAIN)
ILL, ILL_TOO = (np.where(p["x"] + np.sin(p["age"]) > 0, "yes", "no") for p in (TRAIN, OTHERS))


def checked(model, train=TRAIN, target=ILL, others=OTHERS, other_target=ILL_TOO):
    return structure(ModelCase.of(model, {**train, "y": target}, {**others, "y": other_target}, target="y"))


def stored(model, **more):
    return checked(model, **more)["model-stored-records"]


def logistic():
    return LogisticRegression(max_iter=50)


class Remembers(TransformerMixin, BaseEstimator):
    """A step of one's own that keeps what it is given, in some form."""

    def __init__(self, form=None):
        self.form = form

    def fit(self, X, y=None):
        self.kept_ = self.form(np.asarray(X))
        return self

    def transform(self, X):
        return np.asarray(X)


class Subclass(LogisticRegression):
    def fit(self, X, y):
        self.memory = np.asarray(X).copy()
        return super().fit(X, y)


def shuffled(x):
    return x[np.random.default_rng(5).permutation(len(x))]


@pytest.mark.parametrize("form", [
    lambda x: x.copy(),
    lambda x: x.T.copy(),
    lambda x: x[None],
    lambda x: x.astype(np.float32),
    lambda x: x.astype(object),
    lambda x: x[:, [2, 1]].copy(),
    lambda x: shuffled(x)[:, ::-1].copy(),
    lambda x: shuffled(x) * 3 + 1,
    lambda x: x.tolist(),
    lambda x: set(map(tuple, x.tolist())),
    pd.DataFrame,
    lambda x: pd.DataFrame(x).to_dict("records"),
    lambda x: pd.DataFrame(x).to_dict("list"),
    lambda x: {f"P{i}": row for i, row in enumerate(x.tolist())},
    lambda x: dict(zip(x[:, 1].tolist(), x[:, 2].tolist(), strict=True)),
    lambda x: (lambda: x),
])  # fmt: skip
def test_records_are_found_in_any_attribute_and_form(form):
    found = stored(make_pipeline(Remembers(form), logistic()).fit(FRAME, ILL))
    assert found.value == 100
    assert found.outside in (0.0, None) or found.outside < 1
    assert "remembers" in found.sentence


def test_some_records_and_a_single_one_are_found():
    some = stored(
        make_pipeline(Remembers(lambda x: shuffled(x)[:60, [2, 1]].copy()), logistic()).fit(FRAME, ILL)
    )
    assert some.value == pytest.approx(6000 / ROWS)
    one = stored(make_pipeline(Remembers(lambda x: x[7].copy()), logistic()).fit(FRAME, ILL))
    assert one.value == pytest.approx(100 / ROWS)


@pytest.mark.parametrize("model", [
    Subclass(max_iter=50),
    BaggingClassifier(KNeighborsClassifier(), 3, max_features=3, bootstrap=False),
    StackingClassifier([("near", make_pipeline(StandardScaler(), KNeighborsClassifier()))], cv=2),
    VotingClassifier([("near", make_pipeline(StandardScaler(), KNeighborsClassifier()))]),
    make_pipeline(make_column_transformer((KNNImputer(), ["age", "pay"])), logistic()),
])  # fmt: skip
def test_records_are_found_in_parts_of_parts(model):
    assert stored(model.fit(FRAME, ILL)).value > 90


def test_a_table_with_texts_is_found():
    class Kept(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.table_, self.feature_names_in_ = X.copy(), np.array(X.columns, dtype=object)
            return self

        def transform(self, X):
            return X[NAMES].to_numpy()

    town = {"town": np.array(["Oslo", "Bergen", "Bodø"])[np.arange(ROWS) % 3]}
    model = make_pipeline(Kept(), logistic()).fit(pd.DataFrame({**TRAIN, **town}), ILL)
    assert stored(model, train={**TRAIN, **town}, others={**OTHERS, **town}).value == 100


@pytest.mark.parametrize("form", [
    lambda x: x.tobytes().hex(),
    lambda x: x.tobytes(),
    lambda x: ["|".join(map(str, row)) for row in x],
    lambda x: np.tanh(x[:, [2, 0]]) ** 3,
    lambda x: (np.tanh(x[:, [2, 0]]) ** 3).ravel(),
])  # fmt: skip
def test_what_cannot_be_looked_through_is_not_trusted(form):
    plain = LogisticRegression(max_iter=50).fit(FRAME, ILL)
    assert stored(plain).trusted
    plain.notes_ = form(FRAME.to_numpy())
    for model in (plain, make_pipeline(Remembers(form), logistic()).fit(FRAME, ILL)):
        found = stored(model)
        assert found.value == 0
        assert not found.trusted
        assert not judge(Rule.parse("model-stored-records <= 0 %"), "", 1.0, [found]).met
    assert "LogisticRegression.notes_: " in stored(plain).sentence


def changed(key, value, model=None):
    made = (logistic() if model is None else model).fit(FRAME, ILL)
    return vars(made).update({key: value}) or made


def grafted():
    """A tree with a node that no branch leads to."""
    made = DecisionTreeClassifier(max_depth=2, random_state=1).fit(FRAME, ILL)
    state = made.tree_.__getstate__()
    more = {
        "nodes": np.append(state["nodes"], state["nodes"][-1:]),
        "values": np.append(state["values"], state["values"][-1:], 0),
    }
    tree = type(made.tree_)(5, np.array([2]), 1)
    tree.__setstate__({**state, **more, "node_count": state["node_count"] + 1})
    made.tree_ = tree
    return made


def drawn():
    """Boosted trees whose generator holds 624 numbers of somebody's choice."""
    made = GradientBoostingClassifier(n_estimators=2, random_state=1).fit(FRAME, ILL)
    made._rng.set_state(("MT19937", TRAIN["age"].astype(np.uint32).repeat(3)[:624], 5))
    return made


def noted():
    """Boosted trees with a note on their loss."""
    made = GradientBoostingClassifier(n_estimators=2, random_state=1).fit(FRAME, ILL)
    made._loss.age31 = 1
    return made


def chosen():
    """A forest whose trees have options that nobody gave the forest."""
    made = RandomForestClassifier(40, random_state=1).fit(FRAME, ILL)
    for tree, x, y in zip(made.estimators_, TRAIN["x"], TRAIN["pay"], strict=False):
        tree.ccp_alpha, tree.min_impurity_decrease = abs(float(x)), float(y)
    return made


def graven(name, model):
    """A tree with numbers in fields of its leaves that nobody reads."""
    made = model.fit(FRAME, ILL)
    nodes = made.tree_.__getstate__()["nodes"] if hasattr(made, "tree_") else made._predictors[0][0].nodes
    leaf = nodes["left_child"] == -1 if hasattr(made, "tree_") else nodes["is_leaf"] == 1
    nodes[name][leaf] = TRAIN["pay"][: leaf.sum()]
    if hasattr(made, "tree_"):
        state = made.tree_.__getstate__()
        tree = type(made.tree_)(5, np.array([2]), 1)
        tree.__setstate__({**state, "nodes": nodes})
        made.tree_ = tree
    return made


def quantiles():
    made = make_pipeline(QuantileTransformer(n_quantiles=100), logistic()).fit(FRAME, ILL)
    made[0].quantiles_ = np.sort(made[0].quantiles_ + 1e6, axis=0)
    return made


def twisted():
    made = HistGradientBoostingClassifier(max_iter=2, random_state=1).fit(FRAME, ILL)
    made._feature_subsample_rng = np.random.Generator(np.random.MT19937(31))
    return made


HIDDEN = {
    "that somebody chose": chosen,
    "a tree with nodes": lambda: graven("threshold", DecisionTreeClassifier(max_depth=3)),
    "or more leaves": lambda: graven("impurity", DecisionTreeClassifier(max_depth=3)),
    "that no branch": lambda: graven("num_threshold", HistGradientBoostingClassifier(max_iter=1, random_state=1)),
    "no quantiles": quantiles,
    "of somebody's choice": twisted,
    "does not take": lambda: changed("ccp_alpha", [0.5] * 9, DecisionTreeClassifier(max_depth=2)),
    "no level, class": lambda: changed("warm_start", b"31" * 900),
    "an option needs": lambda: changed("tol", (np.arange(1, 1201) + 4e-7 * np.resize(TRAIN["x"], 1200)).tolist()),
    "a name": lambda: Pipeline([("age31pay2500kids2", StandardScaler()), ("model", logistic())]).fit(FRAME, ILL),
    "keys": lambda: changed("class_weight", {"31;2500.5": 1.0, "no": 1.0}),
    "longer than": lambda: changed("n_iter_", TRAIN["age"].astype(np.int32)[:40]),
    "too many digits": lambda: changed("max_iter", int("31" * 720)),
    "no seed": drawn,
    "as an option": lambda: changed("C", list(TRAIN["pay"][:30])),
    "no documented choice": lambda: changed("solver", "31 2500 2, 64 1700 0"),
    "is no level": lambda: changed("classes_", np.array(["no", "31 2500 2"]), LinearDiscriminantAnalysis()),
    "(an attribute)": lambda: changed("31_2500", 1.0),
    "no model of its kind": lambda: changed("__mine", 1.0),
    "no branch": grafted,
    "its class does not know": noted,
    "function": lambda: make_pipeline(FunctionTransformer(lambda x: x * 31.25), logistic()).fit(FRAME, ILL),
    "are not known": lambda: Subclass(max_iter=50).fit(FRAME, ILL),
    "more than an option needs": lambda: changed("intercept_scaling", TRAIN["x"][:30].tolist()),
}  # fmt: skip


@pytest.mark.parametrize("why", HIDDEN)
def test_what_is_hidden_on_purpose_is_told(why):
    model = HIDDEN[why]()
    if why == "is no level":
        case = ModelCase.of(model, {**TRAIN, "y": np.where(ILL == "no", "no", "31 2500 2")}, target="y")
        vars(model)["classes_"] = np.array(["no", "77 12 1"])
        assert "is no level" in str(strange_parts(case, ()))
        return
    found = stored(model)
    assert not found.trusted
    assert ("more than an option needs" if why == "as an option" else why) in found.sentence
    assert "31" not in found.sentence
    assert "No training record" not in found.sentence


def test_the_generator_of_a_seed_is_taken_as_such():
    made = GradientBoostingClassifier(n_estimators=9, subsample=0.5, random_state=5).fit(FRAME, ILL)
    assert stored(made).trusted
    assert not stored(changed("random_state", 6, made)).trusted


@pytest.mark.parametrize(("model", "numbers"), [
    (RandomForestClassifier(10, oob_score=True, bootstrap=True, random_state=1), False),
    (RidgeCV(store_cv_results=True), True),
    (HuberRegressor(max_iter=1000), True),
])  # fmt: skip
def test_a_value_for_everybody_is_not_trusted(model, numbers):
    goals = {"target": TRAIN["x"], "other_target": OTHERS["x"]} if numbers else {}
    found = stored(model.fit(FRAME, goals.get("target", ILL)), **goals)
    assert not found.trusted
    assert "a value for every training record" in found.sentence


def rare(step, columns=NAMES):
    train, others = ({n: p[n] for n in columns} for p in (TRAIN, OTHERS))
    model = make_pipeline(step, logistic()).fit(FRAME[columns], ILL)
    return checked(model, train=train, others=others)["model-rare-values"].value


@pytest.mark.parametrize(("step", "fewest"), [
    (QuantileTransformer(n_quantiles=ROWS), 400),
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), 400),
    (KBinsDiscretizer(60, encode="ordinal"), 90),
    (KBinsDiscretizer(5, encode="ordinal", strategy="uniform"), 4),
    (SplineTransformer(), 4),
    (MinMaxScaler(), 4),
    (MaxAbsScaler(), 3),
    (make_pipeline(PowerTransformer(), MinMaxScaler()), 4),
    (make_column_transformer((MinMaxScaler(), ["pay", "x"])), 4),
])  # fmt: skip
def test_values_of_few_people_are_counted(step, fewest):
    assert rare(step) >= fewest


def test_deciles_of_many_people_are_nobodys_but_for_the_ends():
    assert rare(QuantileTransformer(n_quantiles=9), ["pay"]) == 2
    assert rare(RobustScaler(), ["pay"]) == 0


def test_fine_cuts_of_boosting_are_values():
    fine, coarse = (
        checked(HistGradientBoostingClassifier(max_iter=3, max_bins=n).fit(FRAME, ILL))[
            "model-rare-values"
        ].value
        for n in (255, 12)
    )
    assert fine > 300
    assert coarse == 0


def test_isotonic_thresholds_are_values():
    model = IsotonicRegression(out_of_bounds="clip").fit(TRAIN["pay"], TRAIN["x"])
    data = [{"pay": p["pay"]} for p in (TRAIN, OTHERS)]
    found = checked(model, train=data[0], others=data[1], target=TRAIN["x"], other_target=OTHERS["x"])
    assert found["model-rare-values"].value >= 2


@pytest.mark.parametrize("encoder", [OneHotEncoder(min_frequency=20), OrdinalEncoder(), TargetEncoder(cv=2)])
def test_a_category_of_one_person_is_counted(encoder):
    job = {"job": np.array(["king", *["clerk", "nurse", "clerk"] * 79, "nurse", "nurse", "cook"])}
    model = make_pipeline(make_column_transformer((encoder, ["job"])), logistic())
    found = checked(model.fit(pd.DataFrame(job), ILL), train=job, others=job)["model-rare-values"]
    assert found.value == 2
    assert "king" not in found.sentence


FINE = [
    make_pipeline(StandardScaler(), logistic()), make_pipeline(StandardScaler(), PCA(3), logistic()),
    make_pipeline(RobustScaler(), logistic()), make_pipeline(PowerTransformer(), logistic()),
    make_pipeline(PolynomialFeatures(2), StandardScaler(), logistic()), make_pipeline(SimpleImputer(), logistic()),
    DecisionTreeClassifier(), RandomForestClassifier(5), GaussianNB(), LinearDiscriminantAnalysis(), LinearSVC(),
    AdaBoostClassifier(n_estimators=3), CalibratedClassifierCV(logistic(), cv=2),
    VotingClassifier([("tree", DecisionTreeClassifier()), ("linear", logistic())]),
]  # fmt: skip


@pytest.mark.parametrize("model", FINE, ids=lambda m: str(type(m).__name__))
def test_ordinary_models_raise_no_alarm(model):
    found = checked(model.fit(FRAME, ILL))
    assert found["model-stored-records"].value == 0
    assert found["model-stored-records"].trusted
    assert found["model-rare-values"].value == 0


@pytest.mark.parametrize("model", [
    make_pipeline(PolynomialFeatures(2), logistic()), CategoricalNB(), MLPClassifier((3,), max_iter=5),
    make_pipeline(MinMaxScaler(), logistic()), make_pipeline(OneHotEncoder(), logistic()),
    make_pipeline(QuantileTransformer(n_quantiles=20), logistic()), make_pipeline(KMeans(3, n_init=1), logistic()),
], ids=lambda m: str(type(m).__name__))  # fmt: skip
def test_nor_do_models_of_yes_and_no(model):
    rng = np.random.default_rng(1)
    sets = [{f"b{i}": rng.integers(0, 2, ROWS) for i in range(4)} for _ in range(2)]
    found = checked(model.fit(pd.DataFrame(sets[0]), ILL), train=sets[0], others=sets[1])
    assert found["model-stored-records"].value == 0
    assert found["model-rare-values"].value == 0
