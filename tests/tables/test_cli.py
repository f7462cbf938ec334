"""`dalenius tables` from the command line."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.data import Schema
from dalenius.tables import read_table_file
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
        "--output",
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
        "--rule", "freq:3", "--output", out)  # fmt: skip
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
                "--output",
                out,
            )
            assert result.exit_code == 0, result.output
        assert outs[0].read_text() == outs[1].read_text()


def test_errors_are_one_line(run, tmp_path):
    for arguments in (
        ("protect", FOLDER / "data" / "freq_region_income.csv", "--by", "region,nowhere", "--rule", "freq:3"),
        ("protect", FOLDER / "data" / "freq_region_income.csv"),
        ("protect", FOLDER / "data" / "freq_region_income.csv", "--by", "region", "--rule", "magic:1"),
        ("perturb", FOLDER / "data" / "freq_region_income.csv", "--by", "region", "--method", "magic"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2


@pytest.fixture
def people(tmp_path):
    file = tmp_path / "people.csv"
    file.write_text("sex,job,age,n\nf,a,y,2\nf,b,o,9\nm,a,o,8\nm,b,y,7\nf,c,y,6\nm,c,o,5\n")
    return file


def test_linked_tables_in_files_of_their_own(run, people, tmp_path):
    result = run("protect", people, "--table", "jobs=sex,job", "--table", "ages=~ sex*age", "--freq", "n", "--rule",
                 "freq:3", "--link", "super-consistent", "--output", tmp_path / "out.csv")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "sex \\ job" in result.output
    assert "sex \\ age" in result.output
    assert pl.read_csv(tmp_path / "out-jobs.csv")["freq"].null_count() == 4
    assert pl.read_csv(tmp_path / "out-ages.csv")["freq"].null_count() == 0


def test_cells_from_files(run, people, tmp_path):
    """Cells to protect, to publish, not to publish, and to keep if possible, each from a file of codes."""
    cells = {
        "manual": "sex,job\nm,b\n",
        "forced": "sex,job\nTotal,c\n",
        "hidden": "sex,job\nm,c\n",
        "usefulness": "sex,job,weight\nf,b,1000\n",
    }
    options = []
    for name, text in cells.items():
        (tmp_path / f"{name}.csv").write_text(text)
        options += [f"--{name}", tmp_path / f"{name}.csv"]
    out = tmp_path / "out.csv"
    result = run(
        "protect", people, "--by", "sex,job", "--freq", "n", "--rule", "freq:2", *options, "--output", out
    )
    assert result.exit_code == 0, result.output
    shown = {row[:2]: row[2] for row in pl.read_csv(out).iter_rows()}
    assert shown["m", "b"] is None
    assert shown["Total", "c"] == 11
    assert ("m", "c") not in shown
    refused = run("protect", people, "--table", "jobs=sex,job", "--table", "ages=sex,age", "--freq", "n", "--rule",
                  "freq:3", "--link", "local", *options)  # fmt: skip
    assert refused.exit_code == 2


def test_structural_zeros_from_a_file(run, tmp_path):
    (tmp_path / "in.csv").write_text("a,b,n\nx,p,5\nx,q,9\ny,p,7\ny,r,6\n")
    (tmp_path / "never.csv").write_text("a,b\ny,q\nx,r\n")
    wide = run(
        "protect",
        tmp_path / "in.csv",
        "--by",
        "a,b",
        "--freq",
        "n",
        "--rule",
        "freq:2",
        "--extend0",
        "--json",
    )
    none = run("protect", tmp_path / "in.csv", "--by", "a,b", "--freq", "n", "--rule", "freq:2", "--extend0",
               "--structural", tmp_path / "never.csv", "--json", "-q")  # fmt: skip
    assert json.loads(wide.stdout[wide.stdout.index("{") :])["primary"] == 2
    assert json.loads(none.stdout)["secondary"] == 0


def test_insiders_and_coalitions(run, tmp_path):
    (tmp_path / "in.csv").write_text("a,firm,v\nx,A,4\ny,B,5\nz,C,9\n")
    call = ("protect", tmp_path / "in.csv", "--by", "a", "--value", "v", "--contributor", "firm", "--rule",
            "contributors:1", "--json", "-q")  # fmt: skip
    assert json.loads(run(*call).stdout)["audit"]["passed"]
    for more in (("--coalition", "A,B"), ("--insiders", "--range-min", "10")):
        assert not json.loads(run(*call, *more).stdout)["audit"]["passed"]


def test_methods_side_by_side(run, people, tmp_path):
    result = run("compare", people, "--by", "sex,job", "--freq", "n", "--rule", "freq:3", "--key-file",
                 tmp_path / "key", "--output", tmp_path / "loss.csv")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "known %" in result.output
    ways = pl.read_csv(tmp_path / "loss.csv")["way"].to_list()
    assert ways[:2] == ["suppression", "optimal"]
    assert {"adjusted", "filled in", "controlled rounding", "cell keys", "budget"} <= set(ways)


def test_faults_of_files_and_names_are_told(run, people, tmp_path):
    (tmp_path / "use.csv").write_text("sex,job,weight\nf,a,SECRET\n")
    (tmp_path / "man.csv").write_text("sex\nf\n")
    (tmp_path / "empty.key").write_bytes(b"")
    cross = (people, "--by", "sex,job", "--freq", "n")
    for arguments, said in (
        (
            ("protect", *cross, "--rule", "freq:3", "--usefulness", tmp_path / "use.csv"),
            "'weight' are not numbers",
        ),
        (("protect", *cross, "--rule", "freq:3", "--manual", tmp_path / "man.csv"), "no column 'job'"),
        (
            ("protect", people, "--table", "a=sex,job", "--table", "a=sex,age", "--rule", "freq:3"),
            "same name",
        ),
        (
            ("protect", people, "--table", "a/b=sex,job", "--table", "c=sex,age", "--rule", "freq:3"),
            "file name",
        ),
        (("perturb", *cross, "--key-file", tmp_path / "empty.key"), "the key is empty"),
        (("perturb", *cross, "--key-file", tmp_path / "nowhere" / "a.key"), "cannot be read or written"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert said in result.stderr
        assert "SECRET" not in result.output


def test_a_new_key_is_for_its_owner_only(run, people, tmp_path):
    assert run("perturb", people, "--by", "sex", "--key-file", tmp_path / "new.key").exit_code == 0
    assert (tmp_path / "new.key").stat().st_mode & 0o077 == 0
    assert len((tmp_path / "new.key").read_bytes()) == 32


def test_statistics_and_years(run, tmp_path):
    rows = [f"{'NSEW'[i % 4]},{i % 3},{10 + i % 7}.5,{1 + i % 5}" for i in range(120)]
    (tmp_path / "now.csv").write_text("region,kind,pay,staff\n" + "\n".join(rows) + "\n")
    (tmp_path / "last.csv").write_text("region,kind,pay,staff\n" + "\n".join(rows[:100]) + "\n")
    given = [tmp_path / "now.csv", "--by", "region,kind", "--value", "pay"]
    for kind, more in (("mean", []), ("ratio", ["--denominator", "staff"]), ("share", []), ("median", []),
                       ("index", ["--base-data", tmp_path / "last.csv"])):  # fmt: skip
        out = tmp_path / f"{kind}.csv"
        done = run("statistic", *given, "--statistic", kind, *more, "-o", out)
        assert done.exit_code == 0, done.output
        assert kind in pl.read_csv(out).columns
    assert run("statistic", *given, "--statistic", "mode").exit_code == 2
    done = run(
        "years", tmp_path / "last.csv", tmp_path / "now.csv", "--by", "region,kind", "-o", tmp_path / "y.csv"
    )
    assert done.exit_code == 0, done.output
    assert "than this year alone" in done.output
    assert pl.read_csv(tmp_path / "y.csv").columns == ["region", "kind", "freq", "flag"]


def survey(path, **more):
    rows = {
        "region": list("NNSSEEWW") * 5,
        "sex": list("fm") * 20,
        "pay": [float(10 + i % 7) for i in range(40)],
    }
    pl.DataFrame({**rows, **more}).write_csv(path)
    return path


def opened(path):
    """The first bytes of a workbook, of Parquet and of JSON."""
    return path.read_bytes()[:4]


def test_every_command_writes_the_format_of_the_ending(run, tmp_path):
    data = survey(tmp_path / "d.csv")
    made = {
        "perturb": ("perturb", data, "--by", "region,sex", "--method", "controlled"),
        "fill": ("perturb", data, "--by", "region,sex", "--method", "fill"),
        "statistic": ("statistic", data, "--by", "region", "--value", "pay", "--statistic", "mean"),
        "compare": ("compare", data, "--by", "region,sex", "--way", "suppression"),
        "years": ("years", data, data, "--by", "region,sex"),
    }
    for name, arguments in made.items():
        for ending, start in (("xlsx", b"PK\x03\x04"), ("parquet", b"PAR1")):
            out = tmp_path / f"{name}.{ending}"
            answer = run(*arguments, "-o", out)
            assert answer.exit_code == 0, answer.output
            assert opened(out) == start, (name, ending)
    assert run(*made["perturb"], "-o", tmp_path / "p.json").exit_code == 0
    back = read_table_file(tmp_path / "p.json")
    assert "Values are changed" in back.notes[0]
    assert read_table_file(tmp_path / "statistic.xlsx").measure == "mean"
    assert run(*made["perturb"], "-o", tmp_path / "p.docx").exit_code == 2
    assert run(*made["perturb"], "-o", tmp_path / "p.jj").exit_code == 2
    assert not list(tmp_path.glob("p.d*")) + list(tmp_path.glob("p.jj"))


def test_no_command_writes_a_formula(run, tmp_path):
    data = survey(tmp_path / "d.csv", job=["=HYPERLINK(1)", "b"] * 20)
    commands = (
        ("protect", data, "--by", "region,job"),
        ("perturb", data, "--by", "region,job"),
        ("statistic", data, "--by", "job", "--value", "pay", "--statistic", "mean"),
        ("years", data, data, "--by", "region,job"),
    )
    for arguments in commands:
        out = tmp_path / f"{arguments[0]}.csv"
        assert run(*arguments, "-o", out).exit_code == 0
        assert "'=HYPERLINK(1)" in out.read_text()
        assert ",=HYPERLINK" not in out.read_text()
    bounds = tmp_path / "bounds.csv"
    run("audit", tmp_path / "protect.csv", "--exact", "-o", bounds)
    assert ",=HYPERLINK" not in bounds.read_text()


def test_rows_without_a_code(run, tmp_path):
    data = survey(tmp_path / "d.csv", job=["a", None] * 20)
    refused = run("protect", data, "--by", "region,job", "-o", tmp_path / "t.csv")
    assert refused.exit_code == 2
    assert not (tmp_path / "t.csv").exists()
    answer = run("protect", data, "--by", "region,job", "--missing", "none", "-o", tmp_path / "t.csv")
    assert answer.exit_code == 0, answer.output
    assert "N,none," in (tmp_path / "t.csv").read_text()


def test_what_is_known_beforehand(run, tmp_path):
    data = survey(tmp_path / "d.csv")
    known = tmp_path / "known.hst"
    known.write_text('N;f;u\nN;f;pl;2;3\n"S";m;c;1\nTotal;Total;p\nE;f;s\n')
    out = tmp_path / "t.sdmx.csv"
    answer = run("protect", data, "--by", "region,sex", "--apriori", known, "--rule", "freq:2", "-o", out)
    assert answer.exit_code == 0, answer.output
    assert "a priori 1" in answer.output
    known.write_text("N;f;q\nnowhere;f;u\nN;f;c;-3\nN;f;u;1\n")
    wrong = run("protect", data, "--by", "region,sex", "--apriori", known, "-o", tmp_path / "no.csv")
    assert wrong.exit_code == 2
    told = " ".join(wrong.output.split())
    assert all(f"line {i}" in told for i in (1, 2, 3, 4)), told
    assert not (tmp_path / "no.csv").exists()


def test_the_entity_of_a_schema_is_the_contributor(run, tmp_path):
    """One person has all fifteen rows of a town: fifteen rows, but one contributor."""
    people = pl.DataFrame({
        "who": [*(f"P{i}" for i in range(60)), *["PX"] * 15], "town": [*["a", "b", "c"] * 20, *["d"] * 15],
    })  # fmt: skip
    people.write_csv(tmp_path / "people.csv")
    Schema.infer(people).with_roles(entity="who").to_yaml(tmp_path / "schema.yaml")
    words = ("protect", tmp_path / "people.csv", "--by", "town", "--quiet", "--output", tmp_path / "out.csv")
    open_cell = pl.col("town") == "d"
    assert run(*words).exit_code == 0
    alone = pl.read_csv(tmp_path / "out.csv", infer_schema=False).filter(open_cell)
    (tmp_path / "out.csv").unlink()
    assert run(*words, "--schema", tmp_path / "schema.yaml").exit_code == 0
    owned = pl.read_csv(tmp_path / "out.csv", infer_schema=False).filter(open_cell)
    assert "15" in alone.row(0)
    assert "15" not in owned.row(0)


def test_a_long_table_is_cut_on_the_terminal_and_whole_in_its_file(run, tmp_path):
    towns = [f"T{i:03d}" for i in range(200)]
    pl.DataFrame({"town": towns * 5, "sex": ["f", "m"] * 500}).write_csv(tmp_path / "long.csv")
    shown = run("protect", tmp_path / "long.csv", "--by", "town,sex", "-o", tmp_path / "out.csv")
    assert shown.exit_code == 0, shown.output
    assert "more lines; -o writes the whole table" in " ".join(shown.output.split())
    assert "T199" not in shown.output
    assert "T199" in (tmp_path / "out.csv").read_text()
