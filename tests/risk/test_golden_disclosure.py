"""Identity and attribute disclosure agree with synthpop 1.9-3 on every stored case."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius import Column, Grouping, Kind, Pair, Schema, Table
from dalenius.risk import Disclosure, Exclusions, disclosure, multi_target, replicated_rows

GOLDEN = Path(__file__).parents[1] / "golden" / "disclosure"
CASES = json.loads((GOLDEN / "disclosure.json").read_text())["cases"]
MULTI = json.loads((GOLDEN / "multi_disclosure.json").read_text())["cases"]
REPLICATED = json.loads((GOLDEN / "replicated_uniques.json").read_text())["cases"]


@cache
def load(name: str, schema: str, special: tuple[tuple[str, int], ...] = ()) -> Table:
    kinds = json.loads((GOLDEN / "data" / schema).read_text())
    frame = pl.read_csv(GOLDEN / "data" / name, infer_schema_length=None)
    columns = []
    for column in frame.columns:
        kind = kinds[column]["kind"]
        if kind in ("integer", "numeric"):
            codes = tuple(code for other, code in special if other == column)
            held = Kind.INTEGER if kind == "integer" else Kind.CONTINUOUS
            columns.append(Column(column, held, not_applicable=codes))
        else:
            frame = frame.with_columns(pl.col(column).cast(pl.String))
            levels = tuple(kinds[column].get("levels", ())) or None
            columns.append(
                Column(column, Kind.ORDERED if kind == "ordered" else Kind.CATEGORICAL, levels=levels)
            )
    return Table.from_frame(frame, Schema(tuple(columns)))


def missing_keys(case: dict, keys: list[str]) -> bool | list[str]:
    """Which keys' gaps R leaves out: flags given per key are permuted with the inverse permutation (a fault of R)."""
    flags = (case["options"] or {}).get("usekeysNA", [True])
    if len(flags) == 1:
        return not flags[0]
    permuted = [flags[keys.index(key)] for key in case["keys"]]
    return [key for key, use in zip(keys, permuted, strict=True) if not use]


def pairs_of(case: dict, target: str, keys: list[str], groups_target: int) -> list[Pair]:
    options = case["options"] or {}
    special = tuple((options.get("cont.na") or {}).items())
    original = load(case["original"], case["schema"], special)
    syntheses = [load(name, case["schema"], special) for name in case["synthetic"]]
    wanted = options.get("ngroups_keys", [0])
    groups = dict(zip(keys, wanted * len(keys) if len(wanted) == 1 else wanted, strict=True)) | {
        target: groups_target
    }
    groups = {name: n for name, n in groups.items() if n and original[name].is_number}
    grouping = Grouping.fit(original, *syntheses, columns=list(groups), groups=groups)
    return [Pair(original, synthetic, grouping=grouping) for synthetic in syntheses]


def measured(case: dict, m: int) -> Disclosure:
    options, keys, target = case["options"] or {}, case["expected"]["keys_in_file_order"], case["target"]
    named = [options.get(f"exclude.{part}", ()) for part in ("keys", "keylevs", "targetlevs")]
    exclusions = Exclusions(
        target_levels=options.get("not.targetlev", ()),
        missing_target=options.get("usetargetNA") == [False],
        missing_keys=missing_keys(case, keys),
        pairs=list(zip(*named, strict=True)),
        denom_lim=options["denom_lim"][0] if options.get("exclude_ov_denom_lim") == [True] else None,
    )
    pair = pairs_of(case, target, keys, options.get("ngroups_target", [0])[0])[m]
    return disclosure(
        pair, target, keys, exclusions=exclusions, grouped=True, compat="synthpop",
        one_way=tuple(options.get("thresh_1way", (50, 90))), two_way=tuple(options.get("thresh_2way", (4, 80))),
    )  # fmt: skip


def agree(expected: dict, found: Disclosure, m: int, corrected: dict) -> None:
    wanted = {
        k: v[m] for part in ("ident", "attrib", "allCAPs") for k, v in expected[part].items()
    } | corrected
    got = {**found.identity, **found.attribute, **found.caps}
    got |= {"DCAP": got["dcap"], "TCAP": got["tcap_found"]}
    if math.isnan(got["max_denom"]):
        got["max_denom"] = 0.0  # R writes 0 for "there is none"
    for name, value in wanted.items():
        if value is None:
            assert math.isnan(got[name]), name
        else:
            assert got[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


RUNS = [(case, m) for case in CASES for m in range(len(case["synthetic"]))]


@pytest.mark.parametrize(("case", "m"), RUNS, ids=[f"{c['id']}-{m}" for c, m in RUNS])
def test_one_target(case: dict, m: int) -> None:
    found = measured(case, m)
    faults = {x["synthesis"]: x["values"] for x in case.get("independent_recount_differs", [])}
    agree(case["expected"], found, m, faults.get(m + 1, {}))
    if faults:
        return  # R met wrong columns here: its checks and tallies belong to the wrong table
    tally = [list(row) for row in found.tally.drop("table").rows()]
    assert tally == case["expected"]["Nexclusions"][m]["values"]
    one_way = case["expected"]["check_1way"][m]
    assert (one_way is None) == (found.one_way is None)
    if one_way is not None:
        level, *numbers = [one_way[k][0] for k in one_way]
        got_level, *got_numbers = found.one_way.values()
        assert str(got_level) == str(level)
        np.testing.assert_allclose(got_numbers, numbers, rtol=1e-9)
    two_way = case["expected"]["check_2way"][m]
    names = ("key", "npairs", "key_target_total", "key_total", "PctTargetKeyLevel")
    wanted = sorted(zip(*(two_way[name] for name in names), strict=True)) if two_way else []
    got = sorted(found.two_way.select("key", "npairs", "key_target_total", "key_total", "per_cent").rows())
    assert [row[:4] for row in got] == [tuple(row[:4]) for row in wanted]
    np.testing.assert_allclose([row[4] for row in got], [row[4] for row in wanted], rtol=1e-9)


def multi_options(case: dict, at: int) -> tuple[int, Exclusions]:
    options = case["options"] or {}
    level = options.get("not.targetslev", [""] * (at + 1))[at]
    exclusions = Exclusions(
        target_levels=[level] if level else [],
        missing_target=not options.get("usetargetsNA", [True] * (at + 1))[at],
        denom_lim=options["denom_lim"][0] if options.get("exclude_ov_denom_lim") == [True] else None,
    )
    return options.get("ngroups_targets", [0] * (at + 1))[at], exclusions


@pytest.mark.parametrize("case", MULTI, ids=[c["id"] for c in MULTI])
def test_several_targets(case: dict) -> None:
    expected = case["expected"]
    targets = case["targets"] or list(expected["per_target"])
    for at, target in enumerate(targets):
        wanted = expected["per_target"][target]
        groups, exclusions = multi_options(case, at)
        keys = wanted["keys_in_file_order"]
        for m, pair in enumerate(pairs_of(case, target, keys, groups)):
            found = disclosure(pair, target, keys, exclusions=exclusions, grouped=True, compat="synthpop")
            agree(wanted, found, m, {})


def test_summary_over_targets() -> None:
    for case in MULTI[:4]:
        pair = Pair(load(case["original"], case["schema"]), load(case["synthetic"][0], case["schema"]))
        table = multi_target(pair, case["keys"], case["targets"], compat="synthpop")
        expected = case["expected"]["attrib_table"]
        np.testing.assert_allclose(table["protected"], expected["attrib.syn"], rtol=1e-9)
        assert sorted(table["original"]) == pytest.approx(sorted(expected["attrib.orig"]), rel=1e-9)


@pytest.mark.parametrize("case", REPLICATED, ids=[c["id"] for c in REPLICATED])
def test_replicated_uniques(case: dict) -> None:
    original = load(case["original"], case["schema"])
    for m, name in enumerate(case["synthetic"]):
        found = replicated_rows(Pair(original, load(name, case["schema"])), case["keys"])
        rows = case["expected"]["tables"][m]["values"]
        if (
            case["id"] == "r_onekey"
        ):  # R gives 0 for "synthetic uniques in original" when there is one key: a fault
            assert [r for i, r in enumerate(found.table["number"]) if i != 2] == [
                rows[0][0],
                rows[1][0],
                rows[3][0],
            ]
            continue
        assert found.table["number"].to_list() == [row[0] for row in rows]
        assert found.table["of"].to_list() == [row[1] for row in rows]
        replicated = np.atleast_1d(case["expected"]["replicated_unique_rows_1based"][m])
        present = np.atleast_1d(case["expected"]["synthetic_unique_in_original_rows_1based"][m])
        assert (np.flatnonzero(found.replicated) + 1).tolist() == replicated.tolist()
        assert (np.flatnonzero(found.unique_in_original) + 1).tolist() == present.tolist()
