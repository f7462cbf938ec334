"""Saved models: one file, which can be opened safely even when it comes from a stranger."""

from __future__ import annotations

from pathlib import Path

from dalenius.core.errors import FileError
from dalenius.preparation.keeping import Kept
from dalenius.synth._store import damage_told, open_parts, save_parts
from dalenius.synth.base import METHODS, Model, Synthesizer


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
    told = {
        "method": model.method, "contents": model.contents, "rows": model.rows, "facts": facts,
        "kept": model.preparation.to_dict(),
    }  # fmt: skip
    save_parts(path, "model", model.schema, told, arrays)


def load_model(path: str | Path) -> Model:
    """Open a saved model; an error says when the file is none, or damaged.

    Examples
    --------
    >>> load_model("nowhere.model")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.FileError: nowhere.model: cannot open the model (No such file or directory)
    """
    with damage_told(path, "model"):
        schema, head, arrays = open_parts(path, "model")
        kind = METHODS[head["method"]]
        if not issubclass(kind, Synthesizer):
            raise FileError(f"{path}: {head['method']} fits no model; make the file again")
        model = kind.model.from_parts(schema, int(head["rows"]), head["facts"], arrays)
        model.preparation = Kept.from_dict(head["kept"])
        return model
