"""A plan as it is written: its text and its entries, whatever they are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dalenius.core.errors import FileError, SchemaError


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
