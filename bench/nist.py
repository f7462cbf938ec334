"""NIST's benchmark (SDNIST, Francis 2024) measured with this package, beside the published figures.

Run: ``python bench/nist.py FOLDER [NAME …] [--baselines]`` (the last fits the model of targets with hundreds of values
too, which takes minutes). The folder holds ``national2019.csv`` (27,253 people of the American
Community Survey, public domain) and de-identified versions of it; see docs/utility.md. Nothing of it is ours to ship.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from dalenius.counts.pair import Pair
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.risk import apparent_matches, unique_exact_matches
from dalenius.utility import (
    association_table,
    broken_rows,
    group_scores,
    k_marginal_score,
    principal_components,
    slope_errors,
    univariate_errors,
)
from dalenius.utility.marginals import percentile_grouping, sampling_equivalent
from dalenius.utility.propensity import tree_propensity

NUMBERS = ("AGEP", "POVPIP", "PINCP", "PWGTP", "WGTP")
CORRELATED = (
    "PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "NOC", "NPF", "HOUSING_TYPE", "OWN_RENT", "DENSITY", "INDP_CAT",
    "EDU", "PINCP_DECILE", "DVET", "DREM", "DPHY", "DEYE", "DEAR",
)  # fmt: skip
GAPS = {"PINCP": 9_999_999, "POVPIP": 999}
N = -9_999_999
"""NIST's N (not applicable) as a number that no column has."""
DENSE = 53_364.7
DENSITIES = np.concatenate([[0, 150], np.logspace(1, np.log10(DENSE), 21)[8:]])
RACES = {"W": [1], "B": [2], "A": [6], "N": [3, 4, 5, 7]}
ADULT_GAPS = ("MSP", "PINCP", "PINCP_DECILE", "EDU", "DPHY", "DREM")
CHILD_GAPS = ("DVET", "MSP", "PINCP", "PINCP_DECILE", "INDP", "INDP_CAT")
RULES = {
    "age": [
        *(f"AGEP < 15 -> is_not_applicable({name})" for name in CHILD_GAPS),
        *(f"AGEP > 15 -> not is_not_applicable({name})" for name in ADULT_GAPS),
        "AGEP < 15 -> EDU < 12", "AGEP < 5 -> EDU < 5", "AGEP < 3 -> is_not_applicable(EDU)",
        "AGEP < 5 -> is_not_applicable(DPHY)", "AGEP < 5 -> is_not_applicable(DREM)",
    ],
    "work": [
        "is_not_applicable(INDP) -> is_not_applicable(INDP_CAT)",
        "is_not_applicable(INDP_CAT) -> is_not_applicable(INDP)",
        "PINCP > 3000000 -> POVPIP == 501",
    ],
    "housing": [
        "NOC < NPF", "HOUSING_TYPE > 1 -> is_not_applicable(NOC)", "HOUSING_TYPE > 1 -> is_not_applicable(NPF)",
        "HOUSING_TYPE > 1 -> OWN_RENT != 2", "HOUSING_TYPE in [2, 3] -> OWN_RENT != 1",
        "HOUSING_TYPE == 1 -> OWN_RENT != 0", "HOUSING_TYPE == 1 -> not is_not_applicable(NOC)",
    ],
}  # fmt: skip


QUASI = ("EDU", "SEX", "RAC1P", "PUMA", "OWN_RENT", "INDP_CAT", "HISP", "MSP")
BASELINES = {
    "INDP": 0.5866, "PINCP": 0.2626, "WGTP": 0.0780, "DPHY": 0.9018, "DEYE": 0.9728, "DEAR": 0.9650, "NOC": 0.6931,
    "PWGTP": 0.0105, "DVET": 0.9879, "DENSITY": 1.0, "NPF": 0.5250, "POVPIP": 0.4182, "HOUSING_TYPE": 0.9791,
    "PINCP_DECILE": 0.3964, "AGEP": 0.0730, "DREM": 0.9280,
}  # fmt: skip
"""Accuracy of the author's model on people left out (sdnist-summary, baselines.json)."""
MANY = ("INDP", "PINCP", "WGTP", "PWGTP", "POVPIP")
"""Targets of hundreds of values: the model needs minutes for each, so the published accuracy is taken unless asked."""
SLOPES = {
    "all": (23006, 0.63), "WM": (6463, 0.68), "WW": (6505, 0.66), "BM": (2720, 0.52), "BW": (3366, 0.51),
    "AM": (914, 0.70), "AW": (982, 0.55), "NM": (376, 0.42), "NW": (395, 0.54),
}  # fmt: skip
"""People and slope of income decile on education in the original."""
AREAS = (
    357, 476, 482, 534, 117, 568, 282, 460, 502, 414, 243, 300, 300, 255, 222, 501, 497, 433, 443, 464,
)  # fmt: skip
"""Score of CTGAN's file in each area, by name of the area."""
SAMPLES = {
    0.01: 571, 0.05: 769, 0.1: 838, 0.2: 892, 0.3: 916, 0.4: 932, 0.5: 944, 0.6: 954, 0.7: 963, 0.8: 972, 0.9: 982,
}  # fmt: skip
"""Score of plain subsamples, one draw by the author."""


@dataclass(frozen=True)
class Published:
    """Figures of the paper (and of its files, where they have more digits).

    ``privacy`` is a row of Table 2: unique rows matched in per cent, mean and largest precision improvement, coverage,
    matches on the quasi-identifiers; and the true median improvement, where the paper prints the mean.
    """

    values: int
    median: float
    correlation: float
    off_diagonal: float
    k_marginal: float
    pmse: float
    pca: float
    broken: tuple[int, int, int]
    matches: int
    slope: float
    privacy: tuple[float, float, float, float, int, float]
    sampling: float
    small_tables: float | None = None
    areas: tuple[int, ...] = ()
    factor: float = 1.0


PUBLISHED = {
    "aim_e_10_all": Published(
        499,
        4.0367,
        0.0075,
        0.0097,
        719.37,
        0.2412,
        0.0391,
        (7301, 21, 190),
        0,
        0.03,
        privacy=(0.00, -0.38, 0.00, 0.058, 1589, -0.27),
        sampling=0.05,
        small_tables=0.03648,
    ),
    "cart_cf21_na2019": Published(
        451,
        2.0,
        0.0038,
        0.0046,
        935.53,
        0.0023,
        0.0068,
        (0, 0, 5),
        654,
        0.02,
        privacy=(2.40, -0.31, 0.49, 0.066, 1797, -0.17),
        sampling=0.4,
    ),
    "mostlyai_sd_platform": Published(
        216,
        3.9827,
        0.0066,
        0.0083,
        916.54,
        0.0040,
        0.0166,
        (53, 0, 45),
        5,
        0.05,
        privacy=(0.02, -0.30, 0.40, 0.059, 1606, -0.24),
        sampling=0.3,
    ),
    "sdv_ctgan_epochs1000": Published(
        502,
        18.1472,
        0.0383,
        0.0441,
        699.10,
        0.0649,
        0.0394,
        (3135, 1034, 1130),
        0,
        0.17,
        privacy=(0.00, -0.59, 0.47, 0.030, 811, -0.36),
        sampling=0.05,
        small_tables=0.01528,
        areas=AREAS,
    ),
    "subsample_40pcnt_all": Published(
        499,
        2.4725,
        0.0035,
        0.0039,
        934.55,
        0.0007,
        0.0055,
        (0, 0, 0),
        10860,
        0.02,
        privacy=(39.85, 0.94, 1.00, 0.153, 4169, 1.00),
        sampling=0.4,
        small_tables=0.00019,
        factor=2.5,
    ),
}


def read(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema_length=0)


def cleaned(frame: pl.DataFrame) -> pl.DataFrame:
    """Whole numbers (income may have decimals), density in classes, N as a code; strange columns are left out."""
    found = []
    for name in frame.columns:
        if name == "PUMA":
            found.append(frame[name])
            continue
        known = frame[name].to_numpy() != "N"
        numbers = frame[name].replace("N", "0").cast(pl.Float64, strict=False)
        if numbers.null_count():
            continue  # a value outside the dictionary takes the column out of the evaluation
        values = numbers.to_numpy().copy()
        if name == "DENSITY":
            held = np.where(values > DENSE, DENSE - 100, np.maximum(values, 0))
            values = np.maximum(np.searchsorted(DENSITIES, held, side="left") - 1, 0)
        elif name != "PINCP":
            values = np.trunc(values)
        values = np.where(known, values, N)
        found.append(pl.Series(name, values if name == "PINCP" else values.astype(np.int64)))
    return pl.DataFrame(found)


def numbers_with_gaps(frame: pl.DataFrame, columns: list[str], areas: list[str]) -> dict[str, np.ndarray]:
    """Every column as whole numbers: N is −1 (or NIST's own code), areas are their place in the original's list."""
    found = {}
    for name in columns:
        if name == "PUMA":
            found[name] = np.array([areas.index(area) for area in frame[name]])
        else:
            values = np.trunc(frame[name].to_numpy()).astype(np.int64)
            found[name] = np.where(values == N, GAPS.get(name, -1), values)
    return found


def described(columns: list[str], number: tuple[str, ...]) -> Schema:
    return Schema(
        tuple(
            Column(
                name,
                (Kind.CONTINUOUS if name == "PINCP" else Kind.INTEGER)
                if name in number
                else Kind.CATEGORICAL,
                not_applicable=() if name == "PUMA" else (N,),
            )
            for name in columns
        )
    )


def measured(original: pl.DataFrame, protected: pl.DataFrame, wanted: Published) -> dict[str, float]:
    first, second = cleaned(original), cleaned(protected)
    columns = [name for name in first.columns if name in second.columns]
    first, second = first.select(columns), second.select(columns)
    areas = sorted(set(first["PUMA"]))
    plain = Schema(tuple(Column(name, Kind.INTEGER) for name in columns))
    coded = Pair(*(numbers_with_gaps(side, columns, areas) for side in (first, second)), schema=plain)
    binned = Table.from_frame(_whole(first), described(columns, NUMBERS))
    grouping = percentile_grouping(binned, [name for name in NUMBERS if name in columns])
    tables = Pair(binned, _whole(second), schema=described(columns, NUMBERS), grouping=grouping)
    errors = univariate_errors(tables, columns, rescale=wanted.factor, within={"INDP": "INDP_CAT"})
    kendall = association_table(coded, [name for name in CORRELATED if name in columns], "kendall")
    difference = kendall["difference"].abs().drop_nans()
    diagonal = np.zeros(len({*kendall["first"], *kendall["second"]}))
    texts = Pair(first, second, schema=described(columns, ()))
    margins = [name for name in columns if name != "INDP"]
    numeric = tuple(name for name in columns if name != "PUMA")
    matches = int(unique_exact_matches(texts, columns).values["matches"])
    areas_found = group_scores(tables, "PUMA", margins).sort("group")["score"]
    rules = broken_rows(Table.from_frame(second, described(columns, numeric)), RULES)
    slopes = slope_errors(_slope_pair(first, second), "PINCP_DECILE", "EDU", _subgroups())
    rounded = (slopes["original"].round(2) - slopes["protected"].round(2)).abs().round(2)
    return {
        "values": len(errors),
        "median": float(errors["composite"].median()),  # type: ignore[arg-type]
        "correlation": float(np.median(np.concatenate([difference.to_numpy(), diagonal]))),
        "off_diagonal": float(difference.median()),  # type: ignore[arg-type]
        "k_marginal": k_marginal_score(tables, margins, by="PUMA")[0],
        "lowest area": float(areas_found.min()),  # type: ignore[arg-type]
        "areas as printed": sum(int(a) == b for a, b in zip(areas_found, wanted.areas, strict=False)),
        "pmse": tree_propensity(coded, columns, depth=6).figures.pMSE,
        "pca": principal_components(coded, columns).value,
        **rules,
        "matches": matches,
        "slope": float(rounded.replace(0.0, 0.005).median()),  # type: ignore[arg-type]
        "matched %": 100 * matches / original.height,
        **improvements(texts, columns),
        "sampling": sampling_equivalent(tables, margins, by="PUMA", draws=1)[0],
        "small tables": small_tables(coded, columns),
    }


def improvements(pair: Pair, columns: list[str]) -> dict[str, float]:
    """Precision improvement of matches on the quasi-identifiers over the original's own predictability."""
    keys = [name for name in QUASI if name in columns]
    targets = [name for name in columns if name not in keys]
    known = {name: KNOWN[name] for name in targets if name in KNOWN}
    found = apparent_matches(pair, keys, targets, perfect_baseline="zero", baselines=known)
    assert found.table is not None
    KNOWN.update(zip(found.table["target"], found.table["baseline"], strict=True))
    coverage = found.values["coverage"] / 100
    return {
        "mean gain": found.values["mean improvement"], "max gain": found.value, "coverage": coverage,
        "matches on keys": round(coverage * pair.original.rows), "median gain": found.values["median improvement"],
    }  # fmt: skip


KNOWN = {name: BASELINES[name] for name in MANY}
"""Baselines: asked of the original once, published ones where that would take minutes."""


def column_sets(columns: list[str]) -> list[tuple[str, ...]]:
    """The 455 small tables of the paper, as far as a release has their columns."""
    others = sorted(name for name in columns if name not in ("PUMA", "INDP"))
    sets: list[tuple[str, ...]] = [(name,) for name in columns]
    sets += list(combinations([name for name in CORRELATED if name in columns], 2))
    sets += [
        ("AGEP", "INDP"),
        ("AGEP", "PINCP"),
        ("INDP", "INDP_CAT"),
        ("PINCP", "PINCP_DECILE"),
        ("PINCP", "POVPIP"),
    ]
    sets += [("PUMA", name) for name in ("INDP", "PINCP", "POVPIP", "PWGTP", "WGTP")]
    sets += [("PUMA", *two) for two in combinations(others, 2)]
    sets += [("MSP", "PINCP", "PINCP_DECILE"), ("EDU", "PINCP_DECILE", "RAC1P", "SEX")]
    sets += [(*QUASI, name) for name in columns if name not in QUASI]
    sets.append(tuple(columns))
    return [names for names in sets if set(names) <= set(columns)]


def small_tables(coded: Pair, columns: list[str]) -> float:
    """Propensity error of a tree of depth six, averaged over the small tables (all releases on the same ones)."""
    sets = column_sets(columns)
    return float(np.mean([tree_propensity(coded, names, depth=6).figures.pMSE for names in sets]))


def _whole(frame: pl.DataFrame) -> pl.DataFrame:
    """Income without its decimals, as the groups of the margins take it."""
    return frame.with_columns(pl.col("PINCP").cast(pl.Int64)) if "PINCP" in frame.columns else frame


def _slope_pair(first: pl.DataFrame, second: pl.DataFrame) -> Pair:
    names = ["EDU", "PINCP_DECILE", "RAC1P", "SEX"]
    schema = described(names, tuple(names))
    return Pair(first.select(names), second.select(names), schema=schema)


def _subgroups() -> dict[str, dict[str, list[object]]]:
    return {
        f"{race}{sex}": {"RAC1P": list(codes), "SEX": [code]}
        for race, codes in RACES.items()
        for sex, code in (("M", 1), ("W", 2))
    }


def original_side(original: pl.DataFrame) -> None:
    """What the paper says about the original alone: slopes, and scores of its subsamples."""
    clean = cleaned(original)
    slopes = slope_errors(_slope_pair(clean, clean), "PINCP_DECILE", "EDU", _subgroups())
    right = [SLOPES[row["group"]] == (row["rows"], round(row["original"], 2)) for row in slopes.to_dicts()]
    print(f"original: {sum(right)} of {len(SLOPES)} slopes and group sizes as published")
    schema = described(clean.columns, NUMBERS)
    table = Table.from_frame(_whole(clean), schema)
    pair = Pair(table, table, grouping=percentile_grouping(table, list(NUMBERS)))
    margins = [name for name in clean.columns if name != "INDP"]
    _, found = sampling_equivalent(pair, margins, by="PUMA", draws=1)
    for fraction, score in found.iter_rows():
        print(
            f"  sample of {fraction:4.0%}: {score:6.1f}  published {SAMPLES[fraction]} (one draw of another sample)"
        )


def published(wanted: Published) -> dict[str, float | None]:
    """The figures of `measured` as they were published."""
    row = ("matched %", "mean gain", "max gain", "coverage", "matches on keys", "median gain")
    return {
        "values": wanted.values, "median": wanted.median, "correlation": wanted.correlation,
        "off_diagonal": wanted.off_diagonal, "k_marginal": wanted.k_marginal, "pmse": wanted.pmse, "pca": wanted.pca,
        "areas as printed": len(wanted.areas) or None, **dict(zip(RULES, wanted.broken, strict=True)),
        "matches": wanted.matches, "slope": wanted.slope,
        **dict(zip(row, wanted.privacy, strict=True)), "sampling": wanted.sampling, "small tables": wanted.small_tables,
    }  # fmt: skip


def main() -> None:
    words = sys.argv[1:]
    if "--baselines" in words:
        words.remove("--baselines")
        KNOWN.clear()
    folder = Path(words.pop(0))
    original = read(folder / "national2019.csv")
    if not words:
        original_side(original)
    for name in words or PUBLISHED:
        found = measured(original, read(folder / f"{name}.csv"), PUBLISHED[name])
        expected = published(PUBLISHED[name])
        print(name)
        for figure, value in found.items():
            printed = expected.get(figure)
            print(f"  {figure:15s} {value:12.6g}  {'' if printed is None else f'published {printed:g}'}")
    for target, value in sorted(KNOWN.items()):
        print(f"baseline of {target:13s} {value:.4f}  published {BASELINES[target]:.4f}")


if __name__ == "__main__":
    main()
