"""Everything a private fit learns about the data goes through a sampler. Here the samplers are listened to.

A *transcript* is what the samplers gave in one fit. Played back into a fit of a neighbouring table it tells how likely
that table would have made it give the same: the logarithm of the ratio is the best statistic there is for telling the
two tables apart (Neyman and Pearson). A fit that looks at the data in any other way is found out too: the same
transcript must give the same model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from dalenius.dp import add_gaussian, add_laplace, choose, queries, utility
from dalenius.synth.joint import measured, task

BANK = 4000
"""Noises drawn at a time: one call of OpenDP instead of thousands."""


@dataclass
class Bank:
    """Noise of OpenDP's samplers, drawn in large vectors and handed out once each."""

    held: dict[tuple[Callable[..., Any], float], Iterator[int]] = field(default_factory=dict)

    def take(self, sampler: Callable[..., Any], scale: float, shape: tuple[int, ...]) -> np.ndarray:
        stream = self.held.setdefault((sampler, scale), self._stream(sampler, scale))
        size = int(np.prod(shape))
        return np.fromiter((next(stream) for _ in range(size)), np.int64, size).reshape(shape)

    def _stream(self, sampler: Callable[..., Any], scale: float) -> Iterator[int]:
        while True:
            yield from sampler(np.zeros(BANK, np.int64), scale).tolist()


@dataclass
class Listener:
    """Samplers that write down what they give, or give again what was written down; with half of the noise if told."""

    bank: Bank
    halved: bool = False
    given: list[Any] = field(default_factory=list)
    playing: bool = False
    log_chance: float = 0.0
    turn: int = 0
    worked_out: dict[int, Any] = field(default_factory=dict)

    def laplace(self, counts: np.ndarray, scale: float) -> np.ndarray:
        noisy = self._give(lambda s: counts + self.bank.take(add_laplace, s, counts.shape), scale)
        self.log_chance -= float(np.abs(noisy - counts).sum()) / self._own(scale)
        return noisy

    def gaussian(self, counts: np.ndarray, scale: float) -> np.ndarray:
        noisy = self._give(lambda s: counts + self.bank.take(add_gaussian, s, counts.shape), scale)
        self.log_chance -= float(((noisy - counts) ** 2).sum()) / (2 * self._own(scale) ** 2)
        return noisy

    def choose(self, scores: np.ndarray, sensitivity: float, epsilon: float) -> int:
        own = 2 * epsilon if self.halved else epsilon
        at = self._give(lambda _: choose(scores, sensitivity, own), float(len(scores)))
        logs = np.asarray(scores) * own / (2 * sensitivity)
        self.log_chance += float(logs[at] - np.logaddexp.reduce(logs))
        return int(at)

    def _own(self, scale: float) -> float:
        return scale / 2 if self.halved else scale

    def _give(self, draw: Callable[[float], Any], asked: float) -> Any:
        if self.playing:
            before, given = self.given[self.turn]
            assert before == asked, "the noise depends on the data in a way that is not paid for"
            self.turn += 1
            return given
        given = draw(self._own(asked))
        self.given.append((asked, given))
        return given

    def _once(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """Work on what was measured so far, done while recording and remembered while playing."""

        def done(*arguments: Any, **options: Any) -> Any:
            if not self.playing:
                self.worked_out[len(self.worked_out)] = work(*arguments, **options)
                return self.worked_out[len(self.worked_out) - 1]
            return self.worked_out.pop(min(self.worked_out))

        return done

    @contextmanager
    def listening(self, monkeypatch: pytest.MonkeyPatch, shortened: bool) -> Iterator[None]:
        with monkeypatch.context() as patch:
            for room in (task, queries):
                patch.setattr(room, "add_laplace", self.laplace)
                patch.setattr(room, "add_gaussian", self.gaussian)
            patch.setattr(utility, "add_laplace", self.laplace)
            patch.setattr(measured, "choose", self.choose)
            if shortened:
                patch.setattr(measured.Measured, "fit", self._once(measured.Measured.fit))
                patch.setattr(measured.Measured, "expected", self._once(measured.Measured.expected))
            yield


def log_ratio(
    fit: Callable[[Any], Any], own: Any, other: Any, bank: Bank, monkeypatch: Any, *, halved: bool = False,
    shortened: bool = False,
) -> tuple[float, Any, Any]:  # fmt: skip
    """How much likelier one fit of ``own`` is under it than under ``other`` (log), and the model of either.

    ``shortened`` does not fit the same model twice to the same transcript.
    """
    first = Listener(bank, halved)
    with first.listening(monkeypatch, shortened):
        model = fit(own)
    second = Listener(bank, halved, first.given, playing=True, worked_out=first.worked_out)
    with second.listening(monkeypatch, shortened):
        again = fit(other)
    assert second.turn == len(first.given), "the number of queries depends on the data"
    return first.log_chance - second.log_chance, model, again
