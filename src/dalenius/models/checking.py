"""`check_model`: everything that can be said about a model before it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError, counted
from dalenius.core.random import Seed
from dalenius.core.result import Result, figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.data.units import owner_column
from dalenius.models.again import Again, fitted_again
from dalenius.models.attribute import attribute_attack
from dalenius.models.case import ModelCase
from dalenius.models.measures import MODEL_MEASURES
from dalenius.models.membership.lira import lira
from dalenius.models.membership.loss import loss_attack
from dalenius.models.membership.refits import refit
from dalenius.models.membership.sacro import sacro
from dalenius.models.membership.shadow import shadow_attack
from dalenius.models.order import look_for_swaps
from dalenius.models.structure import structure

Attack = Literal["loss", "shadow", "lira", "sacro", "attribute"]
ATTACKS: tuple[Attack, ...] = get_args(Attack)
NO_REFIT = " The model cannot be fitted again here, so that stronger attacks were not tried: not trusted."
LEFT_OUT = " The likelihood ratio, the strongest attack, was left out: not trusted."
FORGED = 0.05
"""Share of strangers' records that may stand in the training file beyond what is usual there."""


@dataclass(frozen=True, eq=False, repr=False)
class Checked:
    """What was found.

    Attributes
    ----------
    results
        Figures by name; they say nothing about single people.
    remarks
        What a reader must know beside them.
    again
        The model as it was fitted here, with its own options on its own training file.
    """

    case: ModelCase
    results: Mapping[str, Result]
    remarks: tuple[str, ...]
    again: Again

    def __repr__(self) -> str:
        return "\n".join(str(result) for result in self.results.values())

    @property
    def performance(self) -> dict[str, float]:
        """How good the model is, on the people it was fitted on and on strangers: accuracy or R²."""
        tables = {"training": self.case.train, "holdout": self.case.holdout}
        return {name: performance(self.case, t) for name, t in tables.items() if t is not None}

    @property
    def skill(self) -> str:
        """How good the model is, in words, beside one who looks at nobody."""
        what = "accuracy" if self.case.task == "classification" else "R²"
        told = ", ".join(f"{figure(value)} on the {name} file" for name, value in self.performance.items())
        return f"{what} {told}{beside_commonest(self.case)}"

    def exposed(self, most: int = 20) -> pl.DataFrame | None:
        """Rows that show most, for whoever holds the data: confidential."""
        held = self.results.get("model-membership")
        return None if held is None or held.records is None else held.records.head(most)

    def table(self) -> pl.DataFrame:
        """One line a figure."""
        return pl.DataFrame(
            [{"figure": r.title, "value": r.told, "yardstick": r.beside} for r in self.results.values()]
        )


def check_model(
    case: ModelCase,
    *,
    attacks: tuple[Attack, ...] | None = None,
    runs: int = 16,
    threshold: int = THRESHOLD,
    seed: Seed = 0,
    keep: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Checked:
    """Look at the form of a model, then attack it.

    Parameters
    ----------
    attacks
        Which attacks are run; by default all that can be. Refits are needed for "shadow", "lira" and "sacro".
    runs
        Refits for the likelihood ratio.
    keep
        A private folder in which finished refits are kept.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({"a": rng.normal(size=200), "y": rng.integers(0, 2, 200)} for _ in range(2))
    >>> tree = DecisionTreeClassifier(random_state=1).fit(people["a"][:, None], people["y"])
    >>> found = check_model(ModelCase.of(tree, people, others, target="y"), attacks=("loss",))
    >>> found.results["model-small-leaves"].value, found.results["model-membership"].value > 0.7
    (100.0, True)
    """
    wanted = ATTACKS if attacks is None else attacks
    unknown = [name for name in wanted if name not in ATTACKS]
    if unknown:
        raise OptionError(f"unknown attack {unknown[0]!r}; there are {', '.join(ATTACKS)}")
    look_for_swaps(case)
    results, again = structure(case, threshold=threshold), fitted_again(case)
    results["model-stored-records"] = _compared(
        results["model-stored-records"], again, case.fitted.names is None and len(case.features) > 1
    )
    remarks = list(case.notes)
    if case.holdout is None:
        remarks.append(
            "Without people whom the model never saw it cannot be told whether members show: not trusted."
        )
        return Checked(case, results, tuple(remarks), again)
    doubt = known_strangers(case)
    results |= _memberships(case, wanted, runs, seed, keep, progress, doubt)
    if "attribute" in wanted:
        results["model-attribute"] = attribute_attack(case, seed=seed, doubt=doubt)
    return Checked(case, results, (*remarks, *([doubt.strip()] if doubt else [])), again)


def _compared(result: Result, again: Again, nameless: bool) -> Result:
    """What stands in a model, with what a second fit says of its numbers."""
    if not again.why:
        return replace(result, sentence=f"{result.sentence} Fitted again, it has the same numbers.")
    named = ", name its columns in its order" if nameless else ""
    remedy = "" if again.model is None else (
        f" Fit it with random_state=0 on the rows of the file in their order{named}, "
        "or let out what was fitted here instead (--fitted-again FILE)."
    )  # fmt: skip
    text = f"{result.sentence.removesuffix(' Not trusted.')} {again.why}{remedy} Not trusted."
    return replace(result, sentence=text, trusted=False)


def _memberships(
    case: ModelCase, wanted: tuple[Attack, ...], runs: int, seed: Seed, keep: Path | None,
    progress: Callable[[int, int], None] | None, doubt: str,
) -> dict[str, Result]:  # fmt: skip
    found: list[Result] = []
    if "loss" in wanted:
        found.append(loss_attack(case, doubt=doubt))
    if case.refit is not None and "shadow" in wanted:
        found.append(shadow_attack(case, seed=seed, doubt=doubt))
    if case.refit is not None and {"lira", "sacro"} & set(wanted):
        made = refit(case, runs, seed=seed, keep=keep, progress=progress)
        by: dict[str, Callable[..., Result]] = {"lira": lira, "sacro": sacro}
        found += [attack(case, refits=made, doubt=doubt) for name, attack in by.items() if name in wanted]
    if not found:
        return {}
    weak = NO_REFIT if case.refit is None else "" if "lira" in wanted else LEFT_OUT
    worst = max(found, key=lambda r: r.value)
    named = {r.name: r for r in found}
    text = worst.sentence + weak
    if len(found) > 1:
        text = f"The best of {len(found)} attacks. {text}"
    info = MODEL_MEASURES["model-membership"]
    headline = replace(
        worst,
        name="model-membership",
        sentence=text,
        trusted=worst.trusted and not weak,
        interval=_wider(worst, len(found)),
    )
    return {**named, "model-membership": headline.with_info(info)}


def _wider(result: Result, compared: int) -> Any:
    """The interval of the best of several: wide enough that all hold together (Bonferroni)."""
    from statistics import NormalDist  # noqa: PLC0415

    held = result.interval
    if held is None or compared < 2:
        return held
    usual, more = (NormalDist().inv_cdf(1 - 0.025 / k) for k in (1, compared))
    half = (held.high - result.value, result.value - held.low)
    return replace(
        held,
        low=max(0.0, result.value - half[1] * more / usual),
        high=min(1.0, result.value + half[0] * more / usual),
    )


def known_strangers(case: ModelCase) -> str:
    """Why the strangers may be none; empty where they are. People of the training file among them are an error."""
    assert case.holdout is not None
    column = owner_column(case.train.schema)
    if column is not None and column in case.holdout:
        mine = {str(x) for x in case.train[column].categories.labels}
        both = sum(str(x) in mine for x in case.holdout[column].categories.labels)
        if both:
            raise DataError(
                f"column {column!r}: {counted(both, 'person')} of the holdout are in the training "
                f"file too; leave them out "
                "of the holdout"
            )
    records = [
        np.column_stack([case.design.matrix(table), case.outcome(table)])
        for table in (case.train, case.holdout)
    ]
    inside, outside = (
        np.nan_to_num(r, nan=-1e300).view(np.dtype((np.void, 8 * r.shape[1]))).ravel()
        for r in map(np.ascontiguousarray, records)
    )
    _, codes, counts = np.unique(inside, return_inverse=True, return_counts=True)
    usual = float(np.mean(counts[codes] > 1))
    again = float(np.mean(np.isin(outside, inside)))
    if again <= usual + FORGED + 2 * np.sqrt(usual * (1 - usual) / max(len(outside), 1)):
        return ""
    return (
        f" {figure(100 * again, '%')} of the holdout's records stand in the training file too, where "
        f"{figure(100 * usual, '%')} "
        "of its own records stand twice: these are no strangers, and the figure is not trusted."
    )


def performance(case: ModelCase, table: Any) -> float:
    """Share of right predictions, or the share of variance that is explained (R²).

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> people = {"a": [1.0, 2.0, 4.0], "y": [2.0, 4.0, 8.0]}
    >>> case = ModelCase.of(LinearRegression().fit([[1.0], [2.0], [4.0]], people["y"]), people, target="y")
    >>> performance(case, case.train)
    1.0
    """
    truth = case.outcome(table)
    inputs = case.inputs if table is case.train else case.design.inputs(case.design.matrix(table))
    found = case.fitted.predictions(inputs)
    if case.task == "classification":
        return float(np.mean(found == truth))
    spread = float(np.sum((truth - truth.mean()) ** 2))
    return 1 - float(np.sum((truth - found) ** 2)) / spread if spread > 0 else float("nan")


def beside_commonest(case: ModelCase) -> str:
    """What always saying the commonest class would reach, among strangers where there are some; empty for numbers.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> people = {"a": [1.0, 2.0, 4.0, 5.0], "y": ["no", "no", "no", "yes"]}
    >>> model = DummyClassifier().fit([[a] for a in people["a"]], people["y"])
    >>> beside_commonest(ModelCase.of(model, people, target="y"))
    ' (always saying the commonest class: 0.75)'
    """
    if case.fitted.classes is None:
        return ""
    commonest = np.bincount(case.outcome(case.train)).argmax()
    share = float(np.mean(case.outcome(case.train if case.holdout is None else case.holdout) == commonest))
    return f" (always saying the commonest class: {figure(share)})"
