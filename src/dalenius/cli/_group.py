"""The group of all commands: found by reading their files, loaded when called, errors in one line.

``dalenius --help`` names each command with its first line; both are read off the source, so that no command's libraries
are loaded to list it. A file in this folder makes one ``app = typer.Typer()``. Without a name its commands stand beside
all others; with a name (``typer.Typer(name="tables", help=…)``) they stand under it.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any
from unicodedata import category

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from dalenius.core import plugins
from dalenius.core.errors import DaleniusError

BAD_INPUT, INTERNAL = 2, 70
"""Exit codes: something in the call or the data is wrong; something in Dalenius is wrong."""

FIRST = ("demo", "schema", "check", "clean", "synth", "sample", "evaluate", "compare", "benchmark", "sweep")
"""The order of a first day's work; other commands follow by name."""


class Later(TyperCommand):
    """A command known by name and first line until it is called."""

    def __init__(self, name: str, text: str, load: Callable[[], Any]) -> None:
        super().__init__(name=name, help=text)
        self.load = load

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Load the command; from here on it is the one that runs."""
        return self.load().make_context(info_name, args, parent=parent, **extra)


class Commands(TyperGroup):
    """Command group that loads commands when they are called and turns errors into one line on stderr.

    An unexpected error prints where it happened, never its text: a library's message may quote the data. Set
    ``DALENIUS_DEBUG=1`` to see the whole traceback on a machine where that is allowed.
    """

    def __init__(self, **options: Any) -> None:
        commands = {later.name: later for later in _ours()}
        for later in _plugins({*commands}):
            commands[later.name] = later
        order = sorted(commands, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))
        super().__init__(**{**options, "commands": {name: commands[name] for name in order}})

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except DaleniusError as error:
            _fail(str(error), BAD_INPUT)
        except MemoryError:
            _fail("out of memory; use fewer rows or columns (--dry-run shows the forecast)", BAD_INPUT)
        except Exception as error:
            if (
                os.environ.get("DALENIUS_DEBUG")
                or isinstance(error, (typer.Exit, typer.Abort, BrokenPipeError))  # the reader has seen enough
                or _is_click(error)
            ):
                raise
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            _fail(
                f"internal error ({type(error).__name__} at {where}); DALENIUS_DEBUG=1 shows more", INTERNAL
            )


def _is_click(error: Exception) -> bool:
    return any("click" in kind.__module__ for kind in type(error).__mro__)


def _fail(message: str, code: int) -> None:
    sys.stderr.write(f"dalenius: {visible(message)}\n")
    raise typer.Exit(code)


def visible(text: str) -> str:
    r"""Text with control characters shown instead of sent.

    Examples
    --------
    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return "".join(_sign(c) for c in text)


def _sign(c: str) -> str:
    kind = category(c)
    if kind == "Cs":  # a byte of a file name that is no text
        return f"\\x{ord(c) & 0xFF:02x}"
    return c if kind != "Cc" or c in "\n\t" else f"\\x{ord(c):02x}"


def _ours() -> Iterator[Later]:
    """Commands of this folder."""
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        module = f"{__package__}.{path.stem}"
        calls = _read(path, path.stat().st_mtime_ns)
        group = next((told for what, told in calls if what == "typer.Typer"), {})
        if "name" in group:
            yield Later(group["name"], group["help"], partial(_load, module))
            continue
        for what, told in calls:
            if what == "app.command":
                yield Later(told["name"], told["help"], partial(_load, module, told["name"]))


@cache
def _read(path: Path, changed: int) -> tuple[tuple[str, dict[str, str]], ...]:
    """Calls of a file, read once for as long as it is unchanged: a program may call many commands."""
    return tuple(_calls(ast.parse(path.read_text(encoding="utf-8"))))


def _calls(tree: ast.Module) -> Iterator[tuple[str, dict[str, str]]]:
    """What is called at the top of a file and as decorators, with the name and help it is given."""
    for line in tree.body:
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Call):
            yield ast.unparse(line.value.func), _texts(line.value)
        elif isinstance(line, ast.FunctionDef):
            usual = {"name": line.name.replace("_", "-"), "help": ast.get_docstring(line) or ""}
            for decorator in line.decorator_list:
                if isinstance(decorator, ast.Call):
                    yield ast.unparse(decorator.func), usual | _texts(decorator)


def _texts(call: ast.Call) -> dict[str, str]:
    """Texts that a call is given by name; the first without a name is the name."""
    given = {word.arg or "": word.value for word in call.keywords}
    if call.args:
        given["name"] = call.args[0]
    return {name: str(text.value) for name, text in given.items() if isinstance(text, ast.Constant)}


def _load(module: str, name: str | None = None) -> Any:
    group = get_group(importlib.import_module(module).app)
    return group.commands[name] if name else group


def _plugins(taken: set[str | None]) -> Iterator[Later]:
    """Commands of other packages: entry points to a ``typer.Typer()`` of one command, or of several."""
    for entry in plugins.offered("commands"):
        if entry.name in taken:
            plugins.leave_out(entry, f"there is a command {entry.name!r} already; give it another name")
            continue
        taken.add(entry.name)
        yield Later(entry.name, f"From {plugins.package(entry)}.", partial(_of_plugin, entry))


def _of_plugin(entry: Any) -> Any:
    try:
        group = get_group(entry.load())
    except Exception as error:
        raise DaleniusError(
            f"the command {entry.name!r} of {plugins.package(entry)} cannot be loaded "
            f"({type(error).__name__}); tell its authors, or remove the package"
        ) from error
    return next(iter(group.commands.values())) if len(group.commands) == 1 else group
