"""What published tables give away, as a section of a report: figures, people pictures, and inside the recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dalenius.core.result import Result
from dalenius.report.people import in_people, people_picture

PICTURED = {
    "proved-beyond": "The count of their cell is printed nowhere, and follows",
    "proved-unique": "Certainly alone with their combination",
}
"""Figures that are shares of people, with the title of their picture."""
MOST_RECIPES = 40


@dataclass(frozen=True)
class PeoplePicture:
    """A crowd with the people marked of whom something follows."""

    title: str
    picture: str
    words: str
    short: str


@dataclass(frozen=True)
class AttackStory:
    """Texts and pictures of an attack.

    ``recipes`` say how to get at people and ``hold`` which cells are in the way: both are empty outside, and
    ``withheld`` says how many recipes there are.
    """

    lines: Sequence[str]
    pictures: Sequence[PeoplePicture]
    patterns: Sequence[Mapping[str, Any]]
    remarks: Sequence[str] = ()
    recipes: Sequence[str] = field(default=(), repr=False)
    hold: Sequence[str] = field(default=(), repr=False)
    withheld: int = 0
    more: int = 0

    @classmethod
    def of(
        cls,
        results: Mapping[str, Result],
        patterns: Sequence[Mapping[str, Any]],
        recipes: Sequence[str],
        *,
        remarks: Sequence[str] = (),
        hold: Sequence[str] = (),
        reveal: bool = False,
    ) -> AttackStory:
        """Tell what was found; recipes and cells only with ``reveal``.

        Examples
        --------
        >>> found = {"proved-unique": Result("proved-unique", 25.0, "25.0 % are alone.", "%")}
        >>> told = AttackStory.of(found, [], ["f, 80+ = + all − young = 3"])
        >>> told.pictures[0].short, told.recipes, told.withheld
        ('about 25 in 100 people', (), 1)
        """
        shown = [
            PeoplePicture(
                title, people_picture(results[name].value, 0.0), f"{title}: {in_people(results[name].value)}",
                in_people(results[name].value),
            )
            for name, title in PICTURED.items() if name in results
        ]  # fmt: skip
        return cls(
            [result.sentence for result in results.values()], shown, list(patterns), tuple(remarks),
            tuple(recipes[:MOST_RECIPES]) if reveal else (), tuple(hold) if reveal else (),
            0 if reveal else len(recipes), max(len(recipes) - MOST_RECIPES, 0) if reveal else 0,
        )  # fmt: skip
