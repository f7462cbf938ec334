"""`dalenius models federate`: one tree from several holders of data, of whom none sends records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import typer

from dalenius.cli import _federated_options as federated
from dalenius.cli import _graph_options as graphs
from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, shown_table
from dalenius.cli._input import load, load_like
from dalenius.core.errors import OptionError
from dalenius.core.random import DEFAULT_SEED
from dalenius.core.small_cells import THRESHOLD
from dalenius.data.schema import Schema
from dalenius.dp import ledger_beside
from dalenius.models.federated import (
    Agreement,
    Federated,
    client_message,
    ends_message,
    ends_of,
    federate,
    flower,
    label_skew_partition,
    merge_messages,
    open_ends,
)
from dalenius.models.federated.trees import to_json

app = typer.Typer(
    help="One tree from several holders of data: each sends a small tree, nobody sends records."
)


@app.command()
@opt.reads
def ends(
    data: federated.Own,
    schema: federated.SchemaArgument,
    output: federated.Written,
    epsilon: federated.EndsEpsilon,
    contribution: federated.Contribution = None,
    ledger: opt.Ledger = None,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Write a private message about where a holder's numbers lie, for columns that have no declared bounds."""
    terminal = Terminal(quiet, False)
    wanted = Schema.from_yaml(schema)
    table = load(data, wanted, Terminal(quiet=True), reading, blind=True).table
    pays = ledger or ledger_beside(data)
    message = ends_message(
        table, open_ends(wanted), epsilon=epsilon, contribution=contribution,
        ledger=None if pays is None else str(pays),
    )  # fmt: skip
    federated.write_json(message, output, data, schema)
    terminal.note(
        f"noisy counts of {len(message['counts'])} columns written to {output}: send them to whoever agrees"
    )
    terminal.note(
        f"paid from {pays}" if pays is not None else "no ledger: nobody adds up what else is released"
    )


@app.command()
def agree(
    schema: federated.SchemaArgument,
    label: graphs.Class,
    output: federated.Written,
    depth: federated.Depth = 3,
    theta: federated.Theta = 0.2,
    smallest: federated.Smallest = THRESHOLD,
    protect_label: federated.ProtectLabel = False,
    ends: federated.Ends = None,
    holder: federated.MayVote = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write down what holders of data agree on before anybody looks at any."""
    terminal = Terminal(quiet, False)
    wanted = Schema.from_yaml(schema)
    agreed = Agreement.of(
        wanted,
        label,
        ends_of([federated.read_json(path) for path in ends], open_ends(wanted)) if ends else None,
        depth=depth,
        theta=theta,
        smallest=smallest,
        protect_label=protect_label,
        holders=tuple(holder or ()),
    )
    federated.write_json(agreed.to_json(), output, schema, *(ends or ()))
    terminal.note(
        f"{len(agreed.attributes)} columns and the class {label!r} are agreed on in {output}; every holder needs it"
    )


@app.command()
@opt.reads
def client(
    data: federated.Own,
    agreement: federated.AgreementFile,
    output: federated.Written,
    seed: federated.OwnSeed = None,
    holder: federated.Holder = None,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Fit a small tree to a holder's own file and write the one message that is sent: the tree, no records."""
    terminal = Terminal(quiet, False)
    agreed = federated.read_agreement(agreement)
    table = load(data, None, terminal, reading).table
    message = client_message(table, agreed, seed=seed, holder=holder)
    federated.write_json(message, output, data, agreement)
    terminal.note(f"a tree written to {output}: send it to whoever merges")


@app.command()
def merge(
    agreement: federated.AgreementFile,
    messages: federated.Messages,
    output: federated.Written,
    vote: federated.VoteOption = "tree",
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Merge the trees of all holders into one that votes like all of them."""
    terminal = Terminal(quiet, as_json)
    agreed = federated.read_agreement(agreement)
    texts = [json.dumps(federated.read_json(path)) for path in messages]
    tree, costs = merge_messages(texts, agreed, vote=cast("Any", vote))
    done = Federated(agreed, tree, tuple(texts), costs)
    _merged(done, output, terminal, agreement, *messages)


@app.command()
def serve(
    agreement: federated.AgreementFile,
    output: federated.Written,
    holders: federated.HowMany,
    address: federated.Address = flower.ADDRESS,
    wait: federated.Wait = flower.WAIT,
    vote: federated.VoteOption = "tree",
    authority: federated.Authority = None,
    certificate: federated.Certificate = None,
    key: federated.CertificateKey = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Wait for holders at an address, take one message of each over the network, and merge their trees."""
    terminal = Terminal(quiet, as_json)
    agreed = federated.read_agreement(agreement)
    secured = None if authority is None else flower.Certificates(authority, certificate, key)
    with terminal.progress(f"waiting for {holders} holders at {address}"):
        done = flower.serve(
            agreed, holders, address=address, wait=wait, vote=cast("Any", vote), certificates=secured
        )
    _merged(done, output, terminal, agreement)


@app.command()
def join(
    message: federated.Message,
    agreement: federated.AgreementFile,
    address: federated.Address = flower.ADDRESS,
    wait: federated.Wait = flower.WAIT,
    authority: federated.Authority = None,
    quiet: opt.Quiet = False,
) -> None:
    """Send a holder's message over the network to whoever serves: that text, and nothing else."""
    terminal = Terminal(quiet, False)
    text = json.dumps(federated.read_json(message))
    secured = None if authority is None else flower.Certificates(authority)
    flower.join(text, federated.read_agreement(agreement), address=address, wait=wait, certificates=secured)
    terminal.note(f"{message} was sent to {address}")


@app.command()
@opt.reads
def play(
    files: federated.Holders,
    label: graphs.Class,
    schema: opt.SchemaFile = None,
    output: federated.Tree = None,
    deal: federated.Deal = None,
    skew: federated.Skew = None,
    depth: federated.Depth = 3,
    theta: federated.Theta = 0.2,
    smallest: federated.Smallest = THRESHOLD,
    protect_label: federated.ProtectLabel = False,
    vote: federated.VoteOption = "tree",
    seed: opt.SeedOption = DEFAULT_SEED,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Play the whole round on this computer: what is sent, what it costs, how good the merged tree is."""
    terminal = Terminal(quiet, as_json)
    first = load(files[0], schema, terminal, reading).table
    others = [load_like(path, first, terminal, reading).table for path in files[1:]]
    if any(column.domain != "declared" for column in first.schema):
        terminal.note("ends and levels that are not declared were read off the file: for a trial only")
    agreed = Agreement.of(
        first.schema.declare(),
        label,
        depth=depth,
        theta=theta,
        smallest=smallest,
        protect_label=protect_label,
    )
    if len({path.resolve() for path in files}) < len(files):
        raise OptionError("a file is named twice; name the file of each holder once")
    alike = len({path.name for path in files}) < len(files)
    holders = {str(p) if alike else p.name: t for p, t in zip(files, [first, *others], strict=True)}
    if deal is not None:
        if len(files) > 1:
            raise OptionError("--deal takes one file; several files are several holders")
        parts = label_skew_partition(agreed.labels(first), deal, alpha=skew, seed=seed)
        holders = {f"holder {i + 1}": first.take(rows) for i, rows in enumerate(parts)}
    _merged(federate(holders, agreed, vote=cast("Any", vote), seed=seed), output, terminal, *files)


def _merged(done: Federated, output: Path | None, terminal: Terminal, *inputs: Path) -> None:
    """The report of a merged tree, and the tree itself."""
    if done.scores is not None:
        terminal.say(shown_table(done.scores))
    terminal.say(shown_table(done.epsilon))
    terminal.say(done.sentence)
    if output is not None:
        held = {"agreement": done.agreement.to_json(), "tree": to_json(done.tree)}
        federated.write_json(held, output, *inputs)
        terminal.note(f"the merged tree is in {output}")
    terminal.emit(
        {"sentence": done.sentence, "epsilon": done.epsilon.to_dicts(), "total": done.total,
         "scores": None if done.scores is None else done.scores.to_dicts(), "tree": to_json(done.tree)}
    )  # fmt: skip
