"""Exclusions: disclosures that carry no news may be left out, and are counted by reason.

A cell is left out of the sums, never out of the decision whether a key combination is disclosive, so that leaving
something out cannot make anything else look pure; denominators stay whole (Raab 2024, section 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError, names
from dalenius.data.encode import level_key
from dalenius.data.vector import AnyArray
from dalenius.risk.tabular.cells import Cells, gap_codes

REASONS = ("excluded target", "missing target", "missing in keys", "set to exclude", "over denom_lim")


@dataclass(frozen=True)
class Exclusions:
    """What to leave out of attribute disclosure.

    Attributes
    ----------
    target_levels
        Target values whose disclosure is no news (for example "none" for a diagnosis).
    missing_target, missing_keys
        Leave out cells whose target is missing, or whose key is: all keys, or the ones named.
    pairs
        Triples (key, key level, target level): everybody knows that a child is single.
    denom_lim
        Leave out cells of more than so many records.

    Examples
    --------
    >>> Exclusions(denom_lim=0)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: denom_lim is 0; it must be a whole number of 1 or more
    """

    target_levels: Sequence[Any] = ()
    missing_target: bool = False
    missing_keys: bool | Sequence[str] = False
    pairs: Sequence[tuple[str, Any, Any]] = ()
    denom_lim: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.target_levels, str):  # one value, not its letters
            object.__setattr__(self, "target_levels", (self.target_levels,))
        limit = self.denom_lim
        if limit is not None and (limit < 1 or limit != int(limit)):
            raise OptionError(f"denom_lim is {limit}; it must be a whole number of 1 or more")

    @property
    def any(self) -> bool:
        """Whether anything is left out."""
        return bool(
            self.target_levels or self.missing_target or self.missing_keys or self.pairs or self.denom_lim
        )

    def in_words(self) -> str:
        """What is left out, in words that name no value; empty when nothing is.

        Examples
        --------
        >>> Exclusions(missing_target=True, denom_lim=5).in_words()
        'missing targets, cells of more than 5 records'
        """
        parts = {
            "named target values": self.target_levels,
            "missing targets": self.missing_target,
            "missing keys": self.missing_keys,
            "named pairs of key and target value": self.pairs,
            f"cells of more than {self.denom_lim} records": self.denom_lim,
        }
        return ", ".join(words for words, given in parts.items() if given)

    def reason(self, cells: Cells, counts: AnyArray, with_target: bool = True) -> AnyArray:
        """Say why each cell is left out of a table with these counts: 1 … 5 as in `REASONS`, or 0."""
        reasons = np.zeros(len(cells.level), np.int8)
        if with_target:
            self._mark(
                reasons,
                1,
                np.isin(cells.level, [_code(cells.labels, x, cells.target) for x in self.target_levels]),
            )
            if self.missing_target:
                self._mark(reasons, 2, np.isin(cells.level, gap_codes(cells.labels)))
        for key in self._keys_without_gaps(cells):
            at = cells.keys.index(key)
            missing = np.isin(cells.groups.codes(key), gap_codes(cells.key_labels[at]))
            self._mark(reasons, 3, missing[cells.group])
        if not with_target:
            return reasons
        for key, key_level, target_level in self.pairs:
            if key not in cells.keys:
                raise OptionError(
                    f"exclusion names {key!r}, which is not a key; keys are {names(cells.keys)}"
                )
            wanted = _code(cells.key_labels[cells.keys.index(key)], key_level, key)
            level = _code(cells.labels, target_level, cells.target)
            self._mark(reasons, 4, (cells.groups.codes(key) == wanted)[cells.group] & (cells.level == level))
        if self.denom_lim is not None:
            self._mark(reasons, 5, counts > self.denom_lim)
        return reasons

    @staticmethod
    def _mark(found: AnyArray, reason: int, hit: AnyArray) -> None:
        found[hit & (found == 0)] = reason

    def _keys_without_gaps(self, cells: Cells) -> Sequence[str]:
        if isinstance(self.missing_keys, bool):
            return cells.keys if self.missing_keys else ()
        absent = [key for key in self.missing_keys if key not in cells.keys]
        if absent:
            raise OptionError(
                f"exclusion names {names(absent)}, which is not a key; keys are {names(cells.keys)}"
            )
        return self.missing_keys


AnyExclusions = Exclusions | Mapping[str, Any]
"""Exclusions for all targets, or by target; both may be written as plain data (as on the command line)."""


def exclusions_by_target(given: AnyExclusions, targets: Sequence[str]) -> dict[str, Exclusions]:
    """Exclusions of each target: the same for all, or those given under its name.

    Examples
    --------
    >>> exclusions_by_target({"denom_lim": 5}, ["ill"])["ill"].denom_lim
    5
    >>> exclusions_by_target({"ill": {"target_levels": ["none"]}}, ["ill", "rich"])["rich"].any
    False
    """
    if isinstance(given, Exclusions) or set(given) <= {field.name for field in fields(Exclusions)}:
        return dict.fromkeys(targets, _exclusions(given))
    unknown = [name for name in given if name not in targets]
    if unknown:
        raise OptionError(
            f"exclusions name {names(unknown)}, which is neither a target nor a kind of exclusion; targets are "
            f"{names(targets)}"
        )
    return {target: _exclusions(given.get(target, {})) for target in targets}


def _exclusions(given: Any) -> Exclusions:
    if isinstance(given, Exclusions):
        return given
    kinds = [field.name for field in fields(Exclusions)]
    wrong = [name for name in given if name not in kinds] if isinstance(given, Mapping) else [given]
    if wrong:
        raise OptionError(f"there is no kind of exclusion {wrong[0]!r}; there are {', '.join(kinds)}")
    options: dict[str, Any] = dict(given)
    return Exclusions(**options)


def tally(cells: Cells, exclusions: Exclusions) -> pl.DataFrame:
    """Records that each exclusion took out of each table, and what remains."""
    tables = {
        "original": (cells.d, cells.d > 0),
        "synthetic": (cells.s, cells.s > 0),
        "Dorig": (cells.d, cells.pure_d),
        "Dsyn": (cells.s, cells.pure_s),
        "iS": (cells.d, cells.s_q > 0),
        "DiS": (cells.d, cells.believed),
        "DiSCO": (cells.d, cells.pure_s),
        "DiSDiO": (cells.d, cells.pure_s & cells.pure_d),
    }
    rows = []
    for name, (counts, inside) in tables.items():
        reason = exclusions.reason(cells, counts)
        sums = np.bincount(reason[inside], counts[inside], minlength=len(REASONS) + 1).astype(int).tolist()
        rows.append({"table": name, **dict(zip(REASONS, sums[1:], strict=True)), "remaining": sums[0]})
    return pl.DataFrame(rows)


def _code(labels: Sequence[Any], level: Any, column: str) -> int:
    wanted = level_key(level)
    for i, label in enumerate(labels):
        if label is level or level_key(label) == wanted or str(label) == str(level):
            return i
    raise OptionError(f"column {column!r} has no such level as the one to exclude; check its spelling")
