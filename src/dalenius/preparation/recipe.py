"""`Recipe`: what a check suggests, as steps that are done before synthesis and undone after it (Latner et al. 2024)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius.core.errors import DataError, FileError
from dalenius.data.atomic import write_text
from dalenius.data.table import Table
from dalenius.preparation.checking import Findings
from dalenius.preparation.steps import DropDerived, DropGrouping, Step, step_from

KINDS = {
    "codes": ("missing-code",),
    "derived": ("derived-grouping", "derived-formula"),
    "types": ("number-as-text",),
    "constant": ("constant",),
    "identifiers": ("identifier", "empty"),
    "order": ("many-levels",),
    "rare": ("rare-levels",),
    "outliers": ("outlier",),
}
"""What a recipe can take up, by the findings it answers."""
USUAL = ("codes", "derived", "types", "constant", "identifiers", "order")
"""What a recipe takes up unless told otherwise: nothing that loses information about people."""


@dataclass(frozen=True)
class Recipe:
    """Steps in the order they are done; ``columns`` is the order of the file they were made for.

    Examples
    --------
    >>> from dalenius.preparation.checking import check
    >>> data = {"age": list(range(20, 80)) * 2, "group": ["young"] * 30 + ["old"] * 30 + ["young"] * 30 + ["old"] * 30}
    >>> table = Table.from_frame(data)
    >>> recipe = Recipe.of(check(table), table)
    >>> recipe.apply(table).names
    ['age']
    >>> recipe.undo(recipe.apply(table)).to_frame() == data
    True
    """

    steps: tuple[Step, ...]
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, findings: Findings, table: Table, accept: Iterable[str] = USUAL) -> Recipe:
        """Steps that answer the findings of a check; ``accept`` names the kinds of findings (`KINDS`).

        A column is computed afterwards only from columns that stay, so of "gross = net + tax" and "net = gross − tax"
        the first one found is taken up.
        """
        wanted = list(accept)
        unknown = [name for name in wanted if name not in KINDS]
        if unknown:
            raise DataError(f"recipe: no kind {unknown[0]!r}; there are {', '.join(KINDS)}")
        kinds = {kind for name in wanted for kind in KINDS[name]}
        steps: list[Step] = []
        gone: set[str] = set()
        needed: set[str] = set()
        numbers: set[str] = set()
        for finding in findings.findings:
            if finding.remedy is None or finding.kind not in kinds:
                continue
            step = step_from(dict(finding.remedy))
            if step.column in gone or (step.do == "merge-levels" and step.column in numbers):
                continue
            if step.do == "read-as-number":
                numbers.add(step.column)
            if isinstance(step, (DropDerived, DropGrouping)):
                if gone & set(step.needs) or step.column in needed:
                    continue
                needed |= set(step.needs)
            if step.do.startswith("drop-"):
                gone.add(step.column)
            steps.append(step)
        # Codes and types first: formulas were found without the codes. Columns that go last go last.
        steps.sort(key=lambda s: (s.do.startswith("drop-"), s.do == "move-last"))
        return cls(tuple(steps), tuple(table.names))

    @property
    def losses(self) -> list[str]:
        """Steps that cannot be undone."""
        return [f"{step.do}: {step.column}" for step in self.steps if not step.reversible]

    def apply(self, table: Table) -> Table:
        """The file a synthesizer should see; the data given stay as they are."""
        for step in self.steps:
            table = step.apply(table)
        return table

    def undo(self, table: Table) -> Table:
        """A synthetic file made from a cleaned one, with everything back that can come back."""
        for step in reversed(self.steps):
            table = step.undo(table)
        known = [name for name in self.columns if name in table]
        return table.select([*known, *(name for name in table.names if name not in known)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "version": 1,
            "columns": list(self.columns),
            "steps": [step.to_dict() for step in self.steps],
        }

    def write(self, path: str | Path) -> None:
        """Write the recipe as JSON, to be read and edited."""
        write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, indent=2) + "\n")

    @classmethod
    def read(cls, path: str | Path) -> Recipe:
        """Read a recipe; an error says what is wrong with it."""
        where = Path(path)
        try:
            content = json.loads(where.read_text(encoding="utf-8"))
        except OSError as error:
            raise FileError(f"{where}: cannot read the recipe ({error.strerror})") from None
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise FileError(f"{where}: the recipe is not valid JSON") from None
        if not isinstance(content, dict) or not isinstance(content.get("steps"), list):
            raise DataError(f"{where}: a recipe has 'columns' and 'steps'")
        columns = content.get("columns") or []
        if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
            raise DataError(f"{where}: 'columns' of a recipe is a list of names")
        if not all(isinstance(step, dict) for step in content["steps"]):
            raise DataError(f"{where}: a step of a recipe has the entries 'do' and 'column'")
        return cls(tuple(step_from(step) for step in content["steps"]), tuple(columns))
