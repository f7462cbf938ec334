"""One zip file of JSON and plain arrays, for whatever is saved to be drawn from later.

No pickle: nothing in the file is executed, so that one from a stranger can be opened.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import FileError
from dalenius.data.atomic import replacing
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.data.vector import Vector

DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, KeyError, ValueError, TypeError, IndexError, AttributeError,
    OverflowError,
)  # fmt: skip
"""Errors of a zip file, its JSON or its arrays after some bytes were lost (RuntimeError: unknown packing)."""
FORMAT = 1
LARGEST = 2**34
"""Bytes a file may unpack to (16 GB): a small one that claims more is refused."""


def save_parts(
    path: str | Path, kind: str, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write a schema, plain facts and arrays to one file of this kind."""
    head = {
        "kind": kind,
        "format": FORMAT,
        "schema": schema.to_yaml(),
        "text_levels": {c.name: list(c.levels or ()) for c in schema if c.kind is Kind.TEXT},
        **facts,
    }
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "head.json", json.dumps(head, ensure_ascii=False, indent=1).encode())
        for name, array in sorted(arrays.items()):
            buffer = io.BytesIO()
            np.save(buffer, np.asarray(array), allow_pickle=False)
            _add(archive, f"arrays/{name}.npy", buffer.getvalue())


def open_parts(path: str | Path, kind: str) -> tuple[Schema, dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """What `save_parts` wrote; an error says when the file is of another kind or version, or too large."""
    where = Path(path)
    with zipfile.ZipFile(where) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
            raise FileError(f"{where}: unpacks to more than {LARGEST >> 30} GB; not opened")
        head = json.loads(archive.read("head.json"))
        arrays = {
            entry.removeprefix("arrays/").removesuffix(".npy"): np.load(
                io.BytesIO(archive.read(entry)), allow_pickle=False
            )
            for entry in archive.namelist()
            if entry.startswith("arrays/")
        }
    if head["kind"] != kind or head["format"] != FORMAT:
        raise FileError(
            f"{where}: a {head['kind']} of format {head['format']}, not the {kind} of this version"
        )
    schema = Schema.from_yaml(head["schema"])
    texts = [replace(schema[name], levels=tuple(levels)) for name, levels in head["text_levels"].items()]
    return schema.replace_columns(*texts), head, arrays


@contextmanager
def damage_told(path: str | Path, kind: str) -> Iterator[None]:
    """One line for whatever opening and rebuilding can raise."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path}: cannot open the {kind} ({error.strerror})") from None
    except DAMAGED as error:
        raise FileError(f"{path}: not a Dalenius {kind} file, or damaged ({type(error).__name__})") from None


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    # A fixed date keeps equal files byte for byte equal.
    archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)


STORED: dict[str, type] = {}
C = TypeVar("C", bound=type)


def stored(cls: C) -> C:
    """Let instances of a dataclass be part of a saved model, with all their fields; for use as a class decorator."""
    STORED[_name(cls)] = cls
    return cls


def _name(cls: type) -> str:
    return f"{cls.__module__.removeprefix('dalenius.')}.{cls.__qualname__}"


def take_apart(value: Any, place: str, arrays: dict[str, npt.NDArray[Any]]) -> Any:
    """A value as JSON data; its arrays go into ``arrays`` under their place, columns stay in the schema.

    Examples
    --------
    >>> arrays = {}
    >>> told = take_apart({(0, 1): np.array([2.5])}, "a", arrays)
    >>> told, put_together(told, arrays, Schema(()))
    ({'map': [[{'tuple': [0, 1]}, {'array': 'a.0'}]]}, {(0, 1): array([2.5])})
    """
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        arrays[place] = value
        return {"array": place}
    if isinstance(value, Column):
        return {"column": value.name}
    if isinstance(value, Table):
        columns = [take_apart(value[name], f"{place}.{i}", arrays) for i, name in enumerate(value.names)]
        return {"table": columns, "rows": value.rows}
    if isinstance(value, Mapping):
        pairs = enumerate(value.items())
        return {
            "map": [[take_apart(k, "", {}), take_apart(v, f"{place}.{i}", arrays)] for i, (k, v) in pairs]
        }
    if isinstance(value, (list, tuple)):
        items = [take_apart(item, f"{place}.{i}", arrays) for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    kind = _name(type(value))
    if kind not in STORED:
        raise TypeError(f"{kind} is not part of a saved model")
    names = [field.name for field in fields(STORED[kind])]
    held = {name: take_apart(getattr(value, name), f"{place}.{name}", arrays) for name in names}
    return {"is": kind, "has": held}


def put_together(told: Any, arrays: Mapping[str, npt.NDArray[Any]], schema: Schema) -> Any:
    """What `take_apart` took apart; only classes that were named as stored are made."""
    if isinstance(told, list):
        return [put_together(item, arrays, schema) for item in told]
    if not isinstance(told, dict):
        return told
    if "array" in told:
        return arrays[told["array"]]
    if "column" in told:
        return schema[told["column"]]
    if "tuple" in told:
        return tuple(put_together(told["tuple"], arrays, schema))
    if "map" in told:
        return dict(put_together(pair, arrays, schema) for pair in told["map"])
    if "table" in told:
        return Table.from_vectors(put_together(told["table"], arrays, schema), told["rows"], schema=schema)
    held = {name: put_together(part, arrays, schema) for name, part in told["has"].items()}
    return STORED[told["is"]](**held)


stored(Vector)
