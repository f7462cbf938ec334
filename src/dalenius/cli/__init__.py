"""The command line: ``dalenius COMMAND``. Each command lives in a file of its own, and is found there."""

from __future__ import annotations

import typer

from dalenius.cli._group import Commands

app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich")


@app.callback()
def dalenius() -> None:
    """Turn confidential data into something that can be released, and show how safe and how useful it is."""


__all__ = ["app"]
