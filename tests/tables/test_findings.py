"""Through the door users take, with the defaults: a table that is not safe is not handed out, and names its cells."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app


@pytest.fixture(scope="module")
def run():
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, ["tables", *map(str, arguments)])


@pytest.fixture(scope="module")
def firms(tmp_path_factory):
    rng = np.random.default_rng(7)
    size = 150
    frame = pl.DataFrame({
        "region": rng.choice([f"r{i}" for i in range(5)], size, p=np.arange(1, 6) / 15),
        "branch": rng.choice([f"b{i}" for i in range(7)], size, p=np.arange(1, 8) / 28),
        "turnover": np.round(rng.lognormal(4, 1.5, size), 1),
    })  # fmt: skip
    file = tmp_path_factory.mktemp("firms") / "firms.csv"
    frame.write_csv(file)
    return file


def test_a_newcomers_first_table_of_sums_is_safe(run, firms, tmp_path):
    """Counts up to 3 in a table of sums: empty cells are no small counts, and the audit passes after repair."""
    out = tmp_path / "t.csv"
    done = run("protect", firms, "--by", "region,branch", "--value", "turnover", "--rule", "freq:3", "-o", out,
               "--json", "-q")  # fmt: skip
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["audit"]["passed"]
    table = pl.read_csv(out)
    assert "audit" not in table.columns
    data = pl.read_csv(firms)
    present = set(data.select("region", "branch").iter_rows())
    empty = [row for row in table.iter_rows(named=True)
             if "Total" not in (at := (row["region"], row["branch"])) and at not in present]  # fmt: skip
    assert empty
    assert not any(row["flag"] == "c" for row in empty)


@pytest.fixture
def leaky(tmp_path):
    """Everything but the small cell must be published: no protection is possible."""
    (tmp_path / "people.csv").write_text("sex,n\nf,2\nm,9\n")
    (tmp_path / "forced.csv").write_text("sex\nm\nTotal\n")
    return [
        tmp_path / "people.csv",
        "--by",
        "sex",
        "--freq",
        "n",
        "--rule",
        "freq:3",
        "--forced",
        tmp_path / "forced.csv",
    ]


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet", "json", "sdmx.csv", "rds"])
def test_an_unsafe_table_is_not_written(run, leaky, tmp_path, ending):
    out, page = tmp_path / f"out.{ending}", tmp_path / "page.html"
    refused = run("protect", *leaky, "-o", out, "--html", page)
    assert refused.exit_code == 1
    assert not out.exists()
    assert not page.exists()
    assert "nothing was written" in refused.output
    assert "can be computed exactly" in " ".join(refused.output.split())
    forced = run("protect", *leaky, "-o", out, "--html", page, "--force")
    assert forced.exit_code == 0
    assert out.exists()
    assert "NOT SAFE" in page.read_text()


def test_a_table_that_was_not_audited_needs_force_too(run, tmp_path):
    (tmp_path / "people.csv").write_text("sex,n\nf,2\nm,9\nx,5\n")
    given = [tmp_path / "people.csv", "--by", "sex", "--freq", "n", "--no-audit", "-o", tmp_path / "t.csv"]
    assert run("protect", *given).exit_code == 2
    assert not (tmp_path / "t.csv").exists()
    assert run("protect", *given, "--force").exit_code == 0
    assert "NOT SAFE" in (tmp_path / "t.csv").read_text()


@pytest.fixture(scope="module")
def written(run, firms, tmp_path_factory):
    """The same table in every format."""
    place = tmp_path_factory.mktemp("written")
    for ending in ("csv", "xlsx", "parquet", "json", "tab"):
        out = place / f"t.{ending}"
        done = run("protect", firms, "--by", "region,branch", "--value", "turnover", "-q", "-o", out)
        assert done.exit_code == 0, done.output
    return place


def test_endings_are_formats(run, firms, written, tmp_path):
    assert zipfile.is_zipfile(written / "t.xlsx")
    assert pl.read_parquet(written / "t.parquet").columns == ["region", "branch", "value", "flag"]
    assert json.loads((written / "t.json").read_text())["class"] == "dataset"
    assert (written / "t.tab").read_text().startswith('"Total";"Total";')
    assert (written / "t.rda").exists()
    given = ["protect", firms, "--by", "region,branch", "--value", "turnover", "-q"]
    assert run(*given, "-o", tmp_path / "t.doc").exit_code == 2


def test_values_have_the_decimals_of_the_data(written):
    shown = pl.read_csv(written / "t.csv", infer_schema=False)["value"].drop_nulls()
    assert all(len(text.partition(".")[2]) == 1 for text in shown)


def test_what_was_written_can_be_audited_again(run, written):
    for ending in ("xlsx", "parquet", "json"):
        audited = run("audit", written / f"t.{ending}")
        assert audited.exit_code in (0, 1)  # all suppressed cells count as protected here
        assert "Traceback" not in audited.output


def test_the_smallest_linked_leak_from_the_command_line(run, tmp_path):
    (tmp_path / "p.csv").write_text(
        "sector4,sector2,n\nAgri,private,2\nEnt,private,30\nInd,private,20\nGov,public,10\n"
    )
    for how in (
        "global",
        "local",
        "local-bdiag",
        "back-tracking",
        "consistent",
        "super-consistent",
        "chained",
    ):
        done = run("protect", tmp_path / "p.csv", "--table", "two=~ sector2", "--table", "four=~ sector4", "--freq",
                   "n",                   "--rule", "freq:3", "--link", how, "--json", "-q")  # fmt: skip
        assert done.exit_code == 0, how
        assert json.loads(done.stdout)["audit"]["passed"], how
