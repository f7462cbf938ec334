"""What a file made from outputs gives away about a column, when all other columns are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dalenius.synth.outputs.making import MadeFromOutputs, make_from_outputs


@dataclass(frozen=True)
class Attribution:
    """Correct attribution where the released file leaves (nearly) no choice.

    ``rate`` is the share of matched records whose value is right, NaN without a match; ``of_all`` the same of all
    records; ``baseline`` guessing by the distribution; ``calibrated`` the rate with the baseline taken off.
    """

    matches: int
    correct: int
    records: int
    baseline: float

    @property
    def rate(self) -> float:
        """Correct of the matched."""
        return self.correct / self.matches if self.matches else float("nan")

    @property
    def of_all(self) -> float:
        """Correct of all."""
        return self.correct / max(self.records, 1)

    @property
    def calibrated(self) -> float:
        """What is left above the baseline."""
        return (self.rate - self.baseline) / (1 - self.baseline)


def tcap(
    source: Any, released: Any, keys: Sequence[str], target: str, *, tau: float = 1.0, most: int | None = None
) -> Attribution:
    """Targeted correct attribution probability (Taub et al. 2018), by records of the source.

    Parameters
    ----------
    tau
        Share the commonest value must have among released rows with the same keys.
    most
        Look only at records of the source whose keys at most so many records have: 1 for those who are alone.

    Examples
    --------
    >>> source = {"a": list("xxxyyz"), "b": list("112121"), "t": list("YNYNNY")}
    >>> released = {"a": list("xxxyyy"), "b": list("112112"), "t": list("YYNNYN")}
    >>> found = tcap(source, released, ["a", "b"], "t")
    >>> found.matches, found.rate, round(found.of_all, 4), found.baseline, found.calibrated
    (4, 0.5, 0.3333, 0.5, 0.0)
    """
    real, made = (x if isinstance(x, pl.DataFrame) else pl.DataFrame(x) for x in (source, released))
    by = list(keys)
    counts = made.group_by([*by, target]).len().sort("len", *by, target, descending=True)
    classes = counts.group_by(by, maintain_order=True).agg(
        pl.col(target).first().alias("__said"), (pl.col("len").first() / pl.col("len").sum()).alias("__share")
    )
    sure = classes.filter(pl.col("__share") >= tau - 1e-12)
    people = real if most is None else real.filter(pl.len().over(by) <= most)
    matched = people.join(sure, on=by, how="inner")
    shares = real[target].value_counts()["count"].cast(pl.Float64) / max(real.height, 1)
    correct = int((matched[target] == matched["__said"]).sum())
    return Attribution(matched.height, correct, people.height, float((shares**2).sum()))


def risk_from_outputs(made: MadeFromOutputs, *, files: int = 3, seed: int = 1000) -> pl.DataFrame:
    """Risk without the original: how well this file gives away each column of fresh files made from the same outputs.

    What is above the baseline follows from the published outputs, not from any person's record.
    """
    names = [v.name for v in made.meta.variables]
    own, lines = made.frame(), []
    others = [make_from_outputs(made.meta, made.targets, seed=seed + k).frame() for k in range(files)]
    for target in names:
        keys = [name for name in names if name != target]
        rates = [tcap(other, own, keys, target) for other in others]
        matches, correct = sum(f.matches for f in rates), sum(f.correct for f in rates)
        rate = correct / matches if matches else float("nan")
        lines.append((target, rate, rates[0].baseline))
    return pl.DataFrame(lines, schema=["column", "right", "baseline"], orient="row")
