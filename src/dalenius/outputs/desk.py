"""`Desk`: where a researcher works. Results are classified, checked, repaired if asked, and written down.

``pd, smf = desk.pandas, desk.smf`` and a notebook runs unchanged; or tables, models and figures are handed to the desk
one by one (`table`, `check`, `model`, `survival`, `declare`).
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, FileError, OptionError
from dalenius.core.errors import names as listed
from dalenius.core.small_table import small_table
from dalenius.data import Schema
from dalenius.data.schema_yaml import read_schema
from dalenius.outputs.borrowed import borrowed
from dalenius.outputs.checks import Finding, file_type, finding
from dalenius.outputs.edges import telling_edges
from dalenius.outputs.evidence import Evidence
from dalenius.outputs.judge import Judged, examined, judge
from dalenius.outputs.made import Base
from dalenius.outputs.memory import Memory
from dalenius.outputs.output import Output, Values
from dalenius.outputs.policy import Policy, policy_of
from dalenius.outputs.query import Query
from dalenius.outputs.record import Record
from dalenius.outputs.register import register, spelled
from dalenius.outputs.trail import Trail, trail_faults
from dalenius.outputs.written import telling_numbers

if TYPE_CHECKING:
    from dalenius.outputs.pack import Pack


class Desk:
    """A researcher's desk.

    Parameters
    ----------
    policy
        Limits: a `Policy`, a mapping, or a YAML file; the usual ones if not given.
    unit
        Column that says whose rows they are. It is people, firms or households that are counted, not rows. With a
        schema its entity is the unit, if nothing else is said.
    memory
        Folder of the project: what was released before, and the trail of events. Without it the desk forgets.
    fix
        What is done about outputs that fail: None (nothing), "auto", or the name of a fix.
    dataset
        Name under which the policy has limits of its own for these data.
    key
        The researcher's private key (`dalenius key new`): events are signed with it.
    schema
        Schema of the data, or its YAML file: cells that its rules exclude are structural zeros.
    anew
        Why the memory starts anew, where the one that the trail tells of is lost. It is written into the trail.

    Examples
    --------
    >>> desk = Desk(unit="person")
    >>> data = {"sex": ["f"] * 12 + ["m"] * 7, "person": list(range(19))}
    >>> print(desk.table(data, by="sex").summary)
    fail: min_threshold (1 cell: fewer than 10 people or units stand behind the figure).
    """

    def __init__(
        self,
        policy: Policy | Mapping[str, Any] | str | Path | None = None,
        unit: str | None = None,
        memory: str | Path | None = None,
        *,
        fix: str | None = None,
        dataset: str | None = None,
        name: str = "desk",
        key: str | Path | None = None,
        schema: Schema | str | Path | None = None,
        anew: str = "",
    ) -> None:
        self.policy = policy_of(policy).at(dataset)
        self.schema = read_schema(schema) if isinstance(schema, str | Path) else schema
        owner = next(iter(self.schema.by_role("entity")), None) if self.schema is not None else None
        self.unit, self.fix, self.dataset, self.name = unit or owner, fix, dataset or "", name
        self.memory = Memory(None if memory is None else Path(memory))
        self.trail = Trail(None if memory is None else Path(memory) / "trail.jsonl", key=key)
        self.outputs: list[Output] = []
        self.frames: list[Any] = []
        self.strange = False  # whether data came without units, to whom nobody can give names later
        self.seen: list[Any] = []
        self.base: list[Base] = []
        self.edges: set[float] = set()
        self._numbered = 0
        self._recognise(anew.strip())
        if weaker := self.policy.weaker():
            self.note("policy", weaker=weaker)

    def _recognise(self, anew: str) -> None:
        """See that the memory is the one the trail tells of; it is never started anew unsaid."""
        lines = self.trail.lines
        faults = [*trail_faults(lines)[:1], *self.memory.history.faults(lines)]
        if faults and not anew:
            raise FileError(
                f"{self.memory.folder}: the memory of the project is not what it was ({'; '.join(faults)}); put back a "
                "copy of the whole folder, or say why it must start anew: Desk(..., anew='…')"
            )
        if faults:
            self.memory.start_anew()
            self.trail.start_anew()
            self.memory.history.begin()
            self.note("anew", reason=anew, faults=faults)
        elif self.memory.folder is not None and self.memory.history.begin():
            self.note("opened")

    def __repr__(self) -> str:
        counts = {s: sum(o.status == s for o in self.outputs) for s in ("fail", "review", "pass")}
        told = ", ".join(f"{n} {s}" for s, n in counts.items() if n) or "nothing yet"
        return f"<Desk {self.name!r}: {told}>"

    def _repr_html_(self) -> str:
        held = [(o.record.uid, o.status, o.record.command, o.summary) for o in self.outputs]
        rows = pl.DataFrame(held, schema=["output", "status", "call", "what was found"], orient="row")
        return f"<section><h4>{html.escape(repr(self))}</h4>{small_table(rows) if held else ''}</section>"

    # What is worn over other libraries.

    @property
    def pandas(self) -> Any:
        """pandas, with crosstab, pivot_table, groupby, describe, value_counts, quantile and corr checked."""
        from dalenius.outputs.wraps.pandas import PandasWrap  # noqa: PLC0415 (a border: loaded when used)

        return PandasWrap(self)

    @property
    def smf(self) -> Any:
        """Formulas of statsmodels, with every fit checked."""
        from dalenius.outputs.wraps.statsmodels import Models  # noqa: PLC0415

        return Models(self, "statsmodels.formula.api")

    @property
    def sm(self) -> Any:
        """Models of statsmodels by arrays, with every fit checked."""
        from dalenius.outputs.wraps.statsmodels import Models  # noqa: PLC0415

        return Models(self, "statsmodels.api")

    @property
    def stats(self) -> Any:
        """scipy.stats, with every test checked."""
        from dalenius.outputs.wraps.scipy import Tests  # noqa: PLC0415

        return Tests(self)

    @property
    def charts(self) -> Any:
        """Charts drawn from checked numbers only."""
        from dalenius.outputs.wraps.charts import Charts  # noqa: PLC0415

        return Charts(self)

    # What is handed over.

    def data(self, frame: Any, source: str = "") -> Any:
        """A pandas frame whose methods are checked by this desk.

        The first one is data. A further one, whose rows are not rows of data that the desk knows, is so only if it is
        said where it comes from (``source``); the trail keeps that. Otherwise a person looks at what is made of it.
        """
        from dalenius.outputs.wraps.frames import taken_in  # noqa: PLC0415

        if source.strip():
            self.note("data", source=source.strip(), columns=[str(c) for c in frame.columns])
        return taken_in(self, frame, sure=bool(source.strip()))

    def table(
        self,
        data: Any,
        by: str | Sequence[str] = (),
        value: str | None = None,
        statistic: str | Sequence[str] = "count",
        *,
        margins: bool = False,
        structural_zeros: Any = None,
        structural_limits: Sequence[float] = (),
        fix: str | None = None,
    ) -> Output:
        """Make a table of any frame and check it.

        Parameters
        ----------
        data, by, value, statistic
            Frame (pandas, Polars or a mapping), columns it is crossed by, column of numbers, and what is shown of them:
            count, sum, mean, median, min, max, std, var, mode, quantiles such as "p90".
        structural_zeros
            Cells that cannot hold anybody: a frame or a list of mappings of labels.
        structural_limits
            End values that everybody knows.

        Examples
        --------
        >>> desk = Desk()
        >>> out = desk.table({"g": ["a"] * 20, "v": [5.0] * 20}, by="g", value="v", statistic="mean")
        >>> out.status, out.record.checks["all_same"]["verdict"]
        ('fail', 'fail')
        """
        from dalenius.outputs.wraps.tables import table_output  # noqa: PLC0415

        return table_output(
            self, data, by, value, statistic, margins=margins, structural_zeros=structural_zeros,
            structural_limits=structural_limits, fix=fix,
        )  # fmt: skip

    def model(self, fitted: Any) -> Output:
        """Check a fitted model of statsmodels."""
        from dalenius.outputs.wraps.statsmodels import model_output  # noqa: PLC0415

        return model_output(self, fitted, None)

    def tree(self, fitted: Any, features: Any, target: Any = None) -> Output:
        """Check a decision tree of scikit-learn: every node is a count of people."""
        from dalenius.outputs.wraps.trees import tree_output  # noqa: PLC0415

        return tree_output(self, fitted, features, target)

    def survival(self, time: Any, event: Any, group: Any = None, unit: Any = None, **options: Any) -> Output:
        """Check a Kaplan–Meier table; ``fix="merge_steps"`` releases merged steps."""
        from dalenius.outputs.wraps.survival import survival_output  # noqa: PLC0415

        return survival_output(self, time, event, group, unit, **options)

    def concentration(
        self, values: Any, statistic: str = "gini", group: Any = None, unit: Any = None, **how: Any
    ) -> Output:
        """Gini, Lorenz curve, Herfindahl index or the share of the top N, checked."""
        from dalenius.outputs.wraps.concentration import concentration_output  # noqa: PLC0415

        return concentration_output(self, values, statistic, group, unit, **how)

    def declare(
        self, statistic: str, value: Any = None, command: str = "", *, of: Query | None = None, **facts: Any
    ) -> Output:
        """Check a figure that was computed elsewhere by what is said about it (``n``, ``dof``, ``rank``, ``patterns``).

        It never passes: the desk did not see how it was computed, so that a person looks. Where it saw the rows
        (``of``), the figure is compared with others of these columns, earlier and later.

        Examples
        --------
        >>> Desk().declare("gini", 0.2, n=2).record.checks["hhi_gini_n"]["sentence"]
        'Fewer than 3 units stand behind the index.'
        >>> Desk().declare("odds ratio", 1.7).status, Desk().declare("horoscope").status
        ('review', 'review')
        """
        query = replace(
            of or Query(statistic), statistic=statistic, facts={**(of.facts if of else {}), **facts},
            command=command or f"declare({statistic})",
        )  # fmt: skip
        evidence = _declared(facts)
        judged = examined([register().lookup(s.strip()) for s in statistic.split(",")], evidence, self.policy)
        words = "only what was said about it is known, not the data it was computed of"
        words = ("" if value is None else _strange(value, judged)) or words
        found = finding("figure", evidence, np.ones(1, np.bool_), words, verdict="review")
        judged = judged.with_findings(found)
        frame = pl.DataFrame({"statistic": [statistic], "value": [None if value is None else str(value)]})
        return self.take(query, judged=judged, frame=frame, shown=value)

    def check(self, table: Any, data: Any = None, by: Any = None, value: str | None = None, statistic: str = "count",
              **options: Any) -> Output:  # fmt: skip
        """Check a table that was made already: by all checks with its data, alone only by its figures.

        With data the table is made anew. Where the one handed over shows something else a person looks; what is kept
        and would leave is the table that the data give.
        """
        from dalenius.outputs.wraps.tables import compared_table, made_table  # noqa: PLC0415

        if data is None:
            return made_table(self, table, statistic)
        return compared_table(self, table, self.table(data, by or (), value, statistic, **options), by)

    def file(self, path: str | Path, comment: str = "") -> Output:
        """Put a file into the outputs: blocked by its ending, or for a person to look at."""
        place = Path(path)
        why = file_type(place.name, self.policy)
        evidence = _declared({})
        words = why or "a file cannot be checked; a person looks at it"
        found = finding(
            "file_type", evidence, np.ones(1, np.bool_), words, verdict="fail" if why else "review"
        )
        judged = Judged((), evidence, (found,))
        out = self.take(Query("file", command=f"file({place.name})"), judged=judged, shown=place)
        if comment:
            out.comment(comment)
        return out

    # What all of these come down to.

    def take(
        self,
        query: Query,
        *,
        judged: Judged | None = None,
        values: Values | None = None,
        frame: pl.DataFrame | None = None,
        render: Callable[[Values], Any] | None = None,
        shown: Any = None,
        notes: Sequence[str] = (),
        fix: str | None = None,
        chart: Callable[[pl.DataFrame], Any] | None = None,
    ) -> Output:
        """Check one output, write it down, repair it if asked."""
        judged = judge(query, self.policy) if judged is None else judged
        told = (*telling_edges(self, query, judged.evidence), *telling_numbers(self, query, judged.evidence))
        judged = judged.with_findings(*told)
        record = Record(f"output_{self._numbered}", query.command, query.statistic, dataset=self.dataset)
        self._numbered += 1  # a number is never given twice, also after `remove`
        out = Output(self, record, query, judged, values, frame, render, shown, chart=chart, original=values)
        self.judged(out, notes=notes)
        self.outputs.append(out)
        self.note("made", record.uid, command=record.command, status=record.status, summary=record.summary)
        wanted = self.fix if fix is None else fix
        if wanted and out.status == "fail":
            out.fix(wanted)
        query.__dict__.pop("cell", None)  # computed again where somebody asks: a desk keeps all its outputs
        return out

    def judged(self, out: Output, notes: Sequence[str] = ()) -> None:
        """Look back, and write down what was found about an output (again, after a fix)."""
        out.judged = out.judged.with_findings(*self.looked_back(out))
        _write_down(out, notes)
        self.memory.keep(self.name, out)

    def looked_back(self, out: Output) -> list[Finding]:
        """What an output gives away together with earlier ones."""
        if not out.watched or not self.policy.differencing:
            return []
        if not out.exact and not out.rounded:
            return []
        return [self.memory.compared(self.name, out, self.policy), *borrowed(out)]

    def note(self, what: str, uid: str = "", **facts: Any) -> None:
        """Add an event to the trail."""
        held = {} if self.memory.folder is None else {"memory": self.memory.history.anchor}
        self.trail.add(what, {"desk": self.name, "output": uid, **facts, **held})

    def remove(self, uid: str) -> None:
        """Take an output back; the trail keeps that it was there, and the memory what was finalised."""
        out = self[uid]
        self.memory.forget(self.name, uid)
        self.outputs = [o for o in self.outputs if o is not out]
        self.note("removed", uid)
        for other in self.outputs:  # what it conflicted with may pass now
            if other.record.conflicts and not other.record.files:
                self.judged(other)

    def __getitem__(self, uid: str) -> Output:
        found = [o for o in self.outputs if o.record.uid == uid]
        if not found:
            raise OptionError(f"no output {uid!r}; there are {listed([o.record.uid for o in self.outputs])}")
        return found[0]

    @property
    def last(self) -> Output:
        """The newest output."""
        if not self.outputs:
            raise DataError("nothing was made at this desk yet")
        return self.outputs[-1]

    def differencing(self) -> pl.DataFrame:
        """All conflicts between outputs, old and new."""
        rows = [(o.record.uid, text) for o in self.outputs for text in o.record.conflicts]
        return pl.DataFrame(rows, schema={"output": pl.String, "conflict": pl.String}, orient="row")

    def finalise(
        self, folder: str | Path, key: str | Path | None = None, *, outputs: Sequence[str] | None = None
    ) -> Pack:
        """Write outputs, records, policy, checksums and the checker's list; evidence in a folder of its own.

        Parameters
        ----------
        key
            Private key that signs the folder.
        outputs
            Names of the outputs that are to leave; the others are taken back. All, if not given.
        """
        from dalenius.outputs.pack import write_outputs  # noqa: PLC0415

        if outputs is not None:
            wanted = [self[uid] for uid in outputs]
            for out in [o for o in self.outputs if o not in wanted]:
                self.remove(out.record.uid)
        return write_outputs(self, Path(folder), None if key is None else Path(key))


BOUNDED = ("correlation", "pearson", "spearman", "kendall", "p value", "significance", "squared", "kappa", "gini",
           "lorenz", "herfindahl", "hhi")  # fmt: skip
"""Statistics that lie between -1 and 1."""


def _strange(value: Any, judged: Judged) -> str:
    """Why something cannot be the figure that it is said to be; empty if it can."""
    try:
        numbers = np.asarray(value)
        if numbers.dtype.kind not in "iuf" or numbers.size > 10:
            return "what was declared is no number, so nobody knows what it tells"
    except (TypeError, ValueError):
        return "what was declared is no number, so nobody knows what it tells"
    names = [spelled(place.asked) for place in judged.places]
    if all(any(word in name for word in BOUNDED) for name in names) and (np.abs(numbers) > 1).any():
        return "no such figure is beyond 1, so nobody knows what was declared"
    return ""


def _declared(facts: Mapping[str, Any]) -> Evidence:
    """Evidence of a single figure, by what was said about it."""
    number = float(facts.get("n", np.nan))
    figures = {"units": np.array([0.0 if np.isnan(number) else number])} if "n" in facts else {}
    return Evidence(
        pl.DataFrame({"cell": ["All"]}),
        (),
        figures,
        np.zeros((1, 2)),
        np.zeros(1 if figures else 0, np.bool_),
        dict(facts),
    )


def _write_down(out: Output, notes: Sequence[str]) -> None:
    judged, record = out.judged, out.record
    barns = judged.statbarns
    record.statbarn = ", ".join(b.id for b in barns)
    record.barn = ", ".join(b.name for b in barns)
    kinds = {b.kind for b in barns}
    record.kind = "unsafe" if "unsafe" in kinds else "safe" if kinds == {"safe"} else "open"
    record.status, record.summary = judged.status, judged.summary
    record.checks = {f.check: {"verdict": f.verdict, "sentence": f.sentence} for f in judged.findings}
    cells = judged.cells
    record.labels = list((out.merged or out.query).frame().columns) if out.values is not None else []
    record.cells = cells.filter(pl.col("outcome") != "ok").head(1000).to_dicts()
    record.notes = list(dict.fromkeys([*record.notes, *notes, *judged.notes]))
    looked = [f for f in judged.findings if f.check == "differencing"]
    record.conflicts = [line for f in looked if f.verdict != "pass" for line in f.result.sentence.split("\n")]
