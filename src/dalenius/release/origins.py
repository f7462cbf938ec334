"""Whether plan and inputs are still those a pack was made from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dalenius.release.jobs import file_digest


def changed_origins(body: Mapping[str, Any], text_digest: str, sources: Mapping[str, Path]) -> list[str]:
    """What a manifest names and is another file now, or is read now and was not there, in words.

    Examples
    --------
    >>> changed_origins({"plan": "a", "inputs": {}}, "b", {})
    ['the plan was edited after this pack was made']

    A file more in a folder of tables is another input too:

    >>> changed_origins({"plan": "a", "inputs": {}}, "a", {"last-year/towns.csv": Path("towns.csv")})
    ['input last-year/towns.csv was added after this pack was made']
    """
    edited = [] if text_digest == body["plan"] else ["the plan was edited after this pack was made"]
    known = body["inputs"]
    held = {name: file_digest(path) for name, path in sources.items() if name in known}
    other = [name for name, digest in known.items() if held.get(name) != digest]
    return [
        *edited,
        *(f"input {name} is not the file this pack was made from" for name in other),
        *(f"input {name} was added after this pack was made" for name in sources if name not in known),
    ]
