"""Robin Hood masking: large groups lend privacy to small ones (Brown et al. 2024).

Recoding until everybody looks like k others merges or deletes minorities. Here the value of one column, say the ethnic
group, is emptied for some records, most of them of large groups, so that whoever looks for a member of a small one has
to search among all records without a value too. The promise is about expected effort, not about the size of groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DataError, OptionError, counted
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.schema import Role
from dalenius.data.steps.step import Masked, Step, chosen, step
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, IntArray, emptied
from dalenius.mask.microaggregation import strata_of
from dalenius.mask.needs import rows_each
from dalenius.mask.neighbours import Floats

LARGE, FINE, FAILED = "large", "ok", "not possible"


def num_to_mask(size: int, own: int, k: int) -> int:
    """Records outside a class that must be emptied, if ``own`` of its ``size`` records are, for an effective k.

    Examples
    --------
    >>> num_to_mask(3, 1, 4), num_to_mask(7, 1, 4)
    (3, 0)
    """
    return -(-size * (k - size) // own) if k > size else 0


def effective_k(size: Floats, own: Floats, outside: Floats) -> Floats:
    """The k of k-anonymity with which an intruder has as many attempts to expect: A + C D / A.

    Parameters
    ----------
    size, own, outside
        Records of a class (A), how many of them are emptied (C), and emptied records he cannot tell from them (D).

    Examples
    --------
    >>> effective_k(np.array([3.0, 7.0]), np.array([1.0, 3.0]), np.array([3.0, 1.0])).round(4).tolist()
    [4.0, 7.4286]
    """
    made: Floats = size + own * outside / np.maximum(size, 1)
    return made


def expected_attempts(size: float, own: float, emptied_all: float, strategy: Literal[1, 2, 3] = 1) -> float:
    """Attempts until somebody is found: shown records first (1), emptied ones first (2), or all mixed (3).

    Parameters
    ----------
    size, own, emptied_all
        Records of the class (A), how many of them are emptied (C), all emptied records among which they stand (E).

    Examples
    --------
    >>> [expected_attempts(3, 1, 4, way) for way in (1, 2, 3)]
    [2.5, 4.5, 3.5]
    """
    shown = size - own
    if strategy == 1:
        return shown / size * (shown + 1) / 2 + own / size * (shown + (emptied_all + 1) / 2)
    if strategy == 2:
        return own / size * (emptied_all + 1) / 2 + shown / size * (emptied_all + (shown + 1) / 2)
    return (shown + emptied_all + 1) / 2


def first_attempt_risk(size: float, own: float, emptied_all: float, strategy: Literal[1, 2, 3] = 1) -> float:
    """Chance that the first attempt is right; masking does not lower it for who looks at shown records first.

    Examples
    --------
    >>> [round(first_attempt_risk(3, 1, 4, way), 4) for way in (1, 2, 3)]
    [0.3333, 0.0833, 0.1667]
    """
    if strategy == 1:
        return 1 / size if size > own else own / (size * emptied_all)
    if strategy == 2:
        return own / (size * emptied_all) if emptied_all else 1 / size
    return 1 / (size - own + emptied_all)


@dataclass(frozen=True, eq=False)
class Classes:
    """Records alike on all keys (classes), and alike on all keys but one (where emptied records cannot be told apart).

    Attributes
    ----------
    ids, pools
        Class of each row, and for each class the pool it lies in.
    sizes, levels
        Records of each class, and its code of the column that is emptied.
    """

    ids: IntArray
    pools: IntArray
    sizes: IntArray
    levels: IntArray

    @classmethod
    def of(cls, table: Table, keys: list[str], column: str) -> Classes:
        """The classes of a table."""
        others = [name for name in keys if name != column]
        pools, _ = strata_of(table, others)
        codes = table[column].categories.codes.astype(np.int64)
        pairs, first, ids = np.unique(
            pools.astype(np.int64) * max(table[column].categories.size, 1) + codes,
            return_index=True,
            return_inverse=True,
        )
        sizes = np.bincount(ids, minlength=len(pairs))
        return cls(ids, pools[first].astype(np.int64), sizes, codes[first])

    def plan(self, k: int, most_large: float, most_small: float) -> tuple[IntArray, IntArray, BoolArray]:
        """Records to empty in each small class, in the large classes of each pool, and which classes fail.

        Small classes come in ascending order of their size; D counts everything that is already emptied in their
        pool, and large classes are one pool that is drawn from once.
        """
        small = self.sizes < k
        count = int(self.pools.max(initial=-1)) + 1
        room = np.bincount(self.pools[~small], self.sizes[~small], minlength=count) * most_large
        own, lent, total = (
            np.zeros(len(self.sizes), np.int64),
            np.zeros(count, np.int64),
            np.zeros(count, np.int64),
        )
        failed = np.zeros(len(self.sizes), bool)
        for i in np.lexsort((np.arange(len(self.sizes)), self.sizes)).tolist():  # classes, not rows
            if not small[i]:
                break
            size, pool = int(self.sizes[i]), int(self.pools[i])
            for c in range(1, int(size * most_small + 1e-9) + 1):
                more = max(0, num_to_mask(size, c, k) - int(total[pool]))
                if lent[pool] + more <= room[pool] + 1e-9:
                    own[i], failed_here = c, False
                    lent[pool] += more
                    total[pool] += c + more
                    break
            else:
                failed_here = True
            failed[i] = failed_here
        return own, lent, failed

    def told(self, empty: BoolArray, failed: BoolArray, k: int) -> pl.DataFrame:
        """A, B, C, D, E, effective k and status of each class, without what tells which it is."""
        own = np.bincount(self.ids[empty], minlength=len(self.sizes))
        pool = np.bincount(self.pools, own, minlength=int(self.pools.max(initial=-1)) + 1)
        outside = (pool[self.pools] - own).astype(float)
        status = np.where(self.sizes >= k, LARGE, np.where(failed, FAILED, FINE))
        return pl.DataFrame(
            {
                "level": self.levels, "A": self.sizes, "B": self.sizes - own, "C": own, "D": outside.astype(np.int64),
                "E": pool[self.pools].astype(np.int64),
                "k_eff": effective_k(self.sizes.astype(float), own.astype(float), outside), "status": status,
            }
        )  # fmt: skip


@step
@dataclass(frozen=True)
class RobinHood(Step):
    """One column emptied for some records, mostly of large groups, so that small groups are as hard to search as k.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f"] * 10, "group": ["M"] * 7 + ["m"] * 3})
    >>> made = RobinHood(("sex", "group"), fairness="group", k=4).apply(table, 1)
    >>> made.records, round(made.figures["smallest effective k"], 4)
    (4, 4.0)
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="robin-hood",
        title="Robin Hood masking",
        meaning="Empties one column for some records, mostly of large groups, so that small groups are as hard to find "
        "as among k.",
        plain="Some members of large groups hide their group, so that members of small groups are lost among them.",
        guarantee="none",
        reference="Brown et al. 2024",
        example_options={"keys": ["sex", "region"], "fairness": "region", "k": 25},
    )
    reversible: ClassVar[bool] = False
    keys: Annotated[tuple[str, ...], Option(title="Keys", meaning="columns an intruder may know")] = ()
    fairness: Annotated[
        str, Option(title="Column", meaning="the key that is emptied, such as the ethnic group", knob=True)
    ] = ""
    k: Annotated[
        int,
        Option(
            at_least=2,
            title="Look among",
            meaning="effective size of the smallest group: the more, the safer",
            knob=True,
        ),
    ] = 10
    majority: Annotated[
        float,
        Option(at_least=0, at_most=1, title="From large groups", meaning="largest share that may be emptied"),
    ] = 1.0
    minority: Annotated[
        float,
        Option(at_least=0, at_most=1, title="From small groups", meaning="largest share that may be emptied"),
    ] = 0.5
    otherwise: Annotated[
        Literal["flag", "raise", "remove"],
        Option(title="Otherwise", meaning="where no way is found: say so, stop, or remove those records"),
    ] = "flag"

    @property
    def named(self) -> tuple[str, ...]:
        """Also the column that is emptied."""
        return tuple(dict.fromkeys((*super().named, *([self.fairness] if self.fairness else []))))

    def conflicts(self) -> list[str]:
        """A column to empty, which is one of the keys."""
        if not self.fairness:
            return ["fairness names no column; say which key is emptied"]
        return (
            []
            if not self.keys or self.fairness in self.keys
            else [f"{self.fairness!r} is not one of the keys; name it among them"]
        )

    def faults(self, table: Table) -> list[str]:
        """Keys that are there, without gaps in the one that is emptied."""
        wrong = super().faults(table)
        keys = chosen(table, self.keys, Role.KEY)
        there = self.fairness in table
        if there and self.fairness not in keys:
            wrong.append(f"{self.fairness!r} is not one of the keys; name it among them")
        wrong += [] if table.rows else ["the file has no rows; there is nobody to protect"]
        if rows_each(table) > 1:
            wrong.append(
                "people have several records each, and one may show what is emptied in another; make one row a person"
            )
        gaps = int(np.count_nonzero(~table[self.fairness].present)) if there else 0
        if gaps:
            wrong.append(f"column {self.fairness!r} has {counted(gaps, 'empty cell')}, which could not be told from "
                         "emptied ones; give them a level first")  # fmt: skip
        if 0 < table.rows < self.k:
            wrong.append(
                f"the file has {counted(table.rows, 'row')}, fewer than k = {self.k}; use a smaller k"
            )
        return wrong

    def cost(self, shape: Shape) -> Cost:
        """Rows are sorted once, classes looked at once."""
        return Cost(0.02 + 1e-6 * shape.rows, 80.0 * shape.rows)

    def _apply(self, table: Table, seed: Seed) -> Masked:
        keys = chosen(table, self.keys, Role.KEY)
        classes = Classes.of(table, keys, self.fairness)
        own, lent, failed = classes.plan(self.k, self.majority, self.minority)
        if failed.any() and self.otherwise == "raise":
            raise DataError(
                f"{counted(int(failed.sum()), 'group')} of people alike on the keys cannot be hidden among {self.k}; "
                "recode the keys first, allow to empty more, or ask for a smaller k"
            )
        empty = drawn(classes, own, lent, self.k, seed)
        told = classes.told(empty, failed, self.k)
        figures = _figures(told, table, self.fairness, empty)
        after = table.with_vectors(emptied(table[self.fairness], empty))
        notes = [self._told(figures)]
        if failed.any() and self.otherwise == "remove":
            rows = np.flatnonzero(~failed[classes.ids])
            made = Masked.of(table, after.take(rows), rows=rows, notes=notes)
            return replace(made, figures=figures)
        return Masked.of(table, after, notes=notes, figures=figures)

    def _told(self, figures: dict[str, float]) -> str:
        cells, failed = int(figures["cells"]), int(figures["groups not possible"])
        text = f"{counted(cells, 'cell')} of {self.fairness} emptied; who looks for somebody has to expect as many "
        text += f"attempts as among {figures['smallest effective k of those possible']:.3g} or more. The first attempt "
        text += "is as likely to be right as before."
        if not cells:
            text = f"No cell of {self.fairness} was emptied: the file is as it was."
        left = "they were removed" if self.otherwise == "remove" else "recode the keys further for them"
        return text + (f" For {counted(failed, 'group')} no way was found: {left}." if failed else "")


def drawn(classes: Classes, own: IntArray, lent: IntArray, k: int, seed: Seed) -> BoolArray:
    """Rows that are emptied: of each small class as many as planned, and of all large ones of a pool together."""
    small = classes.sizes < k
    count = len(classes.sizes)
    group = np.where(small[classes.ids], classes.ids, count + classes.pools[classes.ids])
    wanted = np.concatenate([own, lent])
    order = np.lexsort((generator(seed, "rows").random(len(group)), group))
    starts = np.searchsorted(group[order], np.arange(len(wanted)))
    place = np.arange(len(order)) - starts[group[order]]
    empty = np.zeros(len(group), bool)
    empty[order] = place < wanted[group[order]]
    return empty


def _figures(told: pl.DataFrame, table: Table, column: str, empty: BoolArray) -> dict[str, float]:
    fine = told.filter(pl.col("status") != FAILED)
    least = fine["k_eff"].min() if len(fine) else 0.0
    figures = {
        "cells": float(empty.sum()),
        "smallest effective k": float(told["k_eff"].min() or 0.0),  # type: ignore[arg-type]
        "smallest effective k of those possible": float(least or 0.0),  # type: ignore[arg-type]
        "groups not possible": float((told["status"] == FAILED).sum()),
    }
    vector = table[column].categories
    codes = vector.codes
    for code, label in enumerate(vector.labels):
        here = codes == code
        if here.any():
            figures[f"emptied of {label} in %"] = 100 * float(empty[here].mean())
    return figures


def class_table(
    original: Table, masked: Table, keys: list[str], column: str, k: int, links: IntArray | None = None
) -> pl.DataFrame:
    """A, B, C, D, E, effective k and status of each class of a masked file: what a data holder checks it by.

    Parameters
    ----------
    links
        For each masked row the original row it is; the same rows by default.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f"] * 10, "group": ["M"] * 7 + ["m"] * 3})
    >>> made = RobinHood(("sex", "group"), fairness="group", k=4).apply(table, 1)
    >>> class_table(table, made.table, ["sex", "group"], "group", 4).select("A", "B", "C", "D", "E").rows()
    [(7, 4, 3, 1, 4), (3, 2, 1, 3, 4)]
    """
    if column not in keys:
        raise OptionError(f"{column!r} is not one of the keys")
    own = original if links is None else original.take(links)
    if own.rows != masked.rows:
        raise DataError(f"{own.rows:,} original and {masked.rows:,} masked rows; give the links of the lens")
    classes = Classes.of(own, keys, column)
    empty = ~masked[column].present
    told = classes.told(empty, np.zeros(len(classes.sizes), bool), k)
    short = (told["k_eff"] < k - 1e-9) & (told["A"] < k)
    return told.with_columns(status=pl.when(short).then(pl.lit(FAILED)).otherwise(pl.col("status")))
