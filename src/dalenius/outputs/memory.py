"""`Memory`: what was released before, by every desk of a project, and what a new output gives away beside it.

Units are kept as keyed hashes (the key lies beside the file, for the owner only), outputs as the units behind each
shown cell (`Partition`), sums and means also with what each unit contributes (`Contributions`: hashes and coarse sizes,
never values). A new output is compared with each earlier one, and then with as many of them as can be looked at
together (`Comparison`). Every change is a line of the memory's history, which the trail anchors.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dalenius.core.errors import FileError
from dalenius.data.atomic import PRIVATE_FILE, private_folder
from dalenius.outputs.checks import Finding
from dalenius.outputs.contributions import Contributions
from dalenius.outputs.drawn import Drawn
from dalenius.outputs.hashing import Words, unit_words
from dalenius.outputs.history import History
from dalenius.outputs.looking import compared
from dalenius.outputs.partition import Partition, fineness
from dalenius.outputs.policy import Policy
from dalenius.outputs.query import Bools, Ints, Query
from dalenius.outputs.rows import Rows
from dalenius.outputs.told import Told, told_of

if TYPE_CHECKING:
    from dalenius.outputs.output import Output

HANDED = "+"
"""Stands in the session of an output that was handed over."""
LINEAR = frozenset("dghikl")
"""Statbarns whose figures change with every value of everybody: sums, models, tests, shapes, concentration."""
SMALL = 24
"""Cells of sums up to which all combinations with others are looked at, also of people with one row each."""
CACHED = 6
"""Contributions that are held in working memory."""

TABLES = """
create table if not exists units (batch integer primary key, hashes blob);
create table if not exists partitions (digest text primary key, cells integer, body blob);
create table if not exists contributions (name text primary key, variable text, body blob);
create table if not exists outputs (
  id integer primary key, session text, desk text, uid text, command text, variable text, labels text, digest text,
  held text, form integer not null default 0, outcome text, more text, sketch text, unique (session, uid));
"""


@dataclass(frozen=True)
class Earlier:
    """One earlier output: who made it and how, and where its units are."""

    id: int
    session: str
    desk: str
    uid: str
    command: str
    variable: str | None
    labels: str
    digest: str
    held: str | None
    form: bool = False
    outcome: str | None = None
    more: str | None = None
    sketch: str | None = None

    @property
    def told(self) -> str:
        """How a reader is told which it is."""
        return f"{self.uid} of {self.desk!r} ({self.command})"


class Memory:
    """The memory of a project; without a folder it lasts as long as the desk.

    Examples
    --------
    >>> Memory(None).earlier()
    []
    """

    def __init__(self, folder: Path | None) -> None:
        self.session = secrets.token_hex(8)
        self.folder = folder
        if folder is None:
            self.key, place = secrets.token_bytes(32), ":memory:"
        else:
            if folder.exists() and not folder.is_dir():
                raise FileError(f"{folder}: this is a file; the memory of a project is a folder")
            private_folder(folder)
            self.key, place = _key(folder / "memory.key"), str(folder / "memory.sqlite")
        try:
            self.store = sqlite3.connect(place, timeout=60.0, isolation_level=None)
            if folder is not None:
                os.chmod(place, PRIVATE_FILE)
                self.store.execute("pragma journal_mode = wal")
            self.store.executescript(TABLES)
            there = [row[1] for row in self.store.execute("pragma table_info(outputs)")]
            later = (
                ("form", "integer not null default 0"),
                *((n, "text") for n in ("outcome", "more", "sketch")),
            )
            for name, kind in later:
                if name not in there:  # a memory of an earlier version
                    self.store.execute(f"alter table outputs add column {name} {kind}")
            self.history = History(self.store, self.key)
            self.drawn = Drawn(self, self.store)
        except sqlite3.DatabaseError:
            raise FileError(f"{place}: this is not the memory of a project; choose another folder") from None
        self._known: tuple[Any, Ints] | None = None
        self._hashes = np.zeros(0, np.uint64)
        self._batches = 0
        self._made: tuple[Any, tuple[bytes, bytes], Partition] | None = None
        self._held: tuple[Partition, Contributions] | None = None
        self._more: tuple[Any, tuple[bytes, bytes], Told] | None = None
        self._rows: tuple[Any, tuple[bytes, bytes], Rows | None] | None = None
        self._cache: dict[str, Contributions] = {}

    @contextmanager
    def change(self) -> Iterator[None]:
        """One change of the file: whole or not at all."""
        self.store.execute("begin immediate")
        try:
            yield
            self.store.execute("commit")
        except BaseException:
            self.store.execute("rollback")
            raise

    def start_anew(self) -> None:
        """Empty the memory; the trail keeps why."""
        with self.change():
            for table in ("units", "partitions", "contributions", "outputs", "drawn", "history"):
                self.store.execute(f"delete from {table}")
        self._known, self._hashes, self._batches = None, np.zeros(0, np.uint64), 0
        self._cache.clear()

    # Who is who.

    @property
    def units(self) -> int:
        """Number of units seen so far."""
        self._refresh()
        return len(self._hashes)

    def numbers(self, ids: Sequence[Any]) -> Ints:
        """Numbers of units by their names; new ones are added, as keyed hashes."""
        if self._known is not None and _same(self._known[0], ids):
            return self._known[1]
        hashes = unit_words(ids, self.key)
        with self.change():
            self._refresh()
            numbers, fresh = _placed(self._hashes, hashes)
            if len(fresh):
                body = fresh.tobytes()
                self.store.execute("insert into units (hashes) values (?)", (body,))
                self.history.add("units", digest=Partition.digest(body))
        self._refresh()
        self._known = (ids, numbers)
        return numbers

    def known(self, ids: Sequence[Any]) -> Ints:
        """Numbers of units by their names; -1 for new ones, which are not added."""
        self._refresh()  # a unit that another desk added meanwhile is none of the new ones
        numbers, _ = _placed(self._hashes, unit_words(ids, self.key))
        return np.where(numbers < len(self._hashes), numbers, -1)

    def _refresh(self) -> None:
        rows = self.store.execute(
            "select batch, hashes from units where batch > ? order by batch", (self._batches,)
        )
        for batch, blob in rows.fetchall():
            self._hashes = np.concatenate([self._hashes, np.frombuffer(blob, np.uint64)])
            self._batches = int(batch)

    def rows_of(self, out: Output) -> Ints | None:
        """Unit number of each record; None where records cannot be told again."""
        query = out.query
        if query.ids is None:
            return None
        numbers = self.numbers(query.ids)
        return numbers if query.unit is None else numbers[query.unit]

    def partition(self, out: Output) -> Partition | None:
        """The units behind the shown cells of an output."""
        rows = self.rows_of(out)
        if rows is None or not out.query.rows:
            return None
        query = out.merged or out.query
        if self._made is not None and self._made[0] is query and self._made[1] == _shown(out):
            return self._made[2].resized(self.units)
        hidden = self._hidden(out)
        guarded = None
        if out.merged is None and out.primary is not None:
            guarded = out.primary & hidden & (out.judged.evidence.number >= out.desk.policy.threshold)
        part = Partition.of(query, hidden, rows, self.units, guarded)
        self._made = (query, _shown(out), part)
        return part

    def contributed(self, out: Output, part: Partition) -> Contributions | None:
        """What each unit contributes to a sum, a model or the like; None for counts."""
        query, rows = out.merged or out.query, self.rows_of(out)
        linear = out.unknown or any(barn.id in LINEAR for barn in out.judged.statbarns)
        if query.value is None or not linear or rows is None:
            return None
        if self._held is None or self._held[0] is not part:
            self._held = (part, Contributions.of(query, part, self._hidden(out), rows, self.words, self.key))
        return self._held[1]

    def outcome(self, out: Output, part: Partition) -> Contributions | None:
        """What each unit's outcome of a model is; None for everything else."""
        value, rows = out.query.facts.get("outcome"), self.rows_of(out)
        if value is None or rows is None or value.ndim != 1:
            return None
        query = replace(out.query, value=value)
        return Contributions.of(query, part, self._hidden(out), rows, self.words, self.key)

    def several(self, out: Output) -> Rows | None:
        """What people have in the shown cells of a small table of sums, or of any once anybody has several rows."""
        query, rows, shown = out.merged or out.query, self.rows_of(out), _shown(out)
        added = any(barn.id in (LINEAR if query.value is not None else "a") for barn in out.judged.statbarns)
        counted = query.value is not None and any(barn.id == "a" for barn in out.judged.statbarns)
        if rows is None or out.form or fineness(query) > 1 or not (added or counted):
            return None
        if self._rows is None or self._rows[0] is not query or self._rows[1] != shown:
            there = None if query.value is None else np.where(np.isnan(query.value), np.nan, 1.0)
            asked = query if added else replace(query, value=there)
            small = added and query.value is not None and len(query.frame()) <= SMALL
            wanted = (
                small or (query.unit is not None and bool((np.bincount(rows) > 1).any())) or self._sketched
            )
            made = self.rows_asked(out, asked, rows) if wanted else None
            self._rows = (query, shown, made)
        return self._rows[2]

    def rows_asked(self, out: Output, asked: Query, numbers: Ints) -> Rows:
        """What people have in the shown cells of an output, by these numbers or by rows."""
        return Rows.of(asked, self._hidden(out), numbers, self.words, self.key)

    @property
    def _sketched(self) -> bool:
        """Whether an earlier output is about people with several rows."""
        held = "select 1 from outputs where sketch like 'several%' limit 1"
        return self.store.execute(held).fetchone() is not None

    def told(self, out: Output) -> Told:
        """What an output tells beyond who is in its cells."""
        query, rows = out.merged or out.query, self.rows_of(out)
        shown = _shown(out)
        if self._more is None or self._more[0] is not query or self._more[1] != shown or out.rounded:
            known = np.zeros(0, np.int64) if rows is None else rows
            self._more = (query, shown, told_of(self, out, self._hidden(out), known, out.desk.policy))
        return self._more[2]

    @property
    def words(self) -> Words:
        """Keyed hashes of all units, by number."""
        return self._hashes[: self.units]

    @staticmethod
    def _hidden(out: Output) -> Bools:
        return out.hidden if out.merged is None else np.zeros(len(out.merged.frame()), np.bool_)

    # What is kept.

    def keep(self, desk: str, out: Output) -> None:
        """Keep an output that may be released; one that fails, without a reason given, is not."""
        if not out.desk.policy.differencing and self.folder is None:
            return  # other desks of a project may look back
        self.forget(desk, out.record.uid)
        if (
            not out.watched
            or not (out.exact or out.rounded)
            or (out.status == "fail" and not out.record.exception)
        ):
            return
        part = self.partition(out)
        if part is None:
            if out.query.rows:  # nobody is known again, and that is to be known
                with self.change():
                    self._insert(desk, out, "", (None, None, "", None))
            return
        body = part.body
        digest, held, outcome = Partition.digest(body), self.contributed(out, part), self.outcome(out, part)
        rows = None if out.rounded else self.several(out)
        with self.change():
            name = None if held is None else self._put(out.query.variable, held, rows)
            target = None if outcome is None else self._put(f"outcome of {out.query.variable}", outcome)
            self.store.execute(
                "insert or ignore into partitions values (?, ?, ?)", (digest, part.cells, body)
            )
            if rows is not None:
                self.store.execute(
                    "insert or ignore into contributions values (?, 'rows', ?)",
                    (rows.name, rows.stored(self.key)),
                )
            sketch = None if rows is None else rows.name
            self._insert(desk, out, digest, (name, target, self.told(out).text(), sketch))

    def _insert(self, desk: str, out: Output, digest: str, held: tuple[str | None, ...]) -> None:
        uid, query = out.record.uid, out.query
        labels = self.labels((out.merged or query).frame())
        row = (self.session, desk, uid, query.command, query.variable, labels, digest, out.form, *held)
        self.store.execute(
            "insert into outputs "
            "(session, desk, uid, command, variable, labels, digest, form, held, outcome, more, sketch) "
            "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        self.history.add("kept", self.session, uid, digest)

    @staticmethod
    def labels(frame: pl.DataFrame) -> str:
        """Labels of the cells as text."""
        return json.dumps(frame.rows()[:20_000])

    def _put(self, variable: str | None, held: Contributions, by_rows: Rows | None = None) -> str:
        """Store contributions; those of one variable that never differ are stored once.

        Sums of people in several cells are known again by their rows: nothing is kept twice.
        """
        if by_rows is not None and held.places is not None:
            return ""
        if held.places is None:
            rows = self.store.execute(
                "select name from contributions where variable is ? order by rowid desc limit 3", (variable,)
            )
            for (name,) in rows.fetchall():
                before = self.contributions(name)
                both = before.joined(held)
                if both is not None:
                    if both is not before:
                        self._write(name, variable, both)
                    return str(name)
        name = secrets.token_hex(8)
        self._write(name, variable, held)
        return name

    def _write(self, name: str, variable: str | None, held: Contributions) -> None:
        row = (name, variable, held.stored(self.key))
        self.store.execute("insert or replace into contributions values (?, ?, ?)", row)
        self._cache.pop(name, None)

    def contributions(self, name: str) -> Contributions:
        """Contributions that were stored under a name."""
        if name not in self._cache:
            row = self.store.execute("select body from contributions where name = ?", (name,)).fetchone()
            if row is None:
                raise FileError("the memory of the project is damaged: put back a copy of its folder")
            while len(self._cache) >= CACHED:
                self._cache.pop(next(iter(self._cache)))
            self._cache[name] = Contributions.read(row[0], self.key)
        return self._cache[name]

    def rows_held(self, name: str) -> Rows:
        """What people have in the cells of an earlier output."""
        row = self.store.execute("select body from contributions where name = ?", (name,)).fetchone()
        if row is None:
            raise FileError("the memory of the project is damaged: put back a copy of its folder")
        return Rows.read(row[0], self.key)

    def forget(self, desk: str, uid: str) -> None:
        """Forget an output of this desk that will not be released."""
        here = (self.session, uid)
        if not self.store.execute("select 1 from outputs where session = ? and uid = ?", here).fetchone():
            return
        with self.change():
            self.store.execute("delete from outputs where session = ? and uid = ?", here)
            self.store.execute("delete from partitions where digest not in (select digest from outputs)")
            self.store.execute(
                "delete from contributions where name not in (select held from outputs where held is not null "
                "union select outcome from outputs where outcome is not null "
                "union select sketch from outputs where sketch is not null)"
            )
            self.history.add("forgotten", *here)

    def finalised(self, uids: Sequence[str]) -> None:
        """Outputs that were handed over: from now on nobody can have them forgotten."""
        for uid in uids:
            here = (self.session, uid)
            if not self.store.execute("select 1 from outputs where session = ? and uid = ?", here).fetchone():
                continue
            mark = f"{self.session}{HANDED}{secrets.token_hex(4)}"
            with self.change():
                self.store.execute(
                    "update outputs set session = ? where session = ? and uid = ?", (mark, *here)
                )
                self.history.add("handed", *here, mark)

    def earlier(self, uid: str | None = None) -> list[Earlier]:
        """All outputs kept, but the one that is being looked at."""
        rows = self.store.execute(
            "select id, session, desk, uid, command, variable, labels, digest, held, form, outcome, more, sketch "
            "from outputs order by id"
        ).fetchall()
        # A fix of an output is made of the same table: it tells nothing beyond the version handed over.
        return [Earlier(*row) for row in rows if (row[1].split(HANDED)[0], row[3]) != (self.session, uid)]

    def read(self, digest: str) -> Partition:
        """Units behind the cells of an earlier output."""
        row = self.store.execute("select body from partitions where digest = ?", (digest,)).fetchone()
        if row is None or Partition.digest(row[0]) != digest:
            raise FileError("the memory of the project is damaged: put back a copy of its folder")
        return Partition.read(row[0], self.units)

    def compared(self, desk: str, out: Output, policy: Policy) -> Finding:
        """Compare an output with all earlier ones."""
        return compared(self, out, policy)


def _shown(out: Output) -> tuple[bytes, bytes]:
    """What of an output decides who stands behind its shown cells."""
    return (
        (b"", b"")
        if out.merged is not None
        else (out.hidden.tobytes(), b"" if out.primary is None else out.primary.tobytes())
    )


def _placed(known: Any, hashes: Any) -> tuple[Ints, Any]:
    """Number of each hash among the known ones and those that are new; and the new ones."""
    order = np.argsort(hashes)
    in_order = hashes[order]
    first = np.ones(len(hashes), np.bool_)
    first[1:] = in_order[1:] != in_order[:-1]
    single = in_order[first]
    places = np.full(len(single), -1, np.int64)
    if len(known):
        old = np.argsort(known)
        at = np.minimum(np.searchsorted(known, single, sorter=old), len(known) - 1)
        there = known[old[at]] == single
        places[there] = old[at[there]]
    new = places < 0
    places[new] = len(known) + np.arange(int(new.sum()))
    numbers = np.empty(len(hashes), np.int64)
    numbers[order] = places[np.cumsum(first) - 1]
    return numbers, single[new]


def _same(first: Any, second: Any) -> bool:
    return first is second or (isinstance(first, range) and isinstance(second, range) and first == second)


def _key(path: Path) -> bytes:
    """The key of a project's hashes; made once."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    except FileExistsError:
        held = path.read_bytes()
        if len(held) != 32:
            raise FileError(f"{path}: the key of the memory is damaged; put back a copy of it") from None
        return held
    except OSError as error:
        raise FileError(f"{path}: cannot write here ({error.strerror}); choose another folder") from None
    with os.fdopen(handle, "wb") as stream:
        stream.write(made := secrets.token_bytes(32))
    return made
