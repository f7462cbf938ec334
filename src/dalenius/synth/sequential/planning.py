"""From options and a table to a `Plan`: every choice made, every fault of the options reported at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from dalenius.core.errors import DaleniusError
from dalenius.data.derived import Derivation, Derived
from dalenius.data.exit import releasable
from dalenius.data.rules import Rule, parse_rules, rules_for
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, Vector
from dalenius.synth.base import absent
from dalenius.synth.sequential.column import Event, Recipe
from dalenius.synth.sequential.engine import Plan
from dalenius.synth.sequential.finishing import Smoothing
from dalenius.synth.sequential.fitted import COLUMN_METHODS, Tuning
from dalenius.synth.sequential.order import after_conditions, by_cardinality, by_dependence
from dalenius.synth.sequential.surveys import weight_column

if TYPE_CHECKING:
    from dalenius.synth.sequential.synthesizers import Sequential

READ_BY = {"trees": ("bag", "rf"), "alpha": ("ctree",), "donors": ("pmm",)}
"""Settings that few models of columns read, and these."""
SPIKE_SHARE = 0.1
"""A regression treats a value that takes at least this share of a number's rows as a spike."""
TREES = frozenset({"cart", "ctree", "bag", "rf", "sample", "saturated", "survtree"})
"""Methods that keep any distribution: spikes need no model of their own."""
OBSERVED = TREES | {"normrank", "pmm"}
"""Methods that give out observed values: numbers may be smoothed."""
STRATUM_ROWS = 200
"""Rows a stratum needs for a model of its own (Latner et al. 2024)."""


def make_plan(options: Sequential, table: Table) -> Plan:
    """Settle visit sequence, predictors, methods and rules for one table."""
    rules = _rules(options, table)
    ruled = defined_by_rules(options, table)
    options = replace(options, passive={**ruled, **options.passive})
    visit = visit_sequence(options, table, parse_rules(rules))
    modelled = [name for name in visit if name not in options.keep and name not in options.passive]
    recipes = {name: _recipe(options, table, visit, visit.index(name), rules) for name in modelled}
    kept = tuple(name for name in visit if name in options.keep)
    pairs = {
        time: event
        for time, event in options.event.items()
        if event in recipes
        and time in recipes
        and recipes[time].method == "survtree"
        and visit.index(time) < visit.index(event)
    }
    events = {
        time: Event(_happened(table[event]), table[event] if time in pairs else None)
        for time, event in options.event.items()
    }
    return Plan(
        tuple(visit), recipes, kept, rules, dict(options.passive), None, events, pairs,
        notes=(*_computed(ruled), *_pooled(options, table), *_too_late(options, visit)),
    )  # fmt: skip


def _computed(ruled: Mapping[str, str]) -> tuple[str, ...]:
    """A remark on what rules define and others speak of."""
    made = "; ".join(f"{name} = {text}" for name, text in ruled.items())
    return (f"computed while drawing, so that rules on it are kept: {made}",) if ruled else ()


def _pooled(options: Sequential, table: Table) -> tuple[str, ...]:
    """A remark on strata that are too small for models of their own."""
    if not options.strata or not table.rows:
        return ()
    codes = np.stack([table[name].categories.codes for name in options.strata])
    sizes = np.unique(codes, axis=1, return_counts=True)[1]
    small = int(np.count_nonzero(sizes < STRATUM_ROWS))
    if not small:
        return ()
    return (
        f"strata: {small} of {len(sizes)} have fewer than {STRATUM_ROWS} rows and are drawn from the model of all rows",
    )


def _too_late(options: Sequential, visit: Sequence[str]) -> tuple[str, ...]:
    """A remark on predictors that are drawn after the column they should predict."""
    place = {name: i for i, name in enumerate(visit)}
    notes = []
    for name, wanted in options.predictors.items():
        late = [other for other in wanted if name in place and place.get(other, -1) >= place[name]]
        if late:
            notes.append(
                f"predictors of {name!r}: {', '.join(map(repr, late))} is drawn later and not used; name it earlier in "
                "visit"
            )
    return tuple(notes)


def visit_sequence(options: Sequential, table: Table, rules: Sequence[Rule] = ()) -> list[str]:
    """Kept columns first, then strata, then the rest as asked.

    Unless columns are listed by name, what a rule's condition reads comes before what the rule sets, and an event comes
    right after its time.
    """
    first = [*options.keep, *(name for name in options.strata if name not in options.keep)]
    rest = [name for name in table.names if name not in first and name not in options.passive]
    if not isinstance(options.visit, str):
        asked = [name for name in options.visit if name in rest]
        rest = asked + [name for name in rest if name not in asked]
    elif options.visit == "cardinality":
        rest = by_cardinality(table, rest)
    elif options.visit == "dependence":
        rest = by_dependence(table, rest)
    passive = {name: Derived.parse(name, text).needs for name, text in options.passive.items()}
    order = first + (after_conditions(rest, rules, passive) if isinstance(options.visit, str) else rest)
    weight = weight_column(options, table)
    if isinstance(options.visit, str):
        for time, event in options.event.items():
            if time in rest and event in rest:
                order.remove(event)
                order.insert(order.index(time) + 1, event)
        if weight in rest:  # the design acts through it: first, or given all others
            order.remove(weight)
            order.insert(len(first) if options.weighting == "predictor" else len(order), weight)
    for name, needs in passive.items():  # as soon as what it is computed from is there
        needed = [order.index(n) for n in needs if n in order]
        order.insert(max(needed, default=-1) + 1, name)
    return order


def defined_by_rules(options: Sequential, table: Table) -> dict[str, str]:
    """Columns that one rule defines and others speak of, with their expressions.

    They are computed as soon as what they are made of is drawn (passively), so that the other rules can be kept where
    later columns are drawn: a column that is computed after everything breaks them.
    """
    rules = parse_rules(_rules(options, table))
    derivation = Derivation.of(table, rules)
    definitions = {step.rule.text for step in derivation.steps}
    needed = {name for rule in rules if rule.text not in definitions for name in rule.columns}
    there = set(releasable(table).names) - {
        *options.keep,
        *options.strata,
        *options.methods,
        *options.passive,
    }
    chosen: dict[str, str] = {}
    for step in reversed(derivation.steps):
        if step.name in needed & there and set(step.needs) <= set(releasable(table).names):
            left, right = (side.strip() for side in step.rule.text.split("==", 1))
            chosen[step.name] = right if left.strip("`") == step.name else left
            needed |= set(step.needs)
    return dict(reversed(chosen.items()))


def _rules(options: Sequential, table: Table) -> tuple[str, ...]:
    if options.rules is None:
        return tuple(rule.text for rule in rules_for(table.schema, table.names))
    return tuple(options.rules)


def _recipe(
    options: Sequential, table: Table, visit: Sequence[str], place: int, rules: Sequence[str]
) -> Recipe:
    name = visit[place]
    vector = table[name]
    usual = "survtree" if name in options.event else options.method_for(vector)
    method = options.methods.get(name, usual)
    tuning = replace(_tuning(options), **dict(options.tuning.get(name, {})))
    earlier = {other: i for i, other in enumerate(visit[:place])}
    wanted = options.predictors.get(name)
    # a tree splits on texts that occur once until each leaf is a person
    usable = [n for n in earlier if not is_free_text(table[n])] if wanted is None else wanted
    use = tuple(earlier[n] for n in usable if n in earlier)
    strata = tuple(earlier[n] for n in options.strata if n in earlier)
    nested_in = _nested_in(options, table, name, earlier, rules)
    if nested_in:
        groups, least = tuple(dict.fromkeys((*strata, *nested_in))), 1
        use = tuple(dict.fromkeys((*use, *nested_in)))
    else:
        groups, least = strata, STRATUM_ROWS
    regression = method not in TREES
    spikes = options.spikes.get(name, _spikes(vector) if regression else ())
    smoothing: Smoothing = _smoothing(options, name) if method in OBSERVED else "none"
    split = "polyreg" if regression else ("cart" if method == "survtree" else method)
    return Recipe(
        method, split, use, groups, least, tuple(float(s) for s in spikes), smoothing, method in OBSERVED, tuning,
    )  # fmt: skip


def _tuning(options: Sequential) -> Tuning:
    shared = {f: getattr(options, f) for f in Tuning.__dataclass_fields__ if hasattr(options, f)}
    return Tuning(**shared)


def _smoothing(options: Sequential, name: str) -> Smoothing:
    if isinstance(options.smoothing, str):
        return options.smoothing
    return options.smoothing.get(name, "auto")


def _nested_in(
    options: Sequential, table: Table, name: str, earlier: Mapping[str, int], rules: Sequence[str]
) -> list[int]:
    """Places of the columns that this one is nested in, or that are nested in it and were drawn before."""
    parents = {c.name: c.parent for c in table.schema if c.parent is not None} | dict(options.nested)
    related = [child for child, parent in parents.items() if parent == name]
    if name in parents:
        related.append(parents[name])
    for rule in parse_rules(rules):
        if (
            rule.sentence.conclusion is None
            and name in rule.columns
            and set(rule.columns) <= {*earlier, name}
        ):
            related += [n for n in rule.columns if n != name]
    # The finest of several nested columns decides: municipality within district needs no region beside it.
    return [earlier[n] for n in dict.fromkeys(related) if n in earlier and not table[n].is_number]


def _spikes(vector: Vector) -> list[float]:
    if not vector.is_number or len(vector.values) == 0:
        return []
    distinct, times = np.unique(vector.values, return_counts=True)
    if len(distinct) <= 2:
        return []
    return [float(v) for v in distinct[times >= SPIKE_SHARE * len(vector.values)]]


def option_faults(options: Sequential, table: Table) -> list[str]:
    """Everything wrong with the options for this table."""
    named: dict[str, Iterable[str]] = {o: getattr(options, o) for o in ("keep", "strata", "block")}
    for option in ("methods", "predictors", "tuning", "spikes", "passive", "nested", "event"):
        named[option] = getattr(options, option)
    named |= {f"{o} of {n!r}": [v] for o in ("nested", "event") for n, v in getattr(options, o).items()}
    named |= {f"predictors of {name!r}": wanted for name, wanted in options.predictors.items()}
    named |= {
        o: getattr(options, o) for o in ("visit", "smoothing") if not isinstance(getattr(options, o), str)
    }
    wrong = [fault for option, wanted in named.items() for fault in absent(option, wanted, table)]
    wrong += _method_faults(options, table)
    wrong += _weight_faults(options, table) + _idle_faults(options, table)
    for name, expression in options.passive.items():
        try:
            wrong += absent(f"passive {name!r}", Derived.parse(name, expression, table.schema).needs, table)
        except DaleniusError as error:
            wrong.append(f"passive: {error}")
    try:
        parse_rules(options.rules or (), table.schema)
    except DaleniusError as error:
        wrong.append(str(error))
    return wrong


def _method_faults(options: Sequential, table: Table) -> list[str]:
    """Models that do not suit their column."""
    faults = []
    for name, method in options.methods.items():
        if name not in table:
            continue
        takes, number = COLUMN_METHODS[method].takes, table[name].is_number
        if (takes == "number" and not number) or (takes == "classes" and number):
            faults.append(
                f"methods: {method!r} is for {'numbers' if takes == 'number' else 'categories'}, "
                f"column {name!r} is {table[name].column.kind}"
            )
    return faults


def _weight_faults(options: Sequential, table: Table) -> list[str]:
    """A column of weights that is not there, or holds no numbers."""
    if options.weights is None or options.weights not in table:
        return absent("weights", [] if options.weights is None else [options.weights], table)
    column = table[options.weights].column
    return (
        []
        if column.kind.is_number
        else [f"weights: column {column.name!r} is {column.kind}; name one of numbers"]
    )


def _idle_faults(options: Sequential, table: Table) -> list[str]:
    """Settings of models by which no column is drawn: who gives one expects something of it."""
    defaults = {f.name: f.default for f in fields(options)}
    given = [name for name in READ_BY if getattr(options, name) != defaults[name]]
    drawn = {
        options.methods.get(name) or options.method_for(vector) for name, vector in table.vectors.items()
    }
    return [
        f"{name} has no effect, since no column is drawn by {' or '.join(READ_BY[name])}; take it out, or name "
        f"the model of a column (methods: {{COLUMN: {READ_BY[name][-1]}}})"
        for name in given
        if not drawn & {*READ_BY[name]}
    ]


def _happened(vector: Vector) -> BoolArray:
    """Rows whose event happened: a number other than 0, or the second (last) level of a category."""
    if vector.is_number:
        return vector.present & (vector.data != 0)
    return vector.present & (vector.data == len(vector.levels) - 1)


def is_free_text(vector: Vector) -> bool:
    """Text whose values mostly occur once: nothing can be learnt about it from other columns."""
    return vector.column.kind is Kind.TEXT and len(vector.levels) > len(vector) / 2
