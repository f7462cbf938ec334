"""A plan as it is written: its text and its entries, and how they are read, whatever they are about."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dalenius.core.errors import DaleniusError, FileError, SchemaError

P = TypeVar("P")
C = TypeVar("C", bound="Named")


class Named(Protocol):
    """A candidate, whatever it makes."""

    @property
    def name(self) -> str:
        """What it is called in the plan."""
        ...


def load_entries(path: Path) -> tuple[str, dict[str, Any]]:
    r"""Text and entries of a plan file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "plan.yaml"
    >>> _ = path.write_text("input: people.csv\n")
    >>> load_entries(path)
    ('input: people.csv\n', {'input': 'people.csv'})
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = YAML(typ="safe").load(text)
    except OSError as error:
        raise FileError(f"{path}: cannot read the plan ({error.strerror})") from None
    except (YAMLError, UnicodeDecodeError):
        raise FileError(f"{path}: the plan is not valid YAML") from None
    if not isinstance(content, dict):
        raise SchemaError(f"{path}: a plan is a list of 'entry: value' lines")
    return text, content


class PlanReader(ABC, Generic[P]):
    """Takes a plan apart and collects its faults."""

    may_be_folders: ClassVar[tuple[str, ...]] = ()
    """Entries that name a file or a folder of files."""

    def __init__(self, content: dict[str, Any], folder: Path) -> None:
        self.content, self.folder = content, folder
        self.faults: list[str] = []

    @classmethod
    def read(cls, path: Path) -> P:
        """The plan of a file; all faults are reported at once."""
        text, content = load_entries(path)
        reader = cls(content, path.parent)
        plan = reader.plan(text)
        if reader.faults:
            raise SchemaError.from_faults(str(path), reader.faults)
        return plan

    @abstractmethod
    def plan(self, text: str) -> P:
        """The plan; it is of use only where there are no faults."""

    def file(self, entry: str, needed: bool = False) -> Path | None:
        """The file that an entry names, if it is there."""
        named = self.content.get(entry)
        if named is None:
            self.faults += [f"no {entry}: name the file"] if needed else []
            return None
        path = self.folder / str(named)
        if not path.is_file() and not (path.is_dir() and entry in self.may_be_folders):
            self.faults.append(f"{entry} {named} does not exist")
            return None
        return path

    def number(self, entry: str, usual: float, lowest: float, highest: float = math.inf) -> float:
        """A number within its limits."""
        value = self.content.get(entry, usual)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not lowest <= value <= highest:
            within = (
                f"of at least {lowest:g}" if highest == math.inf else f"between {lowest:g} and {highest:g}"
            )
            self.faults.append(f"{entry} must be a number {within}")
            return usual
        return value

    def whole(self, entry: str, usual: int, lowest: int, highest: float = math.inf) -> int:
        """A whole number within its limits."""
        value = self.number(entry, usual, lowest, highest)
        if value != int(value):
            self.faults.append(f"{entry} must be a whole number")
        return int(value)

    def lines(self, entry: str) -> list[str]:
        """A list of texts; one text alone is a list of one."""
        given = self.content.get(entry) or []
        if isinstance(given, str):
            return [given]
        if not isinstance(given, list) or not all(isinstance(line, str) for line in given):
            self.faults.append(f"{entry} must be a list of texts")
            return []
        return [*given]

    def candidates(
        self,
        what: str,
        read: Callable[[dict[str, Any], str], list[C]],
        faults: Callable[[C], list[str]],
    ) -> list[C]:
        """What stands under ``candidates``: each entry is one, or a grid of several."""
        listed = self.content.get("candidates")
        if not isinstance(listed, dict) or not listed:
            self.faults.append(f"no candidates: name at least one {what}")
            return []
        made: list[C] = []
        for title, body in listed.items():
            # were they left out, the file would be made with the usual ones
            if body is not None and not isinstance(body, dict):
                self.faults.append(f"candidate {str(title)!r}: write its options as 'option: value'")
                continue
            try:
                entry = read(body or {}, str(title))
            except DaleniusError as error:
                self.faults.append(f"candidate {str(title)!r}: {error}")
                continue
            made += entry
            self.faults += [f"candidate {c.name!r}: {fault}" for c in entry for fault in faults(c)]
        return made

    def all_different(self, names: list[str]) -> None:
        """Candidates are told apart, and their work kept, by name."""
        if len(set(names)) < len(names):
            self.faults.append("two candidates have the same name")
