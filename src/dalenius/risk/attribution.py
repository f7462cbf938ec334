"""Attribute disclosure: whose secret can be read off the protected file.

*Targets* are columns that would hurt if learnt. A combination of keys is *disclosive* in a file when all its records
there share one target value. DiSCO counts the original records whose keys are disclosive in the protected file and
whose true value is the one found there. Definitions: Raab 2024, section 3.3; all in per cent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.compared import compared
from dalenius.core.errors import OptionError
from dalenius.core.intervals import Share
from dalenius.core.later import altair as alt
from dalenius.core.result import WHOLE, Result, figure
from dalenius.core.style import ORIGINAL, RISK
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray, IntArray
from dalenius.risk.needs import chosen_targets
from dalenius.risk.tabular.by_unit import holdout_cells
from dalenius.risk.tabular.cells import Cells
from dalenius.risk.tabular.disclosure import Disclosure, disclosure, specific_risk
from dalenius.risk.tabular.exclusions import AnyExclusions, exclusions_by_target
from dalenius.risk.tabular.figures import NONE, ratio

FIGURES = ("Dorig", "Dsyn", "iS", "DiS", "DiSCO", "DiSDiO")
COMPARATOR = {
    "DiSCO": "Dorig",
    "DiSDiO": "Dorig",
    "dcap": "CAPd",
    "tcap_found": "CAPd",
    "tcap_disclosive": "CAPd",
}


@measure(
    name="disco",
    covered=True,
    title="Disclosive in synthetic, correct in original (DiSCO)",
    family="risk",
    dimension="attribution",
    meaning="Share of original records whose target value an intruder who knows the keys would read off correctly "
    "(worst target).",
    better="lower",
    bounds=(0, 100),
    unit="%",
    reference="Raab 2024, section 4; synthpop: disclosure",
    needs=frozenset({"keys", "targets"}),
)
def disco(
    pair: Pair,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    grouped: bool = False,
    exclusions: AnyExclusions = NONE,
    records: bool = False,
) -> Result:
    """DiSCO for every target; the value is that of the worst one.

    Parameters
    ----------
    exclusions
        Disclosures to leave out because they carry no news: for all targets, or by target. Plain data will do:
        ``{"diagnosis": {"target_levels": ["none"]}}``.

    Examples
    --------
    >>> pair = Pair(
    ...     {"k": ["a", "a", "b"], "t": [1, 1, 2]}, {"k": ["a", "b", "b"], "t": [1, 2, 2]},
    ...     keys=["k"], targets=["t"],
    ... )
    >>> disco(pair).value
    100.0
    """
    known = list(keys) if keys is not None else pair.keys
    wanted = chosen_targets(pair, targets)
    units = pair.units
    out = exclusions_by_target(exclusions, wanted)
    by_target = {t: disclosure(pair, t, known, exclusions=out[t], grouped=grouped) for t in wanted}
    sides = {t: disco_shares(pair, d) for t, d in by_target.items()}
    table = worst_first([_row(t, d, *sides[t]) for t, d in by_target.items()], "DiSCO")
    worst = table.row(0, named=True)
    has_holdout = pair.holdout is not None
    yardsticks = {"original": worst["Dorig"]} | ({"holdout": worst["holdout"]} if has_holdout else {})
    return Result(
        name="disco",
        value=worst["DiSCO"],
        sentence=_sentence(worst, units.noun, len(known), len(wanted), pair.real) + _remarks(by_target),
        **compared(*sides[worst["target"]], len(wanted)),
        yardsticks=yardsticks,
        values={row["target"]: row["DiSCO"] for row in table.to_dicts()},
        table=table if has_holdout else table.drop("holdout", "added", "specific"),
        counts=WHOLE,
        chart=lambda: multi_target_chart(table.rename({"Dorig": "original", "DiSCO": "protected"})),
        records=by_target[worst["target"]].records() if records else None,
    )


def disco_shares(pair: Pair, disclosed: Disclosure) -> tuple[Share, Share | None]:
    """DiSCO of people in the data and outside it; people with the same keys stand or fall together."""
    cells, view = disclosed.cells, disclosed.cells.holdout_view()
    flags = cells.pure_s & (disclosed.exclusions.reason(cells, cells.d) == 0)
    inside = _share(pair.units, flags[cells.cell_of_row], cells.groups.original)
    if cells.groups.holdout is None:
        return inside, None
    flags = cells.pure_s & (disclosed.exclusions.reason(view, view.d) == 0)
    return inside, _share(pair.holdout_units, flags[holdout_cells(pair, cells)], cells.groups.holdout)


def dcap_shares(pair: Pair, disclosed: Disclosure) -> tuple[Share, Share | None]:
    """DCAP of people in the data and outside it."""
    cells, view = disclosed.cells, disclosed.cells.holdout_view()
    chances = ratio(cells.s, cells.s_q)
    kept = chances * (disclosed.exclusions.reason(cells, cells.d) == 0)
    inside = _share(pair.units, kept[cells.cell_of_row], cells.groups.original)
    if cells.groups.holdout is None:
        return inside, None
    kept = chances * (disclosed.exclusions.reason(view, view.d) == 0)
    return inside, _share(pair.holdout_units, kept[holdout_cells(pair, cells)], cells.groups.holdout)


def _share(units: Units, scores: AnyArray, groups: IntArray) -> Share:
    return Share.of(units.most(scores.astype(float)), units.first(groups))


def worst_first(rows: Sequence[Mapping[str, Any]], level: str) -> pl.DataFrame:
    """Targets by what the file adds for people in the data, without a holdout by level.

    A value that nearly everybody has is read off for nearly everybody, inside and outside: that target is no leak and
    must not hide one that is.

    Examples
    --------
    >>> rows = [{"t": "a", "x": 100.0, "holdout": 100.0}, {"t": "b", "x": 14.5, "holdout": 2.2}]
    >>> worst_first(rows, "x")["t"].to_list()
    ['b', 'a']
    """
    table = pl.DataFrame(rows, schema_overrides={"holdout": pl.Float64})
    place = table.columns.index("holdout") + 1
    table = table.insert_column(place, (table[level] - table["holdout"]).alias("added"))
    return table.sort("added", level, descending=True, nulls_last=True)


def _row(target: str, disclosed: Disclosure, inside: Share, outside: Share | None) -> dict[str, Any]:
    figures = disclosed.attribute
    return {
        "target": target,
        **{name: figures[name] for name in FIGURES},
        "dcap": disclosed.caps["dcap"],
        "CAPd": disclosed.caps["CAPd"],
        "holdout": 100 * outside.value if outside is not None else None,
        "specific": 100 * specific_risk(inside.value, outside.value) if outside is not None else None,
        "checks": disclosed.flag,
    }


def _sentence(worst: dict[str, Any], noun: str, keys: int, targets: int, real: str) -> str:
    by = "by what the file adds" if worst["holdout"] is not None else "by level"
    among = f"worst of {targets} targets {by}" if targets > 1 else "the target"
    text = (
        f"For {figure(worst['DiSCO'], '%')} of the original {noun}, somebody who knows the {keys} keys would read "
        f"the true value of {worst['target']!r} ({among}) off the protected file; in {real} it would be "
        f"{figure(worst['Dorig'], '%')}."
    )
    if worst["checks"]:
        text += f" The {worst['checks']} say that part of it is what anybody would have guessed."
    return text + _beside(worst["holdout"])


def _beside(outside: float | None) -> str:
    if outside is None:
        return " Without a holdout it cannot be told how much of this is general knowledge."
    return (
        f" For people who are not in the data the same reading succeeds for {figure(outside, '%')}: that much is "
        "general knowledge, not a leak."
    )


def _remarks(by_target: Mapping[str, Disclosure]) -> str:
    """What a reader must know about the figures: disclosures left out, and keys that cannot tell anything."""
    left_out = {target: one.exclusions.in_words() for target, one in by_target.items()}
    alike = len(set(left_out.values())) == 1
    words = [w if alike else f"{w} of {t!r}" for t, w in left_out.items() if w][: 1 if alike else None]
    text = f" Left out as no news: {'; '.join(words)} (shares are still of everybody)." if words else ""
    warnings = dict.fromkeys(warning for one in by_target.values() for warning in one.warnings)
    return text + "".join(f" Note that {warning}." for warning in warnings)


def multi_target(
    pair: Pair,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    *,
    attribute: str = "DiSCO",
    exclusions: AnyExclusions = NONE,
    grouped: bool = False,
    compat: Any = None,
) -> pl.DataFrame:
    """One row per target, sorted by the protected file's figure: original, protected, and which checks fired.

    `multi_target_chart` draws it.

    Parameters
    ----------
    targets
        Default: the pair's targets, or every compared column that is not a key.
    attribute
        "DiSCO", "DiSDiO", "dcap", "tcap_found" or "tcap_disclosive".
    exclusions
        Disclosures to leave out: for all targets, or by target.

    Examples
    --------
    >>> pair = Pair({"k": [1, 2], "a": [1, 2], "b": [1, 1]}, {"k": [1, 1], "a": [1, 2], "b": [1, 1]})
    >>> multi_target(pair, ["k"]).select("target", "original", "protected").rows()
    [('a', 100.0, 0.0), ('b', 100.0, 50.0)]
    """
    if attribute not in COMPARATOR:
        raise OptionError(f"unknown attribute measure {attribute!r}; use one of {', '.join(COMPARATOR)}")
    known = list(keys) if keys is not None else pair.keys
    others = [c for c in pair.columns if c not in known]
    wanted = chosen_targets(pair, targets if targets is not None else pair.targets or others)
    out, rows = exclusions_by_target(exclusions, wanted), []
    for target in wanted:
        disclosed = disclosure(pair, target, known, exclusions=out[target], grouped=grouped, compat=compat)
        figures = {**disclosed.attribute, **disclosed.caps}
        rows.append(
            {
                "target": target,
                "original": figures[COMPARATOR[attribute]],
                "protected": figures[attribute],
                **{name: disclosed.identity[name] for name in ("UiO", "UiOiS", "repU")},
                "one_way": disclosed.one_way is not None,
                "two_way_pairs": disclosed.two_way.height,
                "checks": disclosed.flag,
            }
        )
    return pl.DataFrame(rows).sort("protected", maintain_order=True)


def multi_target_of_several(
    original: Any,
    syntheses: Sequence[Any],
    keys: Sequence[str],
    targets: Sequence[str] | None = None,
    **options: Any,
) -> pl.DataFrame:
    """`multi_target` of m syntheses of one original: figures are means over the syntheses (Raab 2024).

    Identity figures are means too; synthpop takes them from the first synthesis. ``smallest`` and ``largest`` are the
    range of the protected figure; a check counts when it fired in any synthesis.

    Examples
    --------
    >>> original = {"k": ["a", "b", "c"], "t": ["x", "y", "x"]}
    >>> other = {"k": ["a", "b", "d"], "t": ["x", "x", "x"]}
    >>> found = multi_target_of_several(original, [original, other], ["k"])
    >>> [round(v, 1) for v in found.select("protected", "smallest", "largest", "repU").row(0)]
    [66.7, 33.3, 100.0, 83.3]
    """
    if not syntheses:
        raise OptionError("there is no synthesis to measure; give at least one")
    first = Pair(original, syntheses[0], keys=keys, targets=targets)
    pairs = [first, *(first.swap_in(other) for other in syntheses[1:])]
    several = pl.concat([multi_target(pair, keys, targets, **options) for pair in pairs])
    figures = ("original", "protected", "UiO", "UiOiS", "repU")
    means = several.group_by("target", maintain_order=True).agg(
        pl.col(*figures).mean(),
        pl.col("protected").min().alias("smallest"),
        pl.col("protected").max().alias("largest"),
        pl.col("one_way").any(),
        pl.col("two_way_pairs").max(),
        pl.col("checks").sort_by(pl.col("checks").str.len_chars()).last(),
    )
    return means.sort("protected", maintain_order=True)


def multi_target_chart(table: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw the table of `multi_target`: one line per target, a mark for the original, another for the protected file.

    The highest is at the top; the label says which checks fired.

    Examples
    --------
    >>> pair = Pair({"k": [1, 2], "a": [1, 2], "b": [1, 1]}, {"k": [1, 1], "a": [1, 2], "b": [1, 1]})
    >>> multi_target_chart(multi_target(pair, ["k"], attribute="dcap")).to_dict()["layer"][0]["mark"]["type"]
    'rule'
    """
    checks = pl.when(pl.col("checks") != "").then(" (" + pl.col("checks") + ")").otherwise(pl.lit(""))
    renamed = table.sort("protected", descending=True).select(
        (pl.col("target") + checks).alias("target"), "original", "protected"
    )
    order = renamed["target"].to_list()
    y = alt.Y("target:N", sort=order, title=None)
    x = alt.X("original:Q", title="% of original records", scale=alt.Scale(domain=[0, 100]))
    base = alt.Chart(renamed.to_arrow()).properties(width=420, height=max(60, 24 * len(order)))
    line = base.mark_rule(color="#9AA5B1").encode(x=x, x2=alt.X2("protected:Q"), y=y)
    first = base.mark_point(color=ORIGINAL, filled=False, size=60).encode(
        x=x, y=y, tooltip=[alt.Tooltip("target"), alt.Tooltip("original")]
    )
    second = base.mark_point(color=RISK, filled=True, size=60).encode(
        x=alt.X("protected:Q"), y=y, tooltip=[alt.Tooltip("target"), alt.Tooltip("protected")]
    )
    return alt.layer(line, first, second)


@measure(
    name="dcap",
    covered=True,
    title="Correct attribution probability (DCAP)",
    family="risk",
    dimension="attribution",
    meaning="Chance that a protected record drawn among those with a person's keys has the person's target value "
    "(worst target; absent keys count 0).",
    better="lower",
    bounds=(0, 100),
    unit="%",
    reference="Elliot 2015; Taub et al. 2018; Raab 2024, eq. 12",
    needs=frozenset({"keys", "targets"}),
    default=False,
)
def dcap(
    pair: Pair,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    grouped: bool = False,
    exclusions: AnyExclusions = NONE,
    records: bool = False,
) -> Result:
    """DCAP of every target, with the whole CAP family beside it in the table; the value is that of the worst target.

    Examples
    --------
    >>> original = {"k": ["a", "a", "b"], "t": [1, 1, 2]}
    >>> dcap(Pair(original, original, keys=["k"], targets=["t"])).value
    100.0
    """
    known = list(keys) if keys is not None else pair.keys
    wanted = chosen_targets(pair, targets)
    out = exclusions_by_target(exclusions, wanted)
    by_target = {t: disclosure(pair, t, known, exclusions=out[t], grouped=grouped) for t in wanted}
    sides = {t: dcap_shares(pair, one) for t, one in by_target.items()}
    rows = []
    for target, one in by_target.items():
        outside = sides[target][1]
        held = None if outside is None else 100 * outside.value
        rows.append({"target": target, **one.caps, "holdout": held, "checks": one.flag})
    table = worst_first(rows, "dcap")
    worst = table.row(0, named=True)
    units = pair.units
    yardsticks = {"original": worst["CAPd"], "margin only": worst["baseCAPd"]}
    if worst["holdout"] is not None:
        yardsticks["holdout"] = worst["holdout"]
    sentence = (
        f"Guessing {worst['target']!r} from a protected record with the same keys is right for "
        f"{figure(worst['dcap'], '%')} of the original {units.noun}; guessing from the margin alone for "
        f"{figure(worst['baseCAPd'], '%')}, from {pair.real} for {figure(worst['CAPd'], '%')}."
        + _beside(worst["holdout"])
    )
    return Result(
        name="dcap",
        value=worst["dcap"],
        sentence=sentence + _remarks(by_target),
        **compared(*sides[worst["target"]], len(wanted)),
        yardsticks=yardsticks,
        values={row["target"]: row["dcap"] for row in table.to_dicts()},
        table=table if pair.holdout is not None else table.drop("holdout", "added"),
        counts=WHOLE,
        chart=lambda: multi_target_chart(table.rename({"CAPd": "original", "dcap": "protected"})),
        records=_chances(by_target[worst["target"]].cells) if records else None,
    )


def _chances(cells: Cells) -> pl.DataFrame:
    """Chance of a right guess for each original record; confidential."""
    at = cells.cell_of_row
    chance = np.divide(cells.s, cells.s_q, out=np.zeros(len(cells.s)), where=cells.s_q > 0)
    return pl.DataFrame({"row": np.arange(len(at)), "chance": chance[at]})
