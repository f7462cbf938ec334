"""Tables under a privacy budget: noise on the inner cells, totals added up from them."""

from __future__ import annotations

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.dp.budget import Budget
from dalenius.dp.ledger import open_ledger
from dalenius.dp.noise import add_gaussian, add_laplace
from dalenius.tables.altered import Altered
from dalenius.tables.model import TableModel


def noisy_table(
    model: TableModel, budget: Budget, *, limit: float | None = None, assume_public_codes: bool = False,
    ledger: str | Budget | None = None, output: str = "table",
) -> Altered:  # fmt: skip
    """A differentially private table that adds up; all that is left of the budget is spent.

    Noise goes to the inner cells (discrete Laplace, or discrete Gaussian under zCDP; drawn by OpenDP), and all cells
    are their sums, so one person moves the table only through one inner cell.

    Parameters
    ----------
    model
        A table; counts need nothing else.
    budget
        How much may be spent, on which neighbours.
    limit
        For sums: contributions are cut to −limit … limit, which must not be read off the data.
    assume_public_codes
        Say that the codes of the table are public knowledge, not read off the data; without it the table is refused.
    ledger, output
        The ledger of the data set that pays for what the table spends, and what is written there about where it goes.

    Examples
    --------
    >>> from dalenius.dp.budget import Budget
    >>> from dalenius.tables import define
    >>> model = define({"a": ["x", "y"], "n": [50, 70]}, by="a", freq="n")
    >>> noisy = noisy_table(model, Budget(epsilon=1e6), assume_public_codes=True)
    >>> noisy.values.tolist(), noisy.not_additive
    ([120.0, 50.0, 70.0], 0)
    """
    if not assume_public_codes:
        raise OptionError(
            "the codes of a table may tell who is in the data; say assume_public_codes=True if they are public"
        )
    if not budget.left > 0:
        raise OptionError("the budget is spent; a further table would cost more than there is")
    inner, step = _inner(model, limit)
    reach = 1 if limit is None else max(1, round(limit / step))
    name = " × ".join(model.names)
    if ledger is not None:  # before any noise is drawn
        pays = ledger if isinstance(ledger, Budget) else open_ledger(ledger)
        pays.charge(budget, f"table {name}", output)
    if budget.accounting == "zcdp":
        scale = reach * float(np.sqrt(budget.squared_sensitivity / (2.0 * budget.left)))
        budget.spend(f"table {name}", rho=budget.left, noise=f"discrete Gaussian, scale {scale * step:.4g}")
        drawn = add_gaussian(inner, scale)
    else:
        scale = reach * budget.sensitivity / budget.left
        budget.spend(
            f"table {name}", epsilon=budget.left, noise=f"discrete Laplace, scale {scale * step:.4g}"
        )
        drawn = add_laplace(inner, scale)
    budget.assume("the codes of the table are public")
    values = np.asarray(model.matrix.T @ drawn, np.float64) * step
    return Altered(
        model, np.round(values, model.decimals) + 0.0, "noise under a budget", notes=(budget.guarantee,)
    )


def _inner(
    model: TableModel, limit: float | None
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], float]:
    """Whole numbers to add noise to, and what one of them is worth."""
    records = model.records
    if records is None:
        if limit is not None:
            raise OptionError("limit= is for sums: one record adds 1 to a count, whatever it holds")
        return model.counts, 1.0
    if limit is None or not 0 < limit < float("inf"):
        raise OptionError(
            "sums under a budget need limit=, the most one record may contribute; choose it without the data"
        )
    if records.weight is not None:
        raise DataError("sums with sampling weights have no bounded contribution; leave the weights out")
    step = 10.0**-model.decimals
    cut = np.rint(np.clip(records.value, -limit, limit) / step)
    return np.rint(np.bincount(records.inner, cut, len(model.counts))).astype(np.int64), step
