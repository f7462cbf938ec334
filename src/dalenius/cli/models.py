"""`dalenius models`: whether a fitted model, or its explanations, may leave."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from dalenius.cli import _attack_options as attacks
from dalenius.cli import _explain_options as explaining
from dalenius.cli import _graph_options as graphs
from dalenius.cli import _model_options as models
from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed, shown_table, write_chart
from dalenius.cli._federate import app as federate_app
from dalenius.core.errors import OptionError
from dalenius.core.random import DEFAULT_SEED
from dalenius.core.result import figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.data import read
from dalenius.data.atomic import replacing
from dalenius.evaluation.policy import Rule, judge
from dalenius.models.checking import ATTACKS, Checked, check_model
from dalenius.models.explanations import audit_defences, defence_chart, defence_table
from dalenius.models.files import save_model
from dalenius.models.graphs import Offer, link_audit, rightly
from dalenius.release.model_plan import DEFAULT_POLICY

app = typer.Typer(
    name="models", help="Models that are to leave: what they hold, what they tell, what attacks find."
)
app.add_typer(federate_app, name="federate")

Exposed = Annotated[
    Path | None,
    typer.Option("--exposed", help="Write row numbers, the most exposed first, as CSV: for the data holder."),
]
FittedAgain = Annotated[
    Path | None,
    typer.Option(
        "--fitted-again",
        help="Write the model as it is when it is fitted here, with its own options (.skops).",
    ),
]


@app.callback()
def main() -> None:
    """Models that are to leave: what they hold, what they tell, what attacks find."""


@app.command()
@opt.reads
def check(
    model: models.Model,
    train: models.Train,
    holdout: opt.Holdout = None,
    predicts: models.Predicts = None,
    features: models.Features = None,
    link: models.Link = None,
    schema: opt.SchemaFile = None,
    entity: opt.Entity = None,
    refits: models.Refits = 16,
    skip: models.Skip = None,
    threshold: opt.Threshold = THRESHOLD,
    must: models.Must = None,
    chart: opt.Chart = None,
    exposed: Exposed = None,
    fitted_again: FittedAgain = None,
    work: attacks.Work = None,
    seed: opt.SeedOption = DEFAULT_SEED,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Say whether records sit in a model, whether members show, and whether limits hold."""
    terminal = Terminal(quiet, as_json)
    rules = [Rule.parse(line) for line in must or DEFAULT_POLICY]
    left_out = listed(skip) or []
    odd = [name for name in left_out if name not in ATTACKS]
    if odd:
        raise OptionError(f"--skip {odd[0]!r}: there are {', '.join(ATTACKS)}")
    case = models.open_case(
        model, train, holdout, predicts, features, link, schema, entity, terminal, reading
    )
    with terminal.progress("fitting again") as tell:
        found = check_model(
            case, attacks=tuple(a for a in ATTACKS if a not in left_out), runs=refits, threshold=threshold, seed=seed,
            keep=work, progress=lambda done, of: tell(f"{done} of {of}"),
        )  # fmt: skip
    told = _told(found, terminal)
    told["policy"] = judged(rules, found.results, terminal)
    if chart is not None:
        _drawn(found, chart, terminal)
    if exposed is not None:
        _exposed(found, exposed, terminal)
    if fitted_again is not None:
        _written(found, fitted_again, terminal)
    terminal.emit(told)
    if not all(line["met"] for line in told["policy"]):
        raise typer.Exit(1)


@app.command()
@opt.reads
def explain(
    model: models.Model,
    train: models.Train,
    holdout: opt.Holdout = None,
    predicts: models.Predicts = None,
    features: models.Features = None,
    link: models.Link = None,
    schema: opt.SchemaFile = None,
    entity: opt.Entity = None,
    explains: explaining.Explains = "probability",
    explainer: explaining.Explainer = "auto",
    given: explaining.Given = None,
    people: explaining.People = 300,
    queries: explaining.Queries = 500,
    decimals: explaining.Decimals = "0,1,2,3",
    top: explaining.Top = "",
    cut: explaining.Cut = "",
    noise: explaining.NoiseScale = "",
    must: models.MustExplain = None,
    chart: opt.Chart = None,
    seed: opt.SeedOption = DEFAULT_SEED,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Say how much of a record can be rebuilt from its explanation, and what defences do to both."""
    terminal = Terminal(quiet, as_json)
    rules = [Rule.parse(line) for line in must or ()]
    case = models.open_case(
        model, train, holdout, predicts, features, link, schema, entity, terminal, reading
    )
    options: dict[str, Any] = {
        "output": explains, "method": explainer, "people": people, "queries": queries, "seed": seed,
        "given": None if given is None else read(given).to_frame("polars").to_numpy(),
    }  # fmt: skip
    with terminal.progress("rebuilding records"):
        audits = audit_defences(case, explaining.defences(decimals, top, cut, noise), **options)
    found, table = audits[0], defence_table(audits)
    terminal.say(found.result.sentence)
    terminal.say(shown_table(table))
    told: dict[str, Any] = {
        "figures": {found.result.name: found.result.to_dict()},
        "defences": table.to_dicts(),
    }
    told["policy"] = judged(rules, {found.result.name: found.result}, terminal)
    if chart is not None:
        write_chart(defence_chart(table), chart, terminal)
    terminal.emit(told)
    if not all(line["met"] for line in told["policy"]):
        raise typer.Exit(1)


@app.command(
    hidden=True,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def fit() -> None:
    """Say where private fits are made: some look for them here."""
    raise OptionError(
        "a private regression is fitted by 'dalenius dp regress', several beside one another by 'dalenius release' "
        "of a plan with the entry 'formula'; a model to be released by one of a plan with the entry 'predicts'"
    )


@app.command()
def graph(
    edges: graphs.Edges,
    nodes: graphs.Nodes,
    identifier: graphs.Identifier,
    label: graphs.Class,
    fitted_on: graphs.FittedOn = None,
    norm: graphs.Norm = "first_order",
    layers: graphs.Layers = 2,
    answers: graphs.Answers = "logits",
    digits: graphs.Digits = 2,
    epsilon: graphs.GraphEpsilon = None,
    people: graphs.People = 500,
    fewest: graphs.Fewest = 0,
    most: graphs.Most = None,
    must: graphs.Must = None,
    chart: opt.Chart = None,
    seed: opt.SeedOption = DEFAULT_SEED,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Say which links between people can be read off a service that classifies them."""
    terminal = Terminal(quiet, as_json)
    rules = [Rule.parse(line) for line in must or ()]
    served = graphs.graph_of(edges, nodes, identifier, label)
    fitted = served if fitted_on is None else graphs.graph_of(*fitted_on, identifier, label)
    offer = Offer(cast("Any", norm), layers, cast("Any", answers), digits, epsilon)
    with terminal.progress("fitting and attacking") as tell:
        service = offer.service(served, fitted, seed)
        audit = link_audit(service, people=people, seed=seed, fewest=fewest, most=most, progress=tell)
    right = rightly(service, served)
    for line in (
        *served.notes,
        f"{served!r}: {figure(100 * right, '%')} of the people are classified rightly",
    ):
        terminal.say(line)
    terminal.say(shown_table(audit.table.drop("precision", "recall", "F1 by degree")))  # a terminal is narrow
    terminal.say(audit.result.sentence)
    told: dict[str, Any] = {
        "figures": {audit.result.name: audit.result.to_dict()}, "performance": {"served graph": right},
        "believed links": audit.guesses.to_dicts(), "by links of a person": audit.degrees.to_dicts(),
    }  # fmt: skip
    told["policy"] = judged(rules, {audit.result.name: audit.result}, terminal)
    if chart is not None and audit.result.chart is not None:
        write_chart(audit.result.chart(), chart, terminal)
    terminal.emit(told)
    if not all(line["met"] for line in told["policy"]):
        raise typer.Exit(1)


def _told(found: Checked, terminal: Terminal) -> dict[str, Any]:
    """The figures as sentences and as plain data."""
    terminal.say(f"{found.case.fitted.kind}, {found.case.train.rows:,} training records: {found.skill}")
    for result in found.results.values():
        trust = "" if result.trusted else "NOT TRUSTED: "
        terminal.say(f"{result.title}: {result.told}. {trust}{result.sentence}")
    for line in found.remarks:
        terminal.say(line)
    return {
        "model": found.case.fitted.kind,
        "performance": found.performance,
        "figures": {name: result.to_dict() for name, result in found.results.items()},
        "remarks": list(found.remarks),
    }


def judged(rules: list[Rule], results: Any, terminal: Terminal) -> list[dict[str, Any]]:
    """What limits say, line by line."""
    made = [judge(rule, "", 1.0, [results.get(rule.measure)]) for rule in rules]
    for finding in made:
        terminal.say(finding.said)
    return [{"line": f.rule.text, "met": f.met} for f in made]


def _drawn(found: Checked, path: Path, terminal: Terminal) -> None:
    held = found.results.get("model-membership")
    if held is None or held.chart is None:
        raise OptionError("--chart draws how well members are told from strangers; give --holdout")
    write_chart(held.chart(), path, terminal)


def _exposed(found: Checked, path: Path, terminal: Terminal) -> None:
    rows = found.exposed(most=found.case.train.rows)
    if rows is None:
        raise OptionError("--exposed needs --holdout: nobody else can be told from members")
    with replacing(path) as temporary:
        rows.write_csv(temporary)
    terminal.note(f"row numbers written to {path}: confidential")


def _written(found: Checked, path: Path, terminal: Terminal) -> None:
    if found.again.model is None or path.suffix.lower() != ".skops":
        raise OptionError(
            "--fitted-again writes models of scikit-learn that can be fitted here, to a file that ends in .skops"
        )
    save_model(found.again.model, path)
    terminal.note(f"the model as it was fitted here is in {path}; check it before it leaves")
