"""`dalenius key`: the steward's key pair that signs release packs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal
from dalenius.release.signing import fingerprint, new_key, read_public

app = typer.Typer(name="key", help="The key pair that signs release packs.", no_args_is_help=True)


@app.command()
def new(
    path: Annotated[
        Path, typer.Argument(help="Where the private key goes; the public key is put beside it.")
    ] = Path("steward.key"),
    quiet: opt.Quiet = False,
) -> None:
    """Make a key pair: keep the private key to yourself, give the public key to those who verify."""
    made = new_key(path)
    terminal = Terminal(quiet)
    terminal.say(f"private key: {path} (keep it to yourself, with a copy in a safe place)")
    terminal.say(f"public key:  {path.with_suffix('.pub')} (give it to those who verify your packs)")
    terminal.say(f"fingerprint: {made}")


@app.command()
def show(path: Annotated[Path, typer.Argument(help="A public key.")]) -> None:
    """Print the fingerprint of a public key, to be compared with the one its owner has told you."""
    Terminal().out.print(fingerprint(read_public(path)))
