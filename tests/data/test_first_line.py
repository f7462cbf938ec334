"""A file without names of columns: its first record must not leave as names."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import FileError
from dalenius.data import Column, Kind, Schema, read

RECORDS = {
    "numbers": "6,148,72,35,0,33.6\n1,85,66,29,0,26.6\n8,183,64,0,1,23.3\n",
    "letters and numbers": "M,0.455,15\nF,0.53,9\nI,0.35,7\n",
    "a birth date": "Ann,1980-03-04\nBob,1971-12-24\n",
    "answers": "yes,north\nno,south\nyes,north\n",
    "the same number twice": "0,0,1\n1,2,3\n4,5,6\n",
}


@pytest.mark.parametrize("text", RECORDS.values(), ids=RECORDS)
def test_a_file_without_names_is_refused_and_no_cell_of_it_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "patients.csv"
    file.write_text(text)
    for arguments in (["schema"], ["synth", "-o", str(tmp_path / "out.csv")], ["plan"]):
        ran = CliRunner().invoke(app, [arguments[0], str(file), *arguments[1:]])
        told = ran.output.replace(str(file), "").replace(file.name, "")
        assert ran.exit_code == 2
        assert "first line" in told
        assert not any(cell in told for cell in ("148", "0.455", "1980", "north", "'0'"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["patients.csv"]


@pytest.mark.parametrize("names", ["town,2019,2020", "0,1,2", "1,2,3", "f,m,both", "a1,a2,a3"])
def test_years_and_numbered_columns_are_names(tmp_path: Path, names: str) -> None:
    file = tmp_path / "wide.csv"
    file.write_text(f"{names}\n5,7,8\n6,7,9\n4,4,4\n")
    assert read(file).names == names.split(",")


def test_a_schema_says_that_numbers_are_names(tmp_path: Path) -> None:
    file = tmp_path / "quantiles.csv"
    file.write_text("0.25,0.75\n5,7\n6,8\n")
    with pytest.raises(FileError, match="first line looks like a record"):
        read(file)
    schema = Schema((Column("0.25", Kind.INTEGER), Column("0.75", Kind.INTEGER)))
    assert read(file, schema).names == ["0.25", "0.75"]


def test_a_sheet_without_names_is_refused(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    book = xlsxwriter.Workbook(str(tmp_path / "patients.xlsx"))
    sheet = book.add_worksheet()
    for row, cells in enumerate([(6, 33.6), (1, 26.6), (8, 23.3)]):
        sheet.write_row(row, 0, cells)
    book.close()
    with pytest.raises(FileError, match="first line looks like a record"):
        read(tmp_path / "patients.xlsx")
