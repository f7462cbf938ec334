"""What joint models do under a budget beyond adding noise: units, strata, even draws."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import OptionError
from dalenius.data import Column, Kind, Schema, Table, examples
from dalenius.dp.contributions import bound_units
from dalenius.evaluation import sweep
from dalenius.synth.joint import AIM, MST, LogLinear, Saturated


@pytest.fixture(scope="module")
def survey() -> Table:
    return Table.from_frame(examples.survey(3000, seed=11).select("sex", "age", "region", "marital"))


def people(rows_of: dict[str, int]) -> Table:
    """Visits of people: some come often."""
    who = [name for name, rows in rows_of.items() for _ in range(rows)]
    data = {"who": [*who, None], "place": ["a", "b"] * (len(who) // 2) + ["a"] * (len(who) % 2 + 1)}
    return Table.from_frame(data, Schema.infer(data).with_roles(entity="who"))


def test_a_budget_protects_people_and_not_only_their_records():
    table = people({"p": 40, "q": 2, "r": 1, **{f"s{i}": 1 for i in range(100)}})
    for synthesizer in (Saturated, LogLinear, MST, AIM):
        with pytest.raises(OptionError, match=r"'who' names units .* give contribution"):
            synthesizer(epsilon=1.0, domain="from-data").fit(table)
        model = synthesizer(epsilon=1.0, domain="from-data", contribution=3, total="invariant").fit(table)
        assert model.sample(seed=1).names == ["place"]
        assert model.rows == 3 + 2 + 1 + 100, "three rows of p, and none without an owner"
        assert "units of up to 3 records" in model.ledger
    exact = Saturated(epsilon=1.0, domain="from-data", contribution=3, total="invariant")
    assert "scale 3" in exact.fit(table).ledger
    assert Saturated().fit(table).rows == table.rows - 39, "without a budget p counts like the third largest"
    anonymous = Table.from_frame({"place": ["a", "b"] * 20})
    with pytest.raises(OptionError, match="no column has the role"):
        LogLinear(epsilon=1.0, domain="from-data", contribution=3).fit(anonymous)
    with pytest.raises(OptionError, match="give epsilon too"):
        LogLinear(contribution=3)


def test_members_of_a_household_are_protected_one_by_one_or_together():
    data = {"home": ["h", "h", "h", "i"] * 10, "sex": ["f", "m"] * 20}
    table = Table.from_frame(data, Schema.infer(data).with_roles(household="home"))
    apart = Saturated(epsilon=1.0, domain="from-data").fit(table)
    assert any("not all records of column 'home' together" in note for note in apart.notes)
    together = Saturated(epsilon=1.0, domain="from-data", contribution=2, total="invariant").fit(table)
    assert together.rows == 4
    assert any("column 'home' is protected as a whole" in note for note in together.notes)


def test_whose_rows_stay_depends_on_nobody_else():
    table = people({"p": 5, "q": 4, "r": 1})
    kept, said = bound_units(table, 2)
    less, _ = bound_units(people({"q": 4, "r": 1}), 2)
    assert "'who'" in said[0]
    assert (kept.rows, less.rows) == (5, 3)


def test_rows_of_nobody_known_are_left_out():
    data = {"who": [None, "p", "p", None, "p", "q"], "seen": ["a", "b", "c", "d", "e", "f"]}
    table = Table.from_frame(data, Schema.infer(data).with_roles(entity="who"))
    kept, _ = bound_units(table, 2)
    assert kept.to_frame()["seen"] == ["b", "c", "f"]


def test_even_draws_follow_the_model_closely(survey):
    small = survey.select(["sex", "region", "marital"])
    model = LogLinear(epsilon=5.0, domain="from-data").fit(small)
    wanted = model.strata[0].table.tables[0] * 3000
    for seed in range(3):
        codes = model.strata[0].table.sample(3000, np.random.default_rng(seed), even=True)
        assert np.abs(_counted(codes, wanted.shape) - wanted).max() <= 1 + 1e-6
    chain = LogLinear(
        epsilon=5.0, domain="from-data", margins=[("sex", "region"), ("region", "marital")], engine="tree"
    )
    tree = chain.fit(small).strata[0].table
    codes = tree.sample(3000, np.random.default_rng(1), even=True)
    for clique in tree.tree.cliques:
        seen = _counted([codes[v] for v in clique], tree.margin(clique).shape)
        assert np.abs(seen - 3000 * tree.margin(clique)).max() < 8
    held = Saturated(epsilon=5.0, domain="from-data").fit(small).strata[0].table
    drawn = _counted(held.sample(3000, np.random.default_rng(1), even=True), held.sizes)
    wanted = 3000 * held.weights / held.weights.sum()
    assert np.abs(drawn[tuple(held.codes)] - wanted).max() <= 1 + 1e-6
    with pytest.raises(OptionError, match="copies the counts"):
        LogLinear(drawing="even")


def _counted(codes, shape) -> np.ndarray:
    return np.bincount(np.ravel_multi_index(tuple(codes), shape), minlength=int(np.prod(shape))).reshape(
        shape
    )


def test_a_noised_number_of_records_hides_which_strata_are_empty():
    schema = Schema(
        (
            Column("region", Kind.CATEGORICAL, levels=("n", "s", "w"), domain="declared"),
            Column("a", Kind.CATEGORICAL),
        )
    )
    table = Table.from_frame({"region": ["n", "s"] * 20, "a": ["x", "y"] * 20}, schema)
    for neighbours in ("add-remove", "replace"):
        model = LogLinear(
            strata=["region"], epsilon=1.0, total="noised", neighbours=neighbours, domain="from-data"
        ).fit(table)
        assert not any("no rows" in note for note in model.notes)
        assert model.ledger.count("number of records") == 3


def test_a_share_for_a_margin_that_is_not_fitted_is_refused(survey):
    wrong = LogLinear(
        epsilon=1.0, domain="from-data", margins=[("sex", "region")], shares={("sex", "age"): 2.0}
    )
    with pytest.raises(OptionError, match=r"shares name .* is not fitted"):
        wrong.fit(survey.select(["sex", "region", "age"]))


def test_repaired_margins_drawn_evenly_are_better_than_clipped_ones(survey):
    small = survey.select(["sex", "region", "marital"])
    options = {"margins": "two-way", "domain": "from-data", "seed": 3}
    for epsilon, replicates in ((0.1, 24), (1.0, 4)):  # seven deviations of the noise apart, or more
        options["replicates"] = replicates
        plain = sweep(small, "loglinear", [epsilon], adjust="clip", **options).table["two-way"][0]
        better = sweep(small, "loglinear", [epsilon], drawing="even", **options).table["two-way"][0]
        assert better < plain
