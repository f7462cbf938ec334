"""Every rule, ours and a stranger's: it asks for a `Protection`, and after `protect` the audit finds nothing."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from dalenius import tables
from dalenius.core.errors import DataError
from dalenius.tables import Protection, audit, define, protect, protect_linked
from dalenius.tables.rule_text import further_rules
from tests.tables.exact import brute_force

COUNTS = {"age": ["Yng"] * 3 + ["Old"] * 3, "geo": list("IPSIPS"), "n": [0, 0, 5, 6, 3, 4]}


class OddTowns:
    """A rule written from the documentation: a name, and what is to be protected."""

    name = "odd towns"

    def protects(self, model):
        return Protection.of(
            model, (model.cells["geo"].is_in(["I", "P"]) & (model.cells["age"] == "Yng")).to_numpy()
        )


def counts():
    return define(COUNTS, by=["age", "geo"], freq="n")


def firms(seed=1, zeros=True):
    rng = np.random.default_rng(seed)
    size = 40
    value = np.rint(rng.lognormal(3, 1.2, size)) * (rng.random(size) > 0.15 * zeros)
    data = {"age": rng.choice(["Yng", "Old"], size), "geo": rng.choice(list("IPSQ"), size),
            "firm": rng.choice([f"F{i}" for i in range(14)], size), "value": value}  # fmt: skip
    data["held"] = [f"H{int(f[1:]) // 2}" for f in data["firm"]]
    data["asked"] = rng.integers(0, 3, size)
    return define(data, by=["age", "geo"], value="value", contributor="firm", holding="held", request="asked")


def sampled():
    rng = np.random.default_rng(3)
    data = {"age": rng.choice(["Yng", "Old"], 40), "geo": rng.choice(list("IPSQ"), 40),
            "value": np.rint(rng.lognormal(3, 1.2, 40)), "w": rng.integers(1, 4, 40)}  # fmt: skip
    return define(data, by=["age", "geo"], value="value", weight="w")


def known_beforehand():
    """Two zeros to be protected, as an a priori file says it."""
    model = counts()
    unsafe = (model.cells["geo"].is_in(["I", "P"]) & (model.cells["age"] == "Yng")).to_numpy()
    nothing = np.zeros(len(unsafe), np.bool_)
    return tables.Apriori(unsafe, nothing, nothing, np.zeros(len(unsafe)), np.ones(len(unsafe)))


YOUNG_ZEROS = {"age": ["Yng", "Yng"], "geo": ["I", "P"]}
RULES = {
    "small count": (counts, lambda: tables.SmallCount(3)),
    "small count, zeros open": (counts, lambda: tables.SmallCount(3, protect_zeros=False)),
    "zeros": (counts, lambda: tables.SmallCount(0)),
    "manual": (counts, lambda: tables.Manual(YOUNG_ZEROS)),
    "except": (counts, lambda: tables.Except(tables.SmallCount(0), {"age": ["Yng"], "geo": ["P"]})),
    "a priori": (counts, known_beforehand),
    "direct disclosure": (counts, lambda: tables.KDisclosure(1)),
    "a stranger's": (counts, OddTowns),
    "few contributors": (firms, lambda: tables.FewContributors(2)),
    "dominance": (firms, lambda: tables.Dominance([(1, 60), (2, 85)])),
    "dominance with zeros": (firms, lambda: tables.Dominance([(1, 60)], protect_zeros=True)),
    "p percent": (firms, lambda: tables.PPercent(15)),
    "p percent, coalition": (firms, lambda: tables.PPercent(15, coalition=2)),
    "p percent with zeros": (firms, lambda: tables.PPercent(15, protect_zeros=True)),
    "prior-posterior": (firms, lambda: tables.PPercent(15, q=60)),
    "request": (firms, lambda: tables.Request(40, 70)),
    "weights": (sampled, lambda: tables.PPercent(15)),
    "weights as in tau-argus": (sampled, lambda: tables.PPercent(40, weighting="tau-argus")),
    "dominance with weights": (sampled, lambda: tables.Dominance([(2, 60)], weighting="tau-argus")),
    "small count of sums": (firms, lambda: tables.SmallCount(3)),
    "manual sum of nothing": (firms, lambda: tables.Manual(firms().amount == 0)),
    "except of sums": (firms, lambda: tables.Except(tables.PPercent(15), [1])),
}

RULES |= {kind: (counts, make) for kind, make in further_rules().items()}  # tried as they come


def every_rule():
    """The rules of the room: classes with ``protects`` among its public names."""
    public = [getattr(tables, name) for name in tables.__all__]
    return {
        c
        for c in public
        if inspect.isclass(c) and hasattr(c, "protects") and not getattr(c, "_is_protocol", False)
    }


def test_the_battery_covers_every_rule():
    tried = {type(make()) for _, make in RULES.values()}
    assert every_rule() <= tried


@pytest.mark.parametrize("name", RULES)
def test_what_a_rule_asks_for_is_complete(name):
    model, rule = (make() for make in RULES[name])
    asked = rule.protects(model)
    assert isinstance(asked, Protection)
    assert asked.mask.shape == asked.upper.shape == (len(model.cells),)
    assert (asked.upper[~asked.mask] == 0).all()
    marked_zero = asked.mask & (model.amount == 0) & (model.sizes > 0)
    assert asked.zeros or not marked_zero.any()


@pytest.mark.parametrize("name", RULES)
def test_the_elimination_alone_keeps_protected_cells_from_being_computed(name):
    model, rule = (make() for make in RULES[name])
    bare = protect(model, rule, repair=False)
    found = audit(bare, contributors=False)
    at_stake = bare.primary & (model.sizes > 0)
    assert not (found.exposed.outsider & at_stake).any()
    if not model.is_magnitude:  # widths of counts: no protected zero is given away
        assert found.met.all()


@pytest.mark.parametrize("name", RULES)
def test_the_audit_finds_nothing(name):
    model, rule = (make() for make in RULES[name])
    result = protect(model, rule)
    assert result.checked.passed, str(result)
    assert audit(result).passed
    assert result.suppressed[rule.protects(model).mask].all()


@pytest.mark.parametrize("rule", [tables.Manual(YOUNG_ZEROS), OddTowns()], ids=["manual", "stranger"])
def test_protected_zeros_are_not_given_away(rule):
    """Counted out by enumeration: the two zeros could have been something else."""
    model = counts()
    result = protect(model, rule, repair=False)
    zeros = np.flatnonzero(rule.protects(model).mask)
    low, high = brute_force(model.matrix, model.counts, ~result.suppressed, zeros.tolist())
    assert all(high[z] > low[z] for z in zeros)


@pytest.mark.parametrize("how", ["global", "consistent", "back-tracking"])
def test_a_strangers_rule_in_linked_tables(how):
    model = define(COUNTS, tables={"ages": ["age", "geo"], "places": ["geo"]}, freq="n")
    assert protect_linked(model, OddTowns(), how=how).combined.checked.passed


def test_an_answer_of_another_type_is_refused():
    class Careless:
        name = "careless"

        def protects(self, model):
            return model.frequency < 3

    with pytest.raises(DataError) as told:
        protect(counts(), Careless())
    assert "Protection.of" in str(told.value)
    with pytest.raises(DataError) as told:
        Protection.of(counts(), [True])
    assert "true or false" in str(told.value)
