"""Whole-number tables by CP-SAT (OR-Tools), in a process of its own.

The wheels of OR-Tools and of HiGHS cannot be loaded into one process, so this file runs
as a program: it reads one line of JSON a question and writes one line an answer. It imports nothing of ours.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

EFFORT = 4.0
"""Deterministic seconds of CP-SAT for one question: the same everywhere, unlike seconds of a clock."""


def available() -> bool:
    """Whether OR-Tools is installed (the extra ``solver``); it is looked for, not loaded."""
    return importlib.util.find_spec("ortools") is not None


class Worker:
    """The other process, as long as it is needed.

    Parameters
    ----------
    rows
        Sums × cells (SciPy CSR).
    low, high
        Ranges of the sums.
    least, most
        Ranges of the cells.
    """

    def __init__(self, rows: Any, low: Any, high: Any, least: Any, most: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        facts = {
            "start": rows.indptr.tolist(), "cells": rows.indices.tolist(), "low": low.tolist(),
            "high": high.tolist(), "least": least.tolist(), "most": most.tolist(),
        }  # fmt: skip
        self._send(facts)

    def ask(
        self, goal: dict[int, int], within: tuple[int, int, int] | None = None
    ) -> tuple[str, list[int] | None]:
        """A table in which the weighted sum of some cells is as large as can be; any table without a goal.

        ``within`` holds one cell between two counts.
        The answer is "best", "some", "none" (no table fits) or "unknown", and the table.
        """
        self._send({"goal": list(goal.items()), "within": within})
        assert self.process.stdout is not None
        answer = json.loads(self.process.stdout.readline() or '{"status": "unknown", "table": null}')
        return str(answer["status"]), answer["table"]

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def _send(self, facts: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(facts) + "\n")
        self.process.stdin.flush()


def _model(facts: dict[str, Any]) -> tuple[Any, list[Any]]:
    from ortools.sat.python import cp_model  # noqa: PLC0415 (must not be loaded beside HiGHS)

    model = cp_model.CpModel()
    cells = [model.new_int_var(a, b, "") for a, b in zip(facts["least"], facts["most"], strict=True)]
    for row, (low, high) in enumerate(zip(facts["low"], facts["high"], strict=True)):
        members = facts["cells"][facts["start"][row] : facts["start"][row + 1]]
        if members:
            model.add_linear_constraint(cp_model.LinearExpr.sum([cells[c] for c in members]), low, high)
    return model, cells


def _hold(cells: list[Any], within: Sequence[int] | None) -> tuple[int, int, int] | None:
    """Hold one cell between two counts; between what it was held before."""
    if within is None:
        return None
    cell, low, high = within
    domain = cells[cell].proto.domain
    before = (cell, domain[0], domain[1])
    domain[0], domain[1] = low, high
    return before


def main() -> None:
    """Answer questions until nobody asks any more."""
    from ortools.sat.python import cp_model  # noqa: PLC0415 (must not be loaded beside HiGHS)

    model, cells = _model(json.loads(sys.stdin.readline()))
    words = {cp_model.OPTIMAL: "best", cp_model.FEASIBLE: "some", cp_model.INFEASIBLE: "none"}
    for line in sys.stdin:
        asked = json.loads(line)
        model.clear_objective()
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        limited = asked["goal"] or asked["within"]
        solver.parameters.max_deterministic_time = EFFORT if limited else 20 * EFFORT
        if asked["goal"]:
            model.maximize(sum(weight * cells[cell] for cell, weight in asked["goal"]))
        held = _hold(cells, asked["within"])
        status = words.get(solver.solve(model), "unknown")
        _hold(cells, held)
        table = [solver.value(c) for c in cells] if status in ("best", "some") else None
        if table is not None:
            model.clear_hints()
            for cell, count in zip(cells, table, strict=True):
                model.add_hint(cell, count)
        sys.stdout.write(json.dumps({"status": status, "table": table}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
