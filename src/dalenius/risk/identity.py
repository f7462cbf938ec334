"""Identity disclosure: who is single on the keys, and is still single in the protected file.

*Keys* are columns an intruder may know about a person. A record is *unique* when nobody shares its combination of keys.
Definitions: Raab 2024, section 3.2, with its misprints corrected; all in per cent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dalenius.core.compared import compared
from dalenius.core.option import one_of
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.match import Match
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray
from dalenius.risk.needs import compared_columns


def uniques(
    pair: Pair, keys: Sequence[str], grouped: bool = False, denominator: str = "original"
) -> dict[str, float]:
    """UiO, UiS, UiOiS and repU on some keys.

    ``denominator="synthetic"`` divides repU and UiOiS by the protected rows instead of the original's units.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y", "y"]}, {"a": ["x", "y", "z"]})
    >>> {k: round(v, 1) for k, v in uniques(pair, ["a"]).items()}
    {'UiO': 33.3, 'UiS': 100.0, 'UiOiS': 33.3, 'repU': 33.3}
    """
    one_of("denominator", denominator, ("original", "synthetic"))
    figures = pair.match(keys, grouped).figures
    if denominator == "synthetic":
        scale = pair.units.count / pair.protected.rows
        figures |= {name: figures[name] * scale for name in ("UiOiS", "repU")}
    return figures


@measure(
    name="replicated-uniques",
    covered=True,
    title="Replicated uniques (repU)",
    family="risk",
    dimension="singling out",
    meaning="Share of original records that are unique on the keys and meet exactly one protected record with "
    "those keys.",
    better="lower",
    bounds=(0, 100),
    unit="%",
    reference="Raab 2024, section 3; synthpop: disclosure",
    needs=frozenset({"keys"}),
)
def replicated_uniques(
    pair: Pair, keys: Sequence[str] | None = None, grouped: bool = False, records: bool = False
) -> Result:
    """Share of original records unique on the keys in both files.

    Parameters
    ----------
    keys
        Columns the intruder knows; default: the pair's keys.
    grouped
        Group numeric keys by the pair's grouping; otherwise every value is a category.
    records
        Give one row per original record too (confidential).

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y", "y"]}, {"a": ["x", "y", "z"]}, keys=["a"])
    >>> print(replicated_uniques(pair))
    replicated-uniques = 33.3 % [4.96, 82.7] (original 33.3 %): 33.3 % of the original records are unique on 1 key
    (a), and 33.3 % are still matched by exactly one protected record: an intruder who finds them may believe he has
    found the person.
    """
    used = list(keys) if keys is not None else pair.keys
    match, units = pair.match(used, grouped), pair.units
    figures = match.figures
    told = compared(
        match.inside(match.single_in_both), match.outside(match.single_outside * (match.protected == 1))
    )
    yardsticks = {"original": figures["UiO"]} | ({"holdout": told["outside"]} if "outside" in told else {})
    sentence = (
        f"{figure(figures['UiO'], '%')} of the original {units.noun} are unique on {len(used)} "
        f"{'key' if len(used) == 1 else 'keys'} ({', '.join(used)}), and {figure(figures['repU'], '%')} are still "
        "matched by exactly one protected record: an intruder who finds them may believe he has found the person."
    )
    return Result(
        name="replicated-uniques",
        value=figures["repU"],
        sentence=sentence,
        **told,
        yardsticks=yardsticks,
        values=figures,
        table=pl.DataFrame({"figure": list(figures), "per cent": list(figures.values())}),
        counts=WHOLE,
        records=_records(match) if records else None,
    )


def _records(match: Match) -> pl.DataFrame:
    at = match.groups.original
    return pl.DataFrame(
        {
            "row": np.arange(len(at)),
            "same_keys_original": match.original[at],
            "same_keys_protected": match.protected[at],
            "unique_original": match.single[at],
            "replicated_unique": match.single_in_both[at],
        }
    )


@dataclass(frozen=True, eq=False, repr=False)
class ReplicatedRows:
    """Protected rows that repeat a unique original, and the four-line table that goes with them.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y", "y"]}, {"a": ["x", "y", "z"]})
    >>> replicated_rows(pair, ["a"]).kept.to_frame()
    {'a': ['y', 'z']}
    """

    kept: Table
    replicated: BoolArray
    unique_in_original: BoolArray
    table: pl.DataFrame


def replicated_rows(
    pair: Pair,
    keys: Sequence[str] | None = None,
    grouped: bool = False,
    also_uniques_in_original: bool = False,
) -> ReplicatedRows:
    """Find, and leave out, protected rows unique on the keys that match a unique original (synthpop's remedy).

    With ``also_uniques_in_original`` every protected unique whose keys occur in the original goes too.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y", "y"]}, {"a": ["x", "y", "z"]})
    >>> replicated_rows(pair, ["a"]).table["number"].to_list()
    [1, 3, 2, 1]
    """
    used = list(keys) if keys is not None else pair.keys
    match = pair.match(used, grouped)
    d, s, rows = match.original, match.protected, match.groups.protected
    replicated = match.single_in_both[rows]
    present = ((d > 0) & (s == 1))[rows]
    n, k = pair.units.count, pair.protected.rows
    counts = [
        np.count_nonzero(match.single),
        np.count_nonzero(s == 1),
        np.count_nonzero(present),
        np.count_nonzero(replicated),
    ]
    totals = [n, k, n, n]
    table = pl.DataFrame(
        {
            "": [
                "unique in original",
                "unique in protected",
                "protected uniques in original",
                "replicated uniques",
            ],
            "number": [int(c) for c in counts],
            "of": totals,
            "per cent": [100 * int(c) / t for c, t in zip(counts, totals, strict=True)],
        }
    )
    gone = present if also_uniques_in_original else replicated
    return ReplicatedRows(pair.protected.take(~gone), replicated, present, table)


@measure(
    name="unique-matches",
    title="Unique rows copied whole",
    family="risk",
    dimension="copying",
    meaning="Per cent of original rows that nobody else shares and that the protected file has in every column.",
    better="lower",
    bounds=(0, 100),
    reference="NIST SDNIST: unique exact matches; Francis 2024",
    unit="%",
    default=False,
)
def unique_exact_matches(pair: Pair, columns: Sequence[str] | None = None, records: bool = False) -> Result:
    """Unique original records found whole in the protected file (SDNist; Francis 2024).

    Not a risk by itself: a file with few columns has such matches by chance, so the holdout's rate stands beside it.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y", "y"], "b": [1, 2, 2]}, {"a": ["x", "z"], "b": [1, 2]})
    >>> found = unique_exact_matches(pair)
    >>> round(found.value, 1), found.values["matches"], found.values["uniques"]
    (33.3, 1.0, 1.0)
    """
    used = list(columns) if columns is not None else compared_columns(pair)
    match, units = pair.match(used), pair.units
    at = match.groups.original
    unique, whole = match.single[at], (match.single & (match.protected > 0))[at]
    value, alone = units.share(whole), units.share(unique)
    there = match.protected > 0
    told = compared(match.inside(match.single & there), match.outside(match.single_outside * there))
    yardsticks = {"original": alone} | ({"holdout": told["outside"]} if "outside" in told else {})
    return Result(
        name="unique-matches",
        value=value,
        sentence=f"{figure(value, '%')} of the original {units.noun} are unique on "
        f"{f'all {len(used)} columns' if columns is None else ', '.join(used)} and "
        f"occur whole in the protected file{_beside(yardsticks)}.",
        **told,
        yardsticks=yardsticks,
        values={
            "matches": float(units.any(whole).sum()),
            "uniques": float(units.any(unique).sum()),
            "of all": value,
            "of uniques": 100 * value / alone if alone else float("nan"),
        },
        trusted=pair.holdout is not None or value > 0,
        records=pl.DataFrame({"row": np.arange(len(whole)), "unique": unique, "found_whole": whole})
        if records
        else None,
    )


def _beside(yardsticks: dict[str, float]) -> str:
    if "holdout" not in yardsticks:
        return "; without a holdout it cannot be told how many would by chance"
    return f"; of people who are not in the data, {figure(yardsticks['holdout'], '%')} do"
