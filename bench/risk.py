"""Disclosure risk against its peers.

Run as ``python bench/risk.py [--quick] [distances synthpop sdmetrics tables anonymeter]``.

Prints CPU seconds (user + sys of this process), ratios and the conclusions of both sides. A peer that is not installed
is named and left out. Figures of R packages are those measured on this machine (docs/risk.md says when).
"""

from __future__ import annotations

import importlib.util
import resource
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from _shared import adult_file, cpu
from dalenius import Pair, Table
from dalenius.risk import dcr, disclosure, gcap, inference, linkability, multi_target, singling_out
from dalenius.risk.cap.gcap import cap_scores
from dalenius.risk.distance.space import Space
from dalenius.synth import make_synthesizer

KEYS = ["age", "sex", "race", "marital_status", "native_country"]
R_ONE_TARGET, R_NINE_TARGETS = 0.73, 8.8


def adult() -> pl.DataFrame:
    """UCI Adult (32,561 rows), the weight left out."""
    path = adult_file()
    if path is None:
        sys.exit("Adult is needed")
    frame = pl.read_csv(path, infer_schema_length=None).rename(lambda name: name.replace(".", "_"))
    numbers = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
    return frame.drop("fnlwgt").with_columns(pl.col(numbers).cast(pl.Int64))


def planted(train: pl.DataFrame, others: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Files of growing leak: a CART synthesis of other people, with 10, 25 and 50 % copied originals, and a copy.

    The first knows nothing about the people in ``train``: what is true is known of all of them.
    """
    fitted = make_synthesizer("cart").fit(Table.from_frame(others), seed=1)
    clean = fitted.sample(train.height, seed=2).to_frame("polars").select(train.columns)
    made = {"no leak": clean}
    for share in (0.1, 0.25, 0.5):
        copied = round(share * train.height)
        made[f"leak {share:.0%}"] = pl.concat([clean.head(train.height - copied), train.head(copied)])
    made["copy"] = train.sample(fraction=1, shuffle=True, seed=1)
    return made


def peers_of(
    train: Any, made: Any, control: Any, halves: tuple[list[str], list[str]], known: list[str], attacks: int
) -> Any:
    """Anonymeter's three evaluators, to be run one by one."""
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    many = {"n_attacks": attacks, "control": control}
    return {
        "singling-out": lambda: SinglingOutEvaluator(train, made, n_cols=4, **many).evaluate(
            mode="multivariate"
        ),
        "linkability": lambda: LinkabilityEvaluator(
            train, made, aux_cols=halves, n_neighbors=10, **many
        ).evaluate(n_jobs=1),
        "inference": lambda: InferenceEvaluator(
            train, made, aux_cols=known, secret="occupation", regression=False, **many
        ).evaluate(n_jobs=1),
    }


def ours_of(
    pair: Pair, halves: tuple[list[str], list[str]], known: list[str], attacks: int, seed: int
) -> Any:
    """The same three attacks here."""
    return {
        "singling-out": lambda: singling_out(pair, attacks=attacks, seed=seed),
        "linkability": lambda: linkability(pair, *halves, attacks=attacks, seed=seed),
        "inference": lambda: inference(pair, known=known, attacks=attacks, seed=seed),
    }


@dataclass
class Side:
    """Runs of one attack on one file by one side: risk in per cent, its lower end, CPU seconds."""

    risks: list[float] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, seconds: float, risk: float, low: float, high: float) -> None:
        """Keep one run."""
        for kept, value in (
            (self.seconds, seconds),
            (self.risks, risk),
            (self.lows, low),
            (self.highs, high),
        ):
            kept.append(value)

    @property
    def mean(self) -> float:
        """Mean risk of the runs."""
        return float(np.mean(self.risks))

    @property
    def flagged(self) -> int:
        """Runs whose interval lies above nothing."""
        return sum(low > 0 for low in self.lows)

    @property
    def says_leak(self) -> bool:
        """Whether most runs say so."""
        return 2 * self.flagged > len(self.lows)

    def __str__(self) -> str:
        spread = f"[{np.mean(self.lows):.1f}, {np.mean(self.highs):.1f}]"
        return f"{np.mean(self.seconds):6.2f} s {self.mean:5.1f} {spread} leak in {self.flagged} of {len(self.lows)}"


ATTACKS = ("singling-out", "linkability", "inference")


def against_anonymeter(frame: pl.DataFrame, attacks: int = 2000, repeats: int = 3) -> None:
    """Both sides several times at the same number of targets; each run deals Adult out anew."""
    if importlib.util.find_spec("anonymeter") is None:
        print("anonymeter is not installed: pip install anonymeter")
        return
    sides: dict[tuple[str, str], tuple[Side, Side]] = {}
    for run in range(repeats):
        run_both(frame, attacks, run, sides)
    third = frame.height // 3
    print(f"\nAnonymeter, {attacks} attacks, {third:,} original and control rows, mean of {repeats} runs")
    for (name, attack), (theirs, mine) in sides.items():
        ratio = np.mean(theirs.seconds) / np.mean(mine.seconds)
        print(f"  {name:9s} {attack:12s} anonymeter {theirs} | ours {mine} | {ratio:4.0f} x", flush=True)
    print_conclusions(sides)


def run_both(
    frame: pl.DataFrame, attacks: int, run: int, sides: dict[tuple[str, str], tuple[Side, Side]]
) -> None:
    """One run: Adult in thirds, every planted file, every attack, both sides."""
    third = frame.height // 3
    mixed = frame.sample(fraction=1, shuffle=True, seed=run)
    train, control, others = mixed.head(third), mixed.slice(third, third), mixed.tail(third)
    halves = (train.columns[::2], train.columns[1::2])
    known = [c for c in train.columns if c != "occupation"]
    for name, made in planted(train, others).items():
        pair = Pair(train, made, control, targets=["occupation"])
        peers = peers_of(train.to_pandas(), made.to_pandas(), control.to_pandas(), halves, known, attacks)
        ours = ours_of(pair, halves, known, attacks, run + 1)
        for attack, peer in peers.items():
            theirs, mine = sides.setdefault((name, attack), (Side(), Side()))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds, evaluator = cpu(peer)
                risk = evaluator.risk(confidence_level=0.95)
            theirs.add(seconds, 100 * risk.value, 100 * risk.ci[0], 100 * risk.ci[1])
            seconds, result = cpu(ours[attack])
            mine.add(seconds, result.value, result.interval.low, result.interval.high)


def print_conclusions(sides: dict[tuple[str, str], tuple[Side, Side]]) -> None:
    """What each side concludes: a file leaks when some attack says so in most runs; files in order of the risk."""
    files = list(dict.fromkeys(name for name, _ in sides))
    for word, at in (("anonymeter", 0), ("ours", 1)):
        for attack in ATTACKS:
            ordered = sorted(files, key=lambda name: sides[name, attack][at].mean)
            print(f"  {attack:12s} {word:10s} order: {' < '.join(ordered)}")
        said = {name: [a for a in ATTACKS if sides[name, a][at].says_leak] for name in files}
        told = "; ".join(f"{name}: {', '.join(by) or 'no leak'}" for name, by in said.items())
        print(f"  {word:10s} leaks, by attack: {told}")


def against_sdmetrics(frame: pl.DataFrame, rows: int = 2000) -> None:
    if importlib.util.find_spec("sdmetrics") is None:
        print("sdmetrics is not installed: pip install sdmetrics")
        return
    from sdmetrics.single_table import CategoricalCAP, CategoricalGeneralizedCAP, DCRBaselineProtection

    mixed = frame.sample(3 * rows, shuffle=True, seed=0)
    real, other, held = mixed.head(rows), mixed.slice(rows, rows), mixed.tail(rows)
    text = [part.select(pl.col([*KEYS, "occupation"]).cast(pl.String)) for part in (real, other)]
    tables = [Table.from_frame(part) for part in text]
    frames = [part.to_pandas() for part in text]
    print(f"\nSDMetrics, {rows:,} rows", flush=True)
    fields = {"key_fields": KEYS, "sensitive_fields": ["occupation"]}
    theirs, score = cpu(lambda: CategoricalCAP.compute(*frames, **fields))
    mine, found = cpu(lambda: disclosure(Pair(*tables), "occupation", KEYS), 3)
    value = found.caps["dcap_found"] / 100
    print(
        f"  CAP  {theirs:7.2f} s (1 - {1 - score:.4f})   ours {mine:.4f} s ({value:.4f})   {theirs / mine:6.0f} x",
        flush=True,
    )
    theirs, score = cpu(lambda: CategoricalGeneralizedCAP.compute(*frames, **fields))
    mine, near = cpu(lambda: cap_scores(Pair(*tables), KEYS, "occupation"), 3)
    value = near.mean_gcap
    print(
        f"  GCAP {theirs:7.2f} s (1 - {1 - score:.4f})   ours {mine:.4f} s ({value:.4f})   {theirs / mine:6.0f} x",
        flush=True,
    )
    numbers = {c for c, t in zip(frame.columns, frame.dtypes, strict=True) if t.is_numeric()}
    columns = {c: {"sdtype": "numerical" if c in numbers else "categorical"} for c in frame.columns}
    real_frame, other_frame = real.to_pandas(), other.to_pandas()
    theirs, score = cpu(lambda: _dcr_peer(DCRBaselineProtection, real_frame, other_frame, columns))
    full = [Table.from_frame(part) for part in (real, other, held)]
    mine, share = cpu(lambda: dcr(Pair(*full), most=None), 3)
    line = f"  DCR  {theirs:7.2f} s ({score['score']:.3f})   ours {mine:.4f} s (share {share.value:.1f} %)"
    print(f"{line}   {theirs / mine:6.0f} x", flush=True)


def _dcr_peer(peer: Any, real: Any, other: Any, columns: Any) -> Any:
    return peer.compute_breakdown(
        real, other, {"tables": {"t": {"columns": columns}}, "relationships": []}, "t"
    )


def against_synthpop(frame: pl.DataFrame) -> None:
    made = make_synthesizer("cart").fit(Table.from_frame(frame), seed=1).sample(seed=2)
    table = Table.from_frame(frame)
    nine = [c for c in frame.columns if c not in KEYS][:9]
    one, found = cpu(lambda: disclosure(Pair(table, made), "occupation", KEYS), 5)
    many, _ = cpu(lambda: multi_target(Pair(table, made), KEYS, nine), 5)
    print("\nsynthpop disclosure on Adult (R figures from the baseline of this machine)")
    told = found.attribute["DiSCO"]
    print(
        f"  one target   R {R_ONE_TARGET:5.2f} s   ours {one:.4f} s   {R_ONE_TARGET / one:6.0f} x  DiSCO {told:.2f}"
    )
    print(f"  nine targets R {R_NINE_TARGETS:5.2f} s   ours {many:.4f} s   {R_NINE_TARGETS / many:6.0f} x")


def drawn(rows: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    keys = {f"k{i}": rng.integers(0, n, rows).astype(str) for i, n in enumerate((2, 80, 6, 5, 8, 40))}
    targets = {f"t{i}": rng.integers(0, 3 + 2 * i, rows).astype(str) for i in range(10)}
    return Table.from_frame(pl.DataFrame(keys | targets))


def big_tables(quick: bool) -> None:
    print("\nDisclosure tables, 6 keys, 10 targets, equal sizes of original and protected", flush=True)
    keys, targets, before = [f"k{i}" for i in range(6)], [f"t{i}" for i in range(10)], None
    for rows in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000):
        files = (drawn(rows, 1), drawn(rows, 2))
        seconds, _ = cpu(partial(_all_targets, files, keys, targets))
        grown = f"{seconds / before:5.1f} x" if before else ""
        print(f"  {rows:9,} x {rows:9,}  {seconds:7.3f} s  {grown}", flush=True)
        before = seconds


def _all_targets(files: tuple[Table, Table], keys: list[str], targets: list[str]) -> pl.DataFrame:
    return multi_target(Pair(*files), keys, targets)


def big_distances(quick: bool) -> None:
    from dalenius.data import examples

    print("\nDCR, mixed records (20 columns)", flush=True)
    drop = ["person_id", "household_id", "longitude", "latitude"]
    for rows in (10_000,) if quick else (10_000, 100_000):
        people = [examples.population(rows, seed=seed).drop(drop) for seed in (1, 2)]
        space = Space.of(Pair(*people))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        marks: list[int] = []
        seconds, _ = cpu(partial(_closest, space, marks))
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(
            f"  {rows:9,} x {rows:9,}  {seconds:7.2f} s  {more:6.0f} MB more  {len(marks)} progress calls",
            flush=True,
        )


def _closest(space: Space, marks: list[int]) -> Any:
    return space.nearest(space.protected, space.original, progress=lambda done, _: marks.append(done))


def main() -> None:
    quick = "--quick" in sys.argv
    frame = adult()
    small = Pair(frame.head(300), frame.tail(300), frame.slice(500, 300), keys=KEYS, targets=["occupation"])
    for warm in (singling_out, linkability, inference, gcap, dcr):
        warm(small)
    disclosure(small, "occupation", KEYS)
    sections: dict[str, Callable[[], None]] = {
        "distances": partial(big_distances, quick),
        "synthpop": partial(against_synthpop, frame),
        "sdmetrics": partial(against_sdmetrics, frame),
        "tables": partial(big_tables, quick),
        "anonymeter": partial(against_anonymeter, frame, repeats=1 if quick else 3),
    }
    for name in [word for word in sys.argv[1:] if word in sections] or sections:
        sections[name]()


if __name__ == "__main__":
    main()
