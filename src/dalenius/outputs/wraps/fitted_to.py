"""What a model is fitted to besides outcome and regressors: offset, weights, events, entry, strata and clusters.

All of them are data. An offset that is everybody's outcome but one person's leaves that person's alone; a cluster of
one person has his residual as its standard error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dalenius.outputs.checks import Finding, Verdict, finding
from dalenius.outputs.design import Design
from dalenius.outputs.evidence import Evidence
from dalenius.outputs.made import exact_but_few
from dalenius.outputs.query import Floats, Ints

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

RATES = ("Poisson", "NegativeBinomial")
NOTHING = 1e-9
"""Share of the largest weight below which a record counts for nothing."""
OFFSET = (
    "an offset in a model of this kind was not compared with other outputs: a person looks what it is made of"
)
MATRIX = "the matrix of covariances that the records are weighted by was not looked at"


@dataclass(frozen=True, eq=False)
class FittedTo:
    """Data of a fit.

    Attributes
    ----------
    target, weight
        The outcome less its offset (a count as a rate, weighted by what it was exposed to), and what records count.
    more
        Further columns, 0 where nothing was said: offset, censored, entry, strata, clusters.
    unsure
        Why a person must look; empty if none has to.
    """

    target: Floats
    weight: Floats | None
    more: Floats
    unsure: str = ""

    @property
    def counts(self) -> Any:
        """Records that count for something."""
        if self.weight is None or not self.weight.any():
            return np.ones(len(self.target), np.bool_)
        return self.weight > NOTHING * self.weight.max(initial=0.0)


def fitted_to(fitted: Any) -> FittedTo:
    """The data of a fit of statsmodels."""
    model = fitted.model
    rows = len(model.exog)
    target, weight = np.asarray(model.endog, np.float64), weights(model)
    more, unsure = np.zeros((rows, 5)), ""
    offset = _offset(model, rows)
    if offset is not None and offset.any():
        family = type(getattr(model, "family", model)).__name__
        link = type(getattr(getattr(model, "family", None), "link", None)).__name__.lower()
        if family == "Gaussian" and link == "identity":
            target = target - offset
        elif family in RATES and link in ("log", "nonetype"):
            # The score of a Poisson model is that of the rates, weighted by what they were exposed to.
            exposed = np.exp(offset)
            target, weight = target / exposed, exposed if weight is None else weight * exposed
        else:
            more[:, 0], unsure = offset, OFFSET
    if np.ndim(getattr(model, "sigma", 0.0)) == 2:
        unsure = MATRIX
    if _events(model) is not None:
        more[:, 1] = 1.0 - np.asarray(model.status, np.float64)
        more[:, 2] = 0.0 if model.entry is None else np.asarray(model.entry, np.float64)
    for place, groups in zip((3, 4), _groups(fitted, rows), strict=False):
        more[:, place] = _numbers(groups)
    return FittedTo(target, weight, more, unsure)


def weights(model: Any) -> Floats | None:
    """What each record counts in a fit (weights of WLS and GLS, frequency and variance weights of GLM)."""
    found = None
    for word in ("weights", "freq_weights", "var_weights", "sigma"):
        said = getattr(model, word, None)
        if said is not None and np.shape(said) == (len(model.exog),):
            own = np.asarray(said, np.float64)
            own = 1.0 / own if word == "sigma" else own
            found = own if found is None else found * own
    return found


def _offset(model: Any, rows: int) -> Floats | None:
    """Offset and logarithm of the exposure together."""
    both = getattr(model, "_offset_exposure", None)
    if both is not None:
        return np.broadcast_to(np.asarray(both, np.float64), (rows,))
    found = [getattr(model, word, None) for word in ("offset", "exposure")]
    said = [np.broadcast_to(np.asarray(x, np.float64), (rows,)) for x in found if x is not None]
    return np.sum(said, axis=0) if said else None


def _events(model: Any) -> Any:
    """Whom the event happened to, in a Cox model."""
    return np.asarray(model.status) > 0 if type(model).__name__ == "PHReg" else None


def _groups(fitted: Any, rows: int) -> list[Any]:
    """Groups of records that a fit treats as one: clusters of its errors, of random effects, strata."""
    clusters = (getattr(fitted, "cov_kwds", None) or {}).get("groups")
    found = [getattr(fitted.model, "groups", None), getattr(fitted.model, "strata", None), clusters]
    split = [np.asarray(g).reshape(len(g), -1).T for g in found if g is not None and len(g) == rows]
    return [column for columns in split for column in columns]


def _numbers(groups: Any) -> Floats:
    """Names of groups as numbers, the same in every output."""
    values = np.asarray(groups)
    if values.dtype.kind in "iufb":
        return values.astype(np.float64)
    return np.asarray(pd.util.hash_array(values.astype(str).astype(object)), np.float64) / 2.0**64


def rests_on_few(desk: Desk, fitted: Any, data: FittedTo, unit: Any, evidence: Evidence) -> list[Finding]:
    """What is found where a fit rests on few: their residuals, their events, their clusters."""
    design = np.asarray(fitted.model.exog, np.float64)
    who = np.arange(len(design)) if unit is None else np.unique(unit, return_inverse=True)[1].ravel()
    few = desk.policy.threshold
    found: list[tuple[str, str, Verdict]] = []
    if data.unsure:
        found.append(("fitted_to", data.unsure, "review"))
    rows = -(-few * len(who) // max(int(who.max(initial=0)) + 1, 1))  # of so many people
    if data.target.ndim == 1 and exact_but_few(data.target[data.counts], design[data.counts], rows):
        words = f"the model fits exactly but for fewer than {few} people or units, and tells what these have"
        found.append(("residuals", words, "fail"))
    if any(0 < _in_small(groups, who, few) < few for groups in _groups(fitted, len(design))):
        words = f"a cluster, group or stratum of records belongs to fewer than {few} people or units"
        found.append(("clusters", words, "fail"))
    slopes = getattr(fitted.model, "exog_re", None)
    if slopes is not None and Design(np.asarray(slopes, np.float64), who).owners(few) < few:
        words = f"a random effect belongs to fewer than {few} people or units"
        found.append(("random_effect", words, "fail"))
    found += _by_events(fitted.model, who, few)
    return [finding(name, evidence, np.ones(1, np.bool_), words, verdict=v) for name, words, v in found]


def _in_small(groups: Any, who: Ints, few: int) -> int:
    """People in groups of few, all together: with as many of them as there are people nobody stands out."""
    people = pd.DataFrame({"group": pd.factorize(np.asarray(groups))[0], "who": who}).drop_duplicates()
    size = people.groupby("group")["who"].transform("size")
    return int(people.loc[size < few, "who"].nunique())


def _by_events(model: Any, who: Ints, few: int) -> list[tuple[str, str, Verdict]]:
    """A Cox model is about those who have the event, and who was at risk then (Cox 1972, section 3)."""
    event = _events(model)
    if event is None:
        return []
    if len(np.unique(who[event])) < few:
        return [("events", f"fewer than {few} people or units have the event", "fail")]
    if model.entry is None:
        return []
    time = np.asarray(model.endog, np.float64)
    entered = np.searchsorted(np.sort(np.asarray(model.entry, np.float64)), time[event], "left")
    at_risk = entered - np.searchsorted(np.sort(time), time[event], "left")
    small = at_risk < few
    if len(np.unique(who[event][~small])) < few:
        return [("events", f"at nearly all events fewer than {few} people or units are at risk", "fail")]
    words = f"at {few} events or more fewer than {few} people or units are at risk, as they enter late"
    return [("events", words, "review")] if small.sum() >= few else []
