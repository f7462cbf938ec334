"""Saved models of several tables: one file of JSON and arrays, which can be opened even when it comes from a stranger.

The models of single tables within it, their columns and the links are written out in place; only classes that were
named as stored are made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import FileError
from dalenius.data.frames import Origin
from dalenius.data.relations import Database, Link
from dalenius.data.schema import Column, Role, Schema
from dalenius.data.table import Table
from dalenius.preparation.keeping import Kept
from dalenius.synth._store import STORED, _name, damage_told, open_parts, save_parts, stored
from dalenius.synth.base import METHODS, Model, Synthesizer
from dalenius.synth.relational.beside import Beside
from dalenius.synth.relational.children import Children, Numbers
from dalenius.synth.relational.conditional import Below, ConditionalModel
from dalenius.synth.relational.events import Events
from dalenius.synth.relational.flatten import FlattenModel
from dalenius.synth.relational.hma import Extended, Group, HmaModel
from dalenius.synth.relational.join import JoinModel
from dalenius.synth.relational.method import DatabaseModel
from dalenius.synth.relational.others import Classes, Other
from dalenius.synth.relational.scores import Bent, Score, Sizes
from dalenius.synth.relational.surrogate import Pattern

KIND = "model of several tables"
MODELS: Mapping[str, type[DatabaseModel]] = {
    "conditional": ConditionalModel, "join": JoinModel, "hma": HmaModel, "flatten": FlattenModel,
}  # fmt: skip
CONTENTS = "values of original records and the sizes of families: treat the file like the confidential data"
LEFT_OUT = ("origins", "told")
"""Where the tables came from is nobody's business elsewhere."""
for _kind in (
    Beside, Children, Numbers, Below, Events, Extended, Group, Classes, Other, Bent, Score, Sizes, Pattern, Link,
):  # fmt: skip
    stored(_kind)


def save_database_model(model: DatabaseModel, path: str | Path) -> None:
    """Save a fitted model of several tables to one file.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.data import examples
    >>> from dalenius.synth.relational.method import make_relational
    >>> model = make_relational("conditional").fit(examples.visits(200), seed=1)
    >>> path = Path(tempfile.mkdtemp()) / "clinic.model"
    >>> save_database_model(model, path)
    >>> load_database_model(path).sample(seed=1)["patients"].rows
    200
    """
    name = next(name for name, kind in MODELS.items() if type(model) is kind)
    writer = _Writer()
    held = {k: writer.apart(v, k) for k, v in vars(model).items() if k not in LEFT_OUT}
    told = {"method": name, "contents": CONTENTS, "facts": held, "columns": writer.beside}
    save_parts(path, KIND, Schema(tuple(writer.columns)), told, writer.arrays)


def load_database_model(path: str | Path) -> DatabaseModel:
    """Open a saved model of several tables; an error says when the file is none, or damaged.

    Examples
    --------
    >>> load_database_model("nowhere.model")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.FileError: nowhere.model: cannot open the model of several tables (No such file or directory)
    """
    with damage_told(path, KIND):
        schema, head, arrays = open_parts(path, KIND)
        kind = MODELS[head["method"]]
        reader = _Reader(schema, head["columns"], arrays)
        model = kind.__new__(kind)
        vars(model).update({name: reader.together(part) for name, part in head["facts"].items()})
        model.origins, model.told = {name: Origin() for name in model.columns}, ()
        return model


class _Writer:
    """Takes a model apart; every column is put down once, under a number."""

    def __init__(self) -> None:
        self.arrays: dict[str, npt.NDArray[Any]] = {}
        self.columns: list[Column] = []
        self.beside: list[dict[str, Any]] = []

    def column(self, column: Column) -> dict[str, Any]:
        number = len(self.columns)
        names = {part: getattr(column, part) for part in ("name", "parent", "partner")}
        self.beside.append({**names, "roles": [str(role) for role in column.roles]})
        self.columns.append(replace(column, name=str(number), parent=None, partner=None, roles=()))
        return {"column": number}

    def apart(self, value: Any, place: str) -> Any:
        if value is None or isinstance(value, (str, bool, int, float)):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            self.arrays[place] = value
            return {"array": place}
        if isinstance(value, Column):
            return self.column(value)
        if isinstance(value, (list, tuple)):
            items = [self.apart(item, f"{place}.{i}") for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, Mapping):
            pairs = enumerate(value.items())
            return {
                "map": [
                    [self.apart(k, f"{place}.k{i}"), self.apart(v, f"{place}.{i}")] for i, (k, v) in pairs
                ]
            }
        return self._whole(value, place)

    def _whole(self, value: Any, place: str) -> Any:
        if isinstance(value, Table):
            vectors = [self.apart(v, f"{place}.{i}") for i, v in enumerate(value.vectors.values())]
            return {"table": vectors, "rows": value.rows}
        if isinstance(value, Kept):
            return {"kept": value.to_dict()}
        if isinstance(value, Schema):
            return {
                "schema": [self.column(c) for c in value],
                "rules": list(value.rules),
                "least": value.min_units,
            }
        if isinstance(value, Database):
            parts = {f: getattr(value, f) for f in ("keys", "links", "order", "rules", "orphans", "endings")}
            return {"database": self.apart(parts, place)}
        if isinstance(value, Model):
            facts = {n: self.apart(getattr(value, n), f"{place}.{n}") for n in value.keeps}
            told = {"rows": value.rows, "facts": facts, "kept": value.preparation.to_dict()}
            return {"model": value.method, "of": self._whole(value.schema, place), **told}
        kind = _name(type(value))
        if kind not in STORED:
            raise TypeError(f"{kind} is not part of a saved model")
        return {
            "is": kind,
            "has": {f.name: self.apart(getattr(value, f.name), f"{place}.{f.name}") for f in fields(value)},
        }


class _Reader:
    """Puts together what a `_Writer` took apart."""

    def __init__(
        self, schema: Schema, beside: list[dict[str, Any]], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> None:
        self.schema, self.beside, self.arrays = schema, beside, arrays

    def column(self, number: int) -> Column:
        told = self.beside[number]
        roles = tuple(Role(role) for role in told["roles"])
        names = {part: told[part] for part in ("name", "parent", "partner")}
        return replace(self.schema[str(number)], roles=roles, **names)

    def together(self, told: Any) -> Any:
        if isinstance(told, list):
            return [self.together(item) for item in told]
        if not isinstance(told, dict):
            return told
        if "array" in told:
            return self.arrays[told["array"]]
        if "column" in told:
            return self.column(told["column"])
        if "tuple" in told:
            return tuple(self.together(told["tuple"]))
        if "map" in told:
            return {self.together(k): self.together(v) for k, v in told["map"]}
        return self._whole(told)

    def _whole(self, told: dict[str, Any]) -> Any:
        if "table" in told:
            return Table.from_vectors(self.together(told["table"]), told["rows"])
        if "kept" in told and "model" not in told:
            return Kept.from_dict(told["kept"])
        if "schema" in told:
            columns = tuple(self.together(told["schema"]))
            return Schema(columns, tuple(told["rules"]), min_units=told["least"])
        if "database" in told:
            return Database({}, **self.together(told["database"]))
        if "model" in told:
            return self._model(told)
        held = {name: self.together(part) for name, part in told["has"].items()}
        return STORED[told["is"]](**held)

    def _model(self, told: dict[str, Any]) -> Model:
        kind = METHODS[told["model"]]
        if not issubclass(kind, Synthesizer):
            raise FileError(f"{told['model']} fits no model")
        model = kind.model.__new__(kind.model)
        Model.__init__(model, self._whole(told["of"]), int(told["rows"]))
        for name in kind.model.keeps:
            setattr(model, name, self.together(told["facts"][name]))
        model.preparation = Kept.from_dict(told["kept"])
        return model
