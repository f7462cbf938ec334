"""`BucketStore`: one file of anonymised bucket sets, from which tables of its columns are drawn later.

The original can be deleted once the store is made. It is a zip file of JSON and plain arrays: nothing in it is
executed, so a store from a stranger can be opened.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, FileError
from dalenius.core.random import Seed
from dalenius.data.atomic import replacing
from dalenius.data.schema import Kind, Schema, unrelated
from dalenius.data.table import Table
from dalenius.synth._store import DAMAGED
from dalenius.synth.syndiffix.buckets import Buckets
from dalenius.synth.syndiffix.clusters import ClusterOptions, Part, Plan, solve
from dalenius.synth.syndiffix.ground import ONE_CLUSTER, Ground, Method
from dalenius.synth.syndiffix.model import SynDiffixModel, outlook_facts, outlook_from
from dalenius.synth.syndiffix.noise import fingerprint
from dalenius.synth.syndiffix.outlook import Outlook
from dalenius.synth.syndiffix.salt import resolve_salt

FORMAT = 1
KIND = "dalenius-buckets"
LARGEST = 2**33
"""Bytes a store may unpack to; a small file that claims more is refused."""
Key = tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class BucketStore:
    """Bucket sets of many combinations of columns.

    Examples
    --------
    >>> table = Table.from_frame({"a": ["x", "y"] * 60, "b": [i % 12 for i in range(120)], "c": ["u"] * 120})
    >>> store = BucketStore.build(table, salt="a secret of mine")
    >>> len(store.sets), store.draw(["a", "b"], seed=1).names
    (7, ['a', 'b'])
    """

    schema: Schema
    rows: int
    outlooks: tuple[Outlook, ...]
    entropies: tuple[float, ...]
    dependences: np.ndarray[Any, np.dtype[np.float64]]
    sets: dict[Key, Buckets]
    fingerprint: str = ""

    @classmethod
    def build(
        cls, table: Table, *, width: int = 3, also: Iterable[Sequence[str]] = (), salt: str | bytes | None = None,
        method: Method | None = None,
    ) -> BucketStore:  # fmt: skip
        """Anonymise all combinations of up to ``width`` columns, and those named in ``also``."""
        secret = resolve_salt(salt)
        ground = Ground.of(table, secret, method or Method())
        count = len(ground.names)
        wanted = {c for size in range(1, min(width, count) + 1) for c in combinations(range(count), size)}
        wanted |= {tuple(ground.positions(names)) for names in also}
        order = sorted(wanted, key=lambda c: (len(c), c))
        ground.forest.build(order)
        sets = {c: ground.buckets(c).merged() for c in order}
        everything = list(sets.values())
        outlooks = tuple(ground.outlook(i, everything) for i in range(count))
        schema = Schema(unrelated(outlook.axis.column for outlook in outlooks))
        matrix = ground.dependences(range(count)) if count > 1 else np.eye(count)
        found = tuple(float(e) for e in ground.entropies)
        return cls(schema, ground.rows, outlooks, found, np.round(matrix, 2), sets, fingerprint(secret))

    @property
    def contents(self) -> list[list[str]]:
        """Columns of every stored set, narrowest first."""
        names = self.schema.names
        return [[names[i] for i in key] for key in sorted(self.sets, key=lambda k: (len(k), k))]

    def model(self, names: Sequence[str] | None = None) -> SynDiffixModel:
        """A model of some columns: a stored set if there is one, stored sets stitched together otherwise."""
        known = self.schema.names
        chosen = known if names is None else list(names)
        missing = [name for name in chosen if name not in known]
        if missing:
            raise DataError(f"the store has no column {missing[0]!r}; it has {', '.join(map(repr, known))}")
        places = sorted({known.index(name) for name in chosen})
        plan = self._plan(places)
        held = [self.sets[tuple(places[i] for i in c)] for c in plan.combinations]
        local = [replace(b, columns=c) for c, b in zip(plan.combinations, held, strict=True)]
        outlooks = [self.outlooks[i] for i in places]
        schema = Schema(unrelated(outlook.axis.column for outlook in outlooks))
        entropies = [self.entropies[i] for i in places]
        return SynDiffixModel(schema, self.rows, outlooks, plan, local, entropies, self.fingerprint)

    def _plan(self, places: list[int]) -> Plan:
        """Clusters that are in the store, joined on their most dependent column."""
        count = len(places)
        if tuple(places) in self.sets:
            return Plan(tuple(range(count)))
        matrix = self.dependences[np.ix_(places, places)]
        widest = max(len(key) for key in self.sets)
        # Room for as many columns as the widest stored set has.
        solved = solve(matrix, np.ones(count), ClusterOptions(most=2.0 * min(widest, ONE_CLUSTER)))
        placed: list[int] = []
        parts: list[Part] = []
        first: tuple[int, ...] = ()
        for combination in solved.combinations:
            for column in combination:
                if column in placed:
                    continue
                if not placed:
                    first = (column,)
                else:
                    friends = sorted(placed, key=lambda i: (-matrix[i, column], i))
                    stitch: tuple[int, ...] = ()
                    for friend in friends[: widest - 1]:
                        trial = tuple(sorted((*stitch, friend, column)))
                        if tuple(places[i] for i in trial) in self.sets:
                            stitch = tuple(sorted((*stitch, friend)))
                    parts.append(Part(stitch, (column,), shared=False))
                placed.append(column)
        return Plan(first, tuple(parts)).merged()

    def draw(
        self, names: Sequence[str] | None = None, rows: int | None = None, *, seed: Seed = None
    ) -> Table:
        """Draw a synthetic table of some columns."""
        return self.model(names).sample(rows, seed=seed)

    def save(self, path: str | Path) -> None:
        """Write the store to one file."""
        head = {
            "kind": KIND, "format": FORMAT, "rows": self.rows, "schema": self.schema.to_yaml(),
            "text_levels": {c.name: list(c.levels or ()) for c in self.schema if c.kind is Kind.TEXT},
            "columns": [outlook_facts(outlook) for outlook in self.outlooks], "entropies": list(self.entropies),
            "fingerprint": self.fingerprint, "sets": [list(key) for key in self.sets],
            "contents": SynDiffixModel.contents,
        }  # fmt: skip
        arrays: dict[str, Any] = {"dependences": self.dependences}
        for i, outlook in enumerate(self.outlooks):
            arrays |= {f"ranks.{i}": outlook.ranks, f"known.{i}": outlook.known}
        for k, held in enumerate(self.sets.values()):
            arrays |= {f"low.{k}": held.low, f"high.{k}": held.high, f"weight.{k}": held.weight}
        with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            _add(archive, "store.json", json.dumps(head, ensure_ascii=False).encode())
            for name, array in arrays.items():
                buffer = io.BytesIO()
                np.save(buffer, array, allow_pickle=False)
                _add(archive, f"{name}.npy", buffer.getvalue())

    @classmethod
    def open(cls, path: str | Path) -> BucketStore:
        """Open a store; nothing in the file is executed."""
        where = Path(path)
        try:
            with zipfile.ZipFile(where) as archive:
                if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
                    raise FileError(f"{where}: unpacks to more than {LARGEST >> 30} GB; not opened")
                head = json.loads(archive.read("store.json"))
                if head["kind"] != KIND or head["format"] != FORMAT:
                    raise FileError(f"{where}: not a bucket store of this version; build it again")
                return cls._rebuild(head, archive)
        except OSError as error:
            raise FileError(f"{where}: cannot open the store ({error.strerror})") from None
        except DAMAGED as error:
            raise FileError(f"{where}: not a bucket store, or damaged ({type(error).__name__})") from None

    @classmethod
    def _rebuild(cls, head: dict[str, Any], archive: zipfile.ZipFile) -> BucketStore:
        def array(name: str) -> Any:
            return np.load(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)

        schema = Schema.from_yaml(head["schema"])
        texts = [replace(schema[name], levels=tuple(levels)) for name, levels in head["text_levels"].items()]
        schema = schema.replace_columns(*texts)
        outlooks = tuple(
            outlook_from(schema.columns[i], facts, array(f"ranks.{i}"), array(f"known.{i}"))
            for i, facts in enumerate(head["columns"])
        )
        sets = {}
        for k, columns in enumerate(head["sets"]):
            key = tuple(int(i) for i in columns)
            sets[key] = Buckets(key, array(f"low.{k}"), array(f"high.{k}"), array(f"weight.{k}"))
        found = tuple(float(e) for e in head["entropies"])
        return cls(
            schema, int(head["rows"]), outlooks, found, array("dependences"), sets, str(head["fingerprint"])
        )


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
