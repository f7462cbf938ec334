"""`Finding`: one thing about the data that a synthesizer will stumble over; `Findings`: all about one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Finding:
    """What was found, in which columns, how often, and what to do about it.

    ``evidence`` names counts and shares; values appear only where they are codes or round numbers that many rows share.
    ``remedy`` is the step of a cleaning recipe that answers the finding, as plain data, where there is one.

    Examples
    --------
    >>> print(Finding("missing-code", ("income",), "warning", "-8 in 603 rows", 603, 0.12, "declare it"))
    warning: income: missing-code: -8 in 603 rows; declare it
    """

    kind: str
    columns: tuple[str, ...]
    severity: Severity
    evidence: str
    count: int
    share: float
    suggestion: str
    remedy: Mapping[str, Any] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{self.severity}: {', '.join(self.columns)}: {self.kind}: {self.evidence}; {self.suggestion}"


@dataclass(frozen=True)
class Findings:
    """All findings about one file, the gravest first."""

    findings: tuple[Finding, ...]

    @property
    def table(self) -> pl.DataFrame:
        """One row per finding."""
        return pl.DataFrame(
            [
                {
                    "severity": f.severity,
                    "finding": f.kind,
                    "columns": ", ".join(f.columns),
                    "evidence": f.evidence,
                    "rows": f.count,
                    "share": f.share,
                    "what to do": f.suggestion,
                }
                for f in self.findings
            ],
            schema={
                "severity": pl.String,
                "finding": pl.String,
                "columns": pl.String,
                "evidence": pl.String,
                "rows": pl.Int64,
                "share": pl.Float64,
                "what to do": pl.String,
            },
        )

    def of(self, kind: str) -> list[Finding]:
        """Findings of one kind."""
        return [finding for finding in self.findings if finding.kind == kind]

    def __str__(self) -> str:
        return "\n".join(str(finding) for finding in self.findings) or "nothing found"
