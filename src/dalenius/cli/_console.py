"""What all commands share: JSON on request, progress on the terminal, no confidential values."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from dalenius.cli._group import visible
from dalenius.core.errors import OptionError
from dalenius.core.later import altair as alt
from dalenius.core.pictures import drawable
from dalenius.core.progress import line
from dalenius.core.result import figure
from dalenius.core.style import configured
from dalenius.data.atomic import replacing


class PlainConsole(Console):
    """Console on which a name from the data cannot steer the terminal: control characters are shown, not sent."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Render text, line ends and tabs as they are."""
        return super().render_str(visible(text), **options)


class Terminal:
    """Where a command writes: people on stderr and stdout, machines on stdout with ``--json``."""

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json
        # No markup, no emoji: names and categories come from the data, and "[old]" is one of them, not a style.
        self.out = PlainConsole(highlight=False, markup=False, emoji=False)
        self.err = PlainConsole(stderr=True, highlight=False, markup=False, emoji=False)

    def say(self, *parts: Any) -> None:
        """Print for a person, unless quiet or JSON is wanted."""
        if not self.quiet and not self.as_json:
            self.out.print(*parts)

    def block(self, text: str) -> None:
        """Print lines that must not be wrapped, such as a table made of text."""
        if not self.quiet and not self.as_json:
            self.out.print(text, soft_wrap=True)

    def note(self, text: str) -> None:
        """Print a remark beside the result, on stderr."""
        if not self.quiet:
            self.err.print(dim(text), soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print what must be read, on stderr, also when quiet."""
        self.err.print(text, soft_wrap=True)

    def emit(self, data: Any) -> None:
        """Print JSON when it was asked for."""
        if self.as_json:
            sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=2, default=str) + "\n")

    @contextmanager
    def progress(self, what: str) -> Iterator[Any]:
        """Spinner with elapsed time; yields a function that changes its text."""
        if self.quiet or not self.err.is_terminal:
            yield lambda text: None
            return
        with line(console=self.err, transient=True) as bar:
            task = bar.add_task(what)
            yield lambda text: bar.update(task, description=f"{what}: {text}")


def grid_of(*heads: str) -> Grid:
    """An empty table for the terminal; long words are broken, never cut."""
    grid = Grid(box=None, header_style="bold")
    for head in heads:
        grid.add_column(head, overflow="fold")
    return grid


def shown_table(table: pl.DataFrame, empty: str = "") -> Grid:
    """A frame for the terminal: numbers as a person writes them, ``empty`` where there is none.

    Examples
    --------
    >>> shown_table(pl.DataFrame({"k": [2], "per cent": [12.3456]})).row_count
    1
    """
    grid = grid_of(*table.columns)
    for row in table.rows():
        grid.add_row(*(empty if x is None else figure(x) if isinstance(x, float) else str(x) for x in row))
    return grid


def write_chart(chart: Any, path: Path, terminal: Terminal) -> None:
    """Write a chart to a file, in the format its ending names."""
    # a name with a character that cannot be drawn would end the process
    drawn: Any = alt.Chart.from_dict(drawable(configured(chart).to_dict()))
    with replacing(path) as temporary:
        drawn.save(str(temporary), format=path.suffix.lstrip(".") or "html")
    terminal.note(f"chart written to {path}")


def dim(text: str) -> Text:
    """Text that steps back behind the rest."""
    return Text(visible(text), style="dim")


def numbers(flag: str, text: str) -> list[float]:
    """Numbers separated by commas.

    Examples
    --------
    >>> numbers("--taus", "0.1, 0.9")
    [0.1, 0.9]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"{flag} is {text!r}; use numbers separated by commas") from None


def listed(values: list[str] | None) -> list[str] | None:
    """Options that may be repeated or separated by commas.

    Examples
    --------
    >>> listed(["sex,age", "region"])
    ['sex', 'age', 'region']
    """
    if not values:
        return None
    return [part.strip() for value in values for part in value.split(",") if part.strip()]
