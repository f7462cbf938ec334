"""The history of a memory: every change as one line, each with the hash of the one before, anchored in the trail.

Events of the trail name the newest line. A memory that was deleted, set back to an earlier copy or edited no longer has
it, and the next desk says so instead of starting anew.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

START = "0" * 32

TABLE = """
create table if not exists history (
  number integer primary key, what text, session text, uid text, digest text, state text);
"""


class History:
    """Lines of a memory, in the file of the memory itself; added within its transactions."""

    def __init__(self, store: sqlite3.Connection, key: bytes) -> None:
        self.store = store
        self.mark = hashlib.blake2b(b"the key of this memory", key=key, digest_size=16).hexdigest()
        store.executescript(TABLE)

    def begin(self) -> bool:
        """Write the first line, a mark of the key; whether this is a new memory."""
        if self._last()[0]:
            return False
        self.add("key", digest=self.mark)
        return True

    def add(self, what: str, session: str = "", uid: str = "", digest: str = "") -> None:
        """Write down a change: "key", "units", "kept", "forgotten", "handed" or "drawn"."""
        number, before = self._last()
        state = _next(before, what, session, uid, digest)
        row = (number + 1, what, session, uid, digest, state)
        self.store.execute("insert into history values (?, ?, ?, ?, ?, ?)", row)

    def _last(self) -> tuple[int, str]:
        found = self.store.execute(
            "select number, state from history order by number desc limit 1"
        ).fetchone()
        return (int(found[0]), str(found[1])) if found else (0, START)

    @property
    def anchor(self) -> dict[str, Any]:
        """What an event of the trail says about the memory: number and hash of its newest line."""
        number, state = self._last()
        return {"line": number, "state": state}

    def faults(self, lines: Iterable[str]) -> list[str]:
        """What is wrong with the memory beside the lines of a trail; nothing if they belong together."""
        rows = self.store.execute(
            "select number, what, session, uid, digest, state from history order by number"
        ).fetchall()
        state = START
        for place, (number, *facts, said) in enumerate(rows, 1):
            state = _next(state, *facts)
            if number != place or said != state:
                return [f"line {place} of its history was changed or is missing"]
        if rows and rows[0][4] != self.mark:
            return ["its key was exchanged, so that nobody in it would be known again"]
        states = {int(row[0]): str(row[-1]) for row in rows}
        anchors = list(anchors_of(lines))
        if any(states.get(line) != said for line, said in anchors):
            return [
                f"the trail knows {max(line for line, _ in anchors)} changes of it, of which "
                f"{sum(states.get(line) == said for line, said in anchors)} of {len(anchors)} noted ones are here: "
                "it was deleted, or set back to an earlier copy"
            ]
        if states and not anchors and len(rows) > 1:
            return ["the trail beside it was deleted"]
        return self._rows(rows)

    def _rows(self, rows: list[Any]) -> list[str]:
        """Whether the outputs that are here are those that the history tells of."""
        kept: dict[tuple[str, str], str] = {}
        for _, what, session, uid, digest, _ in rows:
            if what == "kept":
                kept[session, uid] = digest
            elif what == "forgotten":
                kept.pop((session, uid), None)
            elif what == "handed":  # the session is marked: nobody forgets it any more
                kept[digest, uid] = kept.pop((session, uid), "")
        found = {
            (s, u): d for s, u, d in self.store.execute("select session, uid, digest from outputs").fetchall()
        }
        if found != kept:
            return ["outputs were taken out of it or put into it by hand"]
        noise = {str(row[0]) for row in self.store.execute("select name from drawn").fetchall()}
        return (
            []
            if noise == {row[4] for row in rows if row[1] == "drawn"}
            else ["noise was taken out of it by hand"]
        )


def _next(before: str, what: str, session: str, uid: str, digest: str) -> str:
    line = json.dumps([before, what, session, uid, digest])
    return hashlib.blake2b(line.encode(), digest_size=16).hexdigest()


def anchors_of(lines: Iterable[str]) -> Iterable[tuple[int, str]]:
    """Anchors in the events of a trail since the memory was last started anew.

    Examples
    --------
    >>> event = {"what": "made", "facts": {"memory": {"line": 3, "state": "ab"}}}
    >>> list(anchors_of([json.dumps(event)]))
    [(3, 'ab')]
    """
    found: list[tuple[int, str]] = []
    for line in lines:
        try:
            event = json.loads(line)
            if event["what"] == "anew":
                found = []
            held = event["facts"].get("memory")
            if isinstance(held, Mapping):
                found.append((int(held["line"]), str(held["state"])))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return [(n, s) for n, s in found if n > 0]
