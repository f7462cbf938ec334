"""Saved models: one zip file of JSON and plain arrays. No pickle, so a file from a stranger can be opened safely."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core.errors import FileError
from dalenius.data.atomic import replacing
from dalenius.data.schema import Kind, Schema
from dalenius.synth._store import DAMAGED
from dalenius.synth.base import METHODS, Model, Synthesizer

FORMAT = 1
LARGEST = 2**34
"""Bytes a model file may unpack to (16 GB): a small file that claims more is refused."""


def save_model(model: Model, path: str | Path) -> None:
    """Save a fitted model to one file.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.data import Table
    >>> from dalenius.synth import make_synthesizer
    >>> model = make_synthesizer("independent").fit(Table.from_frame({"a": ["x", "y", "x"]}))
    >>> path = Path(tempfile.mkdtemp()) / "a.model"
    >>> save_model(model, path)
    >>> load_model(path).sample(5, seed=1).rows
    5
    """
    facts, arrays = model.parts()
    head = {
        "format": FORMAT,
        "method": model.method,
        "contents": model.contents,
        "rows": model.rows,
        "schema": model.schema.to_yaml(),
        "text_levels": {c.name: list(c.levels or ()) for c in model.schema if c.kind is Kind.TEXT},
        "facts": facts,
    }
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "model.json", json.dumps(head, ensure_ascii=False, indent=1).encode())
        for name, array in sorted(arrays.items()):
            buffer = io.BytesIO()
            np.save(buffer, np.asarray(array), allow_pickle=False)
            _add(archive, f"arrays/{name}.npy", buffer.getvalue())


def load_model(path: str | Path) -> Model:
    """Open a saved model; an error says when the file is none, or damaged.

    Examples
    --------
    >>> load_model("nowhere.model")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.FileError: nowhere.model: cannot open the model (No such file or directory)
    """
    where = Path(path)
    try:
        with zipfile.ZipFile(where) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
                raise FileError(f"{where}: unpacks to more than {LARGEST >> 30} GB; not opened")
            head = json.loads(archive.read("model.json"))
            arrays = {
                entry.removeprefix("arrays/").removesuffix(".npy"): _array(archive.read(entry))
                for entry in archive.namelist()
                if entry.startswith("arrays/")
            }
        return _rebuild(head, arrays, where)
    except OSError as error:
        raise FileError(f"{where}: cannot open the model ({error.strerror})") from None
    except DAMAGED as error:
        raise FileError(f"{where}: not a Dalenius model file, or damaged ({type(error).__name__})") from None


def _rebuild(head: dict[str, Any], arrays: dict[str, Any], where: Path) -> Model:
    if head["format"] != FORMAT:
        raise FileError(f"{where}: written by another version (format {head['format']}); make it again")
    schema = Schema.from_yaml(head["schema"])
    texts = [replace(schema[name], levels=tuple(levels)) for name, levels in head["text_levels"].items()]
    full = schema.replace_columns(*texts)
    kind = METHODS[head["method"]]
    if not issubclass(kind, Synthesizer):
        raise FileError(f"{where}: {head['method']} fits no model; make the file again")
    return kind.model.from_parts(full, int(head["rows"]), head["facts"], arrays)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    # A fixed date keeps equal models byte for byte equal.
    archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)


def _array(content: bytes) -> np.ndarray[Any, Any]:
    return np.load(io.BytesIO(content), allow_pickle=False)
