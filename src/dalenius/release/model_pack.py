"""The pack of a model: the model without pickle, its card and a report that may leave; the full report that stays."""

from __future__ import annotations

import html
from pathlib import Path

from dalenius.core.errors import DataError
from dalenius.core.maps import risk_utility_map
from dalenius.core.pictures import picture
from dalenius.core.result import figure
from dalenius.data.atomic import write_text
from dalenius.data.lock import locked
from dalenius.models.case import ModelCase
from dalenius.models.checking import beside_commonest
from dalenius.models.files import save_model
from dalenius.release.model_release import JudgedModel, ModelRelease, Released, facts
from dalenius.release.pack import CHECKSUMS, as_json, checksums, write_manifest
from dalenius.release.place import put_in_place
from dalenius.report import Provenance

MODEL = "model.skops"
KNOWN = frozenset(
    {f"public/{name}" for name in (MODEL, "model-card.md", "report.html", CHECKSUMS)}
    | {f"internal/{name}" for name in ("report.html", "results.json", "plan.yaml")}
)
"""Every file of a pack of a model but the manifest and its signature."""
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2733;background:#fff}
table{border-collapse:collapse}
td,th{padding:.3rem .8rem;border-bottom:1px solid #d5dbe1;text-align:left;vertical-align:top}
.no{color:#a32219;font-weight:600}.yes{color:#1f6b41;font-weight:600}
"""


def write_model_pack(release: ModelRelease, key: Path | None = None) -> Path:
    """Write the pack of a released model; the folder appears whole or not at all.

    Examples
    --------
    >>> write_model_pack(ModelRelease(None, (), None, "Nothing keeps the limits.", Path()))
    Traceback (most recent call last):
    ...
    dalenius.core.errors.DataError: Nothing keeps the limits.
    """
    chosen = release.chosen
    if chosen is None:
        raise DataError(release.why)

    def fill(folder: Path) -> None:
        _fill(folder, release, chosen)
        write_manifest(
            folder,
            release.plan,
            {
                "kind": "model",
                "date": Provenance.now().date,
                "threshold": release.plan.threshold,
                "chosen": chosen.candidate.name,
                "repeatable": True,
            },
        )

    with locked(release.work.parent / "pack.lock"):
        return put_in_place(release.plan, release.work, fill, key)


def _fill(folder: Path, release: ModelRelease, chosen: JudgedModel) -> None:
    case = release.case(chosen)
    save_model(case.fitted.model, folder / "public" / MODEL)
    for name, text in public_texts(release, chosen, case).items():
        write_text(folder / "public" / name, text)
    write_text(folder / "public" / CHECKSUMS, checksums(folder / "public"))
    write_text(folder / "internal" / "report.html", report(release, public=False))
    write_text(folder / "internal" / "results.json", as_json(facts(release)))
    write_text(folder / "internal" / "plan.yaml", release.plan.text)


def public_texts(release: ModelRelease, chosen: JudgedModel, case: ModelCase) -> dict[str, str]:
    """What is said of the model to everybody, by file."""
    return {"model-card.md": model_card(release, chosen, case), "report.html": report(release, public=True)}


def model_card(release: ModelRelease, chosen: JudgedModel, case: ModelCase) -> str:
    """What users of the model must know, as Markdown."""
    plan, score = release.plan, release.score
    columns = "\n".join(f"- `{name}`: {case.train[name].column.kind}" for name in case.features)
    figures = "\n".join(
        f"| {r.title} | {figure(r.value, r.unit)} | {r.beside} |"
        for r in chosen.results.values()
        if r.trusted
    )
    limits = "\n".join(f"- {finding.rule.text}: met" for finding in chosen.findings)
    options = ", ".join(f"{k} = {v}" for k, v in chosen.candidate.options.items()) or "the library's defaults"
    use = f"{score.capitalize()} {figure(chosen.scores['holdout'])}"
    return f"""# {plan.title}

A model of `{plan.predicts}`: {case.fitted.kind}, {options}.

- **Use.** {use} on people it was not fitted on{beside_commonest(case)}.
- **Not for.** Decisions about people it was fitted on; people of another population. Nothing was measured there.
- **Open it** with `skops.io.load` (`model.skops`, scikit-learn {_version("scikit-learn")}); it holds no
  pickle, so that opening it runs nothing.

## Columns it takes

{columns}

## How safe it is

| figure | value | beside |
|---|---|---|
{figures}

Limits that were set before, and are kept:

{limits}

The figures are of attacks that were tried; they are no proof against others, and no formal guarantee goes with the
model.
"""


def report(release: Released, public: bool) -> str:
    """The report as one page: of the released model for everybody, of all candidates for the people inside."""
    assert release.chosen is not None
    judged = [release.chosen] if public else list(release.judged)
    heads = "".join(f"<th scope='col'>{html.escape(j.candidate.name)}</th>" for j in judged)
    names = [n for n in release.chosen.results if not public or release.chosen.results[n].trusted]
    rows = [_row(release.chosen.results[n].title, [_cell(j, n) for j in judged]) for n in names]
    rows.append(_row(release.scored, [figure(j.scores["holdout"]) for j in judged]))
    kept = [
        f"<span class='{'yes' if j.safe else 'no'}'>{'kept' if j.safe else 'not kept'}</span>" for j in judged
    ]
    rows.append(f"<tr><th scope='row'>limits</th>{''.join(f'<td>{k}</td>' for k in kept)}</tr>")
    said = "".join(
        f"<li>{html.escape(r.sentence)}</li>" for n, r in release.chosen.results.items() if n in names
    )
    drawn = ""
    if not public:
        shown = picture(risk_utility_map(release.points()), release.drawn)
        drawn = f"<h2>The choice</h2><p>{html.escape(release.why)}</p>{shown}"
        missed = [f"{j.candidate.name}: {line}" for j in judged for line in j.broken]
        drawn += "".join(f"<p>{html.escape(line)}</p>" for line in missed)
    title = html.escape(release.plan.title)
    return (
        f"<!doctype html><html lang='en'><head><meta "
        f"charset='utf-8'><title>{title}</title><style>{STYLE}</style></head>"
        f"<body><main><h1>{title}</h1>{drawn}<h2>Figures</h2><table><thead><tr><td></td>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table><h2>In words</h2><ul>{said}</ul></main></body></html>\n"
    )


def _row(title: str, cells: list[str]) -> str:
    inner = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
    return f"<tr><th scope='row'>{html.escape(title)}</th>{inner}</tr>"


def _cell(judged: JudgedModel, name: str) -> str:
    held = judged.results.get(name)
    return "–" if held is None else held.told


def _version(library: str) -> str:
    return str(Provenance.now().versions.get(library, ""))
