"""Schemas as YAML that a steward can read, edit and sign: one block a column, the reason for each guess beside it."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from dalenius.core.errors import FileError, SchemaError
from dalenius.data.atomic import write_text
from dalenius.data.schema import Column, Kind, Level, Role, Schema

HEADER = """\
Dalenius schema, version 1. Read it, correct it, keep it with the data.
kind: categorical, ordered, integer, continuous, boolean, datetime, text, point
role: key (an intruder may know it), target (it would hurt if learnt), identifier (never released),
      entity (unit of protection), household, weight, stratum; one or a list
domain: declared (levels or bounds are public knowledge) or from-data (read off the confidential file)
missing, not_applicable: codes that are no ordinary values, such as -9 or -8
"""
FIELDS = {
    "kind", "role", "levels", "bounds", "domain", "missing", "not_applicable", "decimals", "format", "label",
    "value_labels", "parent", "partner", "note",
}  # fmt: skip


def write_schema(schema: Schema, path: str | Path | None = None) -> str:
    """Schema as commented YAML text; written to ``path`` when given."""
    root = CommentedMap()
    root["version"] = 1
    if schema.title:
        root["title"] = schema.title
    columns = CommentedMap()
    for column in schema:
        columns[_text(column.name)] = _column_out(column)
        if column.note:
            columns.yaml_set_comment_before_after_key(_text(column.name), before=column.note, indent=2)
    root["columns"] = columns
    if schema.rules:
        root["rules"] = CommentedSeq(schema.rules)
    root.yaml_set_start_comment(HEADER)
    stream = io.StringIO()
    _yaml().dump(root, stream)
    text = stream.getvalue()
    if path is not None:
        write_text(Path(path), text)
    return text


def read_schema(source: str | Path) -> Schema:
    """Schema from a YAML file (or from YAML text that has a line break), all faults reported at once."""
    where, text = _load_text(source)
    try:
        root = _yaml().load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark else ""
        raise SchemaError(
            f"{where}:{line} not valid YAML ({getattr(error, 'problem', 'syntax error')})"
        ) from None
    if not isinstance(root, dict) or not isinstance(root.get("columns"), dict):
        raise SchemaError(f"{where}: a schema needs a 'columns:' block with one entry per column")
    faults = [f"unknown entry {key!r}" for key in root if key not in ("version", "title", "columns", "rules")]
    if root.get("version", 1) != 1:
        faults.append(f"version {root['version']!r} is not known; this is version 1")
    columns = [_column_in(str(name), body, faults) for name, body in root["columns"].items()]
    if not faults:
        try:
            return Schema(
                tuple(columns), tuple(map(str, root.get("rules") or ())), str(root.get("title") or "")
            )
        except SchemaError as error:
            faults = list(error.faults)
    raise SchemaError.from_faults(where, faults)


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.width = 100
    yaml.allow_unicode = True
    return yaml


def _load_text(source: str | Path) -> tuple[str, str]:
    if isinstance(source, str) and "\n" in source:
        return "schema", source
    path = Path(source)
    try:
        return str(path), path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise FileError(f"{path}: cannot read the schema ({reason})") from None


def _column_out(column: Column) -> CommentedMap:
    body = CommentedMap()
    body["kind"] = column.kind.value
    if column.roles:
        shown = [role.value for role in column.roles]
        body["role"] = shown[0] if len(shown) == 1 else _flow(shown)
    if column.levels is not None and column.kind is not Kind.TEXT:
        body["levels"] = _flow([_value_out(level) for level in column.levels])
    if column.bounds is not None:
        body["bounds"] = _flow(list(column.bounds))
    if column.levels is not None or column.bounds is not None:
        body["domain"] = column.domain
    for name in ("missing", "not_applicable"):
        if getattr(column, name):
            body[name] = _flow([_value_out(code) for code in getattr(column, name)])
    for name in ("decimals", "format", "label", "parent", "partner"):
        if getattr(column, name) not in (None, ""):
            body[name] = (
                _text(getattr(column, name)) if isinstance(getattr(column, name), str) else column.decimals
            )
    if column.value_labels:
        body["value_labels"] = CommentedMap({_value_out(k): _text(v) for k, v in column.value_labels.items()})
    return body


def _flow(items: list[Any]) -> CommentedSeq:
    sequence = CommentedSeq(items)
    sequence.fa.set_flow_style()
    return sequence


def _text(value: str) -> str:
    """Quote what other YAML readers would take for a number, a truth value or nothing."""
    plain = value.replace("_", "").replace(" ", "").replace("-", "")
    return (
        value
        if plain.isalpha() and plain.isascii() and value.lower() not in _WORDS
        else DoubleQuotedScalarString(value)
    )


_WORDS = {"yes", "no", "true", "false", "on", "off", "y", "n", "null", "none", "nan"}


def _value_out(value: Level) -> Any:
    if isinstance(value, str):
        return DoubleQuotedScalarString(value)
    return DoubleQuotedScalarString(str(value)) if isinstance(value, Decimal) else value


def _column_in(name: str, body: Any, faults: list[str]) -> Column:
    where = f"column {name!r}"
    if not isinstance(body, dict):
        faults.append(f"{where}: needs at least 'kind: …'")
        return Column(name, Kind.TEXT)
    faults += [f"{where}: unknown entry {key!r}" for key in body if key not in FIELDS]
    kind = _one_of(Kind, body.get("kind"), f"{where}: kind", faults) or Kind.TEXT
    listed = body.get("role") or []
    roles = [
        _one_of(Role, r, f"{where}: role", faults) for r in ([listed] if isinstance(listed, str) else listed)
    ]
    if body.get("domain", "from-data") not in ("from-data", "declared"):
        faults.append(f"{where}: domain must be 'declared' or 'from-data'")
    bounds = body.get("bounds")
    if bounds is not None and (not isinstance(bounds, list) or len(bounds) != 2):
        faults.append(f"{where}: bounds are two values, [lowest, highest]")
        bounds = None
    labels = body.get("value_labels") or {}
    return Column(
        name,
        kind,
        tuple(role for role in roles if role),
        None if body.get("levels") is None else tuple(_value_in(v) for v in body["levels"]),
        None if bounds is None else (_bound(bounds[0]), _bound(bounds[1])),
        body.get("domain", "from-data"),
        tuple(_value_in(v) for v in _listed(body.get("missing"))),
        tuple(_value_in(v) for v in _listed(body.get("not_applicable"))),
        body.get("decimals"),
        _optional(body.get("format")),
        str(body.get("label") or ""),
        {_value_in(k): str(v) for k, v in labels.items()},
        _optional(body.get("parent")),
        _optional(body.get("partner")),
        str(body.get("note") or ""),
    )


def _one_of(words: Any, value: Any, where: str, faults: list[str]) -> Any:
    try:
        return words(str(value))
    except ValueError:
        faults.append(f"{where} is {str(value)!r}; it must be one of {', '.join(words)}")
        return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else ([] if value is None else [value])


def _optional(value: Any) -> str | None:
    return None if value is None else str(value)


def _bound(value: Any) -> float | str:
    return value if isinstance(value, (int, float)) else str(value)


def _value_in(value: Any) -> Level:
    if isinstance(value, (bool, dt.date)):
        return value
    if isinstance(value, int):
        return int(value)
    return float(value) if isinstance(value, float) else str(value)
