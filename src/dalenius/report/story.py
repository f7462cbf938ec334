"""The first page of a report, for a reader who knows nothing about disclosure control.

Four questions in this order: what was released, what could go wrong, how likely is that, what may the data be used for.
Each has one short answer in front and the details after it; words of the field are explained under them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dalenius.core.result import Result
from dalenius.report.glossary import Term, used_terms
from dalenius.report.people import in_people, people_picture, with_percent

LIKELY = "How likely is that?"
QUESTIONS = (
    ("released", "What was released?"),
    ("wrong", "What could go wrong?"),
    ("likely", LIKELY),
    ("uses", "What may it be used for?"),
)


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
class Chance:
    """How many people something would happen to, and to how many it would happen anyway; per cent of people."""

    title: str
    value: float
    anyway: float | None
    said: str

    @property
    def picture(self) -> str:
        """A crowd with those people marked."""
        return people_picture(self.value, self.anyway)

    @property
    def words(self) -> str:
        """The picture in words."""
        extra = "" if self.anyway is None else f"; {in_people(self.anyway)} anyway"
        return f"{self.title}: {in_people(self.value)}{extra}"


@dataclass(frozen=True)
class Story:
    """Texts and tables of the first page and of the appendix.

    Examples
    --------
    >>> Story(released=["A file."]).answers
    [('What was released?', ['A file.'])]
    """

    released: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    likely: list[str] = field(default_factory=list)
    uses: list[str] = field(default_factory=list)
    decided: list[str] = field(default_factory=list)
    chances: list[Chance] = field(default_factory=list)
    policy: list[PolicyRow] = field(default_factory=list)
    intruders: list[Intruder] = field(default_factory=list)
    ledgers: list[tuple[str, str]] = field(default_factory=list)
    why: str = ""
    plan: str = ""
    released_question: str = "What was released?"

    @property
    def answers(self) -> list[tuple[str, list[str]]]:
        """The questions that have an answer, with the short answer first."""
        heads = {"released": self.released_question}
        return [
            (heads.get(part, head), getattr(self, part)) for part, head in QUESTIONS if getattr(self, part)
        ]

    @property
    def words(self) -> list[Term]:
        """Words of the field that the answers use, to be explained under them."""
        lines = [*self.decided, *(line for _, lines in self.answers for line in lines)]
        return used_terms(" ".join([*lines, *(c.said + c.title for c in self.chances)]))


def chances(results: Sequence[Result], keys: Sequence[str], share: float = 1.0) -> list[Chance]:
    """What could be learnt, as numbers of people beside what anybody could have guessed.

    Examples
    --------
    >>> found = Result("disco", 28.0, "", unit="%", yardsticks={"holdout": 25.0}, values={"ill": 28.0})
    >>> chances([found], ["age"])[0].title
    'Something true is read off'
    """
    found = []
    for result in results:
        if result.name == "disco":
            found.append(_read_off(result, keys, share))
        elif result.name == "replicated-uniques":
            found.append(_taken_for(result, keys, share))
    return found


def _read_off(result: Result, keys: Sequence[str], share: float) -> Chance:
    worst = max(result.values, key=lambda name: result.values[name]) if result.values else "a fact"
    said = (
        f"Somebody who knows the {joined(keys)} of a person could read a true answer off the file for "
        f"{with_percent(result.value * share)}; the fact most exposed is {worst}. {_guess(result, share)}"
    )
    return Chance("Something true is read off", result.value * share, _held(result, share), said)


def _taken_for(result: Result, keys: Sequence[str], share: float) -> Chance:
    said = (
        f"For {with_percent(result.value * share)}, exactly one line of the file fits their {joined(keys)}, and nobody "
        "else among the real people does. That line may be taken for theirs. It is not: it is made up. "
        f"{_guess(result, share)}"
    )
    return Chance("Somebody seems to be found", result.value * share, _held(result, share), said)


def _held(result: Result, share: float) -> float | None:
    held = result.yardsticks.get("holdout")
    return None if held is None else held * share


def _guess(result: Result, share: float) -> str:
    held, words = _held(result, share), []
    if not result.trusted:
        words.append("This figure must not be read as safe: it could not be measured well enough.")
    if held is None:
        words.append("How much of this anybody could have guessed without the file was not measured.")
    else:
        gap = result.value * share - held
        words.append(
            f"For people who never took part it is {in_people(held)}: that much is general knowledge, which no "
            "protection hides. "
            + (
                f"So the file itself adds {in_people(gap)}."
                if gap > 0.05
                else "So the file itself adds nothing."
            )
        )
    if "original" in result.yardsticks:
        words.append(
            f"With the real data in hand it would be {in_people(result.yardsticks['original'] * share)}."
        )
    return " ".join(words)


def likely_lines(found: Sequence[Chance], share: float) -> list[str]:
    """The short answer about how likely it is, and what it supposes."""
    if not found:
        return ["This was not measured: nobody said what a curious person may know and want to learn."]
    added = [c.value - c.anyway for c in found if c.anyway is not None]
    if len(added) < len(found):
        first = (
            f"At most {in_people(max(c.value for c in found))}; how much of it is mere guessing is not known."
        )
    elif max(added) > 0.05:
        first = f"The file adds a risk for {in_people(max(added))} at most."
    else:
        first = "No more likely for people in the data than for people who never took part."
    lines = [first]
    if share < 1:
        lines.append(
            f"About {100 * share:g} % of the population are in the data, and the curious person does not know who. "
            "The chances here take that into account."
        )
    return lines


def wrong_lines(keys: Sequence[str], targets: Sequence[str], about: str = "") -> list[str]:
    """What could go wrong, as a small story and without jargon."""
    who = about.strip().rstrip(".") or "somebody curious"
    lines = []
    if keys and targets:
        lines = [
            "Somebody could learn, or believe to learn, something about a real person.",
            f"Imagine {who}. He knows a person's {joined(keys)}, looks for a line of the file that fits, and reads "
            f"{joined(targets, 'or')} there. If what he reads is true, and he could not have guessed it, the file has "
            "given something away.",
            "A line can also look so much like one person that people believe that person is in the file, true or not.",
        ]
    return [
        *(
            lines
            or [
                "Somebody could learn something about a real person; no such attempt was named for this report."
            ]
        ),
        "Somebody could draw a wrong conclusion, because the file differs from the real data in what they look at.",
    ]


def joined(items: Sequence[str], word: str = "and") -> str:
    """A list as a person would say it.

    Examples
    --------
    >>> joined(["sex", "age", "region"])
    'sex, age and region'
    """
    shown = list(items)
    if len(shown) <= 1:
        return "".join(shown) or "nothing named"
    return f"{', '.join(shown[:-1])} {word} {shown[-1]}"
