"""The release pack: what goes out (``public/``), what stays (``internal/``), and a manifest with a hash of every file."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.registry import MethodInfo
from dalenius.data import Table, read_table, write_table
from dalenius.data.atomic import write_text
from dalenius.evaluation import Comparison, Evaluation, compare
from dalenius.release.codebook import codebook, codebook_text, limits_text
from dalenius.release.plan import Candidate
from dalenius.release.run import Judged, Outcome, file_digest, source
from dalenius.report import Provenance, render_report
from dalenius.synth import SYNTHESIZERS
from dalenius.utility.tables import GOOD, USABLE

MANIFEST = "manifest.json"


def write_pack(outcome: Outcome, threshold: int = 10) -> Path:
    """Write the pack of an outcome; the folder appears whole or not at all."""
    if outcome.chosen is None:
        raise DataError(outcome.why)
    target = outcome.plan.output
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".dalenius-", dir=target.parent) as place:
        folder = Path(place) / "pack"
        _fill(folder, outcome, outcome.chosen, threshold)
        _write_manifest(folder, outcome)
        if target.exists():
            shutil.rmtree(target)
        os.replace(folder, target)
    return target


def release_name(outcome: Outcome) -> str:
    """Name of the released data file; it says that the data are not real."""
    return f"{outcome.plan.input.stem}.synthetic.csv"


def _fill(folder: Path, outcome: Outcome, chosen: Judged, threshold: int) -> None:
    plan = outcome.plan
    original, holdout = source(plan)
    made = {j.candidate.name: read_made(outcome, j.candidate, original) for j in outcome.judged}
    first = plan.scenarios[0]
    names = (
        list(dict.fromkeys([*plan.measures, *(r.measure for r in plan.policy), plan.choose]))
        if plan.measures
        else None
    )
    comparison = compare(original, made, None, first.keys, first.targets, holdout, measures=names)
    best = comparison[chosen.candidate.name]
    info = SYNTHESIZERS[chosen.candidate.method].info
    released = made[chosen.candidate.name]
    write_table(released, folder / "public" / release_name(outcome))
    _write_public(folder / "public", outcome, best, info, released, original, threshold)
    provenance = _provenance(outcome)
    page = render_report(
        comparison,
        provenance,
        title=plan.title,
        threshold=threshold,
        preface=[outcome.why, *_policy_lines(outcome)],
    )
    write_text(folder / "internal" / "report.html", page)
    _write_results(folder / "internal", outcome)
    write_text(folder / "internal" / "plan.yaml", plan.text)


def read_made(outcome: Outcome, candidate: Candidate, original: Table) -> Table:
    """A made file, encoded like the original."""
    table = read_table(outcome.data(candidate))
    open_columns = [
        replace(original.schema[name], levels=None, bounds=None, parent=None, partner=None)
        for name in table.names
    ]
    return Table.from_frame(table.to_frame(), replace(original.schema, columns=tuple(open_columns), rules=()))


def _write_public(
    folder: Path,
    outcome: Outcome,
    best: Evaluation,
    info: MethodInfo,
    released: Table,
    original: Table,
    threshold: int,
) -> None:
    plan = outcome.plan
    dropped = [name for name in original.names if name not in released.names]
    book = codebook(released, info.title, dropped)
    write_text(folder / "codebook.json", _json(book))
    write_text(folder / "codebook.md", codebook_text(book, plan.title))
    good, poor = _readings(best)
    write_text(folder / "limits.md", limits_text(plan.title, info.title, info.guarantee, good, poor))
    bare = Provenance(_date(), "", Provenance.now().versions)
    page = render_report(
        Comparison({release_name(outcome): replace(best, name=release_name(outcome))}), bare,
        title=plan.title, threshold=threshold, public=True,
        preface=[f"This file was made by: {info.title}. {info.meaning}", *([plan.audience] if plan.audience else [])],
    )  # fmt: skip
    write_text(folder / "report.html", page)


def _readings(best: Evaluation) -> tuple[list[str], list[str]]:
    """Columns whose two-way tables are good and those whose are bad, by the mean over their tables."""
    result = best.results.get("two-way-utility")
    if result is None or result.table is None or "first" not in result.table.columns:
        return [], []
    long = pl.concat(
        [result.table.select(pl.col(side).alias("column"), "S_pMSE") for side in ("first", "second")]
    )
    means = dict(long.group_by("column").agg(pl.col("S_pMSE").mean()).sort("column").iter_rows())
    return [c for c, v in means.items() if v < GOOD], [c for c, v in means.items() if v >= USABLE]


def _policy_lines(outcome: Outcome) -> list[str]:
    return [
        f"'{j.candidate.name}' does not meet the policy ({'; '.join(j.broken)})."
        for j in outcome.judged
        if j.broken
    ]


def _write_results(folder: Path, outcome: Outcome) -> None:
    rows: list[dict[str, Any]] = []
    for judged in outcome.judged:
        for scenario, results in judged.figures.items():
            rows += [
                {
                    "candidate": judged.candidate.name, "scenario": scenario, "measure": name, "value": r.value, "unit": r.unit,
                    "low": r.interval.low if r.interval else None, "high": r.interval.high if r.interval else None,
                    "trusted": r.trusted, "meets_policy": judged.safe,
                }
                for name, r in results.items()
            ]  # fmt: skip
    frame = pl.DataFrame(rows, schema_overrides={"low": pl.Float64, "high": pl.Float64, "value": pl.Float64})
    write_table(frame, folder / "results.parquet")
    judged = {
        j.candidate.name: {
            "method": j.candidate.method,
            "options": dict(j.candidate.options),
            "meets_policy": j.safe,
            "broken": list(j.broken),
            "figures": {s: {n: r.to_dict() for n, r in results.items()} for s, results in j.figures.items()},
        }
        for j in outcome.judged
    }
    chosen = outcome.chosen.candidate.name if outcome.chosen else None
    write_text(folder / "results.json", _json({"chosen": chosen, "why": outcome.why, "candidates": judged}))


def _write_manifest(folder: Path, outcome: Outcome) -> None:
    plan = outcome.plan
    files = {str(p.relative_to(folder)): file_digest(p) for p in sorted(folder.rglob("*")) if p.is_file()}
    inputs = [plan.input, plan.schema, plan.holdout if isinstance(plan.holdout, Path) else None]
    body = {
        "format": 1,
        "title": plan.title,
        "date": _date(),
        "seed": plan.seed,
        "plan": plan.digest,
        "chosen": outcome.chosen.candidate.name if outcome.chosen else None,
        "inputs": {path.name: file_digest(path) for path in inputs if path is not None},
        "versions": dict(Provenance.now().versions),
        "files": files,
    }
    write_text(folder / MANIFEST, _json({**body, "digest": digest_of(body)}))


def digest_of(body: dict[str, Any]) -> str:
    """Fingerprint of a manifest without its own digest.

    Examples
    --------
    >>> digest_of({"a": 1}) == digest_of({"a": 1, "digest": "x"})
    True
    """
    facts = {name: value for name, value in body.items() if name != "digest"}
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def _provenance(outcome: Outcome) -> Provenance:
    now = Provenance.now(
        {outcome.plan.input.name: file_digest(outcome.plan.input)}, {"plan": outcome.plan.seed}
    )
    return replace(now, date=_date(), command="dalenius release")


def _date() -> str:
    """Today, or the moment SOURCE_DATE_EPOCH names, for packs that must be the same bytes."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    moment = dt.datetime.fromtimestamp(int(fixed), dt.UTC) if fixed else dt.datetime.now(dt.UTC)
    return moment.date().isoformat()


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True, default=str) + "\n"
