"""What the checker sees of one output: its table with marked cells, reasons, conflicts, fixes, evidence if there."""

from __future__ import annotations

from typing import Any

import polars as pl

from dalenius.outputs.pack import Pack
from dalenius.outputs.record import Record

ORDER = ("fail", "review", "pass")
MOST_ROWS = 200


def queue(pack: Pack) -> list[Record]:
    """Outputs in the order a checker looks at them: what fails first, decided ones last."""
    return sorted(pack.records, key=lambda r: (bool(r.decision), ORDER.index(r.status)))


def shown_output(pack: Pack, record: Record) -> dict[str, Any]:
    """Facts of one output for the page."""
    found = [
        (name, f["verdict"], f["sentence"]) for name, f in record.checks.items() if f["verdict"] != "pass"
    ]
    files = [name for name in record.files if name.endswith(".csv")]
    table = _table(pack, record, files[0]) if files else None
    fixes = [
        {**o, "table": _table(pack, record, o["file"]) if o.get("file") else None} for o in record.offers
    ]
    return {"record": record, "found": found, "table": table, "evidence": _evidence(pack, record), "fixes": fixes,
            "passed": [n for n, f in record.checks.items() if f["verdict"] == "pass"]}  # fmt: skip


def _table(pack: Pack, record: Record, name: str) -> dict[str, Any] | None:
    """The figures that would leave: crossed where there are two dimensions, otherwise one row a cell."""
    if not (pack.folder / name).is_file():
        return None
    frame = pl.read_csv(pack.folder / name, infer_schema=False)
    labels = [n for n in record.labels if n in frame.columns]
    figures = [n for n in frame.columns if n not in labels]
    marks = (
        {}
        if name not in record.files
        else {tuple(str(c.get(n)) for n in labels): str(c["outcome"]) for c in record.cells if "outcome" in c}
    )
    if len(labels) == 2 and len(figures) == 1:
        return _crossed(frame, labels, figures[0], marks)
    rows = []
    for row in frame.head(MOST_ROWS).iter_rows(named=True):
        why = marks.get(tuple(str(row[n]) for n in labels), "") if labels else ""
        rows.append({"head": [row[n] for n in labels], "cells": [(row[n], why) for n in figures]})
    return {"head": labels, "names": figures, "rows": rows, "more": max(frame.height - MOST_ROWS, 0)}


def _crossed(
    frame: pl.DataFrame, labels: list[str], figure: str, marks: dict[tuple[str, ...], str]
) -> dict[str, Any]:
    names = frame[labels[1]].unique(maintain_order=True).to_list()
    held = {(row[labels[0]], row[labels[1]]): row[figure] for row in frame.iter_rows(named=True)}
    rows = []
    for label in frame[labels[0]].unique(maintain_order=True).to_list()[:MOST_ROWS]:
        cells = [(held.get((label, n)), marks.get((str(label), str(n)), "")) for n in names]
        rows.append({"head": [label], "cells": cells})
    return {"head": [labels[0]], "names": [f"{labels[1]} {n}" for n in names], "rows": rows, "more": 0}


def _evidence(pack: Pack, record: Record) -> dict[str, Any] | None:
    """Confidential figures by cell; None without the folder."""
    held = pack.evidence(record.uid)
    if held is None:
        return None
    found = held["evidence"]
    names = [n for n in ("units", "rows", "missing", "exits", "left") if n in found["figures"]]
    labels = list(found["cells"])
    size = len(found["cells"][labels[0]]) if labels else 0
    if not names or any(len(found["figures"][n]) != size for n in names):
        return {"names": [], "rows": [], "facts": found["facts"]}
    rows = [
        [*(found["cells"][n][i] for n in labels), *(found["figures"][n][i] for n in names)]
        for i in range(min(size, MOST_ROWS))
    ]
    return {"names": [*labels, *names], "rows": rows, "facts": found["facts"]}
