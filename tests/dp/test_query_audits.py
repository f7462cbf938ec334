"""Single queries and bought figures tell no more than they say; half of the noise would be noticed.

The transcript of the samplers is listened to, as for the synthesizers. Under pure accounting its log-ratio is bounded
by ε for every outcome, and some neighbours reach the bound: noise for too small a sensitivity is found at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dalenius import dp
from dalenius.data import Column, Kind, Schema, Table
from dalenius.dp import compare, queries
from tests.dp.test_audits import SURE
from tests.dp.transcripts import Bank, log_ratio

COLUMNS = (
    Column("who", Kind.CATEGORICAL, roles=("entity",)),
    Column("sex", Kind.CATEGORICAL, levels=("f", "m")),
    Column("age", Kind.INTEGER, bounds=(-100, 100)),
    Column("pay", Kind.CONTINUOUS, bounds=(0, 50), decimals=1),
)
SCHEMA = Schema(COLUMNS).declare()
EPSILON, RUNS = 0.5, 40
OTHERS = [(f"q{i}", "f" if i % 3 else "m", 5 * i - 40, float(i)) for i in range(20)]
ONE, ELSE = ("p", "f", -100, 50.0), ("p", "m", 100, 0.0)
NEIGHBOURS = {
    ("add-remove", None): ([ONE], []),
    ("replace", None): ([ONE], [ELSE]),
    ("add-remove", 2): ([ONE] * 5, []),
    ("replace", 2): ([ONE] * 5, [ELSE] * 5),
}
ASKED: dict[str, Callable[..., Any]] = {
    "count": dp.count,
    "table": lambda t, **how: dp.table(t, ["sex", "age"], breaks=[-100, 0, 100], **how),
    "histogram": lambda t, **how: dp.histogram(t, "age", **how),
    "sum": lambda t, **how: dp.sum(t, "age", **how),
    "sum of fractions": lambda t, **how: dp.sum(t, "pay", **how),
    "mean": lambda t, **how: dp.mean(t, "age", **how),
}


def table(rows: list[tuple[Any, ...]], owned: bool) -> Table:
    whole = Table.from_frame({c.name: [r[i] for r in rows] for i, c in enumerate(COLUMNS)}, SCHEMA.blind())
    return whole if owned else whole.drop(["who"])


@dataclass(frozen=True)
class Case:
    """A query, and two files that differ by one unit."""

    query: str
    neighbours: str
    contribution: int | None
    delta: float = 0.0

    @property
    def tables(self) -> tuple[Table, Table]:
        first, second = NEIGHBOURS[self.neighbours, self.contribution]
        owned = self.contribution is not None
        return table([*first, *OTHERS], owned), table([*second, *OTHERS], owned)

    def ask(self, own: Table) -> Any:
        how = {"neighbours": self.neighbours, "contribution": self.contribution}
        return ASKED[self.query](own, epsilon=EPSILON if not self.delta else 1.5, delta=self.delta, **how)

    def ratios(self, runs: int, monkeypatch: Any, halved: bool = False) -> np.ndarray:
        bank, (one, other) = Bank(), self.tables
        pairs = [(one, other), (other, one)]
        made = [
            [log_ratio(self.ask, *p, bank, monkeypatch, halved=halved) for _ in range(runs)] for p in pairs
        ]
        for _, result, again in made[0] + made[1]:
            assert result.to_dict() == again.to_dict(), "an answer is nothing but its transcript"
        return np.array([[ratio for ratio, _, _ in side] for side in made])


CASES = [Case(query, *who) for query in ASKED for who in NEIGHBOURS]
# Two records of one unit need not be counted when one record is replaced by one; the bound is not reached there.
LOOSE = {("count", "replace")}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_answer_tells_more_than_it_costs(case, monkeypatch):
    largest = np.abs(case.ratios(RUNS, monkeypatch)).max()
    assert largest <= EPSILON * (1 + 1e-9)
    if (case.query, case.neighbours) in LOOSE:
        return
    share = {"mean": 0.45}.get(
        case.query, 0.9
    )  # a mean pays for its sum and its count, which one record seldom moves both
    assert largest >= share * EPSILON, "the bound is reached, so less noise would break it"
    assert np.abs(case.ratios(RUNS, monkeypatch, halved=True)).max() > 2 * share * EPSILON * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("query", ["table", "sum"])
def test_gaussian_answers_tell_no_more_and_half_the_noise_is_noticed(query, neighbours, monkeypatch):
    case = Case(query, neighbours, None, 0.3)
    first, second = case.ratios(300, monkeypatch)
    assert not compare(first, -second, 1.5, delta=0.3, confidence=SURE, search=0.25).refuted
    for _ in range(4):  # the audit may miss it once in some hundred times
        first, second = case.ratios(900, monkeypatch, halved=True)
        found = compare(first, -second, 1.5, delta=0.3, search=0.25)
        if found.refuted:
            break
    assert found.refuted, str(found)


@pytest.mark.parametrize(("neighbours", "contribution"), list(NEIGHBOURS))
def test_quantiles_count_every_record_of_a_unit(neighbours, contribution, monkeypatch):
    """OpenDP's own map turns records into ε; how many come or go is ours to say."""
    case, told = Case("quantile", neighbours, contribution), []
    own = case.tables[0]
    monkeypatch.setattr(
        queries, "private_quantile", lambda v, c, s, moved, e, level: told.append((moved, e)) or (0.0, 1.0)
    )
    dp.quantile(own, "age", epsilon=EPSILON, neighbours=neighbours, contribution=contribution)
    assert told == [((contribution or 1) * (1 if neighbours == "add-remove" else 2), EPSILON)]


@pytest.mark.parametrize(("neighbours", "contribution"), list(NEIGHBOURS))
def test_bought_figures_tell_no_more_than_they_cost(neighbours, contribution, monkeypatch):
    case = Case("utility", neighbours, contribution)
    released = table(OTHERS[:10], False)
    one, other = case.tables
    if contribution is not None:  # the caller bounds the units first, as a release does
        one, other = (t.take(np.r_[:2, 5 : t.rows]) if t.rows > 20 else t for t in (one, other))

    def buy(own: Table) -> Any:
        made = dp.paid_utility(
            own, released, epsilon=EPSILON, neighbours=neighbours, records=contribution or 1
        )
        return [each.to_dict() for each in made]

    bank, largest = Bank(), {True: 0.0, False: 0.0}
    for halved in (False, True):
        for pair in ((one, other), (other, one)):
            for _ in range(RUNS):
                ratio, result, again = log_ratio(buy, *pair, bank, monkeypatch, halved=halved)
                assert result == again
                largest[halved] = max(largest[halved], abs(ratio))
    assert largest[False] <= EPSILON * (1 + 1e-9)
    if neighbours == "add-remove":
        assert largest[True] > EPSILON, "half of the noise would be noticed"
