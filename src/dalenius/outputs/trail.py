"""The trail: events of a project, one line each, every line with the hash of the one before it.

Lines are only ever added, and pushed to the disk before anything else goes on. A line that a killed process left half
written is no event. With a key every event is signed (RFC 8032).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dalenius.core.errors import FileError
from dalenius.data.atomic import private_folder, push
from dalenius.data.lock import locked
from dalenius.release.signing import signature, signature_fault

START = "0" * 64


class Trail:
    """An append-only chain of events; without a file it is kept in memory.

    Examples
    --------
    >>> trail = Trail(None)
    >>> trail.add("made", {"output": "output_0"})
    >>> trail.add("removed", {"output": "output_0"})
    >>> trail_faults(trail.lines), trail_faults(trail.lines[1:])
    ([], ['event 1 is missing or out of order', 'event 2 does not follow the one before it'])
    """

    def __init__(self, path: Path | None, key: str | Path | None = None) -> None:
        self.path, self.key = path, None if key is None else Path(key)
        self._held: list[str] = []
        if path is not None:
            private_folder(path.parent)

    @property
    def lines(self) -> list[str]:
        """All events as text."""
        if self.path is None:
            return list(self._held)
        return read_lines(self.path)

    @property
    def head(self) -> str:
        """Hash of the newest event; whoever notes it down can tell later that nothing was cut off."""
        lines = self.lines
        return str(json.loads(lines[-1])["hash"]) if lines else START

    def start_anew(self) -> None:
        """Set a damaged trail aside, under a name of its own; a whole one goes on."""
        if self.path is not None and self.path.exists() and trail_faults(self.lines):
            stamp = dt.datetime.now(dt.UTC).strftime("%Y%m%d%H%M%S")
            os.replace(self.path, self.path.with_name(f"{self.path.stem}.until-{stamp}{self.path.suffix}"))

    def add(self, what: str, facts: Mapping[str, Any]) -> None:
        """Add an event."""
        if self.path is None:
            self._held.append(self._line(what, facts, self._held))
            return
        with locked(self.path.with_suffix(".lock")):
            lines = read_lines(self.path)
            whole = "".join(line + "\n" for line in lines)
            with self.path.open("ab") as stream:
                stream.truncate(len(whole.encode()))  # half a line of a killed process
                stream.write((self._line(what, facts, lines) + "\n").encode())
            push(self.path)

    def _line(self, what: str, facts: Mapping[str, Any], lines: list[str]) -> str:
        before = json.loads(lines[-1])["hash"] if lines else START
        now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        event: dict[str, Any] = {
            "number": len(lines) + 1,
            "when": now,
            "what": what,
            "facts": dict(facts),
            "before": before,
        }
        event["hash"] = _hash(event)
        if self.key is not None:
            event["signed"] = json.loads(signature(event["hash"].encode(), self.key))
        return json.dumps(event, sort_keys=True)


def read_lines(path: Path) -> list[str]:
    """Whole lines of a trail; half a line at the end is no event."""
    if path.exists() and not path.is_file():
        raise FileError(f"{path}: the trail cannot be read (it is no file)")
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FileError(f"{path}: the trail cannot be read ({error.strerror})") from None
    return [line for line in text[: text.rfind("\n") + 1].split("\n") if line]


def _hash(event: Mapping[str, Any]) -> str:
    body = {k: v for k, v in event.items() if k not in ("hash", "signed")}
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def trail_faults(lines: list[str], public_key: Path | None = None, head: str | None = None) -> list[str]:
    """All that is wrong with a trail: edited, missing, added or moved events, wrong signatures."""
    faults: list[str] = []
    before = START
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
            held, said = str(event["hash"]), event.get("signed")
            if event["number"] != number:
                faults.append(f"event {number} is missing or out of order")
            if event["before"] != before:
                faults.append(f"event {event['number']} does not follow the one before it")
            if held != _hash(event):
                faults.append(f"event {number} was changed")
        except (ValueError, KeyError, TypeError, RecursionError):
            faults.append(f"event {number} is damaged")
            continue
        if public_key is not None:
            fault = signature_fault(held.encode(), None if said is None else json.dumps(said), public_key)
            faults += [f"event {number}: {fault}"] if fault else []
        before = held
    if head is not None and head != before:
        faults.append("the trail does not end with the event that was noted down")
    return faults
