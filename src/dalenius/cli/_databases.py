"""Folders, workbooks and database files on the command line: several tables where a file is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalenius.cli._console import Terminal, grid_of
from dalenius.core.errors import OptionError, counted
from dalenius.core.option import parse
from dalenius.data.files.databases import BOOKS, check_folder, is_database
from dalenius.data.relations import Database

if TYPE_CHECKING:
    from dalenius.synth.relational import RelationalMethod

OPTIONS = "one table only; methods of several tables take their options as --option"


def holds_tables(path: Path | None, method: str | None = None) -> bool:
    """Whether a path holds several tables: a folder or database file, or a workbook where a method takes several."""
    if path is None:
        return False
    from dalenius.synth.relational import RELATIONAL  # noqa: PLC0415 (slow to load)

    return is_database(path) or (path.suffix.lower() in BOOKS and method is not None and method in RELATIONAL)


def load_database(path: Path, schema: Path | None, terminal: Terminal) -> Database:
    """Read a database and say what it is."""
    with terminal.progress(f"reading {path.name}"):
        base = Database.read(path, schema)
    tables = ", ".join(f"{name} ({counted(table.rows, 'row')})" for name, table in base.tables.items())
    terminal.note(f"{path.name}: {tables}")
    return base


def tell_schema(path: Path, output: Path | None, check: Path | None, terminal: Terminal) -> None:
    """Keys and links of a database, with why each was guessed."""
    base = load_database(path, check, terminal)
    if check is not None:
        terminal.say(f"{path} follows {check}")
        terminal.emit({"data": str(path), "schema": str(check), "faults": []})
        return
    tables = grid_of("table", "rows", "key", "columns")
    for name, table in base.tables.items():
        tables.add_row(name, f"{table.rows:,}", base.keys.get(name, ""), ", ".join(table.names))
    links = grid_of("link", "cardinality", "why")
    for link in base.links:
        ends = f"{link.child}.{link.child_key} -> {link.parent}.{link.parent_key}"
        links.add_row(ends, str(link.cardinality), link.note)
    terminal.say(tables)
    terminal.say("")
    terminal.say(links)
    base.to_yaml(output)
    if output is not None:
        terminal.note(
            f"written to {output}; correct it, and keep it as database.yaml in the folder or pass --schema"
        )
    terminal.emit(
        {
            "tables": {
                n: {"rows": t.rows, "key": base.keys.get(n), "columns": t.names}
                for n, t in base.tables.items()
            },
            "links": [{"link": str(link), "why": link.note} for link in base.links],
        }
    )


def synth_database(
    path: Path, method: str | None, output: Path | None, schema: Path | None, options: Sequence[str] | None,
    copies: int, seed: int, refused: dict[str, Any], terminal: Terminal,
) -> None:  # fmt: skip
    """Make a synthetic version of a database, of the same kind as the original."""
    chosen = method_of_several(method, options, refused)
    target = output or path.with_name(f"{path.stem}.synthetic{path.suffix}")
    if not target.suffix or target.is_dir():
        check_folder(target)
    base = load_database(path, schema, terminal)
    with terminal.progress(f"making {chosen.info.title}") as tell:
        made = chosen.make(base, copies, seed=seed, progress=tell)
    for line in made.notes:
        terminal.note(line)
    places = []
    for number, database in enumerate(made, 1):
        place = target if copies == 1 else target.with_name(f"{target.stem}.{number}{target.suffix}")
        database.write(place)
        rows = ", ".join(f"{n} {t.rows:,}" for n, t in database.tables.items())
        terminal.say(f"synthetic rows ({rows}) written to {place}")
        places.append(str(place))
    rows_of = {n: t.rows for n, t in made.databases[0].tables.items()}
    terminal.emit({"method": chosen.info.name, "seed": seed, "files": places, "rows": rows_of})


def method_of_several(
    method: str | None, options: Sequence[str] | None, refused: dict[str, Any]
) -> RelationalMethod:
    """The method of several tables that was asked for, with its options; options of one table are refused."""
    from dalenius.synth.relational import RELATIONAL  # noqa: PLC0415 (slow to load)
    from dalenius.synth.relational.method import DEFAULT, make_relational  # noqa: PLC0415

    wrong = [f"--{name.replace('_', '-')}" for name, value in refused.items() if value]
    if wrong:
        raise OptionError(f"{', '.join(wrong)}: {OPTIONS}")
    name = method or DEFAULT
    return make_relational(name, **parse(options, {name: RELATIONAL[name]}).get(name, {}))


def benchmark_folder(
    path: Path, methods: Sequence[str] | None, schema: Path | None, options: Sequence[str] | None,
    measures: list[str] | None, replicates: int, holdout_share: float, seed: int, terminal: Terminal,
) -> None:  # fmt: skip
    """Try several methods of several tables on one database."""
    from dalenius.evaluation.databases import benchmark_databases  # noqa: PLC0415 (slow to load)
    from dalenius.synth.relational import RELATIONAL  # noqa: PLC0415
    from dalenius.synth.relational.method import DEFAULT  # noqa: PLC0415

    names = list(methods or [DEFAULT])
    given = parse(options, {name: RELATIONAL[name] for name in names})
    base = load_database(path, schema, terminal)
    with terminal.progress("trying") as tell:
        evaluation = benchmark_databases(
            base, {name: given.get(name, {}) for name in names}, replicates=replicates, holdout_share=holdout_share,
            measures=measures, seed=seed, progress=tell,
        )  # fmt: skip
    grid = grid_of("method", "table", "measure", "mean", "range", "yardstick")
    for row in evaluation.table.iter_rows(named=True):
        span = f"{row['low']:.4g} to {row['high']:.4g}"
        grid.add_row(
            row["method"], row["table"], row["measure"], f"{row['mean']:.4g}", span, row["yardstick"]
        )
    terminal.say(grid)
    for name, why in evaluation.failed.items():
        terminal.note(f"{name} made nothing: {why}")
    terminal.emit({"figures": evaluation.table.to_dicts(), "failed": dict(evaluation.failed)})


def evaluate_folders(
    original: Path, protected: Sequence[str], schema: Path | None, holdout: Path | None, measures: list[str] | None,
    report: Path | None, threshold: int, terminal: Terminal,
) -> None:  # fmt: skip
    """Measure a protected database, table by table and across tables."""
    if len(protected) > 1:
        raise OptionError("one protected folder at a time; measure the others by themselves")
    base = load_database(original, schema, terminal)
    other = Database.read(Path(protected[0].rpartition("=")[2]), orphans="keep")
    third = None if holdout is None else Database.read(holdout, orphans="keep")
    measure_databases(base, other, third, measures, report, threshold, terminal)


def measure_databases(
    base: Database, other: Database, third: Database | None, measures: list[str] | None, report: Path | None,
    threshold: int, terminal: Terminal, called: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Figures of a protected database, shown and, where asked for, as a report; some ``called`` by other names."""
    from dalenius.evaluation.databases import evaluate_databases  # noqa: PLC0415 (slow to load)

    with terminal.progress("measuring") as tell:
        evaluation = evaluate_databases(
            base, other, third, measures=measures, threshold=threshold, progress=tell
        )
    grid = grid_of("table", "measure", "value", "better", "yardstick")
    for row in evaluation.table.iter_rows(named=True):
        value = f"{row['value']:.4g} {row['unit']}".strip()
        title = (called or {}).get(row["measure"], row["measure"])
        grid.add_row(row["table"], title, value, row["better"], row["yardstick"])
    terminal.say(grid)
    if third is None and "risk" in evaluation.table["family"]:
        terminal.note(
            "without --holdout, other people of the same kind, no figure of risk can be read as safe: "
            "nobody knows how much of it is the file's doing"
        )
    for name, why in evaluation.skipped.items():
        if called is None:
            terminal.note(f"{name}: not measured, {why}")
    for link, fault in evaluation.torn.items():
        terminal.note(f"{link}: {fault}")
    if report is not None:
        from dalenius.report.databases import write_database_report  # noqa: PLC0415

        write_database_report(evaluation, report)
        terminal.note(f"report written to {report}")
    terminal.emit(evaluation.to_dict())
