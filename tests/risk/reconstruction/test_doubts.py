"""What would let an attack see too little is a doubt: no figure of it is trusted, and no limit holds."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.published import Ledger
from dalenius.published.margin import known_range


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def kept(folder, **files):
    """Tables in files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


LIMITS = ("--must", "proved-unique <= 0 %", "--must", "small-groups <= 0")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("town,sex,n\nA,f,20\nA,m,\nA,persons,23\nB,f,\nB,m,30\nB,persons,33\n", "may be a total"),
        ("sex,n,share\nf,20,0.87\nm,,\n", "beside counts that are withheld"),
        ("sex,n,share\nf,20,86.96 %\nm,,\nTotal,23,100 %\n", "beside counts that are withheld"),
    ],
)
def test_what_may_tell_a_withheld_count_is_a_doubt(tmp_path, text, said):
    told = run("attack", kept(tmp_path / "t", a=text), *LIMITS)
    assert told.exit_code == 1, told.output
    assert said in " ".join(told.output.split())


def test_shares_beside_rounded_counts_are_a_doubt_and_a_large_category_is_no_total(tmp_path):
    shares = kept(tmp_path / "s", a="sex,n,pct\nf,20,86.96\nm,5,13.04\nTotal,25,100.0\n")
    assert run("attack", shares, "--kind", "rounded", "--base", "5", *LIMITS).exit_code == 1
    plain = kept(tmp_path / "p", a="ill,town,n\nno,A,90\nlittle,A,8\nmuch,A,\nno,B,80\nlittle,B,9\nmuch,B,\n")
    assert run("attack", plain, *LIMITS).exit_code == 0


def test_rounded_to_the_nearest_multiple(tmp_path):
    near = kept(tmp_path / "t", a="sex,n\nf,3\nm,3\nTotal,9\n")
    assert run("attack", near, "--kind", "rounded", "--base", "3", *LIMITS).exit_code == 0
    told = run("attack", near, "--kind", "nearest", "--base", "3", *LIMITS, "--show-cells")
    assert told.exit_code == 1, told.output
    assert "3 groups of fewer than 10 people follow" in told.output
    assert known_range(np.array([10.0, 0.0]), "nearest", 10, 0.0)[0].tolist() == [5, 0]


def test_what_is_in_the_record_is_looked_at(tmp_path):
    record = tmp_path / "out.jsonl"
    one = kept(tmp_path / "one", t="sex,town,n\nf,A,20\nm,A,30\nf,B,30\nm,B,\n")
    two = kept(tmp_path / "two", t="town,n\nA,50\nB,33\n")
    assert run("attack", one, *LIMITS, "--record", record).exit_code == 0
    told = run("attack", two, *LIMITS, "--record", record)
    assert told.exit_code == 1, told.output
    assert "hold back beside what was out: two/t [town = B]" in told.output
    assert len(Ledger(record).names) == 1
    record.write_text("")
    assert "the ledger is empty" in run("attack", two, *LIMITS, "--record", record).output


@pytest.mark.parametrize(
    ("one", "two"), [("0-17 years", "0-19 years"), ("2000", "2000-2001"), ("child", "minor"), ("\u0410", "A")]
)
def test_other_values_in_another_table_are_a_doubt(tmp_path, one, two):
    tables = kept(tmp_path / "t", a=f"age,n\nx,103\n{one},41\n", b=f"age,n\nx,103\n{two},44\n")
    told = run("attack", tables, *LIMITS)
    assert told.exit_code == 1, told.output
    assert "different values of 'age'" in " ".join(told.output.split())
    (tables / "figures.yaml").write_text(
        f"domains: {{age: ['{one}', '{two}', x]}}\ntables: {{a: {{file: a.csv}}, b: {{file: b.csv}}}}\n"
    )
    assert "different values" not in run("attack", tables, *LIMITS).output


def test_tables_that_list_no_empty_cells_have_the_same_values(tmp_path):
    tables = kept(tmp_path / "t", a="land,n\nx,40\ny,50\nz,0\n", b="land,town,n\nx,A,40\ny,B,50\n")
    assert run("attack", tables, *LIMITS).exit_code == 0


def test_a_population_that_no_table_shows_is_named(tmp_path):
    tables = kept(tmp_path / "t", a="sex,n\nf,20\nm,30\n", w="town,n\nA,20\n")
    for where, said in (("sex == 'F'", "holds for no value"), ("age == '80+'", "no column")):
        listed = f'tables: {{a: {{file: a.csv}}, w: {{file: w.csv, where: "{where}"}}}}\n'
        (tables / "figures.yaml").write_text(listed)
        told = " ".join(run("attack", tables, *LIMITS).output.split())
        assert said in told
        assert "domains: {column: [...]}" in told
