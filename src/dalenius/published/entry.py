"""`Entry`: one table as somebody hands it over, with how its counts were treated and of whom it speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dalenius.core.errors import FileError, TableError
from dalenius.data.files import read as read_file
from dalenius.data.table import Table
from dalenius.published.margin import Kind

KINDS = ("exact", "rounded", "nearest", "cellkey", "noisy")
COUNTS = ("n", "count", "freq", "frequency", "anzahl", "obs_value")
"""What a column of counts may be called."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A table and what is known about it.

    Attributes
    ----------
    value
        The column of counts; None for a file of people who are to be counted.
    by
        Columns it crosses; all others when left out.
    kind, base, scale
        ``exact``; ``rounded`` (up or down to ``base``); ``nearest`` (to the nearest multiple of it); ``cellkey`` (moved
        by up to ``base``); ``noisy`` (of this ``scale``).
    total
        Label of the sum over a whole column, or several such labels; None to find them by their names and counts.
    groups
        Column → label → the values it stands for, where a label is not a value itself.
    where
        Of whom the table speaks, in the language of rules: ``age == '18-64' and sex == 'f'``.
    complete
        Whether cells that are not listed are empty.
    unsure
        Columns that were taken for figures beside the counts and may be more than that.
    """

    name: str
    table: Table
    value: str | None = "n"
    by: tuple[str, ...] | None = None
    kind: Kind = "exact"
    base: int = 1
    scale: float = 0.0
    total: str | tuple[str, ...] | None = "Total"
    groups: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    where: str = ""
    complete: bool = False
    source: str = ""
    date: str = ""
    unsure: tuple[str, ...] = ()

    @property
    def totals(self) -> frozenset[str]:
        """All labels of sums."""
        return frozenset([self.total] if isinstance(self.total, str) else self.total or ())


def entries_from_yaml(path: Path) -> tuple[list[Entry], Mapping[str, Sequence[Any]], list[dict[str, Any]]]:
    """Read a list of published figures; every fault is named at once."""
    content = _content(path)
    faults = [f"unknown entry {name!r}" for name in content if name not in ("tables", "domains", "figures")]
    entries = []
    for name, body in content["tables"].items():
        entries += _entry(str(name), body if isinstance(body, dict) else {}, path.parent, faults)
    figures = []
    for name, facts in (content.get("figures") or {}).items():
        missing = [key for key in ("kind", "about", "values") if key not in (facts or {})]
        faults += [f"figure {name!r}: no {key}" for key in missing]
        figures += [] if missing else [{"name": str(name), **facts}]
    if faults:
        raise TableError(str(path), faults)
    return entries, content.get("domains") or {}, figures


def named_files(path: Path) -> list[Path]:
    """The files of tables that a list names."""
    named = [body.get("file") for body in _content(path)["tables"].values() if isinstance(body, dict)]
    return [path.parent / str(name) for name in named if name and (path.parent / str(name)).is_file()]


def _content(path: Path) -> dict[str, Any]:
    try:
        content = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: cannot read it ({error.strerror})") from None
    except (YAMLError, UnicodeDecodeError):
        raise FileError(f"{path}: not valid YAML") from None
    if not isinstance(content, dict) or not isinstance(content.get("tables"), dict):
        raise TableError(str(path), ["no entry 'tables': list them as 'name: {file: …}'"])
    return content


def _entry(name: str, body: dict[str, Any], folder: Path, faults: list[str]) -> list[Entry]:
    known = {
        "file",
        "value",
        "by",
        "kind",
        "base",
        "scale",
        "total",
        "groups",
        "where",
        "complete",
        "source",
        "date",
    }
    faults += [f"table {name!r}: unknown entry {entry!r}" for entry in body if entry not in known]
    file = folder / str(body.get("file", ""))
    if not file.is_file():
        faults.append(f"table {name!r}: file {body.get('file', '(none)')} does not exist")
        return []
    if body.get("kind", "exact") not in KINDS:
        faults.append(f"table {name!r}: kind must be one of {', '.join(KINDS)}")
        return []
    facts = {key: body[key] for key in body if key in known - {"file", "by"}}
    facts |= {key: str(body[key]) for key in ("date", "source") if key in body}  # YAML reads a day as a date
    facts["total"] = _labels(body.get("total"))
    by = tuple(map(str, body["by"])) if body.get("by") else None
    table = read_file(file)
    counts = count_columns(table.names)
    if "value" not in body and len(counts) == 1:
        facts["value"] = counts[0]
    return [Entry(name, table, by=by, **facts)]


def count_columns(names: Sequence[str]) -> list[str]:
    """Columns that are called like counts.

    Examples
    --------
    >>> count_columns(["sex", "Freq"])
    ['Freq']
    """
    return [name for name in names if name.lower() in COUNTS]


def _labels(given: Any) -> str | tuple[str, ...] | None:
    """Labels of sums as a list names them; None where it says nothing of them."""
    return tuple(map(str, given)) if isinstance(given, list) else None if given is None else str(given)
