"""Noise that was drawn: the same table gets the same noise again, and what was spent is known.

Noise that is drawn anew for the same counts averages away. So a draw is kept in the memory of the project under a keyed
hash of the table (labels, counts, who is in it, and the budget).
"""

from __future__ import annotations

import hashlib
import sqlite3
from typing import TYPE_CHECKING

import numpy as np

from dalenius.outputs.partition import Partition
from dalenius.outputs.query import Floats

if TYPE_CHECKING:
    from dalenius.outputs.memory import Memory
    from dalenius.outputs.output import Output

TABLE = """
create table if not exists drawn (name text primary key, epsilon real, paid integer not null default 0, body blob);
"""


class Drawn:
    """Draws of noise of one project, in the file of its memory."""

    def __init__(self, memory: Memory, store: sqlite3.Connection) -> None:
        self.memory, self.store = memory, store
        store.executescript(TABLE)

    def name(self, out: Output, epsilon: float, ledger: bool) -> str:
        """Under which a draw for a table is kept; one that a ledger pays for is another than one that none does."""
        part = self.memory.partition(out)
        counts = out.judged.evidence.figures["rows"]
        facts = [
            self.memory.labels(out.query.frame()).encode(),
            counts.tobytes(),
            repr((float(epsilon), ledger)).encode(),
        ]
        facts.append(b"" if part is None else Partition.digest(part.body).encode())
        return hashlib.blake2b(b"\x00".join(facts), key=self.memory.key, digest_size=16).hexdigest()

    def get(self, name: str) -> Floats | None:
        """A draw that was made before."""
        row = self.store.execute("select body from drawn where name = ?", (name,)).fetchone()
        return None if row is None else np.frombuffer(row[0], np.float64)

    def keep(self, name: str, epsilon: float, values: Floats) -> Floats:
        """Keep a draw; another desk may have been faster, and then its draw counts."""
        with self.memory.change():
            row = (name, epsilon, np.ascontiguousarray(values).tobytes())
            self.store.execute("insert or ignore into drawn (name, epsilon, body) values (?, ?, ?)", row)
            self.memory.history.add("drawn", digest=name)
        found = self.get(name)
        assert found is not None
        return found

    def pay(self, out: Output, epsilon: float, ledger: bool) -> None:
        """Note that a draw became an output."""
        name = self.name(out, epsilon, ledger)
        with self.memory.change():
            self.store.execute("update drawn set paid = 1 where name = ?", (name,))

    def spent(self, name: str) -> float:
        """What was spent on all draws that became outputs, this one included."""
        rows = self.store.execute("select epsilon from drawn where paid = 1 or name = ?", (name,)).fetchall()
        return float(sum(row[0] for row in rows))
