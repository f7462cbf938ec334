"""The checker's decisions: a chain of their own, whose newest link is noted apart from it.

A chain proves the order of what is there, not that nothing was cut off at its end: a rejection that is gone would make
an approved output of a rejected one. So number and hash of the newest decision are noted in the folder and once more
beside it. Events beyond the note are those of a process that was killed in between; fewer are a fault.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dalenius.core.errors import FileError
from dalenius.data.atomic import write_text
from dalenius.data.lock import locked
from dalenius.outputs.trail import Trail, read_lines, trail_faults

DECISIONS, NOTE, LOCK = "decisions.jsonl", "decisions.head", "decided.lock"
FILES = (DECISIONS, NOTE, LOCK, "decisions.lock")
"""What lies in a folder because of decisions."""


class Decisions:
    """Decisions about the outputs of one folder, which is known by the digest of its manifest.

    Examples
    --------
    >>> import tempfile
    >>> held = Decisions(Path(tempfile.mkdtemp()) / "pack", "abc")
    >>> held.folder.mkdir()
    >>> held.add({"output": "output_0", "decision": "rejected"})
    >>> held.faults()
    []
    >>> (held.folder / DECISIONS).unlink()
    >>> held.faults()
    ['1 noted, but 0 are here: some were cut off']
    """

    def __init__(self, folder: Path, digest: str) -> None:
        self.folder, self.digest = folder, digest

    @property
    def lines(self) -> list[str]:
        """All decisions as text."""
        return read_lines(self.folder / DECISIONS)

    @property
    def notes(self) -> tuple[Path, Path]:
        """Where the newest decision is noted: in the folder and beside it."""
        place = self.folder.absolute()
        return place / NOTE, place.parent / f".{place.name}.decided"

    def add(self, facts: Mapping[str, Any]) -> None:
        """Add a decision and note it down; never to a chain that was changed."""
        with locked(self.folder / LOCK):
            faults = self.faults()
            if faults:
                raise FileError(
                    f"{self.folder}: the decisions so far were changed ({'; '.join(faults)}); put back a copy of the "
                    "folder, or have it written anew by finalise()"
                )
            Trail(self.folder / DECISIONS).add("decided", facts)
            newest = json.loads(self.lines[-1])
            note = {"pack": self.digest, "number": newest["number"], "head": newest["hash"]}
            for path in self.notes:
                write_text(path, json.dumps(note))

    def faults(self) -> list[str]:
        """All that is wrong with the chain, or between it and what was noted."""
        lines = self.lines
        faults = trail_faults(lines)
        noted = [note for note in map(self._noted, self.notes) if note is not None]
        if lines and not noted:
            faults.append("the note of the newest one is missing")
        for number, head in dict.fromkeys(noted):
            if number > len(lines):
                faults.append(f"{number} noted, but {len(lines)} are here: some were cut off")
            elif number < 1 or _hash(lines[number - 1]) != head:
                faults.append("they are not those that were noted")
        return faults

    def _noted(self, path: Path) -> tuple[int, str] | None:
        """Number and hash of a note; None where there is none of this folder."""
        if path.exists() and not path.is_file():
            return 0, ""
        try:
            note = json.loads(path.read_text(encoding="utf-8"))
            return (int(note["number"]), str(note["head"])) if note["pack"] == self.digest else None
        except OSError:
            return None
        except (ValueError, KeyError, TypeError, RecursionError):
            return 0, ""


def _hash(line: str) -> str:
    try:
        return str(json.loads(line)["hash"])
    except (ValueError, KeyError, TypeError):
        return ""
