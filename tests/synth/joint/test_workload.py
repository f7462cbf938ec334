"""Tables that somebody needs are measured better than others."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import OptionError
from dalenius.data import Column, Kind, Schema, Table, write
from dalenius.synth import Candidate, make_synthesizer

NAMES = "abcdef"
SCHEMA = Schema(tuple(Column(name, Kind.CATEGORICAL, levels=("0", "1", "2")) for name in NAMES)).declare()
METHODS = {"mst": {"epsilon": 1.0, "more": 0}, "aim": {"epsilon": 1.0, "rounds": 3, "max_iter": 3}}


def people(rows: int = 3000) -> Table:
    """Columns of which each depends much on the one before, and the last a little on the first too."""
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, 3, rows)]
    for _ in NAMES[1:]:
        codes.append(np.where(rng.random(rows) < 0.6, codes[-1], rng.integers(0, 3, rows)))
    codes[-1] = np.where(rng.random(rows) < 0.25, codes[0], codes[-1])
    return Table.from_frame(
        {n: c.astype(str).tolist() for n, c in zip(NAMES, codes, strict=True)}, SCHEMA.blind()
    )


def distance(model, table: Table, pair: tuple[str, str]) -> float:
    """Half of the absolute differences of a two-way table, in per cent."""
    drawn = model.sample(30_000, seed=1)
    shares = []
    for held in (table, drawn):
        codes = 4 * held[pair[0]].categories.codes.astype(int) + held[pair[1]].categories.codes
        shares.append(np.bincount(codes, minlength=16) / held.rows)
    return 50 * float(np.abs(shares[0] - shares[1]).sum())


@pytest.mark.parametrize("method", METHODS)
def test_tables_of_the_workload_come_out_better(method):
    table, wanted = people(), ("a", "f")
    found = {}
    for name, workload in (("none", None), ("list", [wanted]), ("weights", {"a × f": 20, "b,c": 1})):
        models = [
            make_synthesizer(method, **METHODS[method], workload=workload).fit(table, seed=s)
            for s in range(4)
        ]
        found[name] = np.mean([distance(model, table, wanted) for model in models])
    assert found["list"] < 0.75 * found["none"]
    assert found["weights"] < 0.75 * found["none"]


@pytest.mark.parametrize("method", METHODS)
def test_a_workload_is_measured_and_costs_no_more(method):
    model = make_synthesizer(method, **METHODS[method], workload=[["a", "c"], ["b", "f"]]).fit(
        people(), seed=1
    )
    assert "  a × c: ρ" in model.ledger
    assert "  b × f: ρ" in model.ledger
    assert f"spent: ε = {METHODS[method]['epsilon']:g}" in model.ledger


def test_a_workload_names_columns_that_are_there():
    wrong = Candidate("aim", {"workload": [["a", "nose"]]})
    assert wrong.faults(people()) == ["workload: no column 'nose'; there are 'a', 'b', 'c', 'd', 'e', 'f'"]
    with pytest.raises(OptionError, match="workload"):
        make_synthesizer("mst", workload={"a × b": -1.0})


def test_a_workload_on_the_command_line(tmp_path):
    write(people(400), tmp_path / "people.csv")
    SCHEMA.to_yaml(tmp_path / "schema.yaml")
    words = ["synth", str(tmp_path / "people.csv"), "-m", "mst", "--schema", str(tmp_path / "schema.yaml")]
    done = CliRunner().invoke(
        app, [*words, "--option", 'workload={"a × c": 5, "b": 1}', "-o", str(tmp_path / "o.csv")]
    )
    assert done.exit_code == 0, done.output
    assert "a × c: ρ" in done.output
