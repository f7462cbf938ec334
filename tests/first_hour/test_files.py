"""Files as they come: their signs are recognised, told in one line, and kept on request."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer

from dalenius.cli import app
from dalenius.core.errors import DaleniusError
from dalenius.data import read, write
from dalenius.data.files import open_file, sniff_csv
from dalenius.release import read_plan
from dalenius.release.jobs import source
from tests.cli.test_flags import commands
from tests.first_hour.conftest import Newcomer, survey


def german(rows: int = 200) -> bytes:
    rng = np.random.default_rng(5)
    lines = ["Straße;Betrag;Größe;Jahr"]
    swap = str.maketrans(",.", ".,")
    for amount, tall, year in zip(
        rng.lognormal(8, 1, rows), rng.random(rows), rng.integers(1990, 2020, rows), strict=True
    ):
        numbers = f"{amount:,.2f};{1.5 + tall / 2:.2f};{year}".translate(swap)
        lines.append(f"{'Mühlweg' if tall < 0.4 else 'Am Markt'};{numbers}")
    return ("\r\n".join(lines) + "\r\n").encode("latin-1")


def test_a_file_of_a_german_office_comes_back_as_it_was(newcomer: Newcomer) -> None:
    path = newcomer.put("office.csv", german())
    seen = newcomer.types("synth", path, "-o", newcomer.folder / "out.csv", "--like-input")
    assert "semicolon-separated, decimal comma, point between thousands, cp1252 assumed" in seen
    first, second = (
        p.read_bytes().decode("cp1252").split("\r\n") for p in (path, newcomer.folder / "out.csv")
    )
    assert second[0] == first[0]
    assert sniff_csv(newcomer.folder / "out.csv") == sniff_csv(path)
    table = read(newcomer.folder / "out.csv")
    assert table.schema["Betrag"].decimals == 2
    assert table.to_frame("polars")["Betrag"].max() > 3000
    assert table.to_frame("polars")["Jahr"].max() < 2020  # years have no sign between thousands
    seen = newcomer.types("synth", path, "-o", newcomer.folder / "plain.csv")
    assert "plain.csv: comma-separated, UTF-8; --like-input writes it as office.csv is written" in seen
    assert (newcomer.folder / "plain.csv").read_text("utf-8").startswith("Straße,Betrag,Größe,Jahr\n")


@pytest.mark.parametrize("number", ["3.535,34", "3535,34", "1 234,5", "1'234.50", "-1.234.567,80"])
def test_numbers_of_several_countries(newcomer: Newcomer, number: str) -> None:
    path = newcomer.put("pay.csv", "sex;pay\n" + "".join(f"f;{n}\n" for n in (number, "12", number)))
    column = read(path).to_frame("dict")["pay"]
    plain = number.replace(" ", "").replace("'", "")
    wanted = float(plain.replace(".", "").replace(",", ".")) if "," in plain else float(plain)
    assert column == [wanted, 12.0, wanted]
    opened = open_file(path)
    write(opened.table, path, **opened.writing)
    assert read(path).to_frame("dict")["pay"] == column


def test_namibia_stays_a_country(newcomer: Newcomer) -> None:
    path = newcomer.put("trips.csv", "country,nights,likes\n" + "NA,3,yes\nNO,NA,NA\nSE,4,no\n" * 9)
    made = read(path).to_frame("polars")
    assert made["country"].null_count() == 0
    assert made["nights"].null_count() == made["likes"].null_count() == 9
    alone = newcomer.put("codes.csv", "country,likes\n" + "NA,yes\nNO,NA\n" * 9)
    assert read(alone).to_frame("polars").null_count().row(0) == (0, 0)


def test_codes_keep_their_zeros_beside_gaps(newcomer: Newcomer) -> None:
    path = newcomer.put("zip.csv", "zip,n\n" + "0110,1\nNA,NA\n4021,3\n" * 9)
    assert read(path).to_frame("dict")["zip"][:3] == ["0110", None, "4021"]


ODD = ["--na", "lost", "--separator", "|", "--encoding", "latin-1"]
WORDS = {
    "schema": [],
    "check": [],
    "synth": ["-o", "out.csv"],
    "audit": ["--keys", "sex,age", "--targets", "pay"],
    "plan": ["-o", "plan.yaml"],
    "tables protect": ["--by", "sex,age", "--rule", "freq:3"],
    "tables perturb": ["--by", "sex"],
    "tables compare": ["--by", "sex", "--way", "random rounding"],
    "tables statistic": ["--by", "sex", "--value", "age", "--statistic", "mean"],
}


def odd_file(newcomer: Newcomer) -> Path:
    rows = "".join(
        f"{'f' if i % 2 else 'm'}|{20 + i % 30}|{'lost' if i % 7 == 0 else 1000 + i % 9}\n" for i in range(80)
    )
    return newcomer.put("odd.csv", "sex|age|pay\n" + rows)


@pytest.mark.parametrize("command", WORDS)
def test_every_reading_command_takes_the_signs(
    newcomer: Newcomer, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(newcomer.folder)
    path, words, more = odd_file(newcomer), command.split(), WORDS[command]
    assert "bar-separated" in newcomer.types(*words, path, *ODD, *more)
    newcomer.types(*words, path, "--sheet", "a", *more, code=2)


def test_no_command_that_reads_microdata_lacks_the_signs() -> None:
    found = commands(typer.main.get_command(app))
    reading = {
        words: {flag for option in command.params for flag in option.opts}
        for words, command in found.items()
        if {option.name for option in command.params}
        & {"data", "microdata", "original", "like", "last", "truth"}
    }
    signs = {"--na", "--sheet", "--separator", "--decimal", "--thousands", "--encoding"}
    assert len(reading) > 20
    assert [words for words, flags in reading.items() if not signs <= flags] == ["dp budget"]  # reads no data


def test_a_plan_remembers_how_its_input_is_read(newcomer: Newcomer) -> None:
    path, plan = odd_file(newcomer), newcomer.folder / "plan.yaml"
    newcomer.types("plan", path, "-o", plan, *ODD)
    wanted = read_plan(plan)
    assert wanted.reading == {"missing_strings": ("", "lost"), "separator": "|", "encoding": "latin-1"}
    original, holdout = source(wanted)
    assert holdout is not None
    pay = pl.concat([t.to_frame("polars")["pay"] for t in (original, holdout)])
    assert (pay.dtype, pay.null_count()) == (pl.Int64, 12)
    plan.write_text(plan.read_text().replace('"separator"', '"sheet"'))
    assert "'sheet' is not for this type of file" in newcomer.types("release", plan, code=2)
    plan.write_text(plan.read_text().replace('"sheet"', '"leaf"'))
    assert "reading takes missing_strings, sheet" in newcomer.types("release", plan, code=2)


def test_a_private_mean_is_taken_of_numbers_among_gaps(newcomer: Newcomer) -> None:
    path = odd_file(newcomer)
    columns = (
        "pay: {kind: integer, bounds: [0, 2000], domain: declared}, sex: {kind: text}, age: {kind: integer}"
    )
    declared = newcomer.put("schema.yaml", f"columns: {{{columns}}}\n")
    seen = newcomer.types("dp", "mean", path, "pay", "--schema", declared, "--epsilon", "1000", *ODD)
    assert 990 < float(re.findall(r"\d[\d,]*\.?\d*", seen.replace(",", ""))[0]) < 1020


def test_sheets_are_named_and_chosen(newcomer: Newcomer) -> None:
    path = newcomer.folder / "book.xlsx"
    write({"note": ["read me"]}, path, sheet="notes")
    import xlsxwriter

    with xlsxwriter.Workbook(str(path)) as book:
        for sheet, cells in {
            "notes": [["note"], ["read me"]],
            "people": [["pay"], [10], ["NA"], [30]],
        }.items():
            made = book.add_worksheet(sheet)
            for i, row in enumerate(cells):
                made.write_row(i, 0, row)
    assert "sheet 'notes' read; there is also 'people'" in newcomer.types("schema", path)
    assert "sheet 'people' read; there is also 'notes'" in newcomer.types("schema", path, "--sheet", "people")
    assert read(path, sheet="people").to_frame("dict") == {"pay": [10, None, 30]}


def test_files_of_r_and_open_document_are_read(newcomer: Newcomer) -> None:
    pyreadr = pytest.importorskip("pyreadr")
    frame = survey(60).select("sex", "age", "income").to_pandas()
    path = newcomer.folder / "survey.rds"
    pyreadr.write_rds(str(path), frame)
    table = read(path)
    assert table.rows == 60
    assert table.to_frame("polars")["income"].null_count() == frame["income"].isna().sum()
    with pytest.raises(DaleniusError, match="damaged"):
        read(newcomer.put("bad.rds", b"no"))


def sheet_of(rows: list[list[object]]) -> bytes:
    """An OpenDocument sheet, as LibreOffice writes one, with the least there can be in it."""

    def cell(value: object) -> str:
        kind = f'float" office:value="{value}' if isinstance(value, float) else "string"
        return (
            "<table:table-cell/>"
            if value is None
            else f'<table:table-cell office:value-type="{kind}"><text:p>{value}</text:p></table:table-cell>'
        )

    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr(
            "content.xml",
            f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces} office:version="1.2">'
            f'<office:body><office:spreadsheet><table:table table:name="Ark1">{lines}</table:table>'
            '<table:table table:name="Ark2"/></office:spreadsheet></office:body></office:document-content>',
        )
        book.writestr(
            "META-INF/manifest.xml",
            '<?xml version="1.0"?><manifest:manifest '
            'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
    return held.getvalue()


def test_an_open_document_sheet_is_read(newcomer: Newcomer) -> None:
    rows: list[list[object]] = [["sex", "zip", "pay"], ["f", "0110", 1200.5], ["m", "4021", None]]
    path = newcomer.put("calc.ods", sheet_of(rows))
    assert "sheet 'Ark1' read; there is also 'Ark2'" in newcomer.types("schema", path)
    assert read(path).to_frame("dict") == {"sex": ["f", "m"], "zip": ["0110", "4021"], "pay": [1200.5, None]}


def test_a_title_above_the_names_is_said(newcomer: Newcomer) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(newcomer.folder / "title.xlsx") as book:
        sheet = book.add_worksheet()
        for number, row in enumerate([["Employment 2020"], ["region", "n", "pay"], ["a", 1, 2.5]]):
            sheet.write_row(number, 0, row)
    seen = " ".join(newcomer.types("schema", newcomer.folder / "title.xlsx", code=2).split())
    assert "columns 2, 3 have no name in the first row" in seen
    assert "without a title above it" in seen


def test_wrong_signs_are_refused_in_one_line(newcomer: Newcomer, tmp_path: Path) -> None:
    path = newcomer.put("a.csv", "a,b\n1,2\n")
    assert "decimal mark is a point or a comma" in newcomer.types("schema", path, "--decimal", "x", code=2)
    assert "must differ" in newcomer.types("schema", path, "--decimal", ",", "--separator", ",", code=2)


def test_a_word_that_makes_categories_of_numbers_is_told_with_its_remedy(newcomer: Newcomer) -> None:
    """Incomes of the American Community Survey are numbers, and N for children: 2,748 categories, nothing said."""
    rng = np.random.default_rng(3)
    income = [*map(str, rng.integers(1000, 1400, 400)), *["N"] * 60]
    grade = [*rng.choice(["1", "2", "N"], 440), *["3"] * 20]
    pl.DataFrame({"income": income, "grade": grade, "sex": ["f", "m"] * 230}).write_csv(
        path := newcomer.folder / "acs.csv"
    )
    seen = " ".join(newcomer.types("synth", path, "-o", newcomer.folder / "out.csv").split())
    told = "column 'income': numbers but for 'N', taken for categories; if it means no answer, give --na N"
    assert told in seen
    assert seen.count("give --na") == 1, "few numbers are a scale with a word, and a word alone is no number"
    assert "only 'N' is no number" in " ".join(newcomer.types("schema", path).split())
    again = newcomer.types("synth", path, "--na", "N", "-o", newcomer.folder / "out.csv")
    assert "give --na" not in again
    made = read(newcomer.folder / "out.csv").schema["income"]
    assert str(made.kind) == "integer"
    assert made.levels is None


def test_a_word_of_few_is_not_told(newcomer: Newcomer) -> None:
    path = newcomer.put("few.csv", "income\n" + "\n".join([*map(str, range(500)), *["Olav"] * 3]) + "\n")
    assert "Olav" not in newcomer.types("schema", path, "-o", newcomer.folder / "s.yaml")
