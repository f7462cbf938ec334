"""`dalenius tables` from the command line."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from tests.tables.golden_cases import CASES, FOLDER


@pytest.fixture
def run():
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, ["tables", *map(str, arguments)])


def test_protect_writes_table_and_page(run, tmp_path):
    (tmp_path / "geo.hrc").write_text("North\n@N1\n@N2\nSouth\n@S1\n@S2\n@S3\n")
    out, page = tmp_path / "out.csv", tmp_path / "out.html"
    result = run(
        "protect",
        FOLDER / "data" / "magnitude_firms.csv",
        "--by",
        "geo,sector",
        "--hier",
        tmp_path / "geo.hrc",
        "--rule",
        "contributors:2",
        "--rule",
        "p:10",
        "--value",
        "value",
        "--contributor",
        "company",
        "--out",
        out,
        "--html",
        page,
    )
    assert result.exit_code == 0, result.output
    assert "geo \\ sector" in result.output
    table = pl.read_csv(out)
    assert table.columns == ["geo", "sector", "value", "flag"]
    assert table.filter(pl.col("flag") == "c")["value"].is_null().all()
    assert 'class="u"' in page.read_text()


def test_protect_equals_golden(run):
    case = next(case for case in CASES if case["id"] == "small_dim_max3")
    result = run("protect", FOLDER / "data" / case["data"], "--by", "region,county,income", "--freq", "freq",
                 "--rule", "freq:3", "--json", "--quiet")  # fmt: skip
    found = json.loads(result.stdout)
    assert (found["primary"], found["primary"] + found["secondary"]) == (
        case["n_primary"],
        case["n_suppressed"],
    )
    assert found["audit"]["passed"]


def test_audit_of_a_published_file(run, tmp_path):
    out = tmp_path / "published.csv"
    run("protect", FOLDER / "data" / "freq_region_income.csv", "--by", "region,county,income", "--freq", "freq",
        "--rule", "freq:3", "--out", out)  # fmt: skip
    hier = f"region={FOLDER / 'data' / 'hier_region.csv'}"
    good = run("audit", out, "--by", "region,income", "--value", "freq", "--hier", hier)
    assert good.exit_code == 0, good.output
    lines = out.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("m03,benefit"))
    lines[place] = "m03,benefit,5,"
    out.write_text("\n".join(lines) + "\n")
    bad = run("audit", out, "--by", "region,income", "--value", "freq", "--hier", hier, "--json", "-q")
    assert bad.exit_code == 1
    assert not json.loads(bad.stdout)["passed"]


def test_perturb_repeats_with_the_same_key(run, tmp_path):
    outs = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for method in ("round", "cellkey", "controlled"):
        for out in outs:
            result = run(
                "perturb",
                FOLDER / "data" / "freq_region_income.csv",
                "--by",
                "region,income",
                "--freq",
                "freq",
                "--method",
                method,
                "--key-file",
                tmp_path / "key",
                "--out",
                out,
            )
            assert result.exit_code == 0, result.output
        assert outs[0].read_text() == outs[1].read_text()


def test_errors_are_one_line(run, tmp_path):
    for arguments in (
        ("protect", FOLDER / "data" / "freq_region_income.csv", "--by", "region,nowhere", "--rule", "freq:3"),
        ("protect", FOLDER / "data" / "freq_region_income.csv", "--by", "region"),
        ("protect", FOLDER / "data" / "freq_region_income.csv", "--by", "region", "--rule", "magic:1"),
        ("perturb", FOLDER / "data" / "freq_region_income.csv", "--by", "region", "--method", "magic"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2
