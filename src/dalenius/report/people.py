"""Chances as people: "about 3 in 1,000", and a picture of a hundred people of whom some are marked.

Natural frequencies are understood where percentages are not (Gigerenzer and Hoffrage 1995, Psychological Review 102).
"""

from __future__ import annotations

import math
import re

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


def against_strangers(
    inside: float, outside: float | None, told: str = "{}", doing: str = "gives away",
    range_: tuple[float, float] | None = None,
) -> str:  # fmt: skip
    """A chance for people in the data beside that for people who are not, and what is left for the file.

    ``told`` says what happens, with ``{}`` where the number goes; ``range_`` is that of the difference, in points.

    Examples
    --------
    >>> against_strangers(22.1, 20.2, "somebody could read off the diagnosis of {}")
    'of 100 people in the data somebody could read off the diagnosis of 22; of 100 who are not in it, of 20; so the
    file itself gives away about 2'
    >>> against_strangers(55.0, 50.0, "{} seem to be found", "adds", (0.6, 9.1))
    'of 100 people in the data 55 seem to be found; of 100 who are not in it, 50; so the file itself adds about 5
    (allowing for chance, 1 to 9)'
    >>> against_strangers(0.31, 0.3, "{} seem to be found", "adds")
    'of 1,000 people in the data 3 seem to be found; of 1,000 who are not in it, 3; so the file itself adds nothing that
    shows'
    >>> against_strangers(90.5, 1.3, "a line comes closer to {} than anybody else does", "adds")[-64:]
    'of 100 who are not in it, to 1; so the file itself adds about 89'
    """
    if math.isnan(inside):
        return "this could not be measured"
    per, mine, theirs = counted(inside, outside)
    first = f"of {per:,} people in the data {told.format(mine)}"
    if theirs is None:
        return f"{first}; how many of these anybody could have guessed without the file was not measured"
    before = re.search(r"\b(of|to) \{\}", told)
    short = f"{before[1]} " if before else ""
    left = f"about {mine - theirs}" if mine > theirs else "nothing that shows"
    told_range = _ranged(mine - theirs, range_, per)
    return f"{first}; of {per:,} who are not in it, {short}{theirs}; so the file itself {doing} {left}{told_range}"


def _ranged(difference: int, range_: tuple[float, float] | None, per: int) -> str:
    """How far chance may have moved a difference, in people; nobody is given away less than not at all."""
    if range_ is None or any(math.isnan(end) for end in range_):
        return ""
    low, high = (max(round(end * per / 100), 0) for end in range_)
    if difference <= 0:
        return f" (allowing for chance, at most {high})" if high else ""
    return f" (allowing for chance, {min(low, difference)} to {max(high, difference)})"


def counted(inside: float, outside: float | None) -> tuple[int, int, int | None]:
    """How many people are spoken of, how many of those in the data are concerned, and how many strangers.

    A hundred people; a thousand where a hundred would hide what there is to see, or round a difference to another.

    Examples
    --------
    >>> counted(22.1, 20.2), counted(4.58, 3.33), counted(0.3, None)
    ((100, 22, 20), (1000, 46, 33), (1000, 3, None))
    """
    parts = [inside] if outside is None else [inside, inside - outside]
    more = any(0.05 <= part < 0.5 for part in parts) or 0 < inside < 1
    more |= outside is not None and round(inside) - round(outside) != round(inside - outside)
    per = THOUSAND if more else HUNDRED
    return per, round(inside * per / 100), None if outside is None else round(outside * per / 100)


def with_percent(percent: float) -> str:
    """People, and the percentage beside them.

    Examples
    --------
    >>> with_percent(28.2)
    'about 28 in 100 people (28.2 %)'
    """
    return in_people(percent) if math.isnan(percent) else f"{in_people(percent)} ({percent:.3g} %)"


def people_picture(percent: float, anyway: float | None) -> str:
    """A crowd as SVG: those it would happen to anyway, those it happens to because of the file, and the rest.

    The numbers are those of `against_strangers`. Without strangers to compare with nobody knows which is which.

    Examples
    --------
    >>> picture = people_picture(28.0, 25.0)
    >>> picture.count('class="extra"'), picture.count('class="anyway"'), picture.count("<circle")
    (3, 25, 100)
    >>> people_picture(28.0, None).count('class="either"')
    28
    """
    total, marked, others = counted(0.0 if math.isnan(percent) else percent, anyway)
    across = 20 if total == HUNDRED else 50
    size = 13 if total == HUNDRED else 6
    plain = marked if others is None else min(others, marked)
    dots = []
    for n in range(total):
        kind = (
            ("anyway" if others is not None else "either")
            if n < plain
            else ("extra" if n < marked else "rest")
        )
        x, y = (n % across) * size + size / 2, (n // across) * size + size / 2
        dots.append(f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{0.38 * size:.2f}"/>')
    width, height = across * size, total // across * size
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg {box} aria-hidden="true">{"".join(dots)}</svg>'
