"""What a file of a model holds beside the model that was opened out of it: whoever takes the file takes that too."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.data.files import read
from dalenius.models.coefficients import CoefficientTable
from dalenius.models.files import BoosterModel

SLACK = 1.02
"""How much longer a file of boosted trees may be than the library writes it here: other versions differ a little."""
BYTES = 128
"""Bytes of a zip for each part beside what the part holds: its name, twice, and its place."""
FIGURES = 8
"""Columns of figures beside a coefficient: errors, statistics, intervals."""


def leftovers(path: Path, model: Any) -> str:
    """What is wrong with a file, by writing its model anew; empty where nothing is.

    Examples
    --------
    >>> leftovers(Path("model.onnx"), None)
    ''
    """
    if path.suffix.lower() == ".skops":
        return _beside_skops(path, model)
    if isinstance(model, BoosterModel):
        held = path.read_bytes()
        if model.library == "xgboost":
            anew = len(model.booster.save_raw(path.suffix.lower().removeprefix(".")))
        else:
            anew = len(model.booster.model_to_string().encode())
        return "more than its library writes for this model" if len(held) > SLACK * anew + 400 else ""
    if isinstance(model, CoefficientTable):
        table = read(path)
        texts = [name for name in table.names if not table[name].is_number]
        return "columns beside terms and figures" if len(texts) > 1 or len(table.names) > FIGURES + 2 else ""
    return ""


def _beside_skops(path: Path, model: Any) -> str:
    from skops import io as skops_io  # noqa: PLC0415 (an extra; the file was opened by it)

    anew = skops_io.dumps(model)
    with zipfile.ZipFile(path) as mine, zipfile.ZipFile(io.BytesIO(anew)) as theirs:
        parts = mine.infolist()
        room = sum(
            min(part.compress_size, part.file_size + BYTES) + len(part.filename) * 2 + BYTES for part in parts
        )
        if mine.comment or path.stat().st_size > room + BYTES or _content(mine) != _content(theirs):
            return "more than skops writes for this model: write it anew with skops.io.dump"
    return ""


def _content(held: zipfile.ZipFile) -> tuple[Any, list[str]]:
    """The description without numbers that change from run to run, and the arrays whatever they are called."""
    told = _plain(json.loads(held.read("schema.json")))
    names = [part.filename for part in held.infolist() if part.filename != "schema.json"]
    return told, sorted(_digest(held.read(name)) for name in names)


def _digest(content: bytes) -> str:
    """Of an array field by field: between the fields of a tree's nodes stand bytes that nobody sets."""
    if content.startswith(b"\x93NUMPY"):
        array = np.load(io.BytesIO(content), allow_pickle=False)
        fields = array.dtype.names
        head = f"{array.dtype.descr}{array.shape}".encode()
        content = head + b"".join((array[f] if f else array).tobytes() for f in fields or [""])
    return hashlib.sha256(content).hexdigest()


def _plain(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _plain(value) for key, value in node.items() if key not in ("__id__", "file")}
    return [_plain(value) for value in node] if isinstance(node, list) else node
