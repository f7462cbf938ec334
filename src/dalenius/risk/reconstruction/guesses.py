"""`guess`: records ranked by how often they come back when a file is rebuilt from what is published.

A guess, and never more: beside it stand what is proved of each record and how often such guesses are right, in the true
file where somebody has it, and otherwise as far as proofs say.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.core.random import generator
from dalenius.core.result import WHOLE, Result
from dalenius.data.table import Table
from dalenius.published import Fit
from dalenius.published.arrays import Ints
from dalenius.published.keeping import Kept, fingerprint
from dalenius.risk.reconstruction.projection import rebuild
from dalenius.risk.reconstruction.ranking import Ranking
from dalenius.risk.reconstruction.workload import Workload, encoded

TOP = 20


@dataclass(frozen=True, eq=False, repr=False)
class Guesses:
    """Ranked records and what they are worth.

    Attributes
    ----------
    frame
        Records in words, the ones that came back most often first, with ``times``, the bounds of their count, and
        ``people`` where the true file is known; confidential.
    result
        The share of those ranked highest that are real, beside what drawing each column on its own reaches.
    """

    frame: pl.DataFrame
    result: Result

    def __repr__(self) -> str:
        return self.result.sentence


def guess(
    found: Fit, *, truth: Any = None, reference: Any = None, runs: int = 20, rows: int = 200, steps: int = 300,
    seed: int = 1, keep: Path | None = None,
) -> Guesses:  # fmt: skip
    """Rebuild the file several times and rank what comes back (Dick et al. 2023).

    Parameters
    ----------
    truth
        The true file, by which guesses are judged.
    reference
        A public sample of other people to start from, instead of at random; it decides how many ``rows`` there are.
    runs, rows, steps
        Rebuilt files, distributions that make up each, and steps of the descent.
    keep
        A private folder where finished runs are kept, so that an attack that was killed goes on to the same bytes.

    Examples
    --------
    >>> from dalenius.published import Published, fit
    >>> people = {"sex": ["f", "m"] * 10, "town": ["A", "A", "B", "B"] * 5}
    >>> guess(fit(Published.count(people, [["sex", "town"]])), runs=2, rows=20, steps=50).result.value
    100.0
    """
    if found.solution is None or not found.people:
        raise DataError("nobody can be ranked: no whole-number table with people in it is known")
    work = Workload.from_published(found.published, found.people)
    known = None if reference is None else _codes(found, reference)
    options: dict[str, Any] = {"rows": rows, "steps": steps, "seed": seed}
    marked = options if known is None else {**options, "reference": known.tolist()}
    kept = _Runs(keep, fingerprint(found.published, **marked)) if keep else None
    made = rebuild(
        work, runs=runs, start="random" if known is None else "baseline", reference=known, **options,
        done=kept.load(runs) if kept else None, after=kept.save if kept else None,
    )  # fmt: skip
    data = None if truth is None else _codes(found, truth)
    ranking = Ranking.of(
        np.zeros((0, len(found.published.columns)), np.int64) if data is None else data, made
    )
    order = ranking.top(len(ranking.score))
    low, high = _bounds(found, ranking.records[order])
    shown = {
        name: [values[c] for c in ranking.records[order, j].tolist()]
        for j, (name, values) in enumerate(found.published.domains.items())
    }
    facts = {"times": ranking.score[order], "low": low, "high": high}
    frame = pl.DataFrame({**shown, **facts, **({} if data is None else {"people": ranking.real[order]})})
    result = _judged(frame, found, runs, data, seed)
    if kept:
        kept.drop(runs)
    return Guesses(frame, result)


class _Runs:
    """Finished runs, one file each."""

    def __init__(self, folder: Path, mark: str) -> None:
        self.folder, self.mark = folder, mark

    def _one(self, run: int) -> Kept:
        return Kept(self.folder / f"guess-{run}.npz", self.mark)

    def load(self, runs: int) -> dict[int, Ints]:
        held = {run: self._one(run).load() for run in range(runs)}
        return {run: found["codes"] for run, found in held.items() if found is not None}

    def save(self, run: int, codes: Ints) -> None:
        self._one(run).save(codes=codes)

    def drop(self, runs: int) -> None:
        for run in range(runs):
            self._one(run).drop()


def _codes(found: Fit, truth: Any) -> Ints:
    table = Table.from_frame(truth)
    missing = [name for name in found.published.columns if name not in table]
    if missing:
        raise OptionError(no_column(missing, table.names))
    return encoded(table, list(found.published.columns), found.published.domains)[0]


def _bounds(found: Fit, records: Ints) -> tuple[Ints, Ints]:
    """Bounds of the count of each record; one that is not possible has nobody."""
    cells = found.system.cells
    both, place = np.unique(np.concatenate([cells, records]), axis=0, return_inverse=True)
    place = np.asarray(place).ravel()
    low, high = np.zeros(len(both), np.int64), np.zeros(len(both), np.int64)
    low[place[: len(cells)]], high[place[: len(cells)]] = found.low, found.high
    at = place[len(cells) :]
    return low[at], high[at]


def _judged(frame: pl.DataFrame, found: Fit, runs: int, data: Ints | None, seed: int) -> Result:
    top = frame.head(TOP)
    count = max(top.height, 1)
    sure, never = (100 * float(mask.sum()) / count for mask in (top["low"] > 0, top["high"] == 0))
    values = {"certainly there %": sure, "certainly not there %": never}
    plain = _plain_guess(found, runs, seed)
    low, _ = _bounds(found, plain)
    if data is None:
        sentence = (
            f"Of the {top.height} records ranked highest {sure:.0f} % are certainly real and {never:.0f} % certainly "
            "invented"
            + ("; how often the others are right, only the true file can say." if sure + never < 100 else ".")
        )
        base = 100 * float((low > 0).mean()) if len(plain) else 0.0
        return Result("ranked-real", sure, sentence, "%", values=values, yardsticks={"columns alone": base},
                      trusted=False, table=None, counts=WHOLE)  # fmt: skip
    real = 100 * float((top["people"] > 0).sum()) / count
    held = top.filter(pl.col("people") > 0)["people"]
    base = 100 * float(np.mean([(data == row).all(axis=1).any() for row in plain])) if len(plain) else 0.0
    half = values["people with such a record, median"] = (
        float(np.median(held.to_numpy())) if len(held) else 0.0
    )
    sentence = (
        f"{real:.0f} % of the {top.height} records ranked highest are real, where drawing each column on its own "
        f"reaches {base:.0f} %; half of the real ones have {half:.0f} or more people."
    )
    return Result(
        "ranked-real", real, sentence, "%", values=values, yardsticks={"columns alone": base}, counts=WHOLE
    )


def _plain_guess(found: Fit, runs: int, seed: int) -> Ints:
    """The commonest records of files in which every column is drawn on its own: what anybody can guess."""
    assert found.solution is not None
    rng = generator(seed, "columns alone")
    size = found.people * runs
    columns = []
    for j, values in enumerate(found.published.domains.values()):
        shares = np.bincount(found.system.cells[:, j], weights=found.solution, minlength=len(values))
        columns.append(rng.choice(len(values), size, p=shares / shares.sum()))
    drawn, times = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    return np.asarray(drawn[np.argsort(-times, kind="stable")[:TOP]], np.int64)
