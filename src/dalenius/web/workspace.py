"""The workspace: a folder that holds the runs of the page, one folder each; a restart finds them again.

Names of run folders are made here, never taken from a request; a request can only name one that exists.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from dalenius.core.errors import DataError
from dalenius.data.atomic import PRIVATE_FILE, private_folder, write_text
from dalenius.data.files import open_file, read, takes, write
from dalenius.data.relations import Database
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.web.choices import Choices

ENDINGS = (
    ".csv",
    ".tsv",
    ".txt",
    ".parquet",
    ".geoparquet",
    ".geojson",
    ".xlsx",
    ".sav",
    ".dta",
    ".sas7bdat",
)
RUNNER = "dalenius.web.runner"
TABLES, DATABASE = "tables", "database.yaml"
"""The folder of several tables in a run, and what says how they hang together."""
_NAME = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True)
class Run:
    """One run: its data, schema, plan, state and pack, all inside one folder."""

    folder: Path

    @property
    def name(self) -> str:
        """Name in addresses."""
        return self.folder.name

    @property
    def facts(self) -> dict[str, Any]:
        """What was noted when the data were opened."""
        return _read(self.folder / "run.json")

    @property
    def data(self) -> Path:
        """The data file."""
        return self.folder / str(self.facts["file"])

    @property
    def schema(self) -> Schema:
        """What the columns are, as guessed and corrected."""
        return Schema.from_yaml(self.folder / "schema.yaml")

    def table(self) -> Table:
        """The data, by the schema."""
        return read(self.data, schema=self.schema)

    @property
    def several(self) -> bool:
        """Whether the run is about several tables."""
        return self.data.is_dir()

    @property
    def large(self) -> bool:
        """Whether the data stay where they are and are read in parts."""
        return bool(self.facts.get("large"))

    def base(self) -> Database:
        """The tables, with keys and links as guessed and corrected."""
        return Database.read(self.data, self.folder / DATABASE)

    @property
    def choices(self) -> Choices | None:
        """What was chosen on the set-up page before."""
        found = _read(self.folder / "choices.json")
        return Choices.from_dict(found) if found else None

    @property
    def plan(self) -> Path:
        """The plan of the run."""
        return self.folder / "plan.yaml"

    @property
    def pack(self) -> Path:
        """The release pack."""
        return self.folder / "release"

    @property
    def state(self) -> dict[str, Any]:
        """Where the run is: "new", "running", "done", "refused", "failed" or "stopped"."""
        found = _read(self.folder / "state.json") or {"state": "new"}
        if found["state"] == "running" and _runner(found.get("pid"), self.folder) is None:
            found = _read(self.folder / "state.json")  # it may have finished between the two looks
            return {**found, "state": "stopped"} if found["state"] == "running" else found
        return found

    def start(self) -> None:
        """Carry out the plan in a process of its own, so that it can be stopped and the page stays quick."""
        if self.state["state"] == "running":
            return
        with (self.folder / "log.txt").open("wb") as log:
            os.fchmod(log.fileno(), PRIVATE_FILE)
            process = subprocess.Popen(
                [sys.executable, "-m", RUNNER, str(self.folder)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        _STARTED[self.name] = process
        note_state(self.folder, state="running", done=0, of=0, now="starting", pid=process.pid)

    def cancel(self) -> None:
        """Stop the run, also one that an earlier start of the page began; what is finished is kept."""
        found = self.state
        runner = _runner(found.get("pid"), self.folder)
        if runner is not None:
            runner.kill()
            runner.wait(timeout=10)
        process = _STARTED.pop(self.name, None)
        if process is not None:
            process.wait()
        if found["state"] == "running":
            note_state(self.folder, **{**found, "state": "stopped"})

    def delete(self) -> None:
        """Remove the run with its data and results for good."""
        self.cancel()
        shutil.rmtree(self.folder)


_STARTED: dict[str, subprocess.Popen[bytes]] = {}
"""Processes this server started, kept so that their ends are noticed."""


class Workspace:
    """All runs of one folder.

    Examples
    --------
    >>> import tempfile
    >>> place = Workspace(Path(tempfile.mkdtemp()))
    >>> place.runs()
    []
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        for place in (self.folder, self.folder / "runs"):
            private_folder(place)

    def runs(self) -> list[Run]:
        """Runs, newest first."""
        held = [
            p
            for p in (self.folder / "runs").iterdir()
            if _NAME.fullmatch(p.name) and (p / "run.json").is_file()
        ]
        return [Run(p) for p in sorted(held, key=lambda p: -(p / "run.json").stat().st_mtime)]

    def run(self, name: str) -> Run | None:
        """A run by name; None for anything that is not the name of one."""
        folder = self.folder / "runs" / name
        if not _NAME.fullmatch(name) or not (folder / "run.json").is_file():
            return None
        return Run(folder)

    def open(self, source: Path, title: str, sheet: str = "") -> Run:
        """A new run from a data file, which is moved into the workspace under a name of ours.

        Of a workbook only the named sheet is kept, so that whatever reads the run's file reads that one.
        """
        ending = source.suffix.lower()
        if ending not in ENDINGS:
            raise DataError(f"the page reads {', '.join(ENDINGS)} files")
        folder = private_folder(self.folder / "runs" / secrets.token_hex(6))
        try:
            data = folder / f"data{ending}"
            shutil.move(source, data)
            data.chmod(PRIVATE_FILE)
            if sheet and "sheet" not in takes(data):
                raise DataError("only a workbook has sheets; leave the name of the sheet out")
            opened = open_file(data, None, **({"sheet": sheet} if sheet else {}))
            if not opened.table.rows:
                raise DataError("the file has no rows")
            if sheet:
                write(opened.table, data, sheet=sheet)
            opened.table.schema.to_yaml(folder / "schema.yaml")
            facts = {**_facts(data, title, opened.table), "told": list(opened.told)}
            write_text(folder / "run.json", json.dumps(facts))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return Run(folder)

    def open_large(self, source: Path, rows: int, head: Table) -> Run:
        """A new run about a file that stays where it is; its first rows say what the columns are."""
        folder = private_folder(self.folder / "runs" / secrets.token_hex(6))
        open_domains = tuple(replace(column, levels=None, bounds=None) for column in head.schema)
        Schema(open_domains).to_yaml(folder / "schema.yaml")
        size = {"rows": rows, "columns": len(head.names), "large": True}
        facts = {"file": str(source.resolve()), "title": source.name[:120], "opened": _now(), **size}
        write_text(folder / "run.json", json.dumps(facts))
        return Run(folder)

    def open_folder(self, sources: Sequence[Path], title: str) -> Run:
        """A new run from the files of several tables; rows without a parent are kept, so that they can be seen."""
        folder = private_folder(self.folder / "runs" / secrets.token_hex(6))
        try:
            place = private_folder(folder / TABLES)
            for source in sources:
                shutil.move(source, place / source.name)
                (place / source.name).chmod(PRIVATE_FILE)
            base = Database.read(place, orphans="keep")
            if not all(table.rows for table in base.tables.values()):
                raise DataError("every table needs at least one row")
            base.to_yaml(folder / DATABASE)
            held = base.tables.values()
            size = {"rows": sum(t.rows for t in held), "columns": sum(len(t.names) for t in held)}
            facts = {"file": TABLES, "title": title[:120], "opened": _now(), **size}
            write_text(folder / "run.json", json.dumps(facts))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return Run(folder)

    def again(self, run: Run) -> Run:
        """A new run with the data and choices of another, so that what came of that one is kept."""
        folder = private_folder(self.folder / "runs" / secrets.token_hex(6))
        facts = {**run.facts, "opened": _now()}
        try:
            if run.several:
                shutil.copytree(run.data, folder / run.data.name, copy_function=os.link)
            elif not run.large:
                os.link(run.data, folder / run.data.name)
        except OSError:  # a file system without links
            if run.several:
                shutil.copytree(run.data, folder / run.data.name, dirs_exist_ok=True)
            else:
                shutil.copy2(run.data, folder / run.data.name)
        for name in ("schema.yaml", "choices.json", DATABASE):
            if (run.folder / name).is_file():
                shutil.copy2(run.folder / name, folder / name)
        write_text(folder / "run.json", json.dumps(facts))
        return Run(folder)


def _facts(data: Path, title: str, table: Table) -> dict[str, Any]:
    size = {"rows": table.rows, "columns": len(table.names)}
    return {"file": data.name, "title": title[:120], "opened": _now(), **size}


def _now() -> str:
    return dt.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")


def note_state(folder: Path, **facts: Any) -> None:
    """Write where a run is."""
    write_text(folder / "state.json", json.dumps(facts))


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _runner(pid: Any, folder: Path) -> psutil.Process | None:
    """The process that carries out the run of a folder; None when it has ended or the number is now another's."""
    try:
        process = psutil.Process(int(pid or 0))
        words = process.cmdline()
        if not words:  # a process has no words for an instant while it starts
            time.sleep(0.1)
            words = process.cmdline()
    except (psutil.Error, ValueError):
        return None
    return process if RUNNER in words and str(folder) in words else None
