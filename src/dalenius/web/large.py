"""Files too large for memory on the page: named when the page is started, read in parts, never copied.

A request can name such a file by its number only. What is shown of it comes from its first rows; a run reads all of
them in a process of its own, which says how far it is and can be stopped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, RedirectResponse, Response

from dalenius.core.errors import DaleniusError, DataError
from dalenius.core.registry import MethodInfo
from dalenius.counts.batches import first_rows, open_stream
from dalenius.counts.source_pair import as_frame
from dalenius.data.atomic import write_text
from dalenius.data.exit import stays
from dalenius.data.table import Table
from dalenius.evaluation.measuring import evaluate_files
from dalenius.release.template import roles
from dalenius.synth import METHODS, Candidate
from dalenius.synth.streaming import forecast_file, from_counts, synthesize_file
from dalenius.web.setup_view import seen
from dalenius.web.shell import NoSuchRunError, Shell
from dalenius.web.workspace import Run, note_state

MADE, FIGURES, CHOSEN = "synthetic.parquet", "figures.json", "large.json"
USES = {
    "": "nothing special",
    "key": "an outsider may know it",
    "target": "would hurt if learnt",
    "out": "left out",
}
FIRST = "loglinear"
"""The method that is marked at first: it needs no budget and keeps relations of columns."""
PAUSE = 0.3
"""Seconds between two notes of how far a run is."""


def routes(shell: Shell) -> APIRouter:
    """Addresses of large files."""
    router = APIRouter()

    @router.post("/open-large/{number}")
    async def open_file(number: int) -> Response:
        if not 0 <= number < len(shell.large):
            raise NoSuchRunError("there is no such file")
        run = await run_in_threadpool(opened, shell, shell.large[number])
        return RedirectResponse(f"/run/{run.name}", 303)

    @router.post("/run/{name}/start-large")
    async def begin(name: str, request: Request) -> Response:
        run = _large(shell, name)
        async with request.form(max_files=0, max_fields=20_000) as form:
            facts = {key: str(value) for key, value in form.items()}
        try:
            chosen = await run_in_threadpool(Chosen.checked, run, facts)
        except DaleniusError as error:
            return large_page(shell, run, facts, str(error), 400)
        write_text(run.folder / CHOSEN, json.dumps(vars(chosen)))
        run.start()
        return RedirectResponse(f"/run/{run.name}", 303)

    @router.post("/run/{name}/continue-large")
    def go_on(name: str) -> Response:
        run = _large(shell, name)
        if not (run.folder / CHOSEN).is_file():
            raise DaleniusError("nothing was chosen yet; set the run up first")
        run.start()
        return RedirectResponse(f"/run/{run.name}", 303)

    @router.get(f"/run/{{name}}/{MADE}")
    def take(name: str) -> Response:
        run = _large(shell, name)
        if run.state["state"] != "done":
            raise DaleniusError("the file is not finished")
        return FileResponse(run.folder / MADE, media_type="application/vnd.apache.parquet", filename=MADE)

    return router


@dataclass(frozen=True)
class Chosen:
    """What a large run shall do."""

    method: str
    options: str
    uses: dict[str, str]
    expected: str

    @classmethod
    def checked(cls, run: Run, facts: Mapping[str, str]) -> Chosen:
        """What was chosen on the page; every method says what it lacks, and a run that cannot fit is not begun."""
        method = facts.get("method", "")
        if method not in from_counts():
            raise DataError("choose a method")
        uses = {name: facts.get(f"use-{i}", "") for i, name in enumerate(run.schema.names)}
        made = cls(method, facts.get(f"options-{method}", "").strip(), uses, "")
        if not made.columns:
            raise DataError("every column is left out; keep at least one")
        candidate = made.candidate
        candidate.check()
        cost = forecast_file(run.data, method, columns=made.columns, **candidate.options)
        cost.check(method)
        return cls(method, made.options, uses, str(cost))

    @property
    def columns(self) -> list[str]:
        """Columns of the new file."""
        return [name for name, use in self.uses.items() if use != "out"]

    @property
    def candidate(self) -> Candidate:
        """The method with its options."""
        return Candidate.parse(self.method, self.options.split())

    def used(self, use: str) -> list[str]:
        """Columns with one use."""
        return [name for name, own in self.uses.items() if own == use]


def opened(shell: Shell, path: Path) -> Run:
    """A new run about a file that stays where it is; only its first rows are read."""
    rows, table = _head(path)
    if not table.rows:
        raise DataError("the file has no rows")
    return shell.place.open_large(path, rows, table)


def _head(path: Path) -> tuple[int, Table]:
    """About how many rows a file has, and its first rows."""
    stream = open_stream(path)
    if not Path(path).is_file():
        raise DataError("the file is no longer there")
    rows, head = first_rows(stream, list(stream.schema.names))
    frame = as_frame(head, stream, {})
    return rows, frame if isinstance(frame, Table) else Table.from_frame(frame)


def _large(shell: Shell, name: str) -> Run:
    run = shell.run(name)
    if not run.large:
        raise NoSuchRunError("there is no such run")
    return run


def show_large(shell: Shell, run: Run) -> Response:
    """The page of a large run, by its state."""
    state = run.state
    if state["state"] == "done":
        figures = json.loads((run.folder / FIGURES).read_text(encoding="utf-8"))
        return shell.page("large_result", title=run.facts["title"], run=run, step=4, state=state, **figures)
    if state["state"] in ("running", "stopped", "failed"):
        chosen = Chosen(**json.loads((run.folder / CHOSEN).read_text(encoding="utf-8")))
        return shell.page(
            "large_progress", title=run.facts["title"], run=run, step=3, state=state, chosen=chosen
        )
    return large_page(shell, run)


def large_page(
    shell: Shell, run: Run, typed: Mapping[str, str] | None = None, fault: str = "", status: int = 200
) -> Response:
    """The set-up page of a large file."""
    _, table = _head(run.data)
    facts = _first_guess(table) if typed is None else typed
    columns = [
        {
            "name": column.name,
            "kind": column.kind.value,
            "use": facts.get(f"use-{i}", ""),
            "seen": "not shown" if facts.get(f"use-{i}") == "out" else seen(table[column.name]),
        }
        for i, column in enumerate(table.schema)
    ]
    methods = [
        {"info": info, "options": facts.get(f"options-{info.name}", _example(info))}
        for info in (METHODS[name].info for name in from_counts())
    ]
    return shell.page(
        "large", status, title=run.facts["title"], run=run, step=2, fault=fault, columns=columns, methods=methods,
        chosen=facts.get("method", FIRST), uses=USES, looked=table.rows,
    )  # fmt: skip


def _first_guess(table: Table) -> dict[str, str]:
    keys, targets = roles(table)
    guess = {}
    for i, column in enumerate(table.schema):
        named = stays(column)
        use = "out" if named else "key" if column.name in keys else "target" if column.name in targets else ""
        guess[f"use-{i}"] = use
    return guess


def _example(info: MethodInfo) -> str:
    return " ".join(f"{option}={value}" for option, value in info.example_options.items())


def carry_out_large(run: Run, pid: int) -> None:
    """Make the file and measure it, noting how far it is; the file appears when it is whole."""
    chosen = Chosen(**json.loads((run.folder / CHOSEN).read_text(encoding="utf-8")))
    last = [0.0]

    def note(step: int) -> Any:
        def tell(text: str) -> None:
            if time.monotonic() - last[0] > PAUSE:
                last[0] = time.monotonic()
                note_state(run.folder, state="running", step=step, now=text, pid=pid)

        return tell

    candidate = chosen.candidate.paid_beside(run.data)
    target = run.folder / MADE
    made = synthesize_file(
        run.data, target, candidate.method, columns=chosen.columns, progress=note(1), **candidate.options
    )
    found = evaluate_files(
        run.data, target, None, chosen.used("key") or None, chosen.used("target") or None, progress=note(2),
        keep=run.folder / "counts",
    )  # fmt: skip
    rows = [
        {
            "title": r.title,
            "told": r.told,
            "beside": r.beside,
            "sentence": r.sentence,
            "family": r.info.family,
        }
        for r in found.results.values()
        if r.info is not None
    ]
    notes = [*made.notes, *str(getattr(made.model, "ledger", "")).splitlines(), *found.pair.notes]
    figures = {"rows": made.rows, "figures": rows, "skipped": dict(found.skipped), "notes": notes}
    write_text(run.folder / FIGURES, json.dumps(figures))
    note_state(run.folder, state="done")
