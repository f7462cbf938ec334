"""Models: offset, exposure, sigma, events, entry, strata and clusters are data, and may be about one person."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from dalenius.outputs import Desk

WHO = 5


@pytest.fixture
def desk():
    return Desk(unit="person")


@pytest.fixture
def frame(desk):
    rng = np.random.default_rng(1)
    n = 500
    return desk.pandas.DataFrame(
        {
            "person": np.arange(n),
            "age": rng.integers(18, 66, n),
            "ill": rng.integers(0, 2, n),
            "pay": np.exp(rng.normal(8, 0.5, n)).round(2),
            "visits": rng.poisson(6, n) + 1,
            "years": rng.uniform(1, 9, n).round(1),
            "town": rng.integers(0, 12, n),
        }
    )


def but(frame, one, rest):
    return np.where(frame.person == WHO, one, rest)


ONE = {
    "offset": lambda d, f: d.smf.glm("pay ~ age", f, offset=but(f, 0.0, f.pay)),
    "offset less what the regressor tells": lambda d, f: d.smf.glm(
        "pay ~ age", f, offset=but(f, 0.0, f.pay - 3 * f.age)
    ),
    "exposure": lambda d, f: d.smf.poisson("visits ~ age", f, exposure=but(f, 1.0, f.visits)),
    "exposure of next to nothing": lambda d, f: d.smf.poisson(
        "visits ~ age", f, exposure=np.where(f.visits < 4, 1e-20, but(f, 1.0, f.visits))
    ),
    "exposure of a negative binomial": lambda d, f: d.smf.glm(
        "visits ~ age", f, exposure=but(f, 1.0, f.visits), family=sm.families.NegativeBinomial(alpha=1.0)
    ),
    "sigma": lambda d, f: d.smf.gls("pay ~ age", f, sigma=but(f, 1e-9, 1.0)),
    "one event": lambda d, f: d.smf.phreg("pay ~ age", f, status=but(f, 1, 0)),
    "nine events": lambda d, f: d.smf.phreg("pay ~ age", f, status=(f.person < 9).astype(int)),
    "entry": lambda d, f: d.smf.phreg("pay ~ age", f, status=f.ill, entry=but(f, 0, f.pay - 1e-6)),
    "stratum": lambda d, f: d.smf.phreg("pay ~ age", f, status=f.ill, strata=but(f, 1, 0)),
    "residuals": lambda d, f: d.smf.ols("z ~ age", f.assign(z=but(f, f.pay, 3000 + 2 * f.age))),
    "group": lambda d, f: d.smf.mixedlm("pay ~ age", f, groups=but(f, 1, 0)),
    "random slope": lambda d, f: d.smf.mixedlm(
        "pay ~ age", f.assign(d=but(f, 1.0, 0.0)), groups=f.town, re_formula="~d"
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", ONE.values(), ids=ONE.keys())
def test_data_of_a_model_that_leave_one_person(desk, frame, model):
    model(desk, frame).fit()
    assert desk.last.status == "fail"


def test_a_cluster_of_one_person(desk, frame):
    desk.smf.ols("pay ~ age", frame).fit(cov_type="cluster", cov_kwds={"groups": but(frame, 1, 0)})
    assert "clusters" in desk.last.summary
    assert desk.last.status == "fail"


PAIRS = {
    "offset": (lambda d, f, x: d.smf.glm("pay ~ age", f, offset=x), 0.0, 500.0),
    "exposure": (lambda d, f, x: d.smf.poisson("visits ~ age", f, exposure=x), 1.0, 2.0),
    "sigma": (lambda d, f, x: d.smf.gls("pay ~ age", f, sigma=x), 1.0, 0.5),
    "status": (lambda d, f, x: d.smf.phreg("pay ~ age", f, status=np.where(x, 1 - f.ill, f.ill)), 0, 1),
    "entry": (lambda d, f, x: d.smf.phreg("pay ~ age", f, status=f.ill, entry=x), 0.0, 900.0),
}


@pytest.mark.parametrize(("model", "usual", "other"), PAIRS.values(), ids=PAIRS.keys())
def test_two_models_whose_data_differ_by_one_person(desk, frame, model, usual, other):
    for one in (usual, other):
        model(desk, frame, but(frame, one, usual)).fit()
    assert [out.status for out in desk.outputs] == ["pass", "fail"]
    assert "differencing" in desk.last.summary


@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_compared_is_for_a_person(desk, frame):
    desk.smf.logit("ill ~ age", frame, offset=but(frame, 0, (2 * frame.ill - 1) * 50.0)).fit(disp=0)
    desk.smf.gls("pay ~ age", frame, sigma=np.diag(but(frame, 1e-9, 1.0))).fit()
    assert [out.status for out in desk.outputs] == ["review", "review"]
    assert "offset" in desk.outputs[0].summary
    assert "covariances" in desk.outputs[1].summary


HONEST = {
    "exposure": lambda d, f: d.smf.poisson("visits ~ age", f, exposure=f.years).fit(disp=0),
    "offset": lambda d, f: d.smf.glm(
        "visits ~ age", f, offset=np.log(f.years), family=sm.families.Poisson()
    ).fit(),
    "change": lambda d, f: d.smf.glm("pay ~ age", f, offset=100 * f.years).fit(),
    "sigma": lambda d, f: d.smf.gls("pay ~ age", f, sigma=f.years).fit(),
    "cox": lambda d, f: d.smf.phreg("pay ~ age", f, status="ill").fit(),
    "cox, entry": lambda d, f: d.smf.phreg("pay ~ age", f, status="ill", entry=f.pay / 9).fit(),
    "cox, strata": lambda d, f: d.smf.phreg("pay ~ age", f, status="ill", strata=f.town).fit(),
    "clusters of towns": lambda d, f: d.smf.ols("pay ~ age", f).fit(
        cov_type="cluster", cov_kwds={"groups": f.town}
    ),
    "clusters of people": lambda d, f: d.smf.ols("pay ~ age", f).fit(
        cov_type="cluster", cov_kwds={"groups": np.asarray(f.person)}
    ),
    "names of clusters": lambda d, f: d.smf.ols("pay ~ age", f).fit(
        cov_type="cluster", cov_kwds={"groups": f.town.map(lambda x: f"town {x}")}
    ),
    "random effects": lambda d, f: d.smf.mixedlm("pay ~ age", f, groups=f.town).fit(),
    "an exact line": lambda d, f: d.smf.ols("z ~ age + ill", f.assign(z=3 * f.age + 5)).fit(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fit", HONEST.values(), ids=HONEST.keys())
def test_everyday_models_pass(desk, frame, fit):
    fit(desk, frame)
    assert desk.last.status == "pass", desk.last.summary


def test_people_with_several_rows_are_a_cluster_each(desk):
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(120), 4)
    data = {"person": person, "x": rng.normal(size=480), "y": rng.normal(size=480)}
    frame = desk.pandas.DataFrame(data)
    desk.smf.ols("y ~ x", frame).fit(cov_type="cluster", cov_kwds={"groups": person})
    assert desk.last.status == "pass", desk.last.summary
    desk.smf.ols("y ~ x", frame).fit(cov_type="cluster", cov_kwds={"groups": person // 4 * (person < 8)})
    assert "clusters" in desk.last.summary
