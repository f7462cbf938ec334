"""Whoever adds up everything that is public gets no withheld cell: an exact solver attacks public reports."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dalenius.core.subtraction import Sum, withheld
from dalenius.counts.pair import Pair
from dalenius.data import Schema, Table, examples, read
from dalenius.evaluation import compare
from dalenius.evaluation.withheld import withheld_values
from dalenius.release import read_plan, run_plan, write_pack
from dalenius.report import Provenance, render_report
from dalenius.report.pairs import pair_cells
from dalenius.synth import synthesize
from tests import LONG

SMALL = 10
WORKING = ("employed", "self-employed")


def charts(page: str) -> dict[str, dict[str, float]]:
    """Shares of the original that a public page shows, by column and value, out of the data of its charts."""
    specs = json.loads(re.search(r'id="specs">(.*?)</script>', page, re.S).group(1))
    places = re.findall(r'<h4>([^<]*)</h4><div class="chart" id="(chart\d+)"', page)
    shown = {}
    for name, place in places:
        rows = chart_rows(specs["charts"][place])
        shown[name] = {r["value"]: r["share"] for r in rows if r.get("file") == "original"}
    return shown


def chart_rows(chart: dict) -> list[dict]:
    """Rows of a chart as the page draws them: kept as columns, repeated words by number, where there is one set."""
    if "datasets" in chart:
        return [row for data in chart["datasets"].values() for row in data]
    cells = {
        field: [held["of"][i] for i in held["at"]] if isinstance(held, dict) else held
        for field, held in chart["columns"].items()
    }
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


@dataclass
class System:
    """Unknown counts and the sums they stand in; what is shown is put in as it is."""

    shown: dict[tuple[str, str], int]
    unknown: list[tuple[str, str]] = field(default_factory=list)
    rows: list[tuple[dict[int, float], float]] = field(default_factory=list)

    def add(self, cells: list[tuple[tuple[str, str], float]], total: float) -> None:
        """Cells with their signs that add up to a total."""
        row: dict[int, float] = {}
        for cell, sign in cells:
            if cell in self.shown:
                total -= sign * self.shown[cell]
            else:
                if cell not in self.unknown:
                    self.unknown.append(cell)
                row[self.unknown.index(cell)] = row.get(self.unknown.index(cell), 0.0) + sign
        if row:
            self.rows.append((row, total))

    def known(self) -> dict[tuple[str, str], int]:
        """Unknown cells of which only one whole number is possible; every one of them has somebody in it."""
        size = len(self.unknown)
        matrix = np.zeros((len(self.rows), size))
        for i, (row, _) in enumerate(self.rows):
            matrix[i, list(row)] = list(row.values())
        right = np.array([total for _, total in self.rows])
        _, part = connected_components(coo_array(matrix.T @ matrix != 0)) if size else (0, np.zeros(0))
        found = {}
        for label in range(int(part.max(initial=-1)) + 1):
            cells = np.flatnonzero(part == label)
            lines = np.flatnonzero(np.abs(matrix[:, cells]).any(axis=1))
            for place, value in _known(matrix[np.ix_(lines, cells)], right[lines]).items():
                found[self.unknown[cells[place]]] = value
        return found


def _known(matrix: np.ndarray, right: np.ndarray) -> dict[int, int]:
    """Cells of one connected part that can have one value only."""
    count = matrix.shape[1]
    # A solution that leaves room below every cell lets each cell move that the sums do not fix.
    room = linprog(
        np.append(np.zeros(count), -1.0), A_eq=np.column_stack([matrix, np.zeros(len(matrix))]), b_eq=right,
        A_ub=np.column_stack([-np.eye(count), np.ones(count)]), b_ub=-np.ones(count), bounds=(0, None),
    )  # fmt: skip
    assert room.status in (0, 3), "the attacker's system holds the truth"
    free = room.status == 3 or room.x[-1] >= 1
    _, sizes, turned = np.linalg.svd(matrix, full_matrices=True)
    fixed = (np.abs(turned[np.count_nonzero(sizes > 1e-9) :]) < 1e-9).all(axis=0)
    found = {}
    for j in np.flatnonzero(fixed) if free else range(count):
        goal = np.zeros(count)
        goal[j] = 1.0
        low, high = (linprog(s * goal, A_eq=matrix, b_eq=right, bounds=(1, None)) for s in (1, -1))
        least = int(np.ceil(low.fun - 1e-6))
        if high.status == 0 and least == int(np.floor(-high.fun + 1e-6)):
            found[int(j)] = least
    return found


def attacked(frame: pl.DataFrame, page: str) -> list[tuple[str, str]]:
    """Small cells that follow exactly from a public page, the number of records, the values there are, and rules."""
    counts = {name: _counts(frame, name) for name in frame.columns}
    shown = {}
    for name, shares in charts(page).items():
        if name in counts:
            shown |= {(name, v): round(s * frame.height) for v, s in shares.items() if v in counts[name]}
    for (name, value), count in shown.items():
        assert counts[name][value] == count, "the attacker reads the page well"
    system = System(shown)
    for name in charts(page):
        if name in counts:
            system.add([((name, value), 1.0) for value in counts[name]], frame.height)
    for part, whole, size in (("district", "region", 2), ("municipality", "district", 5)):
        if part in counts and whole in counts:
            for value in counts[whole]:
                inside = [((part, v), 1.0) for v in counts[part] if v[:size] == value]
                system.add([*inside, ((whole, value), -1.0)], 0.0)
    idle = [(("employment", v), 1.0) for v in counts.get("employment", {}) if v not in WORKING]
    for name in ("occupation", "industry"):
        if idle and "-8" in counts.get(name, {}):
            system.add([*idle, ((name, "-8"), -1.0)], 0.0)
    known = system.known()
    small = [(n, v) for n in counts for v, c in counts[n].items() if c < SMALL]
    assert not set(small) & set(shown)
    return [cell for cell in small if cell in known]


def _counts(frame: pl.DataFrame, name: str) -> dict[str, int]:
    if frame[name].dtype.is_numeric() or frame[name].dtype.is_temporal():
        return {}
    return dict(frame[name].cast(pl.String).fill_null("missing").value_counts().iter_rows())


def random_release(seed: int) -> tuple[pl.DataFrame, str]:
    """The public page of a file of some columns of a survey of some size."""
    rng = np.random.default_rng(seed)
    names = [
        c.name for c in examples.survey_schema() if c.name not in ("person_id", "household_id", "birth_date")
    ]
    chosen = sorted(
        {"region", "district", *rng.choice(names, rng.integers(4, 12), replace=False)}, key=names.index
    )
    frame = examples.survey(int(rng.integers(200, 1500)), seed=seed).select(chosen)
    table = Table.from_frame(frame, examples.survey_schema().select(chosen))
    made = synthesize(table, "independent", seed=seed)
    page = render_report(
        compare(table, {"file": made}, measures=[]), Provenance.now(), title="File", public=True
    )
    kept = [c for c in chosen if not table[c].is_number]
    return frame.select(kept), page


@pytest.mark.parametrize("seed", range(3))
def test_no_withheld_cell_follows_from_a_public_report(seed):
    frame, page = random_release(seed)
    assert any(count < SMALL for name in frame.columns for count in _counts(frame, name).values())
    assert attacked(frame, page) == []


@pytest.mark.slow
def test_no_withheld_cell_follows_from_many_public_reports():
    broken = {seed: attacked(*random_release(seed)) for seed in range(100, 300 if LONG else 115)}
    assert {seed: cells for seed, cells in broken.items() if cells} == {}


def test_the_one_level_that_is_missing_does_not_follow(tmp_path):
    """Levels shown once added up to 474 of 480, and the codebook named the one that was missing: six people."""
    rng = np.random.default_rng(1)
    marital = np.array(["single"] * 230 + ["married"] * 190 + ["widowed"] * 54 + ["separated"] * 6)
    frame = pl.DataFrame({"marital": rng.permutation(marital), "age": rng.integers(20, 80, 480)})
    frame.write_csv(tmp_path / "people.csv")
    (tmp_path / "plan.yaml").write_text(
        "input: people.csv\nscenarios: {a: {keys: [age], targets: [marital]}}\ncandidates: {independent: {}}\n"
        "measures: [replicated-uniques]\npolicy: [repU <= 100 %]\noutput: out\nholdout_share: 0\n"
    )
    release = run_plan(read_plan(tmp_path / "plan.yaml"), workers=1)
    write_pack(release)
    public = release.plan.output / "public"
    page = (public / "report.html").read_text()
    book = json.loads((public / "codebook.json").read_text())
    assert "separated" in next(c for c in book["columns"] if c["name"] == "marital")["categories"]
    seen = read(tmp_path / "people.csv").to_frame("polars")
    assert attacked(seen.select("marital"), page) == []
    assert charts(page)["marital"], "something is still shown"


def test_the_attack_finds_what_is_not_covered():
    """The solver is no paper tiger: it gets the cell where only small ones are withheld."""
    system = System({("a", "x"): 300, ("a", "y"): 174})
    system.add([(("a", v), 1.0) for v in "xyz"], 480)
    assert system.known() == {("a", "z"): 6}
    nested = System({("r", "N"): 40, ("d", "N1"): 31, ("d", "S1"): 20})
    nested.add([(("d", v), 1.0) for v in ("N1", "N2", "S1", "S2")], 65)
    nested.add([(("d", "N1"), 1.0), (("d", "N2"), 1.0), (("r", "N"), -1.0)], 0)
    assert nested.known() == {("d", "N2"): 9, ("d", "S2"): 5}


def test_cells_are_withheld_only_where_it_is_needed():
    column = Sum(np.arange(4))
    assert not withheld(np.array([300, 100, 60, 20]), [column], SMALL).any()
    assert withheld(np.array([300, 100, 60, 6]), [column], SMALL).tolist() == [False, False, True, True]
    assert withheld(np.array([300, 100, 7, 8]), [column], SMALL).tolist() == [False, False, True, True]
    ones = withheld(np.array([300, 40, *[1] * 12]), [Sum(np.arange(14))], SMALL)
    assert ones.tolist() == [False, True, *[True] * 12], "twelve people who must each be one are known"


def test_a_value_of_few_firms_is_withheld_however_many_records_they_have():
    """Thirty records of one firm are one firm: a chart that names their value speaks of it."""
    trade = ["shops"] * 200 + ["ships"] * 150 + ["mines"] * 30
    data = {"firm": [*range(350), *[999] * 30], "trade": trade, "size": ["s", "l"] * 190}
    table = Table.from_frame(data, Schema.infer(data).with_roles(entity="firm"))
    hidden = withheld_values(Pair(table, table), ["trade", "size"])
    labels = Pair(table, table).categories("trade").original.labels
    shown = {str(label) for label, gone in zip(labels, hidden["trade"], strict=True) if not gone}
    assert "mines" not in shown
    assert len(shown) < 2, "nor does it follow from the others"
    cells = pair_cells(Pair(table, table), "trade", "size").data
    assert "mines" not in cells["first"].to_list()
