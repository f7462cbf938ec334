"""Decision trees of scikit-learn: every node is a count of people, and a leaf tells what all of them have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError
from dalenius.outputs.evidence import Evidence
from dalenius.outputs.judge import examined
from dalenius.outputs.output import Output
from dalenius.outputs.query import Dimension, Query
from dalenius.outputs.register import register
from dalenius.outputs.wraps.sources import noted, units_of

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk


def tree_output(desk: Desk, fitted: Any, features: Any, target: Any = None) -> Output:
    """Check every node of a fitted tree on the data it was fitted to."""
    shape = getattr(fitted, "tree_", None)
    if shape is None:
        raise DataError(
            "this is not a fitted decision tree of scikit-learn; fit it first, and release one tree, not a forest"
        )
    data = features.drop(columns=[desk.unit]) if desk.unit in getattr(features, "columns", ()) else features
    path = fitted.decision_path(np.asarray(data, np.float32)).tocsc()
    (unit, ids), notes = units_of(desk, features)
    who = np.arange(path.shape[0]) if unit is None else unit
    number = np.array(
        [len(np.unique(who[path.indices[path.indptr[i] : path.indptr[i + 1]]])) for i in range(path.shape[1])]
    )
    pure = np.asarray(shape.impurity) < 1e-12
    nodes = len(number)
    figures = {
        name: np.zeros(nodes) for name in ("rows", "missing", "negative", "sum", "total", "at_low", "at_high")
    }
    figures |= {"units": number.astype(float), "rows": number.astype(float)}
    figures["low"], figures["high"] = np.zeros(nodes), np.where(pure, 0.0, 1.0)
    cells = pl.DataFrame({"node": [str(i) for i in range(nodes)]})
    evidence = Evidence(cells, (nodes,), figures, np.zeros((nodes, 2)), np.zeros(nodes, np.bool_))
    judged = examined([register().lookup("decision tree")], evidence, desk.policy)
    from dalenius.outputs.checks import all_same  # noqa: PLC0415 (only trees run it outside its statbarns)

    judged = judged.with_findings(all_same(evidence, desk.policy))
    names = [str(c) for c in getattr(data, "columns", [f"x{i}" for i in range(shape.n_features)])]
    rows = [names[f] if f >= 0 else "leaf" for f in shape.feature.tolist()]
    frame = pl.DataFrame({"node": list(range(nodes)), "split": rows, "at": shape.threshold, "units": number})
    leaf = Dimension("node", fitted.apply(np.asarray(data, np.float32)), tuple(range(nodes)))
    query = Query(
        "decision tree", (leaf,), len(leaf.codes), unit=unit, ids=range(len(who)) if ids is None else ids,
        command=f"tree({nodes} nodes)",
    )  # fmt: skip
    judged = judged.with_findings(*noted(notes, evidence))
    return desk.take(query, judged=judged, frame=frame, shown=fitted)
