"""`Record`: what is written down about one output; nothing in it goes beyond what the output itself shows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from dalenius.outputs.checks import Verdict


@dataclass
class Record:
    """One output, as a checker and the archive see it.

    Attributes
    ----------
    uid, command, statistic, dataset, when
        What it is, how it was asked for (the call, without data), and when.
    statbarn, kind
        Where it belongs; empty for a name nobody knows.
    status
        "pass", "review" or "fail"; ``checks`` says by check, ``cells`` by cell (labels and the checks that mark it).
    labels
        Columns of its table that name cells; the others are figures.
    fix, loss, offers
        What was done about it and what that cost; what else could be done.
    exception, comments
        The researcher's reason for an exception, and remarks.
    decision, reason, instead
        The checker's: "", "approved", "rejected" or "returned"; the fix that leaves in the output's place, if any.
    files
        What would leave.

    Examples
    --------
    >>> record = Record("output_0", "crosstab(year, grant)", "count", status="fail")
    >>> record.needs_reason
    True
    """

    uid: str
    command: str
    statistic: str
    statbarn: str = ""
    barn: str = ""
    kind: str = "open"
    status: Verdict = "review"
    summary: str = ""
    checks: dict[str, dict[str, str]] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    cells: list[dict[str, Any]] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    fix: str = ""
    loss: dict[str, float] = field(default_factory=dict)
    offers: list[dict[str, Any]] = field(default_factory=list)
    dataset: str = ""
    exception: str = ""
    comments: list[str] = field(default_factory=list)
    decision: str = ""
    reason: str = ""
    instead: str = ""
    files: list[str] = field(default_factory=list)
    when: str = field(default_factory=lambda: dt.datetime.now(dt.UTC).isoformat(timespec="seconds"))

    @property
    def needs_reason(self) -> bool:
        """Whether the researcher must still say why it should leave all the same."""
        return self.status != "pass" and not self.exception.strip()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Record:
        """Read back what `to_dict` wrote; unknown entries are left out."""
        known = {each.name for each in fields(cls)}
        return cls(**{k: v for k, v in data.items() if k in known})
