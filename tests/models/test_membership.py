"""Who a model was fitted on: attacks find it where it shows, and nothing where it does not."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dalenius.core.errors import DataError, OptionError
from dalenius.data import Schema, Table
from dalenius.models import (
    ModelCase,
    attribute_attack,
    check_model,
    lira,
    loss_attack,
    refit,
    sacro,
    shadow_attack,
)
from dalenius.models.membership import refits as refits_file
from tests.models.conftest import NAMES, case, fit, people

ATTACKS = [loss_attack, lira, sacro, shadow_attack]


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_memorising_tree_shows_its_people(attack):
    found = attack(case(DecisionTreeClassifier(random_state=1), 400))
    assert found.value > 0.65
    assert found.interval.low > 0.5
    assert found.yardsticks == {"coin": 0.5}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_model_of_strangers_reads_a_coin(attack):
    """Fitted on a third group of people, so that the two that are compared are both strangers to it."""
    model = fit(DecisionTreeClassifier(min_samples_leaf=3, random_state=1), people(400, 7))
    found = attack(ModelCase.of(model, people(800, 8), people(800, 9), target="y"))
    assert abs(found.value - 0.5) < 0.1  # about five standard errors
    assert found.interval.low - 0.05 < 0.5 < found.interval.high + 0.05


def test_the_ratio_finds_more_than_the_loss():
    made = case(RandomForestClassifier(20, min_samples_leaf=3, random_state=1), 400)
    assert lira(made).value > loss_attack(made).value - 0.02
    assert lira(made, 8, seed=3).value == lira(made, 8, seed=3).value


def test_the_figure_of_sacro_ml_is_given_by_its_own_rule_beside_ours():
    """As in sacroml.attacks.likelihood_attack: log-odds up to 37, each record's own law, offline by default."""
    made = case(RandomForestClassifier(30, random_state=1), 300)
    held, n = refit(made, 8), made.train.rows
    assert np.abs(held.bare).max() > 36
    assert np.abs(held.scores).max() < 10
    assert (held.observed[:n] == made.scores(made.train)).all(), "ours stays kept from the far ends"
    inside, outside = (np.where(held.included == side, held.bare, np.nan) for side in (True, False))
    inner, outer = ((np.nanmean(x, axis=0), np.nanstd(x, axis=0) + 1e-16) for x in (inside, outside))
    seen, who = held.observed_bare, np.arange(2 * n) < n
    theirs = {
        "offline": norm.cdf(seen, *outer),
        "online-carlini": norm.logpdf(seen, *inner) - norm.logpdf(seen, *outer),
    }
    for mode, scores in theirs.items():
        found = sacro(made, mode=mode, refits=held)
        assert found.value == pytest.approx(roc_auc_score(who, scores), abs=1e-6)
        assert f"SACRO-ML's likelihood ratio ({mode})" in found.sentence
    told = check_model(made, runs=8).results
    assert told["model-membership-sacro"].value == sacro(made, refits=held).value
    assert told["model-membership-lira"].value == lira(made, refits=held).value
    assert told["model-membership"].value == max(
        told[f"model-membership-{x}"].value for x in ("loss", "shadow", "lira", "sacro")
    )
    with pytest.raises(OptionError, match="'offline', 'online-carlini'"):
        sacro(made, mode="online", refits=held)


def test_figures_of_a_known_curve():
    found = loss_attack(case(DecisionTreeClassifier(random_state=1), 400))
    assert found.values["people"] == 400
    assert 0 <= found.values["found at 1 % false accusations"] <= 1
    assert found.records.height == 400
    assert "records" not in found.to_dict()


def test_units_and_not_rows_are_counted():
    def owned(seed):
        data = people(300, seed)
        made = {"who": np.repeat(np.arange(100), 3) + 1000 * seed, **data}
        return Table.from_frame(made, Schema.infer(made).with_roles(entity="who"))

    train, holdout = owned(1), owned(2)
    model = fit(DecisionTreeClassifier(random_state=1), people(300, 1))
    made = ModelCase.of(model, train, holdout, target="y")
    assert made.features == tuple(NAMES)
    assert loss_attack(made).values["people"] == 100
    assert lira(made, 4).values["people"] == 100
    chosen = refit(made, 4).included
    assert all(len(set(chosen[0][i : i + 3])) == 1 for i in range(0, 600, 3))  # nobody is half in
    with pytest.raises(
        DataError, match="column 'who': 100 persons of the holdout are in the training file too"
    ):
        check_model(ModelCase.of(model, train, train, target="y"))


def test_everybody_is_in_some_refits_and_out_of_others():
    for others in (100, 25, 400):
        train = people(100, 1)
        model = fit(LogisticRegression(), train)
        made = refit(ModelCase.of(model, train, people(others, 2), target="y"), 16)
        inside = made.included.sum(axis=0)
        assert inside.min() >= 2
        assert inside.max() <= 14
        assert abs(made.included.sum(axis=1).mean() - 100) <= 0.25 * 100


def test_killed_refits_go_on_to_the_same_bytes(tmp_path, monkeypatch):
    made = case(DecisionTreeClassifier(random_state=1), 100)
    whole = json.dumps(lira(made, 6, keep=tmp_path / "a").to_dict())
    real, calls = refits_file._scored, []

    def dies(*given):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(refits_file, "_scored", dies)
    with pytest.raises(KeyboardInterrupt):
        lira(made, 6, keep=tmp_path / "b")
    monkeypatch.setattr(refits_file, "_scored", real)
    assert json.dumps(lira(made, 6, keep=tmp_path / "b").to_dict()) == whole
    kept = [sorted((tmp_path / x).iterdir()) for x in "ab"]
    assert [p.name for p in kept[0]] == [p.name for p in kept[1]]
    assert [p.read_bytes() for p in kept[0]] == [p.read_bytes() for p in kept[1]]
    other = case(DecisionTreeClassifier(random_state=1), 100, seed=2)
    assert (
        lira(other, 6, keep=tmp_path / "a").value == lira(other, 6).value
    )  # kept refits of others are not taken


def test_without_refits_nothing_is_trusted(tmp_path):
    data = people(200, 3)
    known = fit(LogisticRegression(), data)
    lines = "".join(f"{name},{value}\n" for name, value in zip(NAMES, known.coef_[0], strict=True))
    (tmp_path / "fit.csv").write_text(f"term,coefficient\nconst,{known.intercept_[0]}\n{lines}")
    found = check_model(ModelCase.of(tmp_path / "fit.csv", data, people(200, 4), target="y"))
    assert not found.results["model-membership"].trusted
    assert "not trusted" in found.results["model-membership"].sentence
    with pytest.raises(OptionError, match="cannot be fitted again"):
        lira(found.case)


def test_plain_coefficients_are_fitted_again(tmp_path):
    import statsmodels.api as sm

    data, others = people(200, 3), people(200, 4)
    design = sm.add_constant(np.column_stack([data[name] for name in NAMES]))
    found = sm.Logit((data["y"] == "yes") * 1.0, design).fit(disp=0).params
    lines = "".join(f"{n},{v:.5g}\n" for n, v in zip(["const", *NAMES], found, strict=True))
    (tmp_path / "fit.csv").write_text(f"term,coefficient\n{lines}")
    case = ModelCase.of(tmp_path / "fit.csv", data, others, target="y")
    result = check_model(case, runs=8).results["model-membership"]
    assert result.trusted
    known = fit(LogisticRegression(C=1e6, max_iter=5000), data)  # the same fit as a model
    same = lira(ModelCase.of(known, data, others, target="y"), 8)
    assert lira(case, 8).value == pytest.approx(same.value, abs=0.005)


def test_a_forged_holdout_is_not_trusted():
    train = people(300, 1)
    model = fit(DecisionTreeClassifier(random_state=1), train)
    half = {name: np.concatenate([train[name][:150], people(150, 5)[name]]) for name in train}
    found = check_model(ModelCase.of(model, train, half, target="y"), attacks=("loss", "attribute"))
    assert not found.results["model-membership"].trusted
    assert not found.results["model-attribute"].trusted
    assert "no strangers" in found.remarks[-1]


def test_without_a_holdout_only_the_form_is_told():
    data = people(100, 1)
    found = check_model(ModelCase.of(fit(LogisticRegression(), data), data, target="y"))
    assert "model-membership" not in found.results
    assert "not trusted" in found.remarks[-1]
    with pytest.raises(OptionError, match="give a holdout"):
        loss_attack(found.case)


def test_models_of_numbers_are_attacked_too():
    rng = np.random.default_rng(1)
    train, others = ({"a": rng.normal(size=300), "y": rng.normal(size=300)} for _ in range(2))
    for model, shown in ((DecisionTreeRegressor(random_state=1), True), (LinearRegression(), False)):
        made = ModelCase.of(model.fit(train["a"][:, None], train["y"]), train, others, target="y")
        found = [attack(made).value for attack in (loss_attack, lira)]
        assert (min(found) > 0.9) if shown else (max(found) < 0.62)


def test_attributes_are_read_off_a_memorising_tree_only():
    rng = np.random.default_rng(2)

    def draw():
        return {"a": rng.integers(0, 4, 1500), "b": rng.normal(size=1500), "y": rng.integers(0, 2, 1500)}

    train, others = draw(), draw()
    x = np.column_stack([train["a"], train["b"]])
    tree, coarse = (
        DecisionTreeClassifier(min_samples_leaf=leaf, random_state=1).fit(x, train["y"]) for leaf in (1, 200)
    )
    found = [
        attribute_attack(ModelCase.of(m, train, others, target="y"), columns=("a",)) for m in (tree, coarse)
    ]
    assert found[0].interval.low > 0
    assert abs(found[1].value) < 8
    assert found[0].table["outsiders"][0] is not None
