"""`Generalise`: the recoding of the keys that loses least among all that keep the criteria."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DaleniusError, OptionError, counted
from dalenius.core.option import Option
from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.data.schema import Kind, Role
from dalenius.data.steps.step import Masked, Step, chosen, step
from dalenius.data.table import Table
from dalenius.data.vector import Vector, emptied
from dalenius.mask.lattice.criteria import Criterion, coded, parse_all
from dalenius.mask.lattice.ladder import Ladder, check_levels
from dalenius.mask.lattice.losses import LOSSES
from dalenius.mask.lattice.search import Found, Lattice, Levels
from dalenius.mask.needs import rows_each


@step
@dataclass(frozen=True)
class Generalise(Step):
    """Keys made coarser, each column by one level, so that every group of rows that look alike keeps the criteria.

    Examples
    --------
    >>> table = Table.from_frame({"age": [*range(20, 60)], "sex": ["f", "m"] * 20})
    >>> made = Generalise(keys=("age", "sex"), levels={"age": [10, 20, "all"]}, k=5).apply(table)
    >>> made.table.to_frame()["age"][0], made.notes[0]
    ('20-29', 'age at level 1 of 3, sex as it is: loses 16.67 %, and no other way that keeps k >= 5 loses less')
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="generalise",
        title="Best generalisation",
        meaning="Makes the keys coarser, each by one level, so that groups keep k, l, t or more at least loss.",
        plain="Makes what strangers may know about people coarser, until enough people look alike.",
        guarantee="every group of records that look alike on the keys has at least k records",
        reference="El Emam et al. 2009; Kohlmayer et al. 2012",
        promise="In the file, at least as many people as asked for look alike on what strangers may know.",
        example_options={"keys": ["sex", "age", "region"], "k": 5, "limit": 0.05},
    )
    keys: Annotated[tuple[str, ...], Option(title="Keys", meaning="what an intruder may know")] = ()
    levels: Annotated[
        Mapping[str, Any],
        Option(
            title="Levels",
            meaning="for each key its levels: widths, parts of a date, a hierarchy or its file",
        ),
    ] = field(default_factory=dict, hash=False)
    k: Annotated[
        int | None,
        Option(
            at_least=1,
            title="Look alike",
            meaning="fewest records that look alike: the more, the safer",
            knob=True,
        ),
    ] = 5
    require: Annotated[
        tuple[str, ...],
        Option(title="Criteria", meaning="more that groups must keep, such as l(diagnosis) >= 3"),
    ] = ()
    limit: Annotated[
        float,
        Option(
            at_least=0, at_most=1, title="Suppressed",
            meaning="share of the records whose keys may be emptied instead: the more, the finer the others", knob=True,
        ),
    ] = 0.0  # fmt: skip
    loss: Annotated[
        str,
        Option(title="Loss", meaning="what is to be kept small: a loss, or the name of a utility measure"),
    ] = "precision"
    importance: Annotated[
        Mapping[str, float], Option(above=0, title="Importance", meaning="how much a key counts in the loss")
    ] = field(default_factory=dict, hash=False)
    seconds: Annotated[float | None, Option(above=0, title="Time", meaning="CPU seconds to search for")] = (
        None
    )
    remove: Annotated[
        bool, Option(title="Remove", meaning="remove suppressed records instead of emptying their keys")
    ] = False

    def conflicts(self) -> list[str]:
        """Criteria that can be read, and at least one."""
        try:
            asked = self.criteria
        except OptionError as error:
            return list(error.faults)
        known = [*LOSSES, *(n for n in MEASURES if MEASURES[n].info.family == "utility")]
        wrong = (
            []
            if self.loss in known
            else [f"no loss {self.loss!r}; there are {', '.join(LOSSES)}, and utility measures"]
        )
        return wrong if asked else [*wrong, "nothing is asked for; give k, or lines under require"]

    @property
    def criteria(self) -> list[Criterion]:
        """All that is asked for."""
        return parse_all([*([f"k >= {self.k}"] if self.k is not None else []), *self.require])

    def faults(self, table: Table) -> list[str]:
        """Keys and targets that are there, levels of keys alone, k that the file can have, hierarchies that fit."""
        wrong = super().faults(table)
        keys = chosen(table, self.keys, Role.KEY)
        if not keys:
            wrong.append("no keys are named; say which columns an intruder may know")
        wrong += check_levels(self.levels, keys) + check_levels(self.importance, keys)
        for criterion in self.criteria:
            if criterion.target and criterion.target not in table:
                wrong.append(f"{criterion}: there is no column {criterion.target!r}")
            elif criterion.target in keys:
                wrong.append(f"{criterion}: {criterion.target!r} is a key")
            if criterion.name == "k" and criterion.limit > table.rows * 1.0:
                wrong.append(f"{criterion}: the file has only {counted(table.rows, 'row')}")
            if criterion.name in ("k-map", "delta-presence") and not table.schema.by_role(Role.WEIGHT):
                wrong.append(f"{criterion}: needs survey weights; give a column the role weight")
        for name in (key for key in keys if key in table):
            if not np.isfinite(table[name].data).all():
                wrong.append(
                    f"column {name!r} holds infinite numbers; declare them missing, or limit them first"
                )
                continue
            try:
                self._ladder(table, name)
            except DaleniusError as error:
                wrong += error.faults
        return list(dict.fromkeys(wrong))

    def _ladder(self, table: Table, name: str) -> Ladder:
        return Ladder.of(table, name, self.levels.get(name, usual_levels(table[name])))

    def _apply(self, table: Table, seed: Seed) -> Masked:
        keys = chosen(table, self.keys, Role.KEY)
        lattice = self.lattice(table, keys)
        found = lattice.search(self.seconds)
        groups = lattice.groups(found.levels)
        kept = self._enough(lattice.kept(groups), groups.sizes, rows_each(table))
        lost = ~kept[groups.ids][lattice.rows_ids]
        figures = {"loss": found.loss, "gap": found.gap, "suppressed rows": float(lost.sum())}
        notes = [self._told(keys, lattice, found)]
        made = self._masked(table, keys, lattice.ladders, found.levels, lost)
        return replace(made, notes=tuple(notes), figures=figures)

    def _masked(
        self,
        table: Table,
        keys: list[str],
        ladders: list[Ladder],
        levels: Levels,
        lost: npt.NDArray[np.bool_],
    ) -> Masked:
        """The file at a node, without what is suppressed."""
        maps = [rung for x, at in zip(ladders, levels, strict=True) if (rung := x.rungs[at]) is not None]
        made = table
        for each in maps:
            made = each.see(made)
        if self.remove and lost.any():
            rows = np.flatnonzero(~lost)
            return Masked.of(table, made.take(rows), maps=maps, rows=rows)
        if lost.any():
            made = made.with_vectors(*(emptied(made[name], lost) for name in keys))
        return Masked.of(table, made, maps=maps)

    def _enough(
        self, kept: npt.NDArray[np.bool_], sizes: npt.NDArray[np.int64], each: int = 1
    ) -> npt.NDArray[np.bool_]:
        """Kept groups, without the smallest of them where too few rows are suppressed to look alike themselves.

        Rows whose keys are all empty are a group too: two of them are as easily found as any two.
        """
        lost = int(sizes[~kept].sum())
        if self.remove or self.k is None or not 0 < lost < self.k * each:
            return kept
        kept = kept.copy()
        for group in np.flatnonzero(kept)[np.argsort(sizes[kept], kind="stable")]:
            kept[group] = False
            lost += int(sizes[group])
            if lost >= self.k * each:
                break
        return kept

    def lattice(self, table: Table, keys: list[str]) -> Lattice:
        """The lattice of a file."""
        weight = table.schema.by_role(Role.WEIGHT)
        each = rows_each(table)  # k people have at most this many times k rows
        people = {"k": each, "average-risk": 1 / each}
        criteria = [replace(c.read_in(table), limit=c.limit * people.get(c.name, 1)) for c in self.criteria]
        targets = {c.target: coded(table[c.target]) for c in criteria if c.target}
        ladders = [self._ladder(table, name) for name in keys]

        def measured(levels: Levels, lost: npt.NDArray[np.bool_]) -> float:
            masked = self._masked(table, keys, ladders, levels, lost)
            result = MEASURES[self.loss](Pair(table, masked.table, lens=masked.lens, keys=keys))
            return MEASURES[self.loss].info.shortfall(result.value)

        return Lattice(
            ladders, criteria, limit=self.limit, loss=self.loss, sensitive=targets,
            people=table[weight[0]].amounts() if weight else None,
            importance=[self.importance.get(name, 1.0) for name in keys],
            score=None if self.loss in LOSSES else measured,
        )  # fmt: skip

    def _told(self, keys: list[str], lattice: Lattice, found: Found) -> str:
        levels = ", ".join(
            f"{name} at level {at} of {ladder.height}" if at else f"{name} as it is"
            for name, at, ladder in zip(keys, found.levels, lattice.ladders, strict=True)
        )
        asked = " and ".join(map(str, self.criteria))
        proof = f"no other way that keeps {asked} loses less"
        if found.gap:
            proof = (
                f"time was up: another way that keeps {asked} might lose {100 * found.gap:.2f} points less"
            )
        return f"{levels}: loses {100 * found.loss:.2f} %, and {proof}"

    def cost(self, shape: Shape) -> Cost:
        """A millisecond a node for ten thousand rows; a tenth of the nodes, at most as many as time allows."""
        nodes = 4.0 ** min(len(self.keys) or 4, 10)
        seconds = 0.2 + nodes * 1e-4 * (0.1 + shape.rows / 30_000)
        return Cost(min(seconds, self.seconds or np.inf), 60.0 * shape.rows)


def usual_levels(vector: Vector) -> Any:
    """Levels of a key that nobody gave any: dates by their parts, numbers by doubling widths, others exact or all.

    Examples
    --------
    >>> usual_levels(Table.from_frame({"age": [*range(17, 91)]})["age"])
    [5, 10, 20, 'all']
    """
    if vector.column.kind is Kind.DATETIME:
        return ["month", "quarter", "year", "decade", "all"]
    if not vector.is_number or not len(vector.values):
        return None
    spread = float(np.max(vector.values) - np.min(vector.values))
    if not np.isfinite(spread) or spread <= 0:
        return None
    size = 10.0 ** np.floor(np.log10(spread / 12))
    width = next(size * nice for nice in (1, 2, 5, 10) if size * nice >= spread / 16)
    if vector.column.kind is Kind.INTEGER:
        width = max(round(width), 1)
    return (
        [width, 2 * width, 4 * width, "all"]
        if width > 1 or vector.column.kind is not Kind.INTEGER
        else ["all"]
    )
