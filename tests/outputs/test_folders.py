"""Tables in a folder without their data: however they are laid out, what they share is compared."""

from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

from dalenius.cli.outputs import app
from dalenius.outputs.folder import check_folder

LONG = "region,sex,n\nN,f,40\nN,m,50\nS,f,60\nS,m,70\n"


def checked(folder, **files):
    """What is said of each file."""
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return {f.file.removesuffix(".csv"): "; ".join(f.seen) for f in check_folder(folder)}


@pytest.mark.parametrize(
    ("other", "cells"),
    [
        (LONG.replace("70", "69"), "S, m"),
        ("sex,region,n\nm,S,69\nf,S,60\nm,N,50\nf,N,40\n", "S, m"),  # in another order
        ("region,f,m\nN,40,50\nS,60,69\n", "S, m"),  # turned
        ("sex,N,S\nf,40,60\nm,50,69\n", "S, m"),
        ("Region;m;f;All\nN;50;40;90\nS;69;60;129\n", "S, m"),  # with totals
        ("region,n\nN,90\nS,129\n", "S"),  # the sum over sexes
        ("gender,people\nf,100\nm,119\n", "m"),
        ("region,sex,age,n\n" + "".join(f"{r},{s},{a},{n}\n" for r, s, a, n in [
            ("N", "f", "o", 20), ("N", "f", "y", 20), ("N", "m", "o", 20), ("N", "m", "y", 30),
            ("S", "f", "o", 30), ("S", "f", "y", 30), ("S", "m", "o", 30), ("S", "m", "y", 39),
        ]), "S, m"),
    ],
)  # fmt: skip
def test_differences_however_a_table_is_laid_out(tmp_path, other, cells):
    told = checked(tmp_path, one=LONG, two=other)
    assert told["one"] == f"differs by fewer than 10 from two: {cells}".replace("two", "two.csv")
    assert told["two"].startswith("differs by fewer than 10 from one.csv: ")


@pytest.mark.parametrize(
    "other",
    [
        "region,f,m\nN,40,50\nS,60,70\n",  # the same
        "region,n\nN,90\nS,130\n",
        "region,f,m\nN,340,450\nS,560,670\n",  # other people
        "smoker,n\nf,102\nm,121\n".replace("f,", "yes,").replace("m,", "no,"),  # another column
        "married,1,2\nyes,102,21\nno,12,85\n",
    ],
)
def test_what_is_the_same_or_about_others_is_no_difference(tmp_path, other):
    told = checked(tmp_path, one=LONG, two=other)
    assert "differs by fewer than 10 from two.csv:" not in told["one"]


def test_totals_alone_that_differ_are_for_a_person(tmp_path):
    (tmp_path / "one.csv").write_text(LONG)
    (tmp_path / "two.csv").write_text("town,n\nA,100\nB,119\n")
    found = check_folder(tmp_path)
    assert [(f.status, f.seen) for f in found] == [
        ("review", ["its total differs by fewer than 10 from two.csv"]),
        ("review", ["its total differs by fewer than 10 from one.csv"]),
    ]


@pytest.mark.parametrize(
    ("other", "follows"),
    [
        ("region,n\nN,90\nS,130\n", True),
        ("sex,n\nf,100\nm,120\n", True),
        (LONG, True),
        ("region,n\nN,390\nS,430\n", False),  # other people: their totals say nothing
        ("town,n\nA,100\nB,120\n", False),
    ],
)
def test_what_is_withheld_follows_from_another_table(tmp_path, other, follows):
    told = checked(tmp_path, one="region,f,m\nN,40,x\nS,60,70\n", two=other)
    assert ("1 missing cell follows from what is shown here and in two.csv" in told["one"]) == follows, told


def test_totals_of_other_people_give_nothing_away(tmp_path):
    """One total is the same by chance, another is not: the tables are about other people."""
    told = checked(
        tmp_path, one="region,f,m\nN,40,x\nS,60,70\nT,30,30\n", two="region,n\nN,90\nS,130\nT,260\n"
    )
    assert "follow" not in told["one"]


def test_two_withheld_cells_of_a_row_do_not_follow_from_its_total(tmp_path):
    told = checked(tmp_path, one="region,f,m,o\nN,40,x,x\nS,60,70,30\n", two="region,n\nN,90\nS,160\n")
    assert "follow" not in told["one"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Table 1,,\n,,\nregion,f,m\nN,30,4\nS,25,28\n,,\nSource: register,,\n", "1 count below 10"),
        ("region,f,m\nN,30 (88 %),4 (12 %)\nS,25 (47 %),28 (53 %)\n", "1 count below 10"),
        ("region,f,m\nN,30,4 persons\nS,25,28\n", "1 cell among the figures is neither a figure nor a mark"),
        ("n,region\n30,N\n4,S\n", "1 count below 10"),
        ("30,4\n25,28\n40,41\n", "its first line may hold figures, not names"),
        ("region,f,m\nN,1.030,4\nS,25,28\n", "1 count below 10"),
        (",sex,sex\nregion,f,m\nN,30,4\nS,25,28\n", "1 count below 10"),
        ("sex,n\nNorth,\nf,30\nm,4\nSouth,\nf,25\nm,28\n", "1 count below 10"),
        ("region,ageband,n\n1,1,50\n1,2,60\n2,1,70\n2,2,80\n", ""),  # codes are no counts
        ("region,2019,2020\nN,30,40\nS,25,28\n", ""),
        ("region,f,m\nN,30,<10\nS,25,28\n", ""),
    ],
)
def test_tables_are_read_as_people_lay_them_out(tmp_path, text, said):
    told = checked(tmp_path, t=text)["t"]
    assert (said in told) if said else not told


def test_every_sheet_of_a_workbook_is_looked_at(tmp_path):
    pytest.importorskip("xlsxwriter")
    with pd.ExcelWriter(tmp_path / "two.xlsx", engine="xlsxwriter") as book:
        pd.DataFrame({"region": ["N", "S"], "n": [90, 130]}).to_excel(book, sheet_name="all", index=False)
        pd.DataFrame({"region": ["N", "S"], "n": [90, 127]}).to_excel(
            book, sheet_name="less", startrow=3, index=False
        )
    found = check_folder(tmp_path)[0]
    assert found.seen == [
        "all: differs by fewer than 10 from two.xlsx, less: S",
        "less: differs by fewer than 10 from two.xlsx, all: S",
    ]


def test_what_a_workbook_or_page_holds_besides_its_tables(tmp_path):
    pytest.importorskip("xlsxwriter")
    with pd.ExcelWriter(tmp_path / "b.xlsx", engine="xlsxwriter") as book:
        pd.DataFrame({"region": ["N", "S"], "n": [90, 130]}).to_excel(book, sheet_name="t", index=False)
        chart = book.book.add_chart({"type": "column"})
        chart.add_series({"values": "=t!$B$2:$B$3"})
        book.sheets["t"].insert_chart("D2", chart)
    table = "<table><tr><th>r<th>n</tr><tr><td>N</td><td>120</td></tr></table>"
    (tmp_path / "p.html").write_text(f"{table}<script>var rows = [1, 2]</script>")
    found = {f.file: (f.status, f.seen) for f in check_folder(tmp_path)}
    assert found["b.xlsx"] == ("fail", ["charts may hold data that no table shows; a person looks at it"])
    assert found["p.html"] == ("fail", ["a script may hold data that no table shows; a person looks at it"])


def test_labels_that_span_lines_of_a_page(tmp_path):
    rows = "<tr><td rowspan=2>N</td><td>f</td><td>40</td></tr><tr><td>m</td><td>50</td></tr>"
    (tmp_path / "p.html").write_text(f"<table><tr><th>region</th><th>sex</th><th>n</th></tr>{rows}</table>")
    (tmp_path / "q.csv").write_text("region,f,m\nN,40,49\n")
    found = {f.file: f.seen for f in check_folder(tmp_path)}
    assert found["p.html"] == ["differs by fewer than 10 from q.csv: N, m"]


def test_on_the_command_line(tmp_path):
    (tmp_path / "one.csv").write_text(LONG)
    (tmp_path / "two.csv").write_text("region,n\nN,90\nS,129\n")
    told = CliRunner().invoke(app, ["check", str(tmp_path)])
    assert told.exit_code == 1
    assert "differs by fewer than 10 from one.csv: S" in " ".join(told.stdout.split())
