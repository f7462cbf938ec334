"""Figures that need links agree with sdcMicro, and see whose row is found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dalenius
from dalenius.core.errors import DataError, OptionError
from dalenius.data.steps import Recode
from dalenius.data.table import Table
from dalenius.mask.links import interval_disclosure, own_row_found, value_loss
from dalenius.mask.microaggregation import Microaggregate
from dalenius.risk.sample.suda import suda

GOLDEN = Path(__file__).parents[1] / "golden" / "sdcmicro"
STORED = json.loads((GOLDEN / "microaggregation.json").read_text())
SUDA = json.loads((GOLDEN / "suda2.json").read_text())["cases"]


def both(case: dict) -> tuple[Table, Table, list[str]]:
    names = case["variables"]
    frame = pl.read_csv(GOLDEN / "data" / case.get("data", case.get("original")), infer_schema_length=None)
    first = Table.from_frame(frame.head(case["first_rows"]).select(names))
    if "perturbed" in case:
        masked = pl.read_csv(GOLDEN / "data" / case["perturbed"], infer_schema_length=None).select(names)
    else:
        masked = pl.DataFrame(
            case["expected"]["masked"], schema=dict.fromkeys(names, pl.Float64), strict=False
        )
    return first, Table.from_frame(masked), names


@pytest.mark.parametrize("case", [*STORED["cases"], *STORED["perturbed_cases"]], ids=lambda case: case["id"])
def test_figures_are_those_of_sdcmicro(case: dict) -> None:
    first, masked, names = both(case)
    wanted = case["expected"]
    for width, share in wanted["dRisk"].items():
        assert interval_disclosure(first, masked, names, width=float(width)).value == pytest.approx(
            100 * share, abs=1e-8
        )
    loss = value_loss(first, masked, names)
    for name, value in wanted["dUtility"].items():
        assert loss.values[name] == pytest.approx(value, rel=1e-8, abs=1e-8)
    if "IL_variables" in wanted:
        assert loss.values["IL_variables"] == pytest.approx(wanted["IL_variables"], abs=1e-8)
        assert loss.table is not None
        by_column = dict(loss.table.select("column", "IL_variables").rows())
        assert by_column == pytest.approx(wanted["IL_variables_by_column"], abs=1e-8)
    if wanted.get("IL_correl") is not None:
        assert loss.values["IL_correl"] == pytest.approx(wanted["IL_correl"], abs=1e-8)


@pytest.mark.parametrize("case", SUDA, ids=lambda case: case["id"])
def test_suda_contributions_by_level(case: dict) -> None:
    frame = pl.read_csv(GOLDEN / "data" / case["data"], infer_schema_length=None)
    frame = frame.head(case["first_rows"]) if case["first_rows"] else frame
    found = suda(
        frame.drop("hid", strict=False),
        case["keys"],
        dis_fraction=case["DisFraction"],
        original_scores=case["original_scores"],
    )
    told = {
        (row[0], float(str(row[1]))): row[2] for row in found.by_level().rows() if str(row[1]) != "missing"
    }
    wanted = case["expected"]["attribute_level_contributions"]
    for column, level, share in zip(
        wanted["variable"], wanted["attribute"], wanted["contribution"], strict=True
    ):
        if share is None or level in (None, -999):
            continue
        assert told[column, float(level)] == pytest.approx(share, abs=1e-6)


def test_a_copy_finds_everybody_and_groups_hide() -> None:
    rng = np.random.default_rng(1)
    first = Table.from_frame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    assert own_row_found(first, first).value == 100
    assert own_row_found(first, first, one_to_one=True).value == 100
    masked = Microaggregate(("a", "b"), 5).apply(first).table
    near, paired = (own_row_found(first, masked, one_to_one=one).value for one in (False, True))
    assert near == pytest.approx(20, abs=5)  # nearly all find their group of five
    assert paired < 40
    order = rng.permutation(300)
    assert own_row_found(first, first.take(order), links=order).value == 100
    assert own_row_found(first, first.take(order)).value < 5


def test_what_is_lacking_is_an_error() -> None:
    first = Table.from_frame({"a": np.arange(5.0) + 0.5, "s": list("xyxyx")})
    with pytest.raises(DataError, match="no column 's'"):
        value_loss(first, first, ["s"])
    with pytest.raises(DataError, match="links do not fit"):
        own_row_found(first, first.take(np.array([0, 1])))
    many = Table.from_frame({"a": np.arange(5000) + 0.5})
    with pytest.raises(OptionError, match="too many"):
        own_row_found(many, many, one_to_one=True)


LINKED = ["own-row-found", "interval-disclosure", "value-loss"]


def test_a_masked_file_is_followed_and_others_are_not() -> None:
    people = dalenius.examples.survey(400, seed=1).select("region", "age", "income", "bmi")
    weak, strong = (
        dalenius.Candidate("add-noise", {"variables": ["age", "income", "bmi"], "amount": amount})
        for amount in (0.001, 2.0)
    )
    made = {name: each.make(people, seed=1) for name, each in (("weak", weak), ("strong", strong))}
    found = {name: dalenius.evaluate(people, m.table, lens=m.lens()) for name, m in made.items()}
    for name in LINKED:
        assert name in found["weak"].results
    assert "detail-lost" in found["weak"].results
    assert found["weak"]["own-row-found"].value > 95
    assert found["strong"]["own-row-found"].value < 10
    assert found["weak"]["own-row-found"].values["assigning all rows at once"] > 95
    assert found["weak"]["interval-disclosure"].value > 95
    assert found["strong"]["interval-disclosure"].value < 1
    assert found["weak"]["value-loss"].value < 0.01
    assert found["strong"]["value-loss"].value > 0.5
    drawn = dalenius.evaluate(people, made["weak"].table, measures=LINKED)
    assert not drawn.results
    assert set(drawn.skipped.values()) == {
        "needs the lens of a masked file, which tells whose row each row is"
    }
    both = dalenius.compare(people, {"masked": made["weak"], "copy": people})
    assert set(LINKED) <= set(both.evaluations["masked"].results)
    assert not set(LINKED) & set(both.evaluations["copy"].results)


def test_numbers_recoded_into_groups_leave_nothing_to_follow() -> None:
    people = Table.from_frame({"age": [*range(20, 80)]})
    made = Recode("age", width=10).apply(people)
    result = dalenius.evaluate(people, made.table, lens=made.lens, measures=LINKED)["own-row-found"]
    assert np.isnan(result.value)
    assert "no numbers in common" in result.sentence
