"""One grammar of options: what is declared decides what is read, accepted and said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from dalenius.core.errors import OptionError
from dalenius.core.option import Option, check, declared, faults, grid, parse


@dataclass(frozen=True)
class Inner:
    low: Annotated[int, Option(at_least=2)] = 3


@dataclass(frozen=True)
class Toy:
    minbucket: Annotated[int, Option(at_least=1, title="Smallest group", knob=True)] = 5
    alpha: Annotated[float, Option(above=0, at_most=1)] = 0.05
    visit: Literal["given", "dependence"] | Sequence[str] = "given"
    spikes: Mapping[str, Sequence[float]] = field(default_factory=dict)
    weights: str | None = None
    calibrate: tuple[float, float] | None = None
    salt: Annotated[str | None, Option(secret=True)] = None
    proper: bool = False
    inner: Inner = field(default_factory=Inner)
    progress: Any = field(default=None, compare=False)


def toy(pair: object, keys: Sequence[str], order: Annotated[int, Option(at_least=1)] = 2) -> None: ...


def test_what_is_declared_is_known():
    assert "progress" not in declared(Toy)
    assert list(declared(toy)) == ["keys", "order"]
    assert declared(Toy)["minbucket"].title == "Smallest group"
    assert declared(Toy)["visit"].title == "visit"
    assert declared(Toy)["minbucket"].shown == "5"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("minbucket", 0, "minbucket is 0; use a whole number, 1 or more"),
        ("minbucket", 2.5, "minbucket is 2.5; use a whole number, 1 or more"),
        ("minbucket", True, "minbucket is True; use a whole number, 1 or more"),
        ("minbucket", [5, 20], "minbucket is [5, 20]; use a whole number, 1 or more"),
        ("alpha", 0, "alpha is 0; use a number, above 0 and at most 1"),
        ("alpha", float("nan"), "alpha is nan; use a number, above 0 and at most 1"),
        ("visit", "giben", "visit is 'giben'; use one of 'given', 'dependence', or a list of texts"),
        ("spikes", {"age": ["x"]}, "spikes is {'age': ['x']}; use names, each with a list of numbers"),
        ("weights", 3, "weights is 3; use a text, or nothing"),
        ("calibrate", [1.0], "calibrate is [1.0]; use a list of 2 numbers, or nothing"),
        ("salt", 12345, "salt is not usable; use a text, or nothing"),
        ("inner", {"low": 1}, "inner: low is 1; use a whole number, 2 or more"),
        ("inner", {"lo": 3}, "inner: no option 'lo'; did you mean 'low'?"),
        ("proper", 1, "proper is 1; use true or false"),
        ("minbuckets", 5, "no option 'minbuckets'; did you mean 'minbucket'?"),
    ],
)
def test_one_wording(name, value, said):
    assert faults(Toy, {name: value}) == [said]


def test_fine_values_pass():
    good = {"minbucket": 1, "alpha": 1, "visit": ["a"], "spikes": {"a": (0, 1.5)}, "weights": None}
    assert faults(Toy, good | {"calibrate": (1, 0.1), "inner": {"low": 2}, "salt": "x"}) == []


def test_all_faults_at_once():
    with pytest.raises(OptionError, match=r"^toy: 3 faults: no option 'key'.*keys is 'sex'.*order is 0"):
        check("toy", toy, {"key": 1, "keys": "sex", "order": 0})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("minbucket=5", 5),
        ("weights=5", "5"),
        ("weights=null", None),
        ("visit=given", "given"),
        ("visit=age,sex", ["age", "sex"]),
        ('visit=["age"]', ["age"]),
        ("calibrate=1,0.5", [1, 0.5]),
        ("proper=true", True),
        ('spikes={"age": [0]}', {"age": [0]}),
        ("minbucket=each:5, 20", {"each": [5, 20]}),
        ("minbucket=each: 5", {"each": [5]}),
        ('visit=each:["a"],["b","c"]', {"each": [["a"], ["b", "c"]]}),
        ("minbucket=many", "many"),
    ],
)
def test_texts_are_read_by_what_is_declared(text, value):
    name = text.partition("=")[0]
    assert parse([f"toy.{text}"], {"toy": Toy, "other": toy}) == {"toy": {name: value}}
    assert parse([text], {"toy": Toy}) == {"toy": {name: value}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("minbucket", "should be written owner.option=value"),
        ("=5", "should be written"),
        ("minbucket=5", "say whose it is, such as toy.minbucket=5"),
        ("tou.minbucket=5", "there is no 'tou' here; did you mean 'toy'"),
        ("toy.minbuckt=5", "toy: no option 'minbuckt'; did you mean 'minbucket'"),
    ],
)
def test_faulty_texts_are_told(text, said):
    with pytest.raises(OptionError, match=said):
        parse([text], {"toy": Toy, "other": toy})


def test_only_the_word_makes_a_grid():
    assert grid({"minbucket": [5, 20]}) == [("", {"minbucket": [5, 20]})]
    assert [label for label, _ in grid({"a": {"each": [1, 2]}, "b": {"each": ["x", "y"]}})] == [
        "a=1 b=x", "a=1 b=y", "a=2 b=x", "a=2 b=y",
    ]  # fmt: skip
    with pytest.raises(OptionError, match="'each' needs a list"):
        grid({"a": {"each": []}})
