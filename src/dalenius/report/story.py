"""The first page of a report, for a reader who knows nothing about disclosure control.

Four questions in this order: what was released, what could go wrong, how much of that is this file's doing, what may
the data be used for. What strangers reach stands beside every chance: only the rest is the file's doing.
Each has one short answer in front and the details after it; words of the field are explained under them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dalenius.core.result import Result
from dalenius.evaluation.policy import copied_beyond
from dalenius.report.attacked import AttackStory
from dalenius.report.glossary import Term, used_terms
from dalenius.report.people import against_strangers, in_people, people_picture, with_percent

LIKELY = "How much of that is this file's doing?"
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
    short: str = ""
    """Both numbers and the difference, in one sentence."""

    @property
    def added(self) -> float:
        """What the file adds; all of it where strangers were not looked at."""
        return self.value - (self.anyway or 0.0)

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
    refused: list[str] = field(default_factory=list)
    """One sentence for each other file: which limit stood against it."""
    chances: list[Chance] = field(default_factory=list)
    policy: list[PolicyRow] = field(default_factory=list)
    intruders: list[Intruder] = field(default_factory=list)
    ledgers: list[tuple[str, str]] = field(default_factory=list)
    attack: AttackStory | None = None
    """What the tables that go out with the file give away."""
    drawing: str = ""
    """Tables and links with their rows, as SVG of our own making."""
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


def chances(
    results: Sequence[Result], keys: Sequence[str], share: float = 1.0, made_up: bool = False, masked: bool = False
) -> list[Chance]:  # fmt: skip
    """What could be learnt, as numbers of people beside how many strangers it would happen to.

    ``made_up`` says that the measures of copying agree that no record is a real person's, ``masked`` that files were
    compared through a mask.

    Examples
    --------
    >>> found = Result("disco", 22.0, "", unit="%", outside=20.0, values={"diagnosis": 22.0})
    >>> print(chances([found], ["age"])[0].short)
    Of 100 people in the data somebody could read off the diagnosis of 22; of 100 who are not in it, of 20; so the file
    itself gives away about 2.
    """
    told = {"disco": _read_off, "replicated-uniques": _taken_for, "identical-matches": _copied}
    beyond = {
        "near-copies": _nearly_copied,
        "part-copies": _partly_copied,
    }  # told where they stand against a file
    told |= {r.name: beyond[r.name] for r in results if r.name in beyond and copied_beyond(r)}
    said = [told[r.name](r, keys, share, made_up) for r in results if r.name in told]
    if not masked:
        return said
    seen = "the real data, masked in the same way, in hand"
    return [replace(chance, said=chance.said.replace("the real data in hand", seen)) for chance in said]


def _read_off(result: Result, keys: Sequence[str], share: float, made_up: bool) -> Chance:
    # The measure's own choice: the worst by what the file adds, which need not be the one with the highest level.
    target = result.part or next(
        (name for name in result.values if result.values[name] == result.value), "a fact"
    )
    said = (
        f"This is about somebody who knows the {joined(keys)} of a person; the fact most exposed is {target}. "
        f"{_beside(result, share)}"
    )
    what = f"somebody could read off the {target} of {{}}"
    return _chance("Something true is read off", result, share, what, said)


def _taken_for(result: Result, keys: Sequence[str], share: float, made_up: bool) -> Chance:
    said = (
        f"Exactly one line of the file fits their {joined(keys)}, and nobody else among the real people does. "
        f"That line may be taken for theirs. {'It is not: it is made up. ' if made_up else ''}"
        f"{_beside(result, share, BY_CHANCE)}"
    )
    return _chance("Somebody seems to be found", result, share, "{} seem to be found", said, "adds")


def _copied(result: Result, keys: Sequence[str], share: float, made_up: bool) -> Chance:
    said = f"Counted are people of whom one line of the file holds every fact. {_beside(result, share, BY_CHANCE)}"
    return _chance("A whole record comes out", result, share, "the file holds every fact of {}", said)


def _nearly_copied(result: Result, keys: Sequence[str], share: float, made_up: bool) -> Chance:
    said = (
        "Counted are people to whom a line of the file is at less than half the distance of anybody else in the data, "
        f"or who share two more values with it. {_beside(result, share, BY_CHANCE)}"
    )
    what = "a line comes closer to {} than anybody else does"
    return _chance("A record nearly comes out", result, share, what, said, "adds")


def _partly_copied(result: Result, keys: Sequence[str], share: float, made_up: bool) -> Chance:
    said = (
        "Counted are people of whom a line of the file has several answers that are together much rarer than those "
        f"anybody else in the data shares with them. {_beside(result, share, BY_CHANCE)}"
    )
    what = "a line has answers of {} together too rare for chance"
    return _chance("A record comes out in part", result, share, what, said, "adds")


def _chance(
    title: str, result: Result, share: float, what: str, said: str, doing: str = "gives away"
) -> Chance:
    inside = (result.value if result.level is None else result.level) * share
    outside = None if result.outside is None else result.outside * share
    spread = result.added_interval
    range_ = (spread.low * share, spread.high * share) if spread is not None and outside is not None else None
    short = against_strangers(inside, outside, what, doing, range_)
    return Chance(title, inside, outside, said.strip(), f"{short[0].upper()}{short[1:]}.")


GENERAL = "What strangers reach is general knowledge, which no protection hides."
BY_CHANCE = "What happens to strangers is coincidence: they are not in the data."


def _beside(result: Result, share: float, strangers: str = GENERAL) -> str:
    words = [f"In per cent: {with_percent(result.value * share)}."]
    if not result.trusted:
        words.append("This figure must not be read as safe: it could not be measured well enough.")
    if result.outside is not None:
        words.append(strangers)
    if "original" in result.yardsticks:
        words.append(
            f"With the real data in hand it would be {in_people(result.yardsticks['original'] * share)}."
        )
    return " ".join(words)


def likely_lines(chances: Sequence[Chance], share: float) -> list[str]:
    """How much of what could go wrong is this file's doing, and what that supposes."""
    if not chances:
        return ["This was not measured: nobody said what a curious person may know and want to learn."]
    lines = [max(chances, key=lambda chance: chance.added).short]
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
            "Somebody could learn something about a real person, or think so.",
            f"Imagine {who}. He knows a person's {joined(keys)}, looks for a line of the file that fits, and reads "
            f"{joined(targets, 'or')} there. If what he reads is true, and he could not have guessed it, the file has "
            "given something away.",
            "A line can also look so much like one person that people believe that person is in the file, true or not.",
            "At worst the whole record of a real person comes out, or somebody can tell who took part.",
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


MOST_NAMED = 40
"""Names that a sentence lists; of more, the first and how many there are."""
SOME_NAMED = 12
"""Of a longer list so many names are said: nobody reads more of them."""


def joined(items: Sequence[str], word: str = "and") -> str:
    """A list as a person would say it.

    Examples
    --------
    >>> joined(["sex", "age", "region"])
    'sex, age and region'
    """
    shown = list(items)
    if len(shown) > MOST_NAMED:
        return f"{', '.join(shown[:SOME_NAMED])} {word} {len(shown) - SOME_NAMED:,} more"
    if len(shown) <= 1:
        return "".join(shown) or "nothing named"
    return f"{', '.join(shown[:-1])} {word} {shown[-1]}"
