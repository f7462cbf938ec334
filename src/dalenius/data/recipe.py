"""`Recipe`: steps in the order they are done, as a file that people read, edit, undo and do again next year.

What a check suggests is one (Latner et al. 2024), and so is what masks a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Protocol

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DataError, FileError
from dalenius.core.random import Seed, sequence
from dalenius.data.atomic import write_text
from dalenius.data.keyed import keyed
from dalenius.data.steps.step import Masked, Step, step_from
from dalenius.data.table import Table

KINDS = {
    "codes": ("missing-code",),
    "derived": ("derived-grouping", "derived-formula", "derived-length", "dependence"),
    "sequence": ("order",),
    "gaps": ("unasked",),
    "types": ("number-as-text",),
    "constant": ("constant",),
    "identifiers": ("identifier", "empty"),
    "order": ("many-levels",),
    "rare": ("rare-levels",),
    "outliers": ("outlier",),
}
"""What a recipe can take up, by the findings it answers."""
LATER = {"keep-order": 2, "keep-gap": 3, "move-last": 4}
USUAL = ("codes", "derived", "sequence", "gaps", "types", "constant", "identifiers", "order")
"""What a recipe takes up unless told otherwise: nothing that loses information about people."""


class Found(Protocol):
    """What a check found."""

    @property
    def findings(self) -> Sequence[Any]:
        """Each with its ``kind``, and as ``remedy`` the step that answers it."""


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
    def of(cls, findings: Found, table: Table, accept: Iterable[str] = USUAL) -> Recipe:
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
        moved: set[str] = set()
        for finding in findings.findings:
            if finding.remedy is None or finding.kind not in kinds:
                continue
            step = step_from(dict(finding.remedy))
            column = step.named[0]
            if column in gone or (step.do == "merge-levels" and column in numbers):
                continue
            if step.do == "read-as-number":
                numbers.add(column)
            if (gone | moved) & set(step.needs) or (step.do.startswith("drop-") and column in needed):
                continue
            needed |= set(step.needs)
            if step.do == "keep-order":
                moved.add(column)
            if step.do.startswith("drop-"):
                gone.add(column)
            steps.append(step)
        # Codes and types first: formulas were found without the codes. Then each step finds, on its way back, what it
        # needs: gaps are filled first, then moments follow from those before them, then formulas read both.
        steps.sort(key=lambda s: 1 if s.do.startswith("drop-") else LATER.get(s.do, 0))
        return cls(tuple(steps), tuple(table.names))

    @property
    def losses(self) -> list[str]:
        """Steps that cannot be undone."""
        return [f"{step.do}: {', '.join(step.named)}" for step in self.steps if not step.reversible]

    def apply(self, table: Table, seed: Seed = None) -> Table:
        """The file after all steps; the data given stay as they are."""
        return self.mask(table, seed).table

    def each(self, table: Table, seed: Seed = None) -> Iterator[Masked]:
        """What every step made, one after the other; step i has the seed (seed, "step", i, its name), see `keyed`."""
        seed = None if seed is None else keyed(seed, table)
        for place, step in enumerate(self.steps):
            made = step.apply(table, None if seed is None else sequence(seed, "step", place, step.do))
            table = made.table
            yield made

    def mask(self, table: Table, seed: Seed = None) -> Masked:
        """The file after all steps, with the lens of all of them and what was changed on the way.

        Examples
        --------
        >>> from dalenius.data.steps import Recode, Round
        >>> table = Table.from_frame({"age": [31, 38, 64], "pay": [120, 180, 250]})
        >>> made = Recipe((Recode("age", width=10), Round("pay", 100))).mask(table)
        >>> print(made.lens, made.changed)
        age, pay recoded {'age': 3, 'pay': 3}
        """
        whole = Masked(table)
        for made in self.each(table, seed):
            whole = whole.then(made)
        return whole

    def cost(self, shape: Shape) -> Cost:
        """Expected time and memory of all steps."""
        return sum((step.cost(shape) for step in self.steps), Cost(0.0, 0.0))

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
        """Write the recipe, to be read and edited: as JSON, or as YAML where the file is called so."""
        facts = self.to_dict()
        if Path(path).suffix in (".yaml", ".yml"):
            text = StringIO()
            YAML().dump(_plain(facts), text)
            write_text(path, text.getvalue())
        else:
            write_text(path, json.dumps(facts, ensure_ascii=False, indent=2) + "\n")

    @classmethod
    def read(cls, path: str | Path) -> Recipe:
        """Read a recipe (JSON or YAML); an error says what is wrong with it."""
        where = Path(path)
        try:
            return cls.from_dict(_content(where))
        except DataError as error:
            raise DataError(f"{where}: {error}") from None

    @classmethod
    def written(cls, path: str | Path) -> list[Mapping[str, Any]]:
        """The steps of a recipe as they stand in its file; whoever does them says what is wrong with each."""
        where = Path(path)
        try:
            return list(_plain_steps(_content(where))[0])
        except DataError as error:
            raise DataError(f"{where}: {error}") from None

    @classmethod
    def from_dict(cls, content: Any) -> Recipe:
        """A recipe from plain data; an error says what is wrong with it."""
        steps, columns = _plain_steps(content)
        return cls(_read_steps(steps), tuple(columns))


def _content(where: Path) -> Any:
    """What a file says in JSON or YAML."""
    try:
        text = where.read_text(encoding="utf-8")
        return YAML(typ="safe").load(text) if where.suffix in (".yaml", ".yml") else json.loads(text)
    except OSError as error:
        raise FileError(f"{where}: cannot read the recipe ({error.strerror})") from None
    except (json.JSONDecodeError, UnicodeDecodeError, YAMLError):
        raise FileError(f"{where}: the recipe is not valid JSON or YAML") from None


def _plain_steps(content: Any) -> tuple[Sequence[Mapping[str, Any]], list[str]]:
    """The steps of a recipe in plain data, and the columns of its file."""
    if isinstance(content, list):
        content = {"steps": content}
    if not isinstance(content, Mapping) or not isinstance(content.get("steps"), (list, tuple)):
        raise DataError("a recipe has 'columns' and 'steps'")
    columns = content.get("columns") or []
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise DataError("'columns' of a recipe is a list of names")
    if not all(isinstance(step, Mapping) for step in content["steps"]):
        raise DataError("a step of a recipe has the entry 'do', and its options")
    return content["steps"], columns


def _read_steps(several: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    """All steps; the faults of all of them are told at once."""
    steps: list[Step] = []
    wrong: list[str] = []
    for place, facts in enumerate(several, 1):
        try:
            steps.append(step_from(facts))
        except DataError as error:
            wrong += [f"step {place}: {fault.removeprefix('recipe: ')}" for fault in error.faults]
    if wrong:
        raise DataError.from_faults("recipe", wrong)
    return tuple(steps)


def _plain(value: Any) -> Any:
    """Plain data as YAML writes it: lists for tuples."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
