"""NIST's benchmark (SDNIST, Francis 2024) measured with this package, beside the published figures.

Run: ``python bench/nist.py FOLDER [NAME …]``. The folder holds ``national2019.csv`` (27,253 people of the American
Community Survey, public domain) and de-identified versions of it; see docs/utility.md. Nothing of it is ours to ship.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from dalenius.counts.pair import Pair
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.utility import (
    association_table,
    broken_rows,
    group_scores,
    k_marginal_score,
    principal_components,
    slope_errors,
    unique_exact_matches,
    univariate_errors,
)
from dalenius.utility.marginals import percentile_grouping
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


@dataclass(frozen=True)
class Published:
    """Figures of the paper (and of its files, where they have more digits)."""

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
    factor: float = 1.0


PUBLISHED = {
    "aim_e_10_all": Published(499, 4.0367, 0.0075, 0.0097, 719.37, 0.2412, 0.0391, (7301, 21, 190), 0, 0.03),
    "cart_cf21_na2019": Published(451, 2.0, 0.0038, 0.0046, 935.53, 0.0023, 0.0068, (0, 0, 5), 654, 0.02),
    "mostlyai_sd_platform": Published(
        216, 3.9827, 0.0066, 0.0083, 916.54, 0.0040, 0.0166, (53, 0, 45), 5, 0.05
    ),
    "sdv_ctgan_epochs1000": Published(
        502, 18.1472, 0.0383, 0.0441, 699.10, 0.0649, 0.0394, (3135, 1034, 1130), 0, 0.17
    ),
    "subsample_40pcnt_all": Published(
        499, 2.4725, 0.0035, 0.0039, 934.55, 0.0007, 0.0055, (0, 0, 0), 10860, 0.02, factor=2.5
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


def measured(original: pl.DataFrame, protected: pl.DataFrame, factor: float) -> dict[str, float]:
    first, second = cleaned(original), cleaned(protected)
    columns = [name for name in first.columns if name in second.columns]
    first, second = first.select(columns), second.select(columns)
    areas = sorted(set(first["PUMA"]))
    plain = Schema(tuple(Column(name, Kind.INTEGER) for name in columns))
    coded = Pair(*(numbers_with_gaps(side, columns, areas) for side in (first, second)), schema=plain)
    binned = Table.from_frame(_whole(first), described(columns, NUMBERS))
    grouping = percentile_grouping(binned, [name for name in NUMBERS if name in columns])
    tables = Pair(binned, _whole(second), schema=described(columns, NUMBERS), grouping=grouping)
    errors = univariate_errors(tables, columns, rescale=factor, within={"INDP": "INDP_CAT"})
    kendall = association_table(coded, [name for name in CORRELATED if name in columns], "kendall")
    difference = kendall["difference"].abs().drop_nans()
    diagonal = np.zeros(len({*kendall["first"], *kendall["second"]}))
    texts = Pair(first, second, schema=described(columns, ()))
    margins = [name for name in columns if name != "INDP"]
    numeric = tuple(name for name in columns if name != "PUMA")
    rules = broken_rows(Table.from_frame(second, described(columns, numeric)), RULES)
    slopes = slope_errors(_slope_pair(first, second), "PINCP_DECILE", "EDU", _subgroups())
    rounded = (slopes["original"].round(2) - slopes["protected"].round(2)).abs().round(2)
    return {
        "values": len(errors),
        "median": float(errors["composite"].median()),  # type: ignore[arg-type]
        "correlation": float(np.median(np.concatenate([difference.to_numpy(), diagonal]))),
        "off_diagonal": float(difference.median()),  # type: ignore[arg-type]
        "k_marginal": k_marginal_score(tables, margins, by="PUMA")[0],
        "lowest area": float(group_scores(tables, "PUMA", margins)["score"].min()),  # type: ignore[arg-type]
        "pmse": tree_propensity(coded, columns, depth=6).figures.pMSE,
        "pca": principal_components(coded, columns).value,
        **rules,
        "matches": unique_exact_matches(texts, columns)[0],
        "slope": float(rounded.replace(0.0, 0.005).median()),  # type: ignore[arg-type]
    }


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


def main() -> None:
    folder = Path(sys.argv[1])
    original = read(folder / "national2019.csv")
    for name in sys.argv[2:] or PUBLISHED:
        wanted = PUBLISHED[name]
        found = measured(original, read(folder / f"{name}.csv"), wanted.factor)
        expected = {
            "values": wanted.values, "median": wanted.median, "correlation": wanted.correlation,
            "off_diagonal": wanted.off_diagonal, "k_marginal": wanted.k_marginal, "pmse": wanted.pmse,
            "pca": wanted.pca, **dict(zip(RULES, wanted.broken, strict=True)), "matches": wanted.matches,
            "slope": wanted.slope,
        }  # fmt: skip
        print(name)
        for figure, value in found.items():
            beside = f"published {expected[figure]:g}" if figure in expected else ""
            print(f"  {figure:12s} {value:12.6g}  {beside}")


if __name__ == "__main__":
    main()
