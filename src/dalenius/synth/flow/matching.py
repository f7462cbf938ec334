"""Flow matching with boosted trees: at each of some times, how noise moves on its way to the numbers.

A row begins as normal noise e and ends as scores x; on the straight way between them it moves by x - e. What is learnt
at time t is the mean of that move given where the row is, t x + (1 - t) e, and its categories; noise that moves so
arrives as draws of the numbers (Lipman et al. 2023; with trees, one data set for each time: Jolicoeur-Martineau, Fatras
and Kachman 2024).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import MissingExtraError
from dalenius.core.random import Seed, generator
from dalenius.synth._store import stored

Floats = npt.NDArray[np.float32]
Text = npt.NDArray[np.uint8]
BINS = 127


@dataclass(frozen=True)
class Boosting:
    """How the moves are learnt: times, noises that each row is met with, trees for each move, their leaves and rate."""

    steps: int = 20
    noises: int = 10
    trees: int = 40
    leaves: int = 47
    minbucket: int = 20
    rate: float = 0.2


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Moves:
    """What was learnt: for each time and score one set of boosted trees, as LightGBM writes them."""

    texts: list[list[Text]]

    def carried(self, noise: Floats, given: Floats) -> Floats:
        """Noise carried to scores, given what the row holds besides."""
        at = noise.copy()
        for step in self.texts:
            beside = np.column_stack([at, given])
            moves = [_opened(text).predict(beside, num_threads=1) for text in step]
            at = at + (np.column_stack(moves) / len(self.texts)).astype(np.float32)
        return at


def learn_moves(
    scores: Floats, given: Floats, unordered: Sequence[int], how: Boosting, seed: Seed, threads: int | None = None,
    tell: Callable[[int], None] | None = None,
) -> Moves:  # fmt: skip
    """Learn how noise moves to the scores; ``unordered`` are the columns of ``given`` that hold codes without order."""
    lightgbm = boosting_package()
    codes = [scores.shape[1] + place for place in unordered]
    many, beside = np.tile(scores, (how.noises, 1)), np.tile(given, (how.noises, 1))

    def at(step: int) -> list[Text]:
        """Trees of one time; they are alike whatever else runs, so that times may be learnt side by side."""
        noise = generator(seed, "noise", step).standard_normal(many.shape).astype(np.float32)
        time = np.float32(step / how.steps)
        where = np.column_stack([time * many + (1 - time) * noise, beside])
        facts = {
            "max_bin": BINS,
            "verbose": -1,
            "num_threads": 1,
            "deterministic": True,
            "force_row_wise": True,
        }
        data = lightgbm.Dataset(
            where, categorical_feature=codes, params=facts, free_raw_data=False
        ).construct()
        options = {
            "objective": "l2", "num_leaves": how.leaves, "learning_rate": how.rate, "seed": 1,
            "min_data_in_leaf": how.minbucket, **facts,
        }  # fmt: skip
        learnt = []
        for place in range(scores.shape[1]):
            data.set_label(many[:, place] - noise[:, place])
            learnt.append(_text(lightgbm.train(options, data, how.trees)))
        if tell is not None:
            tell(step + 1)
        return learnt

    with ThreadPoolExecutor(max_workers=threads or os.cpu_count()) as pool:
        return Moves(list(pool.map(at, range(how.steps))))


def boosting_package() -> Any:
    """LightGBM, or an error that says how to get it."""
    try:
        import lightgbm  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError("lightgbm", "boost", "make files with flow") from None
    return lightgbm


def _text(trees: Any) -> Text:
    """Trees as LightGBM writes them, without the options they were made with."""
    return np.frombuffer(trees.model_to_string().partition("\nparameters:")[0].encode(), np.uint8)


def _opened(text: Text) -> Any:
    return boosting_package().Booster(model_str=text.tobytes().decode())
