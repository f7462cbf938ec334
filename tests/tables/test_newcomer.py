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


def plants(path: Path) -> Path:
    """Firms with one to three plants each; one of them has all of a sector in the north."""
    rows = [
        (f"F{i % 60}", "NSW"[i % 3], ["food", "metal", "trade"][i % 7 % 3], 50 + i * i % 97)
        for i in range(180)
    ]
    rows += [("giant", "N", "energy", 900 + i) for i in range(4)] + [
        (f"E{i}", "S", "energy", 90 + i) for i in range(9)
    ]
    pl.DataFrame(rows, schema=["firm", "region", "sector", "turnover"], orient="row").write_csv(path)
    return path


def test_the_way_to_suppress_can_be_chosen_and_takes_no_option_of_another(tmp_path: Path) -> None:
    data = plants(tmp_path / "plants.csv")
    table = (
        "tables",
        "protect",
        data,
        "--by",
        "region,sector",
        "--value",
        "turnover",
        "--contributor",
        "firm",
    )
    for way in ("optimal", "sequential"):
        made = run(*table, "--way", way, "-o", tmp_path / f"{way}.csv")
        assert made.exit_code == 0, made.output
        assert "c" in pl.read_csv(tmp_path / f"{way}.csv")["flag"].to_list()
    assert "No pattern with less loss exists" in " ".join(run(*table, "--way", "optimal").output.split())
    refused = run(*table, "--way", "optimal", "--no-unions", "--small", "none", "--singleton-zeros")
    assert refused.exit_code == 2
    assert "--small, --singleton-zeros, --no-unions: only with --way suppression" in " ".join(
        refused.output.split()
    )
    unknown = run(*table, "--way", "best")
    assert unknown.exit_code == 2
    assert "'suppression', 'optimal', 'sequential'" in " ".join(unknown.output.split())


def test_a_published_table_in_the_place_of_microdata_is_recognised(tmp_path: Path) -> None:
    data, out = plants(tmp_path / "plants.csv"), tmp_path / "last.csv"
    table = ("--by", "region,sector", "--value", "turnover")
    assert run("tables", "protect", data, *table, "--contributor", "firm", "-o", out).exit_code == 0
    wrong = run("tables", "years", out, data, "--by", "region,sector", "--value", "value")
    said = " ".join(wrong.output.split())
    assert wrong.exit_code == 2
    assert "last.csv: column 'region' has rows of totals" in said
    assert "--forced" in said
    assert "--manual" in said
    pl.read_csv(data).with_columns(region=pl.lit(None)).write_csv(tmp_path / "gaps.csv")
    other = run("tables", "years", tmp_path / "gaps.csv", data, *table)
    assert other.exit_code == 2
    assert "--forced" not in other.output


def test_cells_named_by_hand_do_not_replace_the_usual_rules(tmp_path: Path) -> None:
    data, cells = plants(tmp_path / "plants.csv"), tmp_path / "cells.csv"
    cells.write_text("region,sector\nW,food\n")
    made = run(
        "tables", "protect", data, "--by", "region,sector", "--value", "turnover", "--contributor", "firm",
        "--manual", cells,
    )  # fmt: skip
    said = " ".join(made.output.split())
    assert "manual 1" in said
    assert "few contributors 1" in said


def test_a_rule_on_contributors_asks_for_the_values_by_their_option(tmp_path: Path) -> None:
    wrong = run("tables", "protect", plants(tmp_path / "p.csv"), "--by", "region", "--rule", "nk:1,75")
    assert wrong.exit_code == 2
    assert "--value" in wrong.output
