"""Two neighbouring files give the same errors, notes, schema, types and texts, outside of noised numbers."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dalenius import dp
from dalenius.core.errors import DaleniusError
from dalenius.data import Column, Kind, Schema, Table
from dalenius.synth import Candidate
from tests import LONG

SCHEMA = Schema(
    (
        Column("region", Kind.CATEGORICAL, levels=("n", "s", "w"), missing=("?",)),
        Column("ill", Kind.BOOLEAN),
        Column("age", Kind.INTEGER, bounds=(0, 99), not_applicable=(-8,)),
        Column("pay", Kind.CONTINUOUS, bounds=(0, 1000), decimals=1),
        Column("seen", Kind.DATETIME, bounds=("2020-01-01", "2021-01-01")),
    )
).declare()
PATHS = {
    "saturated": {"epsilon": 1.0, "groups": 2},
    "loglinear": {"epsilon": 1.0, "groups": 2, "margins": "one-way"},
    "mst": {"epsilon": 1.0, "groups": 2, "more": 0},
    "aim": {"epsilon": 1.0, "groups": 2, "rounds": 1, "max_iter": 1},
    "poisson": {"alpha": 0.1, "groups": 2},
}
cells = st.one_of(
    st.none(), st.booleans(), st.integers(-20, 2000), st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(["n", "s", "w", "?", "secret", "01", "-8", "2020-05-05", "é\u202e", ""]), st.dates(),
)  # fmt: skip
rows = st.lists(st.tuples(cells, cells, cells, cells, cells), max_size=12)


def masked(text: str) -> str:
    """A text without its numbers, which may be noised."""
    return re.sub(r"-?\d[\d,.]*(e-?\d+)?", "#", text)


def outcome(path: str, held: list[tuple]) -> tuple:
    """What anybody sees of a run but the numbers: error, or notes, ledger, schema and types."""
    frame = pd.DataFrame(
        {n: pd.Series([row[i] for row in held], dtype=object) for i, n in enumerate(SCHEMA.names)}
    )
    try:
        if path.startswith("dp."):
            name = path[3:]
            asked = {"count": (), "table": (["region", "ill"],)}.get(name, ("age",))
            result = getattr(dp, name)(frame, *asked, epsilon=1.0, schema=SCHEMA)
            return masked(result.sentence), result.name, result.table is None or tuple(result.table.columns)
        candidate = Candidate(path, PATHS[path], rows=5)
        made = candidate.make(Table.from_frame(frame, SCHEMA.blind()), force=True)
        out = made.table.to_frame()
        noised = (
            "settle",
            "two-way tables",
            "rounds",
            "no positive cell",
            "a count of",
        )  # follow from noisy tables
        steady = [masked(n) for n in made.notes if not any(word in n for word in noised)]
        lines = [masked(line) for line in made.ledger.splitlines()]
        return tuple(steady), len(lines), made.table.schema, tuple(map(str, out.dtypes)), tuple(out.columns)
    except DaleniusError as error:
        return ("error", masked(str(error)))


@pytest.mark.slow
@pytest.mark.parametrize("path", [*PATHS, "dp.count", "dp.table", "dp.sum", "dp.mean", "dp.quantile"])
@settings(max_examples=50 if LONG else 8, deadline=None, suppress_health_check=list(HealthCheck))
@given(held=rows, extra=st.tuples(cells, cells, cells, cells, cells))
def test_neighbours_look_the_same(path, held, extra):
    """Fifty pairs for each of ten paths: five hundred in all."""
    assert outcome(path, held) == outcome(path, [*held, extra])
