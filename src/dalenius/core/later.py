"""What takes long to load and few calls need is loaded when something of it is first used.

``from dalenius.core.later import altair as alt`` reads like the plain import; `public_names` does the same for the
names of a package, so that ``import dalenius`` stays short.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as altair  # noqa: PLC0414 (said again so that type checkers pass it on)
    import torch as torch  # noqa: PLC0414
    from scipy import special as special  # noqa: PLC0414
    from scipy import stats as stats  # noqa: PLC0414
    from sklearn import ensemble as ensemble  # noqa: PLC0414
else:

    class _Later:
        """Stands for a module until one of its names is asked for."""

        def __init__(self, name):
            self._name = name

        def __getattr__(self, name):
            if (
                name.startswith("__") and self._name not in sys.modules
            ):  # asked by those who look through names
                raise AttributeError(name)
            return getattr(importlib.import_module(self._name), name)

    altair, stats, special = _Later("altair"), _Later("scipy.stats"), _Later("scipy.special")
    ensemble, torch = _Later("sklearn.ensemble"), _Later("torch")


def public_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are listed in its ``__init__.pyi``.

    Type checkers and editors read that file as it is; here each ``from place import name`` in it is carried out when
    the name is first asked for.

    Examples
    --------
    >>> import dalenius
    >>> get, list_names, _ = public_names("dalenius", dalenius.__file__)
    >>> "read" in list_names(), get("Schema").__name__
    (True, 'Schema')
    >>> get("raed")
    Traceback (most recent call last):
    ...
    AttributeError: module 'dalenius' has no attribute 'raed'; did you mean 'read'?
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    places = {
        alias.asname or alias.name: (str(line.module), alias.name)
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }

    def get(name: str) -> Any:
        if name not in places:
            import difflib  # noqa: PLC0415 (only on the way to an error)

            close = difflib.get_close_matches(name, places, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        place, original = places[name]
        if place == package:
            return importlib.import_module(f"{package}.{original}")
        thing = getattr(__import__(place, fromlist=[original]), original)  # also where it is a module
        setattr(importlib.import_module(package), name, thing)
        return thing

    return get, lambda: sorted([*places, "__version__"]), sorted(places)
