"""The report as Markdown, for wikis, e-mail and version control: the same texts and figures, no charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dalenius.core.pictures import drawable
from dalenius.core.result import Result
from dalenius.evaluation import Comparison
from dalenius.report.attacked import AttackStory
from dalenius.report.provenance import Provenance
from dalenius.report.render import ProtectedTable
from dalenius.report.story import LIKELY, Story
from dalenius.report.words import cautions, comparison_story


def render_markdown(
    comparison: Comparison,
    provenance: Provenance,
    *,
    title: str,
    public: bool = False,
    story: Story | None = None,
    tables: Mapping[str, ProtectedTable] | None = None,
) -> str:
    """Markdown text of a report.

    Examples
    --------
    >>> from dalenius.evaluation import compare
    >>> data = {"sex": ["f", "m"] * 20}
    >>> compared = compare(data, {"copy": data}, measures=["two-way-utility"])
    >>> print(render_markdown(compared, Provenance.now(), title="A copy").splitlines()[0])
    # A copy
    """
    version = provenance.versions.get("dalenius", "")
    lines = [f"# {_safe(title)}", "", f"{provenance.date[:10]}, made with Dalenius {version}.", ""]
    lines += _story(story or comparison_story(comparison))
    for name, evaluation in comparison.evaluations.items():
        lines += ["", f"## {_safe(name)}", "", f"{evaluation.pair.protected.rows:,} records.", ""]
        lines += [] if public else [f"- {_safe(line)}" for line in cautions(evaluation)]
        for family, words in (
            ("risk", "What could be learnt about people"),
            ("utility", "What the file is good for"),
        ):
            lines += _figures(words, evaluation.family(family))
    for name, held in (tables or {}).items():
        lines += [
            "",
            f"## Protected table: {_safe(name)}",
            "",
            *([] if public else [_safe(held.sentence), ""]),
        ]
        lines += ["```", held.cross_table(), "```"]
    if not public:
        lines += ["", "## Provenance", ""]
        lines += [f"- SHA-256 of {_safe(name)}: `{digest}`" for name, digest in provenance.inputs.items()]
        lines += [f"- seed of {_safe(name)}: {seed}" for name, seed in provenance.seeds.items()]
        lines += [f"- {name} {number}" for name, number in provenance.versions.items()]
    return "\n".join(lines) + "\n"


def _story(story: Story) -> list[str]:
    lines = [f"**{_safe(line)}**\n" for line in story.decided]
    lines += [*(f"- {_safe(line)}" for line in story.refused), ""] if story.refused else []
    for head, texts in story.answers:
        first, *more = texts
        lines += [f"## {head}", "", f"**{_safe(first)}**", ""]
        if head == LIKELY:
            more = [*(f"{chance.title}. {chance.short} {chance.said}" for chance in story.chances), *more]
        lines += [*(f"- {_safe(text)}" for text in more), ""]
    if story.words:
        lines += ["## Words used above", ""]
        lines += [f"- *{_safe(term.word)}*: {_safe(term.meaning)}" for term in story.words]
        lines.append("")
    if story.why:
        lines += ["## The choice", "", _safe(story.why), ""]
    if story.policy:
        lines += [
            "## The policy, line by line",
            "",
            "| file | policy line | intruder | found |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| {_cell(r.file)} | {_cell(r.line)} | {_cell(r.scenario)} | {_cell(r.said)} |"
            for r in story.policy
        ]
    if story.attack is not None:
        lines += _attack(story.attack)
    for name, ledger in story.ledgers:
        lines += ["", f"## Privacy budget of {_safe(name)}", "", "```", ledger, "```"]
    return lines


def _attack(told: AttackStory) -> list[str]:
    lines = ["", "## What the published tables give away", ""]
    lines += [f"- {_safe(line)}" for line in (*told.lines, *told.remarks)]
    if told.patterns:
        lines += ["", "| " + " | ".join(told.patterns[0]) + " |", "|---" * len(told.patterns[0]) + "|"]
        lines += [
            "| " + " | ".join("no limit" if value is None else str(value) for value in row.values()) + " |"
            for row in told.patterns
        ]
    for head, held in (("Cells to hold back", told.hold), ("Recipes, which stay inside", told.recipes)):
        lines += ["", f"### {head}", "", *(f"- {_safe(line)}" for line in held)] if held else []
    return lines + (["", "How the small groups follow is withheld."] if told.withheld else [])


def _figures(head: str, results: Sequence[Result]) -> list[str]:
    if not results:
        return []
    ranged = ["In square brackets: how far chance may have moved a figure.", ""]
    lines = ["", f"### {head}", "", *(ranged if any(r.interval for r in results) else [])]
    lines += ["| figure | value | beside | reading |", "|---|---|---|---|"]
    for r in results:
        lines.append(f"| {_cell(r.title)} | {_cell(r.told)} | {_cell(r.beside)} | {_cell(r.sentence)} |")
    return lines


def _safe(text: str) -> str:
    """Text that Markdown shows as it is: names from the data may hold HTML, links and pictures."""
    plain = drawable(" ".join(text.splitlines()))
    for sign in ("\\", "`", "*", "]("):
        plain = plain.replace(sign, f"\\{sign}")
    return plain.replace("&", "&amp;").replace("<", "&lt;")


def _cell(text: str) -> str:
    return _safe(text).replace("|", "\\|")
