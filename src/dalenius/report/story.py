"""The first page of a report, for a reader who knows nothing about disclosure control.

Four questions in this order: what was released, what could go wrong, how likely is that, what may the data be used for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dalenius.core.result import Result, figure


@dataclass(frozen=True)
class PolicyRow:
    """One line of the policy for one file."""

    file: str
    line: str
    scenario: str
    met: bool
    said: str


@dataclass(frozen=True)
class Intruder:
    """An intruder the figures imagine."""

    name: str
    about: str
    keys: Sequence[str]
    targets: Sequence[str]
    population_share: float
    figures: Sequence[tuple[str, str, str]] = ()
    """File, figure and value, for the scenarios that the main figures are not about."""


@dataclass(frozen=True)
class Story:
    """Texts and tables of the first page and of the appendix.

    Examples
    --------
    >>> Story(released=["A file."]).released
    ['A file.']
    """

    released: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    likely: list[str] = field(default_factory=list)
    uses: list[str] = field(default_factory=list)
    decided: list[str] = field(default_factory=list)
    policy: list[PolicyRow] = field(default_factory=list)
    intruders: list[Intruder] = field(default_factory=list)
    ledgers: list[tuple[str, str]] = field(default_factory=list)
    plan: str = ""


def in_hundred(result: Result) -> str:
    """A percentage as people: "about 14 of 100".

    Examples
    --------
    >>> in_hundred(Result("x", 13.8, "", unit="%")), in_hundred(Result("x", 0.3, "", unit="%"))
    ('about 14 of 100 people', 'about 3 of 1,000 people')
    """
    if result.value >= 1:
        return f"about {result.value:.0f} of 100 people"
    if result.value * 10 >= 1:
        return f"about {result.value * 10:.0f} of 1,000 people"
    return "fewer than 1 of 1,000 people"


def likely_lines(
    results: Sequence[Result], keys: Sequence[str], targets: Sequence[str], share: float
) -> list[str]:
    """How likely it is that somebody learns something, in counts of people, beside what could be guessed anyway."""
    found = []
    for result in results:
        if result.name == "disco":
            found.append(
                f"Learning something: for {in_hundred(result)} in the data, somebody who knows their "
                f"{_joined(keys)} could read a correct answer ({_joined(targets, 'or')}) off the file. "
                + _guess(result)
            )
        elif result.name == "replicated-uniques":
            found.append(
                f"Believing to have found somebody: {in_hundred(result)} in the data stand alone with their "
                f"{_joined(keys)} and meet exactly one record of the file that looks like them. The "
                f"record is not theirs, but "
                "it may be taken for theirs. " + _guess(result)
            )
    if share < 1:
        found.append(
            f"These figures suppose that the curious person knows who took part. About {figure(100 * share)} % of the "
            f"population did; for somebody who does not know who took part, the chances above are to "
            f"be multiplied by {share:g}."
        )
    return found


def _guess(result: Result) -> str:
    held, original = result.yardsticks.get("holdout"), result.yardsticks.get("original")
    words = []
    if original is not None:
        words.append(f"With the real data it would be {figure(original)} of 100.")
    if held is not None:
        gap = result.value - held
        words.append(
            f"For people who never took part it is {figure(held)} of 100, which is general knowledge and no leak; "
            + (
                f"what the file adds is about {figure(gap)} in 100."
                if gap > 0
                else "the file adds nothing to that."
            )
        )
    else:
        words.append("How much of this anybody could have guessed without the file was not measured.")
    return " ".join(words)


def wrong_lines(keys: Sequence[str], targets: Sequence[str]) -> list[str]:
    """What could go wrong, without jargon."""
    return [
        f"Somebody who knows a few things about a person ({_joined(keys)}) could look for a record that fits, and "
        f"believe what else stands there ({_joined(targets, 'or')}). If it is true by design "
        f"rather than by chance, the file has given "
        "away something about a real person.",
        "A record could look so much like one person that people believe that person is in the file, true or not.",
        "Somebody could draw a wrong conclusion because the file differs from the real data in what they look at.",
    ]


def _joined(items: Sequence[str], word: str = "and") -> str:
    shown = list(items)
    if len(shown) <= 1:
        return "".join(shown) or "nothing named"
    return f"{', '.join(shown[:-1])} {word} {shown[-1]}"
