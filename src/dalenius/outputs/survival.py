"""Survival curves as tables: steps with their exits, and the fewest merged steps that may be shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.outputs.query import Floats, Ints


@dataclass(frozen=True, eq=False)
class Curve:
    """A Kaplan–Meier curve (Kaplan and Meier 1958) by reported steps; a step ends at ``time``.

    Attributes
    ----------
    at_risk, exits, events
        People at risk when the step begins; those who leave in it, by the event or censored; those with the event.
    survival
        Share without the event at the end of the step.

    Examples
    --------
    >>> curve = Curve.of(np.array([1.0, 2, 2, 3]), np.array([1.0, 0, 1, 1]))
    >>> curve.time.tolist(), curve.exits.tolist(), curve.survival.round(3).tolist()
    ([1.0, 2.0, 3.0], [1, 2, 1], [0.75, 0.5, 0.0])
    """

    time: Floats
    at_risk: Ints
    exits: Ints
    events: Ints
    survival: Floats

    @classmethod
    def of(cls, times: Floats, events: Floats) -> Curve:
        """The curve of some people, one step a distinct time."""
        time, place = np.unique(times, return_inverse=True)
        exits = np.bincount(place, minlength=len(time)).astype(np.int64)
        deaths = np.bincount(place, events, len(time)).astype(np.int64)
        at_risk = len(times) - np.cumsum(exits) + exits
        return cls(time, at_risk, exits, deaths, np.cumprod(1.0 - deaths / np.maximum(at_risk, 1)))

    @property
    def left(self) -> Ints:
        """People at risk after each step."""
        return self.at_risk - self.exits

    def merged(self, least: int) -> Curve:
        """Steps merged until each has enough exits, and nobody or enough people are left after it.

        At the end of every merged step the curve is the Kaplan–Meier curve itself. With fewer people than ``least``
        no step is left.

        Examples
        --------
        >>> curve = Curve.of(np.arange(1.0, 25), np.ones(24))
        >>> curve.merged(10).time.tolist(), curve.merged(10).exits.tolist()
        ([10.0, 24.0], [10, 14])
        """
        ends: list[int] = []
        held = 0
        for i, (out, left) in enumerate(zip(self.exits.tolist(), self.left.tolist(), strict=True)):
            held += out
            if held >= least and (left == 0 or left >= least):
                ends.append(i)
                held = 0
        last = np.array(ends, np.int64)
        first = np.concatenate([[0], last[:-1] + 1]).astype(np.int64) if len(last) else last
        sums = [np.concatenate([[0], np.cumsum(x)]) for x in (self.exits, self.events)]
        exits, events = (s[last + 1] - s[first] for s in sums)
        return Curve(self.time[last], self.at_risk[first], exits, events, self.survival[last])
