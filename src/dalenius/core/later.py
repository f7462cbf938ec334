"""Libraries that take long to load and are needed by few calls: loaded when something of theirs is first used.

``from dalenius.core.later import altair as alt`` reads like the plain import, and ``import dalenius`` stays short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import altair as altair  # noqa: PLC0414 (said again so that type checkers pass it on)
    from scipy import stats as stats  # noqa: PLC0414
else:
    import importlib

    class _Later:
        """Stands for a module until one of its names is asked for."""

        def __init__(self, name):
            self._name = name

        def __getattr__(self, name):
            return getattr(importlib.import_module(self._name), name)

    altair, stats = _Later("altair"), _Later("scipy.stats")
