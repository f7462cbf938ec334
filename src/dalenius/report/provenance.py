"""Where a report comes from: versions, seeds, hashes of the inputs, the command and the date."""

from __future__ import annotations

import datetime as dt
import platform
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("dalenius", "numpy", "numba", "polars", "pyarrow", "duckdb", "scikit-learn", "opendp", "altair")


@dataclass(frozen=True)
class Provenance:
    """What somebody needs to make the same report again.

    Examples
    --------
    >>> Provenance.now({"survey.csv": "ab12"}, {"synthesis": 1}).seeds
    {'synthesis': 1}
    """

    date: str
    command: str
    versions: Mapping[str, str]
    inputs: Mapping[str, str] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def now(
        cls, inputs: Mapping[str, str] | None = None, seeds: Mapping[str, int] | None = None
    ) -> Provenance:
        """Record this moment, this machine and the command that is running."""
        words = [Path(sys.argv[0]).name or "python", *sys.argv[1:]]
        moment = dt.datetime.now(dt.UTC).replace(microsecond=0).isoformat()
        return cls(moment, shlex.join(words), _versions(), inputs or {}, seeds or {})


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
