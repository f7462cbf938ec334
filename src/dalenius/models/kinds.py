"""What a model of each kind keeps: every attribute, and how many numbers and names it may hold at most.

``coef_=c.f`` says that ``coef_`` holds at most classes × features values, a name alone that it holds one; ``+`` adds.
The letters are f features, c classes, p people's rows, l levels of the columns, t trees, e named parts, w weights of
a network, i rounds, s fits along a path, g figures of a search, k knots; longer names are options of the model.
``!`` marks what holds records by its nature. What stands here in no line is kept by no fit of that kind: a new kind is
a line here, and a model in tests/models/test_ordinary.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from dalenius.models.views import View

COMMON = (
    "n_features_in_ feature_names_in_=f classes_=c n_classes_=c n_outputs_ _sklearn_version _n_features_out"
    " _sklearn_output_config=2 sparse_output_ _n_features _sample_weight"
)
LINEAR = "coef_=c.f intercept_=c n_iter_=c solver_ dual_gap_=c alpha_=c best_score_ rank_ singular_=f"
PATHS = " mse_path_=i alphas_=i l1_ratio_ n_iter_=i cv_alphas_=i coef_path_=i.f active_=f criterion_=i noise_variance_"
DESCENT = (
    " t_ _expanded_class_weight=c _loss_function_=9 loss_function_=9 _standard_coef=c.f _standard_intercept=c"
    " _average_coef=c.f _average_intercept=c _label_binarizer"
)
BAYES = (
    "class_count_=c class_log_prior_=c class_prior_=c feature_count_=c.f feature_log_prob_=c.f feature_all_=f"
)
TREE = "tree_=0 max_features_"
TREES = "estimator_ estimators_=t _n_samples _n_samples_bootstrap"
VECTORS = (
    "_sparse class_weight_=c _effective_probability _gamma !support_=p !support_vectors_=p.f !dual_coef_=p.c"
    " !_dual_coef_=p.c _n_support=c intercept_=c.c _intercept_=c.c _probA=c.c _probB=c.c fit_status_ _num_iter=c.c"
    " shape_fit_=2 n_iter_=c.c"
)
NEIGHBOURS = (
    "outputs_2d_ !_y=p.c effective_metric_params_=2 effective_metric_ _fit_method !_fit_X=p.f n_samples_fit_"
    " !_tree=p.f.4+p.9 outlier_label_"
)
NET = (
    "_label_binarizer n_iter_ t_ n_layers_ out_activation_ coefs_=w intercepts_=w _best_coefs=w _best_intercepts=w"
    " loss_curve_=i _no_improvement_count best_loss_ validation_scores_=i best_validation_score_ _optimizer=w+w+9 loss_"
    " _random_state=0 _coef_indptr=i _intercept_indptr=i"
)
VOTES = "estimators_=e named_estimators_=e+e final_estimator_ stack_method_=e _n_feature_outs=e _label_encoder le_"
ROUNDS = (
    "n_trees_per_iteration_ max_features_ _loss=20 init_ estimators_=t train_score_=t _rng=0 n_estimators_"
    " oob_improvement_=t oob_scores_=t oob_score_"
)
BINNED = (
    "is_categorical_=f _preprocessor _is_categorical_remapped=f _label_encoder n_trees_per_iteration_ _random_seed"
    " _feature_subsample_rng=6 _loss=20 do_early_stopping_ _use_validation_data _bin_mapper"
    " _baseline_prediction=c _predictors=t _scorer train_score_=t+1 validation_score_=t+1"
)
COLUMNS = (
    "_columns=f+f _transformer_to_input_indices=f+e+1 _remainder=f+3 transformers_=f.3+e.4+3"
    " output_indices_=e+e+e+e+4 _name_to_fitted_passthrough=e+e _transformers_feature_names_out=f+l+e"
)
LEVELS = (
    "_infrequent_enabled categories_=l+f _infrequent_indices=l+f _default_to_infrequent_mappings=l+f _missing_indices=f"
    " _drop_idx_after_grouping=f drop_idx_=f _n_features_outs=f target_type_ target_mean_=c encodings_=l.c+f.c"
)
SCALES = (
    "n_samples_seen_=f mean_=f var_=f scale_=f max_abs_=f min_=f data_min_=f data_max_=f data_range_=f center_=f"
    " lambdas_=f _scaler references_=n_quantiles quantiles_=n_quantiles.f n_quantiles_"
)
FILLED = "_fit_dtype _fill_dtype indicator_ statistics_=f _precomputed features_=f"
FACTORS = (
    "components_=f.f mean_=f whitening_=f.f mixing_=f.f _unmixing=f.f explained_variance_=f explained_variance_ratio_=f"
    " singular_values_=f noise_variance_=f n_components_ n_samples_ _fit_svd_solver n_iter_ var_=f batch_size_"
    " n_samples_seen_ loglike_=i"
)
CHOSEN = (
    "scores_=f pvalues_=f support_=f ranking_=f n_features_ n_features_to_select_ estimator_ variances_=f"
    " threshold_"
)

KINDS: Mapping[str, str] = {
    "LinearRegression Ridge RidgeCV RidgeClassifier RidgeClassifierCV Lasso ElasticNet QuantileRegressor "
    "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV TheilSenRegressor": LINEAR
    + " _label_binarizer n_nonzero_coefs_ n_subpopulation_ breakdown_",
    "PoissonRegressor GammaRegressor TweedieRegressor": LINEAR + " _base_loss=20",
    "HuberRegressor": LINEAR + " scale_",
    "LassoCV ElasticNetCV Lars LarsCV LassoLars LassoLarsCV LassoLarsIC": LINEAR + PATHS,
    "BayesianRidge ARDRegression": LINEAR + " X_offset_=f X_scale_=f scores_=i sigma_=f.f lambda_=f",
    "LogisticRegression LinearSVC LinearSVR": LINEAR,
    "LogisticRegressionCV": LINEAR
    + " Cs_=100 scores_=s.c coefs_paths_=s.c.f+s.c.2 C_=c l1_ratio_=c l1_ratios_=9 n_iter_=s.c",
    "SGDClassifier SGDRegressor Perceptron PassiveAggressiveClassifier PassiveAggressiveRegressor": LINEAR
    + DESCENT,
    "LinearDiscriminantAnalysis": LINEAR
    + " priors_=c _max_components means_=c.f xbar_=f explained_variance_ratio_=c scalings_=c.f covariance_=f.f",
    "QuadraticDiscriminantAnalysis": "priors_=c means_=c.f scalings_=c.f rotations_=c.f.f covariance_=c.f.f",
    "NearestCentroid": "class_prior_=c centroids_=c.f within_class_std_dev_=f deviations_=c.f",
    "GaussianNB": BAYES + " epsilon_ theta_=c.f var_=c.f",
    "BernoulliNB MultinomialNB ComplementNB": BAYES,
    "CategoricalNB": BAYES + " category_count_=c.l+c.f feature_log_prob_=c.l+c.f n_categories_=f",
    "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor": TREE,
    "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor": TREES,
    "BaggingClassifier BaggingRegressor": TREES
    + " _max_samples _max_features estimators_features_=t.f _seeds=t oob_score_",
    "AdaBoostClassifier AdaBoostRegressor": TREES + " estimator_weights_=t estimator_errors_=t",
    "GradientBoostingClassifier GradientBoostingRegressor": ROUNDS,
    "HistGradientBoostingClassifier HistGradientBoostingRegressor": BINNED,
    "_BinMapper": "is_categorical_=f missing_values_bin_idx_ bin_thresholds_=n_bins.f+l n_bins_non_missing_=f",
    "SVC SVR NuSVC NuSVR": VECTORS,
    "KNeighborsClassifier KNeighborsRegressor RadiusNeighborsClassifier RadiusNeighborsRegressor": NEIGHBOURS,
    "KNNImputer": FILLED + " !_fit_X=p.f !_mask_fit_X=p.f _valid_mask=f",
    "MLPClassifier MLPRegressor": NET,
    "DummyClassifier DummyRegressor": "_strategy class_prior_=c constant_=c",
    "VotingClassifier VotingRegressor StackingClassifier StackingRegressor": VOTES,
    "CalibratedClassifierCV": "calibrated_classifiers_=i",
    "_CalibratedClassifier": "estimator calibrators=c classes=c method",
    "_SigmoidCalibration": "a_ b_",
    "OneVsRestClassifier OneVsOneClassifier": "label_binarizer_ estimators_=c.c pairwise_indices_=c.f",
    "TransformedTargetRegressor": "_training_dim transformer_ regressor_",
    "FixedThresholdClassifier": "estimator_",
    "GridSearchCV RandomizedSearchCV": "_checked_cv_orig=9 n_splits_ multimetric_ best_index_ best_score_ "
    "best_params_=i best_estimator_ refit_time_ scorer_=9 cv_results_=g",
    "IsotonicRegression": "increasing_ X_min_ X_max_ X_thresholds_=p y_thresholds_=p f_=p.4+9",
    "Pipeline FeatureUnion FunctionTransformer PolynomialFeatures Normalizer Binarizer": "n_output_features_ "
    "_n_out_full _min_degree _max_degree",
    "ColumnTransformer": COLUMNS,
    "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler PowerTransformer QuantileTransformer": SCALES,
    "OneHotEncoder OrdinalEncoder TargetEncoder": LEVELS,
    "LabelEncoder LabelBinarizer": "y_type_ sparse_input_",
    "KBinsDiscretizer": "bin_edges_=n_bins.f+f n_bins_=f _encoder categories_=n_bins.f",
    "SplineTransformer": "bsplines_=k.f n_features_out_",
    "SimpleImputer MissingIndicator": FILLED,
    "IterativeImputer": "random_state_=0 _estimator imputation_sequence_=i.f.f _is_empty_feature=f initial_imputer_ "
    "_min_value=f _max_value=f n_features_with_missing_ n_iter_ indicator_",
    "PCA TruncatedSVD FastICA FactorAnalysis IncrementalPCA NMF": FACTORS
    + " reconstruction_err_ _n_components "
    "_beta_loss",
    "KMeans": "_tol _n_init _algorithm _n_threads cluster_centers_=n_clusters.f inertia_ n_iter_",
    "SelectKBest SelectPercentile SelectFpr SelectFdr SelectFwe GenericUnivariateSelect RFE SelectFromModel "
    "SequentialFeatureSelector VarianceThreshold": CHOSEN,
    "XGBClassifier XGBRegressor XGBRFClassifier XGBRFRegressor": "_Booster kwargs=9 evals_result_=i best_score "
    "best_iteration _estimator_type n_classes_",
    "LGBMClassifier LGBMRegressor": "_Booster _evals_result=i _best_score=9 _best_iteration _other_params=9 _objective "
    "_class_weight=c _class_map=c+c _n_features_in _classes=c _n_classes fitted_ _le=c _fobj class_weight "
    "_fitted_with_feature_names",
}
"""Attributes beside the options, by the name of the class."""

NAMED = ("steps", "transformers", "estimators", "transformer_list")
"""Options that are lists of named parts."""
USUAL = """
    num numeric numerical number numbers cat categorical category categories text texts bin binary cont continuous
    preprocess preprocessing preprocessor prep pre transform transformer transformation column columns col feature
    features select selection selector union scale scaler scaling standard standardscaler minmax robust power
    quantile encode encoder encoding one hot onehot ohe ordinal target impute imputer imputation simple fill missing
    mean median most frequent constant remainder drop passthrough poly polynomial reduce reduction dim pca svd model
    models clf classifier classification reg regressor regression estimator final linear logistic logit ridge lasso
    tree forest rf boost boosting gradient hist gb gbm xgb lgbm bayes nb svm svc svr knn neighbors neighbours mlp
    net network base meta stack vote voting label calibrated calibration search grid cv log identity low high rare
    other others default auto pandas polars softmax log_loss squared_error hinge squared_hinge predict predict_proba
    decision_function euclidean manhattan minkowski kd_tree ball_tree brute multiclass multilabel-indicator
    decorator balanced randomized full arpack covariance_eigh epsilon_insensitive prefer_skip_nested_validation
    optimal invscaling adaptive elasticnet l1 l2 none None nan infrequent_sklearn raise warn ignore concat input
    2*n_jobs lloyd elkan lbfgs sgd adam cholesky lsqr sag saga svd_solver sparse_cg eigen logsumexp
"""
BOOSTED = """
    q float int validation_0 validation_1 valid_0 valid_1 training logloss mlogloss error merror auc aucpr rmse mae mape
    l1 l2 binary_logloss multi_logloss binary multiclass regression regression_l1 poisson quantile gamma tweedie huber
    reg:squarederror reg:absoluteerror reg:quantileerror reg:squaredlogerror reg:gamma reg:tweedie reg:logistic
    binary:logistic binary:logitraw binary:hinge multi:softprob multi:softmax count:poisson survival:cox
"""
WORDS = frozenset(USUAL.split())
"""Words that name parts and choices everywhere."""


@cache
def listing(kind: str) -> Mapping[str, str] | None:
    """Attributes of a kind with their bounds; ``!`` stands before the bound of records; None for a kind not listed.

    Examples
    --------
    >>> listing("GaussianNB")["theta_"], listing("SVC")["support_vectors_"], listing("Oracle")
    ('c.f', '!p.f', None)
    """
    lines = [text for names, text in KINDS.items() if kind in names.split()]
    if not lines:
        return None
    made = {}
    for word in f"{COMMON} {' '.join(lines)}".split():
        name, _, bound = word.partition("=")
        made[name.removeprefix("!")] = ("!" if name.startswith("!") else "") + (bound or "1")
    return made


@cache
def kinds() -> frozenset[str]:
    """Names of all kinds that are listed, and their words, in small letters."""
    named = [name for names in KINDS for name in names.split()]
    return frozenset(word.lower() for name in named for word in (name, *re.findall(r"[A-Z][a-z]+", name)))


class Sizes:
    """The letters in the bounds of one estimator.

    Examples
    --------
    >>> Sizes(None, 3, 2, 100, None).most("c.f+1")
    7
    """

    def __init__(self, owner: Any, width: int, classes: int, rows: int, view: View | None) -> None:
        self.owner, self.width, self.classes, self.rows = owner, width, classes, rows
        self.view = view

    @property
    def levels(self) -> int:
        """Different values of all columns it was given, and a gap of each."""
        if self.view is None:
            return self.rows
        return sum(len(known.different) + 1 for known in self.view.columns)

    def most(self, bound: str) -> int:
        """The most that a bound allows."""
        return sum(
            int(np.prod([self.factor(word) for word in term.split(".")], dtype=object))
            for term in bound.split("+")
        )

    def factor(self, word: str) -> int:
        """What a letter, a number or an option stands for."""
        if word.isdigit():
            return int(word)
        if word in ("f", "c", "p"):
            return {"f": self.width, "c": self.classes, "p": self.rows}[word]
        if word == "l":
            return self.levels
        if word == "t":
            return max(self._whole("n_estimators"), self._whole("max_iter"), 1) * self.classes
        if word == "e":
            return max((len(getattr(self.owner, name, None) or ()) for name in NAMED), default=0)
        if word == "i":
            return int(np.clip(self._whole("max_iter"), 1000, 5000))
        if word == "s":
            return self._settings()
        if word == "g":
            return 40 * _tries(self.owner)
        if word == "w":
            return self._weights()
        if word == "k":
            return (self._whole("n_knots") + 3 * self._whole("degree") + 3) ** 2
        return min(self._whole(word), self.rows)

    def _whole(self, option: str) -> int:
        value = getattr(self.owner, option, 0)
        if isinstance(value, (int, np.integer)):
            return int(value)
        return int(np.max(value)) if isinstance(value, (list, tuple, np.ndarray)) and len(value) else 0

    def _settings(self) -> int:
        """Fits along a path: values that were tried, times folds."""
        tried, mixed, folds = (getattr(self.owner, name, None) for name in ("Cs", "l1_ratios", "cv"))
        counts = [
            each
            if isinstance(each, int)
            else len(each)
            if isinstance(each, (list, tuple, np.ndarray))
            else usual
            for each, usual in ((tried, 10), (mixed, 1), (folds, 5))
        ]
        return int(np.prod(counts, dtype=object))

    def _weights(self) -> int:
        hidden = self.owner.hidden_layer_sizes
        sizes = [self.width, *(hidden if isinstance(hidden, Iterable) else [hidden]), self.classes]
        return sum((a + 1) * b for a, b in pairwise(sizes))


def _tries(search: Any) -> int:
    """How many settings a search tried."""
    held = getattr(search, "param_grid", None)
    if held is None:
        return min(int(search.n_iter), 1000)
    grids = [held] if isinstance(held, Mapping) else held
    return min(sum(int(np.prod([len(v) for v in grid.values()], dtype=object)) for grid in grids), 1000)
