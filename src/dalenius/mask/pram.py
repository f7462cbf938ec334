"""PRAM: categories changed at random by known chances (post-randomisation), and randomised response with an ε."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from opendp import measurements
from opendp.mod import enable_features

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DataError
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.exit import releasable
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table
from dalenius.data.vector import IntArray, Vector, compact
from dalenius.dp.budget import Budget
from dalenius.dp.ledger import open_ledger
from dalenius.mask.microaggregation import strata_of
from dalenius.mask.needs import one_draw_each, rows_each
from dalenius.mask.neighbours import Floats
from dalenius.synth.joint.base import READ_OFF

enable_features("contrib")


def invariant(frequencies: Floats, theta: float) -> Floats:
    """Chances to change that leave expected frequencies as they are (Kwatra and Torra 2024, equation 2).

    With T the frequencies and T_k the least of them: P_ii = 1 - θ T_k / T_i, and the rest evenly over the others.

    Examples
    --------
    >>> invariant(np.array([50.0, 30, 20]), 0.3).round(2).tolist()
    [[0.88, 0.06, 0.06], [0.1, 0.8, 0.1], [0.15, 0.15, 0.7]]
    """
    size = len(frequencies)
    if size < 2:
        return np.ones((size, size))
    leave = theta * frequencies.min() / frequencies
    chances: Floats = np.repeat((leave / (size - 1))[:, None], size, axis=1)
    np.fill_diagonal(chances, 1 - leave)
    return chances


def two_stage(frequencies: Floats, stay: float, alpha: float = 0.5) -> Floats:
    """SdcMicro's invariant chances: R = P Q with Q the way back by Bayes, mixed with staying as it is.

    P keeps a value with chance ``stay`` and spreads the rest evenly; Q_ij = P_ji T_j / Σ P_li T_l; the result is
    α R + (1 - α) I (Gouweleeuw et al. 1998).

    Examples
    --------
    >>> frequencies = np.array([50.0, 30, 20])
    >>> bool(np.allclose(frequencies @ two_stage(frequencies, 0.8), frequencies))
    True
    """
    size = len(frequencies)
    if size < 2:
        return np.ones((size, size))
    there = np.full((size, size), (1 - stay) / (size - 1))
    np.fill_diagonal(there, stay)
    joint = there * frequencies[:, None]
    back = (joint / joint.sum(axis=0)).T
    mixed: Floats = alpha * there @ back + (1 - alpha) * np.eye(size)
    return mixed


def k_rr(size: int, epsilon: float) -> Floats:
    """Chances of k-ary randomised response: the true value with e^ε / (e^ε + c - 1), else any other one.

    Examples
    --------
    >>> k_rr(2, math.log(4)).round(2).tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """
    keep = 1 / (1 + (size - 1) * math.exp(-epsilon))
    chances = np.full((size, size), (1 - keep) / max(size - 1, 1))
    np.fill_diagonal(chances, keep)
    return chances


def ldp_epsilon(chances: Floats) -> float:
    """Local ε of a matrix of chances taken as fixed and public: per value that comes out, the largest ratio.

    Examples
    --------
    >>> round(ldp_epsilon(invariant(np.array([50.0, 30, 20]), 0.3)), 6)
    2.590267
    """
    if len(chances) < 2:
        return 0.0
    least = chances.min(axis=0)
    if (least <= 0).any():
        return math.inf
    return float(np.log(chances.max(axis=0) / least).max())


def theta_for_epsilon(frequencies: Floats, epsilon: float) -> float:
    """The least θ with which `invariant` has a local ε.

    Closed form up to θ = (c - 1)/c, beyond it a search; skewed frequencies have a floor below which none will do.

    Examples
    --------
    >>> round(theta_for_epsilon(np.array([50.0, 30, 20]), 2.590267), 6)
    0.3
    """
    size = len(frequencies)
    if size < 2:
        return 0.0
    second, first = np.sort(frequencies)[-2:]
    least, power = float(frequencies.min()), math.exp(epsilon)
    others = size - 1
    tried = [others * a / (least * (power + others * a / b)) for a, b in ((first, second), (second, first))]
    if max(tried) <= others / size:
        return float(max(tried))
    grid = np.linspace(others / size, 1, 2001)[:-1]
    reached = np.array([ldp_epsilon(invariant(frequencies, theta)) for theta in grid])
    if reached.min() > epsilon:
        raise DataError(f"no θ gives ε = {epsilon:g} here; the least that can be had is {reached.min():.3g}: merge "
                        "rare levels, or use randomised response")  # fmt: skip
    return float(grid[np.argmax(reached <= epsilon)])


def moved(codes: IntArray, chances: Floats, seed: Seed, *path: str | int) -> IntArray:
    """Codes drawn anew, each from the row of chances of its own.

    Examples
    --------
    >>> moved(np.array([0, 1, 1]), np.eye(2), 1).tolist()
    [0, 1, 1]
    """
    steps = np.cumsum(chances, axis=1)
    steps[:, -1] = np.inf
    draws = generator(seed, *path).random(len(codes))
    made = np.empty(len(codes), np.int64)
    for code in range(len(chances)):
        here = codes == code
        made[here] = np.searchsorted(steps[code], draws[here], side="right")
    return made


@step
@dataclass(frozen=True)
class Pram(Step):
    """Categories changed at random so that expected frequencies stay as they are.

    Examples
    --------
    >>> people = Table.from_frame({"sex": ["f", "m"] * 50})
    >>> made = Pram(("sex",), theta=0.2).apply(people, 1)
    >>> round(made.figures["epsilon of sex"], 3), 5 < made.records < 40
    (1.386, True)
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="pram",
        title="Post-randomisation (PRAM)",
        meaning="Changes categories at random by known chances that leave expected frequencies as they are.",
        plain="Some answers are swapped for others by the throw of a die; totals stay about right.",
        guarantee="none",
        reference="Gouweleeuw et al. 1998; Kwatra and Torra 2024",
        example_options={"variables": ["sex"], "theta": 0.3},
    )
    reversible: ClassVar[bool] = False
    variables: Annotated[
        tuple[str, ...], Option(title="Columns", meaning="categories that are changed", knob=True)
    ]
    theta: Annotated[
        float,
        Option(
            at_least=0,
            below=1,
            title="Theta",
            meaning="chance that the rarest value changes: more is safer",
            knob=True,
        ),
    ] = 0.2
    epsilon: Annotated[
        float | None, Option(above=0, title="Epsilon", meaning="instead of theta: local ε of a column")
    ] = None
    method: Annotated[
        Literal["theta", "two-stage"], Option(title="Chances", meaning="one step, or sdcMicro's two stages")
    ] = "theta"
    stay: Annotated[
        float, Option(above=0, below=1, title="Stay", meaning="two stages: chance to stay in the first")
    ] = 0.8
    alpha: Annotated[
        float, Option(above=0, at_most=1, title="Alpha", meaning="two stages: share of the change")
    ] = 0.5
    strata: Annotated[tuple[str, ...], Option(title="Strata", meaning="chances are set within these")] = ()
    gaps: Annotated[bool, Option(title="Gaps too", meaning="an empty cell is a value like others")] = False

    def conflicts(self) -> list[str]:
        """Columns to change."""
        wrong = [] if self.variables else ["variables names none; say which columns are changed"]
        return wrong + (
            ["epsilon goes with method 'theta'"] if self.epsilon and self.method != "theta" else []
        )

    def faults(self, table: Table) -> list[str]:
        """Categories only; numbers have too many values."""
        return super().faults(table) + category_faults(table, self.variables)

    def _chances(self, frequencies: Floats) -> Floats:
        if self.method == "two-stage":
            return two_stage(frequencies, self.stay, self.alpha)
        theta = self.theta if self.epsilon is None else theta_for_epsilon(frequencies, self.epsilon)
        return invariant(frequencies, theta)

    def _apply(self, table: Table, seed: Seed) -> Masked:
        stratum, strata = strata_of(table, self.strata)
        figures: dict[str, float] = {}
        made = []
        for name in self.variables:
            vector = table[name]
            open_rows = np.ones(table.rows, bool) if self.gaps else vector.present
            codes = vector.categories.codes.astype(np.int64)
            new, worst, share = codes.copy(), 0.0, 0.0
            for s in range(strata):
                here = np.flatnonzero(open_rows & (stratum == s))
                levels, local = np.unique(codes[here], return_inverse=True)
                if not len(levels):
                    continue
                counts = np.bincount(local).astype(float)
                chances = self._chances(counts)
                new[here] = levels[moved(local, chances, seed, name, s)]
                worst = max(worst, ldp_epsilon(chances))
                share += float((counts * (1 - np.diag(chances))).sum()) / max(table.rows, 1)
            figures |= {f"epsilon of {name}": worst, f"expected share changed of {name}": share}
            made.append(with_categories(vector, new))
        total = sum(value for key, value in figures.items() if key.startswith("epsilon"))
        note = (
            f"Expected shares of changed cells: {_shares(figures, self.variables)}. The local ε of all would be "
            f"{total:.3g} if the chances were fixed and public; they are read off the data, so it is no guarantee."
        )
        made = one_draw_each(table, made)
        return Masked.of(table, table.with_vectors(*made), perturbed=self.variables, notes=[note],
                         figures={**figures, "epsilon": total})  # fmt: skip


@step
@dataclass(frozen=True)
class RandomResponse(Step):
    """k-ary randomised response: each value of a column is told truly only with a known chance.

    The chances depend on the number of levels and ε alone. The draws come from OpenDP and cannot be repeated. What a
    record says in these columns is protected (replace neighbours); other columns, and who is there, are not. ``ledger``
    (a `Budget`, or its file) pays ε for every column before anything is drawn.

    Examples
    --------
    >>> people = Table.from_frame({"sex": ["f", "m"] * 50})
    >>> made = RandomResponse(("sex",), epsilon=20.0, domain="from-data").apply(people)
    >>> made.table.to_frame()["sex"][:2], made.figures["epsilon"]
    (['f', 'm'], 20.0)
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="random-response",
        title="Randomised response",
        meaning="Each category is told truly only with a chance that depends on ε alone.",
        plain="Every answer is given truly or by the throw of a die, so that no answer can be held against anybody.",
        guarantee="none",
        reference="Warner 1965; Kairouz, Bonawitz and Ramage 2016",
        seedable=False,
        example_options={"variables": ["sex"], "epsilon": 3.0, "domain": "from-data"},
    )
    reversible: ClassVar[bool] = False
    pays: ClassVar[bool] = True
    variables: Annotated[
        tuple[str, ...], Option(title="Columns", meaning="categories that are randomised", knob=True)
    ]
    epsilon: Annotated[
        float, Option(above=0, title="Epsilon", meaning="for each column: less is safer", knob=True)
    ] = 1.0
    domain: Annotated[
        Literal["declared", "from-data"],
        Option(
            title="Domain",
            meaning="whether levels must be declared public, or may be read off the data",
            knob=True,
        ),
    ] = "declared"
    ledger: Annotated[
        str | Budget | None, Option(title="Ledger", meaning="the budget of the data set that pays for it")
    ] = field(default=None, hash=False)

    def conflicts(self) -> list[str]:
        """Columns to randomise, each once: a second answer would be a second spend."""
        if len(set(self.variables)) < len(self.variables):
            return ["variables names a column twice; name each once"]
        return [] if self.variables else ["variables names none; say which columns are randomised"]

    def to_dict(self) -> dict[str, Any]:
        """Plain data: a ledger by its file, and none that lives in memory alone."""
        named = self.ledger if isinstance(self.ledger, str) or self.ledger is None else None
        return super(RandomResponse, replace(self, ledger=named)).to_dict()

    def _paid(self, table: Table) -> Budget:
        """What all columns of a record cost together, paid out of the ledger; an error when it is exhausted."""
        budget = Budget(self.epsilon * len(self.variables), neighbours="replace")
        for name in self.variables:
            budget.spend(name, epsilon=self.epsilon, noise="randomised response", output="masked file")
        if self.domain == "from-data":
            budget.assume(READ_OFF)
        others = [name for name in releasable(table).names if name not in self.variables]
        if others:
            budget.expose(f"columns that are not randomised ({', '.join(others)})")
        if self.ledger is not None:
            pays = self.ledger if isinstance(self.ledger, Budget) else open_ledger(self.ledger)
            pays.charge(budget, f"random-response: {', '.join(self.variables)}", "masked file")
        return budget

    def faults(self, table: Table) -> list[str]:
        """Categories without gaps, with public levels."""
        wrong = super().faults(table) + category_faults(table, self.variables)
        most = rows_each(table)
        if most > 1:
            wrong.append(
                f"a person has up to {most} rows, each told with an ε of its own: the promise would be of a row, not "
                "of a person; keep one row of each"
            )
        for name in [] if wrong else self.variables:
            if self.domain == "declared" and table[name].column.domain != "declared":
                wrong.append(
                    f"column {name!r}: its levels were read off the data; declare them, or say domain='from-data'"
                )
            if not table[name].present.all():
                wrong.append(
                    f"column {name!r} has empty cells, which would stay as they are; give them a level first"
                )
        return wrong

    def cost(self, shape: Shape) -> Cost:
        """OpenDP draws one value at a time."""
        return Cost(0.01 + 1e-5 * shape.rows * max(len(self.variables), 1), 100.0 * shape.rows)

    def _apply(self, table: Table, seed: Seed) -> Masked:
        budget = self._paid(table)  # before any noise is drawn
        made = []
        for name in self.variables:
            vector = table[name]
            size = len(vector.levels)
            if size < 2:
                made.append(vector)
                continue
            tell = measurements.make_randomized_response(
                list(range(size)), float(k_rr(size, self.epsilon)[0, 0])
            )
            made.append(
                with_categories(vector, np.fromiter(map(tell, vector.data.tolist()), np.int64, table.rows))
            )
        total = self.epsilon * len(self.variables)
        note = f"Randomised response: ε = {self.epsilon:g} for each of {len(self.variables)} columns, {total:g} in all."
        masked = Masked.of(table, table.with_vectors(*made), perturbed=self.variables, notes=[note],
                           figures={"epsilon": total})  # fmt: skip
        return replace(masked, ledger=str(budget))


def category_faults(table: Table, names: Sequence[str]) -> list[str]:
    """What keeps columns from being changed as categories.

    Examples
    --------
    >>> category_faults(Table.from_frame({"pay": [1.5, 2.25]}), ["pay"])
    ["column 'pay' is continuous; categories are needed: recode it first"]
    """
    there = [name for name in names if name in table]
    wrong = [f"column {name!r} is {table[name].column.kind}; categories are needed: recode it first"
             for name in there if table[name].is_number]  # fmt: skip
    return wrong + [f"column {name!r} has no values; leave it out" for name in there
                    if not table[name].is_number and not table[name].present.any()]  # fmt: skip


def with_categories(vector: Vector, codes: IntArray) -> Vector:
    """A column of categories with other codes, gaps included (as `Vector.categories` numbers them)."""
    first = {}
    for row, code in zip(*np.unique(vector.categories.codes, return_index=True)[::-1], strict=True):
        first[int(code)] = int(row)
    levels = len(vector.levels)
    if vector.state is None:
        return replace(vector, data=compact(codes, levels))
    donor = np.array([first.get(code, 0) for code in range(vector.categories.size)])
    empty = codes >= levels
    state = np.where(empty, vector.state[donor[codes]], 0).astype(np.uint8)
    return replace(vector, data=compact(np.where(empty, 0, codes), levels), state=state).tidy()


def _shares(figures: dict[str, float], columns: Sequence[str]) -> str:
    return ", ".join(f"{name} {100 * figures[f'expected share changed of {name}']:.2g} %" for name in columns)
