"""SafePub: true records, drawn, generalised and left out where few look alike, with differential privacy.

Nothing is noisy and nothing is made up: each record is drawn with a chance β, all columns are generalised to levels
that are chosen with a part of ε, and what fewer than k drawn records show is left out (Bild, Kuhn and Prasser 2018;
Sugiyama et al. 2024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DaleniusError, OptionError, counted
from dalenius.core.option import Option
from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo
from dalenius.data.exit import releasable
from dalenius.data.schema import Role
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table
from dalenius.data.vector import IntArray
from dalenius.dp import Budget, open_ledger
from dalenius.dp.noise import choose, draw_geometric
from dalenius.mask.lattice.ladder import Ladder
from dalenius.mask.lattice.search import Lattice, Levels
from dalenius.mask.needs import rows_each
from dalenius.mask.neighbours import Floats
from dalenius.mask.safepub_k import KMethod, auto_beta, beta_max, min_k
from dalenius.mask.safepub_scores import Score, Scoring, sensitivity

MOST_NODES = 50_000
SEARCH_SHARE = 0.1
FEW = 3
"""Groups below this that a release may show: its δ is then too large to mean anything."""


def drawn_rows(rows: int, beta: float) -> IntArray:
    """Rows of a sample in which every row is with chance β, by OpenDP's draws: gaps between them are geometric.

    Examples
    --------
    >>> len(drawn_rows(1000, 0.999999)) > 990
    True
    """
    if beta >= 1:
        return np.arange(rows)
    scale = -1 / float(np.log1p(-beta))
    places: list[IntArray] = []
    last = -1
    while last < rows:
        gaps = draw_geometric(int(1.1 * beta * (rows - last)) + 32, scale)
        places.append(last + np.cumsum(gaps + 1))
        last = int(places[-1][-1])
    found = np.concatenate(places)
    return found[found < rows]


@step
@dataclass(frozen=True)
class SafePub(Step):
    """Records drawn, generalised, and left out where fewer than k look alike: (ε, δ)-differential privacy of records.

    Every column that leaves is part of what must look alike; the others are dropped. Levels are taken as public: fix
    them without looking at the data. Draws come from OpenDP and cannot be repeated.

    Examples
    --------
    >>> table = Table.from_frame({"age": [*range(20, 60)] * 20, "sex": ["f", "m"] * 400, "name": list("abcd") * 200})
    >>> made = SafePub(("age", "sex"), levels={"age": [20, 40, "all"]}, epsilon=2.0, delta=1e-3).apply(table)
    >>> made.table.names, made.figures["k"]
    (['age', 'sex'], 8.0)
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="safepub",
        title="SafePub (private k-anonymity)",
        meaning="Draws records, makes them coarser, and leaves out what few of them show: true records with ε and δ.",
        plain="Some of the records, made coarser, without those that few look like; who took part stays hidden.",
        guarantee="(ε, δ)-differential privacy of records, if the levels of the columns are public",
        reference="Bild, Kuhn and Prasser 2018; Sugiyama et al. 2024",
        promise="Whether somebody took part can hardly be told from the file.",
        seedable=False,
        example_options={"variables": ["sex"], "epsilon": 2.0, "delta": 1e-3},
    )
    reversible: ClassVar[bool] = False
    pays: ClassVar[bool] = True
    whole: ClassVar[bool] = True
    variables: Annotated[
        tuple[str, ...], Option(title="Columns", meaning="that leave; all of them count, others are dropped")
    ] = ()
    levels: Annotated[
        Mapping[str, Any],
        Option(title="Levels", meaning="for each column its public levels: widths, parts of a date, a hierarchy; "
               "without any, exact and all"),
    ] = field(default_factory=dict, hash=False)  # fmt: skip
    epsilon: Annotated[float, Option(above=0, title="Epsilon", meaning="less is safer", knob=True)] = 2.0
    search: Annotated[
        float | None, Option(above=0, title="For the search", meaning="part of epsilon; a tenth by default")
    ] = None
    delta: Annotated[
        float,
        Option(
            above=0, below=1, title="Delta", meaning="chance that more is told; below 1 in so many records"
        ),
    ] = 1e-5
    beta: Annotated[
        float | Literal["auto", "max"],
        Option(above=0, below=1, title="Share drawn", meaning="auto: the share with which the smallest groups are "
               "seen; max: the largest that ε allows", knob=True),
    ] = "auto"  # fmt: skip
    score: Annotated[Score, Option(title="Score", meaning="what the search looks for")] = "precision"
    target: Annotated[
        str, Option(title="Target", meaning="column that others should predict (classification)")
    ] = ""
    total: Annotated[
        int | None, Option(at_least=1, title="Records", meaning="of the file, where their number is public")
    ] = None
    steps: Annotated[
        int | None,
        Option(at_least=1, title="Steps", meaning="search along a path of so many steps, not all levels"),
    ] = None
    fixed: Annotated[
        Mapping[str, int],
        Option(at_least=0, title="Fixed levels", meaning="instead of a search: a level a column"),
    ] = field(default_factory=dict, hash=False)
    bound: Annotated[
        KMethod, Option(title="Bound", meaning="on k: published, as ARX, or exact (with fixed levels only)")
    ] = "li"
    ledger: Annotated[
        str | Budget | None, Option(title="Ledger", meaning="the budget of the data set that pays for it")
    ] = field(default=None, hash=False)

    def conflicts(self) -> list[str]:
        """Parts that fit into a whole, and a target where one is predicted."""
        wrong = []
        if self.search is not None and self.search >= self.epsilon:
            wrong.append(
                f"search is {self.search:g} of an epsilon of {self.epsilon:g}; leave some for the records"
            )
        if self.search is not None and self.fixed:
            wrong.append("search costs nothing where levels are fixed; leave it out")
        if (self.score == "classification") != bool(self.target):
            wrong.append("a target and score 'classification' go together")
        if self.score in ("discernibility", "entropy") and self.total is None:
            wrong.append(
                f"score {self.score!r} needs total, the number of records, if it is public; else use another"
            )
        if self.bound == "tight" and not self.fixed:
            wrong.append("bound 'tight' holds for fixed levels only")
        top = beta_max(self.for_records) if self.for_records > 0 else 1.0
        if isinstance(self.beta, float) and self.beta > top:
            wrong.append(f"beta is {self.beta:g}; this epsilon allows {top:.6g} at most")
        return wrong

    @property
    def for_search(self) -> float:
        """What the choice of levels costs."""
        return 0.0 if self.fixed else SEARCH_SHARE * self.epsilon if self.search is None else self.search

    @property
    def for_records(self) -> float:
        """What showing the records costs."""
        return self.epsilon - self.for_search

    @property
    def share(self) -> float:
        """The chance of each record to be drawn."""
        if self.beta == "auto":
            return auto_beta(self.for_records, self.delta)
        return beta_max(self.for_records) if self.beta == "max" else float(self.beta)

    @property
    def k(self) -> int:
        """Records that must look alike."""
        return min_k(self.delta, self.share, self.for_records, self.bound)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: a ledger by its file, and none that lives in memory alone."""
        named = self.ledger if isinstance(self.ledger, str) or self.ledger is None else None
        return super(SafePub, replace(self, ledger=named)).to_dict()

    def _released(self, table: Table) -> list[str]:
        return list(self.variables) or list(releasable(table).names)

    def faults(self, table: Table) -> list[str]:
        """Columns with levels, one record a person, and a target among the columns."""
        wrong = super().faults(table)
        names = [name for name in self._released(table) if name in table]
        asked = {*names, *self.variables}
        hidden = [n for n in names if n not in releasable(table).names]
        wrong += [f"column {n!r} names people or units and never leaves; leave it out" for n in hidden]
        wrong += [
            f"levels: {n!r} is not one of the columns"
            for n in {**self.levels, **self.fixed}
            if n not in asked
        ]
        if self.target and self.target not in asked:
            wrong.append(f"the target {self.target!r} is not one of the columns; it leaves, so it counts")
        if not table.rows:
            wrong.append("the file has no rows; there is nobody to protect")
        elif table.schema.by_role(Role.ENTITY) and rows_each(table) > 1:
            wrong.append(
                "people have several records each, and the promise is for single records; make one row a person"
            )
        nodes, ladders = 1.0, []
        for name in names:
            try:
                ladders.append(Ladder.of(table, name, self.levels.get(name)))
                nodes *= ladders[-1].height + 1
            except DaleniusError as error:
                wrong += error.faults
        wrong += [f"fixed: {x.column!r} has levels 0 to {x.height}" for x in ladders
                  if self.fixed.get(x.column, 0) > x.height]  # fmt: skip
        if not self.fixed and self.steps is None and nodes > MOST_NODES:
            wrong.append(
                f"there are {nodes:,.0f} ways of generalising; give fewer levels, or steps of a path"
            )
        if self.score == "granularity":
            open_ = [n for n in names if table[n].column.domain != "declared"]
            open_ += [
                n for n in names if table[n].is_number and not table[n].column.bounds and n not in open_
            ]
            wrong += [
                f"column {n!r}: its domain was read off the data; declare it, or use another score"
                for n in open_
            ]
        return wrong

    def cost(self, shape: Shape) -> Cost:
        """Every combination of levels is looked at once."""
        nodes = min(4.0 ** max(len(self.variables), 1), MOST_NODES) if not self.fixed else 1.0
        return Cost(0.05 + 1e-5 * shape.rows + nodes * 1e-7 * shape.rows, 100.0 * shape.rows)

    def _paid(self, names: Sequence[str]) -> Budget:
        """ε of the search and of the records, paid before anything is drawn; an error when it is exhausted."""
        budget = Budget(self.epsilon, self.delta, accounting="approximate")
        if self.for_search:
            budget.spend(
                "levels of the columns",
                epsilon=self.for_search,
                noise="exponential mechanism",
                output="masked file",
            )
        law = f"drawn with chance {self.share:.4g}, shown from {self.k} on"
        budget.spend(
            "records that look alike",
            epsilon=self.for_records,
            delta=self.delta,
            noise=law,
            output="masked file",
        )
        budget.assume("levels of the columns were fixed without looking at the data")
        if self.ledger is not None:
            pays = self.ledger if isinstance(self.ledger, Budget) else open_ledger(self.ledger)
            pays.charge(budget, f"safepub: {', '.join(names)}", "masked file")
        return budget

    def _apply(self, table: Table, seed: Seed) -> Masked:
        names, k = self._released(table), self.k
        budget = self._paid(names)  # before anything is drawn
        rows = drawn_rows(table.rows, self.share)
        sample = table.take(rows).select(names)
        ladders = [Ladder.of(sample, name, self.levels.get(name)) for name in names]
        levels: Levels = tuple(self.fixed.get(name, 0) for name in names)
        shown = np.zeros(0, bool)
        if len(rows):
            lattice = Lattice(ladders, [])
            levels = levels if self.fixed else self._chosen(lattice, sample, k)
            groups = lattice.groups(levels)
            shown = (groups.sizes >= k)[groups.ids][lattice.rows_ids]
        maps = [rung for x, at in zip(ladders, levels, strict=True) if (rung := x.rungs[at]) is not None]
        made = sample.take(np.flatnonzero(shown))
        for each in maps:
            made = each.see(made)
        told = ", ".join(
            f"{n} at level {at} of {x.height}" for n, at, x in zip(names, levels, ladders, strict=True)
        )
        notes = [
            f"{told}; every record that is shown looks like {k} or more of those drawn (each with a chance of "
            f"{self.share:.4g}). Rare groups are missing: weigh by {1 / self.share:.4g}, and do not count the rare."
        ]
        if self.total and self.delta >= 1 / self.total:
            notes.append("delta is not below one in the number of records; a record may be shown outright.")
        elif k < FEW:
            notes.append(
                f"delta = {self.delta:g} lets groups of {k} be shown: a promise on paper only. Take one far below one "
                "in the number of records."
            )
        figures = {"k": float(k), "share drawn": self.share, "epsilon": self.epsilon, "delta": self.delta}
        masked = Masked.of(table, made, maps=maps, rows=rows[shown], notes=notes, figures=figures)
        return replace(masked, ledger=str(budget))

    def _chosen(self, lattice: Lattice, sample: Table, k: int) -> Levels:
        """Levels by the exponential mechanism: of all nodes at once, or along a path from the coarsest down."""
        scoring = Scoring(
            lattice, self.score, k, sample.names.index(self.target) if self.target else None, self.total,
            covers(sample, lattice.ladders, self.levels) if self.score == "granularity" else (),
        )  # fmt: skip
        width = sensitivity(self.score, k)
        if self.steps is None:
            nodes, scores = scoring.all()
            return nodes[choose(scores, width, self.for_search)]
        pivot: Levels = tuple(ladder.height for ladder in lattice.ladders)
        seen, held = {pivot}, dict[Levels, float]()
        for _ in range(self.steps):
            for j, at in enumerate(pivot):
                finer = (*pivot[:j], at - 1, *pivot[j + 1 :])
                if at and finer not in seen:
                    seen.add(finer)
                    held[finer] = scoring.of(finer)
            if not held:
                break
            options = list(held)
            pivot = options[choose(np.array([held[o] for o in options]), width, self.for_search / self.steps)]
            del held[pivot]
        return pivot


def covers(sample: Table, ladders: Sequence[Ladder], levels: Mapping[str, Any]) -> list[list[Floats]]:
    """For each column, level and exact value of the sample how much of the declared domain its group covers.

    Numbers cover their width of the declared bounds. Nothing but the declared domain is asked how large it is.
    """
    found = []
    for ladder in ladders:
        vector = sample[ladder.column]
        size = len(ladder.maps[0])
        if vector.is_number:
            low, high = (float(end) for end in vector.column.bounds or (0.0, 1.0))
            widths = [getattr(rung, "width", None) if rung is not None else 0.0 for rung in ladder.rungs]
            shares = [1.0 if w is None else min(float(w) / max(high - low, 1e-300), 1.0) for w in widths]
            found.append([np.full(size, share) for share in shares])
            continue
        count = len(vector.levels)
        whole = Table.from_vectors(
            [replace(vector, data=np.arange(count), state=None)], count, sample.origin, None
        )
        domain = Ladder.of(whole, ladder.column, levels.get(ladder.column))
        used = np.minimum(
            np.unique(vector.categories.codes), count - 1
        )  # a gap covers what the last level does
        found.append([(np.bincount(level)[level] / count)[used] for level in domain.maps])
    return found


def explain_parameters(
    epsilon: float, delta: float, rows: int | None = None, search: float | None = None
) -> str:
    """The choice of β and k in words, without looking at any data.

    Examples
    --------
    >>> print(explain_parameters(3.0, 1e-4))
    Of ε = 3, 0.3 go to the search for levels and 2.7 to the records. Drawing as many as ε allows (0.933) would need
    133 that look alike, so that groups of 143 people are seen; drawing 0.3 needs 8, and groups of 27 are seen.
    """
    part = SEARCH_SHARE * epsilon if search is None else search
    left = epsilon - part
    if left <= 0:
        raise OptionError(f"search is {part:g} of an epsilon of {epsilon:g}; leave some for the records")
    top, best = beta_max(left), auto_beta(left, delta)
    k_top, k_best = min_k(delta, top, left), min_k(delta, best, left)
    text = (
        f"Of ε = {epsilon:g}, {part:g} go to the search for levels and {left:g} to the records. Drawing as many as ε "
        f"allows ({top:.3f}) would need {k_top} that look alike, so that groups of {k_top / top:.0f} people are seen; "
        f"drawing {best:g} needs {k_best}, and groups of {k_best / best:.0f} are seen."
    )
    if rows is not None and delta >= 1 / rows:
        text += f" δ should be below one in {counted(rows, 'record')}."
    return text
