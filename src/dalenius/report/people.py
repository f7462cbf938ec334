"""Chances as people: "about 3 in 1,000", and a picture of a hundred people of whom some are marked.

Natural frequencies are understood where percentages are not (Gigerenzer and Hoffrage 1995, Psychological Review 102).
"""

from __future__ import annotations

import math

HUNDRED, THOUSAND = 100, 1000


def in_people(percent: float) -> str:
    """A percentage as people.

    Examples
    --------
    >>> in_people(13.8), in_people(0.3), in_people(0.0), in_people(0.001)
    ('about 14 in 100 people', 'about 3 in 1,000 people', 'nobody', 'fewer than 1 in 1,000 people')
    """
    if math.isnan(percent):
        return "an unknown number of people"
    if percent <= 0:
        return "nobody"
    if percent >= 1:
        return f"about {percent:.0f} in 100 people"
    if percent * 10 >= 1:
        return f"about {percent * 10:.0f} in 1,000 people"
    return "fewer than 1 in 1,000 people"


def with_percent(percent: float) -> str:
    """People, and the percentage beside them.

    Examples
    --------
    >>> with_percent(28.2)
    'about 28 in 100 people (28.2 %)'
    """
    return in_people(percent) if math.isnan(percent) else f"{in_people(percent)} ({percent:.3g} %)"


def crowd(percent: float) -> int:
    """How many people to draw so that a chance shows: a hundred, or a thousand for rare things."""
    return THOUSAND if 0 < percent < 1 else HUNDRED


def people_picture(percent: float, anyway: float | None) -> str:
    """A crowd as SVG: those it would happen to anyway, those it happens to because of the file, and the rest.

    Examples
    --------
    >>> picture = people_picture(28.0, 25.0)
    >>> picture.count('class="extra"'), picture.count('class="anyway"'), picture.count("<circle")
    (3, 25, 100)
    """
    value = 0.0 if math.isnan(percent) else percent
    total = crowd(value)
    across = 20 if total == HUNDRED else 50
    size = 13 if total == HUNDRED else 6
    marked = round(value * total / 100)
    extra = marked if anyway is None else max(round((value - anyway) * total / 100), 0)
    plain = marked - min(extra, marked)
    dots = []
    for n in range(total):
        kind = "anyway" if n < plain else ("extra" if n < marked else "rest")
        x, y = (n % across) * size + size / 2, (n // across) * size + size / 2
        dots.append(f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{0.38 * size:.2f}"/>')
    width, height = across * size, total // across * size
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg {box} aria-hidden="true">{"".join(dots)}</svg>'
