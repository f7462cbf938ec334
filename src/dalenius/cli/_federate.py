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
from dalenius.models.federated import (
    Agreement,
    Federated,
    client_message,
    federate,
    label_skew_partition,
    merge_messages,
)
from dalenius.models.federated.trees import to_json

app = typer.Typer(
    help="One tree from several holders of data: each sends a small tree, nobody sends records."
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
    quiet: opt.Quiet = False,
) -> None:
    """Write down what holders of data agree on before anybody looks at any."""
    terminal = Terminal(quiet, False)
    agreed = Agreement.of(
        Schema.from_yaml(schema),
        label,
        depth=depth,
        theta=theta,
        smallest=smallest,
        protect_label=protect_label,
    )
    federated.write_json(agreed.to_json(), output)
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
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Fit a small tree to a holder's own file and write the one message that is sent: the tree, no records."""
    terminal = Terminal(quiet, False)
    agreed = federated.read_agreement(agreement)
    table = load(data, None, terminal, reading).table
    federated.write_json(client_message(table, agreed, seed=seed), output)
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
    _merged(done, output, terminal)


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
    agreed = Agreement.of(
        first.schema, label, depth=depth, theta=theta, smallest=smallest, protect_label=protect_label
    )
    holders = {path.name: table for path, table in zip(files, [first, *others], strict=True)}
    if deal is not None:
        if len(files) > 1:
            raise OptionError("--deal takes one file; several files are several holders")
        parts = label_skew_partition(agreed.labels(first), deal, alpha=skew, seed=seed)
        holders = {f"holder {i + 1}": first.take(rows) for i, rows in enumerate(parts)}
    _merged(federate(holders, agreed, vote=cast("Any", vote), seed=seed), output, terminal)


def _merged(done: Federated, output: Path | None, terminal: Terminal) -> None:
    """The report of a merged tree, and the tree itself."""
    if done.scores is not None:
        terminal.say(shown_table(done.scores))
    terminal.say(shown_table(done.epsilon))
    terminal.say(done.sentence)
    if output is not None:
        federated.write_json({"agreement": done.agreement.to_json(), "tree": to_json(done.tree)}, output)
        terminal.note(f"the merged tree is in {output}")
    terminal.emit(
        {"sentence": done.sentence, "epsilon": done.epsilon.to_dicts(), "total": done.total,
         "scores": None if done.scores is None else done.scores.to_dicts(), "tree": to_json(done.tree)}
    )  # fmt: skip
