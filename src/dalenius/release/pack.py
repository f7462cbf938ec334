"""The release pack: what goes out (``public/``), what stays (``internal/``), a manifest of hashes and its signature."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.registry import MethodInfo
from dalenius.core.result import Interval, Result, figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.counts.pair import Pair
from dalenius.data import Grouping, Table, write
from dalenius.data.atomic import write_text
from dalenius.data.files.databases import DDL, DESCRIPTION, ddl
from dalenius.data.lock import locked
from dalenius.data.relations import OWNER
from dalenius.data.relations_check import torn_links
from dalenius.data.relations_picture import picture
from dalenius.evaluation import Comparison, Evaluation
from dalenius.release.codebook import codebook, codebook_text, limits_text, outgoing
from dalenius.release.copies import released_tables, table_file
from dalenius.release.fit_plan import FitPlan
from dalenius.release.jobs import file_digest, job_path, read_made, read_paid, source
from dalenius.release.learnt_plan import LearntPlan
from dalenius.release.model_plan import ModelPlan
from dalenius.release.outcome import Judged, Release, summary
from dalenius.release.place import MANIFEST, plan_place, put_in_place
from dalenius.release.plan import FORMATS, Plan, Scenario
from dalenius.release.several import bases, job_tables, read_tables, seen_by, whole_base
from dalenius.release.tell import (
    called_made_up,
    internal_story,
    private_story,
    public_story,
    rare_values,
    release_title,
    results_rows,
)
from dalenius.report import Provenance, render_report
from dalenius.report.markdown import render_markdown
from dalenius.report.story import Story
from dalenius.synth import Candidate

CHECKSUMS = "checksums.txt"
REPORTS = ("report.html", "report.md")
WORDS = ("synthetic", "masked")
"""What the name of a released file says about it."""
BESIDE = (DESCRIPTION, DDL)
"""What says how several tables hang together."""
KNOWN = frozenset(
    {
        f"public/{n}"
        for n in (*REPORTS, "report.json", "codebook.json", "codebook.md", "limits.md", CHECKSUMS, *BESIDE)
    }
    | {f"internal/{n}" for n in (*REPORTS, "results.json", "results.parquet", "plan.yaml", "provenance.json")}
)
"""Every file of a pack but the data, the manifest and its signature."""


def write_pack(release: Release, threshold: int = THRESHOLD, key: Path | None = None) -> Path:
    r"""Write the pack of a release; the folder appears whole or not at all, an older pack of the same plan is replaced.

    With the steward's private ``key`` the manifest is signed. Two processes never write one pack at once: the second
    waits.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.data import examples
    >>> from dalenius.release import read_plan, run_plan, summary
    >>> folder = Path(tempfile.mkdtemp())
    >>> examples.survey(200).select("sex", "age", "health").write_csv(folder / "people.csv")
    >>> _ = (folder / "plan.yaml").write_text(
    ...     "input: people.csv\nscenarios: {a: {keys: [sex, age], targets: [health]}}\n"
    ...     "candidates: {independent: {}}\nmeasures: [replicated-uniques]\npolicy: [repU <= 100 %]\n"
    ... )
    >>> release = run_plan(read_plan(folder / "plan.yaml"), workers=1)
    >>> summary(release)["chosen"]
    'independent'
    >>> sorted(path.name for path in write_pack(release).iterdir())
    ['internal', 'manifest.json', 'public']
    """
    chosen = release.chosen
    if chosen is None:
        raise DataError(release.why)

    def fill(folder: Path) -> None:
        _fill(folder, release, chosen, threshold)
        write_manifest(
            folder,
            release.plan,
            {
                "date": release.date,
                "threshold": threshold,
                "chosen": chosen.candidate.name,
                "repeatable": chosen.candidate.repeatable,
            },
        )

    with locked(release.work.parent / "pack.lock"):
        return put_in_place(release.plan, release.work, fill, key)


def pack_digest(folder: Path) -> str:
    """SHA-256 of a pack's manifest, for the minutes: whoever holds it can tell whether anything was changed."""
    return file_digest(folder / MANIFEST)


def strange_files(names: Iterable[str]) -> list[str]:
    """Files that do not belong in a pack, whatever the manifest says.

    Examples
    --------
    >>> strange_files(["public/people.synthetic.csv", "public/report.html", "public/people.csv"])
    ['public/people.csv']
    """
    return [name for name in names if name not in KNOWN and not is_data(name)]


def is_data(name: str) -> bool:
    """Whether a file of a pack is the released data, in any format."""
    place, _, file = name.rpartition("/")
    return place == "public" and any(file.endswith(f".{w}.{e}") for w in WORDS for e in FORMATS)


def release_name(release: Release, ending: str = "csv") -> str:
    """Name of the released data file; it says that the data are not real, or that they are and were masked."""
    masks = release.chosen is not None and release.chosen.candidate.info.masks
    return f"{release.plan.input.stem}.{'masked' if masks else 'synthetic'}.{ending}"


def comparison_of(
    release: Release,
    names: Sequence[str] | None = None,
    scenario: str | None = None,
    threshold: int = THRESHOLD,
) -> Comparison:
    """The candidates' first files with their stored figures: nothing is measured again.

    The chosen candidate comes first; ``names`` takes some candidates only, ``scenario`` another intruder.
    """
    seen = release.plan.seen(scenario)
    grouping = Grouping.fit(source(release.plan, scenario=seen.name)[0])
    ordered = sorted(release.judged, key=lambda j: j is not release.chosen)
    return Comparison(
        {
            j.candidate.name: _evaluation(release, j, seen, grouping, threshold)
            for j in ordered
            if names is None or j.candidate.name in names
        }
    )


def told(release: Release, threshold: int = THRESHOLD) -> Story:
    """The story of the chosen file, with everything the people inside may know."""
    if release.chosen is None:
        raise DataError(release.why)
    opened = release.open(release.chosen.candidate)
    return internal_story(release, release.chosen, opened.original, opened.table, threshold)


def _evaluation(
    release: Release,
    judged: Judged,
    scenario: Scenario,
    grouping: Grouping,
    threshold: int,
) -> Evaluation:
    made = release.open(judged.candidate, scenario.name)
    if made.lens is not None:
        grouping = Grouping.fit(made.lens.see_own(made.original))
    pair = Pair(
        made.original, made.table, made.holdout, keys=list(scenario.keys), targets=list(scenario.targets),
        grouping=grouping, threshold=threshold, lens=made.lens,
    )  # fmt: skip
    pair.made_here = True
    pair.notes = list(judged.notes[scenario.name])
    own = judged.runs[0][scenario.name]
    figures = {n: _with_range(r, judged, scenario.name).at_threshold(threshold) for n, r in own.items()}
    return Evaluation(judged.candidate.name, pair, figures)


def _with_range(result: Result, judged: Judged, scenario: str) -> Result:
    """The released file's own figure; its interval, or the range over several makes where it has none."""
    values = [run[scenario][result.name].value for run in judged.runs if result.name in run[scenario]]
    if result.interval is not None or len(values) < 2:
        return result
    return replace(result, interval=Interval(min(values), max(values), 1.0, f"over {len(values)} makes"))


def _fill(folder: Path, release: Release, chosen: Judged, threshold: int) -> None:
    plan = release.plan
    opened = release.open(chosen.candidate)
    original, released = opened.original, opened.table
    comparison = comparison_of(release, threshold=threshold)
    if plan.several:
        released = write_tables(release, chosen.candidate, folder / "public")
    else:
        for ending in plan.formats:
            passing = {"formulas": True} if plan.formulas and ending == "csv" else {}
            write(outgoing(released), folder / "public" / release_name(release, ending), **passing)
        # what is told is of what goes out
        released = read_made(folder / "public" / release_name(release), original, opened.lens)
    _write_public(folder / "public", release, chosen, comparison, released, original)
    inside = folder / "internal"
    provenance = _provenance(release)
    story = _drawn(internal_story(release, chosen, original, released, threshold), release, chosen, True)
    points = {"": release.points()} | {risk: release.points(risk) for risk in release.risks}
    page = render_report(
        comparison, provenance, title=plan.title, story=story,
        points={risk: p for risk, p in points.items() if len(p)},
        made={judged.candidate.name: judged.candidate.told for judged in release.judged},
    )  # fmt: skip
    write_text(inside / "report.html", page)
    write_text(inside / "report.md", render_markdown(comparison, provenance, title=plan.title, story=story))
    write_text(inside / "results.json", as_json(summary(release)))
    frame = pl.DataFrame(
        results_rows(release.judged),
        schema_overrides={"low": pl.Float64, "high": pl.Float64, "value": pl.Float64},
    )
    write(frame, inside / "results.parquet")
    write_text(inside / "plan.yaml", plan.text)
    write_text(
        inside / "provenance.json",
        as_json(_provenance_facts(release, provenance, original, released, threshold)),
    )


def _write_public(
    folder: Path, release: Release, chosen: Judged, comparison: Comparison, released: Table, original: Table,
) -> None:  # fmt: skip
    plan, info = release.plan, chosen.candidate.info
    _write_codebook(folder, plan, info, original, released)
    name = release_name(release)
    private = chosen.candidate.private
    if private:
        paid = read_paid(release.data(chosen.candidate))
        story = private_story(release, chosen, released, paid)
        best = Evaluation(name, Pair(released, released), {})
    else:
        story = _drawn(public_story(release, chosen, original, released), release, chosen, False)
        best = _public_evaluation(replace(comparison[chosen.candidate.name], name=name))
    shown = Comparison({name: best})
    bare = Provenance(release.date, "", {"dalenius": Provenance.now().versions["dalenius"]})
    page = render_report(shown, bare, title=plan.title, public=True, story=story, alone=private)
    write_text(folder / "report.html", page)
    write_text(folder / "report.md", render_markdown(shown, bare, title=plan.title, public=True, story=story))
    write_text(folder / "report.json", as_json(_public_facts(plan.title, release_title(chosen), story, best)))
    kept = chosen.candidate.kept if private else chosen.kept  # what was seen of the real data stays inside
    words = limits_text(plan.title, chosen.candidate.build(), story.uses, called_made_up(plan, chosen), kept)
    write_text(folder / "limits.md", words)
    write_text(folder / CHECKSUMS, checksums(folder))


def _write_codebook(folder: Path, plan: Plan, info: MethodInfo, original: Table, released: Table) -> None:
    if plan.several:
        made = read_tables(released_tables(folder, whole_base(plan)), whole_base(plan))
        books = {name: codebook(table, info, []) for name, table in made.tables.items()}
        write_text(folder / "codebook.json", as_json({"tables": books}))
        texts = (codebook_text(book, f"{plan.title}, table {name}") for name, book in books.items())
        write_text(folder / "codebook.md", "\n".join(texts))
        return
    book = codebook(released, info, [name for name in original.names if name not in released.names])
    write_text(folder / "codebook.json", as_json(book))
    write_text(folder / "codebook.md", codebook_text(book, plan.title))


def write_tables(release: Release, candidate: Candidate, folder: Path) -> Table:
    """Write a candidate's tables with what holds them together; what the first intruder sees of what was written."""
    plan, base = release.plan, whole_base(release.plan)
    made = job_tables(plan, job_path(release.work, candidate, 0))
    for name, table in made.tables.items():
        for ending in plan.formats:
            write(outgoing(table), folder / table_file(name, ending))
    out = read_tables(released_tables(folder, base), base)
    plain = [replace(link, note="") for link in out.links]
    written = out.with_tables({n: _described(t) for n, t in out.tables.items()}, links=tuple(plain))
    written.to_yaml(folder / DESCRIPTION)
    write_text(folder / DDL, ddl(out))
    return seen_by(out, plan.scenarios[0]).drop([OWNER])


def _described(table: Table) -> Table:
    """A table whose schema speaks of what is in it alone: notes and rules were about the original."""
    columns = [replace(c, note="", bounds=None) for c in table.schema]
    return table.with_schema(replace(table.schema, columns=tuple(columns), rules=()))


def tables_drawn(release: Release) -> str:
    """Tables and links with their rows, those of the chosen candidate beside; links that are torn are marked."""
    base = whole_base(release.plan)
    return picture(base, release.chosen.rows if release.chosen else None, torn_links(base))


def _drawn(story: Story, release: Release, chosen: Judged, inside: bool) -> Story:
    """The story with tables and links drawn, where there are several; outside with the made rows alone."""
    if not release.plan.several:
        return story
    if inside:
        return replace(story, drawing=tables_drawn(release))
    made = job_tables(release.plan, job_path(release.work, chosen.candidate, 0))
    return replace(story, drawing=picture(made))


def checksums(folder: Path) -> str:
    """SHA-256 of every public file, as ``sha256sum -c`` reads it."""
    held = [path for path in sorted(folder.iterdir()) if path.name != CHECKSUMS]
    return "".join(f"{file_digest(path)}  {path.name}\n" for path in held)


def _public_evaluation(evaluation: Evaluation) -> Evaluation:
    """Only figures that say something to users, without tables, charts or remarks of the measuring."""
    pair = evaluation.pair
    results = {
        n: replace(_of_many(r, pair.units.count), table=None, chart=None, values={})
        for n, r in evaluation.results.items()
    }
    return replace(evaluation, results=results, skipped={})


def _of_many(result: Result, people: int) -> Result:
    """A share of people that does not tell how few they are: of fewer than the threshold it is said that they are.

    Examples
    --------
    >>> from dalenius.counts.measure import MEASURES
    >>> info = MEASURES["identical-matches"].info
    >>> two = Result("identical-matches", 0.125, "0.125 % of the people.", unit="%", outside=0.0, info=info)
    >>> shown = _of_many(two, 1600)
    >>> shown.value, shown.added, shown.sentence
    (0.625, None, 'less than 0.625 % of the people.')
    """
    risk = result.unit == "%" and result.info is not None and result.info.family == "risk"
    most = 100 * result.threshold / max(people, 1)
    if not risk or not 0 < result.value < most:
        return result
    told = result.sentence.replace(figure(result.value, "%"), f"less than {figure(most, '%')}")
    # the range, and what the people outside have, would tell the figure after all
    return replace(
        result,
        value=most,
        level=None,
        outside=None,
        interval=None,
        added_interval=None,
        yardsticks={},
        sentence=told,
    )


def _public_facts(title: str, method: str, story: Story, best: Evaluation) -> dict[str, Any]:
    return {
        "title": title,
        "method": method,
        "released": story.released,
        "what_could_go_wrong": story.wrong,
        "this_files_doing": [*story.likely, *(f"{c.title}. {c.short} {c.said}" for c in story.chances)],
        "uses": story.uses,
        **({"published_tables": list(story.attack.lines)} if story.attack else {}),
        "figures": {
            n: {k: v for k, v in r.to_dict().items() if k not in ("table", "values")}
            for n, r in best.results.items()
        },
    }


def write_manifest(
    folder: Path, plan: Plan | ModelPlan | FitPlan | LearntPlan, facts: Mapping[str, Any]
) -> None:
    """What the pack is of and the hash of every file in it; ``facts`` are what plans of one kind say of themselves."""
    files = {str(p.relative_to(folder)): file_digest(p) for p in sorted(folder.rglob("*")) if p.is_file()}
    body = {
        "format": 2,
        "title": plan.title,
        "seed": plan.seed,
        "plan": plan.text_digest,
        "plan_file": plan_place(plan),
        "inputs": {name: file_digest(path) for name, path in plan.sources.items()},
        "versions": dict(Provenance.now().versions),
        "files": files,
        **facts,
    }
    write_text(folder / MANIFEST, as_json({**body, "digest": digest_of(body)}))


def digest_of(body: Mapping[str, Any]) -> str:
    """Checksum of a manifest, kept in it against accidents; it proves nothing against somebody who rewrites it.

    Examples
    --------
    >>> digest_of({"a": 1}) == digest_of({"a": 1, "digest": "x"})
    True
    """
    facts = {name: value for name, value in body.items() if name != "digest"}
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def _provenance(release: Release) -> Provenance:
    now = Provenance.now(
        {name: file_digest(path) for name, path in release.plan.sources.items()}, {"plan": release.plan.seed}
    )
    return replace(now, date=release.date, command="dalenius release")


def _provenance_facts(
    release: Release, provenance: Provenance, original: Table, released: Table, threshold: int
) -> dict[str, Any]:
    return {
        "date": provenance.date,
        "seed": release.plan.seed,
        "inputs": dict(provenance.inputs),
        "versions": dict(provenance.versions),
        "plan": release.plan.text_digest,
        "rare_values_in_the_release": _rare(release, original, released, threshold),
        **_paid_figures(release),
        "privacy_budgets": {j.candidate.name: j.ledger for j in release.judged if j.ledger},
        "not_repeatable": [j.candidate.name for j in release.judged if not j.candidate.repeatable],
    }


def _rare(release: Release, original: Table, released: Table, threshold: int) -> dict[str, int]:
    if not release.plan.several or release.chosen is None:
        return rare_values(original, released, threshold)
    base, _ = bases(release.plan)
    made = job_tables(release.plan, job_path(release.work, release.chosen.candidate, 0))
    return {
        f"{name}.{column}": times
        for name in base.tables
        for column, times in rare_values(base.bare(name), made.bare(name), threshold).items()
    }


def _paid_figures(release: Release) -> dict[str, Any]:
    """What was bought about the chosen file, so that it need not be bought again."""
    paid = read_paid(release.data(release.chosen.candidate)) if release.chosen is not None else []
    return {"paid_figures": [each.to_dict() for each in paid]} if paid else {}


def as_json(data: Any) -> str:
    """Facts of a pack as text, the same for the same facts."""
    return json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True, default=str) + "\n"
