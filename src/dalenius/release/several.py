"""Plans whose input holds several tables: what is read, made, kept and measured of them.

Every intruder looks at the rows of one table beside those of the tables above it, so that all measures of single tables
apply, counted by the topmost parent; figures across tables stand beside those of the first intruder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalenius.core.errors import DaleniusError, DataError
from dalenius.core.random import generator
from dalenius.core.result import Result
from dalenius.counts.database_pair import DATABASE_MEASURES, DatabasePair
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.data import Grouping, Table, read
from dalenius.data.atomic import replacing_folder
from dalenius.data.files import write
from dalenius.data.relations import Database
from dalenius.data.relations_view import chain, lowest, view
from dalenius.data.schema import Kind
from dalenius.evaluation import evaluate_pair
from dalenius.synth.relational.candidate import DatabaseCandidate

if TYPE_CHECKING:
    from dalenius.release.plan import Plan, Scenario

TABLES = ".tables"
"""Ending of the folder that holds the tables of a job."""


@cache
def _loaded(path: str, schema: str | None, marks: str) -> Database:
    return Database.read(path, schema)


def files_of(path: Path) -> dict[str, Path]:
    """The files that a database is read from, by name.

    Examples
    --------
    >>> files_of(Path("clinic.duckdb"))
    {'clinic.duckdb': PosixPath('clinic.duckdb')}
    """
    if not path.is_dir():
        return {path.name: path}
    held = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    return {f"{path.name}/{p.name}": p for p in held}


def load_base(path: Path, schema: Path | None = None) -> Database:
    """A database, read once as long as none of its files changes."""
    files = [*files_of(path).values(), *([schema] if schema else [])]
    marks = " ".join(f"{p.name}:{p.stat().st_mtime_ns}:{p.stat().st_size}" for p in files)
    return _loaded(str(path), str(schema) if schema else None, marks)


def whole_base(plan: Plan) -> Database:
    """The input of a plan."""
    return load_base(plan.input, plan.schema)


def bases(plan: Plan) -> tuple[Database, Database | None]:
    """The families that methods may see, and those set aside."""
    whole = whole_base(plan)
    if plan.holdout is not None:
        return whole, load_base(plan.holdout, plan.schema)
    top = next(n for n in whole.sequence if whole.children(n) or len(whole.tables) == 1)
    rows = whole[top].rows
    aside = int(rows * plan.holdout_share)
    if aside == 0:
        return whole, None
    if rows - aside < 2:
        raise DataError(
            f"{plan.input.name} has {rows} rows of {top!r}: too few to set a holdout aside; write 'holdout_share: 0'"
        )
    order = generator(plan.seed, "holdout").permutation(rows)
    return whole.take(order[aside:]), whole.take(order[:aside])


def seen_by(base: Database, scenario: Scenario) -> Table:
    """What an intruder looks at: rows of the lowest table he knows or wants something of, beside those above."""
    return view(base, lowest(base, (*scenario.keys, *scenario.targets)))


def make_tables(plan: Plan, candidate: DatabaseCandidate, replicate: int, path: Path) -> tuple[str, ...]:
    """Make copy number ``replicate``, write its tables beside the job, whole or not at all; what is to be told."""
    base, _ = bases(plan)
    made = candidate.draw(base, seed=plan.seed, first=replicate)
    with replacing_folder(path.with_suffix(TABLES)) as folder:
        for name, table in made.database.tables.items():
            write(table, folder / f"{name}.parquet")
    return made.notes


def read_tables(files: Mapping[str, Path], base: Database) -> Database:
    """Made tables, encoded like the original's: figures are always of what is in the files."""
    tables = {}
    for name, path in files.items():
        columns = [
            replace(c, levels=None, bounds=None, parent=None, partner=None, outside=None)
            for c in base[name].schema
        ]
        tables[name] = read(path, schema=replace(base[name].schema, columns=tuple(columns), rules=()))
    return base.with_tables(tables, orphans="keep")


def job_tables(plan: Plan, path: Path) -> Database:
    """The tables of a job."""
    base = whole_base(plan)
    return read_tables({n: path.with_suffix(TABLES) / f"{n}.parquet" for n in base.tables}, base)


def measured_tables(plan: Plan, path: Path) -> dict[str, Any]:
    """All figures of made tables by scenario; those across tables stand in the first."""
    base, holdout = bases(plan)
    return measured_bases(plan, base, job_tables(plan, path), holdout)


def measured_bases(plan: Plan, base: Database, made: Database, holdout: Database | None) -> dict[str, Any]:
    """The same of any made tables."""
    from dalenius.release.jobs import _stored  # noqa: PLC0415 (jobs need this file)

    alone = [n for n in plan.measured if n in MEASURES]
    found: dict[str, dict[str, Result]] = {}
    notes: dict[str, list[str]] = {}
    for number, scenario in enumerate(plan.scenarios):
        sides = [seen_by(b, scenario) if b is not None else None for b in (base, made, holdout)]
        pair = Pair(
            *sides, keys=list(scenario.keys), targets=list(scenario.targets), grouping=Grouping.fit(sides[0])  # type: ignore[arg-type]
        )  # fmt: skip
        pair.made_here = True
        evaluation = evaluate_pair(pair, measures=alone, name=plan.title)
        found[scenario.name] = dict(evaluation.results)
        told = [*pair.notes, *(f"{n} was not measured: it {why}" for n, why in evaluation.skipped.items())]
        if number == 0:
            across, skipped = _across(plan, DatabasePair(base, made, holdout))
            found[scenario.name] = {**evaluation.results, **across}
            told += [f"{n} was not measured: {why}" for n, why in skipped.items()]
        notes[scenario.name] = told
    stored = {s: {n: _stored(r) for n, r in results.items()} for s, results in found.items()}
    return {"notes": notes, "figures": stored, "rows": {n: t.rows for n, t in made.tables.items()}}


def _across(plan: Plan, pair: DatabasePair) -> tuple[dict[str, Result], dict[str, str]]:
    results, skipped = {}, {}
    for name in (n for n in plan.measured if n in DATABASE_MEASURES):
        lacking = DATABASE_MEASURES[name].lacks(pair)
        if lacking:
            skipped[name] = f"it needs {' and '.join(lacking)}"
            continue
        results[name] = DATABASE_MEASURES[name](pair)
    return results, skipped


def possible(base: Database, names: Sequence[str]) -> list[str]:
    """Measures of databases that this one has what they need for."""
    pair = DatabasePair(base, base)
    return [n for n in names if n in DATABASE_MEASURES and not DATABASE_MEASURES[n].lacks(pair)]


def scenario_faults(base: Database, scenarios: Sequence[Scenario]) -> list[str]:
    """Intruders who look at tables that do not lie above one another, and tables nobody looks at."""
    wrong, looked, beside = [], set(), set()
    for scenario in scenarios:
        try:
            table = lowest(base, (*scenario.keys, *scenario.targets))
        except DaleniusError as error:
            wrong.append(f"scenario {scenario.name!r}: {error}")
            continue
        except KeyError:
            continue  # told already
        looked.add(table)
        beside.update(chain(base, table))
    if wrong:
        return wrong
    for name in base.tables:
        usable = [n for n in base.bare(name).names if base[name].schema[n].kind is not Kind.TEXT]
        needed = len(usable) > (1 if base.main(name) is None else 0)
        if (needed and name not in looked) or (usable and name not in beside):
            wrong.append(
                f"table {name!r} is looked at by no scenario; name one with keys or targets of it and of no table below"
            )
    return wrong
