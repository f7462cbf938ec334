"""Conditional models of one column: parameters come back, weights count, trees split as they should."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius.data import Column, Kind, Schema, Table
from dalenius.data.replicates import bootstrap_weights
from dalenius.data.schema import Role
from dalenius.synth import load_model, make_synthesizer, save_model
from dalenius.synth.sequential import CartSynthesizer, ParametricSynthesizer, Sequential
from dalenius.synth.sequential.fitted import Tuning
from dalenius.synth.sequential.linear import Line
from dalenius.synth.sequential.weights import finite_population, kish_effect, read_weights
from dalenius.utility.inference import combine, fit_model, fit_synthetic

N = 8000
SCHEMA = Schema(
    (
        Column("x", Kind.CONTINUOUS), Column("g", Kind.CATEGORICAL, levels=("a", "b")), Column("y", Kind.CONTINUOUS),
        Column("b", Kind.CATEGORICAL, levels=("no", "yes")), Column("c", Kind.CATEGORICAL, levels=("u", "v", "w")),
        Column("o", Kind.ORDERED, levels=("low", "mid", "high")),
    )
)  # fmt: skip
MODELS = {"y": "norm", "b": "logreg", "c": "polyreg", "o": "polr"}


def simulated(n: int = N, seed: int = 0, schema: Schema = SCHEMA) -> Table:
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n), rng.integers(0, 2, n)
    y = 1 + 0.5 * x - 0.7 * g + rng.normal(size=n)
    b = rng.random(n) < 1 / (1 + np.exp(0.3 - 0.8 * x - 0.5 * g))
    score = np.column_stack([np.zeros(n), 0.4 + 0.9 * x, -0.2 - 0.6 * x + g])
    c = (score + rng.gumbel(size=(n, 3))).argmax(axis=1)
    o = np.digitize(0.8 * x + rng.logistic(size=n), [-1.0, 1.0])
    words = [
        np.array(levels) for levels in (("a", "b"), ("no", "yes"), ("u", "v", "w"), ("low", "mid", "high"))
    ]
    columns = {
        "x": x,
        "g": words[0][g],
        "y": y,
        "b": words[1][b.astype(int)],
        "c": words[2][c],
        "o": words[3][o],
    }
    return Table.from_frame({name: columns[name] for name in schema.names}, schema)


@pytest.mark.parametrize("proper", [False, True])
def test_regressions_give_their_parameters_back(proper):
    table = simulated()
    predictors = {name: ["x", "g"] for name in MODELS} | {"o": ["x"]}
    options = ParametricSynthesizer(methods=MODELS, predictors=predictors, smoothing="none", proper=proper)
    drawn = options.fit(table, seed=1).sample(seed=2)
    for formula, family in (
        ("y ~ x + g", "gaussian"), ("b ~ x + g", "binomial"), ("c ~ x + g", "multinomial"), ("o ~ x", "ordinal"),
    ):  # fmt: skip
        known, found = fit_model(formula, table, family), fit_model(formula, drawn, family)
        gap = (found.estimates - known.estimates) / np.sqrt(known.variances)
        assert np.abs(gap).max() < 4.5, (
            formula
        )  # two noises of one standard error each, and one more when proper


NUMBER_METHODS = [
    "norm",
    "normrank",
    "pmm",
    "lognorm",
    "sqrtnorm",
    "cubertnorm",
    "cart",
    "ctree",
    "rf",
    "bag",
]


@pytest.mark.parametrize("method", NUMBER_METHODS)
def test_numbers_keep_their_regression(method):
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, 3000)
    table = Table.from_frame({"x": x.round(3), "y": (50 + 4 * x + rng.normal(size=3000)).round(3)})
    drawn = Sequential.fit(CartSynthesizer(methods={"y": method}, smoothing="none"), table, seed=1).sample(
        seed=2
    )
    found = fit_model("y ~ x", drawn)
    assert found.estimates == pytest.approx([50, 4], rel=0.05)
    y = drawn["y"].floats()
    assert y.min() >= table["y"].floats().min()
    assert np.array_equal(np.round(y, 3), y)


def test_a_saturated_cell_keeps_every_share():
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 2, (2, 4000))
    c = a ^ b  # no tree of depth one sees it, no main-effects regression at all
    words = np.array(["no", "yes"])
    table = Table.from_frame({"a": words[a], "b": words[b], "c": words[c]})
    out = CartSynthesizer(methods={"c": "saturated"}).fit(table, seed=1).sample(seed=2).to_frame()
    assert all((x != y) == (z == "yes") for x, y, z in zip(out["a"], out["b"], out["c"], strict=True))


def test_spikes_and_special_codes_of_a_regression_are_drawn_first():
    rng = np.random.default_rng(5)
    x = rng.normal(size=5000)
    pay = np.where(rng.random(5000) < 1 / (1 + np.exp(-x)), np.round(rng.lognormal(7 + x / 2, 0.3)), 0)
    pay[rng.random(5000) < 0.1] = -8
    schema = Schema((Column("x", Kind.CONTINUOUS), Column("pay", Kind.INTEGER, not_applicable=(-8,))))
    out = (
        ParametricSynthesizer()
        .fit(Table.from_frame({"x": x, "pay": pay.astype(int)}, schema), seed=1)
        .sample(seed=2)
    )
    drawn = np.array(out.to_frame()["pay"])
    assert np.mean(drawn == -8) == pytest.approx(np.mean(pay == -8), abs=0.02)
    assert np.mean(drawn == 0) == pytest.approx(np.mean(pay == 0), abs=0.03)
    zero = np.array(out.to_frame()["x"])[drawn == 0]
    assert zero.mean() == pytest.approx(x[pay == 0].mean(), abs=0.1)


def test_weighted_least_squares_by_hand():
    x = np.column_stack([np.ones(4), [1.0, 2, 3, 4]])
    line = Line.fit(
        x, np.array([2.0, 3, 5, 4]), np.array([1.0, 2, 3, 4]), Tuning(ridge=0.0), np.random.default_rng(0)
    )
    assert line.beta == pytest.approx([2.1, 0.6], rel=1e-8)  # Oganian et al. 2024
    assert line.sigma**2 == pytest.approx(0.53, rel=1e-8)


def test_weights_are_checked_and_their_draws_have_the_right_mean():
    w = np.random.default_rng(1).uniform(1, 9, 400)
    assert np.mean([bootstrap_weights(w, None, None, s).sum() for s in range(200)]) == pytest.approx(
        w.sum(), rel=0.02
    )
    counts = np.mean([finite_population(w, w.sum(), s) for s in range(200)], axis=0)
    assert np.corrcoef(counts, w)[0, 1] > 0.9
    assert kish_effect(np.ones(5)) == 1.0
    with pytest.raises(Exception, match="2 rows"):
        read_weights(Table.from_frame({"w": [1.0, -1.5, None, 2.5]})["w"])


def informative(seed: int) -> tuple[Table, float]:
    """A sample in which large units are drawn more often (Oganian et al. 2024), and the population's mean."""
    rng = np.random.default_rng(seed)
    m = rng.uniform(100, 900, 40_000)
    chosen = rng.choice(len(m), 1000, p=m / m.sum())
    y = rng.normal(0.8 * m, 15)
    weight = Column("w", Kind.CONTINUOUS, roles=(Role.WEIGHT,))
    schema = Schema((Column("m", Kind.CONTINUOUS), Column("y", Kind.CONTINUOUS), weight))
    return Table.from_frame({"m": m[chosen], "y": y[chosen], "w": m.sum() / m[chosen] / 1000}, schema), float(
        y.mean()
    )


@pytest.mark.slow
def test_pseudo_likelihood_is_unbiased_and_covers_where_ignoring_weights_is_not():
    hits: dict[str, list[bool]] = {"ignore": [], "pseudo": []}
    gaps: dict[str, list[float]] = {"ignore": [], "pseudo": []}
    for seed in range(80):
        table, truth = informative(seed)
        for weighting in ("ignore", "pseudo"):
            options = ParametricSynthesizer(
                methods={"y": "norm"},
                smoothing="none",
                weighting=weighting,
                proper=weighting == "pseudo",
                threads=1,
            )
            made = options.make(table, 8, rows=5000 if weighting == "pseudo" else 1000, seed=seed)
            assert made.tables[0].names == ["m", "y"]
            values = np.array([t["y"].data for t in made])
            rule = "pseudo" if weighting == "pseudo" else "complete"
            k = values.shape[1]
            done = combine(values.mean(axis=1), values.var(axis=1) / k, n=1000, k=k, rule=rule)
            low, high = done.interval()
            hits[weighting].append(bool(low[0] <= truth <= high[0]))
            gaps[weighting].append(float(done.estimates[0] - truth))
    assert np.mean(gaps["ignore"]) == pytest.approx(0.8 * 106.7, rel=0.1)
    assert abs(np.mean(gaps["pseudo"])) < 3
    assert np.mean(hits["ignore"]) == 0
    assert np.mean(hits["pseudo"]) >= 0.89


def test_weighted_trees_do_not_depend_on_the_scale_of_the_weights():
    table, truth = informative(1)
    w = table["w"]
    twice = table.with_vectors(type(w)(w.column, w.data * 7))
    drawn = [CartSynthesizer(weighting="pseudo").fit(t, seed=1).sample(seed=2) for t in (table, twice)]
    assert np.allclose(drawn[0]["y"].data, drawn[1]["y"].data)
    assert drawn[0]["y"].data.mean() == pytest.approx(truth, rel=0.05)


def test_equal_weights_give_the_unweighted_synthesis_draw_for_draw():
    table, _ = informative(1)
    w = table["w"]
    equal = table.with_vectors(type(w)(w.column, np.full_like(w.data, 12.5)))
    for kind in (CartSynthesizer, ParametricSynthesizer):
        model = kind(weighting="pseudo").fit(equal, seed=1)
        plain = kind().fit(equal.drop(["w"]), seed=1)
        assert np.array_equal(model.sample(seed=2)["y"].data, plain.sample(seed=2)["y"].data)
        assert any("all equal" in note for note in model.notes)
        assert model.expansion == pytest.approx(12.5)


def test_weights_and_separation_are_remarked_upon(tmp_path):
    table, _ = informative(1)
    assert (
        "design effect 1." in CartSynthesizer(weighting="pseudo").fit(table, seed=1, prepare=False).notes[0]
    )
    w = table["w"]
    steep = np.where(np.arange(len(w.data)) == 0, 100 * w.data.max(), w.data)
    notes = (
        CartSynthesizer(weighting="pseudo")
        .fit(table.with_vectors(type(w)(w.column, steep)), seed=1, prepare=False)
        .notes
    )
    assert "50 times the median" in notes[1]
    rng = np.random.default_rng(2)
    g = rng.choice(["a", "b"], 500)
    answer = np.where(g == "a", "no", rng.choice(["no", "yes"], 500))
    frame = Table.from_frame({"g": g, "w": rng.uniform(1, 3, 500), "answer": answer})
    model = ParametricSynthesizer(weights="w", weighting="pseudo").fit(frame, seed=1)
    assert "separation" in model.notes[-1]
    assert "'answer'" in model.notes[-1]
    out = model.sample(seed=2).to_frame()
    assert np.mean(np.array(out["answer"])[np.array(out["g"]) == "a"] == "yes") < 0.01
    save_model(model, tmp_path / "m")
    assert load_model(tmp_path / "m").notes == model.notes


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["y ~ x + g", "b ~ x + g"])
def test_combined_intervals_cover_at_their_level(formula):
    schema = Schema(tuple(SCHEMA[name] for name in ("x", "g", "y", "b")))
    truth = (1, 0.5, -0.7) if formula.startswith("y") else (-0.3, 0.8, 0.5)
    response = formula[0]
    hits = []
    for seed in range(500):
        table = simulated(400, seed, schema).select(["x", "g", response])
        chosen = {"g": "logreg", response: MODELS[response]}
        options = ParametricSynthesizer(methods=chosen, smoothing="none", threads=1)
        made = options.make(table, 5, seed=seed)
        family = "gaussian" if response == "y" else "binomial"
        low, high = fit_synthetic(formula, made, family).combined(population=True).interval()
        hits.append((low <= truth) & (truth <= high))
    assert 0.93 <= np.mean(hits) <= 0.97


def test_a_predictor_that_comes_later_is_remarked_upon():
    data = {"a": ["x", "y"] * 60, "b": ["u", "v"] * 60, "c": [1, 2, 3, 4] * 30}
    late = make_synthesizer("cart", predictors={"a": ["b"], "c": ["a", "b"]}).fit(data, seed=1)
    assert [note for note in late.notes if "drawn later" in note] == [
        "predictors of 'a': 'b' is drawn later and not used; name it earlier in visit"
    ]
    early = make_synthesizer("cart", predictors={"a": ["b"]}, visit=["b", "a"]).fit(data, seed=1)
    assert not [note for note in early.notes if "drawn later" in note]


def test_parameters_can_be_printed():
    rng = np.random.default_rng(1)
    x = rng.normal(10, 2, 500)
    data = {
        "x": x, "g": rng.choice(["a", "b"], 500), "y": 3 * x + rng.normal(0, 1, 500),
        "h": np.where(x + rng.normal(0, 1, 500) > 10, "yes", "no"),
    }  # fmt: skip
    model = make_synthesizer("parametric", methods={"y": "norm", "h": "logreg"}).fit(data, seed=1)
    table = model.parameters()
    slope = table.filter(column="y", part="value").filter(pl.col("term").str.starts_with("(x - "))["value"][0]
    assert slope == pytest.approx(3 * x.std(), rel=0.05)
    rest = table.filter(column="y", term="residual standard deviation")["value"][0]
    assert rest == pytest.approx(1, rel=0.15)
    logit = table.filter(column="h", part="value")
    assert logit["class"].unique().to_list() == ["yes"]
    assert "g = b" in logit["term"].to_list() or "g = a" in logit["term"].to_list()
    trees = make_synthesizer("cart").fit(data, seed=1).parameters()
    assert set(trees["term"]) == {"no coefficients"}
