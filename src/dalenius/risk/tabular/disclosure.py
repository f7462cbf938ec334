"""`disclosure`: everything Raab 2024 asks about one target, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.option import one_of
from dalenius.counts.pair import Pair
from dalenius.risk.tabular.by_unit import attribute_by_unit, caps_by_unit
from dalenius.risk.tabular.cells import Cells, count_cells
from dalenius.risk.tabular.checks import one_way_check, two_way_check
from dalenius.risk.tabular.exclusions import REASONS, Exclusions, tally
from dalenius.risk.tabular.figures import NONE, attribute_figures, cap_figures, identity_figures

Compat = Literal["synthpop"] | None


@dataclass(frozen=True, eq=False)
class Disclosure:
    """Identity and attribute disclosure of one target, in per cent.

    This is a working object for the people who hold the original: `one_way`, `two_way` and `records` name original
    values. Reports are made from the figures only, and so is what is printed of it.

    Examples
    --------
    >>> original = {"k": ["a", "a", "b", "c"], "t": ["x", "x", "y", "x"]}
    >>> found = disclosure(Pair(original, original), "t", ["k"])
    >>> found.identity["repU"] == found.identity["UiO"], found.attribute["DiSCO"] == found.attribute["Dorig"]
    (True, True)
    """

    cells: Cells = field(repr=False)
    exclusions: Exclusions = field(repr=False)
    identity: dict[str, float]
    attribute: dict[str, float]
    caps: dict[str, float]
    one_way: dict[str, Any] | None = field(repr=False)
    two_way: pl.DataFrame = field(repr=False)
    warnings: tuple[str, ...]

    @property
    def tally(self) -> pl.DataFrame:
        """Records left out of each table, by reason."""
        return tally(self.cells, self.exclusions)

    @property
    def flag(self) -> str:
        """Suffix for a label: which checks fired."""
        fired = [
            word for word, hit in (("1", self.one_way is not None), ("2", self.two_way.height > 0)) if hit
        ]
        return f"{'&'.join(fired)}-way checks" if fired else ""

    def records(self) -> pl.DataFrame:
        """One row per original record; confidential, for the data holder's own eyes."""
        cells, at = self.cells, self.cells.cell_of_row
        best = np.full(len(cells.groups), -1, np.int64)
        best[cells.group[cells.pure_s]] = np.flatnonzero(cells.pure_s)
        guess = best[cells.group[at]]
        labels = np.array([str(label) for label in cells.labels], dtype=object)
        read = [labels[cells.level[g]] if g >= 0 else None for g in guess.tolist()]
        reason = self.exclusions.reason(cells, cells.d)[at]
        return pl.DataFrame(
            {
                "row": np.arange(len(at)),
                "same_keys_original": cells.d_q[at].astype(np.int64),
                "same_keys_protected": cells.s_q[at].astype(np.int64),
                "unique_original": cells.d_q[at] == 1,
                "unique_both": (cells.d_q[at] == 1) & (cells.s_q[at] == 1),
                "read_off": pl.Series(read, dtype=pl.String),
                "read_off_size": np.where(guess >= 0, cells.s[guess], 0),
                "correct": guess == at,
                "disclosive_in_original": cells.pure_d[at],
                "excluded": [REASONS[r - 1] if r else None for r in reason.tolist()],
            }
        )


def disclosure(
    pair: Pair,
    target: str,
    keys: Sequence[str] | None = None,
    *,
    exclusions: Exclusions = NONE,
    grouped: bool = False,
    denominator_basis: Literal["original", "synthetic"] = "original",
    one_way: tuple[float, float] = (50, 90),
    two_way: tuple[float, float] = (4, 80),
    compat: Compat = None,
) -> Disclosure:
    """Identity and attribute disclosure of one target.

    Parameters
    ----------
    exclusions
        Disclosures to leave out because they carry no news.
    grouped
        Group numeric keys and target by the pair's grouping; otherwise every value is a category.
    denominator_basis
        Count the size of disclosive cells in the original (what synthpop does) or in the protected file (what an
        intruder sees).
    one_way, two_way
        Thresholds (records, per cent) of the two checks.
    compat
        "synthpop" computes identity figures after exclusions, CAPs from proportions after exclusions, and counts
        rows even where the schema names a unit.

    Examples
    --------
    >>> gt = {"sex": list("MMFMFFFM"), "area": list("AAABBBBC"), "t": ["x", "x", "y", "y", "x", "x", "z", None]}
    >>> sd = {"sex": list("MMMFFFMM"), "area": list("AAAABBBD"), "t": list("xxxzxxyy")}
    >>> found = disclosure(Pair(gt, sd), "t", ["sex", "area"])
    >>> found.attribute["DiSCO"], found.identity["repU"]
    (62.5, 25.0)
    """
    if compat not in (None, "synthpop"):
        raise OptionError(f"unknown compat {compat!r}; use 'synthpop' or leave it out")
    one_of("denominator_basis", denominator_basis, ("original", "synthetic"))
    used = list(keys) if keys is not None else pair.keys
    cells = count_cells(pair, used, target, grouped)
    alike = compat == "synthpop"
    identity = identity_figures(cells, exclusions, alike)
    attribute = attribute_figures(cells, exclusions, denominator_basis)
    caps, units = cap_figures(cells, exclusions, alike), pair.units
    if units.codes is not None and not alike:
        identity |= pair.match(used, grouped).figures
        attribute |= attribute_by_unit(cells, units, exclusions)
        caps |= caps_by_unit(cells, units, exclusions)
    return Disclosure(
        cells=cells,
        exclusions=exclusions,
        identity=identity,
        attribute=attribute,
        caps=caps,
        one_way=one_way_check(cells, exclusions, one_way),
        two_way=two_way_check(cells, exclusions, two_way),
        warnings=tuple(_warnings(cells, identity, attribute)),
    )


def _warnings(cells: Cells, identity: dict[str, float], attribute: dict[str, float]) -> list[str]:
    warnings = []
    rows = int(cells.d.sum())
    if identity["UiO"] == 100 and rows > 1:
        warnings.append("every original record is unique on the keys; they are too fine to say anything")
    if attribute["iS"] < 5:
        warnings.append(
            "fewer than 5 % of the original records have their keys in the protected file; check the coding"
        )
    fine = [k for k, labels in zip(cells.keys, cells.key_labels, strict=True) if len(labels) > rows / 2 > 25]
    if fine:
        warnings.append(
            f"key {', '.join(map(repr, fine))} has more levels than half of the records; group it"
        )
    return warnings


def specific_risk(inside: float, outside: float) -> float:
    """Share of the risk that comes from being in the data: (inside - outside) / (1 - outside), as proportions.

    The same figure for people who are not in the data is taken as general knowledge. Negative when outsiders fare
    worse; NaN when they cannot.

    Examples
    --------
    >>> round(specific_risk(0.4928, 0.3130), 2)
    0.26
    """
    return (inside - outside) / (1 - outside) if outside < 1 else float("nan")
