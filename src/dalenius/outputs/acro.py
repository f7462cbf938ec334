"""``results.json`` of acro, read and written, so that its viewer opens our outputs and we open its."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dalenius.core.errors import FileError
from dalenius.outputs.checks import ORDER, Verdict
from dalenius.outputs.record import Record

VERSION = "1.0.2"
"""Version of acro whose ``load_records`` reads what is written here; it refuses any other."""
TYPES = {
    "a": "table",
    "b": "table",
    "c": "table",
    "d": "table",
    "e": "table",
    "f": "survival table",
    "g": "regression",
}


def results_json(records: Sequence[Record]) -> str:
    """All records as acro writes them.

    Examples
    --------
    >>> text = results_json([Record("output_0", "crosstab(a, b)", "count", statbarn="a", files=["output_0_0.csv"])])
    >>> json.loads(text)["results"]["output_0"]["type"]
    'table'
    """
    results = {r.uid: _entry(r) for r in records}
    tool = {"name": "dalenius", "format": "acro"}
    return json.dumps({"version": VERSION, "tool": tool, "results": results}, indent=4)


def _entry(record: Record) -> dict[str, Any]:
    kind = TYPES.get(record.statbarn.split(", ")[0], "custom")
    sdc = {
        "summary": {name: 1 if f["verdict"] == "fail" else 0 for name, f in record.checks.items()},
        "cells": {name: [] for name in record.checks},
    }
    files = [{"name": name, "sdc": sdc} for name in record.files] or [
        {"name": f"{record.uid}.txt", "sdc": sdc}
    ]
    marked = {str(i): " ".join(str(v) for v in cell.values()) for i, cell in enumerate(record.cells)}
    return {
        "uid": record.uid, "status": record.status, "type": kind, "properties": {"method": record.statistic},
        "files": files, "outcome": {"marked": marked} if marked else {}, "command": record.command,
        "summary": record.summary, "timestamp": record.when, "comments": record.comments, "exception": record.exception,
        "fair": {},
    }  # fmt: skip


def read_results(folder: str | Path) -> list[Record]:
    """Records out of a ``results.json`` of acro (1.0.x, or the older form without FAIR entries)."""
    place = Path(folder) / "results.json" if Path(folder).is_dir() else Path(folder)
    try:
        data = json.loads(place.read_text(encoding="utf-8"))
        return [_record(uid, entry) for uid, entry in data["results"].items()]
    except OSError as error:
        raise FileError(f"{place}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FileError(f"{place}: this is not a results.json of acro") from None


def _record(uid: str, entry: dict[str, Any]) -> Record:
    outcome = entry.get("outcome") or {}
    cells = [
        {"row": str(row), "column": str(column), "outcome": str(word)}
        for column, rows in outcome.items() if isinstance(rows, dict)
        for row, word in rows.items() if str(word).strip() not in ("ok", "")
    ]  # fmt: skip
    method = (entry.get("properties") or {}).get("method", entry.get("type", ""))
    status: Verdict = entry["status"] if entry["status"] in ORDER else "review"
    return Record(
        uid, str(entry["command"]), str(method), status=status,
        summary=str(entry["summary"]), cells=cells, comments=[str(c) for c in entry.get("comments") or []],
        exception=str(entry.get("exception") or ""), files=[f["name"] for f in entry.get("files", [])],
        when=str(entry.get("timestamp", "")),
    )  # fmt: skip
