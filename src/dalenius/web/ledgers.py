"""The ledger of a run's data on the page: one a data set, however often its file is opened and its run deleted."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dalenius.data.atomic import private_folder
from dalenius.dp import ledger_path
from dalenius.release.jobs import file_digest
from dalenius.web.workspace import Run, Workspace

KEPT = "ledgers"


def ledger_of(place: Workspace, run: Run) -> Path:
    """Where the ledger of a run's data lies, or would be begun: in the workspace, under the digest of the data.

    Who opens a file twice, or deletes a run and opens its file again, has one budget and not two: what was released
    stays released. A ledger that somebody began beside the file comes first.
    """
    own = ledger_path(run.data)
    if own.is_file():
        return own.resolve()
    held = run.data.stat()
    return private_folder(place.folder / KEPT) / f"{_digest(run.data, held.st_size, held.st_mtime_ns)}.budget"


def put_beside(run: Run, ledger: Path) -> None:
    """Let whatever else is released of the run find its ledger beside the data, as everywhere."""
    own = run.data.with_name(f"{run.data.name}.budget")
    if not own.exists():
        own.symlink_to(ledger)


@cache
def _digest(path: Path, size: int, changed: int) -> str:
    return file_digest(path)
