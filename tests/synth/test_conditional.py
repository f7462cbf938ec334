"""Rows on a condition have the conditional law of the model, and rows like others keep their cells."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import dalenius
from dalenius.cli import app
from dalenius.core.errors import DataError, OptionError
from dalenius.data import Table, read
from dalenius.synth import Candidate, make_synthesizer, save_model
from dalenius.synth.sequential.model import SequentialModel

A, B, C = ("a0", "a1", "a2"), ("b0", "b1"), ("c0", "c1", "c2", "c3")
LAW = np.random.default_rng(7).dirichlet(np.full(24, 2.0)).reshape(3, 2, 4)
"""The joint law of three categories."""


@pytest.fixture(scope="module")
def known() -> dict[str, list[str]]:
    """A table of 24,000 rows that has exactly this law, up to rounding."""
    counts = np.round(24_000 * LAW).astype(int)
    rows = [
        cell for cell, n in zip(itertools.product(A, B, C), counts.ravel(), strict=True) for _ in range(n)
    ]
    return {name: list(column) for name, column in zip("abc", zip(*rows, strict=True), strict=True)}


def p_value(drawn: list[tuple[str, ...]], law: dict[tuple[str, ...], float]) -> float:
    total = sum(law.values())
    times = Counter(drawn)
    assert set(times) <= set(law)
    seen = [times[cell] for cell in law]
    return float(stats.chisquare(seen, [len(drawn) * share / total for share in law.values()]).pvalue)


@pytest.mark.parametrize("method", ["cart", "saturated"])
@pytest.mark.parametrize("given", [{"a": "a1"}, {"c": "c2"}, {"b": "b0", "c": ["c0", "c3"]}])
def test_the_conditionals_of_a_known_law_are_recovered(known, method, given):
    options = {"minbucket": 5} if method == "cart" else {}
    model = make_synthesizer(method, **options).fit(known, seed=1)
    drawn = model.conditioned(4000, given=given, seed=5)
    assert drawn.effective == drawn.table.rows == 4000
    frame = drawn.table.to_frame("dict")
    rows = list(zip(*(frame[name] for name in "abc"), strict=True))
    wanted = {name: {v} if isinstance(v, str) else set(v) for name, v in given.items()}
    law = {
        cell: float(share)
        for cell, share in zip(itertools.product(A, B, C), LAW.ravel(), strict=True)
        if all(cell["abc".index(name)] in values for name, values in wanted.items())
    }
    assert p_value(rows, law) > 1e-4


@pytest.mark.parametrize("missing", ["a", "b", "c"])
def test_gaps_are_filled_by_the_law_given_the_rest(known, missing):
    model = make_synthesizer("cart", minbucket=5).fit(known, seed=1)
    rest = [name for name in "abc" if name != missing]
    fixed = {"a": "a1", "b": "b1", "c": "c2"}
    like = {name: [fixed[name]] * 3000 for name in rest} | {missing: [None] * 3000}
    drawn = model.conditioned(like=like, seed=3)
    frame = drawn.table.to_frame("dict")
    assert drawn.effective >= 0.99 * drawn.table.rows
    assert all(frame[name] == like[name] for name in rest)
    at = tuple(slice(None) if n == missing else {"a": A, "b": B, "c": C}[n].index(fixed[n]) for n in "abc")
    law = {
        (level,): float(share)
        for level, share in zip({"a": A, "b": B, "c": C}[missing], LAW[at], strict=True)
    }
    assert p_value([(value,) for value in frame[missing]], law) > 1e-4


def people(rows: int = 800) -> dict[str, list[object]]:
    rng = np.random.default_rng(1)
    age = rng.integers(18, 90, rows)
    sex = rng.choice(["f", "m"], rows)
    start = rng.integers(0, 400, rows)
    return {
        "sex": sex.tolist(),
        "age": age.tolist(),
        "group": np.where(age < 40, "young", np.where(age < 65, "middle", "old")).tolist(),
        "start": start.tolist(),
        "end": (start + rng.integers(0, 20, rows)).tolist(),
    }


def test_columns_that_are_made_afterwards_can_be_asked_for():
    model = Candidate("cart").make(people(), seed=1).model
    assert model.preparation
    old = model.sample(300, given={"group": "old", "sex": "f"}, seed=2).to_frame("polars")
    assert set(old["group"]) == {"old"}
    assert set(old["sex"]) == {"f"}
    assert old["age"].min() >= 65
    assert old.height == 300
    late = model.sample(100, given="end > 300", seed=2).to_frame("polars")
    assert late["end"].min() > 300
    assert (late["end"] >= late["start"]).all()
    filled = model.sample(like={"age": [30, 70], "start": [10, None]}, seed=1).to_frame("dict")
    assert filled["age"] == [30, 70]
    assert filled["group"] == ["young", "old"]
    assert filled["start"][0] == 10


def test_the_same_seed_gives_the_same_rows_and_the_frame_type_stays():
    pandas = pytest.importorskip("pandas")
    model = make_synthesizer("cart").fit(pandas.DataFrame(people()), seed=1)
    first, second = (model.sample(50, given={"age": (60, 75)}, seed=9).to_frame() for _ in range(2))
    assert isinstance(first, pandas.DataFrame)
    assert first.equals(second)
    assert first["age"].between(60, 75).all()
    third = model.sample(50, given={"age": (60, 75)}, seed=10).to_frame()
    assert not first.equals(third)


def test_a_rare_condition_tells_how_many_draws_it_rests_on(monkeypatch):
    monkeypatch.setattr("dalenius.synth.conditional.MOST_DRAWS", 4000)
    model = make_synthesizer("independent").fit(people(), seed=1)
    drawn = model.conditioned(500, given={"age": 30, "sex": "f"}, seed=1)
    assert 0 < drawn.effective < 500 == drawn.table.rows
    assert f"effective number of draws {drawn.effective}" in str(drawn)
    with pytest.raises(DataError, match="less rare"):
        model.sample(5, given={"age": 200}, seed=1)


def test_a_sequence_throws_rows_away_early():
    model = make_synthesizer("cart").fit(people(), seed=1)
    assert isinstance(model, SequentialModel)
    first = model.visit[0]
    value = people()[first][0]
    drawn = model.draw_block(
        1000, 1, dalenius.synth.conditional.read_conditions({first: value}, model.schema)
    )
    assert 0 < drawn.rows < 1000


def test_what_cannot_be_asked_for_is_refused():
    model = make_synthesizer("cart").fit(people(), seed=1)
    for wrong, why in (
        ({"given": {"nose": 1}}, "no column 'nose'"),
        ({"given": {"sex": ("f", "m")}}, "only if it has an order"),
        ({"given": {"age": "old"}}, "give a number"),
        ({"given": {"sex": "x"}}, "never has the value"),
        ({"given": {"sex": "f"}, "like": {"sex": ["f"]}}, "one of them"),
        ({"like": {"nose": [1]}}, "no column 'nose'"),
        ({"rows": 3, "like": {"sex": ["f"]}}, "leave the number of rows out"),
    ):
        with pytest.raises(OptionError, match=why):
            model.sample(**wrong)
    with pytest.raises(OptionError, match="cannot fill"):
        make_synthesizer("independent").fit(people(), seed=1).sample(like={"sex": ["f"]})


def test_on_the_command_line(tmp_path: Path):
    made = Candidate("cart").make(people(), seed=1)
    save_model(made.model, tmp_path / "m.zip")
    words = ["sample", str(tmp_path / "m.zip"), "-o", str(tmp_path / "out.csv")]
    seen = CliRunner().invoke(app, [*words, "-n", "40", "--given", "sex=f", "--given", "age=60:75"])
    assert seen.exit_code == 0, seen.output
    assert "every one is an exact draw" in seen.output
    table = read(tmp_path / "out.csv").to_frame("polars")
    assert table.height == 40
    assert set(table["sex"]) == {"f"}
    assert table["age"].is_between(60, 75).all()
    (tmp_path / "like.csv").write_text("sex,age\nf,30\n,70\n")
    seen = CliRunner().invoke(app, [*words, "--like", str(tmp_path / "like.csv")])
    assert seen.exit_code == 0, seen.output
    assert read(tmp_path / "out.csv").to_frame("dict")["age"] == [30, 70]


def test_without_conditions_nothing_changes():
    model = make_synthesizer("cart").fit(people(), seed=1)
    assert isinstance(model.sample(20, seed=4), Table)
    assert model.sample(20, seed=4).to_frame() == model.sample(20, seed=4).to_frame()


def test_the_number_of_rows_has_the_name_that_other_libraries_give_it():
    model = make_synthesizer("cart").fit(people(), seed=1)
    some = model.sample(given={"age": (60, 75)}, n=7, seed=1)
    assert some.rows == 7
    assert model.sample(n=5, seed=1).to_frame() == model.sample(5, seed=1).to_frame()
    with pytest.raises(OptionError, match="rows and n are the same"):
        model.sample(5, n=5)


def test_a_model_says_what_it_is_and_none_of_its_values():
    model = make_synthesizer("cart").fit({"sex": ["f", "m"] * 30, "pay": [70707] * 60}, seed=1)
    assert repr(model) == "CartModel(60 rows, 2 columns: 'sex', 'pay'); draw with .sample(n)"
