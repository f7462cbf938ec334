"""Planning a release: which table to change, and what each kind of protection buys an attacker and costs a reader."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import OptionError
from dalenius.evaluation.protections import WAYS, compare_protections
from dalenius.evaluation.publishing import coarsened, rank_tables
from dalenius.published import Published, fit

SETS = [["area", "sex"], ["area", "ill"], ["sex", "ill"]]


def people(rows=40, seed=3):
    rng = np.random.default_rng(seed)
    areas = rng.choice(list("ABCDE"), rows, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    return {
        "area": areas.tolist(),
        "sex": rng.choice(["f", "m"], rows).tolist(),
        "ill": np.where(areas == "E", "yes", rng.choice(["yes", "no"], rows, p=[0.15, 0.85])).tolist(),
    }


def test_every_change_is_attacked_again_and_the_best_comes_first():
    out = Published.count(people(), SETS)
    ranked = rank_tables(out)
    whole = fit(out, bounds=False)
    assert whole.people_proved > 0
    assert ranked.height == 3 + 6
    assert ranked["people proved"].is_sorted()
    assert (ranked["fewer proved"] >= 0).all()
    for row in ranked.rows(named=True):
        rest = (
            out.without(row["table"])
            if row["change"] == "dropped"
            else coarsened(out, row["table"], row["column"])
        )
        assert fit(rest, bounds=False).people_proved == row["people proved"]


def test_a_coarsened_table_is_the_table_of_fewer_columns():
    data = people()
    out = Published.count(data, [["area", "sex", "ill"]])
    summed = coarsened(out, "area × sex × ill", "sex").margins[0]
    direct = Published.count(data, [["area", "ill"]]).margins[0]
    assert summed.columns == direct.columns
    full = dict(zip(direct.keys.tolist(), direct.low.tolist(), strict=True))
    assert {k: v for k, v in zip(summed.keys.tolist(), summed.low.tolist(), strict=True) if v} == full
    # of a suppressed part nothing is known above, and the sum says at least what is known of the others
    table = {"area": ["A", "A", "B"], "sex": ["f", "m", "f"], "n": ["3", ":c", "2"]}
    held = coarsened(Published.from_tables({"t": table}), "t", "sex").margins[0]
    assert held.low.tolist() == [3, 2]
    assert (held.high > 1000).all()


def test_ways_of_protection_are_attacked_alike():
    found = compare_protections(people(60), SETS, threshold=2)
    rows = {row["way"]: row for row in found.table.rows(named=True)}
    assert list(rows) == list(WAYS)
    plain = rows["as they are"]
    assert plain["proved %"] > 0
    assert plain["error %"] == 0
    assert plain["proofs right %"] == 100
    for way in ("suppression", "rounding", "cell keys", "differential privacy"):
        assert rows[way]["proved %"] <= plain["proved %"], way
        assert rows[way]["error %"] > 0, way
    assert rows["suppression"]["cells lost %"] > 0
    assert rows["suppression"]["proved %"] == 0
    assert rows["differential privacy"]["proved %"] == 0
    assert found.points()["candidate"].to_list() == list(WAYS)
    assert found.chart().to_dict()


def test_swapping_leaves_proofs_of_another_file():
    found = compare_protections(people(60, 0), SETS, ways=["as they are", "swapping"], share=1.0)
    plain, swapped = found.table.rows(named=True)
    assert swapped["proved %"] > 0
    assert swapped["proofs right %"] < plain["proofs right %"]


def test_bad_input_is_named():
    for words, options in (
        ("unknown ways 'magic'", {"ways": ["magic"]}),
        ("share lies", {"share": 2.0}),
    ):
        with pytest.raises(OptionError, match=words):
            compare_protections(people(), SETS, **options)
    with pytest.raises(OptionError, match="nowhere"):
        compare_protections(people(), [["nowhere"]])
