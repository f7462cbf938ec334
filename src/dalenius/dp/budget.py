"""`Budget`: how much privacy there is to spend, and a ledger of every spend.

Neighbours say what is protected: "add-remove" tables differ by one record that is there or not; "replace" tables by
one record that is changed, so the number of records is the same. Where a person or a firm owns several records, the
unit that comes, goes or changes is all of them: ``records`` says how many there are at most, and the sensitivities grow
with it. Spends add up (sequential composition), except spends on disjoint parts of the records, where the largest part
counts (parallel composition).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal, get_args

from dalenius.core.attack_terms import best_attack
from dalenius.core.errors import OptionError
from dalenius.core.option import real_number
from dalenius.dp.accounting import epsilon_of_rho, rho_of_epsilon

Neighbours = Literal["add-remove", "replace"]
Accounting = Literal["pure", "approximate", "zcdp"]

_SLACK = 1 + 1e-9
"""Sums of shares may miss the whole by rounding."""


@dataclass(frozen=True)
class Spend:
    """One line of the ledger: what was released, at which price, and with how much noise.

    ``epsilon``/``delta`` or ``rho`` is the price; ``part`` is (name of the split, which part) for disjoint records;
    ``output`` says what it went into, ``who`` and ``when`` who spent it.

    Examples
    --------
    >>> Spend("sex × age", epsilon=0.5, noise="discrete Laplace, scale 2").price
    'ε = 0.5'
    """

    what: str
    epsilon: float = 0.0
    delta: float = 0.0
    rho: float = 0.0
    noise: str = ""
    part: tuple[str, str] | None = None
    output: str = ""
    who: str = ""
    when: str = ""

    @property
    def price(self) -> str:
        """The price in words."""
        if self.rho:
            return f"ρ = {self.rho:.4g}"
        return f"ε = {self.epsilon:.4g}" + (f", δ = {self.delta:.3g}" if self.delta else "")


@dataclass
class Budget:
    """A privacy budget.

    Parameters
    ----------
    epsilon, delta
        What the whole release may cost.
    neighbours
        "add-remove" or "replace".
    accounting
        "pure" (δ = 0), "approximate" (ε and δ of the spends add up) or "zcdp" (ρ adds up and is converted once).
        Default: pure when δ is 0, otherwise zcdp.
    records
        Records that one protected unit has at most.
    unit
        Whom it protects: "record", or the column that names the unit.

    Examples
    --------
    >>> budget = Budget(1.0)
    >>> budget.spend("table of sex", epsilon=0.25)
    >>> budget.left
    0.75
    >>> budget.spend("table of age", epsilon=0.8)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: 'table of age' would cost 1.05 of a budget of 1; ask for less, ...
    >>> print(budget)
    privacy budget: ε = 1, add-remove neighbours, pure accounting
      table of sex: ε = 0.25
      in attack terms: accusing 1 % falsely finds at most 2.72 % of the people in the data
    spent: ε = 0.25
    """

    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = "add-remove"
    accounting: Accounting | None = None
    records: int = 1
    unit: str = "record"
    spends: list[Spend] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    exposed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        real_number("epsilon", self.epsilon)
        real_number("delta", self.delta)
        if not 0 < self.epsilon < float("inf"):
            raise OptionError(f"epsilon must be a positive number, got {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise OptionError(f"delta must be at least 0 and below 1, got {self.delta}")
        if self.neighbours not in get_args(Neighbours):
            raise OptionError(
                f"unknown neighbours {self.neighbours!r}; use one of {', '.join(get_args(Neighbours))}"
            )
        if self.accounting is None:
            self.accounting = "pure" if self.delta == 0 else "zcdp"
        if self.accounting not in get_args(Accounting):
            raise OptionError(
                f"unknown accounting {self.accounting!r}; use one of {', '.join(get_args(Accounting))}"
            )
        if (self.accounting == "pure") != (self.delta == 0):
            raise OptionError(f"{self.accounting} accounting does not go with delta = {self.delta}")
        if not isinstance(self.records, int) or self.records < 1:
            raise OptionError(f"a protected unit has at least 1 record, a whole number; got {self.records}")

    @property
    def total(self) -> float:
        """The whole budget in the unit that is added up: ρ for zcdp, ε otherwise."""
        return rho_of_epsilon(self.epsilon, self.delta) if self.accounting == "zcdp" else self.epsilon

    @property
    def spent(self) -> float:
        """What was spent so far, in that unit."""
        return _sum(self.spends, "rho" if self.accounting == "zcdp" else "epsilon")

    @property
    def left(self) -> float:
        """What is left, in that unit."""
        return max(self.total - self.spent, 0.0)

    @property
    def sensitivity(self) -> int:
        """How much a neighbour changes the counts of one table in all (L1): twice as much under replacement."""
        return self.records * (1 if self.neighbours == "add-remove" else 2)

    @property
    def squared_sensitivity(self) -> int:
        """The same in squares (L2): worst when all records of a unit lie in one cell."""
        return self.records * self.sensitivity

    @property
    def protects(self) -> str:
        """Who the neighbours are, in words."""
        unit = f" (units of up to {self.records} records)" if self.records > 1 else ""
        return f"{self.neighbours} neighbours{unit}"

    def spend(
        self, what: str, *, epsilon: float = 0.0, delta: float = 0.0, rho: float = 0.0, noise: str = "",
        part: tuple[str, str] | None = None, output: str = "",
    ) -> None:  # fmt: skip
        """Write a spend into the ledger; an error, and no line, when it would be too much."""
        unit = rho if self.accounting == "zcdp" else epsilon
        if not unit > 0:
            raise OptionError(
                f"{what!r} must cost something: give {'rho' if self.accounting == 'zcdp' else 'epsilon'} above 0"
            )
        if not 0 <= delta < 1:  # a negative one would pay for another, and NaN is larger than nothing
            raise OptionError(f"{what!r}: delta must be at least 0 and below 1, got {delta}")
        entry = Spend(what, epsilon, delta, rho, noise, part, output)
        after = _sum([*self.spends, entry], "rho" if self.accounting == "zcdp" else "epsilon")
        if after > self.total * _SLACK or _sum([*self.spends, entry], "delta") > self.delta * _SLACK:
            raise OptionError(
                f"{what!r} would cost {after:.4g} of a budget of {self.total:.4g}; ask for less, "
                "or give a larger epsilon"
            )
        self.spends.append(entry)

    def charge(self, other: Budget, what: str, output: str = "") -> None:
        """Pay the whole of another budget (that of one file, one query) out of this one, in this one's unit.

        ε-DP is ε²/2-zCDP (Bun and Steinke 2016, Proposition 1.4).

        Examples
        --------
        >>> whole = Budget(4.0, 1e-6)
        >>> whole.charge(Budget(0.5), "one file")
        >>> round(whole.spent, 3)
        0.125
        """
        if (other.neighbours, other.unit) != (self.neighbours, self.unit):
            raise OptionError(
                f"{what!r} protects by {other.neighbours} of a {other.unit}, the ledger by {self.neighbours} of a "
                f"{self.unit}; they do not add up"
            )
        if self.accounting == "zcdp" and other.accounting != "approximate":
            rho = other.total if other.accounting == "zcdp" else other.epsilon**2 / 2
            self.spend(what, rho=rho, output=output)
        elif self.accounting == "approximate" or other.accounting == "pure":
            self.spend(what, epsilon=other.epsilon, delta=other.delta, output=output)
        else:
            raise OptionError(
                f"{what!r} needs δ = {other.delta:g}, and the ledger has none; begin one with delta"
            )

    def assume(self, what: str) -> None:
        """Note what is taken as public knowledge: no price, but the reader must know."""
        if what not in self.assumptions:
            self.assumptions.append(what)

    def expose(self, what: str) -> None:
        """Note what is released exactly because the user said so: it is not protected, whatever was paid."""
        if what not in self.exposed:
            self.exposed.append(what)

    @property
    def guarantee(self) -> str:
        """What was promised so far, in one line."""
        if self.accounting == "zcdp":
            spent = self.spent
            shown = epsilon_of_rho(spent, self.delta) if spent else 0.0
            return f"ε = {shown:.4g}, δ = {self.delta:.3g} (ρ = {spent:.4g})"
        delta = _sum(self.spends, "delta")
        return f"ε = {self.spent:.4g}" + (f", δ = {delta:.3g}" if delta else "")

    def __str__(self) -> str:
        head = f"ε = {self.epsilon:.4g}" + (f", δ = {self.delta:.3g}" if self.delta else "")
        lines = [f"privacy budget: {head}, {self.protects}, {self.accounting} accounting"]
        for entry in self.spends:
            where = f" [{entry.part[0]}: {entry.part[1]}]" if entry.part else ""
            into = f" → {entry.output}" if entry.output else ""
            noise = f" ({entry.noise})" if entry.noise else ""
            by = f", {entry.who} {entry.when}" if entry.who else ""
            lines.append(f"  {entry.what}{where}: {entry.price}{noise}{into}{by}")
        lines += [f"  taken as public: {what}" for what in self.assumptions]
        lines += [f"  NOT PROTECTED, by the user's wish: {what}" for what in self.exposed]
        caught = 100 * best_attack(self.epsilon, 0.01, self.delta)
        lines.append(
            f"  in attack terms: accusing 1 % falsely finds at most {caught:.3g} % of the people in the data"
        )
        return "\n".join([*lines, f"spent: {self.guarantee}"])


def _sum(spends: list[Spend], unit: Literal["epsilon", "rho", "delta"]) -> float:
    """Sequential composition adds up; parts of one split count as their maximum."""
    parts: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    result = 0.0
    for entry in spends:
        price: float = getattr(entry, unit)
        if entry.part is None:
            result += price
        else:
            parts[entry.part[0]][entry.part[1]] += price
    return result + sum(max(split.values()) for split in parts.values())
