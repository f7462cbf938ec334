"""Files such as newcomers bring, made up here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app


class Newcomer:
    """Somebody who types commands, with nothing but their defaults."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def types(self, *words: object, code: int = 0) -> str:
        """What is seen, on both streams."""
        result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})
        assert result.exit_code == code, result.output
        return result.output


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    return Newcomer(tmp_path)


def survey(rows: int = 1500) -> pl.DataFrame:
    """A survey as R writes it: codes, a derived column, questions not asked of some, gaps."""
    rng = np.random.default_rng(11)
    age = rng.integers(16, 95, rows)
    height = rng.normal(170, 9, rows).round().astype(int)
    weight = (height - 100 + rng.normal(0, 9, rows)).round().astype(int)
    smokes = rng.random(rows) < 0.3
    income = (rng.lognormal(7, 0.6, rows) / 50).round() * 50
    gap = rng.random(rows) < 0.12
    lost = rng.random(rows) < 0.03
    region = rng.choice(["Mazowieckie", "Lubuskie", "Podlaskie"], rows)
    frame = pl.DataFrame(
        {
            "sex": rng.choice(["FEMALE", "MALE"], rows),
            "age": age,
            "agegr": pl.Series(age)
            .cut([24, 34, 44, 59, 64], labels=["a", "b", "c", "d", "e", "f"])
            .cast(pl.String),
            "region": np.where(rng.random(rows) < 0.02, None, region),
            "income": [None if g else int(i) for g, i in zip(gap, income, strict=True)],
            "smoke": np.where(smokes, "YES", "NO"),
            "nociga": np.where(smokes, rng.integers(1, 41, rows), -8),
            "height": [None if x else int(h) for x, h in zip(lost, height, strict=True)],
            "weight": weight,
        }
    )
    return frame.with_columns(bmi=pl.col("weight") / (pl.col("height") / 100) ** 2)
