"""Copula, network and adversarial forest: what each must keep, what it must lose, and what must not come out."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DaleniusError
from dalenius.data import Column, Kind, Schema, Table, examples
from dalenius.synth import make_synthesizer
from dalenius.synth.copula import latent_correlations, middles
from dalenius.synth.joint.bayes import Network, freedom, information

RNG = np.random.default_rng


def drawn(method: str, data, rows: int = 4000, **options) -> pl.DataFrame:
    model = make_synthesizer(method, **options).fit(Table.from_frame(data), seed=1)
    return model.sample(rows, seed=2).to_frame("polars")


def test_middles_are_those_of_the_normal_law():
    times = np.array([1587, 6826, 1587])  # cut at one standard deviation
    height = np.exp(-0.5) / np.sqrt(2 * np.pi)
    assert middles(times) == pytest.approx([-height / 0.1587, 0, height / 0.1587], abs=2e-3)
    assert middles(times) @ times == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("rho", [-0.7, 0.0, 0.4, 0.8])
def test_a_correlation_survives_being_cut_into_pieces(rho):
    normals = RNG(1).multivariate_normal([0, 0], [[1, rho], [rho, 1]], 40_000)
    codes = [np.digitize(normals[:, 0], [-0.5, 0.2, 1.0]), np.digitize(normals[:, 1], np.linspace(-2, 2, 9))]
    scores = np.array([middles(np.bincount(c))[c] for c in codes])
    assert latent_correlations(scores, np.ones_like(scores))[0, 1] == pytest.approx(rho, abs=0.03)
    cut = np.corrcoef(*scores)[0, 1]
    assert abs(cut) <= abs(rho) + 0.01  # what a plain correlation of the pieces would say


def test_copula_keeps_margins_gaps_and_ups_and_downs():
    age = RNG(1).integers(20, 80, 3000)
    pay = np.where(RNG(2).random(3000) < 0.1, np.nan, 100 * age + RNG(3).normal(0, 500, 3000).round())
    about = age + RNG(4).normal(0, 8, 3000)  # what follows from a column is computed, not drawn
    job = np.where(about < 40, "b", np.where(about < 60, "c", "a"))  # an order, but not that of the letters
    made = drawn("copula", {"age": age, "pay": pay, "job": job})
    assert made["age"].mean() == pytest.approx(age.mean(), abs=1.5)
    assert made["pay"].is_nan().mean() + made["pay"].is_null().mean() == pytest.approx(0.1, abs=0.03)
    kept = made.filter(pl.col("pay").is_not_nan())
    assert np.corrcoef(kept["age"], kept["pay"])[0, 1] > 0.9
    means = {job: made.filter(pl.col("job") == job)["age"].mean() for job in "abc"}
    assert means["b"] < means["c"] < means["a"]


def test_copula_loses_curves_and_forest_keeps_them():
    x = RNG(1).normal(0, 1, 3000).round(2)
    curve = {"x": x, "y": (x**2 + RNG(2).normal(0, 0.1, 3000)).round(2)}
    share = {
        method: np.corrcoef(made["x"] ** 2, made["y"])[0, 1]
        for method in ("copula", "arf")
        for made in [drawn(method, curve)]
    }
    assert share["copula"] < 0.3
    assert share["arf"] > 0.9


def test_information_is_that_of_the_formula_and_freedom_counts_what_occurs():
    table = np.array([[30.0, 10.0], [20.0, 40.0], [0.0, 0.0]])
    p = table / table.sum()
    by_hand = sum(
        p[i, j] * np.log(p[i, j] / (p[i].sum() * p[:, j].sum())) for i in range(2) for j in range(2)
    )
    assert information(table) / table.sum() == pytest.approx(by_hand)
    assert freedom(table) == 1


def test_network_draws_the_law_of_its_tables():
    chances = [np.array([[0.2, 0.8]]), np.array([[0.9, 0.1, 0.0], [0.1, 0.3, 0.6]])]
    network = Network((2, 3), (0, 1), ((), (0,)), chances)
    expected = chances[0].T * chances[1]
    for even, within in ((False, 0.01), (True, 0.0002)):
        first, second = network.sample(40_000, RNG(1), even=even)
        counted = np.zeros((2, 3))
        np.add.at(counted, (first, second), 1 / 40_000)
        assert np.abs(counted - expected).max() < within
    assert counted[0, 2] == 0


def test_two_parents_are_found_where_one_says_nothing():
    a, b = RNG(1).integers(0, 2, (2, 4000))
    data = {"a": a.astype(str), "b": b.astype(str), "both": np.where(a == b, "same", "other")}
    model = make_synthesizer("network").fit(Table.from_frame(data))
    assert len(model.edges) >= 2
    made = model.sample(2000, seed=1).to_frame("polars")
    agree = (made["a"] == made["b"]) == (made["both"] == "same")
    assert agree.mean() > 0.99
    alone = drawn("network", data, parents=1)
    assert abs(((alone["a"] == alone["b"]) == (alone["both"] == "same")).mean() - 0.5) < 0.05


def test_named_edges_are_the_network():
    people = examples.survey(500, seed=1).select("sex", "age", "region", "marital")
    edges = [("age", "marital"), ("sex", "marital")]
    model = make_synthesizer("network", edges=edges).fit(Table.from_frame(people))
    assert sorted(model.edges) == sorted(edges)
    for wrong, said in (
        ([("sex", "age"), ("age", "sex")], "go round in a circle"),
        ([("sex", "sex")], "pairs of different columns"),
        ([("sex", "age", "region")], "pairs of different columns"),
    ):
        with pytest.raises(DaleniusError, match=said):
            make_synthesizer("network", edges=wrong)
    with pytest.raises(DaleniusError, match="no column 'shoe'"):
        make_synthesizer("network", edges=[("shoe", "age")]).fit(Table.from_frame(people))
    with pytest.raises(DaleniusError, match="not kept by a network"):
        make_synthesizer("network", structural_zeros=[{"sex": ["f"]}])


def test_with_a_budget_a_strong_relation_stays_and_the_ledger_adds_up():
    levels = ("x", "y", "z")
    schema = Schema(tuple(Column(n, Kind.CATEGORICAL, levels=levels) for n in ("a", "b", "c"))).declare()
    a = RNG(1).choice(levels, 20_000)
    frame = {"a": a, "b": a, "c": RNG(2).choice(levels, 20_000)}
    model = make_synthesizer("network", epsilon=2.0).fit(Table.from_frame(frame, schema))
    made = model.sample(5000, seed=1).to_frame("polars")
    assert (made["a"] == made["b"]).mean() > 0.9
    assert abs((made["a"] == made["c"]).mean() - 1 / 3) < 0.1
    spent = [float(number) for number in re.findall(r"ε = ([\d.]+)", model.ledger)]
    assert spent[0] == 2.0
    assert sum(spent[1:-1]) == pytest.approx(spent[-1], rel=1e-2)  # as printed
    assert spent[-1] == pytest.approx(2.0)


def test_every_answer_of_a_made_row_is_mixed_from_a_leaf_of_several_people():
    people = examples.survey(800, seed=1).select("age", "income", "health")
    table = Table.from_frame(people)
    model = make_synthesizer("arf", trees=5, minbucket=7).fit(table, seed=1)
    assert (model.ends - model.begins).min() >= 7
    assert "50 is a coin" in model.notes[0]
