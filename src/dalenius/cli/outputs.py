"""`dalenius outputs`: what analysts take out: explain statbarns, check folders, verify and decide."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal
from dalenius.core.errors import DaleniusError
from dalenius.outputs.acro import read_results
from dalenius.outputs.folder import WEAKER, check_folder
from dalenius.outputs.pack import read_pack, verify_outputs
from dalenius.outputs.policy import policy_of
from dalenius.outputs.register import register

app = typer.Typer(name="outputs", help="Check what analysts take out of a secure lab.", no_args_is_help=True)

PolicyFile = Annotated[Path | None, typer.Option("--policy", help="Limits of the data owner (YAML).")]
Folder = Annotated[Path, typer.Argument(help="Folder that finalise() wrote.")]


@app.command()
def explain(
    statistic: Annotated[str, typer.Argument(help='Name of a statistic, such as "odds ratio".')],
    as_json: opt.Json = False,
) -> None:
    """Say which statbarn a statistic belongs to, what may go wrong with it, and what is checked."""
    terminal = Terminal(as_json=as_json)
    place = register().lookup(statistic)
    terminal.say(str(place))
    barn = place.statbarn
    if barn is not None:
        terminal.say(f"risks:  {', '.join(barn.risks)}")
        terminal.say(f"checks: {', '.join(barn.checks) or 'none; a person decides'}")
        terminal.say(f"fixes:  {', '.join(barn.fixes) or 'none'}")
        for text in place.rules:
            terminal.say(text)
    known = None if barn is None else {"id": barn.id, "name": barn.name, "class": barn.kind}
    facts = {
        "statistic": statistic,
        "statbarn": known,
        "note": place.note,
        "alternatives": list(place.alternatives),
    }
    checks = (
        {}
        if barn is None
        else {"checks": list(barn.checks), "fixes": list(barn.fixes), "risks": list(barn.risks)}
    )
    terminal.emit(facts | checks)


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(help="Folder (or file) of tables: CSV, Excel, HTML.")],
    policy: PolicyFile = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Look at tables without their data: weaker than a desk. Exit code 1 when something should not leave."""
    terminal = Terminal(quiet, as_json)
    found = check_folder(folder, policy_of(policy))
    for each in found:
        terminal.say(f"{each.status:<7} {each.file}: {'; '.join(each.seen) or 'nothing seen'}")
    terminal.say(WEAKER)
    terminal.emit({"weaker": WEAKER, "files": [vars(each) for each in found]})
    if any(each.status == "fail" for each in found):
        raise typer.Exit(1)


@app.command()
def verify(
    folder: Folder,
    public_key: Annotated[Path | None, typer.Option("--public-key", help="The steward's public key.")] = None,
    after: Annotated[Path | None, typer.Option("--since", help="Earlier folder of the same project.")] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Check a folder of outputs: files, checksums, the order of events. Exit code 1 when anything is wrong."""
    terminal = Terminal(quiet, as_json)
    faults, warning = verify_outputs(folder, public_key, after), read_pack(folder).warning
    for told in [*faults, *([warning] if warning else [])]:
        terminal.say(told)
    terminal.say("Everything is as it was written." if not faults else f"{len(faults)} faults found.")
    terminal.emit({"accepted": not faults, "faults": faults, "warning": warning})
    if faults:
        raise typer.Exit(1)


@app.command("list")
def show(folder: Folder, as_json: opt.Json = False, quiet: opt.Quiet = False) -> None:
    """List the outputs of a folder with their status and decision; folders written by acro are read too."""
    terminal = Terminal(quiet, as_json)
    warning = ""
    try:
        pack = read_pack(folder)
        records, warning = pack.records, pack.warning
    except DaleniusError:
        records = read_results(folder)
    if warning:
        terminal.say(warning)
    for r in records:
        terminal.say(f"{r.status:<7} {r.uid:<10} {r.decision or 'waiting':<9} {r.command}: {r.summary}")
    terminal.emit({"outputs": [r.to_dict() for r in records], "warning": warning})


@app.command()
def decide(
    folder: Folder,
    output: Annotated[list[str], typer.Argument(help="Names of outputs.")],
    approve: Annotated[bool, typer.Option("--approve", help="They may leave.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="They may not.")] = False,
    send_back: Annotated[bool, typer.Option("--return", help="Back to the researcher.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="Why; not needed to approve what passed.")] = "",
    who: Annotated[str, typer.Option("--who", help="Who decides.")] = "",
    fix: Annotated[str, typer.Option("--fix", help="Approve what this fix makes of them instead.")] = "",
    quiet: opt.Quiet = False,
) -> None:
    """Decide about outputs; every decision is an event of the folder's own chain."""
    if approve + reject + send_back != 1:
        raise DaleniusError("say one of --approve, --reject and --return")
    word = "approve" if approve else "reject" if reject else "return"
    read_pack(folder).decide(output, word, reason, who, fix)
    Terminal(quiet).say(f"{len(output)} outputs: {word}")


@app.command()
def take(
    folder: Folder,
    to: Annotated[Path, typer.Argument(help="Folder for the approved files.")],
    quiet: opt.Quiet = False,
) -> None:
    """Copy approved files, and nothing else, to another folder."""
    from dalenius.data.atomic import replacing  # noqa: PLC0415 (only here)

    faults = verify_outputs(folder)
    if faults:
        raise DaleniusError("the folder was changed: " + "; ".join(faults))
    files = read_pack(folder).files()
    for path in files:
        with replacing(to / path.name) as temporary:
            temporary.write_bytes(path.read_bytes())
    Terminal(quiet).say(f"{len(files)} approved files copied to {to}")
