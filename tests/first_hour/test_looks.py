"""What is seen: terminal at 80 columns, notebooks without data types, directions and yardsticks beside every figure."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import dalenius
from dalenius.data import Schema
from tests.first_hour.conftest import Newcomer, survey


def test_evaluate_and_compare_fit_80_columns_and_say_what_is_better(newcomer: Newcomer) -> None:
    path = newcomer.folder / "people.csv"
    frame = survey(300).select("sex", "age", "smoke")
    frame.write_csv(path)
    for name in ("one", "two"):
        dalenius.synthesize(frame, seed=len(name)).write_csv(newcomer.folder / f"{name}.csv")
    some = [
        "--measures",
        "two-way-utility,column-shapes,propensity-logit,propensity-tree,one-way-utility,pca,coverage",
    ]
    single = newcomer.types("evaluate", path, newcomer.folder / "one.csv", *some)
    several = newcomer.types("compare", path, newcomer.folder / "one.csv", newcomer.folder / "two.csv", *some)
    for seen in (single, several):
        assert "better" in seen
        assert "yardstick" in seen
        assert "…" not in seen
        told = [
            line for line in seen.splitlines() if not line.startswith(("people.csv", "one.csv", "two.csv"))
        ]
        assert max(map(len, told)) <= 80
        assert "propensity-tree" in seen or "Propensity, tree" in seen
    lacking = newcomer.types("evaluate", path, newcomer.folder / "one.csv")
    assert "to measure risk, give --keys what an intruder may know, --targets what would hurt" in lacking
    assert "to measure risk" not in single, "nothing that was asked for is lacking"


def test_notebooks_show_small_tables_with_direction_and_without_data_types() -> None:
    frame = survey(300).select("sex", "age", "smoke", "nociga")
    made = dalenius.synthesize(frame)
    measures = ["two-way-utility", "column-shapes"]
    one = dalenius.evaluate(frame, made, measures=measures)
    pages = {
        "result": one["two-way-utility"]._repr_html_(),
        "comparison": dalenius.compare(frame, {"cart": made}, measures=measures)._repr_html_(),
        "schema": Schema.infer(frame)._repr_html_(),
    }
    for name, page in pages.items():
        assert "f64" not in page, name
        assert "<table" in page, name
    assert "lower is better" in pages["result"]
    assert "lower is better" in pages["comparison"]
    assert "a correct model" in pages["comparison"]
    assert "nociga" in pages["schema"]
    assert "-8" in pages["schema"]
    assert "bounds" not in pages["schema"]


def test_a_schema_shows_no_levels_of_the_data() -> None:
    towns = pl.DataFrame({"town": ["Oslo", "Bergen"] * 20})
    assert "Oslo" not in Schema.infer(towns)._repr_html_()


def test_a_printed_schema_is_a_small_table_without_values() -> None:
    schema = replace(Schema.infer(survey(200).select("sex", "age", "income")), rules=("age >= 16",))
    lines = str(schema).splitlines()
    assert lines[0].split() == ["column", "kind", "role", "about"]
    assert len(lines) == 5
    assert lines[-1] == "rules: age >= 16"
    assert "FEMALE" not in str(schema)


def test_a_notebook_sees_how_far_a_long_call_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line under the cell that changes while columns are made and figures measured, and is gone at the end."""
    pytest.importorskip("IPython")
    seen: list[str] = []

    class Place:
        def update(self, shown: object, raw: bool = False) -> None:
            seen.append("gone" if raw else str(shown.tasks[0].description))  # type: ignore[attr-defined]

    monkeypatch.setattr("dalenius.core.progress._in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda shown, display_id: Place())
    people = survey(300).select("sex", "age", "smoke")
    made = dalenius.synthesize(people, seed=1)
    assert len(set(seen)) > 2
    assert seen[-1] == "gone"
    seen.clear()
    dalenius.evaluate(people, made, measures=["one-way-utility", "two-way-utility"])
    assert len(set(seen)) > 1
    assert seen[-1] == "gone"
