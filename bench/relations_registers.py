"""Relational or single-table synthesis on simulated benefit registers (Slokom et al. 2024), beside the paper's columns.

Rules, regression and attack of `examples.benefit_registers` for ten seeds of each method:
``python bench/relations_registers.py [people] [seeds]``. The figures of a prototype (20,000 people) stand beside, and
the paper's rule compliance, which comes from confidential data.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

import dalenius
from dalenius import Table
from dalenius.data import Database, examples
from dalenius.risk.attack.repeats import attribute_inference
from dalenius.utility.rules import rule_table

KNOWN = ["country", "birth_year", "gender", "mother_year", "father_year"]
PROTOTYPE = {
    "real": {
        "year": -44.82,
        "year se": 0.96,
        "ioaw": -1349,
        "ioaw se": 406,
        "rmse": 2002.5,
        "f1": 0.557,
        "mcc": 0.114,
    },
    "join": {
        "year": -45.09,
        "year se": 0.97,
        "ioaw": -996,
        "ioaw se": 369,
        "rmse": 2002.6,
        "f1": 0.551,
        "mcc": 0.103,
    },
    "independent": {
        "year": 1.78,
        "year se": 1.04,
        "ioaw": -91,
        "ioaw se": 81,
        "rmse": 2100.2,
        "f1": 0.505,
        "mcc": 0.011,
    },
}
PAPER = {
    "rules CART": [100.0] * 6,
    "rules Multi": [4.0, 96.2, 99.5, 95.7, 4.1, 0.8],
    "prior": [4.1, 96.1, 99.5, 95.9, 3.8, 0.4],
}


def wide(base: Database) -> pl.DataFrame:
    """Both registers side by side."""
    return base["gba"].to_frame("polars").join(base["bij"].to_frame("polars"), on="id").drop("id")


def independent(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Every column in an order of its own."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame([c.gather(rng.permutation(frame.height)) for c in frame.iter_columns()])


def regression(frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and standard errors of days on benefit: intercept, birth year, gender, ioaw."""
    x, y = _design(frame)
    found, *_ = np.linalg.lstsq(x, y, rcond=None)
    spread = float(((y - x @ found) ** 2).sum() / (len(y) - 4))
    return found, np.sqrt(spread * np.diag(np.linalg.pinv(x.T @ x)))


def _design(frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    held = frame.drop_nulls("start_bijstand").filter(pl.col("bijstand") == 1)
    days = (pl.date(2022, 1, 1) - pl.col("start_bijstand")).dt.total_days()
    y = held.select(days.alias("d"))["d"].to_numpy().astype(float)
    x = np.column_stack(
        [np.ones(len(y)), *(held[n].to_numpy().astype(float) for n in ("birth_year", "gender", "ioaw"))]
    )
    return x, y


def figures(frame: pl.DataFrame, test: pl.DataFrame, people: pl.DataFrame) -> dict[str, float]:
    """Slope, error on people who were in no file, and the attack of a tree on ten thousand people."""
    slopes, errors = regression(frame)
    x, y = _design(test)
    attack = attribute_inference(
        {"file": frame},
        people,
        "bijstand",
        KNOWN,
        models=["tree"],
        fractions=[1.0],
        repeats=1,
        real=None,
        seed=1,
        groups=400,  # every year by itself, as the prototype has it
    ).filter(pl.col("model") == "tree")
    return {
        "year": slopes[1], "year se": errors[1], "ioaw": slopes[3], "ioaw se": errors[3],
        "rmse": float(np.sqrt(np.mean((y - x @ slopes) ** 2))), "f1": attack["macro F1"][0], "mcc": attack["MCC"][0],
    }  # fmt: skip


def study(people: int = 20_000, seeds: int = 10) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compliance with the six rules, and the other figures, one row a file."""
    base = examples.benefit_registers(people, seed=7)
    real = wide(base)
    test, targets = (wide(examples.benefit_registers(n, seed=s)) for n, s in ((2000, 99), (10_000, 123)))
    files = {"real": [real], "independent": [independent(real, s) for s in range(seeds)]}
    for method in ("join", "conditional", "hma"):
        files[method] = [wide(dalenius.synthesize(base, method, seed=s)) for s in range(seeds)]
    rows, kept = [], []
    for name, made in files.items():
        for number, frame in enumerate(made):
            facts = rule_table(
                Table.from_frame(real), {"f": Table.from_frame(frame)}, examples.REGISTER_RULES
            )
            for i, (rule, prior, found) in enumerate(facts.select("rule", "prior", "f").iter_rows(), 1):
                flag, value = (("bijstand", "ioaw", "ioaz")[(i - 1) // 2], (i - 1) % 2)
                n = frame.filter(pl.col(flag) == value).height
                kept.append(
                    {
                        "file": name,
                        "seed": number,
                        "rule": i,
                        "text": rule,
                        "prior": prior,
                        "kept": found,
                        "rows": n,
                    }
                )
            rows.append({"file": name, "seed": number, **figures(frame, test, targets)})
    return pl.DataFrame(kept, infer_schema_length=None), pl.DataFrame(rows)


def spread(people: int, draws: int) -> dict[str, float]:
    """Standard deviation of each figure of real registers, everything drawn anew: of one draw, as the prototype is."""
    rows = []
    for seed in range(200, 200 + draws):
        real = wide(examples.benefit_registers(people, seed=seed))
        test, targets = (
            wide(examples.benefit_registers(n, seed=s)) for n, s in ((2000, seed + 50), (10_000, seed + 99))
        )
        rows.append(figures(real, test, targets))
    for name in ("year", "ioaw", "rmse", "f1", "mcc"):
        held = [row[name] for row in rows]
        far = (PROTOTYPE["real"][name] - np.mean(held)) / np.std(held, ddof=1)
        print(
            f"real {name}, {draws} draws: {np.mean(held):.4g}, the prototype's one is {far:+.2f} deviations away"
        )
    return {name: float(np.std([row[name] for row in rows], ddof=1)) for name in rows[0]}


def beside(rows: pl.DataFrame, kept: pl.DataFrame, apart: dict[str, float]) -> None:
    """Differences from the prototype in standard errors of one draw each; rules of methods without them from chance."""
    for name, told in PROTOTYPE.items():
        mine = rows.filter(pl.col("file") == name)
        for word in ("year", "ioaw", "rmse", "f1", "mcc"):
            error = told.get(f"{word} se") or apart[word]
            error = float(
                np.hypot(error, apart[word] if word in ("rmse", "f1", "mcc") else mine[f"{word} se"].mean())
            )
            found = float(mine[word].mean())  # type: ignore[arg-type]
            print(
                f"{name} {word}: {found:.4g}, prototype {told[word]:.4g}: {(found - told[word]) / error:+.2f} s.e."
            )
    for name in ("independent", "hma"):
        far = []
        for rule, prior, share, n in (
            kept.filter((pl.col("file") == name) & pl.col("kept").is_not_null())
            .select("rule", "prior", "kept", "rows")
            .iter_rows()
        ):
            error = 100 * np.sqrt(prior / 100 * (1 - prior / 100) / max(n, 1))
            far.append((rule, (share - prior) / error))
        inside = np.mean([abs(z) <= 2 for _, z in far])
        print(f"{name}: rules of {len(far)} files by rule within 2 s.e. of chance: {100 * inside:.0f} %, "
              f"mean {np.mean([z for _, z in far]):+.2f} s.e.")  # fmt: skip


def main() -> None:
    """Print both tables."""
    people, seeds = (int(a) for a in (sys.argv[1:] + ["20000", "10"][len(sys.argv) - 1 :])[:2])
    kept, rows = study(people, seeds)
    pl.Config.set_tbl_rows(60)
    pl.Config.set_tbl_cols(12)
    pl.Config.set_fmt_str_lengths(60)
    print(kept.group_by("rule", "file", maintain_order=True).agg(
        pl.col("kept").mean(), pl.col("kept").min().alias("least"), pl.col("prior").first()
    ).pivot("file", index=["rule", "prior"], values=["kept", "least"]))  # fmt: skip
    print(rows.group_by("file", maintain_order=True).mean().drop("seed"))
    beside(rows, kept, spread(people, 3 * seeds))
    print("paper:", PAPER)


if __name__ == "__main__":
    main()
