"""`attack`: everything that follows from what is published, as figures a board can set limits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError, counted, no_column
from dalenius.core.registry import MeasureInfo
from dalenius.core.result import WHOLE, Result
from dalenius.published import Fit, Published, fit
from dalenius.published.arrays import Bools
from dalenius.published.doubts import overlapping_bands
from dalenius.published.ends import Progress
from dalenius.published.margin import NO_LIMIT
from dalenius.risk.reconstruction.differencing import Differences, differencing

REFERENCE = "Muralidhar and Ruggles 2024; Sánchez et al. 2024"


def _info(name: str, title: str, meaning: str, dimension: Any, unit: str = "%") -> MeasureInfo:
    most = 100.0 if unit == "%" else float("inf")
    return MeasureInfo(
        name, title, "risk", meaning, "lower", (0.0, most), REFERENCE, unit, default=False, dimension=dimension,
        subject="published",
    )  # fmt: skip


ATTACKS: Mapping[str, MeasureInfo] = {
    info.name: info
    for info in (
        _info(
            "proved-people", "People in proved cells",
            "Share of the people in cells whose count follows for certain from what is published.", "attribution",
        ),
        _info(
            "proved-beyond", "People in cells that follow",
            "Share of the people in cells whose count no table prints, and that follows for certain.", "attribution",
        ),
        _info(
            "proved-unique", "People proved to be alone",
            "Share of the people who are certainly the only one with their combination of values.", "singling out",
        ),
        _info(
            "small-groups", "Small groups that follow",
            "Groups below the threshold that a table withholds or none prints, and that follow from what is printed.",
            "singling out", "",
        ),
    )
}  # fmt: skip
"""Figures about what is published, by name: policies take them like any other."""


@dataclass(frozen=True, eq=False, repr=False)
class Attack:
    """What an attack found.

    Attributes
    ----------
    results
        The figures, by name; they say nothing about single people.
    fits, differences
        The cells, by date where dates are looked at apart, and the recipes: confidential, as they point at people.
    """

    results: Mapping[str, Result]
    fits: Mapping[str, Fit]
    differences: Differences

    def __repr__(self) -> str:
        return "\n".join(result.sentence for result in self.results.values())

    @property
    def columns(self) -> list[str]:
        """Columns that are crossed anywhere."""
        return list(next(iter(self.fits.values())).published.columns)

    @property
    def trusted(self) -> bool:
        """Whether what is not proved may be called open."""
        return all(found.trusted and not found.published.doubts for found in self.fits.values())

    @property
    def remarks(self) -> list[str]:
        """What a reader must know beside the figures."""
        published = next(iter(self.fits.values())).published
        said = [*published.doubts, *published.remarks]
        if len(self.fits) == 1:
            return said
        return [
            *said,
            f"Tables of {len(self.fits)} dates were attacked apart, as nobody said that they speak of the same people; "
            "together they may prove more.",
        ]

    def frame(self) -> pl.DataFrame:
        """The possible cells in words, with their bounds; confidential, as it points at people."""
        parts = [
            f.frame() if len(self.fits) == 1 else f.frame().with_columns(pl.lit(date).alias("date"))
            for date, f in self.fits.items()
        ]
        return pl.concat(parts)

    def patterns(self) -> pl.DataFrame:
        """How many people are proved, bounded and open, without saying who they are.

        The people of a line are counted together: cells that share a printed total do not hold it twice. Where bands
        overlap, people may stand in several cells, and the line says that it counts them as read.

        Examples
        --------
        >>> people = {"sex": ["f", "m", "f"], "town": ["A", "B", "B"]}
        >>> attack(Published.count(people, [["sex"], ["town"]])).patterns().rows()[1:3]
        [('bounded, somebody is there', 1, 1, 2), ('bounded, nobody may be there', 3, 1, 2)]
        """
        lines = [self._pattern(name, chosen) for name, chosen in KINDS.items()]
        if len(self.fits) == 1:  # people of several dates may be the same ones
            lines.append(self._pattern("all together", lambda found: np.ones(len(found.low), np.bool_)))
        names = dict(zip(PATTERN, (pl.String, pl.Int64, pl.Int64, pl.Int64), strict=True))
        return pl.DataFrame(lines, schema=names, orient="row")

    def _pattern(self, name: str, chosen: Callable[[Fit], Bools]) -> tuple[str, int, int, int | None]:
        masks = [(found, chosen(found)) for found in self.fits.values()]
        ends = [found.people_among(mask) for found, mask in masks]
        cells, low = sum(int(mask.sum()) for _, mask in masks), sum(least for least, _ in ends)
        unlimited = any(most >= NO_LIMIT for _, most in ends)
        overlap = any(overlapping_bands(found.published) for found in self.fits.values())
        said = f"{name}, as read" if overlap else name
        return said, cells, low, None if unlimited else sum(most for _, most in ends)


KINDS: Mapping[str, Callable[[Fit], Bools]] = {
    "proved": lambda found: found.proved & (found.low > 0),
    "bounded, somebody is there": lambda found: ~found.proved & (found.low > 0),
    "bounded, nobody may be there": lambda found: ~found.proved & (found.low == 0),
    "proved empty": lambda found: found.proved & (found.low == 0),
}
"""What can be known of a cell."""
PATTERN = ("kind", "cells", "people at least", "people at most")
"""Columns of the patterns, in the order in which they are read."""


def attack(
    published: Published,
    *,
    threshold: int = 10,
    same_people: bool = False,
    relax: bool = False,
    bounds: bool = False,
    seed: int = 1,
    keep: Path | None = None,
    progress: Progress | None = None,
) -> Attack:
    """Find everything that follows for certain from what is published.

    Parameters
    ----------
    threshold
        Groups of fewer people are small.
    same_people
        Whether tables of different dates speak of the same people. Otherwise each date is attacked alone, and every
        figure is that of the date at which it is worst.
    bounds
        Find the exact bounds of every cell, which takes longer than proofs.
    keep
        A private folder where the state is kept, so that an attack that was killed goes on to the same bytes.

    Examples
    --------
    >>> sexes = {"sex": ["f", "m", "Total"], "n": [3, 1, 4]}
    >>> found = attack(Published.from_tables({"sexes": sexes}))
    >>> found.results["proved-unique"].value
    25.0
    """
    fits = {
        date: fit(
            part, bounds=bounds, relax=relax, seed=seed, progress=progress,
            keep=None if keep is None else keep / f"attack-{number}.npz",
        )
        for number, (date, part) in enumerate(_by_date(published, same_people).items())
    }  # fmt: skip
    agree = not any(len(found.slack) for found in fits.values())
    groups = (
        differencing(published, threshold=threshold, same_people=same_people)
        if agree
        else Differences(threshold, (), ())
    )
    return Attack(_results(fits, groups), fits, groups)


def _by_date(published: Published, same_people: bool) -> dict[str, Published]:
    """What may be taken together: everything, or each date for itself."""
    dates = sorted({margin.date for margin in published.margins})
    if same_people or len(dates) < 2:
        return {"": published}
    return {d: replace(published, margins=tuple(m for m in published.margins if m.date == d)) for d in dates}


def _results(fits: Mapping[str, Fit], groups: Differences) -> dict[str, Result]:
    doubt = _doubt(fits, groups)
    number, bounded = len(groups.follows), len(groups.bounded)
    share, named = _worst(fits, [found.people_proved for found in fits.values()])
    beyond, some = _worst(fits, [found.people_proved - found.people_printed for found in fits.values()])
    cell = " × ".join(next(iter(fits.values())).published.columns) or "everybody"
    # Whoever is the only one of a wider group is alone with the whole combination too.
    lonely, called = _worst(fits, groups.alone or [found.alone for found in fits.values()])
    said = {
        "proved-people": (share, f"For {named} the count of their cell ({cell}) is known for certain."),
        "proved-beyond": (beyond, f"For {some} the count of their cell is printed nowhere, and follows."),
        "proved-unique": (
            lonely,
            f"{called[:1].upper()}{called[1:]} are certainly alone with their combination.",
        ),
        "small-groups": (
            float(number),
            f"{counted(number, 'group')} of fewer than {groups.threshold} people "
            f"{'follows' if number == 1 else 'follow'} from published cells, "
            f"{bounded} more {'is' if bounded == 1 else 'are'} held between bounds below it."
            + _printed(fits, groups.threshold),
        ),
    }
    return {
        name: Result(name, value, sentence + doubt, trusted=not doubt, counts=WHOLE).with_info(ATTACKS[name])
        for name, (value, sentence) in said.items()
    }


def _printed(fits: Mapping[str, Fit], threshold: int) -> str:
    """What needs no attack: cells with few people that tables print as they are."""
    margins = [margin for found in fits.values() for margin in found.published.margins]
    few = sum(int(((m.low == m.high) & (m.low > 0) & (m.low < threshold)).sum()) for m in margins)
    return (
        f" {counted(few, 'cell')} that small {'is' if few == 1 else 'are'} printed outright." if few else ""
    )


def _worst(fits: Mapping[str, Fit], people: Sequence[int]) -> tuple[float, str]:
    """The largest share of the people over all dates, and in words.

    Where nobody says how many people there are, it is the share among as few as there can be.
    """
    ranges = [found.people_range for found in fits.values()]
    shares = [100 * some / max(low, 1) for some, (low, _) in zip(people, ranges, strict=True)]
    worst = int(np.argmax(shares))
    (low, high), share = ranges[worst], f"{shares[worst]:.1f} % of the people"
    if low == high or not people[worst]:
        return shares[worst], share
    most = "nobody says how many" if high >= NO_LIMIT else f"at most {high:,}"
    return shares[worst], f"up to {share} ({people[worst]:,} of at least {low:,}; {most})"


def _doubt(fits: Mapping[str, Fit], groups: Differences) -> str:
    """Why the figures may be too low; empty where they are not."""
    if any(found.published.doubts for found in fits.values()):
        return " More may follow: not everything could be read for certain."
    if any(len(found.slack) for found in fits.values()):
        return " The figures contradict each other and were changed, so that nothing is proved."
    open_cells = sum(int(found.undecided.sum()) for found in fits.values())
    if open_cells:
        return (
            f" Of {counted(open_cells, 'cell')} it could not be decided whether they are proved: more may be."
        )
    if not groups.whole:
        return " Not all groups of these tables could be looked at: more may follow."
    return ""


def held_against(found: Attack, truth: pl.DataFrame) -> dict[str, float]:
    """How often the proofs are right in a file that is known: always, where the tables were made from it exactly."""
    columns = found.columns
    missing = [name for name in columns if name not in truth.columns]
    if missing:
        raise OptionError(no_column(missing, truth.columns))
    frame = found.frame().filter(pl.col("proved"))
    real = truth.select(pl.col(columns).cast(pl.String)).group_by(columns).len()
    joined = frame.join(real, on=columns, how="left").with_columns(pl.col("len").fill_null(0))
    right = (joined["len"] == joined["low"]).to_numpy()
    return {
        "cells": float(len(right)),
        "cells with people": float((joined["low"] > 0).sum()),
        "right %": 100 * float(np.mean(right)) if len(right) else float("nan"),
    }
