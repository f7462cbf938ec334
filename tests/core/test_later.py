"""Modules that are loaded when something of them is used: looking through names loads none, and one may be absent."""

from __future__ import annotations

import inspect
import sys

from dalenius.core import later


def test_looking_through_names_loads_nothing(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert not hasattr(later.torch, "__wrapped__")
    assert inspect.unwrap(later.torch) is later.torch
    assert "torch" not in sys.modules
