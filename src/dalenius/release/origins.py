"""Whether plan and inputs are still those a pack was made from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dalenius.release.jobs import file_digest


def changed_origins(body: Mapping[str, Any], text_digest: str, sources: Mapping[str, Path]) -> list[str]:
    """What a manifest names and is another file now, in words.

    Examples
    --------
    >>> changed_origins({"plan": "a", "inputs": {}}, "b", {})
    ['the plan was edited after this pack was made']
    """
    edited = [] if text_digest == body["plan"] else ["the plan was edited after this pack was made"]
    held = {name: file_digest(path) for name, path in sources.items()}
    return edited + [
        f"input {name} is not the file this pack was made from" for name, digest in body["inputs"].items()
        if held.get(name) != digest
    ]  # fmt: skip
