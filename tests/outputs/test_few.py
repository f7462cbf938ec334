"""Figures about few people although many are counted: found through the users' door, with the default policy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dalenius.outputs import Desk


def people(desk, n=500):
    rng = np.random.default_rng(1)
    return desk.pandas.DataFrame({
        "region": rng.choice(["N", "S", "W"], n), "sex": rng.choice(["f", "m"], n), "age": rng.integers(18, 80, n),
        "pay": rng.lognormal(8, 0.4, n).round(2), "w": rng.uniform(1, 3, n), "noise": rng.normal(size=n),
        "person": np.arange(n),
    })  # fmt: skip


@pytest.fixture
def desk(tmp_path):
    return Desk(unit="person", memory=tmp_path / "memory")


@pytest.fixture
def frame(desk):
    return people(desk)


def owned(desk, frame, times=600):
    """Sixty people, one of whom has nearly all rows."""
    rows = desk.pandas.concat(
        [frame[frame.person < 60], *[frame[frame.person == 3]] * times], ignore_index=True
    )
    rows["pay"] = np.where(rows.person == 3, 4321.0 + np.arange(len(rows)) / 1000, rows.pay)
    return rows


# Groups of a test.


@pytest.mark.parametrize(
    "test", ["ttest_ind", "mannwhitneyu", "ks_2samp", "ranksums", "levene", "f_oneway", "kruskal"]
)
def test_a_test_with_a_group_of_three(desk, frame, test):
    getattr(desk.stats, test)(frame[frame.person < 3].pay, frame[frame.person >= 3].pay)
    assert desk.last.record.checks["few_in_group"]["verdict"] == "fail"
    getattr(desk.stats, test)(frame[frame.sex == "f"].pay, frame[frame.sex == "m"].pay)
    assert desk.last.status == "pass", desk.last.summary


def test_rows_of_one_person_are_one_person_to_a_test(desk, frame):
    rows = desk.pandas.concat([frame[frame.person == 3]] * 50, ignore_index=True)
    desk.stats.ttest_1samp(rows.w + np.arange(50), popmean=2)
    assert desk.last.status == "fail"
    desk.stats.ttest_rel(rows.w + np.arange(50) % 7, rows.noise)
    assert desk.last.status == "fail"
    desk.stats.ttest_ind(a=frame[frame.person < 3].pay, b=frame[frame.person >= 3].pay)  # by name
    assert desk.last.status == "fail"
    desk.stats.ttest_1samp(frame.pay.to_numpy(), 3000)  # nobody knows whose the numbers are
    assert desk.last.record.checks["unit"]["verdict"] == "review"


def test_tests_of_tables(desk, frame):
    desk.stats.chi2_contingency([[200, 180], [2, 1]])
    assert desk.last.record.checks["few_in_group"]["verdict"] == "fail"
    desk.stats.fisher_exact([[2, 100], [50, 300]])  # tells the odds ratio of its cells
    assert desk.last.record.checks["min_threshold"]["verdict"] == "fail"
    desk.stats.chi2_contingency([[2, 100], [50, 300]])
    assert desk.last.record.checks["min_threshold"]["verdict"] == "fail"
    desk.stats.fisher_exact([[20, 100], [50, 300]])  # who was counted?
    assert desk.last.record.checks["table"]["verdict"] == "review"
    desk.stats.chi2_contingency(desk.pandas.crosstab(frame.region, frame.sex))
    assert desk.last.status == "pass"
    frame["g"] = np.where(frame.person < 16, "a", "b")
    frame["h"] = np.where((frame.person < 15) | (frame.person > 200), "u", "v")
    desk.stats.chi2_contingency(frame.groupby(["g", "h"]).size().unstack())
    assert desk.last.record.checks["min_threshold"]["verdict"] == "fail"
    frame["h"] = np.where((frame.person < 16) | (frame.person > 200), "u", "v")
    desk.stats.chi2_contingency(frame.groupby(["g", "h"]).size().unstack(fill_value=0))
    assert desk.last.record.checks["table"]["verdict"] == "review"  # its table has an empty cell


@pytest.mark.parametrize("name", ["describe", "tmax", "iqr"])
def test_other_figures_of_scipy_are_for_a_person(desk, frame, name):
    getattr(desk.stats, name)(frame.pay)
    assert desk.last.status == "review"
    assert desk.stats.norm.cdf(0.0) == 0.5
    assert len(desk.outputs) == 1


# Models and tests over the memory.


FITS = {
    "ols": lambda d, f: d.smf.ols("pay ~ age + w", f).fit(),
    "arrays": lambda d, f: d.sm.OLS(f.pay, d.sm.add_constant(f[["age", "w"]])).fit(),
    "glm": lambda d, f: d.smf.glm("pay ~ age + w", f).fit(),
    "logit": lambda d, f: d.smf.logit("hi ~ age + w", f.assign(hi=(f.pay > 3000) * 1)).fit(disp=0),
    "cox": lambda d, f: d.smf.phreg("pay ~ age + w", f).fit(),
    "corr": lambda d, f: f[["age", "pay"]].corr(),
    "series corr": lambda d, f: f.age.corr(f.pay),
    "pearsonr": lambda d, f: d.stats.pearsonr(f.age, f.pay),
    "t test": lambda d, f: d.stats.ttest_ind(f[f.sex == "f"].pay, f[f.sex == "m"].pay),
    "gini": lambda d, f: d.concentration(f.pay),
    "lorenz": lambda d, f: d.concentration(f.pay, "lorenz"),
    "survival": lambda d, f: d.survival(np.ceil(f.pay / 500), f.noise > 0, fix="merge_steps"),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS.keys())
def test_a_fit_with_and_without_one_person(desk, frame, fit, tmp_path):
    fit(desk, frame)
    assert desk.last.status == "pass", desk.last.summary
    fit(desk, frame)  # the same again tells nothing
    assert desk.last.status == "pass", desk.last.summary
    other = Desk(unit="person", memory=tmp_path / "memory", name="another")
    fit(other, other.data(frame[frame.person != 7]))
    assert other.last.status == "fail", other.last.summary
    assert other.last.record.checks["differencing"]["verdict"] == "fail"
    if "survival" in desk.last.record.command:
        return  # its steps are counts of few people more or less
    fit(desk, frame[frame.person < 400])  # a hundred people fewer tell about nobody
    assert desk.last.record.checks["differencing"]["verdict"] == "pass"


@pytest.mark.parametrize("column", ["pay", "age"])
def test_a_model_with_one_value_corrected(desk, frame, column):
    FITS["ols"](desk, frame)
    changed = frame.copy()
    changed.loc[5, column] += 7
    FITS["ols"](desk, changed)
    assert desk.last.status == "fail"
    renamed = changed.rename(columns={"pay": "y", "age": "x", "w": "z"})
    desk.smf.ols("y ~ x + z", renamed).fit()
    assert desk.last.status != "pass"


def test_other_columns_or_a_mean_beside_a_model_are_for_a_person(desk, frame):
    less = frame[frame.person != 7]
    FITS["ols"](desk, frame)
    desk.smf.ols("pay ~ age + w + noise", less).fit()
    assert desk.last.status == "review"
    less.pay.mean()
    assert desk.last.status == "review"
    assert "ols(pay ~ age + w)" in desk.last.record.conflicts[0]
    less.noise.mean()  # nothing that the model is about
    assert desk.last.status != "fail"
    assert desk.last.record.checks["differencing"]["verdict"] == "pass"


def test_models_of_parts_and_of_the_whole(desk, frame):
    women = frame[frame.sex == "f"]
    for part in (frame[frame.sex == "m"], women[women.person != women.person.iloc[0]]):
        FITS["ols"](desk, part)
        assert desk.last.status == "pass"
    FITS["ols"](desk, frame)
    assert desk.last.status == "fail"


@pytest.mark.slow
def test_steps_of_an_honest_study(desk, frame):
    for formula in (
        "pay ~ age",
        "pay ~ age + w",
        "pay ~ age + w + C(sex) + C(region) + noise",
        "np.log(pay) ~ age",
    ):
        desk.smf.ols(formula, frame).fit()
    desk.pandas.crosstab(frame.region, frame.sex)
    frame.groupby("region").pay.agg(["mean", "std", "median", "count"])
    frame.groupby("region").pay.median()
    frame[["age", "w", "pay"]].corr()
    desk.stats.f_oneway(*[frame[frame.region == r].pay for r in "NSW"])
    FITS["survival"](desk, frame)
    assert [o.summary for o in desk.outputs if o.status != "pass"] == []


# Tables in disguise, parameters of few.


def test_a_table_in_disguise(desk, frame):
    frame["g"] = np.where(frame.person < 5, "a", np.where(frame.person < 200, "b", "c"))
    frame["more"] = np.random.default_rng(3).normal(size=len(frame))
    for formula in ("pay ~ C(g) + noise", "pay ~ C(g) * C(sex) + noise + more", "pay ~ 0 + C(g) + noise"):
        desk.smf.ols(formula, frame).fit()
        assert desk.last.record.checks["saturated"]["verdict"] == "fail", formula
    frame["rises"] = frame.pay + 300 * frame.noise
    # This column explains something, but a parameter is that of five.
    desk.smf.ols("pay ~ C(g) + rises", frame).fit()
    assert desk.last.status == "review"
    assert "own_parameter" in desk.last.summary
    frame["many"] = np.where(frame.person < 50, "a", "b")
    desk.smf.ols("pay ~ C(many) * C(sex) + noise", frame).fit()  # a table whose cells may be shown
    assert desk.last.status == "pass"


def test_a_parameter_of_few_hidden_by_a_little_noise(desk, frame):
    frame["one"] = (frame.person == 7) + 1e-6 * frame.noise
    desk.smf.ols("pay ~ one", frame).fit()
    assert desk.last.status == "fail"
    frame["six"] = (frame.person < 6) + 1e-6 * frame.noise
    desk.smf.ols("pay ~ six + w", frame).fit()
    assert desk.last.status == "review"
    for look in (lambda: frame.one.corr(frame.pay), frame[["one", "pay"]].cov,
                 lambda: desk.stats.pearsonr(frame.one, frame.pay),
                 lambda: desk.smf.ols("one ~ w + age", frame).fit()):  # fmt: skip
        look()
        assert desk.last.status != "pass", desk.last.record.command
    frame.loc[3, "w"] = 10.0
    desk.smf.ols("pay ~ " + " + ".join(f"I(w ** {k})" for k in range(1, 9)), frame).fit()
    assert desk.last.status == "fail"


# One person's rows.


def test_a_quantile_among_the_rows_of_one_person(desk, frame):
    rows = owned(desk, frame)
    for look in (
        rows.pay.median,
        lambda: rows.pay.quantile([0.25, 0.75]),
        rows.assign(g=1).groupby("g").pay.median,
    ):
        look()
        assert desk.last.record.checks["owners"]["verdict"] == "fail"
    rows.w.value_counts(bins=1)
    desk.table(rows, by=[], value="pay", statistic="median")
    assert desk.last.record.checks["owners"]["verdict"] == "fail"
    panel = desk.pandas.concat([frame] * 5, ignore_index=True)
    panel.groupby("region").pay.quantile([0.25, 0.5, 0.75])
    assert desk.last.status == "pass"


def test_a_value_that_many_have_is_nobodys(desk, frame):
    rows = owned(desk, frame)
    rows["kids"] = np.where(rows.person < 30, 2, 3)
    rows.kids.median()
    assert desk.last.record.checks["owners"]["verdict"] == "pass"


def test_a_count_of_one_persons_rows(desk, frame):
    owned(desk, frame, 9000).assign(g=1).g.value_counts()
    assert desk.last.record.checks["many_rows"]["verdict"] == "fail"
    owned(desk, frame, 9000).assign(g=1).groupby("g").pay.count()
    assert desk.last.record.checks["many_rows"]["verdict"] == "fail"
    desk.concentration(desk.pandas.concat([frame[frame.person < 2]] * 30, ignore_index=True).pay)
    assert desk.last.status == "fail"


# Spread.


@pytest.mark.parametrize("jitter", [0.0, 1e-3])
@pytest.mark.parametrize("few", [1, 2, 6])
def test_a_column_that_is_constant_but_for_few(desk, frame, jitter, few):
    frame["c"] = np.where(frame.person < few, frame.pay, 2000 + jitter * frame.noise)
    for name in ("std", "var", "skew", "kurt", "sem"):
        getattr(frame.c, name)()
        assert desk.last.record.checks["deviation"]["verdict"] == "fail", name
    frame.groupby("sex").c.agg(["std", "mean"])
    assert desk.last.record.checks["deviation"]["verdict"] == "fail"
    frame["c"] += 1e6
    frame.c.mean()
    assert desk.last.record.checks["few_others"]["verdict"] == "fail"


def test_a_constant_column_with_noise_is_constant(desk, frame):
    frame["c"] = 4000 + 1e-9 * frame.noise
    for name in ("mean", "median"):
        getattr(frame.c, name)()
        assert desk.last.record.checks["all_same"]["verdict"] == "fail"
    frame["year"] = 2000 + frame.age % 3
    frame.year.mean()
    assert desk.last.status == "pass"


def test_shares_of_the_largest(desk, frame):
    assert desk.concentration(frame.pay, "top n share", top=1).status == "fail"
    assert desk.concentration(frame.pay, "top n share", top=4).status == "pass"
    assert desk.concentration(frame.pay, "top n share", top=4).status == "pass"
    assert desk.concentration(frame.pay, "top n share", top=5).status == "fail"


def test_weights_are_part_of_a_fit(desk, frame):
    for weight in (1.0, 1e-9, 0.5):
        desk.smf.wls("pay ~ w", frame, weights=np.where(frame.person == 7, weight, 1.0)).fit()
        assert desk.last.status == ("pass" if weight == 1 else "fail")
    desk.smf.ols("pay ~ w", frame).fit()
    assert desk.last.status == "pass"
    desk.sm.OLS.from_formula("pay ~ w", frame[frame.person != 7]).fit()
    assert desk.last.status == "fail"


def test_units_that_were_given_other_names(desk, frame):
    frame["person"] = frame.person.astype(str)  # the same names
    frame.pay.mean()
    assert desk.last.status == "pass"
    less = frame[frame.person != "7"].copy()
    less["person"] = [f"x{i}" for i in range(len(less))]
    for look in (less.pay.mean, less.groupby("sex").pay.mean, lambda: desk.smf.ols("pay ~ w", less).fit(),
                 lambda: desk.stats.ttest_1samp(less[less.sex == "f"].pay, 3000), less.w.std):  # fmt: skip
        look()
        assert desk.last.record.checks["unit"]["verdict"] == "review"
    less.assign(person=range(len(less))).pay.mean()
    assert desk.last.status != "pass"


def test_what_cannot_be_the_figure_it_is_called(desk, frame):
    assert desk.declare("gini", 73190.5, n=5000).status == "review"
    assert desk.declare("correlation", 73190.5, dof=500, rank=2, patterns=3).status == "review"
    plain = desk.declare("correlation", -0.2, dof=500, rank=2, patterns=3)
    assert {n for n, c in plain.record.checks.items() if c["verdict"] != "pass"} == {"figure"}
    frame.loc[3, "pay"] = 1e9
    assert desk.concentration(frame.pay, "herfindahl").status == "fail"  # its root is the share of one


@pytest.mark.parametrize("away", [1, 3, 9, 12])
def test_totals_that_are_the_same_for_all_but_few(away):
    """What everybody lacks to a round sum was added beneath: the mean tells those of whom it was left out."""
    rng = np.random.default_rng(away)
    first = rng.normal(50, 20, 40).round(2)
    rest = 100 - first
    rest[:away] += rng.normal(0, 30, away).round(2)
    rows = pd.DataFrame({"person": [*range(40), *range(40)], "v": [*first, *rest], "g": "x"}).sample(
        frac=1, random_state=1
    )
    desk = Desk(unit="person")
    out = desk.table(rows, "g", "v", "mean")
    assert (out.record.checks["few_others"]["verdict"] == "fail") == (away < 10)
