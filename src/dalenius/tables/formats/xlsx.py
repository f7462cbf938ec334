"""Excel: the table as one would print it, all cells one by one, and a sheet of notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, MissingExtraError
from dalenius.tables.formats.tablefile import TableFile
from dalenius.tables.hierarchy import Hierarchy

MARK = ":c"
LEGEND = (
    (":c", "confidential, not published"),
    ("dark field", "a rule asks for it (internal files only)"),
    ("light field", "suppressed to protect another cell (internal files only)"),
)


def write(table: TableFile, path: Path) -> None:
    """Three sheets: "Table" (the first two dimensions crossed, others at their total), "Cells", "Notes"."""
    try:
        import xlsxwriter  # noqa: PLC0415 (only workbooks need it)
    except ImportError as error:
        raise MissingExtraError("xlsxwriter", "files", "write Excel workbooks") from error
    with xlsxwriter.Workbook(str(path), {"strings_to_formulas": False, "strings_to_urls": False}) as book:
        number = "#,##0" + ("." + "0" * table.decimals if table.decimals else "")
        styles = {
            "": book.add_format({"num_format": number}),
            "c": book.add_format({"bg_color": "#D9D9D9", "align": "right"}),
            "u": book.add_format({"bg_color": "#C0392B", "font_color": "#FFFFFF", "bold": True, "align": "right"}),
            "x": book.add_format({"bg_color": "#F3D3CF", "font_color": "#7A1F14", "align": "right"}),
            "head": book.add_format({"bold": True, "bottom": 1, "text_wrap": False}),
            "alarm": book.add_format({"bold": True, "font_color": "#C0392B", "font_size": 14}),
        }  # fmt: skip
        _crossed(book.add_worksheet("Table"), table, styles)
        _cells(book.add_worksheet("Cells"), table, styles)
        _notes(book.add_worksheet("Notes"), table, styles)


def _put(sheet: Any, row: int, column: int, value: float, flag: str, styles: Any) -> None:
    if flag in ("c", "u", "x"):
        sheet.write_string(row, column, MARK, styles[flag])
    elif not np.isnan(value):
        sheet.write_number(row, column, round(value, 10), styles[""])


def _crossed(sheet: Any, table: TableFile, styles: Any) -> None:
    names = table.cells.columns
    first, second = names[0], names[1] if len(names) > 1 else None
    keep = np.ones(len(table.cells), np.bool_)
    for name in names[2:]:
        tree = table.hierarchies.get(name)
        total = tree.total if tree is not None else table.cells[name][0]
        keep &= (table.cells[name] == total).to_numpy()
    top = 2 if table.unsafe else 0
    if table.unsafe:
        sheet.write_string(0, 0, table.notes[0], styles["alarm"])
    down = table.cells.filter(pl.Series(keep))[first].unique(maintain_order=True).to_list()
    across = (
        [table.measure]
        if second is None
        else table.cells.filter(pl.Series(keep))[second].unique(maintain_order=True).to_list()
    )
    row_of, column_of = {c: i for i, c in enumerate(down)}, {c: i for i, c in enumerate(across)}
    sheet.write_string(top, 0, first if second is None else f"{first} \\ {second}", styles["head"])
    for i, code in enumerate(across):
        sheet.write_string(top, i + 1, code, styles["head"])
    for i, code in enumerate(down):
        sheet.write_string(top + 1 + i, 0, code, styles["head"])
    for place in np.flatnonzero(keep).tolist():
        right = 0 if second is None else column_of[table.cells[second][place]]
        below = top + 1 + row_of[table.cells[first][place]]
        _put(sheet, below, right + 1, float(table.values[place]), table.flags[place], styles)
    sheet.freeze_panes(top + 1, 1)
    sheet.set_column(0, 0, max(12, min(40, max(map(len, down), default=0) + 2)))


def _cells(sheet: Any, table: TableFile, styles: Any) -> None:
    frame = table.frame()
    for j, name in enumerate(frame.columns):
        sheet.write_string(0, j, name, styles["head"])
    measure = len(table.cells.columns)
    for i, row in enumerate(frame.iter_rows(), 1):
        for j, text in enumerate(row):
            if j == measure:
                if not np.isnan(table.values[i - 1]):
                    sheet.write_number(i, j, float(text), styles[""])
            elif text is not None:
                sheet.write_string(i, j, str(text))
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, len(frame), len(frame.columns) - 1)


def _notes(sheet: Any, table: TableFile, styles: Any) -> None:
    lines = [("note", text) for text in table.notes] + [("mark", f"{mark}: {text}") for mark, text in LEGEND]
    lines += [("decimals", str(table.decimals)), ("measure", table.measure)]
    sheet.write_row(0, 0, ["kind", "text", "code", "part of"], styles["head"])
    row = 1
    for kind, text in lines:
        sheet.write_string(row, 0, kind)
        sheet.write_string(row, 1, text)
        row += 1
    for name, tree in table.hierarchies.items():
        for code, above in tree.parents.items():
            for parent in above or ("",):
                for j, text in enumerate(("hierarchy", name, code, parent)):
                    sheet.write_string(row, j, text)
                row += 1
    sheet.set_column(1, 1, 60)


def read(path: Path) -> TableFile:
    """Read the sheets "Cells" and "Notes"; a workbook from elsewhere needs at least the columns of "Cells" first."""
    try:
        import fastexcel  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("fastexcel", "files", "read Excel workbooks") from error
    book = fastexcel.read_excel(str(path))
    names = list(book.sheet_names)
    if not names:
        raise DataError("the workbook has no sheet")
    frame = book.load_sheet("Cells" if "Cells" in names else names[0], dtypes="string").to_polars()
    table = TableFile.from_frame(frame)
    if "Notes" not in names:
        return table
    notes = book.load_sheet("Notes", dtypes="string").to_polars()
    rows = [tuple("" if v is None else v for v in row) for row in notes.select(notes.columns[:4]).iter_rows()]
    told = {kind: text for kind, text, *_ in rows}
    trees: dict[str, dict[str, tuple[str, ...]]] = {}
    for kind, text, code, parent in rows:
        if kind == "hierarchy":
            above = trees.setdefault(text, {})
            above[code] = (*above.get(code, ()), *((parent,) if parent else ()))
    return TableFile(
        table.cells, table.values, table.flags, told.get("measure", table.measure),
        int(told.get("decimals", table.decimals)), {name: Hierarchy(tree) for name, tree in trees.items()},
        tuple(text for kind, text, *_ in rows if kind == "note"),
    )  # fmt: skip
