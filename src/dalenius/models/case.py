"""`ModelCase`: a fitted model, the table it was fitted on, and people it never saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, OptionError, counted, names, no_column
from dalenius.core.random import Seed, sequence
from dalenius.data.schema import Role, Schema
from dalenius.data.table import Table
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray, IntArray
from dalenius.models.codes import as_values, coded_columns, told
from dalenius.models.coefficients import CoefficientModel, CoefficientTable, Family
from dalenius.models.design import Design, numbers
from dalenius.models.files import open_model
from dalenius.models.fitted import SMALL, Fitted, Task
from dalenius.models.leftovers import leftovers
from dalenius.models.plain import plain_refit, wrong_terms

Refit = Callable[[Any, AnyArray, int], Any]
"""A way to fit the model again: inputs, outcome and a seed give a fitted model."""
STEPS_SEEN = 2000
"""Records on which the steps of a model's probabilities are looked at."""
SMALL_SINGLE = 1e-6
"""The same as `SMALL` for probabilities of single precision."""
BARE = 1e-16
"""How far SACRO-ML keeps probabilities from 0 and 1."""
NAMELESS = (
    "The model does not know the names of its columns: they are taken in the order of the file. Name them in the order "
    "of the model ('features') where that is another one."
)
NOT_FEATURES = (Role.IDENTIFIER, Role.ENTITY, Role.HOUSEHOLD, Role.WEIGHT)


@dataclass(frozen=True, eq=False, repr=False)
class ModelCase:
    """What is to be judged.

    Attributes
    ----------
    train, holdout
        The table the model was fitted on; people of the same population it never saw (None: nobody).
    target
        The column it predicts.
    refit
        How it is fitted again on other people; None where that cannot be done.
    beside
        What the file holds beside the model; empty where nothing is, and for a live object.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> people = {"age": [20.0, 30.0, 40.0, 50.0], "ill": ["no", "no", "yes", "yes"]}
    >>> model = DecisionTreeClassifier().fit([[a] for a in people["age"]], people["ill"])
    >>> case = ModelCase.of(model, people, target="ill")
    >>> case.task, case.features, case.scores(case.train).round(1).tolist()
    ('classification', ('age',), [4.6, 4.6, 4.6, 4.6])
    """

    fitted: Fitted
    train: Table
    holdout: Table | None
    target: str
    design: Design
    refit: Refit | None = None
    notes: tuple[str, ...] = ()
    beside: str = ""

    @classmethod
    def of(
        cls,
        model: Any,
        train: Any,
        holdout: Any = None,
        *,
        target: str | None = None,
        features: Sequence[str] | None = None,
        schema: Schema | None = None,
        family: Family | None = None,
        refit: Refit | None = None,
        codes: bool = True,
    ) -> ModelCase:
        """Put a case together; everything that does not fit is told at once.

        Parameters
        ----------
        model
            A fitted object with ``predict`` (scikit-learn, XGBoost, LightGBM, a PyTorch module), or the path of a file
            (`open_model`).
        target
            The column that is predicted; by default the only one with the role target.
        features
            Columns in the order the model takes them; by default those whose names it knows, otherwise all columns but
            the target, identifiers and owners.
        family
            What a table of coefficients is: "linear" or "logistic"; by default as the target looks.
        refit
            How to fit again, where the model is no object of scikit-learn's kind.
        codes
            Whether the model was fitted on codes for no answer (-8) as they stand in the file; False: they are gaps.
        """
        known = Table.from_frame(train, schema)
        others = None if holdout is None else Table.from_frame(holdout, schema)
        goal = _target(known, target)
        as_they_stand = (
            coded_columns([known] if others is None else [known, others], known.names) if codes else []
        )
        if as_they_stand:
            known = as_values(known, as_they_stand)
            others = None if others is None else as_values(others, as_they_stand)
        opened, beside = model, ""
        if isinstance(model, (str, Path)):
            opened = open_model(model)
            beside = leftovers(Path(model), opened)
        opened = _bound(opened, known, goal, family)
        fitted = Fitted.of(opened)
        used, notes = _features(fitted, known, goal, features)
        notes += [told(met)] if (met := [name for name in as_they_stand if name in (*used, goal)]) else []
        fitted = replace(fitted, columns=tuple(used))
        _same_columns(known, others, [*used, goal])
        tables = [known] if others is None else [known, others]
        design = Design.of(used, tables, named=fitted.names is not None)
        again = refit if refit is not None else _cloned(fitted)
        case = cls(fitted, known, others, goal, design, again, tuple(notes), beside)
        case._check_outcomes()
        return case if case.refit is not None else replace(case, refit=_plain(case))

    @property
    def task(self) -> Task:
        """What is predicted: classes or numbers."""
        return self.fitted.task

    @property
    def features(self) -> tuple[str, ...]:
        """Columns that go in."""
        return self.design.features

    @property
    def units(self) -> Units:
        """Who owns the rows of the training table."""
        return self.train.units

    @cached_property
    def matrix(self) -> AnyArray:
        """Training records as numbers."""
        return self.design.matrix(self.train)

    @cached_property
    def inputs(self) -> Any:
        """Training records as the model takes them."""
        return self.design.inputs(self.matrix)

    def outcome(self, table: Table) -> AnyArray:
        """What is predicted, of a table: numbers, or places among the model's classes (-1: none of them)."""
        vector = table[self.target]
        if self.fitted.classes is None:
            return numbers(vector)
        held = vector.categories
        places = np.array([_place(label, self.fitted.classes) for label in held.labels] or [-1])
        return places[held.codes]

    def scores(self, table: Table, model: Fitted | None = None, *, bare: bool = False) -> AnyArray:
        """How well the model knows each record: log-odds of its true class, or minus the size of its residual.

        Log-odds after Carlini et al. 2022, section IV; where a model gives no probabilities the margin of the true
        class takes their place, and where it gives only predictions whether they are right.
        """
        own = table is self.train and model is None
        inputs = self.inputs if own else self.design.inputs(self.design.matrix(table))
        return self.scores_of(inputs, self.outcome(table), model, bare=bare)

    def scores_of(
        self, inputs: Any, outcome: AnyArray, model: Fitted | None = None, *, bare: bool = False
    ) -> AnyArray:
        """The same for inputs and outcomes that are at hand; ``bare`` as far out as numbers go (see `kept`)."""
        fitted = self.fitted if model is None else model
        if self.fitted.classes is None:
            found = -np.abs(outcome - fitted.predictions(inputs))
        else:
            where = self._same_class(fitted)[outcome]
            rows = np.arange(len(outcome))
            if (chances := fitted.probabilities(inputs)) is not None:
                own = np.where(where < 0, 0.0, chances[rows, where])
                found = _log_odds(own, BARE if bare else self.edge)
            elif (margins := fitted.margins(inputs)) is not None:
                mine = margins[rows, where].copy()
                margins = margins.copy()
                margins[rows, where] = -np.inf
                found = mine - margins.max(axis=1)
            else:
                found = (fitted.predictions(inputs) == where).astype(np.float64)
        bad = int(np.count_nonzero(~np.isfinite(found)))
        if bad:
            gaps = [n for n in self.features if not self.train[n].present.all()]
            where_told = f"; columns with gaps: {names(gaps)}" if gaps else ""
            raise DataError(
                f"the model gives no number for {counted(bad, 'row')}{where_told}; leave these rows "
                f"out, or fill them as "
                "the model was taught to"
            )
        return found

    def kept(self, bare: AnyArray) -> AnyArray:
        """Bare scores as `scores` has them: log-odds no further out than those of `edge`."""
        if self.fitted.classes is None or self.fitted.probabilities(self.inputs[:1]) is None:
            return bare
        low, high = _log_odds(np.array([0.0, 1.0]), self.edge)
        return np.clip(bare, low, high)

    @cached_property
    def edge(self) -> float:
        """How far probabilities are kept from 0 and 1.

        A forest of 100 trees gives 1 where it means "beyond 0.99". Log-odds of such a 1 would lie so far out that no
        normal law holds them, so it is kept a tenth of the smallest step away from 1.
        """
        chances = self.fitted.probabilities(self.inputs[:STEPS_SEEN])
        if chances is None:
            return SMALL
        away = np.minimum(chances, 1 - chances)
        if away.min() > 0:
            return SMALL if chances.dtype.itemsize >= 8 else SMALL_SINGLE
        steps = away[away > 1e-12]
        return float(np.clip(0.1 * steps.min(initial=0.1), SMALL, 0.01))

    def _same_class(self, fitted: Fitted) -> IntArray:
        """Where our classes stand in another model's: a refit may not have met all of them."""
        ours, theirs = self.fitted.classes or (), fitted.classes or ()
        return np.array([theirs.index(label) if label in theirs else -1 for label in ours])

    def labels(self, outcome: AnyArray) -> AnyArray:
        """Outcomes as the model was given them."""
        if self.fitted.classes is None:
            return outcome
        return np.asarray(getattr(self.fitted.model, "classes_", self.fitted.classes))[outcome]

    def fit_again(self, inputs: Any, outcome: AnyArray, seed: Seed, *path: str | int) -> Fitted:
        """The model fitted on other people."""
        if self.refit is None:
            raise OptionError(f"{self.fitted.kind} cannot be fitted again; give 'refit'")
        number = int(sequence(seed, *path).generate_state(1)[0] >> 1)
        try:
            return Fitted.of(self.refit(inputs, self.labels(outcome), number))
        except (ValueError, TypeError) as error:
            # the library's text may quote a value
            raise DataError(
                f"{self.fitted.kind} cannot be fitted again as its options say ({type(error).__name__}): look at them, "
                "or leave out the attacks that need refits (shadow, lira, sacro)"
            ) from None

    def _check_outcomes(self) -> None:
        faults = []
        for table, word in ((self.train, "training file"), (self.holdout, "holdout")):
            if table is None:
                continue
            faults += self._odd_outcomes(table, word)
            if table.rows < 2:
                faults.append(f"the {word} has {counted(table.rows, 'row')}; nothing can be told from so few")
        if faults:
            raise DataError.from_faults("the files do not fit the model", faults)

    def _odd_outcomes(self, table: Table, word: str) -> list[str]:
        """Rows of a table whose outcome the model cannot have met: empty ones, and those of another kind."""
        found, present = self.outcome(table), table[self.target].present
        odd = found < 0 if self.fitted.classes is not None else np.isnan(found)
        empty, strange = int(np.count_nonzero(~present & odd)), int(np.count_nonzero(present & odd))
        faults = []
        if empty:
            faults.append(
                f"column {self.target!r} of the {word} has no value in {counted(empty, 'row')}; leave these rows "
                "out of the file, as no model is fitted on them"
            )
        if strange:
            what = "a class the model does not know" if self.fitted.classes is not None else "no number"
            faults.append(
                f"column {self.target!r} of the {word} holds {what} in {counted(strange, 'row')}; name the column the "
                "model predicts, or leave these rows out"
            )
        return faults


def _target(table: Table, named: str | None) -> str:
    if named is not None:
        if named not in table:
            raise DataError(no_column([named], table.names))
        return named
    found = table.schema.by_role(Role.TARGET)
    if len(found) != 1:
        raise OptionError("name the column that the model predicts (target)")
    return found[0]


def _features(
    fitted: Fitted, table: Table, target: str, given: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    known = fitted.names
    if known is not None and given is not None and list(given) != known:
        first = next((a for a, b in zip(given, known, strict=False) if a != b), (list(given) or [""])[-1])
        raise DataError(
            f"column {first!r} stands where the model has another one: features are swapped, missing "
            f"or too many; leave "
            "'features' out, the model knows its columns by name"
        )
    free = [c.name for c in table.schema if c.name != target and not any(c.has(r) for r in NOT_FEATURES)]
    used = list(known if known is not None else free if given is None else given)
    missing = [name for name in used if name not in table]
    if missing:
        raise DataError(
            f"the training file lacks what the model was fitted on: {no_column(missing, table.names)}"
        )
    if target in used:
        raise DataError(
            f"column {target!r} is among the features and is also the target; name another target"
        )
    if fitted.width is not None and fitted.width != len(used):
        raise DataError(
            f"the model was fitted on {counted(fitted.width, 'column')}, and {len(used)} are given: {names(used, 20)}; "
            "name them in its order with 'features'"
        )
    return used, [NAMELESS] if known is None and given is None and len(used) > 1 else []


def _same_columns(train: Table, holdout: Table | None, wanted: Sequence[str]) -> None:
    if holdout is None:
        return
    missing = [name for name in wanted if name not in holdout]
    if missing:
        raise DataError(
            f"the holdout lacks columns of the training file: {no_column(missing, holdout.names)}"
        )


def _bound(model: Any, table: Table, target: str, family: Family | None) -> Any:
    """Coefficients tied to the columns of the table; anything else as it is."""
    if not isinstance(model, CoefficientTable):
        return model
    levels: dict[str, Any] = {}
    for name in table.names:
        vector = table[name]
        texts = not vector.is_number and any(isinstance(level, str) for level in vector.levels)
        levels[name] = tuple(str(level) for level in vector.levels) if texts else None
    levels.pop(target)
    found = table[target].categories.labels
    two = not table[target].is_number or set(found) <= {0, 1}
    chosen: Family = family or ("logistic" if two and len(found) == 2 else "linear")
    if chosen == "logistic" and len(found) != 2:
        raise DataError(f"column {target!r} has {counted(len(found), 'value')}; a logistic model has two")
    classes = (found[0], found[1]) if chosen == "logistic" else (0, 1)
    return model.bound(levels, chosen, classes)


def _cloned(fitted: Fitted) -> Refit | None:
    """Fitting again by scikit-learn's rules: the same settings, another seed."""
    model = fitted.model
    if not (hasattr(model, "get_params") and hasattr(model, "fit")):
        return None

    def again(inputs: Any, outcome: AnyArray, seed: int) -> Any:
        from sklearn.base import clone  # noqa: PLC0415 (slow to load)

        fresh = clone(model)
        seeds = {name: seed for name in fresh.get_params() if name.split("__")[-1] == "random_state"}
        return fresh.set_params(**seeds).fit(inputs, outcome)

    return again


def _plain(case: ModelCase) -> Refit | None:
    """Fitting a table of coefficients again, where it is the plain fit of its terms to the training file."""
    model = case.fitted.model
    if not isinstance(model, CoefficientModel):
        return None
    wrong = wrong_terms(model, case.inputs, case.outcome(case.train).astype(np.float64))
    return None if wrong is None or wrong else plain_refit(model)


def _place(label: Any, classes: Sequence[Any]) -> int:
    """Where a value of the file stands among the classes: 1, 1.0, "1" and True may all be meant."""
    for place, known in enumerate(classes):
        if label == known or str(label) == str(known):
            return place
    for place, known in enumerate(classes):
        if _as_number(label) is not None and _as_number(label) == _as_number(known):
            return place
    return -1


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    try:
        return float(str(value))
    except ValueError:
        return None


def _log_odds(chances: AnyArray, edge: float) -> AnyArray:
    kept = np.clip(chances.astype(np.float64), edge, 1 - edge)
    # a probability that is no number stays none
    return np.log(kept) - np.log1p(-kept)
