"""`Ledger`: an append-only record of what was published, over years.

One line of JSON a release, each with the fingerprint of the line before: a line that was changed or taken out is
noticed. Whoever checks the next output sees everything that is out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core.errors import FileError
from dalenius.data.atomic import write_text
from dalenius.data.lock import locked
from dalenius.published.arrays import Ints
from dalenius.published.figures import Published, Statistic
from dalenius.published.margin import Margin


class Ledger:
    """What is out, in a file.

    Examples
    --------
    >>> import tempfile
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "published.jsonl")
    >>> ledger.append("yearbook", Published.from_tables({"sexes": {"sex": ["f", "m"], "n": [3, 4]}}, date="2024"))
    >>> ledger.append("atlas", Published.from_tables({"towns": {"town": ["A", "B"], "n": [5, 2]}}, date="2025"))
    >>> ledger.names, ledger.published()
    (['yearbook', 'atlas'], Published(2 tables, 4 cells: 4 exact; sex 2 × town 2))
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def names(self) -> list[str]:
        """Names of the releases, in order."""
        return [line["name"] for line in self._lines()]

    def append(self, name: str, published: Published) -> None:
        """Add a release; nothing that is there is changed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.path.with_suffix(".lock")):
            held = self._lines()
            before = held[-1]["fingerprint"] if held else ""
            line = {"name": name, "before": before, "published": to_plain(published)}
            line["fingerprint"] = _fingerprint(line)
            old = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
            write_text(self.path, old + json.dumps(line, ensure_ascii=False) + "\n")

    def published(self) -> Published:
        """Everything that is out, together."""
        whole: Published | None = None
        for line in self._lines():
            new = from_plain(line["published"])
            whole = new if whole is None else whole | new
        return whole or Published({}, ())

    def _lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        try:
            lines = [json.loads(text) for text in self.path.read_text(encoding="utf-8").splitlines() if text]
        except (OSError, ValueError):
            raise FileError(f"{self.path}: cannot read the ledger") from None
        if not lines:
            raise FileError(f"{self.path}: the ledger is empty; put back a copy, or delete it to start anew")
        before = ""
        for number, line in enumerate(lines, 1):
            if line.get("before") != before or line.get("fingerprint") != _fingerprint(line):
                raise FileError(f"{self.path}: line {number} was changed, or one before it is missing")
            before = line["fingerprint"]
        return lines


def _fingerprint(line: dict[str, Any]) -> str:
    facts = {key: line.get(key) for key in ("name", "before", "published")}
    return hashlib.sha256(json.dumps(facts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def to_plain(published: Published) -> dict[str, Any]:
    """Plain data for JSON."""
    return {
        "domains": {name: list(values) for name, values in published.domains.items()},
        "margins": [
            {
                "name": m.name, "columns": list(m.columns), "groups": [list(g) for g in m.groups],
                "maps": [a.tolist() for a in m.maps], "keys": m.keys.tolist(), "low": m.low.tolist(),
                "high": m.high.tolist(), "value": [None if np.isnan(v) else v for v in m.value.tolist()],
                "scale": m.scale.tolist(), "complete": m.complete, "source": m.source, "date": m.date,
                "where": m.where,
            }
            for m in published.margins
        ],
        "statistics": [vars(s) | {"values": dict(s.values)} for s in published.statistics],
        **({"doubts": list(published.doubts)} if published.doubts else {}),
        **({"declared": sorted(published.declared)} if published.declared else {}),
    }  # fmt: skip


def from_plain(data: dict[str, Any]) -> Published:
    """Read back what `to_plain` wrote."""
    margins = [
        Margin(
            m["name"], tuple(m["columns"]), tuple(tuple(g) for g in m["groups"]), tuple(map(_ints, m["maps"])),
            _ints(m["keys"]), _ints(m["low"]), _ints(m["high"]),
            np.array([np.nan if v is None else v for v in m["value"]], np.float64),
            np.array(m["scale"], np.float64), m["complete"], m["source"], m["date"], m["where"],
        )
        for m in data["margins"]
    ]  # fmt: skip
    statistics = tuple(Statistic(**facts) for facts in data.get("statistics", ()))
    domains = {k: tuple(v) for k, v in data["domains"].items()}
    doubts, declared = tuple(data.get("doubts", ())), frozenset(data.get("declared", ()))
    return Published(domains, tuple(margins), statistics, doubts, declared=declared)


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int64)
