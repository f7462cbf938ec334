"""PRAM: the worked examples of the paper, frequencies kept in expectation, ε of matrices."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core.errors import DataError, OptionError
from dalenius.data import examples, write
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.dp import Budget, ledger_path, open_ledger
from dalenius.mask.pram import (
    Pram,
    RandomResponse,
    invariant,
    k_rr,
    ldp_epsilon,
    theta_for_epsilon,
    two_stage,
)
from dalenius.release import read_plan, run_plan
from dalenius.synth import Candidate

FREQUENCIES = st.lists(st.integers(1, 500), min_size=2, max_size=7).map(lambda x: np.array(x, float))


def test_worked_examples() -> None:
    counts = np.array([50.0, 30, 20])
    wanted = [[0.88, 0.06, 0.06], [0.10, 0.80, 0.10], [0.15, 0.15, 0.70]]
    np.testing.assert_allclose(invariant(counts, 0.3), wanted, atol=1e-12)
    assert ldp_epsilon(invariant(counts, 0.3)) == pytest.approx(2.590267, abs=1e-6)
    assert ldp_epsilon(invariant(counts, 0.1)) == pytest.approx(3.843030, abs=1e-6)
    np.testing.assert_allclose(counts @ invariant(counts, 0.3), counts)
    np.testing.assert_allclose(invariant(10 * counts, 0.3), wanted, atol=1e-12)
    assert counts @ (1 - np.diag(invariant(counts, 0.3))) / 100 == pytest.approx(0.18)
    assert ldp_epsilon(invariant(np.array([100.0, 100]), 0.2)) == pytest.approx(math.log(4))
    assert ldp_epsilon(invariant(np.array([100.0, 100]), 0.5)) == pytest.approx(0)
    least = min(ldp_epsilon(invariant(counts, theta)) for theta in np.arange(0.01, 1, 0.001))
    assert least == pytest.approx(0.9163, abs=6e-5)
    assert ldp_epsilon(invariant(counts, 0.862)) == pytest.approx(least, abs=6e-4)
    assert theta_for_epsilon(counts, 2.590267) == pytest.approx(0.3, abs=1e-6)
    assert theta_for_epsilon(np.array([21790.0, 10771]), 2.901818) == pytest.approx(0.1, abs=1e-6)
    with pytest.raises(DataError, match=r"least that can be had is 5\.28"):
        theta_for_epsilon(np.array([500.0, 300, 5]), 1.0)


@pytest.mark.parametrize(
    ("rare", "wanted"),
    [(5, (11.002, 10.309, 9.903)), (50, (8.699, 8.005, 7.599)), (500, (6.391, 5.691, 5.279)),
     (5000, (4.030, 3.268, 2.788))],
)  # fmt: skip
def test_a_rare_category(rare: int, wanted: tuple[float, ...]) -> None:
    counts = np.array([10000.0, 8000, 6000, rare])
    found = [ldp_epsilon(invariant(counts, theta)) for theta in (0.1, 0.2, 0.3)]
    assert found == pytest.approx(wanted, abs=6e-4)


@settings(max_examples=60, deadline=None)
@given(FREQUENCIES, st.floats(0.01, 0.99))
def test_expected_frequencies_stay(counts: np.ndarray, amount: float) -> None:
    for chances in (invariant(counts, amount), two_stage(counts, amount, 0.7)):
        np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(counts @ chances, counts, rtol=1e-9)
        assert chances.min() >= 0


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 30), st.floats(0.1, 8))
def test_randomised_response_has_its_epsilon(size: int, epsilon: float) -> None:
    assert ldp_epsilon(k_rr(size, epsilon)) == pytest.approx(epsilon)


def test_counts_follow_the_chances() -> None:
    people = Table.from_frame({"job": ["a"] * 5000 + ["b"] * 3000 + ["c"] * 2000, "other": ["x", "y"] * 5000})
    made = Pram(("job",), theta=0.3).apply(people, 1)
    new = np.bincount(made.table["job"].data, minlength=3)
    spread = np.sqrt(10000 * 0.18)
    assert np.abs(new - [5000, 3000, 2000]).max() < 5 * spread
    assert made.records == pytest.approx(1800, abs=5 * np.sqrt(1800))
    assert made.figures["expected share changed of job"] == pytest.approx(0.18)
    again = Pram(("job",), theta=0.3).apply(people, 1)
    assert again.table["job"].data.tobytes() == made.table["job"].data.tobytes()


def test_gaps_stay_or_take_part() -> None:
    people = Table.from_frame({"job": (["a", "b", None] * 200)})
    alone = Pram(("job",), theta=0.5).apply(people, 1).table["job"]
    assert (alone.present == people["job"].present).all()
    taken = Pram(("job",), theta=0.5, gaps=True).apply(people, 1).table["job"]
    assert 50 < (taken.present != people["job"].present).sum() < 350


def test_an_epsilon_finds_its_theta() -> None:
    people = Table.from_frame({"job": ["a"] * 50 + ["b"] * 30 + ["c"] * 20})
    made = Pram(("job",), epsilon=2.590267).apply(people, 1)
    assert made.figures["epsilon of job"] == pytest.approx(2.590267, abs=1e-5)


def test_randomised_response_changes_as_often_as_it_says() -> None:
    levels = tuple("abcd")
    schema = Schema((Column("job", Kind.CATEGORICAL, levels=levels, domain="declared"),))
    people = Table.from_frame({"job": list("abcd") * 1000}, schema)
    made = RandomResponse(("job",), epsilon=math.log(3)).apply(people)
    assert made.changed["job"] / 4000 == pytest.approx(0.5, abs=0.05)  # six standard errors
    assert made.figures["epsilon"] == pytest.approx(math.log(3))


def test_faults() -> None:
    table = Table.from_frame({"job": ["a", None, "b"], "pay": [1.5, 2.25, 3.125]})
    with pytest.raises(DataError, match="2 faults"):
        RandomResponse(("job",)).apply(table)
    with pytest.raises(DataError, match="categories are needed"):
        Pram(("pay",)).apply(table)
    with pytest.raises(OptionError, match="theta is 1"):
        Pram(("job",), theta=1.0)


def declared_people() -> Table:
    column = Column("job", Kind.CATEGORICAL, levels=tuple("abcd"), domain="declared")
    schema = Schema((column, Column("sex", Kind.CATEGORICAL)))
    return Table.from_frame({"job": list("abcd") * 10, "sex": ["f", "m"] * 20}, schema)


@pytest.mark.parametrize("method", ["random-response", "recipe"])
def test_randomised_response_is_paid_out_of_the_ledger_beside_the_data(method: str, tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    open_ledger(ledger_path(data), 2.5, neighbours="replace")
    step = {"variables": ["job"], "epsilon": 1.0}
    options = step if method == "random-response" else {"steps": [{"do": "random-response", **step}]}
    candidate = Candidate(method, options).paid_beside(data)
    assert not candidate.repeatable
    made = candidate.make(declared_people(), copies=2)
    assert open_ledger(ledger_path(data)).spent == pytest.approx(2.0)
    assert made.ledger.count("job: ε = 1 (randomised response)") == 2
    assert "NOT PROTECTED, by the user's wish: columns that are not randomised (sex)" in made.ledger
    with pytest.raises(OptionError, match=r"would cost 3 of a budget of 2\.5"):
        candidate.make(declared_people())
    assert open_ledger(ledger_path(data)).spent == pytest.approx(2.0)


def test_randomised_response_does_not_pay_for_who_is_there() -> None:
    budget = Budget(5.0)
    with pytest.raises(OptionError, match="they do not add up"):
        RandomResponse(("job",), ledger=budget).apply(declared_people())
    assert not budget.spends
    told = RandomResponse(("job",), ledger=Budget(5.0, neighbours="replace"))
    assert "ledger" not in told.to_dict()
    people = Table.from_frame({"job": list("ab") * 5})
    assert (
        "read off the confidential data" in RandomResponse(("job",), domain="from-data").apply(people).ledger
    )


def test_a_plan_pays_for_the_file_that_leaves(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    write(Table.from_frame(examples.survey(200, seed=1).select("sex", "age", "region")), data)
    open_ledger(ledger_path(data), 1.0, neighbours="replace")
    options = {"variables": ["sex"], "epsilon": 1.0, "domain": "from-data"}
    plan = {
        "title": "T",
        "input": str(data),
        "scenarios": {"s": {"keys": ["region", "age"], "targets": ["sex"]}},
        "candidates": {"rr": {"method": "random-response", **options}},
        "policy": ["disco <= 100 %"],
        "measures": ["two-way-utility"],
    }
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    release = run_plan(read_plan(tmp_path / "plan.yaml"), workers=1)
    assert open_ledger(ledger_path(data)).spent == pytest.approx(1.0)
    assert "spent: ε = 1" in release.judged[0].ledger
