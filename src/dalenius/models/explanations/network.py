"""A small network from explanations to records: one hidden layer, sigmoids throughout (Luo, Jiang and Xiao 2022)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from dalenius.core.descent import Adam, RmsProp, Sgd
from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray

Optimizer = Literal["sgd", "momentum", "rmsprop", "adam"]
RATES = {"sgd": 0.01, "momentum": 0.01, "rmsprop": 0.01, "adam": 0.001}
PATIENCE = 20


@dataclass
class NNAttack:
    """A network of ``hidden_factor`` times as many hidden neurons as columns; records must lie between 0 and 1.

    Algorithm 1 of Toma and Kikuchi 2024: weights drawn from N(0, 1), minibatches, the sum of squared errors of a batch.
    A tenth of the queries is kept aside and says when to stop.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> records = rng.random((200, 2))
    >>> net = NNAttack(epochs=30).fit(records * 2 - 1, records)
    >>> bool(np.abs(net.predict(records * 2 - 1) - records).mean() < 0.25)
    True
    """

    optimizer: Optimizer = "adam"
    lr: float | None = None
    momentum: float = 0.9
    hidden_factor: int = 4
    epochs: int = 200
    batch_size: int = 64
    init: Literal["normal01", "default"] = "normal01"
    seed: Seed = 0
    weights: list[AnyArray] = field(default_factory=list, repr=False)
    scale: tuple[AnyArray, AnyArray] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.optimizer not in get_args(Optimizer):
            raise OptionError(f"optimizer is {self.optimizer!r}; use one of {', '.join(get_args(Optimizer))}")

    def fit(self, explanations: AnyArray, records: AnyArray) -> NNAttack:
        """Learn from queries of one's own."""
        if records.min(initial=0.0) < -1e-9 or records.max(initial=1.0) > 1 + 1e-9:
            raise OptionError(
                "records for the network must lie between 0 and 1; use RecordReconstruction, which scales them"
            )
        rng = generator(self.seed, "network")
        centre, spread = explanations.mean(axis=0), explanations.std(axis=0)
        self.scale = (centre, np.where(spread > 0, spread, 1.0))
        inputs = (explanations - self.scale[0]) / self.scale[1]
        order = rng.permutation(len(inputs))
        aside = order[: len(inputs) // 10] if len(inputs) >= 20 else order[:0]
        taught = order[len(aside) :]
        n, out = inputs.shape[1], records.shape[1]
        hidden = self.hidden_factor * n
        self.weights = [
            self._drawn(rng, n, hidden),
            np.zeros(hidden),
            self._drawn(rng, hidden, out),
            np.zeros(out),
        ]
        if self.init == "normal01":
            self.weights[1], self.weights[3] = rng.normal(size=(hidden,)), rng.normal(size=(out,))
        steps = [self._descent() for _ in self.weights]
        best, since, kept = np.inf, 0, [w.copy() for w in self.weights]
        for _ in range(self.epochs):
            taught = rng.permutation(taught)
            for start in range(0, len(taught), self.batch_size):
                some = taught[start : start + self.batch_size]
                for descent, held, slope in zip(
                    steps, self.weights, self._slopes(inputs[some], records[some]), strict=True
                ):
                    descent.step(held, slope)
            seen = aside if len(aside) else taught
            error = float(np.mean((self._forward(inputs[seen])[1] - records[seen]) ** 2))
            if error < best - 1e-7:
                best, since, kept = error, 0, [w.copy() for w in self.weights]
            else:
                since += 1
                if since > PATIENCE:
                    break
        self.weights = kept
        return self

    def predict(self, explanations: AnyArray) -> AnyArray:
        """Records that belong to explanations."""
        assert self.scale is not None
        return self._forward((explanations - self.scale[0]) / self.scale[1])[1]

    def _drawn(self, rng: np.random.Generator, rows: int, columns: int) -> AnyArray:
        if self.init == "normal01":
            return rng.normal(size=(rows, columns))
        bound = 1 / np.sqrt(rows)
        return rng.uniform(-bound, bound, (rows, columns))

    def _descent(self) -> Any:
        rate = RATES[self.optimizer] if self.lr is None else self.lr
        if self.optimizer == "adam":
            return Adam(rate=rate)
        if self.optimizer == "rmsprop":
            return RmsProp(rate=rate)
        return Sgd(rate=rate, momentum=self.momentum if self.optimizer == "momentum" else 0.0)

    def _forward(self, inputs: AnyArray) -> tuple[AnyArray, AnyArray]:
        first = _sigmoid(inputs @ self.weights[0] + self.weights[1])
        return first, _sigmoid(first @ self.weights[2] + self.weights[3])

    def _slopes(self, inputs: AnyArray, records: AnyArray) -> list[AnyArray]:
        first, second = self._forward(inputs)
        # the loss of a record is the mean over its columns, and a batch adds its records up
        back = 2 * (second - records) / records.shape[1] * second * (1 - second)
        inner = back @ self.weights[2].T * first * (1 - first)
        return [inputs.T @ inner, inner.sum(axis=0), first.T @ back, back.sum(axis=0)]


def _sigmoid(values: AnyArray) -> AnyArray:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -60, 60))))
