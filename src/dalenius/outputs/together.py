"""All outputs of a desk as one table, for the audit of tables: is a cell that was taken out still computable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import DataError
from dalenius.outputs.differencing import atoms_of
from dalenius.outputs.output import Output
from dalenius.outputs.partition import Partition, fineness
from dalenius.outputs.query import Bools
from dalenius.tables import Audit, Disclosed, audit

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk


def project_audit(desk: Desk) -> Audit:
    """Audit everything a desk would release, over the people behind it (`tables.audit`).

    Examples
    --------
    >>> from dalenius.outputs import Desk
    >>> desk = Desk(unit="p")
    >>> data = {"g": ["a"] * 30 + ["b"] * 30 + ["c"] * 4, "p": list(range(64))}
    >>> _ = desk.table(data, "g", margins=True, fix="suppress")
    >>> project_audit(desk).passed
    True
    """
    outs = [
        o for o in desk.outputs if o.exact and o.merged is None and o.query.rows and o.query.ids is not None
    ]
    if not outs:
        raise DataError("no output of this desk is a table whose people are known")
    layers, suppressed, primary, names, start = [], [], [], [], 0
    for out in outs:
        rows = desk.memory.rows_of(out)
        assert rows is not None
        hidden, size, fine = out.hidden, len(out.judged.evidence.cells), fineness(out.query)
        part = Partition.of(out.query, np.zeros(size, np.bool_), rows, desk.memory.units, every=True)
        layers += [(layer, start) for layer in part.layers]
        gone = hidden | (np.ones(size, np.bool_) if out.status == "fail" else np.zeros(size, np.bool_))
        suppressed.append(np.repeat(gone, fine))
        primary.append(np.repeat(hidden & _first(out), fine))
        names += [f"{out.record.uid} {i}" for i in range(part.cells)]
        start += part.cells
    atoms, _ = atoms_of(layers, start)
    matrix = sp.csc_matrix(atoms.matrix)
    amounts = np.asarray(matrix.T @ atoms.counts, np.float64)
    closed = np.concatenate(suppressed)
    table = Disclosed(
        pl.DataFrame({"cell": names}), matrix, amounts, closed, np.concatenate(primary) & (amounts > 0),
        np.zeros(start, np.bool_), np.zeros(start), inner=atoms.counts.astype(np.float64),
    )  # fmt: skip
    return audit(table, intervals="none", contributors=False)


def _first(out: Output) -> Bools:
    """Cells that the threshold marks in the data, whatever a fix took out besides."""
    number = out.judged.evidence.number
    return np.asarray((number > 0) & (number < out.desk.policy.threshold))
