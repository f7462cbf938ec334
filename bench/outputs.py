"""Output checking: outputs that should not leave, the time of one table, and a memory of a thousand outputs.

python bench/outputs.py PEER_PYTHON          # faults and times beside acro 1.0.2 in an environment of its own
python bench/outputs.py --rows 10000000      # ours beside Polars' plain mean
python bench/outputs.py --memory 1000        # a new output beside a thousand earlier ones on a million records
python bench/outputs.py --memory 1000 --each 3   # the same where people have three records each
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import polars as pl
import typer

from _shared import cpu
from dalenius.outputs import Desk, register

PEER = Path(__file__).parent / "outputs_peer.py"


def columns(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        "region": rng.integers(0, 16, rows).astype(str),
        "industry": rng.integers(0, 40, rows).astype(str),
        "income": rng.lognormal(10, 1, rows),
        "person": rng.integers(0, max(rows // 2, 1), rows),
    }


def table(desk: Desk, data: Any) -> None:
    """One table with all checks; nothing is remembered, so that each run is the same."""
    desk.table(data, ["region", "industry"], "income", "mean")
    desk.remove(desk.last.record.uid)


def warm() -> None:
    data = pd.DataFrame(columns(1000))
    for unit in (None, "person"):
        table(Desk({"differencing": False}, unit=unit), data)


def asked(python: Path, what: str, given: str = "") -> dict[str, Any]:
    """What the peer says."""
    found = subprocess.run([python, PEER, what], input=given, capture_output=True, text=True, check=True)
    return dict(json.loads(found.stdout))


def beside_acro(python: Path, rows: list[int]) -> None:
    known = asked(python, "names")
    places = [register().lookup(name) for name in known]
    sure = sum(p.statbarn is not None for p in places)
    rest = ", ".join(p.asked for p in places if p.statbarn is None)
    print(
        f"{len(known)} analyses of acro: {sure} have a statbarn here, {len(known) - sure} are a review ({rest})"
    )
    data = faulty()
    said, own = asked(python, "faults", json.dumps({k: d.to_json() for k, d in data.items()})), ours(data)
    for name, status in said.items():
        print(f"{name:<35} acro: {status:<55} ours: {own[name]}")
    for n in rows:
        theirs = asked(python, str(n))
        data = pd.DataFrame(columns(n))
        desk = Desk({"differencing": False})
        own, _ = cpu(
            lambda d=data, k=desk: k.pandas.crosstab(d.region, d.industry, values=d.income, aggfunc="mean"), 3
        )
        print(
            f"{n:>10,} rows: pandas {theirs['pandas']:.2f}, acro {theirs['acro']:.2f}, ours {own:.3f} CPU s: "
            f"{theirs['acro'] / own:.0f} times"
        )


SIX_MP = ([6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35],
          [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0])  # fmt: skip
"""Weeks of remission under 6-MP, and whether it ended (Freireich et al. 1963)."""


def faulty() -> dict[str, pd.DataFrame]:
    """Data of all cases: groups g and c, values v."""
    rng = np.random.default_rng(0)
    ab = lambda a, b: ["a"] * a + ["b"] * b  # noqa: E731
    xy = lambda *runs: [w for n, w in zip(runs, "xyxyxy", strict=False) for _ in range(n)]  # noqa: E731
    whole = pd.DataFrame({"g": rng.choice(list("ab"), 400), "c": rng.choice(list("xy"), 400)})
    columns = {
        "few": {"g": ab(30, 30), "c": ["x", "y"] * 30, "v": np.where(np.arange(60) < 24, np.nan, np.arange(60.0))},
        "same": {"g": ab(20, 20), "c": xy(10, 10, 10, 10), "v": [5.0] * 20 + list(np.arange(20.0))},
        "ten": {"g": ab(20, 20), "c": xy(10, 10, 10, 10), "v": rng.normal(50, 9, 40).round(3)},
        "model": {"g": np.repeat([0, 0, 1, 1], 10), "c": np.repeat([0, 1, 0, 1], 10), "v": np.arange(40.0)},
        "whole": whole, "less": whole.drop(whole[(whole.g == "a") & (whole.c == "x")].index[:1]),
        "zeros": {"g": ab(30, 30), "c": xy(45, 15)}, "impossible": {"g": ab(45, 45), "c": xy(15, 30, 30, 15)},
        "nothing": {"g": ab(40, 0), "c": xy(20, 20), "v": [0.0] * 20 + list(np.arange(20.0) + 1)},
        "deviations": {"g": ab(30, 5), "c": ["x"] * 35, "v": np.arange(35.0)},
        "margins": {"g": ab(45, 60), "c": xy(5, 40, 30, 30)},
        "empty": {"g": ab(40, 30) + ["d"] * 34, "c": ["x"] * 40 + xy(15, 15) + xy(4, 30)},
        "drift": {"g": [f"g{i}" for i in range(10) for _ in range(12)], "c": ["x"] * 120},
        "survival": {"time": SIX_MP[0], "event": SIX_MP[1]},
        "steps": {"time": np.repeat(np.arange(1, 11), 20), "event": 1},
    }  # fmt: skip
    return {name: pd.DataFrame(held).reset_index(drop=True) for name, held in columns.items()}


def ours(data: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Our answer to each case, in words."""

    def desk_of(name: str, **policy: Any) -> tuple[Desk, Any]:
        desk = Desk(policy, unit="person")
        rows = data[name]
        people = whole_ids if name in ("whole", "less") else np.arange(len(rows))
        return desk, desk.data(rows.assign(person=people[: len(rows)]))

    whole_ids = np.arange(400)

    def crossed(name: str, policy: dict[str, Any] | None = None, **how: Any) -> tuple[Desk, Any]:
        desk, frame = desk_of(name, **(policy or {}))
        values = {"values": frame.v} if "aggfunc" in how else {}
        return desk, desk.pandas.crosstab(frame.g, frame.c, **values, **how)

    said = {"mean over 3 values": crossed("few", aggfunc="mean")[0].last.summary}
    for how in ("mean", "median", "max", "mode"):
        desk, frame = desk_of("same")
        said[f"equal values, {how}"] = desk.table(frame, ["g", "c"], "v", how).summary
    said["maximum of 10"] = crossed("ten", aggfunc="max")[0].last.summary
    desk, frame = desk_of("model")
    desk.smf.ols("v ~ g*c", frame).fit()
    said["saturated OLS"] = desk.last.summary
    desk, whole = desk_of("whole")
    desk.pandas.crosstab(whole.g, whole.c)
    gone = int(np.flatnonzero((whole.g == "a") & (whole.c == "x"))[0])
    less = whole[whole.person != gone]
    desk.pandas.crosstab(less.g, less.c)
    said["one person fewer"] = desk.last.summary
    lenient = {"zeros": False, "full_cells": False}
    said["zeros said to be harmless"] = crossed("zeros", lenient)[0].last.summary
    zero = crossed("impossible", structural_zeros=[{"g": "a", "c": "x"}])
    said["an impossible cell that is filled"] = zero[0].last.summary
    said["a total of zeros"] = crossed("nothing", aggfunc="sum")[0].last.summary
    desk, frame = desk_of("deviations")
    out = desk.table(frame, ["g", "c"], "v", "std", fix="suppress")
    said["deviations, one of two cells small"] = f"{int(out.hidden.sum())} of 2 taken out"
    desk, frame = desk_of("margins")
    desk.table(frame, ["g", "c"], margins=True, fix="suppress")
    hidden = int(desk.last.hidden.sum())
    desk.table(frame, "g", margins=True)
    said["suppressed, then its total"] = f"{desk.last.status}; {hidden} cells taken out, so nothing follows"
    _, shown = crossed("empty", lenient, fix="suppress")
    said["an empty cell beside a small one"] = f"{int(shown.isna().sum().sum())} cell missing"
    _, shown = crossed("margins", fix="round")
    said["a count of 5, rounded"] = f"shown as {shown.loc['a', 'x']:g}"
    desk, frame = desk_of("drift")
    out = desk.table(frame, ["g", "c"], margins=True).fix("round")
    said["total of 120 people, rounded"] = f"{float(out.values['count'][-1]):g}"
    return said | our_survival(data)


def our_survival(data: dict[str, pd.DataFrame]) -> dict[str, str]:
    out = Desk().survival(data["survival"].time, data["survival"].event, fix="merge_steps")
    told = ", ".join(f"{s:.6f}" for s in next(v for k, v in out.values.items() if "surv" in k.lower()))
    large = Desk().survival(data["steps"].time, data["steps"].event)
    return {"survival, merged": f"{told} (exact)", "survival with 20 exits a step": large.summary}


def fresh_peak() -> None:
    """Forget the largest memory so far (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def held() -> float:
    """Largest memory since then, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def beside_polars(rows: int) -> None:
    rng = np.random.default_rng(1)
    codes = {"region": rng.integers(0, 16, rows), "industry": rng.integers(0, 40, rows)}
    data = pl.DataFrame(codes).with_columns(pl.all().cast(pl.String).cast(pl.Categorical))
    data = data.with_columns(income=rng.lognormal(10, 1, rows), person=rng.integers(0, rows // 2, rows))
    groups = data.group_by("region", "industry")
    plain, _ = cpu(lambda: groups.agg(pl.col("income").mean()), 3)
    for unit in (None, "person"):
        fresh_peak()
        before = held()
        own, _ = cpu(lambda u=unit: table(Desk({"differencing": False}, unit=u), data), 3)
        more = held() - before
        people = "distinct persons" if unit else "records"
        print(
            f"{rows:,} rows, {people}: Polars' mean {plain:.2f}, ours {own:.2f} CPU s: {own / plain:.1f} times"
        )
        print(f"  memory beyond the frame: {more:.0f} MB; the frame {data.estimated_size('mb'):.0f} MB")


def beside_memory(outputs: int, rows: int, each: int) -> None:
    rng = np.random.default_rng(1)
    names = [f"v{i}" for i in range(24)]
    kinds = rng.integers(3, 13, len(names))
    data = pl.DataFrame(
        {n: rng.integers(0, k, rows).astype(np.int32) for n, k in zip(names, kinds, strict=True)}
    )
    data = data.with_columns(
        person=pl.arange(0, rows, eager=True) if each == 1 else rng.integers(0, rows // each, rows),
        cost=rng.gamma(2, 300, rows).round(),
    )
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk({"zeros": False, "full_cells": False}, unit="person", memory=folder)
        compared, desk.memory.compared = desk.memory.compared, lambda *_: None  # type: ignore[method-assign,assignment]
        desk.looked_back = lambda out: []  # type: ignore[method-assign]
        start = time.process_time()
        for _ in range(outputs):
            by = rng.choice(names, int(rng.integers(1, 3)), replace=False).tolist()
            part = data.filter(pl.col(names[int(rng.integers(24))]) > 0) if rng.random() < 0.4 else data
            desk.table(part, by, *(("cost", "sum") if each > 1 and rng.random() < 0.5 else ()))
        kept = len(desk.memory.earlier())
        print(
            f"{kept} outputs kept in {time.process_time() - start:.0f} CPU s; "
            f"{held():,.0f} MB at most, with all of them at one desk"
        )
        size = sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file()) / 2**20
        later = Desk({"zeros": False, "full_cells": False}, unit="person", memory=folder, name="later")
        for by in (["v0", "v5"], ["v1", "v2", "v3"]):
            own, _ = cpu(lambda by=by: later.table(data, by))
            cells = len(later.last.judged.evidence.cells)
            print(
                f"a new table of {cells} cells beside {kept} outputs on {rows:,} records"
                f" of {data['person'].n_unique():,} people: {own:.1f} CPU s, {size:.0f} MB on disk"
            )
            print(f"it says: {later.last.record.checks['differencing']['sentence']}")
            less = data.filter(pl.col("person") != 17)
            own, _ = cpu(lambda by=by, less=less: later.table(less, by))
            print(f"one person fewer: {own:.1f} CPU s; {later.last.summary}")
        del compared


def main(
    python: Annotated[Path | None, typer.Argument(help="Python of an environment with acro 1.0.2.")] = None,
    rows: Annotated[int, typer.Option(help="Rows beside Polars.")] = 0,
    memory: Annotated[int, typer.Option(help="Earlier outputs in the memory.")] = 0,
    records: Annotated[int, typer.Option(help="Records of these.")] = 1_000_000,
    each: Annotated[
        int, typer.Option(help="Records of a person; with several half of the outputs are sums.")
    ] = 1,
    sizes: Annotated[str, typer.Option(help="Rows beside acro.")] = "10000,1000000",
) -> None:
    warm()
    if python is not None:
        beside_acro(python, [int(n) for n in sizes.split(",")])
    if rows:
        beside_polars(rows)
    if memory:
        beside_memory(memory, records, each)


if __name__ == "__main__":
    sys.exit(typer.run(main))
