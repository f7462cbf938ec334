"""`TableSet`: one small synthetic table per question, all from one shared forest.

A wide table loses accuracy with every column; a family of narrow tables does not, and because noise is sticky the
family gives away no more than its widest member (Francis 2024).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import Seed, sequence
from dalenius.data.table import Table
from dalenius.synth.syndiffix.features import rank_features
from dalenius.synth.syndiffix.ground import Ground, Method
from dalenius.synth.syndiffix.salt import resolve_salt

Key = tuple[str, ...]


def key_of(names: Iterable[str]) -> Key:
    """The name of a table: its columns, once each, sorted.

    Examples
    --------
    >>> key_of(["b", "a", "b"])
    ('a', 'b')
    """
    return tuple(sorted(set(names)))


def plan_tables(
    columns: Sequence[str], *, width: int = 2, also: Iterable[Sequence[str]] = (), targets: Iterable[str] = (),
    whole: bool = False,
) -> list[Key]:  # fmt: skip
    """Column sets for the analyses wanted, narrowest first, each once.

    Parameters
    ----------
    width
        All combinations of up to this many columns.
    also
        Further sets, for example the variables of a model.
    targets
        Columns to be predicted from all others: each asks for the whole table (`TableSet.build` makes one that is
        better at it).
    whole
        Also the table of all columns.

    Examples
    --------
    >>> plan_tables(["a", "b", "c"], width=1, also=[("c", "a")])
    [('a',), ('b',), ('c',), ('a', 'c')]
    """
    sets = {key_of(c) for size in range(1, width + 1) for c in combinations(columns, size)}
    sets |= {key_of(names) for names in also}
    if whole or list(targets):
        sets.add(key_of(columns))
    unknown = sorted({name for key in sets for name in key} - set(columns))
    if unknown:
        raise DataError(f"the plan names the column {unknown[0]!r}, which is not among the columns")
    return sorted(sets, key=lambda key: (len(key), key))


@dataclass(frozen=True, eq=False)
class TableSet:
    """Synthetic tables by their columns.

    Row i of one table has nothing to do with row i of another. All tables come from one salt: with several, noise
    could be averaged away, so sets of different salts refuse to be joined.

    Attributes
    ----------
    aimed
        Tables of all columns that were made to predict a target, by target.

    Examples
    --------
    >>> table = Table.from_frame({"a": ["x", "y"] * 60, "b": [i % 12 for i in range(120)], "c": ["u"] * 120})
    >>> tables = TableSet.build(table, plan_tables(["a", "b", "c"]), salt="a secret of mine", seed=1)
    >>> len(tables), tables.get(["b", "a"]).names
    (6, ['a', 'b'])
    >>> tables.narrowest(["c"])
    ('c',)
    """

    tables: Mapping[Key, Table]
    fingerprint: str = ""
    asked: list[Key] = field(default_factory=list)
    aimed: Mapping[str, Table] = field(default_factory=dict)

    @classmethod
    def build(
        cls, table: Table, plan: Iterable[Sequence[str]], *, targets: Iterable[str] = (),
        salt: str | bytes | None = None, seed: Seed = None, method: Method | None = None,
    ) -> TableSet:  # fmt: skip
        """Make all tables of a plan from one forest, and a table of all columns for each column to be predicted."""
        ground = Ground.of(table, resolve_salt(salt), method or Method())
        made, mark = {}, ""
        for key in dict.fromkeys(key_of(names) for names in plan):
            model = ground.model(key)
            mark = model.fingerprint
            made[key] = model.sample(seed=sequence(seed, *key))
        aimed = {}
        for target in dict.fromkeys(targets):
            features = rank_features(table.select(ground.names), target)
            model = ground.model(None, target=target, features=features)
            aimed[target] = model.sample(seed=sequence(seed, "target", target))
            mark = model.fingerprint
        return cls(made, mark, aimed=aimed)

    @classmethod
    def of(cls, tables: Table | Iterable[Table]) -> TableSet:
        """Wrap finished tables (one wide table too), so that every measure takes either."""
        held: dict[Key, Table] = {}
        for table in [tables] if isinstance(tables, Table) else tables:
            key = key_of(table.names)
            if key in held:
                raise DataError(f"two tables have the same columns ({', '.join(key)}); keep one")
            held[key] = table
        return cls(held)

    def __len__(self) -> int:
        return len(self.tables)

    def narrowest(self, names: Iterable[str]) -> Key:
        """The smallest table that holds these columns."""
        wanted = set(names)
        fitting = [key for key in self.tables if wanted <= set(key)]
        if not fitting:
            raise DataError(f"no table holds {', '.join(map(repr, sorted(wanted)))} together; plan one")
        return min(fitting, key=lambda key: (len(key), key))

    def get(
        self, names: Iterable[str] | None = None, strict: bool = False, *, target: str | None = None
    ) -> Table:
        """The columns asked for, out of the narrowest table that holds them; every question is noted in ``asked``.

        With ``strict`` only a table of exactly these columns will do; with a ``target`` the table that was made to
        predict it, whole unless columns are named.
        """
        if target is not None and target not in self.aimed:
            raise DataError(f"no table was made to predict {target!r}; name it among the targets of build")
        if names is None and target is None:
            raise OptionError("say which columns, or a target")
        key = key_of(self.aimed[str(target)].names if names is None else names)
        self.asked.append(key)
        if target is not None:
            whole = self.aimed[target]
            return whole.select([name for name in whole.names if name in key])
        if strict and key not in self.tables:
            raise DataError(f"there is no table of exactly {', '.join(map(repr, key))}; plan one")
        table = self.tables[self.narrowest(key)]
        return table.select([name for name in table.names if name in key])

    @property
    def storage_ratio(self) -> float:
        """Columns stored, per column of the widest table."""
        widths = [len(key) for key in self.tables]
        return sum(widths) / max(widths) if widths else 0.0

    def joined(self, other: TableSet) -> TableSet:
        """Both sets together, if they come from the same salt."""
        if self.fingerprint != other.fingerprint:
            raise OptionError(
                "the sets come from different salts: together they would let noise be averaged away"
            )
        return TableSet(
            {**self.tables, **other.tables}, self.fingerprint, aimed={**self.aimed, **other.aimed}
        )

    def discrepancy(self, name: str) -> float:
        """Largest difference of a value's share in one column between any two tables that hold it."""
        shares: list[dict[Any, float]] = []
        for key, table in self.tables.items():
            if name in key and table.rows:
                categories = table[name].categories
                counts = np.bincount(categories.codes, minlength=categories.size) / table.rows
                shares.append(dict(zip(map(str, categories.labels), counts.tolist(), strict=True)))
        values = {value for held in shares for value in held}
        return max(
            (max(h.get(v, 0.0) for h in shares) - min(h.get(v, 0.0) for h in shares) for v in values),
            default=0.0,
        )
