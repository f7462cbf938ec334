"""Models: membership attacks beside SACRO-ML and ART on Adult, the cost of LiRA over its refits, growth with records.

Run as ``python bench/models.py adult [python of the peers]``, ``… rules``, ``… time`` or ``… scale [most records]``.
The peers live in an environment of their own (``pip install sacroml adversarial-robustness-toolbox``), run by
``models_peer.py``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from _shared import adult_file, cpu
from dalenius.data import Table
from dalenius.models import ModelCase, lira, loss_attack, refit, sacro, shadow_attack, structure
from dalenius.models.design import Design

ROWS, SHADOWS = 2000, 16
MODELS = {
    "forest, leaves of 1": lambda: RandomForestClassifier(100, min_samples_leaf=1, random_state=1),
    "forest, leaves of 50": lambda: RandomForestClassifier(100, min_samples_leaf=50, random_state=1),
    "logistic": lambda: LogisticRegression(max_iter=2000, random_state=1),
}


def adult_arrays() -> tuple[np.ndarray, np.ndarray]:
    """Adult as numbers: texts are one column a level, numbers scaled."""
    path = adult_file()
    if path is None:
        sys.exit("Adult is not at hand")
    # the file has another ending than .csv in its wheel
    table = Table.from_frame(pl.read_csv(path, null_values="?", infer_schema_length=None))
    target = table.names[-1]
    design = Design.of(table.names[:-1], [table], named=True)
    matrix, parts = design.matrix(table), []
    for column, levels in zip(matrix.T, design.levels, strict=True):
        if levels is None:
            parts.append(((column - np.nanmean(column)) / np.nanstd(column))[:, None])
        else:
            parts.append((column[:, None] == np.arange(len(levels))) * 1.0)
    return np.nan_to_num(np.concatenate(parts, axis=1)), table[target].categories.codes.astype(np.int64)


def case_of(model, x, y, n) -> ModelCase:
    def frame(rows):
        return {**{f"c{i}": x[rows, i] for i in range(x.shape[1])}, "y": y[rows]}

    inside, outside = np.arange(n), np.arange(n, 2 * n)
    return ModelCase.of(model.fit(x[:n], y[:n]), frame(inside), frame(outside), target="y")


def adult(peers: str | None) -> None:
    x, y = adult_arrays()
    order = np.random.default_rng(1).permutation(len(x))[: 3 * ROWS]
    x, y = x[order], y[order]
    theirs = {}
    if peers:
        with tempfile.TemporaryDirectory() as place:
            np.savez(Path(place) / "data.npz", x=x, y=y, n=ROWS, shadows=SHADOWS)
            command = [peers, str(Path(__file__).with_name("models_peer.py")), str(Path(place) / "data.npz")]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            theirs = json.loads(done.stdout.strip().splitlines()[-1])
    for name, make in MODELS.items():
        case = case_of(make(), x, y, ROWS)
        found = {"lira": lira(case, SHADOWS), "loss": loss_attack(case), "shadow": shadow_attack(case)}
        told = ", ".join(f"{k} {r.value:.3f} {r.interval}" for k, r in found.items())
        same = ", ".join(f"{k} {v:.3f}" for k, v in peers_rule(case).items())
        print(f"{name}: {told}; its rule on our refits {same}; peers {theirs.get(name)}", flush=True)
    strangers = make_strangers(x, y)
    told = ", ".join(
        f"{a.__name__} {a(strangers).value:.3f} {a(strangers).interval}" for a in (loss_attack, lira)
    )
    print(f"a model of strangers: {told}")


def peers_rule(case: ModelCase) -> dict[str, float]:
    """SACRO-ML's figure on our refits: what is left between this and the peer is the draw of the refits."""
    made = refit(case, SHADOWS)
    return {mode: sacro(case, mode=mode, refits=made).value for mode in ("offline", "online-carlini")}


def rules() -> None:
    """Our likelihood ratio beside SACRO-ML's on the same refits, on data that our rule was not chosen on."""
    noisy = make_classification(4000, 20, n_informative=6, flip_y=0.2, random_state=1)
    several = make_classification(4000, 20, n_informative=8, n_classes=4, random_state=2)
    digits, cancer = load_digits(return_X_y=True), load_breast_cancer(return_X_y=True)
    for data, (x, y) in {"noisy": noisy, "four classes": several, "digits": digits, "cancer": cancer}.items():
        order = np.random.default_rng(1).permutation(len(x))
        for model in ("forest, leaves of 1", "forest, leaves of 50"):
            case = case_of(MODELS[model](), x[order], y[order], len(x) // 2)
            theirs = ", ".join(f"{k} {v:.3f}" for k, v in peers_rule(case).items())
            print(f"{data}, {model}: ours {lira(case, SHADOWS).value:.3f}; its rule {theirs}", flush=True)


def make_strangers(x, y) -> ModelCase:
    """A forest of the third group, asked about the first two."""
    model = RandomForestClassifier(100, random_state=1).fit(x[2 * ROWS :], y[2 * ROWS :])

    def frame(rows):
        return {**{f"c{i}": x[rows, i] for i in range(x.shape[1])}, "y": y[rows]}

    return ModelCase.of(model, frame(np.arange(ROWS)), frame(np.arange(ROWS, 2 * ROWS)), target="y")


def refit_cost() -> None:
    """LiRA over 16 refits of 4,000 x 20, beside the refits alone."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(8000, 20))
    y = (x[:, 0] + rng.normal(size=8000) > 0).astype(int)
    for name, make in {
        "forest": lambda: RandomForestClassifier(100, random_state=1),
        "tree": lambda: DecisionTreeClassifier(random_state=1),
    }.items():
        case = case_of(make(), x, y, 4000)

        def alone(make=make):
            for run in range(SHADOWS):
                rows = np.random.default_rng(run).permutation(8000)[:4000]
                make().fit(x[rows], y[rows])

        least, _ = cpu(alone, 2)
        whole, _ = cpu(lambda case=case: lira(case, SHADOWS), 2)
        print(f"{name}: 16 refits {least:.2f} s, LiRA {whole:.2f} s: {whole / least:.2f}x", flush=True)


def scale(most: int) -> None:
    """Structure and loss attack: CPU seconds and memory beyond the records."""
    last = None
    for rows in [n for n in (10_000, 100_000, 1_000_000) if n <= most]:
        rng = np.random.default_rng(1)
        x = rng.normal(size=(2 * rows, 20))
        y = (x[:, 0] + rng.normal(size=2 * rows) > 0).astype(int)
        case = case_of(DecisionTreeClassifier(min_samples_leaf=20, random_state=1), x, y, rows)
        tracemalloc.start()
        start = time.process_time()
        structure(case)
        loss_attack(case)
        seconds, memory = time.process_time() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        grown = (
            ""
            if last is None
            else (
                f", exponents {np.log(seconds / last[1]) / np.log(rows / last[0]):.2f} and "
                f"{np.log(memory / last[2]) / np.log(rows / last[0]):.2f}"
            )
        )
        print(f"{rows:9,} records: {seconds:.2f} s, {memory / 1e6:.0f} MB{grown}", flush=True)
        last = (rows, seconds, memory)


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else "time"
    more = sys.argv[2] if len(sys.argv) > 2 else None
    if what == "adult":
        adult(more)
    elif what == "rules":
        rules()
    elif what == "time":
        refit_cost()
    else:
        scale(int(more or 1_000_000))
