"""Two neighbouring files give the same errors, notes, schema, types and texts, outside of noised numbers."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dalenius import dp
from dalenius.cli import app
from dalenius.core.errors import DaleniusError
from dalenius.data import Column, Kind, Schema, Table, read
from dalenius.release import read_plan, run_plan, write_pack
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
    """A text without its numbers, which may be noised, and without the pairs that were chosen privately."""
    text = re.sub(r"^  [^:]* × [^:]*:", "  # × #:", text, flags=re.M)
    return re.sub(r"-?\d[\d,.]*(e-?\d+)?", "#", text)


NOISED = ("settle", "two-way tables", "rounds", "no positive cell", "a count of", "contradict")
"""Words of sentences that follow from noisy tables."""


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
        steady = [masked(n) for n in made.notes if not any(word in n for word in NOISED)]
        lines = [masked(line) for line in made.ledger.splitlines()]
        return tuple(steady), len(lines), made.table.schema, tuple(map(str, out.dtypes)), tuple(out.columns)
    except DaleniusError as error:
        return ("error", masked(str(error)))


@pytest.mark.slow
@pytest.mark.parametrize("path", [*PATHS, "dp.count", "dp.table", "dp.sum", "dp.mean", "dp.quantile"])
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(held=rows, extra=st.tuples(cells, cells, cells, cells, cells))
def test_neighbours_look_the_same(path, held, extra):
    """Fifty pairs for each of ten paths: five hundred in all."""
    assert outcome(path, held) == outcome(path, [*held, extra])


PLAN = """\
input: people.csv
schema: schema.yaml
holdout_share: 0
scenarios: {neighbour: {keys: [region, ill], targets: [age]}}
candidates: {METHOD: OPTIONS}
measures: [replicated-uniques]
policy: [repU <= 100 %]
evaluation_epsilon: 0.5
output: out
"""


def public_texts(path: str, held: list[tuple]) -> dict[str, str]:
    """The public words of a release of these rows, and of thirty that everybody has, without numbers."""
    usual = [("n", True, 30, 10.5, "2020-05-05"), ("s", False, 60, 700.0, "2020-08-01")] * 15
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        cells = [["" if cell is None else str(cell) for cell in row] for row in (*usual, *held)]
        pl.DataFrame(cells, schema=SCHEMA.names, orient="row").write_csv(folder / "people.csv")
        SCHEMA.to_yaml(folder / "schema.yaml")
        plan = PLAN.replace("METHOD", path).replace("OPTIONS", json.dumps(PATHS[path]))
        (folder / "plan.yaml").write_text(plan)
        try:
            pack = write_pack(run_plan(read_plan(folder / "plan.yaml"), workers=1))
        except DaleniusError as error:
            return {"error": masked(str(error))}
        lines = {
            name: (pack / "public" / name).read_text().splitlines() for name in ("report.md", "limits.md")
        }
    steady = {
        n: [line for line in held if not any(word in line for word in NOISED)] for n, held in lines.items()
    }
    return {name: masked("\n".join(held)) for name, held in steady.items()}


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
@settings(
    max_examples=20 if LONG else 3,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(held=rows, extra=st.tuples(cells, cells, cells, cells, cells))
def test_public_reports_of_neighbours_say_the_same(path, held, extra):
    texts = public_texts(path, held)
    assert "report.md" in texts
    assert texts == public_texts(path, [*held, extra])


@pytest.mark.parametrize("line", ["f", "m,yes,more", "m,yes,more,still"])
def test_a_ragged_line_is_no_error_under_a_budget(tmp_path, line):
    """An error would tell that the line is there: what lacks is missing, what is too much is left out."""
    file, declared = tmp_path / "people.csv", tmp_path / "schema.yaml"
    file.write_text("sex,ill\n" + "f,yes\nm,no\n" * 30 + f"{line}\n")
    levels = {"sex": ("f", "m"), "ill": ("no", "yes")}
    Schema(tuple(Column(n, Kind.CATEGORICAL, levels=v) for n, v in levels.items())).declare().to_yaml(
        declared
    )
    words = ["dp", "histogram", str(file), "ill", "--schema", str(declared), "--epsilon", "1"]
    assert CliRunner().invoke(app, words).exit_code == 0
    found = read(file, schema=Schema.from_yaml(declared).blind())
    assert found.rows == 61
    assert found["sex"].categories.labels[int(found["sex"].categories.codes[-1])] == line[0]
    with pytest.raises(DaleniusError, match="line 62"):
        read(file)
