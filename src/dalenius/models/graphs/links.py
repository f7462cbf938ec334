"""Scores of an attack as links: where to draw the line, and how many of the links called are true."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, generator
from dalenius.core.result import Interval
from dalenius.data.vector import AnyArray, IntArray
from dalenius.models.graphs.graph import Graph

Threshold = Literal["density", "degree", "oracle"]
DRAWS = 400


@dataclass(frozen=True, eq=False)
class LinkScores:
    """How strongly each asked node reacted to each target: one row a target, one column an asked node."""

    attack: str
    targets: IntArray
    ids: IntArray
    scores: AnyArray

    @property
    def counts(self) -> AnyArray:
        """Which pairs count: nobody is linked to himself."""
        pairs: AnyArray = self.targets[:, None] != self.ids[None, :]
        return pairs


@dataclass(frozen=True)
class Found:
    """Links that were called, beside the true ones."""

    threshold: Threshold
    precision: float
    recall: float
    f1: float
    chance: float
    """F1 of calling as many pairs at random."""
    spread: Interval | None
    by_target: pl.DataFrame


def found_links(
    scores: LinkScores, graph: Graph, *, threshold: Threshold = "density", guess: float = 1.0, seed: Seed = 0
) -> Found:
    """Call pairs links and count how many are.

    Parameters
    ----------
    threshold
        "density": as many pairs as the attacker believes are linked; "degree": as many nodes for each target as he
        believes it has links; "oracle": wherever F1 is largest, which nobody can know: an upper bound.
    guess
        How far his belief is off: 2 takes twice as many as there are.

    Examples
    --------
    >>> graph = Graph.of([(0, 1)], np.zeros((3, 1)))
    >>> scores = LinkScores("demo", np.array([0]), np.arange(3), np.array([[0.0, 2.0, 1.0]]))
    >>> found_links(scores, graph).f1
    1.0
    """
    if threshold not in get_args(Threshold):
        raise OptionError(f"unknown threshold {threshold!r}; there are {', '.join(get_args(Threshold))}")
    if not guess > 0:
        raise OptionError(f"guess is how far the attacker's belief is off, a number above 0; got {guess}")
    place = {int(node): i for i, node in enumerate(scores.ids)}
    truth = graph.linked(scores.ids)[[place[int(t)] for t in scores.targets]]
    pairs = scores.counts
    total, links = int(pairs.sum()), int(truth[pairs].sum())
    if not links:
        nothing = float("nan")
        return Found(
            threshold, nothing, nothing, nothing, nothing, None, _by_target(scores, truth, pairs & False)
        )
    called = _called(scores, truth, pairs, threshold, guess)
    hits, wrong, missed = (
        (called & truth).sum(1),
        (called & ~truth).sum(1),
        (truth & pairs & ~called).sum(1),
    )
    random = 2 * (called.sum() / total) * links / (called.sum() + links)
    return Found(
        threshold,
        _ratio(hits.sum(), (hits + wrong).sum()),
        _ratio(hits.sum(), links),
        _f1(hits.sum(), wrong.sum(), missed.sum()),
        float(random),
        _spread(hits, wrong, missed, seed),
        _by_target(scores, truth, called),
    )


def _called(
    scores: LinkScores, truth: AnyArray, pairs: AnyArray, threshold: Threshold, guess: float
) -> AnyArray:
    """Pairs that are called links; those that tie with the last are called too, but a score of nothing is no sign."""
    held = np.where(pairs, scores.scores, -np.inf)
    some = held > 0
    if threshold == "degree":
        each = max(1, math.ceil(guess * truth[pairs].sum() / len(truth)))
        cut = -np.partition(-held, min(each, held.shape[1]) - 1, axis=1)[:, min(each, held.shape[1]) - 1]
        return (held >= cut[:, None]) & some
    flat = np.sort(held[pairs])[::-1]
    if threshold == "density":
        take = min(max(math.ceil(guess * truth[pairs].sum()), 1), len(flat))
        return (held >= flat[take - 1]) & some
    order = np.argsort(-held[pairs], kind="stable")
    true = truth[pairs][order]
    hits = np.cumsum(true)
    f1 = 2 * hits / (np.arange(1, len(true) + 1) + true.sum())
    last = np.append(
        np.diff(held[pairs][order]) != 0, True
    )  # a line can only be drawn between different scores
    best = int(np.argmax(np.where(last, f1, -1.0)))
    return held >= held[pairs][order][best]


def _by_target(scores: LinkScores, truth: AnyArray, called: AnyArray) -> pl.DataFrame:
    return pl.DataFrame(
        {"node": scores.targets, "links": truth.sum(axis=1), "called": called.sum(axis=1),
         "found": (called & truth).sum(axis=1)}
    )  # fmt: skip


def _spread(hits: AnyArray, wrong: AnyArray, missed: AnyArray, seed: Seed) -> Interval | None:
    """F1 with the targets drawn again."""
    if len(hits) < 2:
        return None
    picks = generator(seed, "link-targets").integers(0, len(hits), (DRAWS, len(hits)))
    drawn = [_f1(hits[p].sum(), wrong[p].sum(), missed[p].sum()) for p in picks]
    low, high = np.nanquantile(drawn, [0.025, 0.975]) if not np.isnan(drawn).all() else (np.nan, np.nan)
    return Interval(float(low), float(high), kind="spread over targets")


def _ratio(above: float, below: float) -> float:
    return float(above / below) if below else 0.0


def _f1(hits: float, wrong: float, missed: float) -> float:
    below = 2 * hits + wrong + missed
    return float(2 * hits / below) if below else float("nan")
