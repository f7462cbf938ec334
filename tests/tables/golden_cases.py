"""Turn a golden case of the R package into a call of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.tables import (
    Dominance,
    FewContributors,
    KDisclosure,
    PPercent,
    SingletonRules,
    SmallCount,
    Suppression,
    define,
    protect,
    protect_linked,
    read_hierarchy,
)

FOLDER = Path(__file__).parents[1] / "golden" / "gauss-suppression"
CASES = json.loads((FOLDER / "suppression.json").read_text())["cases"]


def read(name: str) -> pl.DataFrame:
    return pl.read_csv(FOLDER / "data" / name)


def layout(arguments: dict[str, Any], hierarchies: dict[str, str] | None) -> dict[str, Any]:
    if hierarchies:
        trees = {k: read_hierarchy(FOLDER / "data" / v) for k, v in hierarchies.items() if v.endswith(".csv")}
        return {"by": list(hierarchies), "hierarchies": trees}
    return {"by": arguments["dimVar"]} if "dimVar" in arguments else {"formula": arguments["formula"]}


def one(arguments: dict[str, Any], name: str, default: Any = None) -> Any:
    value = arguments.get(name)
    return default if value is None else value[0]


def rules_of(kind: str, a: dict[str, Any]) -> list[Any]:
    if "SmallCounts" in kind or "FromData" in kind:
        return [SmallCount(one(a, "maxN", 3), one(a, "protectZeros", True))]
    if "FewContributors" in kind:
        return [FewContributors(one(a, "maxN"))]
    if "KDisclosure" in kind:
        return [KDisclosure(one(a, "coalition"))]
    if "pPercent" in a:
        return [PPercent(one(a, "pPercent"))]
    return [Dominance(list(zip(a["n"], a["k"], strict=True)))]


def run(case: dict[str, Any]) -> Suppression:
    a, kind = case["arguments"], case["function_called"]
    extend = one(a, "extend0", "SmallCounts" in kind or "KDisclosure" in kind)
    model = define(
        read(case["data"]),
        **layout(a, case["hierarchies"]),
        freq=one(a, "freqVar"),
        value=one(a, "numVar"),
        contributor=one(a, "contributorVar"),
        weight=one(a, "sWeightVar"),
        extend0=extend,
    )
    options: dict[str, Any] = {"secondary_zeros": one(a, "secondaryZeros", False)}
    method = one(a, "singletonMethod")
    if method is not None:
        options["small"] = method
        if not method.startswith("num") and method != "sub2Sum":
            options["singleton"] = SingletonRules.none()
    if "KDisclosure" in kind:
        options["order"] = "disclosure"
    return protect(model, *rules_of(kind, a), repair=False, **options)


def run_linked(case: dict[str, Any]) -> Any:
    a, kind = case["arguments"], case["function_called"]
    specs = {}
    trees: dict[str, Any] = {}
    for i, table in enumerate(case["tables"]):
        found = table.get("hierarchies")
        if found:
            trees |= {k: read_hierarchy(FOLDER / "data" / v) for k, v in found.items() if v.endswith(".csv")}
            specs[str(i)] = list(found)
        else:
            specs[str(i)] = table["dimVar"] if "dimVar" in table else table["formula"]
    model = define(
        read(case["data"]),
        tables=specs,
        hierarchies=trees,
        value=one(a, "numVar"),
        contributor=one(a, "contributorVar"),
        extend0="SmallCounts" in kind,
    )
    how = one(a, "linkedGauss")
    return protect_linked(model, *rules_of(kind, a), how=how, repair=False)
