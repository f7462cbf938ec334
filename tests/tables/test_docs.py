"""Every option of the room is named on its page."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from dalenius import tables

PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")
RECORDS = {"Audit", "Disclosed", "LinkedSuppression", "TableModel", "TableFile", "Suppression", "TableError",
           "Hierarchy", "Altered", "Ways", "TwoYears", "ProtectedStatistic", "PTable", "Protection",
           "PrimaryRule", "Apriori"}  # fmt: skip
OFFERED = [name for name in tables.__all__ if name not in RECORDS]


@pytest.mark.parametrize("name", OFFERED)
def test_every_option_is_on_the_page(name):
    thing = getattr(tables, name)
    assert re.search(rf"\b{name}\b", PAGE), f"{name} is not on the page"
    given = inspect.signature(thing).parameters.values()
    options = [p.name for p in given if p.default is not inspect.Parameter.empty and p.name != "name"]
    missing = [option for option in options if not re.search(rf"\b{option}\b", PAGE)]
    assert missing == []
