"""Columns of real people in a file of a release, though neither the plan nor the method says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dalenius.core.cost import Cost
from dalenius.core.random import generator
from dalenius.core.registry import MethodInfo
from dalenius.data import Table
from dalenius.evaluation import DEFAULT_POLICY, Rule, copies_nobody
from dalenius.release import read_plan, run_plan, write_pack
from dalenius.release.outcome import Judged
from dalenius.synth import METHODS, Candidate, Synthesizer, register
from dalenius.synth.kept import KeptTable

from .conftest import PLAN, make_plan


@pytest.fixture
def keeper():
    """A synthesizer that says nothing of the real columns in its files; how many of its files hold them can be set."""

    class Model(KeptTable):
        method = "keeper"
        contents = "every original row"
        columns: ClassVar = ["region", "sex"]
        files: ClassVar = [True]

        def _draw(self, rows, seed):
            rng, real = generator(seed, "rows"), self.files[0] if len(self.files) == 1 else self.files.pop(0)
            vectors = [
                self.table[n].take(
                    np.arange(rows) if real and n in self.columns else rng.integers(0, self.table.rows, rows)
                )
                for n in self.table.names
            ]
            return Table.from_vectors(vectors, rows, self.table.origin, self.table.schema)

    @register
    @dataclass(frozen=True)
    class Keeper(Synthesizer):
        """Columns one by one, some of them real people's."""

        info = MethodInfo("keeper", "Columns one by one", "Columns drawn one by one.", "none", "none")
        model = Model
        guards_itself = True

        def _fit(self, table, seed):
            return Model(table)

        def cost(self, shape):
            return Cost(seconds=0.01, bytes=9.0 * shape.rows * shape.columns)

    yield Model
    METHODS._all.pop("keeper")


def kept_unsaid(folder, replicates=1):
    head = PLAN.partition("candidates:")[0]
    wanted = ", ".join(dict.fromkeys(Rule.parse(line).measure for line in DEFAULT_POLICY))
    more = f"replicates: {replicates}\nmeasures: [{wanted}]\npolicy: [mean S_pMSE <= 10000]\noutput: out\n"
    return run_plan(
        read_plan(make_plan(folder, 600, f"{head}candidates: {{keeper: {{}}}}\n{more}")), workers=1
    )


def test_columns_of_real_people_that_nobody_mentioned_are_named(tmp_path, keeper):
    """The plan says nothing of them, nor does the method: what is seen in the file counts."""
    found = kept_unsaid(tmp_path)
    assert all(copies_nobody(figures) for run in found.chosen.runs for figures in run.values())
    assert not found.chosen.made_up
    write_pack(found)
    told = (tmp_path / "out" / "public" / "report.md").read_text()
    assert "Taken over from the real people, row by row: region and sex." in told
    assert "holds facts of a real person" in (tmp_path / "out" / "public" / "limits.md").read_text()


@pytest.mark.parametrize("files", [[True], [False, True]], ids=["each file", "the second of two"])
def test_columns_that_single_people_out_are_refused_though_nobody_mentioned_them(tmp_path, keeper, files):
    keeper.columns, keeper.files = ["region", "age", "income", "marital", "sex"], list(files)
    found = kept_unsaid(tmp_path, len(files))
    assert found.chosen is None
    assert found.judged[0].unchanged == ("region", "sex", "age", "marital", "income")
    assert "unique-matches <= 5 %" in {f.rule.text for f in found.judged[0].findings if not f.met}


def test_what_is_seen_in_a_private_file_stays_inside():
    seen = {"runs": (), "figures": {}, "findings": (), "notes": {}, "unchanged": ("sex",)}
    assert Judged(Candidate("mst", {"epsilon": 1.0}), **seen).kept == ()
    assert Judged(Candidate("cart"), **seen).kept == ("sex",)
