"""Schemas as YAML that a steward can read, edit and sign: one block a column, the reason for each guess beside it."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from dalenius.core.errors import FileError, SchemaError
from dalenius.data.atomic import write_text
from dalenius.data.sampling import UNKNOWN, Sampling
from dalenius.data.schema import MIN_UNITS, Column, Kind, Level, Role, Schema

HEADER = """\
Dalenius schema, version 1. Read it, correct it, keep it with the data.
kind: categorical, ordered, integer, continuous, boolean, datetime, text, point
role: key (an intruder may know it), target (it would hurt if learnt), identifier (never released),
      entity (unit of protection), household; of a survey's design: weight, stratum, psu (what was drawn first),
      fpc (units of the stratum in the population), replicate (replicate weights); one or a list
sampling: of a survey: replicates (BRR, jackknife, stratified-jackknife, bootstrap), fay, scale,
          around (estimate or mean), calibrated (columns that weights were brought to)
domain: declared (levels or bounds are public knowledge) or from-data (read off the confidential file)
missing, not_applicable: codes that are no ordinary values, such as -9 or -8
release: as-is lets values leave that fewer than min_units units hold (default 3); otherwise they stay
outside: what becomes of a value that is not in a declared domain: nearest (bound of a number), missing, or a level;
         left out, such a value is an error
note: why the kind was chosen; nobody but you reads it
"""
ENTRIES = ("version", "title", "min_units", "columns", "rules", "sampling")
SAMPLING = ("replicates", "fay", "scale", "around", "calibrated")
FIELDS = {
    "kind", "role", "levels", "bounds", "domain", "missing", "not_applicable", "decimals", "format", "label",
    "value_labels", "parent", "partner", "note", "release", "outside",
}  # fmt: skip


def write_schema(schema: Schema, path: str | Path | None = None) -> str:
    """Schema as commented YAML text; written to ``path`` when given."""
    root = CommentedMap()
    root["version"] = 1
    if schema.title:
        root["title"] = _text(schema.title)
    if schema.min_units != MIN_UNITS:
        root["min_units"] = schema.min_units
    root["columns"] = CommentedMap({_text(column.name): _column_out(column) for column in schema})
    if schema.rules:
        root["rules"] = CommentedSeq([_text(rule) for rule in schema.rules])
    if schema.sampling != UNKNOWN:
        root["sampling"] = _sampling_out(schema.sampling)
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
    except (YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark else ""
        problem = str(getattr(error, "problem", None) or "syntax error").splitlines()[0]
        raise SchemaError(f"{where}:{line} not valid YAML ({problem})") from None
    if not isinstance(root, dict) or not isinstance(root.get("columns"), dict):
        raise SchemaError(f"{where}: a schema needs a 'columns:' block with one entry per column")
    faults = [f"unknown entry {key!r}" for key in root if key not in ENTRIES]
    if root.get("version", 1) != 1:
        faults.append(f"version {root['version']!r} is not known; this is version 1")
    rules = root.get("rules") or []
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        faults.append("rules are a list of texts")
        rules = []
    columns = [_column_in(str(name), body, faults) for name, body in root["columns"].items()]
    try:
        least = root.get("min_units", MIN_UNITS)
        title = str(root.get("title") or "")
        schema = Schema(
            tuple(columns),
            tuple(map(str, rules)),
            title,
            least,
            _sampling_in(root.get("sampling"), columns, faults),
        )
    except SchemaError as error:
        faults += error.faults
    if faults:
        raise SchemaError.from_faults(where, faults)
    return schema


class _Constructor(RoundTripConstructor):
    """Reads ``!decimal "1.50"`` as an exact decimal number."""


class _Representer(RoundTripRepresenter):
    """Writes exact decimal numbers as ``!decimal "1.50"``."""


_Constructor.add_constructor("!decimal", lambda loader, node: _exact(node.value))
_Representer.add_representer(Decimal, lambda dumper, value: dumper.represent_scalar("!decimal", str(value)))


def _exact(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("a !decimal that is not a number") from None


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.Constructor = _Constructor
    yaml.Representer = _Representer
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


def _sampling_out(sampling: Sampling) -> CommentedMap:
    given = {name: getattr(sampling, name) for name in SAMPLING}
    body = CommentedMap({name: value for name, value in given.items() if value and value != "estimate"})
    if sampling.calibrated:
        body["calibrated"] = _flow([_text(name) for name in sampling.calibrated])
    return body


def _sampling_in(body: Any, known: list[Column], faults: list[str]) -> Sampling:
    if body is None:
        return UNKNOWN
    if not isinstance(body, dict):
        faults.append(f"sampling: entries are {', '.join(SAMPLING)}")
        return UNKNOWN
    faults += [f"sampling: unknown entry {key!r}" for key in body if key not in SAMPLING]
    numbers = {}
    for name in ("fay", "scale"):
        if body.get(name) is not None:
            if isinstance(body[name], (int, float)) and not isinstance(body[name], bool):
                numbers[name] = float(body[name])
            else:
                faults.append(f"sampling: {name} must be a number")
    columns = tuple(map(str, _listed(body.get("calibrated"))))
    there = {column.name for column in known}
    faults += [
        f"sampling: calibrated names {name!r}, which is no column" for name in columns if name not in there
    ]
    kind: Any = _optional(body.get("replicates"))
    around: Any = str(body.get("around") or "estimate")
    return Sampling(kind, numbers.get("fay", 0.0), numbers.get("scale"), columns, around)


def _column_out(column: Column) -> CommentedMap:
    body = CommentedMap()
    body["kind"] = column.kind.value
    if column.roles:
        shown = [role.value for role in column.roles]
        body["role"] = shown[0] if len(shown) == 1 else _flow(shown)
    if column.levels is not None and column.kind is not Kind.TEXT:
        body["levels"] = _flow([_value_out(level) for level in column.levels])
    if column.bounds is not None:
        body["bounds"] = _flow([_value_out(bound) for bound in column.bounds])
    if column.levels is not None or column.bounds is not None or column.domain != "from-data":
        body["domain"] = column.domain
    for name in ("missing", "not_applicable"):
        if getattr(column, name):
            body[name] = _flow([_value_out(code) for code in getattr(column, name)])
    for name in ("decimals", "outside", "format", "label", "parent", "partner"):
        held = getattr(column, name)
        if held is not None and (name != "label" or held):
            body[name] = _text(held) if isinstance(held, str) else held
    if column.value_labels:
        body["value_labels"] = CommentedMap({_value_out(k): _text(v) for k, v in column.value_labels.items()})
    if column.note:
        body["note"] = _text(column.note)
    if column.release != "guarded":
        body["release"] = column.release
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
    return value


def _column_in(name: str, body: Any, faults: list[str]) -> Column:
    where = f"column {name!r}"
    if not isinstance(body, dict):
        faults.append(f"{where}: needs at least 'kind: …'")
        return Column(name, Kind.TEXT)
    faults += [f"{where}: unknown entry {key!r}" for key in body if key not in FIELDS]
    kind = _one_of(Kind, body.get("kind"), f"{where}: kind", faults)
    roles = [_one_of(Role, role, f"{where}: role", faults) for role in _listed(body.get("role"))]
    if body.get("domain", "from-data") not in ("from-data", "declared"):
        faults.append(f"{where}: domain must be 'declared' or 'from-data'")
    decimals = body.get("decimals")
    if decimals is not None and (not isinstance(decimals, int) or isinstance(decimals, bool)):
        faults.append(f"{where}: decimals must be a whole number")
        decimals = None
    levels = body.get("levels")
    if levels is not None and not isinstance(levels, list):
        faults.append(f"{where}: levels are a list, [a, b, c]")
        levels = None
    if kind is None:  # what follows from the kind cannot be judged
        return Column(
            name, Kind.TEXT, parent=_optional(body.get("parent")), partner=_optional(body.get("partner"))
        )
    return Column(
        name,
        kind,
        tuple(role for role in roles if role),
        None if levels is None else _values_in(levels, f"{where}: levels", faults),
        _bounds_in(body.get("bounds"), where, faults),
        "declared" if body.get("domain") == "declared" else "from-data",
        _values_in(_listed(body.get("missing")), f"{where}: missing", faults),
        _values_in(_listed(body.get("not_applicable")), f"{where}: not_applicable", faults),
        decimals,
        _optional(body.get("format")),
        str(body.get("label") or ""),
        _labels_in(body.get("value_labels"), where, faults),
        _optional(body.get("parent")),
        _optional(body.get("partner")),
        str(body.get("note") or ""),
        body.get("release", "guarded"),
        None if body.get("outside") is None else _value_in(body["outside"]),
    )


def _values_in(values: list[Any], where: str, faults: list[str]) -> tuple[Level, ...]:
    if any(value is None or isinstance(value, (list, dict)) for value in values):
        faults.append(
            f"{where} are plain values: text, numbers, dates, true or false; quote a word such as null"
        )
        return ()
    return tuple(_value_in(value) for value in values)


def _bounds_in(bounds: Any, where: str, faults: list[str]) -> tuple[float | str, float | str] | None:
    if bounds is None:
        return None
    if not isinstance(bounds, list) or len(bounds) != 2 or any(isinstance(b, (list, dict)) for b in bounds):
        faults.append(f"{where}: bounds are two values, [lowest, highest]")
        return None
    return _bound(bounds[0]), _bound(bounds[1])


def _labels_in(labels: Any, where: str, faults: list[str]) -> dict[Level, str]:
    if labels is None:
        return {}
    if not isinstance(labels, dict):
        faults.append(f"{where}: value_labels are pairs, value: label")
        return {}
    return {_value_in(key): str(label) for key, label in labels.items()}


def _one_of(words: Any, value: Any, where: str, faults: list[str]) -> Any:
    try:
        return words(str(value))
    except ValueError:
        faults.append(f"{where} is {str(value)!r}; it must be one of {', '.join(words)}")
        return None


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else ([] if value is None else [value])


def _optional(value: Any) -> str | None:
    return None if value is None else str(value)


def _bound(value: Any) -> float | str:
    plain = _value_in(value)
    return plain if isinstance(plain, (int, float)) else str(plain)


def _value_in(value: Any) -> Level:
    """Plain Python values instead of those that remember how they were spelled."""
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, dt.datetime):
        zone = value.tzinfo
        return dt.datetime.combine(dt.date(value.year, value.month, value.day), _clock(value)).replace(
            tzinfo=zone
        )
    if isinstance(value, (dt.date, Decimal)):
        return value
    if isinstance(value, int):
        return int(value)
    return float(value) if isinstance(value, float) else str(value)


def _clock(value: dt.datetime) -> dt.time:
    return dt.time(value.hour, value.minute, value.second, value.microsecond)
