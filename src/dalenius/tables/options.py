"""Options of secondary suppression: how small counts and single contributors are treated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from dalenius.core.errors import OptionError
from dalenius.tables.errors import need_whole

SmallMethod = Literal[
    "none",
    "virtual",
    "subspace",
    "subspace_strict",
    "anysum",
    "anysum_notprimary",
    "anysum0",
    "virtual_anysum",
    "virtual_subspace",
]
"""How counts that cannot protect each other are treated (Langsrud 2024, section 4).

``anysum`` looks at all sums of small inner cells, ``virtual`` only at those inside a published cell. ``subspace``
refuses every cell that consists of small inner cells only, ``subspace_strict`` also every cell that would leave a
protected one with small inner cells only. ``anysum_notprimary`` is for tables in which some small inner cells are
published; ``anysum0`` is the same where these are zeros, and avoids leaving a zero total suppressed with just one of
its parts.
"""

R_SMALL: dict[str, SmallMethod] = {
    "none": "none",
    "subSum": "virtual",
    "subSpace": "subspace_strict",
    "anySum": "anysum",
    "anySumNOTprimary": "anysum_notprimary",
    "anySum0": "anysum0",
    "subSumAny": "virtual_anysum",
    "subSumSpace": "virtual_subspace",
}
"""Names of the R package GaussSuppression for the same methods."""

R_SINGLETON = {"sub2Sum": "numFFT"}
"""Methods that R lists beside those for small counts, though they are about single contributors."""

Publish = Literal["all", "unpublished", "off"]
Virtual = Literal["off", "plain", "hierarchical"]
Report = Literal["none", "message", "warning"]
RowCheck = Literal["any", "top"]

REPORTS: dict[str, Report] = {"M": "message", "m": "message", "f": "message", "W": "warning", "w": "warning"}
"""What the fourth letter of R's code asks to be told."""


@dataclass(frozen=True)
class SingletonRules:
    """Protection against a single contributor who knows its own value (Langsrud 2024, section 5).

    Attributes
    ----------
    primary
        "all": every published cell with one contributor is protected; "unpublished": inner cells with one contributor
        that are not published cells are protected too; "off": neither.
    ids
        Recognise the same contributor in several cells; otherwise every such cell has a contributor of its own.
    virtual
        Protect sums of protected inner cells that belong to at most two contributors ("plain"), also after taking
        away a protected subtotal ("hierarchical").
    within
        Refuse a cell that would let one contributor compute a protected cell of somebody else.
    row_check
        "any" tries every common row, "top" only the first one (the paper's own version).
    parallel
        Run a second elimination with the contributors in reverse order; a cell must be safe in both.
    combinations
        Refuse cells that reduce to a combination of cells of at most this many contributors (0 = off).
    report
        Look afterwards whether a single contributor can still compute a protected cell of somebody else, and say so
        in the notes ("message") or as a Python warning too ("warning"). The rules do not promise that there is none.

    Examples
    --------
    >>> SingletonRules() == SingletonRules.from_code("numttHTT")
    True
    >>> SingletonRules.from_code("numTTFtF").parallel
    False
    """

    primary: Publish = "unpublished"
    ids: bool = True
    virtual: Virtual = "hierarchical"
    within: bool = True
    row_check: RowCheck = "any"
    parallel: bool = True
    combinations: int = 2
    report: Report = "none"

    def __post_init__(self) -> None:
        words = (("primary", Publish), ("virtual", Virtual), ("row_check", RowCheck), ("report", Report))
        for name, allowed in words:
            if getattr(self, name) not in get_args(allowed):
                raise OptionError(
                    f"{name} is one of {', '.join(get_args(allowed))}, not {getattr(self, name)!r}"
                )
        need_whole(self.combinations, 0, "combinations")

    @classmethod
    def from_code(cls, code: str, row_check: Literal["any", "top"] = "any") -> SingletonRules:
        """Read the five-letter code of the R package: "num" and up to five letters.

        1 ``primary`` (T all, t unpublished, F off), 2 ``ids`` (T, t, F), 3 ``virtual`` (T plain, H hierarchical, F),
        4 ``within`` (T with ``parallel``, t without, F off; M and m the same with a message about what is left, W and
        w with a warning, f only the message), 5 ``combinations`` (T two, t one, F off).

        Examples
        --------
        >>> SingletonRules.from_code("numttHWT").report
        'warning'
        """
        letters = code.removeprefix("num").ljust(5, "F")
        wanted = ("TtF", "TtF", "THF", "TtFMWmwf", "TtF")
        wrong = [
            f"letter {i + 1} is not one of {', '.join(allowed)}"
            for i, (letter, allowed) in enumerate(zip(letters, wanted, strict=False))
            if letter not in allowed
        ]
        if not code.startswith("num") or len(letters) > 5 or wrong:
            raise OptionError(
                f"unknown singleton code {code!r}: {'; '.join(wrong) or 'num and five letters expected'}"
            )
        within = letters[3] not in "Ff"
        return cls(
            primary={"T": "all", "t": "unpublished", "F": "off"}[letters[0]],  # type: ignore[arg-type]
            ids=letters[1] != "F",
            virtual={"T": "plain", "H": "hierarchical", "F": "off"}[letters[2]],  # type: ignore[arg-type]
            within=within,
            row_check=row_check,
            parallel=within and letters[3].isupper(),
            combinations={"T": 2, "t": 1, "F": 0}[letters[4]],
            report={"M": "message", "m": "message", "f": "message", "W": "warning", "w": "warning"}.get(
                letters[3], "none"
            ),  # type: ignore[arg-type]
        )

    @classmethod
    def none(cls) -> SingletonRules:
        """No protection against single contributors."""
        return cls("off", False, "off", False, "any", False, 0)

    @property
    def active(self) -> bool:
        """Whether any of the rules is on."""
        return self.primary != "off" or self.virtual != "off" or self.within or self.combinations > 0


def check_small(method: str) -> SmallMethod:
    """The method of this name, ours or R's.

    Examples
    --------
    >>> check_small("subSum")
    'virtual'
    """
    if method in R_SMALL:
        return R_SMALL[method]
    if method in get_args(SmallMethod):
        return method  # type: ignore[return-value]
    raise OptionError(
        f"unknown method {method!r} for small counts; there are: {', '.join(get_args(SmallMethod))}"
    )
