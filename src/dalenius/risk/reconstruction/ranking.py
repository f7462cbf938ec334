"""What a ranking of rebuilt records is worth: matches beside how common the matched people are.

The attackers' measure (Dick et al. 2023) and the audit of Sánchez et al. (2024), both, without taking sides: a high
match rate among common people endangers nobody, and a rare person who is ranked high does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.result import WHOLE, Result

Ints = npt.NDArray[np.int64]
Score = Literal["frequency", "presence", "copies"]
TOPS = (1, 10, 20, 100, 1000, 10_000)


def prototypes(codes: Ints) -> tuple[Ints, Ints]:
    """Distinct records and how often each occurs."""
    found, counts = np.unique(codes, axis=0, return_counts=True)
    return found, counts


def prototype_profile(codes: Ints) -> dict[str, float]:
    """How common the people of a file are among themselves; no attack is needed for this.

    Examples
    --------
    >>> toy = np.array([[0], [0], [0], [1], [1], [2], [3]])
    >>> prototype_profile(toy)["unique records %"], prototype_profile(toy)["unique prototypes %"]
    (28.571428571428573, 50.0)
    """
    _, counts = prototypes(codes)
    n, k, alone = max(len(codes), 1), max(len(counts), 1), int((counts == 1).sum())
    return {
        "records": float(len(codes)),
        "prototypes": float(len(counts)),
        "unique records %": 100 * alone / n,
        "unique prototypes %": 100 * alone / k,
        "largest multiplicity": float(counts.max(initial=0)),
        "mean bound of pointing at the right one %": 100 * len(counts) / n,
    }


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """Every record that is real or was rebuilt, with how often it is either.

    Attributes
    ----------
    records
        Codes; in the score ``copies`` with the number of the copy as a last column.
    real
        How many people of the file have the record.
    score
        How often it was rebuilt, as the score counts.
    """

    records: Ints
    real: Ints
    score: Ints
    rebuilt_rows: int

    @classmethod
    def of(cls, data: Ints, runs: Sequence[Ints], score: Score = "frequency") -> Ranking:
        """Rank what was rebuilt in several runs against the real file."""
        if score not in ("frequency", "presence", "copies"):
            raise OptionError("score must be frequency, presence or copies")
        truth = _with_copies(data) if score == "copies" else data
        parts = [_with_copies(run) if score == "copies" else run for run in runs]
        if score == "presence":
            parts = [np.unique(part, axis=0) for part in parts]
        drawn = np.concatenate(parts) if parts else truth[:0]
        found, place = np.unique(np.concatenate([truth, drawn]), axis=0, return_inverse=True)
        place = np.asarray(place).ravel()
        real = np.bincount(place[: len(truth)], minlength=len(found))
        times = np.bincount(place[len(truth) :], minlength=len(found))
        return cls(found, real, times, len(drawn))

    def top(self, k: int) -> Any:
        """Places of the k records ranked highest; ties by the record itself."""
        order = np.lexsort((np.arange(len(self.score)), -self.score))
        return order[: min(k, int((self.score > 0).sum()))]

    def match_rates(self, tops: Sequence[int] = TOPS) -> pl.DataFrame:
        """For the records ranked highest: how many are real, and how common those are.

        Examples
        --------
        >>> ranking = Ranking(np.arange(3)[:, None], np.array([5, 1, 0]), np.array([9, 0, 2]), 11)
        >>> ranking.match_rates([1, 2]).rows()
        [(1, 1.0, 5.0, 5, 0.2), (2, 0.5, 2.5, 0, 0.4)]
        """
        lines = []
        for k in sorted({min(k, int((self.score > 0).sum())) for k in tops} - {0}):
            real = self.real[self.top(k)]
            known = real[real > 0]
            bound = float(1 / np.median(real)) if np.median(real) > 0 else 1.0
            lines.append((k, len(known) / k, float(np.median(real)), int(real.min()), bound))
        names = ["top", "real", "median people", "fewest people", "1 / median"]
        return pl.DataFrame(lines, schema=names, orient="row")


def _with_copies(codes: Ints) -> Ints:
    """Each record with the number of its copy, so that the second of two equal people is another candidate."""
    order = np.lexsort(codes.T[::-1])
    held = codes[order]
    new = (
        np.concatenate([[True], (held[1:] != held[:-1]).any(axis=1)]) if len(held) else np.zeros(0, np.bool_)
    )
    first = (
        np.maximum.accumulate(np.where(new, np.arange(len(held)), 0)) if len(held) else np.zeros(0, np.int64)
    )
    return np.column_stack([held, np.arange(len(held)) - first])


def audit_ranking(ranking: Ranking) -> Result:
    """Six measures of what a ranking gives away, and the match rate the attackers quote.

    The figure is the share of people who are alone with their record among the records ranked highest (as many as the
    file has such people).

    Examples
    --------
    >>> toy = Ranking(np.arange(7)[:, None], np.array([3, 2, 1, 1, 0, 0, 0]), np.array([20, 5, 1, 0, 1, 2, 3]), 32)
    >>> found = audit_ranking(toy)
    >>> round(found.values["correlation"], 4), found.values["invented %"], found.values["missed %"]
    (0.9592, 75.0, 25.0)
    """
    real, score = ranking.real, ranking.score
    mine = real > 0
    count = max(int(mine.sum()), 1)
    values = {
        "correlation": _correlation(real[mine], score[mine]),
        "rank correlation": _spearman(real[mine], score[mine]),
    }
    for most in (1, 2, 3):
        seen = (score >= 1) & (score <= most)
        hit = seen & (real == most)
        values[f"rare for rare {most} %"] = 100 * float(hit.sum()) / max(int(seen.sum()), 1)
        values[f"rare for rare {most}, weighted %"] = (
            100 * float(score[hit].sum()) / max(int(score[seen].sum()), 1)
        )
    invented, missed = (score > 0) & ~mine, mine & (score == 0)
    values |= shares_of_counts(count, int(invented.sum()), int(missed.sum()))
    values["invented rows %"] = 100 * float(score[invented].sum()) / max(ranking.rebuilt_rows, 1)
    values["people missed"] = float(real[missed].sum())
    values["rebuilt"] = float((score > 0).sum())
    rates = ranking.match_rates()
    alone = real == 1
    top = ranking.top(max(int(alone.sum()), 1))
    vulnerable = 100 * float(alone[top].sum()) / max(int(alone.sum()), 1)
    values["top 20 real %"] = 100 * float((real[ranking.top(20)] > 0).mean()) if len(top) else 0.0
    common = float(np.median(real[ranking.top(20)])) if len(top) else 0.0
    sentence = (
        f"{values['top 20 real %']:.0f} % of the twenty records ranked highest are real; half of these have "
        f"{common:.0f} or more people. For every 100 real kinds of record {values['invented %']:.0f} invented ones "
        f"appear. Of the people who are alone with their record, {vulnerable:.0f} % are among as many ranked highest."
    )
    if not mine.any() or not (real == 1).any():
        sentence += " Nobody in the file is alone with his record: a match points at no single person."
    return Result("ranked-uniques", vulnerable, sentence, unit="%", values=values, table=rates, counts=WHOLE)


def shares_of_counts(prototypes: int, invented: int, missed: int) -> dict[str, float]:
    """Invented and missed records, per hundred kinds of real ones.

    Examples
    --------
    >>> {name: round(share, 2) for name, share in shares_of_counts(12_092, 85_033, 239).items()}
    {'invented %': 703.22, 'missed %': 1.98}
    """
    return {"invented %": 100 * invented / max(prototypes, 1), "missed %": 100 * missed / max(prototypes, 1)}


def _correlation(first: Any, second: Any) -> float:
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def _spearman(first: Any, second: Any) -> float:
    one, two = (pl.Series(side).rank().to_numpy() for side in (first, second))
    return _correlation(one, two)


def attribute_test(
    data: Ints, rebuilt: Ints, public: Sequence[int], confidential: Sequence[int], *, exhaustive: bool
) -> Result:
    """Would a secret follow for a known person? Three conditions, each measured (Sánchez et al. 2024, section 5).

    The file must leave no choice and cover the population (``exhaustive``, which the caller states), and the rebuilt
    records must leave no choice. The figure is the share of people for whom all hold and the rebuilt value is right.

    Examples
    --------
    >>> people = np.array([[0, 0], [0, 0], [1, 0], [1, 1]])
    >>> attribute_test(people, people, [0], [1], exhaustive=True).value
    50.0
    """
    real, known = ({"k": _joined(x, public), "t": _joined(x, confidential)} for x in (data, rebuilt))
    mine, theirs = pl.DataFrame(real), pl.DataFrame(known)
    own = mine.group_by("k").agg(pl.col("t").n_unique().alias("own"))
    other = theirs.group_by("k").agg(pl.col("t").n_unique().alias("there"), pl.col("t").first().alias("said"))
    people = mine.join(own, on="k").join(other, on="k", how="left")
    single, seen = people["own"] == 1, people["there"].is_not_null()
    sure = (people["there"] == 1).fill_null(False)
    right = sure & (people["said"] == people["t"]).fill_null(False)
    n = max(people.height, 1)
    values = {
        "the file leaves no choice %": 100 * float(single.sum()) / n,
        "rebuilt at all %": 100 * float(seen.sum()) / n,
        "the rebuilt records leave no choice %": 100 * float(sure.sum()) / n,
        "and are right %": 100 * float(right.sum()) / n,
        "both leave no choice and are right %": 100 * float((right & single).sum()) / n,
        "mean values per known person": float(other["there"].mean() or 0.0),  # type: ignore[arg-type]
    }
    value = values["both leave no choice and are right %"]
    condition = "" if exhaustive else " if the file covers everybody, which was not stated"
    sentence = f"For {value:.1f} % of the people a secret would follow{condition}."
    return Result("rebuilt-attribute", value, sentence, unit="%", values=values, trusted=exhaustive)


def _joined(codes: Ints, columns: Sequence[int]) -> list[str]:
    return [",".join(map(str, row)) for row in codes[:, list(columns)].tolist()]
