"""`synthesize_file`: a synthetic file from one that is larger than memory, written a part of the rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DataError, OptionError, names
from dalenius.core.random import DEFAULT_SEED, Seed, sequence
from dalenius.counts.batches import ArrowStream, Stream, WatchedStream, first_rows, open_stream
from dalenius.counts.survey import survey
from dalenius.data.files.chunks import write_in_chunks
from dalenius.data.rules import rules_for
from dalenius.data.schema import Schema
from dalenius.data.units import owner_columns
from dalenius.synth.base import METHODS, Model, Synthesizer, make_synthesizer
from dalenius.synth.counted import StreamTable

BLOCK = 1 << 20
"""Rows that are drawn and written at a time."""


@dataclass(frozen=True)
class Streamed:
    """What became of a file: how many rows were written, the model, and what a person should know."""

    rows: int
    model: Model
    notes: tuple[str, ...]


def from_counts() -> list[str]:
    """Methods that need counts alone, so that a file may be larger than memory.

    Examples
    --------
    >>> "mst" in from_counts(), "cart" in from_counts()
    (True, False)
    """
    return sorted(name for name in METHODS if getattr(METHODS[name], "reads_counts", False))


def fit_stream(
    method: Synthesizer, stream: Stream, *, schema: Schema | None = None, columns: Iterable[str] | None = None,
    seed: Seed = DEFAULT_SEED,
) -> Model:  # fmt: skip
    """Fit a method to rows that stream by; the rows are read two or three times and never held.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dalenius.counts.batches import ArrowStream
    >>> people = ArrowStream(pa.table({"sex": ["f", "m"] * 50, "tall": ["no", "yes"] * 50}))
    >>> fit_stream(make_synthesizer("loglinear"), people).sample(5, seed=1).names
    ['sex', 'tall']
    """
    if not method.reads_counts:
        raise OptionError(
            f"{method.info.name} needs the rows in memory; from a stream: {', '.join(from_counts())}"
        )
    wanted = None if columns is None else list(columns)
    _refuse(method, schema)
    known = schema.blind() if schema is not None and method.private else schema
    seen = survey(stream, wanted, schema=known if wanted is None or known is None else known.select(wanted))
    _refuse(method, seen.schema)
    table = StreamTable(seen, seed, [])
    wrong = method.faults_for(table.empty)
    if wrong:
        raise DataError.from_faults(method.info.name, wrong)
    model = method._fit_stream(table, seed)
    sampled = [name for name in table.names if seen.values[name].coder is None]
    if sampled and not method.private:
        table.notes.append(
            f"{names(sampled)}: too many different values to list; those of a sample of rows stand for them"
        )
    model.notes = [*model.notes, *table.notes]
    return model


def _refuse(method: Synthesizer, schema: Schema | None) -> None:
    if schema is None:
        return
    wrong = method.stream_faults(schema)
    owners = owner_columns(schema)
    if owners:
        wrong.append(
            f"{names(owners)} says whose rows they are: units with several rows are protected in memory only; "
            "read the file, or take the role away if every row is somebody else's"
        )
    if rules_for(schema, schema.names):
        wrong.append("rules are kept row by row; take them out of the schema, or read the file into memory")
    if wrong:
        raise DataError.from_faults(f"{method.info.name} from a stream", wrong)


def forecast_file(
    source: str | Path | Stream, method: str, *, columns: Iterable[str] | None = None, **options: Any
) -> Cost:
    """Expected time and memory of `synthesize_file`, from the number of rows and a first part of them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dalenius.counts.batches import ArrowStream
    >>> forecast_file(ArrowStream(pa.table({"sex": ["f", "m"] * 50})), "loglinear").seconds < 5
    True
    """
    made = make_synthesizer(method, **options)
    stream = open_stream(source) if isinstance(source, (str, Path)) else source
    wanted = list(stream.schema.names) if columns is None else list(columns)
    rows, head = first_rows(stream, wanted)
    levels = survey(ArrowStream(head, decimal=stream.decimal), wanted)
    sizes = tuple(len(levels.values[name].times) for name in wanted)
    return made.stream_cost(Shape(rows, sizes))


def synthesize_file(
    source: str | Path | Stream, target: str | Path, method: str, *, schema: Schema | None = None,
    columns: Iterable[str] | None = None, rows: int | None = None, seed: Seed = DEFAULT_SEED,
    progress: Callable[[str], None] | None = None, **options: Any,
) -> Streamed:  # fmt: skip
    """Synthesize a Parquet, CSV or Arrow file that is larger than memory into another such file.

    Methods that need counts alone (`from_counts`) are fitted while the rows stream by, and their rows are drawn and
    written a million at a time. Up to a million rows they are those of the same model in memory.

    Examples
    --------
    >>> import tempfile, dalenius
    >>> folder = Path(tempfile.mkdtemp())
    >>> dalenius.write({"sex": ["f", "m"] * 50, "tall": ["no", "yes"] * 50}, folder / "people.parquet")
    >>> synthesize_file(folder / "people.parquet", folder / "made.parquet", "loglinear", seed=1).rows
    100
    """
    made = make_synthesizer(method, **options)
    tell = progress or (lambda _: None)
    with write_in_chunks(target) as add:
        tell("counting")
        stream = open_stream(source) if isinstance(source, (str, Path)) else source
        watched = stream if progress is None else WatchedStream(stream, progress)
        model = fit_stream(
            made, watched, schema=schema, columns=columns, seed=sequence(sequence(seed), "fit", 0)
        )
        written = 0
        for block in model.blocks(rows, seed=sequence(seed, "draw", 0), size=BLOCK):
            add(block)
            written += block.rows
            tell(f"{written:,} rows")
    return Streamed(written, model, tuple(model.notes))
