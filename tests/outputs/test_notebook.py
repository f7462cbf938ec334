"""What a notebook shows of outputs: what leaves where they pass, the marked cells where they fail."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dalenius.core.errors import SchemaError
from dalenius.outputs import Desk


@pytest.fixture
def desk():
    return Desk(unit="person")


@pytest.fixture
def people():
    rng = np.random.default_rng(1)
    data = {
        "person": range(200),
        "town": ["A"] * 190 + ["B"] * 5 + ["C"] * 5,
        "age": rng.integers(20, 60, 200),
    }
    return pd.DataFrame(data)


def test_a_chart_that_passes_is_drawn(desk, people):
    out = desk.charts.histogram(people, "age", bins=4)
    page = out._repr_html_()
    assert out.status == "pass"
    assert 'role="img"' in page
    assert "<td" not in page


def test_a_table_that_passes_shows_its_figures(desk, people):
    out = desk.table(people[people.town == "A"], "town")
    assert ">190<" in out._repr_html_()


def test_one_that_fails_shows_the_marked_cells_only(desk, people):
    page = desk.table(people, "town")._repr_html_()
    assert "min_threshold" in page
    assert ">B<" in page
    assert ">A<" not in page
    assert ">190<" not in page
    drawn = desk.charts.bar(people, "town")._repr_html_()
    assert "<svg" not in drawn


def test_a_desk_lists_its_outputs_and_finalise_names_the_calls(desk, people, tmp_path):
    desk.table(people, "town")
    desk.charts.histogram(people, "age", bins=4)
    page = desk._repr_html_()
    assert all(
        word in page for word in ("output_0", "table(town)", "fail", "output_1", "histogram(age)", "pass")
    )
    with pytest.raises(SchemaError, match=r"output_0 \(fail; table\(town\)\): ask for an exception"):
        desk.finalise(tmp_path / "pack")
