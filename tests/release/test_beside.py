"""Copies in other formats hold the cells and nothing beside them."""

from __future__ import annotations

import datetime as dt
import zipfile
from pathlib import Path

import polars as pl
import pyreadstat
import pytest

from dalenius import Column, Kind, Schema, Table
from dalenius.data import write
from dalenius.release.codebook import codebook, labels_used, outgoing
from dalenius.release.copies import copy_faults
from dalenius.release.pack import as_json
from dalenius.synth import Independent

SECRET = "37;f;42000;cancer " * 20
FRAME = {
    "sex": [1, 2, 2, 9, 1, 2] * 5,
    "town": ["Aa", "Bo", None, "Cy", "Aa", "Éa"] * 5,
    "age": [31, 45, None, 22, 67, 54] * 5,
    "pay": [1.5, 2.25, None, 4.0, 5.5, 6.75] * 5,
    "score": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] * 5,
    "born": [dt.date(1980, 1, 2), None, dt.date(1990, 3, 4), dt.date(1999, 5, 6)] * 7 + [None, None],
    "member": [True, False, True, None, True, False] * 5,
}
SEX = Column(
    "sex", Kind.CATEGORICAL, levels=(1, 2, 3), value_labels={1: "man", 2: "woman", 3: "nobody here", 9: "no answer"},
    missing=(9,), label="Sex of the person",
)  # fmt: skip


@pytest.fixture(params=["xlsx", "sav", "dta"])
def copy(request, tmp_path) -> Path:
    """A released table as CSV and in another format."""
    schema = Schema.infer(FRAME).replace_columns(SEX, Column("score", Kind.CONTINUOUS, decimals=2))
    table = outgoing(Table.from_frame(FRAME, schema))
    folder = tmp_path / "public"
    folder.mkdir()
    for ending in ("csv", request.param):
        write(table, folder / f"people.synthetic.{ending}")
    (folder / "codebook.json").write_text(as_json(codebook(table, Independent.info, [])))
    return folder / f"people.synthetic.{request.param}"


def in_book(copy: Path, how: str) -> None:
    with zipfile.ZipFile(copy) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    if how == "a part":
        parts["customXml/item1.xml"] = SECRET.encode()
    if how == "a note":
        parts["docProps/core.xml"] = parts["docProps/core.xml"].replace(
            b"</cp:", f"<dc:description>{SECRET}</dc:description></cp:".encode(), 1
        )
    with zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
        book.comment = SECRET.encode() if how == "at the end" else b""


def in_labels(copy: Path, how: str) -> None:
    read, save = {
        ".sav": (pyreadstat.read_sav, pyreadstat.write_sav), ".dta": (pyreadstat.read_dta, pyreadstat.write_dta),
    }[copy.suffix]  # fmt: skip
    frame, meta = read(copy, user_missing=True, output_format="polars")
    if how == "at the end":
        copy.write_bytes(copy.read_bytes() + SECRET.encode())
        return
    told = {"file_label": SECRET[:70]} if how == "a note" else {"column_labels": {"age": SECRET[:70]}}
    save(frame, copy, variable_value_labels=meta.variable_value_labels, **told)


def test_a_copy_as_it_was_written_is_accepted(copy):
    assert copy_faults(copy.parent.parent) == []


@pytest.mark.parametrize("how", ["a part", "a note", "at the end"])
def test_what_stands_beside_the_cells_is_found(copy, how):
    (in_book if copy.suffix == ".xlsx" else in_labels)(copy, how)
    assert copy_faults(copy.parent.parent) == [
        f"public/{copy.name} holds more than the data, beside the cells"
    ]


def test_labels_of_values_that_nobody_has_stay_behind():
    table = Table.from_frame(FRAME, Schema.infer(FRAME).replace_columns(SEX))
    assert labels_used(table["sex"]) == {1: "man", 2: "woman", 9: "no answer"}
    book = codebook(table, Independent.info, [])["columns"][0]
    assert book["missing_codes"] == ["9 (no answer)"]
    numbers = Column("age", Kind.INTEGER, value_labels={67: "sixty-seven", 68: "more"})
    aged = Table.from_frame({"age": pl.Series([67, 30])}, Schema((numbers,)))
    assert codebook(aged, Independent.info, [])["columns"][0]["labels"] == ["67 (sixty-seven)"]
