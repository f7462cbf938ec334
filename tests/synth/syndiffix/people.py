"""The people SynDiffix is tried on: an identifier, two numbers that go together, names and groups."""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.data import Schema, Table


def mixed(rows: int = 1500, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows).round(2)
    return pl.DataFrame(
        {
            "id": rng.permutation(np.arange(10_000, 10_000 + rows)),
            "x": x,
            "n": rng.poisson(np.exp(x / 2) * 30),
            "s": rng.choice(["anna", "bert", "cleo", "dora"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "g": rng.choice(["u", "v"], rows),
            "h": np.where(x > 0, "up", "down"),
        }
    )


def with_entity(frame: pl.DataFrame, name: str = "id") -> Table:
    return Table.from_frame(frame, Schema.infer(frame).with_roles(entity=name))
