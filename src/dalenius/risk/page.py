"""The risk page: who the intruder is, what he knows, the figures beside their yardsticks, and who is most exposed.

Combinations of keys are described by pattern (how rare each key's value is), never by value, unless the caller writes
``reveal=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DaleniusError, OptionError
from dalenius.core.option import at_least
from dalenius.core.result import Result, figure
from dalenius.counts.measure import MEASURES, Measure, chosen_measures, full_name, masked_measures
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.further import TABLES, further_looks

RARITY = ((0.01, "very rare"), (0.05, "rare"), (0.2, "uncommon"), (1.01, "common"))
ATTACKS = (
    "singling-out",
    "linkability",
    "inference",
    "membership-distance",
    "membership-density",
    "attacker",
    "gcap",
)
CONTEXT = (
    "When, how, to whom and under what rules is the file released?",
    "Will its holders think that the records are real?",
    "Which other sources exist about the same people?",
    "What is known about the original, in general and about single people?",
    "How much is told about the way the file was made? (Advice: do not release the models.)",
)


def exposed_combinations(
    pair: Pair,
    keys: Sequence[str] | None = None,
    most: int = 10,
    reveal: bool = False,
    grouped: bool = False,
) -> Result:
    """The most exposed combinations of keys: single in the original and single in the protected file.

    Parameters
    ----------
    most
        How many patterns (or, revealed, combinations) are listed.
    reveal
        Name the values themselves. Only for the eyes of people who may see the original.
    grouped
        Group numeric keys by the pair's grouping.

    Examples
    --------
    >>> data = {"sex": ["f", "m", "m", "m"], "age": ["90", "30", "30", "30"]}
    >>> exposed_combinations(Pair(data, data), ["sex", "age"]).table.rows()
    [('sex common, age common', 1, 25.0)]
    """
    used = list(keys) if keys is not None else pair.keys
    at_least("most", most, 0)
    match, units = pair.match(used, grouped), pair.units
    groups, hit = match.groups, np.flatnonzero(match.single_in_both)
    shares = np.column_stack([_shares(pair, name, groups.codes(name)[hit], grouped) for name in used])
    if reveal:
        table = _revealed(pair, used, groups.codes, hit, shares, most, grouped)
    else:
        table = _patterns(used, shares, most, units.count)
    total = 100 * len(hit) / units.count if units.count else 0.0
    return Result(
        name="exposed-combinations",
        value=total,
        unit="%",
        sentence=f"{len(hit):,} combinations of {', '.join(used)} belong to one of the original {units.noun} and to "
        f"one protected record ({figure(total, '%')}); the table says "
        + ("which they are (confidential)." if reveal else "how rare their values are, not which they are."),
        table=table,
        counts=("combinations",) if "combinations" in table.columns and not reveal else (),
        threshold=pair.threshold,
    )


def _shares(pair: Pair, name: str, codes: AnyArray, grouped: bool) -> AnyArray:
    every = pair.categories(name, grouped).original.codes
    counts = np.bincount(every, minlength=int(codes.max(initial=0)) + 1)
    shares: AnyArray = counts[codes] / len(every)
    return shares


def _patterns(used: Sequence[str], shares: AnyArray, most: int, total: int) -> pl.DataFrame:
    words = np.array([word for _, word in RARITY])
    limits = np.array([limit for limit, _ in RARITY])
    kinds = np.searchsorted(limits, shares, side="right").clip(0, len(RARITY) - 1)
    patterns, counts = (
        np.unique(kinds, axis=0, return_counts=True) if len(kinds) else (kinds, np.zeros(0, int))
    )
    # the rarest patterns first, then the largest groups
    order: list[int] = np.lexsort((-counts, patterns.sum(axis=1)))[:most].tolist() if len(patterns) else []
    rows = [
        {
            "pattern": ", ".join(f"{n} {w}" for n, w in zip(used, words[patterns[i]], strict=True)),
            "combinations": int(counts[i]),
            "per cent": 100 * int(counts[i]) / total,
        }
        for i in order
    ]
    return pl.DataFrame(rows, schema={"pattern": pl.String, "combinations": pl.Int64, "per cent": pl.Float64})


def _revealed(
    pair: Pair,
    used: Sequence[str],
    codes: Callable[[str], AnyArray],
    hit: AnyArray,
    shares: AnyArray,
    most: int,
    grouped: bool,
) -> pl.DataFrame:
    order = np.argsort(shares.prod(axis=1), kind="stable")[:most]
    columns = {
        name: [
            str(pair.categories(name, grouped).original.labels[c]) for c in codes(name)[hit][order].tolist()
        ]
        for name in used
    }
    return pl.DataFrame(columns | {"expected share": shares.prod(axis=1)[order]})


@dataclass(frozen=True)
class RiskPage:
    """One page for a release board; ``tables`` names the results whose tables are shown too.

    ``not_measured`` says which figures these files cannot carry (a single column cannot be linked), and why.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 20, "age": list(range(40)), "ill": ["yes", "no", "no", "no"] * 10}
    >>> page = risk_page(Pair(data, data, keys=["sex", "age"], targets=["ill"]))
    >>> page.results["replicated-uniques"].value
    100.0
    >>> "not trusted" in page.to_markdown()
    True
    """

    intruder: str
    knows: tuple[str, ...]
    wants: tuple[str, ...]
    results: dict[str, Result]
    exposed: Result | None
    cannot_be_read: tuple[str, ...]
    tables: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()

    @property
    def shown_tables(self) -> dict[str, pl.DataFrame]:
        """Tables to be printed under the figures, by name."""
        found = {name: self.results[name].shown for name in self.tables}
        return {name: table for name, table in found.items() if table is not None}

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "intruder": self.intruder,
            "knows": list(self.knows),
            "wants": list(self.wants),
            "results": {name: result.to_dict() for name, result in self.results.items()},
            "exposed": self.exposed.to_dict() if self.exposed is not None else None,
            "cannot_be_read": list(self.cannot_be_read),
            "not_measured": list(self.not_measured),
            "context": list(CONTEXT),
        }

    def to_markdown(self) -> str:
        """The page as text."""
        lines = [
            "# Disclosure risk",
            "",
            _line(self.intruder),
            "",
            "| figure | value | beside it |",
            "|---|---|---|",
        ]
        for name, result in self.results.items():
            title = result.info.title if result.info else _cell(name)
            lines.append(f"| {title} | {result.told} | {result.beside} |")
        lines += ["", *(f"- {_line(result.sentence)}" for result in self.results.values())]
        for name, table in self.shown_tables.items():
            lines += ["", f"## {_line(name)}", "", *_markdown(table)]
        if self.cannot_be_read:
            lines += ["", "## What cannot be read without a holdout", ""]
            lines += [f"- {name}" for name in self.cannot_be_read]
        if self.not_measured:
            lines += ["", "## Not measured", "", *(f"- {_line(why)}" for why in self.not_measured)]
        if self.exposed is not None and self.exposed.shown is not None:
            said = _line(self.exposed.sentence)
            lines += ["", "## Most exposed", "", said, "", *_markdown(self.exposed.shown)]
        lines += ["", "## What the figures do not know", "", *(f"- {question}" for question in CONTEXT)]
        return "\n".join(lines) + "\n"


def _markdown(table: pl.DataFrame) -> list[str]:
    rows = [f"| {' | '.join(_cell(x) for x in row)} |" for row in table.rows()]
    return [f"| {' | '.join(map(_cell, table.columns))} |", f"|{'---|' * len(table.columns)}", *rows]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return figure(value)
    return "" if value is None else _line(str(value).replace("|", "\\|"))


def _line(text: str) -> str:
    """Text on one line: a column's name may hold line ends, which would end a paragraph or a row."""
    return " ".join(text.split())


def risk_page(
    pair: Pair,
    measures: Sequence[str] | None = None,
    *,
    attacks: bool = False,
    further: bool = False,
    grouped: bool = False,
    reveal: bool = False,
    records: bool = False,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    progress: Callable[[str], None] | None = None,
) -> RiskPage:
    """Measure and put together the risk page.

    Parameters
    ----------
    measures
        Names of risk measures; default: the cheap ones.
    attacks
        Run the attacks too (seconds to minutes).
    further
        Add second looks: whole unique records, apparent matches, what is news in DiSCO, sets of keys, tables, special
        uniques, isolation gain, shared neighbours.
    grouped
        Group numeric keys and targets by the pair's grouping; otherwise every number is a category.
    reveal
        List the most exposed combinations by value.
    records
        Let results hold one row per record too (confidential, not on the page).
    options
        Options of single measures, by name: ``{"membership-density": {"margins": 1}}``. They are measured too.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 20, "age": list(range(40)), "ill": ["yes", "no", "no", "no"] * 10}
    >>> page = risk_page(Pair(data, data, keys=["sex", "age"], targets=["ill"]), ["disco"], records=True)
    >>> page.results["disco"].value, page.results["disco"].records.height
    (100.0, 40)
    """
    infos = [m.info for m in MEASURES.values() if m.info.family == "risk"]
    unasked = [*(ATTACKS if attacks else ()), *(masked_measures() if pair.lens is not None else ())]
    usual = [info.name for info in infos if info.default or info.name in unasked]
    given = {full_name(name): own for name, own in (options or {}).items()}
    chosen = chosen_measures(measures if measures is not None else usual, given)
    for other in (m.info for m in chosen if m.info.family != "risk"):
        raise OptionError(
            f"{other.name!r} is about {other.family}; this page holds risk, 'evaluate' has both"
        )
    wanted = {name: True for name, on in (("records", records), ("grouped", grouped)) if on}
    asked = {*map(full_name, measures or ()), *given}
    steps = _steps(pair, chosen, asked, given, wanted)
    more = further_looks(pair, grouped, records, attacks) if further else {}
    results, refused = _tried(steps | more, asked, progress)
    untold = [m.info.title for m in chosen if "holdout" in m.lacks(pair)]
    return RiskPage(
        _intruder(pair, grouped),
        tuple(pair.keys),
        tuple(pair.targets),
        results,
        exposed_combinations(pair, reveal=reveal, grouped=grouped) if pair.keys else None,
        _cannot_be_read(results, untold) if pair.holdout is None or pair.doubt else (),
        tuple(name for name in more if name.startswith(TABLES) and name in results),
        refused,
    )


def _steps(
    pair: Pair,
    chosen: Sequence[Measure[...]],
    asked: Set[str],
    options: Mapping[str, Mapping[str, Any]],
    wanted: Mapping[str, bool],
) -> dict[str, Callable[[], Result]]:
    """Calls of measures by name; ``wanted`` are options of the page that a measure may have or not."""
    steps: dict[str, Callable[[], Result]] = {}
    for measure in chosen:
        own = options.get(measure.info.name, {})
        lacking = measure.lacks(pair, own)
        # a figure that was asked for is never left out in silence: without a holdout the page says so
        if "holdout" in lacking or (lacking and measure.info.name not in asked):
            continue
        extra = {name: on for name, on in wanted.items() if name in measure.options}
        steps[measure.info.name] = partial(measure, pair, **{**extra, **own})
    return steps


def _tried(
    steps: Mapping[str, Callable[[], Result]], asked: Set[str], progress: Callable[[str], None] | None
) -> tuple[dict[str, Result], tuple[str, ...]]:
    """Results by name, and why others could not be had; what was asked for by name raises instead."""
    results, refused = {}, []
    for name, step in steps.items():
        if progress is not None:
            progress(name)
        try:
            results[name] = step()
        except DaleniusError as error:
            if name in asked:
                raise
            refused.append(f"{name}: {error}")
    return results, tuple(refused)


def _cannot_be_read(results: Mapping[str, Result], untold: Sequence[str]) -> tuple[str, ...]:
    """Titles of figures that mean nothing without a holdout, or were not measured for want of one."""
    unreadable = [r.info.title if r.info else name for name, r in results.items() if not r.trusted]
    return (*(f"{title}: not trusted" for title in unreadable), *(f"{t}: not measured" for t in untold))


def _intruder(pair: Pair, grouped: bool) -> str:
    known = ", ".join(pair.keys) or "nothing that was named (name keys)"
    wanted = ", ".join(pair.targets) or "nothing that was named (name targets)"
    text = (
        f"The intruder has the protected file ({pair.protected.rows:,} records) and nothing else, takes it for real, "
        f"knows of some people in the original ({pair.original.rows:,} records): {known}; and wants to learn: {wanted}."
    )
    if grouped:
        text += " Numbers among these are known in groups."
    if pair.units.column is not None:
        text += f" Figures count units of protection (column {pair.units.column}), not rows."
    if pair.holdout is None:
        text += " There is no holdout, so it cannot be told what is leaked and what is general knowledge."
    else:
        text += f" {pair.holdout.rows:,} people who are not in the data show what is general knowledge."
        text += f" {pair.doubt}" if pair.doubt else ""
    return text
