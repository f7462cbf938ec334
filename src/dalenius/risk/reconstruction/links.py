"""Links between rebuilt people and an outside file with names: strict, agency-style, and what chance gives.

All are shown side by side, because they answer different questions (Muralidhar and Ruggles 2024; Abowd et al. 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError, no_column
from dalenius.core.random import generator
from dalenius.core.result import WHOLE, Result

Style = Literal["pid_match", "provable", "true_link"]


def _frame(data: Any, needed: Sequence[str]) -> pl.DataFrame:
    frame = data if isinstance(data, pl.DataFrame) else pl.DataFrame(data)
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise OptionError(no_column(missing, frame.columns))
    return frame


def unique_share(people: Any, keys: Sequence[str]) -> float:
    """Share of people who are alone with their combination of keys: no more links than these can be shown to be right.

    Examples
    --------
    >>> unique_share({"block": ["A", "A", "B"], "sex": ["f", "f", "f"]}, ["block", "sex"])
    0.3333333333333333
    """
    frame = _frame(people, keys)
    sizes = frame.group_by(list(keys)).len()["len"]
    return float((sizes == 1).sum()) / max(frame.height, 1)


@dataclass(frozen=True, eq=False, repr=False)
class Putative:
    """Rebuilt people with the name that was put to each; confidential.

    ``frame`` has the rebuilt rows with ``pid`` (empty without a link), ``n_rec`` and ``n_ext`` (people with these keys
    in either file) and ``is_unique``.
    """

    frame: pl.DataFrame
    keys: tuple[str, ...]

    @property
    def rate(self) -> float:
        """Links per rebuilt person."""
        return float(self.frame["pid"].is_not_null().sum()) / max(self.frame.height, 1)

    @property
    def random_share(self) -> float:
        """Share of the links that were drawn among several people."""
        linked = self.frame.filter(pl.col("pid").is_not_null())
        return float((~linked["is_unique"]).sum()) / max(linked.height, 1)


def putative(
    rebuilt: Any,
    external: Any,
    keys: Sequence[str],
    *,
    pid: str = "pid",
    rule: Literal["all", "unique"] = "all",
    coverage: float = 1.0,
    key_error_rate: float = 0.0,
    seed: int = 1,
) -> Putative:
    """Put names to rebuilt people by the keys they share with an outside file.

    Parameters
    ----------
    rule
        ``all`` draws among several candidates, each used once (as the agency did); ``unique`` links only people who
        are alone with their keys in both files.
    coverage, key_error_rate
        Share of the outside file the intruder holds, and share of its rows whose keys are wrong (exchanged within
        the file).

    Examples
    --------
    >>> ten = {"block": ["A"] * 10, "sex": ["f"] * 10}
    >>> named = {**ten, "pid": list(range(10))}
    >>> putative(ten, named, ["block", "sex"]).rate, putative(ten, named, ["block", "sex"], rule="unique").rate
    (1.0, 0.0)
    """
    for name, value in (("coverage", coverage), ("key_error_rate", key_error_rate)):
        if not 0 <= value <= 1:
            raise OptionError(f"{name} must lie between 0 and 1")
    by = list(keys)
    people = _frame(rebuilt, by).with_row_index("__row")
    known = _outside(
        _frame(external, [*by, pid]).select(*by, pl.col(pid).alias("pid")), by, coverage, key_error_rate, seed
    )
    people = people.with_columns(
        pl.len().over(by).alias("n_rec"), pl.int_range(pl.len()).over(by).alias("__turn")
    )
    known = known.with_columns(pl.int_range(pl.len()).over(by).alias("__turn"))
    sizes = known.group_by(by).len().rename({"len": "n_ext"})
    found = people.join(known, on=[*by, "__turn"], how="left", nulls_equal=True)
    found = found.join(sizes, on=by, how="left", nulls_equal=True).with_columns(pl.col("n_ext").fill_null(0))
    found = found.with_columns(((pl.col("n_rec") == 1) & (pl.col("n_ext") == 1)).alias("is_unique"))
    if rule == "unique":
        found = found.with_columns(pl.when("is_unique").then("pid").alias("pid"))
    return Putative(found.sort("__row").drop("__row", "__turn"), tuple(by))


def _outside(known: pl.DataFrame, by: list[str], coverage: float, errors: float, seed: int) -> pl.DataFrame:
    """The outside file as the intruder has it: part of it, in random order, some keys exchanged."""
    rng = generator(seed, "outside file")
    kept = known[rng.permutation(known.height)[: round(coverage * known.height)].tolist()]
    wrong = np.flatnonzero(rng.random(kept.height) < errors)
    order = np.arange(kept.height)
    order[wrong] = wrong[rng.permutation(len(wrong))]
    return pl.concat([kept.select(by)[order.tolist()], kept.select("pid")], how="horizontal")


def confirm(
    links: Putative, truth: Any, attributes: Sequence[str], *, pid: str = "pid", style: Style = "pid_match",
    origin: str | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Which links hold: the rows of the links with ``confirmed``, and the rates of the two ways of counting.

    ``pid_match`` asks whether some true person with this name has these keys and attributes; ``provable`` also that he
    is alone with his keys; ``true_link`` (test data only) whether the name is that of the person the row stands for,
    in column ``origin``.

    Examples
    --------
    >>> ten = {"block": ["A"] * 10, "sex": ["f"] * 10, "race": ["w"] * 10}
    >>> named = {**ten, "pid": list(range(10))}
    >>> links = putative(ten, named, ["block", "sex"])
    >>> [confirm(links, named, ["race"], style=style)["confirmed"].sum() for style in ("pid_match", "provable")]
    [10, 0]
    """
    on = [*links.keys, *attributes]
    if style == "true_link":
        if origin is None:
            raise OptionError("true_link needs the column that says whom each rebuilt row stands for: origin")
        return links.frame.with_columns((pl.col("pid") == pl.col(origin)).fill_null(False).alias("confirmed"))
    real = (
        _frame(truth, [*on, pid])
        .select(*on, pl.col(pid).alias("pid"), pl.lit(True).alias("confirmed"))
        .unique()
    )
    found = links.frame.join(real, on=[*on, "pid"], how="left", maintain_order="left")
    found = found.with_columns(pl.col("confirmed").fill_null(False))
    if style == "provable":
        found = found.with_columns((pl.col("confirmed") & pl.col("is_unique")).alias("confirmed"))
    return found


def expected_rates(people: Any, keys: Sequence[str], attributes: Sequence[str]) -> dict[str, float]:
    """What linking would give if the outside file and the truth were the rebuilt people themselves, in closed form.

    Examples
    --------
    >>> ten = {"block": ["A"] * 10, "sex": ["f"] * 10, "race": ["w"] * 10}
    >>> expected_rates(ten, ["block", "sex"], ["race"])
    {'provable': 0.0, 'true links': 0.1, 'agency-style confirmed': 1.0}
    """
    frame = _frame(people, [*keys, *attributes])
    n = max(frame.height, 1)
    cells = frame.group_by(list(keys)).len()
    fine = frame.group_by([*keys, *attributes]).len().rename({"len": "c"}).join(cells, on=list(keys))
    agency = float((fine["c"].cast(pl.Float64) ** 2 / fine["len"]).sum()) / n
    return {
        "provable": unique_share(frame, keys),
        "true links": cells.height / n,
        "agency-style confirmed": agency,
    }


def guessers(people: Any, area: str, attributes: Sequence[str]) -> dict[str, float]:
    """How often somebody is right who knows the areas' distributions and nothing about anybody.

    The modal guesser says the commonest combination of the area, the proportional one draws from its distribution.

    Examples
    --------
    >>> guessers({"block": ["A"] * 4, "race": ["w", "w", "w", "b"]}, "block", ["race"])
    {'modal guesser': 0.75, 'proportional guesser': 0.625}
    """
    frame = _frame(people, [area, *attributes])
    counts = frame.group_by([area, *attributes]).len().rename({"len": "c"})
    areas = counts.group_by(area).agg(pl.col("c").sum().alias("n"), pl.col("c").max().alias("top"))
    held = counts.join(areas, on=area)
    n = max(frame.height, 1)
    square = float((held["c"].cast(pl.Float64) ** 2 / held["n"]).sum()) / n
    return {"modal guesser": float(areas["top"].sum()) / n, "proportional guesser": square}


def non_modal(people: Any, area: str, attributes: Sequence[str]) -> pl.Series:
    """Who differs from the commonest combination of his area: the people a modal guesser never finds."""
    frame = _frame(people, [area, *attributes]).with_row_index("__row")
    by = [area, *attributes]
    sized = frame.with_columns(pl.len().over(by).alias("c")).with_columns(
        pl.col("c").max().over(area).alias("top")
    )
    modes = sized.filter(pl.col("c") == pl.col("top")).sort(by).group_by(area, maintain_order=True).first()
    on = sized.join(modes.select(*by, pl.lit(True).alias("modal")), on=by, how="left").sort("__row")
    return ~on["modal"].fill_null(False)


def reidentification(
    rebuilt: Any,
    external: Any,
    truth: Any,
    *,
    area: str,
    keys: Sequence[str],
    attributes: Sequence[str],
    pid: str = "pid",
    coverage: float = 1.0,
    key_error_rate: float = 0.0,
    seed: int = 1,
) -> Result:
    """All rates side by side: agency-style, strict, the baselines, and what is left above the best of them.

    The figure is the excess: the share of links that are confirmed, minus what the best guesser reaches who knows no
    rebuilt attribute.

    Examples
    --------
    >>> ten = {"block": ["A"] * 10, "sex": ["f"] * 10, "race": ["w"] * 10}
    >>> found = reidentification(ten, {**ten, "pid": list(range(10))}, {**ten, "pid": list(range(10))},
    ...                          area="block", keys=["sex"], attributes=["race"])
    >>> found.value, found.values["confirmed, agency-style"], found.values["confirmed, provable"]
    (0.0, 100.0, 0.0)
    """
    by = [area, *(k for k in keys if k != area)]
    people = _frame(rebuilt, [*by, *attributes])
    links = putative(
        people, external, by, pid=pid, coverage=coverage, key_error_rate=key_error_rate, seed=seed
    )
    agency = confirm(links, truth, attributes, pid=pid)
    strict = confirm(links, truth, attributes, pid=pid, style="provable")
    linked = max(int(links.frame["pid"].is_not_null().sum()), 1)
    precision = 100 * float(agency["confirmed"].sum()) / linked
    base = {name: 100 * value for name, value in guessers(truth, area, attributes).items()}
    rare = non_modal(people, area, attributes)
    rare_rate = (
        100
        * float((agency["confirmed"] & rare).sum())
        / max(int((links.frame["pid"].is_not_null() & rare).sum()), 1)
    )
    n = max(people.height, 1)
    values = {
        "putative links": 100 * links.rate,
        "drawn among several": 100 * links.random_share,
        "confirmed, agency-style": 100 * float(agency["confirmed"].sum()) / n,
        "confirmed of the links": precision,
        "confirmed, provable": 100 * float(strict["confirmed"].sum()) / n,
        "confirmed among non-modal people": rare_rate,
        "confirmed by name alone": 100.0 * coverage,
        **base,
    }
    best = max(base.values())
    excess = precision - best
    table = pl.DataFrame({"rate": list(values), "%": list(values.values())})
    sentence = (
        f"{precision:.1f} % of the links are confirmed as the agency counts, {values['confirmed, provable']:.1f} % of "
        f"the people provably; guessing the commonest value of the area is right for {best:.1f} %, so that the "
        f"rebuilt file adds {excess:.1f} points."
    )
    return Result(
        "reidentification-excess", excess, sentence, unit="%", values=values, yardsticks={"baseline": best},
        table=table, counts=WHOLE,
    )  # fmt: skip
