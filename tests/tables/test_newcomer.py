"""A first table through the command line: what was written can be audited, and two tables do not give a third away."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from typer.testing import CliRunner, Result

from dalenius.cli import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def patients(path: Path) -> Path:
    """Three people in intensive care have cancer, nobody there has a fracture."""
    stays = {("ICU", "C50"): 3, ("ICU", "I21"): 6, ("ICU", "J18"): 6}
    stays |= {(ward, icd): 20 for ward in ("surgery", "medicine") for icd in ("C50", "I21", "J18", "S72")}
    rows = [(ward, icd, 3 + i % 7) for (ward, icd), n in stays.items() for i in range(n)]
    pl.DataFrame(rows, schema=["ward", "icd", "days"], orient="row").write_csv(path)
    return path


def test_means_do_not_tell_the_counts_that_the_table_of_counts_withholds(tmp_path: Path) -> None:
    data = patients(tmp_path / "patients.csv")
    for words in (["protect"], ["statistic", "--statistic", "mean", "--value", "days"]):
        made = run(
            "tables", words[0], data, *words[1:], "--by", "ward,icd", "-o", tmp_path / f"{words[0]}.csv"
        )
        assert made.exit_code == 0, made.output
    counts, means = (pl.read_csv(tmp_path / f"{name}.csv") for name in ("protect", "statistic"))
    both = counts.join(means, on=["ward", "icd"], suffix="_of_means")
    withheld = both.filter(pl.col("flag") == "c", pl.col("ward") == "ICU", pl.col("icd") != "Total")
    small = withheld.filter(pl.col("icd").is_in(["C50", "S72"]))
    assert small.height == 2
    assert small["mean"].null_count() == 2
    assert small["flag_of_means"].to_list() == ["c", "c"]  # nobody and three people look alike


def test_what_protect_wrote_can_be_audited_without_naming_a_column(tmp_path: Path) -> None:
    data = patients(tmp_path / "patients.csv")
    for more in ([], ["--value", "days"]):
        out = tmp_path / "out.csv"
        assert run("tables", "protect", data, "--by", "ward,icd", *more, "-o", out).exit_code == 0
        audited = run("tables", "audit", out, "--by", "ward,icd")
        assert audited.exit_code == 0, audited.output
    wrong = run("tables", "audit", out, "--by", "ward,icd", "--value", "days")
    assert wrong.exit_code == 2
    assert "besides the dimensions there are 'value', 'flag'" in " ".join(wrong.output.split())


def test_a_table_without_small_cells_is_not_said_to_have_intervals(tmp_path: Path) -> None:
    data = patients(tmp_path / "patients.csv")
    made = run("tables", "protect", data, "--by", "ward", "--value", "days")
    assert "No cell is protected, so there is none to compute." in " ".join(made.output.split())
