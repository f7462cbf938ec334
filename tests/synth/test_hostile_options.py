"""Options and data that nobody should give: told in words, never taken as something else, none of them printed."""

import warnings

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DaleniusError, FileError, OptionError
from dalenius.data import Table
from dalenius.dp import Budget, choose, epsilon_of_rho, rho_of_epsilon
from dalenius.dp.noise import add_laplace
from dalenius.synth import load_model, make_synthesizer, save_model, synthesize
from dalenius.synth.joint.coding import Coding, Groups
from dalenius.synth.sdc import protect
from dalenius.synth.syndiffix.forest import Settings
from dalenius.synth.syndiffix.options import Anonymity, Growth

ROWS = 200
RNG = np.random.default_rng(0)
FRAME = {
    "a": ["x", "y"] * 100,
    "b": ["u", "v", "w", "u"] * 50,
    "x": RNG.normal(50, 10, ROWS).round(1).tolist(),
    "i": RNG.integers(0, 99, ROWS).tolist(),
}
PRIVATE = {"epsilon": 1.0, "domain": "from-data"}


@pytest.mark.parametrize(
    ("method", "options", "named"),
    [
        ("saturated", {"values": {"nose": [1, 2]}}, "nose"),
        ("saturated", {"values": {"x": []}}, "'x'"),
        ("saturated", {"values": {"i": [1.5]}}, "'i'.*whole"),
        ("saturated", {"values": {"x": [float("nan")]}}, "'x'"),
        ("saturated", {"values": {"a": [1]}}, "'a'"),
        ("saturated", {"breaks": {"x": ["a", "b"]}}, "breaks"),
        ("saturated", {"groups": 2.5}, "groups"),
        ("saturated", {"neighbours": "xx"}, "neighbours"),
        ("saturated", {"structural_zeros": {"a": "x"}}, "structural_zeros"),
        ("saturated", {"structural_zeros": [{"x": (1,)}]}, "low, high"),
        ("saturated", {"structural_zeros": [{"x": (45, 46)}]}, "cuts a group.*breaks"),
        ("saturated", {**PRIVATE, "threshold": 2.5}, "threshold"),
        ("loglinear", {"prior": float("inf")}, "prior"),
        ("loglinear", {"prior": "much"}, "prior"),
        ("loglinear", {"margins": 2.5}, "margins"),
        ("loglinear", {**PRIVATE, "budget": {("a", "b"): float("inf")}}, "budget"),
        ("loglinear", {**PRIVATE, "structural_zeros": [{"a": "x"}, {"a": "y"}]}, "no possible cell"),
        ("mst", {"more": 1.5}, "more"),
        ("aim", {"order": 2.5}, "order"),
        ("poisson", {"size": "abc"}, "size"),
        ("poisson", {"calibrate": 5}, "calibrate"),
        ("syndiffix", {"salt": 12345678}, "salt"),
        ("syndiffix", {"salt": "a secret", "threads": 0}, "threads"),
        ("syndiffix", {"salt": "a secret", "precision": {"a": 1.0}}, "'a'"),
        ("syndiffix", {"salt": "a secret", "anonymity": {"lo": 3}}, "low"),
        ("syndiffix", {"salt": "a secret", "entity": 5}, "entity"),
    ],
)
def test_odd_options_are_refused_in_words(method, options, named):
    with pytest.raises(DaleniusError, match=f"(?s){named}"):
        synthesize(FRAME, method, seed=1, **options)


def test_constants_of_syndiffix_may_be_plain_data():
    made = make_synthesizer("syndiffix", salt="a secret", anonymity={"low": 5, "outlier": [1, 2]})
    assert made.anonymity == Anonymity(low=5, outlier=(1, 2))
    for wrong in ({"low": float("nan")}, {"low": 2.5}, {"layer": float("nan")}, {"outlier": (2,)}):
        with pytest.raises(OptionError):
            Anonymity(**wrong)
    with pytest.raises(OptionError, match="row_fraction"):
        Growth(row_fraction=0)


def test_sizes_and_seeds():
    table = Table.from_frame(FRAME)
    model = make_synthesizer("bootstrap").fit(table)
    for rows in (2.5, True, "3", float("nan"), -1):
        with pytest.raises(OptionError, match="rows to draw"):
            model.sample(rows)
    first, second = (
        synthesize(pl.DataFrame(FRAME), "bootstrap", seed=s) for s in np.random.SeedSequence(5).spawn(2)
    )
    assert not first.equals(second)
    for seed in (-3, True, 1.0, "1", [1]):
        with pytest.raises(OptionError, match=r"seed is .*; use a whole number, 0 or more"):
            synthesize(FRAME, "bootstrap", seed=seed)
    assert list(synthesize(FRAME, "bootstrap", columns="a", seed=3)) == ["a"]


def test_smoothing_that_cannot_be_done_is_refused():
    for options, named in (
        ({"smooth": ["x"]}, "original"),
        ({"original": FRAME, "smooth": {"x": "densty"}}, "densty"),
        ({"original": FRAME, "smooth": ["a"]}, "'a'"),
        ({"top": {"x": float("nan")}}, "limit of column 'x'"),
        ({"bottom": {"x": 60}, "top": {"x": 40}}, "between"),
    ):
        with pytest.raises(DaleniusError, match=named):
            protect(FRAME, **options)
    done = protect(FRAME, bottom={"i": 16.5}, top={"i": 80.5}).table["i"].values
    assert (done.min(), done.max()) == (17, 80)


def test_budgets_and_noise_take_no_impossible_numbers():
    budget = Budget(1.0, 1e-6, accounting="approximate")
    for delta in (-1.0, float("nan")):
        with pytest.raises(OptionError, match="delta"):
            budget.spend("table", epsilon=0.1, delta=delta)
    for records in (1.5, float("nan")):
        with pytest.raises(OptionError, match="at least 1 record"):
            Budget(1.0, records=records)
    for call in (
        lambda: Budget("1"),
        lambda: choose(np.array([1.0, np.nan]), 1.0, 1.0),
        lambda: choose(np.zeros(0), 1.0, 1.0),
        lambda: add_laplace(np.array([2**64 - 1], np.uint64), 1.0),
        lambda: epsilon_of_rho(-1.0, 1e-6),
        lambda: rho_of_epsilon(float("inf"), 1e-6),
    ):
        with pytest.raises(OptionError):
            call()


@pytest.mark.parametrize("method", ["cart", "parametric", "syndiffix"])
@pytest.mark.parametrize("far", [[1e300], [float("inf"), float("-inf")]])
def test_a_far_outlier_changes_nothing_for_the_others(method, far):
    frame = {**FRAME, "x": [*RNG.normal(50, 10, ROWS - len(far)).tolist(), *far]}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        options = {"salt": "a secret"} if method == "syndiffix" else {}
        made = np.array(synthesize(frame, method, seed=1, **options)["x"])
    assert 45 < np.median(made) < 55
    assert len(np.unique(made)) > ROWS / 4


def test_whole_numbers_from_end_to_end_keep_their_size():
    frame = {"x": [*(k % 50 * 2**57 for k in range(-800, 800)), 2**63 - 1, -(2**63) + 1]}
    made = np.array(synthesize(frame, "syndiffix", seed=1, salt="a secret")["x"])
    assert abs(np.median(made) / 2**57 - 24.5) < 8


def test_a_heap_and_an_outlier_leave_the_small_numbers_small():
    frame = {"x": [*[0.0] * 900, *RNG.lognormal(5, 0.5, 99).tolist(), 1e12], "g": ["a", "b"] * 500}
    made = np.array(synthesize(frame, "cart", seed=1)["x"])
    assert np.quantile(made, 0.99) < 1e4


def test_a_column_without_values_gets_none():
    frame = pl.DataFrame({"x": pl.Series([None] * 60, dtype=pl.Float64), "g": ["a", "b"] * 30})
    for method in ("loglinear", "saturated", "poisson"):
        assert synthesize(frame, method, rows=5000, seed=1)["x"].null_count() == 5000


def test_rounding_keeps_structural_zeros():
    frame = {"age": [round(0.5 + k * 0.5, 1) for k in range(120)], "job": [k >= 32 for k in range(120)]}
    never = [{"age": (0, 16), "job": True}, {"age": (16, 61), "job": False}]
    made = synthesize(
        Table.from_frame(frame), "saturated", rows=20_000, seed=1, structural_zeros=never,
        breaks={"age": [0, 16, 61]}, **PRIVATE,
    ).to_frame("polars")  # fmt: skip
    assert made.filter(made["job"])["age"].min() >= 16
    assert made.filter(~made["job"])["age"].max() < 16


def test_working_objects_print_neither_salt_nor_data():
    assert "secret" not in repr(Settings(b"secret"))
    table = Table.from_frame(FRAME)
    coding = Coding.from_data(table, Groups())
    model = make_synthesizer("cart").fit(table, seed=1)
    for held in (coding, coding.columns[0], model.columns["x"].finish, model.columns["x"]):
        assert "array(" not in repr(held)
        assert "'u'" not in repr(held)


def test_damaged_models_are_told_as_such(tmp_path):
    whole = tmp_path / "whole.model"
    save_model(make_synthesizer("independent").fit(Table.from_frame(FRAME)), whole)
    raw = whole.read_bytes()
    refused = 0
    for place in range(0, len(raw), 7):
        hurt = tmp_path / "hurt.model"
        hurt.write_bytes(raw[:place] + bytes([raw[place] ^ 0xFF]) + raw[place + 1 :])
        try:
            load_model(hurt)
        except FileError:
            refused += 1
    assert refused > 50
