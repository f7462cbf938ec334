"""Ordinary models keep what their kind keeps: none of them is told to be looked at."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import decomposition as dec
from sklearn import discriminant_analysis as dis
from sklearn import ensemble as ens
from sklearn import feature_selection as sel
from sklearn import impute as imp
from sklearn import linear_model as lin
from sklearn import naive_bayes as nb
from sklearn import neighbors as near
from sklearn import preprocessing as pre
from sklearn import svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from dalenius.models import ModelCase
from dalenius.models.strange import strange_parts
from dalenius.models.views import views_of

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(1)
ROWS = 160
NUMBERS = {
    "age": RNG.integers(17, 90, ROWS) * 1.0,
    "pay": RNG.lognormal(10, 1, ROWS).round(2),
    "x": RNG.normal(size=ROWS),
}
TEXTS = {"town": RNG.choice(["Oslo", "Bergen", "Bodø"], ROWS), "job": RNG.choice(["cook", "clerk"], ROWS)}
GAPS = {**NUMBERS, "x": np.where(RNG.random(ROWS) < 0.1, np.nan, NUMBERS["x"])}
TWO = np.where(NUMBERS["x"] + RNG.normal(size=ROWS) > 0, "yes", "no")
THREE = RNG.integers(0, 3, ROWS)
VALUE = NUMBERS["x"] * 3 + RNG.normal(size=ROWS)
SCALED = pre.StandardScaler()

TWO_CLASSES = [
    lin.LogisticRegression(),
    lin.LogisticRegression(C=0.1, class_weight="balanced", max_iter=500, random_state=3),
    lin.LogisticRegression(class_weight={"yes": 2.0, "no": 1.0}),
    lin.LogisticRegressionCV(cv=3, Cs=4),
    lin.SGDClassifier(random_state=1),
    lin.SGDClassifier(loss="log_loss", average=True, early_stopping=True),
    lin.Perceptron(),
    lin.RidgeClassifier(alpha=3.0),
    lin.RidgeClassifierCV(alphas=np.logspace(-4, 4, 30)),
    dis.LinearDiscriminantAnalysis(),
    dis.LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    dis.QuadraticDiscriminantAnalysis(store_covariance=True),
    near.NearestCentroid(),
    nb.GaussianNB(),
    nb.GaussianNB(priors=[0.4, 0.6]),
    nb.MultinomialNB(),
    DecisionTreeClassifier(),
    DecisionTreeClassifier(
        max_depth=4, min_samples_leaf=10, ccp_alpha=0.01, class_weight={"yes": 1, "no": 5}
    ),
    ExtraTreeClassifier(),
    ens.RandomForestClassifier(8),
    ens.ExtraTreesClassifier(8, bootstrap=True, max_samples=0.5),
    ens.RandomForestClassifier(
        8, class_weight="balanced_subsample", max_features=2, criterion="entropy", n_jobs=1
    ),
    ens.BaggingClassifier(n_estimators=4),
    ens.BaggingClassifier(lin.LogisticRegression(), n_estimators=3, max_features=2),
    ens.AdaBoostClassifier(n_estimators=5),
    ens.AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=4),
    ens.GradientBoostingClassifier(n_estimators=6, random_state=0),
    ens.GradientBoostingClassifier(
        n_estimators=6, subsample=0.5, n_iter_no_change=3, random_state=7, learning_rate=0.05
    ),
    ens.HistGradientBoostingClassifier(max_iter=4),
    ens.HistGradientBoostingClassifier(max_iter=4, early_stopping=True),
    MLPClassifier((5,), max_iter=5, random_state=1),
    MLPClassifier((8, 4), solver="lbfgs", max_iter=9, random_state=2),
    MLPClassifier(12, solver="sgd", early_stopping=True, max_iter=5, random_state=0, activation="tanh"),
    svm.LinearSVC(),
    DummyClassifier(),
    DummyClassifier(strategy="constant", constant="yes"),
    CalibratedClassifierCV(lin.LogisticRegression(), cv=2),
    CalibratedClassifierCV(nb.GaussianNB(), method="isotonic", cv=2),
    ens.VotingClassifier(
        [("lr", lin.LogisticRegression()), ("tree", DecisionTreeClassifier())], voting="soft", weights=[1, 2]
    ),
    ens.StackingClassifier([("nb", nb.GaussianNB()), ("forest", ens.RandomForestClassifier(3))], cv=2),
    ens.StackingClassifier(
        [("a", nb.GaussianNB())], final_estimator=DecisionTreeClassifier(max_depth=2), cv=2, passthrough=True
    ),
    OneVsRestClassifier(lin.LogisticRegression()),
    GridSearchCV(lin.LogisticRegression(), {"C": [0.01, 0.1, 1, 10]}, cv=3, scoring="roc_auc"),
    GridSearchCV(
        make_pipeline(SCALED, svm.LinearSVC()), {"linearsvc__C": np.logspace(-3, 3, 7)}, cv=StratifiedKFold(2)
    ),
    RandomizedSearchCV(
        DecisionTreeClassifier(), {"max_depth": [2, 3, 4], "criterion": ["gini", "entropy"]}, n_iter=3, cv=2
    ),
    GridSearchCV(
        nb.GaussianNB(), {"priors": [None]}, cv=2, scoring={"auc": "roc_auc", "acc": "accuracy"}, refit="auc"
    ),
    ens.HistGradientBoostingClassifier(max_iter=2, categorical_features=["age"], max_bins=90),
    make_pipeline(
        pre.FunctionTransformer(np.clip, kw_args={"a_min": 0, "a_max": 100}),
        DecisionTreeClassifier(max_depth=2),
    ),
    Pipeline([("demographics_scaler", SCALED), ("random_forest", ens.RandomForestClassifier(2))]),
    make_pipeline(SCALED, lin.LogisticRegression()),
    make_pipeline(pre.MinMaxScaler((0, 2)), nb.GaussianNB()),
    make_pipeline(pre.RobustScaler(quantile_range=(10, 90)), lin.LogisticRegression()),
    make_pipeline(pre.MaxAbsScaler(), lin.LogisticRegression()),
    make_pipeline(pre.Normalizer(), lin.LogisticRegression()),
    make_pipeline(pre.PowerTransformer(), lin.LogisticRegression()),
    make_pipeline(pre.Binarizer(threshold=3.0), nb.BernoulliNB()),
    make_pipeline(pre.QuantileTransformer(n_quantiles=20), lin.LogisticRegression()),
    make_pipeline(pre.KBinsDiscretizer(4, encode="ordinal"), nb.CategoricalNB(min_categories=4)),
    make_pipeline(pre.KBinsDiscretizer([3, 4, 5]), lin.LogisticRegression()),
    make_pipeline(pre.PolynomialFeatures(3, include_bias=False), SCALED, lin.LogisticRegression()),
    make_pipeline(pre.SplineTransformer(5, degree=2), lin.LogisticRegression()),
    make_pipeline(
        pre.FunctionTransformer(np.log1p, feature_names_out="one-to-one"), DecisionTreeClassifier(max_depth=3)
    ),
    make_pipeline(SCALED, dec.PCA(2), lin.LogisticRegression()),
    make_pipeline(dec.PCA(0.9), lin.LogisticRegression()),
    make_pipeline(dec.TruncatedSVD(2), lin.LogisticRegression()),
    make_pipeline(dec.FastICA(2), lin.LogisticRegression()),
    make_pipeline(sel.SelectKBest(k=2), lin.LogisticRegression()),
    make_pipeline(sel.VarianceThreshold(0.1), nb.GaussianNB()),
    make_pipeline(sel.SelectFromModel(ens.RandomForestClassifier(3)), lin.LogisticRegression()),
    make_pipeline(sel.RFE(lin.LogisticRegression(), n_features_to_select=2), lin.LogisticRegression()),
    Pipeline(
        [
            ("preprocessing", SCALED),
            ("feature_selection", sel.SelectKBest(k=1)),
            ("clf", ens.RandomForestClassifier(2)),
        ]
    ),
    make_pipeline(FeatureUnion([("pca", dec.PCA(1)), ("scaled", SCALED)]), lin.LogisticRegression()),
    Pipeline([("standard_scaler", SCALED), ("drop_it", "passthrough"), ("model2", lin.LogisticRegression())]),
]
NUMBER = [
    lin.LinearRegression(),
    lin.LinearRegression(positive=True),
    lin.Ridge(alpha=0.3),
    lin.RidgeCV(),
    lin.Lasso(0.1),
    lin.LassoCV(cv=3),
    lin.ElasticNet(0.1, l1_ratio=0.3),
    lin.ElasticNetCV(cv=3, l1_ratio=[0.1, 0.5, 0.9]),
    lin.LassoLarsIC(),
    lin.LassoLarsCV(cv=3),
    lin.OrthogonalMatchingPursuit(),
    lin.BayesianRidge(),
    lin.ARDRegression(),
    lin.TweedieRegressor(),
    lin.QuantileRegressor(quantile=0.8, alpha=0.01),
    lin.TheilSenRegressor(random_state=0),
    lin.SGDRegressor(),
    svm.LinearSVR(),
    DecisionTreeRegressor(max_leaf_nodes=9),
    ens.RandomForestRegressor(5),
    ens.ExtraTreesRegressor(5),
    ens.GradientBoostingRegressor(n_estimators=5, loss="huber", random_state=1),
    ens.HistGradientBoostingRegressor(max_iter=4),
    ens.AdaBoostRegressor(n_estimators=4),
    ens.BaggingRegressor(n_estimators=3),
    MLPRegressor(hidden_layer_sizes=(6,), max_iter=5, random_state=1),
    DummyRegressor(),
    DummyRegressor(strategy="quantile", quantile=0.3),
    ens.VotingRegressor([("ols", lin.LinearRegression()), ("rf", ens.RandomForestRegressor(2))]),
    ens.StackingRegressor([("ridge", lin.Ridge())], cv=2),
    make_pipeline(SCALED, lin.Lasso(0.1)),
    TransformedTargetRegressor(lin.LinearRegression(), transformer=SCALED),
    make_pipeline(pre.PolynomialFeatures(), lin.Ridge()),
]
CODED = make_column_transformer(
    (pre.OneHotEncoder(handle_unknown="ignore"), ["town", "job"]), remainder=pre.StandardScaler()
)
MIXED = [
    make_pipeline(CODED, lin.LogisticRegression()),
    Pipeline(
        [
            (
                "preprocessor",
                ColumnTransformer(
                    [
                        (
                            "num",
                            Pipeline([("imputer", imp.SimpleImputer(strategy="median")), ("scaler", SCALED)]),
                            ["age", "pay", "x"],
                        ),
                        ("cat", pre.OneHotEncoder(drop="first", sparse_output=False), ["town", "job"]),
                    ]
                ),
            ),
            ("classifier", ens.RandomForestClassifier(3)),
        ]
    ),
    make_pipeline(
        ColumnTransformer(
            [
                ("numeric", "passthrough", make_column_selector(dtype_include=float)),
                ("town", pre.OrdinalEncoder(), ["town"]),
            ]
        ),
        ens.HistGradientBoostingClassifier(max_iter=3),
    ),
    make_pipeline(
        make_column_transformer((pre.OneHotEncoder(min_frequency=60), ["town"]), ("drop", ["job"])),
        lin.LogisticRegression(),
    ),
    make_pipeline(
        make_column_transformer((pre.TargetEncoder(cv=2), ["town", "job"]), remainder="passthrough"),
        DecisionTreeClassifier(max_depth=3),
    ),
    make_pipeline(
        make_column_transformer((pre.OneHotEncoder(categories=[["Bergen", "Bodø", "Oslo"]]), ["town"])),
        lin.LogisticRegression(),
    ),
    make_pipeline(
        make_column_transformer(
            (pre.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["town", "job"])
        ).set_output(transform="pandas"),
        lin.LogisticRegression(),
    ),
]
FILLED = [
    make_pipeline(imp.SimpleImputer(), lin.LogisticRegression()),
    make_pipeline(
        imp.SimpleImputer(strategy="constant", fill_value=-1, add_indicator=True), DecisionTreeClassifier()
    ),
    ens.HistGradientBoostingClassifier(max_iter=3),
    DecisionTreeClassifier(),
    make_pipeline(
        imp.SimpleImputer(strategy="most_frequent"), SCALED, MLPClassifier((3,), max_iter=3, random_state=4)
    ),
]


def told(model, train, target):
    case = ModelCase.of(model, {**train, "y": target}, target="y", features=list(train))
    return strange_parts(case, list(views_of(case)))


def kind(model):
    return "-".join(type(part).__name__ for _, part in getattr(model, "steps", [("", model)]))


@pytest.mark.parametrize("place", range(len(TWO_CLASSES)), ids=lambda p: kind(TWO_CLASSES[p]))
def test_of_two_classes(place):
    frame = pd.DataFrame(NUMBERS).abs()
    fitted = TWO_CLASSES[place].fit(
        frame.to_numpy()
        if place % 4 == 0 and not hasattr(TWO_CLASSES[place], "categorical_features")
        else frame,
        TWO,
    )
    assert told(fitted, frame.to_dict("list"), TWO) == {}


@pytest.mark.parametrize("model", NUMBER, ids=kind)
def test_of_numbers(model):
    assert told(model.fit(pd.DataFrame(NUMBERS), VALUE), NUMBERS, VALUE) == {}


@pytest.mark.parametrize("model", MIXED, ids=kind)
def test_of_texts(model):
    train = {**NUMBERS, **TEXTS}
    assert told(model.fit(pd.DataFrame(train), TWO), train, TWO) == {}


@pytest.mark.parametrize("model", FILLED, ids=kind)
def test_of_gaps(model):
    assert told(model.fit(pd.DataFrame(GAPS), TWO), GAPS, TWO) == {}


@pytest.mark.parametrize("place", range(1, len(TWO_CLASSES), 5))
def test_of_three_classes(place):
    frame = pd.DataFrame(NUMBERS).abs()
    assert told(TWO_CLASSES[place].fit(frame, THREE), frame.to_dict("list"), THREE) == {}


def test_of_one_column():
    model = IsotonicRegression(out_of_bounds="clip").fit(NUMBERS["x"], VALUE)
    assert told(model, {"x": NUMBERS["x"]}, VALUE) == {}
    model = make_pipeline(KMeans(3, n_init=1, random_state=0), lin.LogisticRegression())
    frame = pd.DataFrame(NUMBERS)
    assert list(told(model.fit(frame, TWO), NUMBERS, TWO).values()) == ["a value for every training record"]
