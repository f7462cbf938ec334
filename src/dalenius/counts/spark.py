"""Counting inside Spark: one job for a batch of tables, of which only the cells come back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl

from dalenius.core.errors import DataError
from dalenius.counts.sources import BAD, COUNT, SET, SETS_PER_QUERY, WEIGHT

MOST_ROWS = 20_000_000
"""Cells of one job that are brought to this machine at most."""
NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal")


class SparkSource:
    """A Spark frame, grouped by the caller's own session, which is left running."""

    decimal: str | None = None

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return list(self.frame.columns)

    def group(self, tables: Sequence[tuple[str, ...]], weights: str | None) -> Iterator[Any]:
        """See `Source`; the tables of a batch are one job (GROUPING SETS)."""
        for begin in range(0, len(tables), SETS_PER_QUERY):
            yield from self._job(tables[begin : begin + SETS_PER_QUERY], weights)

    def _job(self, tables: Sequence[tuple[str, ...]], weights: str | None) -> Iterator[Any]:
        from pyspark.sql import functions as f  # noqa: PLC0415 (an extra)

        used = list(dict.fromkeys(name for table in tables for name in table))
        columns = {name: f.col(_quoted(name)) for name in used}
        frame, measures = self.frame, [f.count(f.lit(1)).alias(COUNT)]
        if weights is not None:
            weight = self._weight(weights, f)
            usable = f.coalesce(~f.isnan(weight) & (weight >= 0) & (weight < float("inf")), f.lit(False))
            frame = frame.withColumns({WEIGHT: weight, BAD: (~usable).cast("long")})
            measures += [f.sum(WEIGHT).alias(WEIGHT), f.sum(BAD).alias(BAD)]
        measures.append(f.grouping_id().alias(SET))
        sets = [[columns[name] for name in table] for table in tables]
        grouped = frame.groupingSets(sets, *columns.values()).agg(*measures).limit(MOST_ROWS + 1)
        with spark_told("count the tables"):
            result = pl.DataFrame(grouped.toArrow())
        if len(result) > MOST_ROWS:
            raise DataError(
                f"the tables have more than {MOST_ROWS:,} cells; count fewer columns, or group numbers before"
            )
        parts = result.partition_by(SET, as_dict=True, include_key=False)
        for table in tables:
            # Spark's grouping id has a bit for every column, the first one highest, set where it is summed out
            key = sum(1 << (len(used) - 1 - i) for i, name in enumerate(used) if name not in table)
            part = parts.get((key,), result.drop(SET).clear())
            yield part.drop([name for name in used if name not in table])

    def _weight(self, name: str, f: Any) -> Any:
        kind = dict(self.frame.dtypes)[name]
        if not kind.startswith(("tinyint", "smallint", "int", "bigint", *NUMBERS)):
            raise DataError(f"column {name!r} holds {kind}; weights must be numbers")
        return f.col(_quoted(name)).cast("double")


def is_spark(frame: Any) -> bool:
    """Whether this is a frame of Spark, classic or through Connect.

    Examples
    --------
    >>> is_spark({"a": [1]})
    False
    """
    return type(frame).__module__.startswith("pyspark.sql")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def spark_told(what: str) -> Iterator[None]:
    """Turn Spark's errors into ours; its own words may quote values of the data.

    Examples
    --------
    >>> with spark_told("count"):
    ...     raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.DataError: Spark cannot count (RuntimeError); no Java was found: install a Java 17 runtime ...
    """
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        text = str(error)
        if "PYTHON_VERSION_MISMATCH" in text:
            remedy = (
                "driver and workers run different Pythons: set PYSPARK_PYTHON to the driver's on all nodes"
            )
        elif "JAVA_GATEWAY_EXITED" in text or "JAVA_HOME" in text:
            remedy = "no Java was found: install a Java 17 runtime (Debian: default-jre-headless)"
        else:
            remedy = "look at Spark's own log"
        raise DataError(f"Spark cannot {what} ({type(error).__name__}); {remedy}") from None
