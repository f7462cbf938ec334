"""`BucketStore`: one file of anonymised bucket sets, from which tables of its columns are drawn later.

The original can be deleted once the store is made. It is a zip file of JSON and plain arrays: nothing in it is
executed, so a store from a stranger can be opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import Seed
from dalenius.data.schema import Schema, unrelated
from dalenius.data.table import Table
from dalenius.synth._store import damage_told, open_parts, put_together, save_parts, take_apart
from dalenius.synth.syndiffix.buckets import Buckets
from dalenius.synth.syndiffix.clusters import ClusterOptions, Part, Plan, solve
from dalenius.synth.syndiffix.features import rank_features
from dalenius.synth.syndiffix.ground import ONE_CLUSTER, Ground, Method
from dalenius.synth.syndiffix.model import SynDiffixModel
from dalenius.synth.syndiffix.noise import fingerprint
from dalenius.synth.syndiffix.outlook import Outlook
from dalenius.synth.syndiffix.salt import resolve_salt

KIND = "bucket store"
KEPT = ("rows", "outlooks", "entropies", "dependences", "sets", "fingerprint", "aims")
Key = tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class BucketStore:
    """Bucket sets of many combinations of columns.

    Attributes
    ----------
    aims
        How the whole table is put together so that it predicts a target, by target.

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
    aims: dict[str, Plan] = field(default_factory=dict)

    @classmethod
    def build(
        cls, table: Table, *, width: int = 3, also: Iterable[Sequence[str]] = (), targets: Iterable[str] = (),
        salt: str | bytes | None = None, noisy_rows: bool = False, method: Method | None = None,
    ) -> BucketStore:  # fmt: skip
        """Anonymise all combinations of up to ``width`` columns, and those named in ``also``.

        Parameters
        ----------
        targets
            Columns to be predicted: what the whole table needs to be good at it is anonymised too.
        noisy_rows
            Draw as many rows as the anonymised count says, not as many as there are.
        """
        secret = resolve_salt(salt)
        ground = Ground.of(table, secret, method or Method())
        count = len(ground.names)
        wanted = {c for size in range(1, min(width, count) + 1) for c in combinations(range(count), size)}
        wanted |= {tuple(ground.positions(names)) for names in also}
        aims = {}
        for target in dict.fromkeys(targets):
            features = rank_features(table.select(ground.names), target)
            places = [ground.names.index(name) for name in (target, *features)]
            aims[target] = ground.plan(range(count), "auto", places[0], places[1:])
            wanted |= set(aims[target].combinations)
        order = sorted(wanted, key=lambda c: (len(c), c))
        ground.forest.build(order)
        sets = {c: ground.buckets(c).merged() for c in order}
        everything = list(sets.values())
        outlooks = tuple(ground.outlook(i, everything) for i in range(count))
        schema = Schema(unrelated(outlook.axis.column for outlook in outlooks))
        matrix = ground.dependences(range(count)) if count > 1 else np.eye(count)
        entropies = tuple(float(e) for e in ground.entropies)
        rows = round(sets[order[0]].rows) if noisy_rows and sets else ground.rows
        return cls(schema, rows, outlooks, entropies, np.round(matrix, 2), sets, fingerprint(secret), aims)

    @property
    def contents(self) -> list[list[str]]:
        """Columns of every stored set, narrowest first."""
        names = self.schema.names
        return [[names[i] for i in key] for key in sorted(self.sets, key=lambda k: (len(k), k))]

    def model(self, names: Sequence[str] | None = None, target: str | None = None) -> SynDiffixModel:
        """A model of some columns: a stored set if there is one, stored sets stitched together otherwise.

        With a ``target`` it is the model of all columns that was made to predict it.
        """
        known = self.schema.names
        if target is not None and target not in self.aims:
            made = ", ".join(map(repr, self.aims)) or "none"
            raise DataError(f"the store was not made to predict {target!r}; targets it was made for: {made}")
        if target is not None and names is not None:
            raise OptionError("a target is predicted from all columns; draw them all, and choose afterwards")
        chosen = known if names is None else list(names)
        missing = [name for name in chosen if name not in known]
        if missing:
            raise DataError(f"the store has no column {missing[0]!r}; it has {', '.join(map(repr, known))}")
        places = sorted({known.index(name) for name in chosen})
        plan = self._plan(places) if target is None else self.aims[target]
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
        self, names: Sequence[str] | None = None, rows: int | None = None, *, target: str | None = None,
        seed: Seed = None,
    ) -> Table:  # fmt: skip
        """Draw a synthetic table of some columns, or the one that is best at predicting a target."""
        return self.model(names, target).sample(rows, seed=seed)

    def save(self, path: str | Path) -> None:
        """Write the store to one file."""
        arrays: dict[str, Any] = {}
        own = {name: take_apart(getattr(self, name), name, arrays) for name in KEPT}
        save_parts(path, KIND, self.schema, own | {"contents": SynDiffixModel.contents}, arrays)

    @classmethod
    def open(cls, path: str | Path) -> BucketStore:
        """Open a store; nothing in the file is executed."""
        with damage_told(path, KIND):
            schema, head, arrays = open_parts(path, KIND)
            return cls(schema, **{name: put_together(head[name], arrays, schema) for name in KEPT})
