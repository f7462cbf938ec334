"""Finished counts of files that are kept in a folder, so that a run that was broken off need not count again.

What is kept goes by the content of the file (its SHA-256), the tables, and how columns are read. It is as confidential
as the file, so that it is kept only where somebody names a folder, which nobody else may then enter.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.counts.batches import CsvStream, ParquetStream, Stream, WatchedStream
from dalenius.counts.counts import Counts
from dalenius.counts.stream import count_stream
from dalenius.data.atomic import private_folder, replacing
from dalenius.data.grouping import Grouping
from dalenius.data.schema import Schema
from dalenius.data.vector import MISSING_LABEL, NAN_LABEL

Tables = dict[tuple[str, ...], Counts]
GAPS = {"missing": MISSING_LABEL, "NaN": NAN_LABEL}


@dataclass(eq=False)
class KeptCounts:
    """A folder of finished counts.

    Examples
    --------
    >>> import tempfile, dalenius
    >>> from dalenius.counts.batches import open_stream
    >>> folder = Path(tempfile.mkdtemp())
    >>> dalenius.write({"sex": ["f", "m", "f"]}, folder / "people.parquet")
    >>> kept = KeptCounts(folder / "counts")
    >>> kept.count(open_stream(folder / "people.parquet"), [("sex",)])["sex",].counts.tolist()
    [2, 1]
    >>> kept.count(open_stream(folder / "people.parquet"), [("sex",)]), kept.reused
    ({('sex',): Counts(sex: 2 of 2 cells, total 3)}, 1)
    """

    folder: Path
    reused: int = 0
    _digests: dict[tuple[str, int, int], str] = field(default_factory=dict, repr=False)

    def count(
        self,
        stream: Stream,
        tables: Sequence[tuple[str, ...]],
        *,
        schema: Schema | None = None,
        grouping: Grouping | None = None,
    ) -> Tables:
        """Tables of a stream: those that were counted before, or counted now and kept."""
        paths = _paths(stream)
        if not paths:
            return count_stream(stream, tables, schema=schema, grouping=grouping)
        breaks = {} if grouping is None else {n: np.asarray(b).tolist() for n, b in grouping.breaks.items()}
        facts = [
            version("dalenius"), [self._digest(path) for path in paths], [list(table) for table in tables],
            "" if schema is None else schema.to_yaml(), breaks,
        ]  # fmt: skip
        name = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:40]
        place = self.folder / f"{name}.counts"
        known = _opened(place)
        if known is not None and set(known) == set(tables):
            self.reused += 1
            return known
        counted = count_stream(stream, tables, schema=schema, grouping=grouping)
        _save(place, counted)
        return counted

    def _digest(self, path: str) -> str:
        about = Path(path).stat()
        key = (path, about.st_size, about.st_mtime_ns)
        if key not in self._digests:
            with open(path, "rb") as file:
                self._digests[key] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._digests[key]


def _paths(stream: Stream) -> tuple[str, ...]:
    """Files whose content says all there is; others are counted anew."""
    if isinstance(stream, WatchedStream):
        stream = stream.stream
    if isinstance(stream, ParquetStream):
        return stream.paths
    return (stream.path,) if isinstance(stream, CsvStream) else ()


def _save(place: Path, tables: Mapping[tuple[str, ...], Counts]) -> None:
    try:
        heads = [
            {"columns": list(c.columns), "labels": [[_told(v) for v in labels] for labels in c.labels]}
            for c in tables.values()
        ]
    except TypeError:  # a label that is no plain value: not kept, and counted again next time
        return
    private_folder(place.parent)
    with replacing(place) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("head.json", json.dumps(heads))
        for i, counts in enumerate(tables.values()):
            for what, array in (("keys", counts.keys), ("counts", counts.counts)):
                buffer = io.BytesIO()
                np.save(buffer, array, allow_pickle=False)
                archive.writestr(f"{i}.{what}.npy", buffer.getvalue())


def _opened(place: Path) -> Tables | None:
    """What was kept; None where there is nothing, or nothing that can be read."""
    try:
        with zipfile.ZipFile(place) as archive:
            heads = json.loads(archive.read("head.json"))
            made: Tables = {}
            for i, head in enumerate(heads):
                keys, counts = (
                    np.load(io.BytesIO(archive.read(f"{i}.{what}.npy")), allow_pickle=False)
                    for what in ("keys", "counts")
                )
                labels = tuple([_meant(v) for v in each] for each in head["labels"])
                made[tuple(head["columns"])] = Counts(tuple(head["columns"]), labels, keys, counts)
            return made
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def _told(label: Any) -> Any:
    for word, gap in GAPS.items():
        if label is gap:
            return {"gap": word}
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, (str, bool, int, float)):
        return label
    if isinstance(label, Decimal):
        return {"Decimal": str(label)}
    for kind in (dt.datetime, dt.date):
        if isinstance(label, kind):
            return {kind.__name__: label.isoformat()}
    raise TypeError


def _meant(told: Any) -> Any:
    if not isinstance(told, dict):
        return told
    ((kind, text),) = told.items()
    if kind == "gap":
        return GAPS[text]
    makers: dict[str, Any] = {
        "datetime": dt.datetime.fromisoformat, "date": dt.date.fromisoformat, "Decimal": Decimal,
    }  # fmt: skip
    return makers[kind](text)
