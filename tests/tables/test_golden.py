"""Results of the R packages GaussSuppression 1.2.3 and SSBtools 1.8.6, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import OptionError
from dalenius.tables import Dominance, define
from tests.tables.golden_cases import CASES, one, read, run, run_linked

SINGLE = [case for case in CASES if "cells" in case]


@pytest.mark.parametrize("case", SINGLE, ids=[case["id"] for case in SINGLE])
def test_one_table(case):
    result = run(case)
    gold = case["cells"]
    names = result.model.names
    assert list(result.model.cells.iter_rows()) == list(zip(*[gold[name] for name in names], strict=True))
    shown = result.model.frequency if "freq" in gold else result.model.unweighted
    np.testing.assert_allclose(shown, gold["freq"] if "freq" in gold else gold["value"], rtol=1e-9)
    assert result.order.tolist() == [i - 1 for i in case["candidate_order_1based"]]
    assert result.primary.tolist() == gold["primary"]
    assert result.suppressed.tolist() == gold["suppressed"]
    if "dominant1" in gold:
        rule = Dominance(list(zip(case["arguments"]["n"], case["arguments"]["k"], strict=True)))
        for n, share in rule.shares(result.model).items():
            np.testing.assert_allclose(share, gold[f"dominant{n}"], rtol=1e-9)


def test_method_that_needs_primary_singletons_is_refused():
    case = next(case for case in CASES if case.get("error"))
    with pytest.raises(OptionError, match="anysum_notprimary"):
        run(case)


def test_cells_without_input_are_named():
    case = next(case for case in CASES if case["id"] == "small_extend0_FALSE")
    assert "cannot be protected" in " ".join(run(case).notes)


def test_levels_in_the_data_equal_the_level_file():
    """dimVar with region and county is the same table as the level file for region."""
    dims = next(case for case in CASES if case["id"] == "small_dim_max3")
    flat = define(
        read(dims["data"]), by=["region", "county", "income"], freq=one(dims["arguments"], "freqVar")
    )
    from tests.tables.golden_cases import FOLDER

    tree = define(
        read(dims["data"]),
        by=["region", "income"],
        hierarchies={"region": FOLDER / "data" / "hier_region.csv"},
        freq="freq",
    )
    assert flat.cells.equals(tree.cells)
    assert (flat.matrix != tree.matrix).nnz == 0


LINKED = [case for case in CASES if "cells_by_table" in case]


@pytest.mark.parametrize("case", LINKED, ids=[case["id"] for case in LINKED])
def test_linked_tables(case):
    result = run_linked(case)
    for (_, part), gold in zip(result.tables.items(), case["cells_by_table"], strict=True):
        at = {
            row: i
            for i, row in enumerate(zip(*(gold[n] for n in gold if isinstance(gold[n][0], str)), strict=True))
        }
        columns = [shown_as(name, gold, part.model) for name in part.model.names]
        order = [name for name in gold if isinstance(gold[name][0], str)]
        rows = [tuple(row[columns.index(name)] for name in order) for row in part.model.cells.iter_rows()]
        places = [at[row] for row in rows]
        assert sorted(places) == list(range(len(at)))
        assert part.primary.tolist() == [gold["primary"][i] for i in places]
        assert part.suppressed.tolist() == [gold["suppressed"][i] for i in places]


def shown_as(name, gold, model):
    """The golden column of one of our dimensions: a coarser column may stand for it."""
    dimension = next(d for d in model.dimensions if d.name == name)
    return next((column for column in dimension.columns if column in gold), name)
