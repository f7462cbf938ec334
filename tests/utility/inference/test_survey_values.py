"""Survey estimates and models beside values from elsewhere; each says where its figure comes from."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm

from dalenius.core.errors import DataError, SchemaError
from dalenius.data import Role, Schema, Table
from dalenius.data.design import Design
from dalenius.data.sampling import Sampling
from dalenius.utility.inference import estimate, fit_model

CLOSE = {"rel": 1e-6, "abs": 1e-9}


def errors(fit) -> np.ndarray:
    return np.sqrt(fit.variances)


# The example data of R's survey package, data(fpc): its reference page prints mean 5.4481 with standard errors 0.7413
# without and 0.616 with the finite population; Stata's manual of svyset prints 5.448148, .7412683 and .6160407.
FPC = {
    "x": [2.8, 4.1, 6.8, 6.8, 9.2, 3.7, 6.6, 4.2], "stratid": [1] * 5 + [2] * 3, "psuid": [1, 2, 3, 4, 5, 1, 2, 3],
    "weight": [3.0] * 5 + [4.0] * 3, "Nh": [15] * 5 + [12] * 3,
}  # fmt: skip


def fpc_table(fpc: str | None) -> Table:
    schema = Schema.infer(FPC).with_roles(weight="weight", stratum="stratid", psu="psuid", fpc=fpc)
    return Table.from_frame(FPC, schema)


@pytest.mark.parametrize(("fpc", "error"), [(None, 0.7412683), ("Nh", 0.6160407)])
def test_finite_populations_as_in_r_and_stata(fpc, error):
    found = estimate("mean(x)", fpc_table(fpc))
    assert found.estimates[0] == pytest.approx(5.448148, abs=1e-6)
    assert errors(found)[0] == pytest.approx(error, abs=1e-7)
    assert found.df == 6
    # by hand: strata of 15 and 12 with variances 6.338 and 2.40333…
    shares = np.array([15 / 27, 12 / 27]) ** 2
    by_hand = shares @ np.array([6.338 / 5, 7.21 / 3 / 3]) if fpc is None else shares @ np.array(
        [6.338 / 5 * 2 / 3, 7.21 / 3 / 3 * 3 / 4]
    )  # fmt: skip
    assert found.variances[0] == pytest.approx(by_hand, **CLOSE)


def test_a_share_of_the_population_does_as_well_as_its_size():
    data = FPC | {"Nh": [5 / 15] * 5 + [3 / 12] * 3}
    schema = Schema.infer(data).with_roles(weight="weight", stratum="stratid", psu="psuid", fpc="Nh")
    assert errors(estimate("mean(x)", Table.from_frame(data, schema)))[0] == pytest.approx(
        0.6160407, abs=1e-7
    )


def test_a_stratum_drawn_whole_as_in_r():
    """T. Lumley's page on lonely sampling units: mean 445.18 (132.39) and total 15077 (458.53) of unemployed people."""
    data = {
        "ue": [4123, 1623, 760, 767, 568, 331, 187, 129], "str": [2] + [1] * 7, "clu": [1, 10, 4, 7, 32, 26, 18, 13],
        "wt": [1, 1.004, 1.893, 2.173, 2.971, 4.762, 6.335, 13.730], "N": [1] + [31] * 7,
    }  # fmt: skip
    schema = Schema.infer(data).with_roles(weight="wt", stratum="str", psu="clu", fpc="N")
    table = Table.from_frame(data, schema)
    mean, total = estimate("mean(ue)", table), estimate("total(ue)", table)
    assert (mean.estimates[0], errors(mean)[0]) == pytest.approx((445.18, 132.39), abs=5e-3)
    assert (total.estimates[0], errors(total)[0]) == pytest.approx((15077, 458.53), abs=0.5)
    assert errors(total)[0] == pytest.approx(458.53, abs=5e-3)


# Twelve rows of our own, two units in each of three strata.
ROWS = {
    "y": [3.0, 5, 4, 8, 10, 7, 9, 12, 2, 1, 4, 3], "x": [2.0, 3, 2, 5, 6, 4, 7, 6, 2, 1, 3, 2],
    "w": [10.0, 12, 8, 9, 20, 22, 25, 18, 5, 6, 7, 4], "h": np.repeat([1, 2, 3], 4),
    "u": np.repeat([11, 12, 21, 22, 31, 32], 2),
}  # fmt: skip
WEIGHTS = np.array(ROWS["w"])
SIGNS = np.array([[1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
TIMES = np.array(
    [[1, 0, 2, 1, 0, 1], [0, 1, 1, 2, 1, 0], [2, 1, 0, 1, 1, 1], [1, 1, 1, 0, 2, 1], [1, 2, 1, 1, 0, 1]]
)


def replicate_weights(kind: str) -> np.ndarray:
    units, stratum = np.unique(ROWS["u"]), ROWS["h"] - 1
    if kind in ("BRR", "fay"):
        first = np.tile([1, 1, -1, -1], 3)
        return WEIGHTS[:, None] * (1 + (0.7 if kind == "fay" else 1.0) * first[:, None] * SIGNS[stratum])
    if kind == "bootstrap":
        return WEIGHTS[:, None] * TIMES.T[np.searchsorted(units, ROWS["u"])]
    gone = ROWS["u"][:, None] == units
    if kind == "jackknife":
        return WEIGHTS[:, None] * np.where(gone, 0, 6 / 5)
    return WEIGHTS[:, None] * np.where(gone, 0, np.where(stratum[:, None] == np.arange(6) // 2, 2, 1))


HOW = {
    "BRR": Sampling("BRR", around="mean"), "fay": Sampling("BRR", fay=0.3, around="mean"),
    "stratified-jackknife": Sampling("stratified-jackknife", around="mean"),
    "jackknife": Sampling("jackknife", around="mean"), "bootstrap": Sampling("bootstrap", around="mean"),
}  # fmt: skip


def survey(kind: str | None) -> Table:
    data, roles = dict(ROWS), {"weight": "w", "stratum": "h", "psu": "u"}
    if kind is not None:
        sets = replicate_weights(kind)
        data |= {f"r{i}": sets[:, i] for i in range(sets.shape[1])}
        roles["replicate"] = [f"r{i}" for i in range(sets.shape[1])]
    schema = replace(Schema.infer(data).with_roles(**roles), sampling=HOW[kind] if kind else Sampling())
    return Table.from_frame(data, schema)


# samplics 0.6.0, TaylorEstimator and ReplicateEstimator (its differences are from the mean of the replicates).
SAMPLICS = {
    None: (0.665111574877494, 91.32907532653553, 0.05163119626415995),
    "BRR": (0.657726801536379, 91.32907532653553, 0.05203352611635948),
    "fay": (0.6597924486968871, 91.32907532653554, 0.05177897145461531),
    "stratified-jackknife": (0.6654355065839437, 91.32907532653553, 0.05252048795024518),
    "jackknife": (1.4509324594021742, 436.20843641543644, 0.055806072694176284),
    "bootstrap": (1.1846759465318801, 285.97720188854214, 0.025540143237511744),
}


@pytest.mark.parametrize("kind", SAMPLICS)
def test_means_totals_and_ratios_as_in_samplics(kind):
    table = survey(kind)
    found = [estimate(text, table) for text in ("mean(y)", "total(y)", "ratio(y, x)")]
    assert [f.estimates[0] for f in found] == pytest.approx(
        (7.157534246575342, 1045.0, 1.6003062787136293), **CLOSE
    )
    assert [errors(f)[0] for f in found] == pytest.approx(SAMPLICS[kind], **CLOSE)


def test_replicates_of_a_total_agree_with_linearisation():
    """Half-samples and the jackknife give a total exactly the linearised variance (Wolter 2007, chapters 3 and 4)."""
    design = Design(WEIGHTS, ROWS["h"], ROWS["u"])
    y = np.array(ROWS["y"])
    exact = design.total(y)[1][0, 0]
    sums = [float(WEIGHTS[i : i + 2] @ y[i : i + 2]) for i in range(0, 12, 2)]
    assert exact == pytest.approx(sum((a - b) ** 2 for a, b in zip(sums[::2], sums[1::2], strict=True)))
    for kind, fay in (("BRR", 0.0), ("BRR", 0.4), ("stratified-jackknife", 0.0)):
        assert design.replicated(kind, fay=fay).total(y)[1][0, 0] == pytest.approx(exact, **CLOSE)
    boots = design.replicated("bootstrap", 4000, seed=1).total(y)[1][0, 0]
    assert boots == pytest.approx(exact, rel=0.15)
    one = Design(np.full(12, 2.0))
    assert one.replicated("jackknife").mean(y)[1][0, 0] == pytest.approx(np.var(y, ddof=1) / 12, **CLOSE)


def test_quantiles_by_hand():
    data = {"y": list(range(1, 11)), "w": [1.0] * 10, "v": [5.0] + [1.0] * 9}
    table = Table.from_frame(data, Schema.infer(data).with_roles(weight="w"))
    found = estimate("quantile(y, 0.5)", table)
    # half of ten is reached at 5; its share has the error √(¼ / 9), t₉ = 2.262157, so that the interval reads 2 and 9
    assert found.estimates[0] == 5
    assert errors(found)[0] == pytest.approx((9 - 2) / (2 * 2.2621571628), **CLOSE)
    heavy = Table.from_frame(data, Schema.infer(data).with_roles(weight="v"))
    assert estimate("quantile(y, 0.5)", heavy).estimates[0] == 3  # 5 + 1 + 1 is half of 14
    assert estimate("quantile(y, 0.25)", heavy).estimates[0] == 1


def test_domains_keep_the_design():
    """By hand: the mean of a group is a ratio of totals over all rows; units that lack the group count too."""
    table = survey(None)
    data = table.to_frame("dict")
    group = np.array(["a", "b", "a", "a", "b", "b", "a", "b", "a", "b", "b", "a"])
    table = Table.from_frame(data | {"g": group}, Schema.infer(data | {"g": group}).with_roles(
        weight="w", stratum="h", psu="u"
    ))  # fmt: skip
    found = estimate("mean(y) by g", table)
    assert found.names == ["mean of y, g a", "mean of y, g b"]
    inside = (group == "a").astype(float)
    by_hand = Design(WEIGHTS, ROWS["h"], ROWS["u"]).mean(np.array(ROWS["y"]) * inside, by=inside)
    assert (found.estimates[0], found.variances[0]) == pytest.approx(
        (by_hand[0][0], by_hand[1][0, 0]), **CLOSE
    )
    shares = estimate("share(g)", table)
    assert shares.estimates.sum() == pytest.approx(1)
    assert shares.covariance.sum() == pytest.approx(0, abs=1e-12)


def test_calibrated_margins_have_no_error():
    """Totals that the weights were brought to are known; what they explain of an estimate leaves its variance."""
    design = survey(None)
    schema = replace(design.schema, sampling=Sampling(calibrated=("x",)))
    calibrated = design.with_schema(schema)
    assert errors(estimate("total(x)", calibrated))[0] == pytest.approx(0, abs=1e-9)
    plain = Design(WEIGHTS, ROWS["h"], ROWS["u"])
    x, y = np.column_stack([np.ones(12), ROWS["x"]]), np.array(ROWS["y"])
    slopes = np.linalg.solve((x * WEIGHTS[:, None]).T @ x, (x * WEIGHTS[:, None]).T @ y)
    by_hand = plain.total(y - x @ slopes)[1][0, 0]
    assert estimate("total(y)", calibrated).variances[0] == pytest.approx(by_hand, **CLOSE)


def test_weighted_least_squares_by_hand():
    """Oganian, Drechsler, Iqbal 2024: β = (2.1, 0.6); the sandwich of four rows times 4 / 3."""
    data = {"x": [1, 2, 3, 4], "y": [2, 3, 5, 4], "w": [1, 2, 3, 4]}
    fit = fit_model("y ~ x", Table.from_frame(data, Schema.infer(data).with_roles(weight="w")))
    assert fit.estimates == pytest.approx([2.1, 0.6], **CLOSE)
    assert fit.covariance == pytest.approx(np.array([[0.5666, -0.163], [-0.163, 0.0632]]) * 4 / 3, rel=1e-6)


RNG = np.random.default_rng(7)
N = 240
MODEL = {
    "a": RNG.normal(size=N), "b": RNG.normal(size=N), "w": RNG.uniform(1, 9, N), "h": RNG.integers(0, 4, N),
    "u": RNG.integers(0, 10, N), "g": RNG.choice(["p", "q", "r"], N),
}  # fmt: skip
ETA = 0.5 + 0.8 * MODEL["a"] - 0.4 * MODEL["b"]
MODEL |= {
    "gaussian": ETA + RNG.normal(size=N), "binomial": np.where(RNG.random(N) < 1 / (1 + np.exp(-ETA)), "yes", "no"),
    "poisson": RNG.poisson(np.exp(ETA)), "gamma": RNG.gamma(2.0, np.exp(ETA) / 2) + 0.01,
    "quasipoisson": RNG.negative_binomial(2, 2 / (2 + np.exp(ETA))),
    "ordinal": np.digitize(ETA + RNG.logistic(size=N), [-1.0, 1.0]),
}  # fmt: skip
X = np.column_stack([np.ones(N), MODEL["a"], MODEL["b"]])
FAMILIES = {
    "gaussian": (None, sm.families.Gaussian()),
    "binomial": (None, sm.families.Binomial()),
    "probit": ("probit", sm.families.Binomial(sm.families.links.Probit())),
    "cloglog": ("cloglog", sm.families.Binomial(sm.families.links.CLogLog())),
    "poisson": (None, sm.families.Poisson()),
    "gamma": ("log", sm.families.Gamma(sm.families.links.Log())),
    "quasipoisson": (None, sm.families.Poisson()),
}


def design_table(**roles) -> Table:
    schema = Schema.infer(MODEL).with_roles(**roles)
    return Table.from_frame(MODEL, schema)


def peer(name: str, weights: np.ndarray, groups: np.ndarray):
    response = name if name in MODEL else "binomial"
    y = (MODEL[response] == "yes").astype(float) if response == "binomial" else MODEL[response]
    model = sm.GLM(y, X, family=FAMILIES[name][1], freq_weights=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = {"groups": groups, "use_correction": False}
        return model.fit(cov_type="cluster", cov_kwds=how, tol=1e-13, maxiter=200)


@pytest.mark.parametrize("name", FAMILIES)
def test_linearised_models_as_in_statsmodels(name):
    """statsmodels' GLM with a cluster covariance; one stratum of ten units adds the factor 10 / 9."""
    response = name if name in MODEL else "binomial"
    family = "binomial" if name in ("probit", "cloglog") else name
    fit = fit_model(f"{response} ~ a + b", design_table(weight="w", psu="u"), family, link=FAMILIES[name][0])
    beside = peer(name, MODEL["w"] * N / MODEL["w"].sum(), MODEL["u"])
    covariance = beside.cov_params()
    if name in (
        "probit",
        "cloglog",
        "gamma",
    ):  # its own has the observed information there, R's the expected one
        swap = np.linalg.inv(beside.model.hessian(beside.params, observed=False)) @ beside.model.hessian(
            beside.params
        )
        covariance = swap @ covariance @ swap.T
    assert fit.estimates == pytest.approx(beside.params, rel=1e-6, abs=1e-8)
    assert fit.covariance == pytest.approx(covariance * 10 / 9, rel=2e-6, abs=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "binomial", "poisson"])
@pytest.mark.parametrize("kind", ["BRR", "jackknife", "stratified-jackknife", "bootstrap"])
def test_replicated_models_as_refits_by_statsmodels(name, kind):
    halves = kind in ("BRR", "stratified-jackknife")
    units = MODEL["u"] % 2 if halves else MODEL["u"]
    design = Design(MODEL["w"], MODEL["h"] if halves else None, units).replicated(kind, 8, seed=3)
    fit = fit_model(f"{name} ~ a + b", Table.from_frame(MODEL), name, design=design)
    refits = np.array(
        [peer(name, design.replicates[:, r], MODEL["u"]).params for r in range(design.replicates.shape[1])]
    )
    apart = refits - peer(name, MODEL["w"], MODEL["u"]).params
    factor = {"BRR": 1 / 8, "jackknife": 9 / 10, "stratified-jackknife": 1 / 2, "bootstrap": 1 / 8}[kind]
    assert fit.covariance == pytest.approx(factor * apart.T @ apart, rel=1e-5, abs=1e-8)


def test_strata_by_hand():
    """Σ over strata of n/(n−1) Σ (z − z̄)(z − z̄)' with z the sums of the units' scores (Binder 1983)."""
    fit = fit_model("gaussian ~ a + b", design_table(weight="w", stratum="h", psu="u"))
    w = MODEL["w"] * N / MODEL["w"].sum()
    scores = (
        X * (w * (MODEL["gaussian"] - X @ fit.estimates))[:, None] @ np.linalg.inv((X * w[:, None]).T @ X)
    )
    total = np.zeros((3, 3))
    for h in range(4):
        inside = MODEL["h"] == h
        z = np.array([scores[inside & (MODEL["u"] == u)].sum(axis=0) for u in np.unique(MODEL["u"][inside])])
        total += len(z) * np.cov(z, rowvar=False)
    assert fit.covariance == pytest.approx(total, **CLOSE)


@pytest.mark.parametrize("family", ["multinomial", "ordinal", "negative-binomial", "cox"])
def test_weights_are_repeated_rows(family):
    """A weight of 3 is three rows; without weights the model is statsmodels' own."""
    data = dict(MODEL) | {
        "time": np.round(RNG.exponential(np.exp(-ETA)), 2) + 0.01,
        "event": RNG.integers(0, 2, N),
    }
    left = {"multinomial": "g", "cox": "Surv(time, event)", "negative-binomial": "quasipoisson"}.get(
        family, family
    )
    data["w"] = np.tile([1, 2, 3], N // 3)
    formula = f"{left} ~ a + b"
    table = Table.from_frame(data, Schema.infer(data).with_roles(weight="w"))
    repeated = table.take(np.repeat(np.arange(N), data["w"]))
    weighted, longer = fit_model(formula, table, family), fit_model(formula, repeated, family, design=None)
    assert weighted.names == longer.names
    assert weighted.estimates == pytest.approx(longer.estimates, rel=1e-5, abs=1e-6)
    plain = fit_model(formula, table, family, design=None)
    params, covariance = classes_peer(family, data)
    assert plain.estimates == pytest.approx(params, rel=1e-4, abs=1e-5)
    assert errors(plain) == pytest.approx(np.sqrt(np.diag(covariance)), rel=2e-3)


def classes_peer(family: str, data: dict) -> tuple[np.ndarray, np.ndarray]:
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if family == "multinomial":
            found = sm.MNLogit(np.searchsorted(["p", "q", "r"], data["g"]), X).fit(disp=0, tol=1e-12)
            return found.params.ravel(order="F"), found.cov_params()
        if family == "negative-binomial":
            found = sm.NegativeBinomial(data["quasipoisson"], X).fit(disp=0, maxiter=500, gtol=1e-9)
            return found.params, found.cov_params()
        if family == "cox":
            found = sm.PHReg(data["time"], X[:, 1:], status=data["event"], ties="breslow").fit(disp=0)
            return found.params, found.cov_params()
        found = OrderedModel(data["ordinal"], X[:, 1:], distr="logit").fit(method="bfgs", disp=0, gtol=1e-9)
    cuts = np.array([found.params[2], found.params[2] + np.exp(found.params[3])])
    jacobian = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, np.exp(found.params[3])]])
    return np.append(found.params[:2], cuts), jacobian @ found.cov_params() @ jacobian.T


def test_offsets_and_quasi_families_as_in_statsmodels():
    data = MODEL | {"exposure": RNG.uniform(1, 3, N)}
    fit = fit_model("quasipoisson ~ a + offset(log(exposure))", data, "quasipoisson")
    peer_fit = sm.GLM(
        MODEL["quasipoisson"], X[:, :2], family=sm.families.Poisson(), offset=np.log(data["exposure"])
    ).fit(scale="X2")
    assert fit.estimates == pytest.approx(peer_fit.params, rel=1e-6)
    assert errors(fit) == pytest.approx(peer_fit.bse, rel=1e-4)  # R stops a step before statsmodels does


def test_what_is_wrong_is_named():
    data = ROWS | {"r": ROWS["w"]}
    schema = Schema.infer(data).with_roles(weight="w", replicate="r")
    with pytest.raises(DataError, match="how they were made"):
        Design.of(Table.from_frame(data, schema))
    bad = ROWS | {"w": [-1.0] + [None] + [2.0] * 10}
    with pytest.raises(DataError, match="'w': 2 rows"):
        Design.of(Table.from_frame(bad, Schema.infer(bad).with_roles(weight="w")))
    small = FPC | {"Nh": [3] * 8}
    roles = {"weight": "weight", "stratum": "stratid", "psu": "psuid", "fpc": "Nh"}
    with pytest.raises(DataError, match="fewer units"):
        Design.of(Table.from_frame(small, Schema.infer(small).with_roles(**roles)))
    with pytest.raises(DataError, match="two units in each stratum"):
        Design(np.ones(3)).replicated("BRR")


def test_the_schema_file_holds_the_design():
    schema = replace(
        Schema.infer(ROWS).with_roles(weight="w", psu="u", stratum="h"),
        sampling=Sampling("BRR", fay=0.3, calibrated=("x",), around="mean"),
    )
    again = Schema.from_yaml(schema.to_yaml())
    assert again.sampling == schema.sampling
    assert again.by_role(Role.PSU) == ["u"]
    with pytest.raises(SchemaError, match=r"calibrated names 'z'.*|replicates must be"):
        Schema.from_yaml(schema.to_yaml().replace("BRR\n", "half\n").replace("[x]", "[z]"))
