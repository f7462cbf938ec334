"""What a pack is remade from: candidates that are made again, and those that are given because they cannot be."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dalenius.core.errors import DaleniusError
from dalenius.core.result import Result
from dalenius.data import write
from dalenius.data.atomic import write_text
from dalenius.release.copies import data_file, released_tables
from dalenius.release.jobs import CHOICE, WHOLE, WHOLE_LENS, job_path, note_made, read_made, source
from dalenius.release.outcome import Judged
from dalenius.release.pack import is_data
from dalenius.release.plan import Plan
from dalenius.release.run import note_code, work_folder
from dalenius.release.several import TABLES, read_tables, whole_base
from dalenius.synth import Candidate

ENDINGS = (".json", ".parquet", ".ledger", ".paid", ".lens", ".steps", WHOLE, WHOLE_LENS)


class Damage(DaleniusError):
    """A file of the pack does not say what it should."""


@dataclass(frozen=True)
class Remaking:
    """A plan whose candidates stand ready in a work folder of its own, and what can be compared afterwards."""

    plan: Plan
    whole: bool
    remarks: list[str]

    def covers(self, name: str) -> bool:
        """Whether a file of the pack can be remade; copies of the data are compared by content elsewhere."""
        if is_data(name):
            return name.endswith(".csv")
        return self.whole or name.startswith("public/") or name == "internal/plan.yaml"


def remaking(place: Path, pack: Path, body: dict[str, Any], plan: Plan, anew: bool) -> Remaking:
    """Lay out what a pack is remade from.

    Candidates are made again where that is wanted (``anew``) and possible. The others are taken from the folder the run
    kept; if they are no longer there, the chosen file comes out of the pack and the rest is left out.
    """
    chosen = next((c for c in plan.candidates if c.name == body["chosen"]), None)
    if chosen is None:
        raise Damage("the plan has no candidate of the name that the manifest says was chosen")
    kept = work_folder(plan)
    given = [c for c in plan.candidates if not (anew and c.repeatable)]
    whole = all(_is_kept(kept, c, plan.replicates) for c in given)
    again = replace(plan, candidates=plan.candidates if whole else (chosen,), output=place / plan.output.name)
    work = work_folder(again)
    write_text(work / "date", str(body["date"]))
    note_code(work)  # figures that were kept are held against the pack
    if whole:
        _copy(kept, work, given, plan.replicates)
    elif chosen in given:
        _take_out(pack, work, plan, chosen)
    for job in (job_path(work, c, r) for c in given for r in range(plan.replicates)):
        if not job.with_suffix(".paid").is_file():
            write_text(job.with_suffix(".paid"), "[]")  # whoever verifies buys nothing
    write_text(work / CHOICE, chosen.name)
    if chosen in given:
        job_path(work, chosen, 0).unlink(missing_ok=True)  # its figures are computed again
    return Remaking(again, whole, _remarks(plan, chosen, whole, anew))


def _remarks(plan: Plan, chosen: Candidate, whole: bool, anew: bool) -> list[str]:
    remarks = []
    if not chosen.repeatable:
        remarks.append(
            f"fresh noise is part of the guarantee of '{chosen.name}', so its data were not made again; its figures, "
            "policy and reports were remade from the data that are there"
        )
    others = [c for c in plan.candidates if c is not chosen]
    if others and not whole:
        remarks.append(
            "the other candidates are not here any more, so what is said about them was not remade"
        )
    fresh = [c.name for c in others if not c.repeatable]
    if anew and whole and fresh:
        remarks.append(f"not made again, because fresh noise is part of them: {', '.join(fresh)}")
    return remarks


def _is_kept(work: Path, candidate: Candidate, replicates: int) -> bool:
    jobs = [job_path(work, candidate, r) for r in range(replicates)]
    return all(job.is_file() for job in jobs) and jobs[0].with_suffix(".parquet").is_file()


def _copy(kept: Path, work: Path, given: list[Candidate], replicates: int) -> None:
    for candidate in given:
        for replicate in range(replicates):
            for ending in ENDINGS:
                path = job_path(kept, candidate, replicate).with_suffix(ending)
                if path.is_file():
                    shutil.copyfile(path, work / path.name)
            tables = job_path(kept, candidate, replicate).with_suffix(TABLES)
            if tables.is_dir():
                shutil.copytree(tables, work / tables.name)


def _take_out(pack: Path, work: Path, plan: Plan, chosen: Candidate) -> None:
    """The chosen file out of the pack, with its ledger, and the figures of the other times it was made."""
    first = job_path(work, chosen, 0)
    if plan.several:
        made = read_tables(released_tables(pack / "public", whole_base(plan)), whole_base(plan))
        first.with_suffix(TABLES).mkdir(parents=True)
        for name, table in made.tables.items():
            write(table, first.with_suffix(TABLES) / f"{name}.parquet")
        note_made(plan, first)
    else:
        original, _ = source(plan)
        write(read_made(data_file(pack), original), first.with_suffix(".parquet"))
    facts = _read(pack / "internal" / "provenance.json")
    budgets = facts.get("privacy_budgets")
    write_text(
        first.with_suffix(".ledger"), str(budgets.get(chosen.name, "") if isinstance(budgets, dict) else "")
    )
    write_text(first.with_suffix(".paid"), json.dumps(facts.get("paid_figures") or [], ensure_ascii=False))
    try:
        facts = _read(pack / "internal" / "results.json")["candidates"][chosen.name]
        for replicate, figures in enumerate(facts["replicates"]):
            stored = {"notes": facts["notes"], "figures": figures, "rows": facts.get("rows") or {}}
            write_text(job_path(work, chosen, replicate), json.dumps(stored, default=str))
    except (KeyError, TypeError):
        raise Damage("internal/results.json does not say what it should") from None


def figure_faults(pack: Path, chosen: Judged) -> list[str]:
    """Figures of the chosen file that the pack tells otherwise than they come out."""
    body = _read(pack / "internal" / "results.json")
    try:
        told = body["candidates"][chosen.candidate.name]["replicates"][0]
        return [
            f"{name} in scenario {scenario!r} does not come out again"
            for scenario, results in chosen.runs[0].items()
            for name, result in results.items()
            if not _same(result, told[scenario][name])
        ]
    except (KeyError, TypeError, IndexError, ValueError):
        raise Damage("internal/results.json does not say what it should") from None


def _same(result: Result, told: dict[str, Any]) -> bool:
    now = {"value": result.value, **result.yardsticks}
    then = {"value": told["value"], **told["yardsticks"]}
    return now.keys() == then.keys() and all(_close(now[k], then[k]) for k in now)


def _close(value: float, before: Any) -> bool:
    if before is None:
        return math.isnan(value)
    return math.isclose(value, float(before), rel_tol=1e-9, abs_tol=1e-12)


def _read(path: Path) -> dict[str, Any]:
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        body = None
    if not isinstance(body, dict):
        raise Damage(f"internal/{path.name} is damaged")
    return body
