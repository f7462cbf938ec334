"""Files without a desk: tables in a folder looked at by their own figures only. Weaker, and it says so.

Without the data nobody can count people behind a mean or see who dominates; small counts, sums that give a missing cell
away and differences between tables of the same layout can be seen.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import DaleniusError, FileError, counted
from dalenius.outputs.between_files import (
    MOST_NAMED,
    Beside,
    Key,
    Laid,
    dimensions,
    in_words,
    listed,
    shown_cells,
    with_others,
)
from dalenius.outputs.checks import ORDER, Verdict, file_type
from dalenius.outputs.policy import Policy
from dalenius.outputs.query import Floats
from dalenius.outputs.sheets import ENDINGS, Sheet, data_behind, sheets_of
from dalenius.published.nullspace import computable_cells

MOST_INNER = 20_000
"""Cells of a table that is searched for missing ones that follow."""
WEAKER = "Checked without the data: people behind the figures were not counted. A pass here is a review."


@dataclass
class FileFinding:
    """What was seen in one file.

    Attributes
    ----------
    status
        "fail" where something was seen, "review" otherwise: without the data nothing passes.
    """

    file: str
    status: Verdict = "review"
    seen: list[str] = field(default_factory=list)

    def fault(self, text: str) -> None:
        """Write down something that should not leave."""
        self.status = ORDER[2]
        self.seen.append(text)


def check_folder(folder: str | Path, policy: Policy | None = None) -> list[FileFinding]:
    r"""Look at every file of a folder.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> _ = (place / "t.csv").write_text("region,f,m\nN,30,4\nS,25,28\n")
    >>> [(f.file, f.status, f.seen) for f in check_folder(place)]
    [('t.csv', 'fail', ['1 count below 10'])]
    """
    place, limits = Path(folder), policy or Policy()
    if not place.exists():
        raise FileError(f"{place}: there is no such folder or file")
    files = sorted(p for p in place.rglob("*") if p.is_file()) if place.is_dir() else [place]
    found, laid = [], []
    for path in files:
        finding = FileFinding(str(path.relative_to(place)) if place.is_dir() else path.name)
        found.append(finding)
        blocked = file_type(path.name, limits)
        if blocked:
            finding.fault(blocked)
        elif path.suffix.lower() in ENDINGS:
            laid += [(finding, Laid.of(sheet)) for sheet in _read(path, finding)]
        else:
            finding.seen.append("not a table; a person looks at it")
    for finding, table in laid:
        _alone(finding, table, limits)
    _between(laid, limits)
    return found


def _alone(finding: FileFinding, table: Laid, policy: Policy) -> None:
    sheet, where = table.sheet, _where(finding, table)
    finding.seen += [where + remark for remark in sheet.remarks]
    if sheet.others:
        finding.seen.append(
            f"{where}figures that are no counts; how many people stand behind them is not known"
        )
    if not sheet.names:
        return
    columns, counts, totals = table.columns, table.counts, table.totals
    inner = counts[~np.logical_or.reduce([np.isin(labels, totals) for labels in columns.values()])]
    few = int(((inner > 0) & (inner < policy.threshold)).sum())
    if few:
        finding.fault(f"{where}{few} {'count' if few == 1 else 'counts'} below {policy.threshold}")
    if policy.zeros and bool((inner == 0).any()):
        finding.fault(f"{where}empty cells: nobody of the row is there")
    follow = following(columns, counts, totals)
    if follow:
        finding.fault(f"{where}{_follow(follow)} from what is shown")


def _where(finding: FileFinding, table: Laid) -> str:
    """Which table of a file is meant, where it has several."""
    own = table.sheet.name.removeprefix(finding.file).removeprefix(", ")
    return f"{own}: " if own else ""


def _follow(cells: int) -> str:
    return f"{counted(cells, 'missing cell')} {'follows' if cells == 1 else 'follow'}"


def _between(laid: Sequence[tuple[FileFinding, Laid]], policy: Policy) -> None:
    """Differences between tables, and what is withheld in one and follows beside others."""
    laid = [(finding, table) for finding, table in laid if table.sheet.names]
    tables = [table for _, table in laid]
    known = dimensions(tables)
    told = [shown_cells(table, names) for table, names in zip(tables, known, strict=True)]
    agree: list[list[int]] = [[] for _ in tables]
    for i, j in combinations(range(len(tables)), 2):
        pair = Beside.of(told[i], told[j], policy.threshold)
        agree[i] += [j] if pair.agree else []
        agree[j] += [i] if pair.agree else []
        for own, other in ((i, j), (j, i)):
            finding, name = laid[own][0], tables[other].sheet.name
            where, words = (
                _where(finding, tables[own]),
                f"differs by fewer than {policy.threshold} from {name}",
            )
            if pair.few:
                finding.fault(f"{where}{words}: {in_words(pair.few, tables[own], known[own])}")
            elif pair.totals:
                finding.seen.append(f"{where}its total {words}")
    for own, others in enumerate(agree):
        if others and np.isnan(tables[own].counts).any():
            _beside_others(laid[own][0], own, others, (tables, known, told))


def _beside_others(
    finding: FileFinding, own: int, others: Sequence[int],
    held: tuple[Sequence[Laid], Sequence[Mapping[str, int]], Sequence[Mapping[Key, float]]],
) -> None:  # fmt: skip
    """What a table withholds and other tables of the same people give away."""
    tables, known, told = held
    table = tables[own]
    more = {key: count for other in others for key, count in told[other].items() if key not in told[own]}
    wide = with_others(table, known[own], more.items())
    follow = following(wide.columns, wide.counts, wide.totals)
    if follow > following(table.columns, table.counts, table.totals):
        names = listed([tables[other].sheet.name for other in others[:MOST_NAMED]], len(others))
        finding.fault(f"{_where(finding, table)}{_follow(follow)} from what is shown here and in {names}")


def following(columns: Mapping[str, Sequence[str]], counts: Floats, totals: Sequence[str]) -> int:
    """How many missing cells of a table follow from the others, through whatever rows and columns.

    Examples
    --------
    >>> columns = {"g": ["a", "b", "All"] * 3, "c": ["x"] * 3 + ["y"] * 3 + ["All"] * 3}
    >>> gaps = np.array([np.nan, np.nan, 40, np.nan, 25, 60, 45, 55, 100])
    >>> following(columns, gaps, ["All"])  # b by its column, then a by its rows
    3
    """
    gaps = np.isnan(counts)
    codes = [np.unique(np.asarray(labels), return_inverse=True) for labels in columns.values()]
    summed = [np.isin(levels, totals) for levels, _ in codes]
    place = [code.ravel() for _, code in codes]
    if not gaps.any() or not any(mask[code].any() for mask, code in zip(summed, place, strict=True)):
        return 0
    whole = [np.flatnonzero(~mask) for mask in summed]
    if math.prod(map(len, whole)) > MOST_INNER:
        return 0
    inner = np.stack(np.meshgrid(*whole, indexing="ij")).reshape(len(place), -1)
    covers = np.ones((inner.shape[1], len(counts)), np.bool_)
    for own, mask, code in zip(inner, summed, place, strict=True):
        covers &= mask[code][None, :] | (own[:, None] == code[None, :])
    matrix = sp.csc_matrix(covers.astype(np.int64))
    return int((computable_cells(matrix, ~gaps) & gaps & covers.any(axis=0)).sum())


def _read(path: Path, finding: FileFinding) -> list[Sheet]:
    try:
        sheets = sheets_of(path, finding.file)
        behind = data_behind(path)
    except (DaleniusError, OSError, ValueError, csv.Error) as error:
        finding.fault(f"cannot be read ({type(error).__name__}); a person looks at it")
        return []
    if behind:
        finding.fault(f"{behind} may hold data that no table shows; a person looks at it")
    if not sheets:
        finding.seen.append("no figures that can be read; a person looks at it")
    return sheets
