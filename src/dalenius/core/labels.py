"""Labels that do not collide: each name goes to the nearest free place around its point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CHARACTER, LINE, POINT = 7.4, 15.0, 7.0
"""Width of a character, height of a line and radius of a point, in pixels, at 12 px semi-bold."""
NEAR = 14.0
CLOSE = 5.0
"""By how many pixels a label must be nearer to its own point than to any other."""


@dataclass(frozen=True)
class Place:
    """Left end and middle line of a label, and whether it is far enough from its point to need a leader."""

    x: float
    y: float
    width: float
    far: bool

    def overlaps(self, other: Place) -> bool:
        """Whether two labels would be printed over each other.

        Examples
        --------
        >>> Place(0, 0, 50, False).overlaps(Place(40, 5, 50, False))
        True
        """
        apart = self.x + self.width < other.x or other.x + other.width < self.x
        return not apart and abs(self.y - other.y) < LINE

    def gap(self, x: float, y: float) -> float:
        """How far a point is from the label.

        Examples
        --------
        >>> Place(10, 0, 50, False).gap(0, 0)
        10.0
        """
        aside = max(self.x - x, x - self.x - self.width, 0.0)
        return float((aside**2 + max(abs(self.y - y) - LINE / 2, 0.0) ** 2) ** 0.5)

    def covers(self, x: float, y: float) -> bool:
        """Whether the label would be printed over a point."""
        return self.x - POINT < x < self.x + self.width + POINT and abs(self.y - y) < LINE / 2 + POINT


def place_labels(
    spots: Sequence[tuple[float, float]], texts: Sequence[str], width: float, height: float
) -> list[Place]:
    """Places for the labels of points inside a drawing of this size; from the crowded points to the lonely ones.

    Examples
    --------
    >>> places = place_labels([(100, 100), (104, 101)], ["first", "second"], 400, 300)
    >>> places[0].overlaps(places[1])
    False
    """
    lengths = [CHARACTER * len(text) for text in texts]
    crowd = [sum(abs(x - u) < 80 and abs(y - v) < 40 for u, v in spots) for x, y in spots]
    placed: dict[int, Place] = {}
    for i in sorted(range(len(spots)), key=lambda i: (-crowd[i], spots[i])):
        options = [p for p in _around(spots[i], lengths[i]) if _inside(p, width, height)]
        placed[i] = min(
            options or _around(spots[i], lengths[i])[:1], key=lambda p: _cost(p, placed, spots, spots[i])
        )
    return [placed[i] for i in range(len(spots))]


def _around(spot: tuple[float, float], length: float) -> list[Place]:
    """Places from near to far: right, left, above, below, then in rings."""
    x, y = spot
    options = []
    for ring in range(7):
        gap = 10 + 15 * ring
        sides = [(gap, 0), (-gap - length, 0), (8, -gap), (8, gap), (-8 - length, -gap), (-8 - length, gap)]
        sides += [(-length / 2, -gap - 4), (-length / 2, gap + 4)]
        options += [Place(x + dx, y + dy, length, ring > 0 and gap > NEAR) for dx, dy in sides]
    return options


def _inside(place: Place, width: float, height: float) -> bool:
    return place.x >= 2 and place.x + place.width <= width + 60 and LINE / 2 <= place.y <= height - LINE / 2


def _cost(
    place: Place, taken: dict[int, Place], spots: Sequence[tuple[float, float]], own: tuple[float, float]
) -> float:
    """Collisions first, then other points that are as near, to which a reader would give the name.

    Places are tried from near to far, so the first of the best is the nearest.
    """
    return (
        10.0 * sum(place.overlaps(other) for other in taken.values())
        + 2.0 * sum(place.covers(x, y) for x, y in spots)
        + sum(place.gap(x, y) <= place.gap(*own) + CLOSE for x, y in spots if (x, y) != own)
    )
