"""Files of SPSS, Stata and SAS: values, value labels and user-defined missing values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.core.errors import MissingExtraError
from dalenius.data.files.access import damage_reported, existing
from dalenius.data.frames import Origin, open_frame
from dalenius.data.infer import NOT_APPLICABLE_CODES, infer_from_raws
from dalenius.data.objects import read_objects
from dalenius.data.raw import Raw
from dalenius.data.schema import Column, Kind, Level, Schema
from dalenius.data.table import Table

READERS = {
    ".sav": ("read_sav", "an SPSS file", True),
    ".zsav": ("read_sav", "an SPSS file", True),
    ".dta": ("read_dta", "a Stata file", True),
    ".xpt": ("read_xport", "a SAS transport file", False),
    ".sas7bdat": ("read_sas7bdat", "a SAS file", True),
}
_DOES_NOT_APPLY = re.compile(
    r"not applicable|inapplicable|does not apply|legitimate skip|valid skip|^n/?a$", re.I
)


def pyreadstat() -> Any:
    """The library behind these formats, an extra."""
    try:
        import pyreadstat as library  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError("pyreadstat", "files", "read and write SPSS, Stata and SAS files") from None
    return library


def read_statistical(path: str | Path, schema: Schema | None = None, *, encoding: str | None = None) -> Table:
    """Read SPSS (.sav, .zsav), Stata (.dta) or SAS (.sas7bdat, .xpt); labels and missing codes go into the schema.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.data.files.statistical_write import write_statistical
    >>> file = Path(tempfile.mkdtemp()) / "a.sav"
    >>> sex = Column("sex", Kind.CATEGORICAL, levels=(1, 2), value_labels={1: "man", 2: "woman"}, missing=(9,))
    >>> write_statistical(Table.from_frame({"sex": [1, 2, 9]}, Schema((sex,))), file)
    >>> column = read_statistical(file).schema["sex"]
    >>> column.value_labels, column.missing
    ({1: 'man', 2: 'woman'}, (9,))
    """
    path = existing(path)
    name, what, has_codes = READERS[path.suffix.lower()]
    reader = getattr(pyreadstat(), name)
    options: dict[str, Any] = {"user_missing": True} if has_codes else {}
    with damage_reported(path, what):
        frame, meta = reader(str(path), output_format="polars", encoding=encoding, **options)
    raws = [_raw(_truths(frame[name], schema)) for name in frame.columns]
    if schema is None:
        schema = _described(raws, meta)
    # These formats know one number type: the kind decides whether 3.0 comes back whole.
    temporal = {column: dtype for column, dtype in frame.schema.items() if dtype.is_temporal()}
    return Table.from_raws(raws, Origin("polars", {c: c for c in frame.columns}, temporal), schema)


def _truths(series: pl.Series, schema: Schema | None) -> pl.Series:
    """Truth values, which these formats hold as 1 and 0, where the schema says so."""
    levels = (schema[series.name].levels or ()) if schema is not None and series.name in schema else ()
    if not levels or not all(isinstance(level, bool) for level in levels) or not series.dtype.is_numeric():
        return series
    return series.cast(pl.Boolean) if ((series == 0) | (series == 1)).all() else series


def _raw(series: pl.Series) -> Raw:
    if series.dtype == pl.Object:  # numbers among which Stata's or SAS's letter codes stand
        return read_objects(
            series.name, [_whole(v) if isinstance(v, float) else v for v in series.to_list()]
        )[0]
    if series.dtype == pl.String:  # no empty cell for text in these formats: "" is missing
        series = series.replace({"": None}) if (series == "").any() else series
    return open_frame(series.to_frame())[1][0]


def _described(raws: list[Raw], meta: Any) -> Schema:
    """Infer, then let the file's own labels and codes overrule."""
    letters = {raw.name: _letters(raw) for raw in raws}
    clean = [_without(raw, letters[raw.name]) for raw in raws]
    inferred = infer_from_raws(clean, str(getattr(meta, "file_label", None) or ""))
    columns = []
    for raw, column in zip(clean, inferred.columns, strict=True):
        labels = {_whole(k): str(v) for k, v in (meta.variable_value_labels or {}).get(raw.name, {}).items()}
        ranges = (meta.missing_ranges or {}).get(raw.name, [])
        codes = _codes(raw, labels, ranges) + list(letters[raw.name])
        described = replace(
            column, label=str((meta.column_names_to_labels or {}).get(raw.name) or ""), value_labels=labels
        )
        if codes:
            described = _with_codes(described, raw, codes, labels)
        measure = (meta.variable_measure or {}).get(raw.name, "unknown")
        columns.append(_labelled(described, raw, labels, measure))
    return replace(inferred, columns=tuple(columns))


def _letters(raw: Raw) -> tuple[Level, ...]:
    """Missing codes that are letters among numbers."""
    if raw.storage != "mixed":
        return ()
    texts = tuple(level for level in raw.levels or () if isinstance(level, str))
    return texts if all(re.fullmatch("[a-zA-Z_]", str(text)) for text in texts) else ()


def _without(raw: Raw, letters: tuple[Level, ...]) -> Raw:
    """The column as numbers, letters taken for empty cells: what the kind is inferred from."""
    if not letters:
        return raw
    levels = raw.levels or ()
    values = [None if level in letters else level for level in levels]
    cells = [
        values[code] if there else None
        for code, there in zip(raw.data.tolist(), raw.present.tolist(), strict=True)
    ]
    return open_frame({raw.name: [None if v is None else float(str(v)) for v in cells]})[1][0]


def _found(raw: Raw) -> list[Level]:
    if raw.levels is not None:
        return list(raw.levels)
    return [_whole(value) for value in sorted(set(raw.data[raw.present].tolist()))]


def _codes(raw: Raw, labels: Mapping[Level, str], ranges: list[Any]) -> list[Level]:
    """The values in the data or the labels that fall into the ranges declared missing."""
    known = {**dict.fromkeys(_found(raw)), **dict.fromkeys(labels)} if ranges else {}
    codes = {code for code in known for part in ranges if _inside(code, part)}
    for part in ranges:
        if isinstance(part, dict) and part["lo"] == part["hi"]:
            codes.add(_whole(part["lo"]))
    return sorted(codes, key=lambda code: (isinstance(code, str), code))


def _inside(code: Level, part: Any) -> bool:
    low, high = (part["lo"], part["hi"]) if isinstance(part, dict) else (part, part)
    comparable = isinstance(code, str) == isinstance(low, str)
    return comparable and bool(low <= code <= high)


def _with_codes(column: Column, raw: Raw, codes: list[Level], labels: Mapping[Level, str]) -> Column:
    apart = [code for code in codes if _does_not_apply(code, labels)]
    levels = None if column.levels is None else tuple(v for v in column.levels if v not in codes)
    numbers = [code for code in codes if not isinstance(code, str)]
    bounds = column.bounds
    if bounds is not None and numbers:
        rest = [v for v in _found(raw) if v not in numbers]
        bounds = (float(str(min(rest))), float(str(max(rest)))) if rest else None
    return replace(
        column,
        levels=levels,
        bounds=bounds,
        missing=tuple(code for code in codes if code not in apart),
        not_applicable=tuple(apart),
        note=f"{column.note}; missing codes from the file",
    )


def _does_not_apply(code: Level, labels: Mapping[Level, str]) -> bool:
    if code in labels:
        return bool(_DOES_NOT_APPLY.search(labels[code]))
    return code in NOT_APPLICABLE_CODES


def _labelled(column: Column, raw: Raw, labels: Mapping[Level, str], measure: str) -> Column:
    """A column whose values all have a label is a category; SPSS also says whether it is ordered or a quantity."""
    ordinary = (
        [value for value in _found(raw) if value not in column.special] if raw.storage != "datetime" else []
    )
    covered = bool(labels) and all(value in labels for value in ordinary)
    if (
        measure == "scale"
        and column.kind in (Kind.CATEGORICAL, Kind.ORDERED)
        and raw.storage != "text"
        and ordinary
    ):
        whole = all(isinstance(value, int) for value in ordinary)
        kind = Kind.INTEGER if whole else Kind.CONTINUOUS
        bounds = (float(str(ordinary[0])), float(str(ordinary[-1])))
        return replace(column, kind=kind, levels=None, bounds=bounds, note="declared a scale in the file")
    if not covered or measure == "scale" or column.kind is Kind.DATETIME:
        return column
    listed = [value for value in labels if value not in column.special]
    levels = sorted({*listed, *ordinary}, key=lambda value: (isinstance(value, str), value))
    kind = Kind.ORDERED if measure == "ordinal" else Kind.CATEGORICAL
    note = f"every value has a label in the file{', declared ordinal' if measure == 'ordinal' else ''}"
    return replace(column, kind=kind, levels=tuple(levels), bounds=None, decimals=None, note=note)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
