"""Databases as YAML that a steward can read, edit and sign: the columns of every table, its key, and the links."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from dalenius.core.errors import SchemaError
from dalenius.data.atomic import write_text
from dalenius.data.relations import Database, Link, Orphans
from dalenius.data.schema import MIN_UNITS, Schema
from dalenius.data.schema_yaml import _column_in, _column_out, _load_text, _text, _yaml

HEADER = """\
Dalenius database, version 1. Read it, correct it, keep it with the data.
key: column that names the rows of a table; order: column by which the rows of one parent follow one another
links: child is the column of the table that belongs to the other, parent the key it holds; the first link of a table
       says whose rows they are. cardinality: 1-1, 1-0..1 or 1-n. most: most children, by public knowledge
rules: what holds across tables, such as visits.date >= patients.born or sum(items.price) == orders.total
orphans: rows whose parent is not there: error, drop or keep
columns: as in the schema of a single table
"""
ENTRIES = ("version", "tables", "links", "rules", "orphans")
OF_TABLE = ("key", "order", "columns", "rules", "title", "min_units")
OF_LINK = ("child", "parent", "cardinality", "most", "note")


@dataclass(frozen=True)
class Relations:
    """What a YAML file says of a database, without its data.

    Examples
    --------
    >>> Relations({}, {"homes": "id"}).keys
    {'homes': 'id'}
    """

    schemas: Mapping[str, Schema]
    keys: Mapping[str, str]
    links: tuple[Link, ...] | None = None
    order: Mapping[str, str] | None = None
    rules: tuple[str, ...] = ()
    orphans: Orphans = "error"


def write_relations(base: Database, path: str | Path | None = None) -> str:
    """The database as commented YAML text; written to ``path`` when given."""
    root = CommentedMap({"version": 1, "tables": CommentedMap()})
    for name, table in base.tables.items():
        body = CommentedMap()
        if name in base.keys:
            body["key"] = _text(base.keys[name])
        if name in base.order:
            body["order"] = _text(base.order[name])
        if table.schema.min_units != MIN_UNITS:
            body["min_units"] = table.schema.min_units
        body["columns"] = CommentedMap(
            {_text(c.name): _column_out(_plain(c, base, name)) for c in table.schema}
        )
        if table.schema.rules:
            body["rules"] = CommentedSeq([_text(rule) for rule in table.schema.rules])
        root["tables"][_text(name)] = body
    root["links"] = CommentedSeq([_link_out(link) for link in base.links])
    if base.rules:
        root["rules"] = CommentedSeq([_text(rule) for rule in base.rules])
    if base.orphans != "error":
        root["orphans"] = base.orphans
    root.yaml_set_start_comment(HEADER)
    stream = io.StringIO()
    _yaml().dump(root, stream)
    if path is not None:
        write_text(Path(path), stream.getvalue())
    return stream.getvalue()


def _plain(column: Any, base: Database, table: str) -> Any:
    """A key without its values: a schema is passed on and must not list who is in the data."""
    if column.name not in base.key_columns(table):
        return column
    return replace(column, levels=None, bounds=None, note="")


def _link_out(link: Link) -> CommentedMap:
    body = CommentedMap()
    body["child"] = _text(f"{link.child}.{link.child_key}")
    body["parent"] = _text(f"{link.parent}.{link.parent_key}")
    for name in ("cardinality", "most", "note"):
        held = getattr(link, name)
        if held:
            body[name] = _text(held) if isinstance(held, str) else held
    return body


def read_relations(source: str | Path) -> Relations:
    r"""What a YAML file (or text) says of a database; every fault is told at once.

    Examples
    --------
    >>> text = "tables:\n  a: {key: id, columns: {id: {kind: integer}}}\nlinks: []\n"
    >>> read_relations(text).keys
    {'a': 'id'}
    """
    where, text = _load_text(source)
    try:
        root = _yaml().load(text)
    except (YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark else ""
        raise SchemaError(f"{where}:{line} not valid YAML") from None
    if not isinstance(root, dict) or not isinstance(root.get("tables"), dict):
        raise SchemaError(f"{where}: a database needs a 'tables:' block with one entry per table")
    wrong = [f"unknown entry {key!r}" for key in root if key not in ENTRIES]
    schemas: dict[str, Schema] = {}
    keys: dict[str, str] = {}
    order: dict[str, str] = {}
    for name, body in root["tables"].items():
        _table_in(str(name), body, schemas, keys, order, wrong)
    links = [_link_in(entry, list(schemas), wrong) for entry in root.get("links") or []]
    rules = root.get("rules") or []
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        wrong.append("rules are a list of texts")
        rules = []
    if wrong:
        raise SchemaError.from_faults(where, wrong)
    stated = None if "links" not in root else tuple(link for link in links if link is not None)
    return Relations(schemas, keys, stated, order, tuple(map(str, rules)), root.get("orphans", "error"))


def _table_in(
    name: str,
    body: Any,
    schemas: dict[str, Schema],
    keys: dict[str, str],
    order: dict[str, str],
    wrong: list[str],
) -> None:
    if not isinstance(body, dict) or not isinstance(body.get("columns"), dict):
        wrong.append(f"table {name!r}: needs a 'columns:' block")
        return
    wrong += [f"table {name!r}: unknown entry {key!r}" for key in body if key not in OF_TABLE]
    faults: list[str] = []
    columns = [_column_in(str(column), facts, faults) for column, facts in body["columns"].items()]
    try:
        rules = tuple(map(str, body.get("rules") or ()))
        schemas[name] = Schema(tuple(columns), rules, min_units=body.get("min_units", MIN_UNITS))
    except SchemaError as error:
        faults += error.faults
    wrong += [f"table {name!r}: {fault}" for fault in faults]
    if body.get("key") is not None:
        keys[name] = str(body["key"])
    if body.get("order") is not None:
        order[name] = str(body["order"])


def _link_in(entry: Any, tables: list[str], wrong: list[str]) -> Link | None:
    if not isinstance(entry, dict) or not {"child", "parent"} <= set(entry):
        wrong.append("a link has a child and a parent: {child: visits.patient_id, parent: patients.id}")
        return None
    wrong += [f"link: unknown entry {key!r}" for key in entry if key not in OF_LINK]
    ends = []
    for side in ("child", "parent"):
        text = str(entry[side])
        table = next((t for t in sorted(tables, key=len, reverse=True) if text.startswith(f"{t}.")), None)
        if table is None:
            wrong.append(f"link: {side} {text!r} names no table; write TABLE.COLUMN")
            return None
        ends.append((table, text[len(table) + 1 :]))
    (child, child_key), (parent, parent_key) = ends
    kind = entry.get("cardinality")
    return Link(
        parent, parent_key, child, child_key, None if kind is None else str(kind), entry.get("most"),  # type: ignore[arg-type]
        str(entry.get("note") or ""),
    )  # fmt: skip
