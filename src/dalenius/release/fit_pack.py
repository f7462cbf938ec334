"""The pack of a private fit: coefficients, lines and a card that may leave; all fits and the original's that stay."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.core.attack_terms import best_attack
from dalenius.core.errors import DataError
from dalenius.core.pictures import picture
from dalenius.core.result import figure
from dalenius.data.atomic import write_text
from dalenius.data.lock import locked
from dalenius.data.schema import Schema
from dalenius.dp import open_ledger
from dalenius.dp.regression.design import parse
from dalenius.dp.regression.lines import EXACT, PRIVATE, lines_chart
from dalenius.release.fit_release import FitRelease, JudgedFit, facts
from dalenius.release.model_pack import STYLE
from dalenius.release.pack import CHECKSUMS, as_json, checksums, write_manifest
from dalenius.release.place import put_in_place
from dalenius.report import Provenance

PUBLIC = ("coefficients.csv", "lines.csv", "fit.json", "fit-card.md", "report.html")
KNOWN = frozenset(
    {f"public/{name}" for name in (*PUBLIC, CHECKSUMS)}
    | {
        f"internal/{name}"
        for name in ("report.html", "results.json", "plan.yaml", "schema.yaml", "ledger.txt")
    }
)
"""Every file of a pack of a private fit but the manifest and its signature."""


def write_fit_pack(release: FitRelease, key: Path | None = None) -> Path:
    """Write the pack of the chosen fit; the folder appears whole or not at all."""
    chosen = release.chosen
    if chosen is None:
        raise DataError(release.why)

    def fill(folder: Path) -> None:
        for name, text in public_files(release, chosen).items():
            write_text(folder / "public" / name, text)
        write_text(folder / "public" / CHECKSUMS, checksums(folder / "public"))
        inside = folder / "internal"
        write_text(inside / "report.html", internal_report(release))
        write_text(inside / "results.json", as_json(facts(release)))
        write_text(inside / "plan.yaml", release.plan.text)
        write_text(inside / "schema.yaml", release.plan.schema.read_text(encoding="utf-8"))
        pays = release.plan.pays
        write_text(inside / "ledger.txt", f"{'no ledger' if pays is None else open_ledger(pays)}\n")
        told = {"kind": "fit", "date": Provenance.now().date, "threshold": 0, "chosen": chosen.candidate.name}
        write_manifest(folder, release.plan, {**told, "repeatable": False})

    with locked(release.work / "pack.lock"):
        return put_in_place(release.plan, release.work, fill, key)


def public_files(release: FitRelease, chosen: JudgedFit) -> dict[str, str]:
    """What may leave, by name: the chosen fit and nothing of the others, the original, or the choice's figures."""
    return {
        "coefficients.csv": _csv(chosen.table),
        "lines.csv": _csv(chosen.lines),
        "fit.json": as_json(_public_facts(release, chosen)),
        "fit-card.md": fit_card(release, chosen),
        "report.html": public_report(release, chosen),
    }


def _csv(table: pl.DataFrame) -> str:
    held = io.StringIO()
    table.write_csv(held)
    return held.getvalue()


def _columns(release: FitRelease) -> dict[str, Any]:
    """What the fit takes as public about its columns."""
    schema = Schema.from_yaml(release.plan.schema)
    response, predictors = parse(release.plan.formula)
    columns = [schema[name] for name in (response, *predictors)]
    return {
        c.name: {"bounds": list(c.bounds)}
        if c.bounds is not None
        else {"levels": [str(x) for x in c.levels or ()]}
        for c in columns
    }


def _public_facts(release: FitRelease, chosen: JudgedFit) -> dict[str, Any]:
    plan, candidate = release.plan, chosen.candidate
    return {
        "title": plan.title, "formula": plan.formula, "fit": candidate.family,
        "options": json.loads(json.dumps(dict(candidate.options))), "neighbours": plan.neighbours,
        "contribution": plan.contribution, "unit": plan.unit(), "columns": _columns(release),
        "said": (chosen.made or {})["sentence"], "choice": release.how,
        "paid_from_a_ledger": (chosen.made or {})["paid"],
    }  # fmt: skip


def fit_card(release: FitRelease, chosen: JudgedFit) -> str:
    """What users of the fit must know, as Markdown."""
    plan, made = release.plan, chosen.made or {}
    columns = "\n".join(
        f"- `{name}`: " + (f"{b[0]} to {b[1]}" if (b := held.get("bounds")) else ", ".join(held["levels"]))
        for name, held in _columns(release).items()
    )
    limits = "\n".join(f"- {finding.rule.text}: met" for finding in chosen.findings)
    found = 100 * best_attack(
        chosen.candidate.epsilon, 0.01, float(chosen.candidate.options.get("delta", 0.0))
    )
    paid = (
        "It was paid out of the data set's ledger." if made["paid"] else "No ledger of the data set was kept."
    )
    return f"""# {plan.title}

`{plan.formula}`, {chosen.candidate.family}.

- **What it is.** {made["sentence"]}
- **What it costs.** ε = {chosen.candidate.epsilon:g}: whoever accuses 1 % falsely of being in the data finds at most
  {figure(found)} % of those who are. {paid}
- **The choice.** {release.how}
- **Not for.** Single people: a band says where the line may lie, not where people do.

## Taken as public

{columns}

Values beyond these bounds count as the bound; records with a gap, or with a code that is not listed, are left out.

## Limits that were set before, and are kept

{limits}
"""


def public_report(release: FitRelease, chosen: JudgedFit) -> str:
    """The released fit as one page."""
    panels = {"": [(PRIVATE, chosen.lines)]}
    body = f"<p>{html.escape(str((chosen.made or {})['sentence']))}</p><p>{html.escape(release.how)}</p>"
    body += "".join(_drawn(release, panels, name) for name in parse(release.plan.formula)[1])
    return _page(release.plan.title, body + "<h2>Coefficients</h2>" + _html_table(chosen.table))


def internal_report(release: FitRelease) -> str:
    """All fits beside the original's, for the people inside."""
    panels = {
        j.candidate.name: [(PRIVATE, j.lines), (EXACT, release.exact(j))]
        for j in release.judged
        if j.made is not None
    }
    body = "<p><strong>For the people inside: the dashed lines are not private.</strong></p>"
    body += f"<p>{html.escape(release.why)} {html.escape(release.how)}</p>"
    body += "".join(_drawn(release, panels, name) for name in parse(release.plan.formula)[1])
    for judged in release.judged:
        said = "; ".join(judged.broken) or "keeps every limit"
        body += f"<h2>{html.escape(judged.candidate.name)}</h2><p>{html.escape(said)}</p>"
        body += _html_table(judged.table) if judged.made is not None else "<p>Not made, nothing paid.</p>"
    return _page(f"{release.plan.title} (internal)", body)


def _drawn(release: FitRelease, panels: dict[str, list[tuple[str, pl.DataFrame]]], along: str) -> str:
    response = parse(release.plan.formula)[0]
    words = f"{response} along {along}, with bands of 95 %."
    return f"<h2>Along {html.escape(along)}</h2>{picture(lines_chart(panels, along, response), words)}"


def _html_table(table: pl.DataFrame) -> str:
    heads = "".join(f"<th scope='col'>{html.escape(name)}</th>" for name in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_told(cell)}</td>" for cell in row) + "</tr>" for row in table.iter_rows()
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _told(cell: Any) -> str:
    return html.escape(figure(cell) if isinstance(cell, float) else str(cell))


def _page(title: str, body: str) -> str:
    name = html.escape(title)
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{name}</title><style>{STYLE}</style>"
        f"</head><body><main><h1>{name}</h1>{body}</main></body></html>\n"
    )


def strange_fit_files(names: Sequence[str]) -> list[str]:
    """Files that do not belong in the pack of a private fit.

    Examples
    --------
    >>> strange_fit_files(["public/fit.json", "public/people.csv"])
    ['public/people.csv']
    """
    return [name for name in names if name not in KNOWN]
