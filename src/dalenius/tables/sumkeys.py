"""Cell keys for sums: the largest contributions of a cell are changed a little, always in the same way.

The top-K method of the Australian Bureau of Statistics (Thompson, Broadfoot and Elazar 2013): the noise of a cell is
Σ mᵢ dᵢ sᵢ xᵢ over its K largest contributors. The magnitude mᵢ depends on the rank only; the direction dᵢ is +1 or −1
by the contributor's own key, the same in every table; the size sᵢ, uniform between 1 − w and 1 + w, comes from the
contributor's key and the cell's. Since a direction never changes, averaging over tables does not take the noise away.
A cell's key is the sum of the keys of its records, so the same people give the same noise under any name. Published
sums do not add up, by design; cells without contributors stay 0.

The other method, of τ-ARGUS and R's cellKey, looks the noise up in a perturbation table, as for counts: x + δ x₁ v,
where x₁ is the largest contribution and v the deviation of the row x / (δ x₁), or between
those of the two rows next to it (Hundepool et al. 2024, section 4.6; Giessing and Tent 2019).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dalenius.core.errors import DataError, OptionError
from dalenius.tables.altered import Altered
from dalenius.tables.cellkey import PTable
from dalenius.tables.keys import keyed_words
from dalenius.tables.model import Floats, Ints, TableModel

Words = npt.NDArray[np.uint64]


def perturb_sums(
    model: TableModel,
    *,
    key: bytes,
    magnitudes: Sequence[float] = (0.6, 0.3, 0.1),
    spread: float = 0.5,
    table: PTable | None = None,
    share: float = 0.1,
) -> Altered:
    """Sums with keyed noise on their largest contributions.

    Parameters
    ----------
    model
        A table of sums, with ``contributor=`` wherever records of one contributor must move together.
    key
        The secret; the same in every table of the same data.
    magnitudes
        Share of the largest, second largest … contribution that the noise has on average. Confidential.
    spread
        The size of the noise lies between 1 − spread and 1 + spread of that.
    table, share
        Look the noise up in this perturbation table instead, in steps of ``share`` (δ) of the largest contribution.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> firms = {"branch": ["a", "a", "b"], "firm": ["f1", "f2", "f3"], "value": [30.0, 40.0, 10.0]}
    >>> model = define(firms, by="branch", value="value", contributor="firm")
    >>> one, two = (perturb_sums(model, key=b"secret").values for _ in range(2))
    >>> bool((one == two).all()), bool((one != model.amount).all())
    (True, True)
    """
    records = model.records
    if records is None:
        raise DataError("cell keys for sums need a magnitude table; use perturb for counts")
    shares = np.asarray(magnitudes, np.float64)
    if not len(shares) or not (shares > 0).all() or not np.isfinite(shares).all() or not 0 <= spread < 1:
        raise OptionError("magnitudes are shares above 0, and spread lies between 0 and 1")
    if not 0 < share < float("inf"):
        raise OptionError("share is above 0: the size of a step, as a share of the largest contribution")
    who, names = _people(model)
    cell = _cell_words(model, keyed_words(_record_names(model, names, who), key, "sum keys: records"))
    if table is not None:
        _, _, value = _largest(model, who, 1)
        noise = table_noise(model.unweighted, value[:, 0], cell.astype(np.float64) / 2.0**64, table, share)
    else:
        person = keyed_words(names, key, "sum keys: contributors")
        rank, place, value = _largest(model, who, len(shares))
        at, top = place.nonzero()
        direction = np.where(person[rank[at, top]] >> np.uint64(63), 1.0, -1.0)
        size = 1.0 + spread * (2.0 * _uniform(person[rank[at, top]], cell[at]) - 1.0)
        moved = shares[top] * direction * size * value[at, top]
        noise = np.asarray(np.bincount(at, moved, len(model.cells)), np.float64)
    weight = 1.0 if records.weight is None else _weight_of(model)
    values = np.round(model.amount + noise * weight, model.decimals) + 0.0
    note = "Sums of changed cells do not add up, by design."
    return Altered(model, np.asarray(values, np.float64), "cell keys for sums", notes=(note,))


def table_noise(amount: Floats, largest: Floats, keys: Floats, table: PTable, share: float) -> Floats:
    """What a perturbation table adds to sums with these largest contributions and cell keys.

    Examples
    --------
    >>> table = PTable(1, np.array([[0, 1, 0], [0.5, 0, 0.5], [0, 0.8, 0.2], [0.3, 0.4, 0.3]]))
    >>> table_noise(np.array([300.0]), np.array([200.0]), np.array([0.79]), table, 0.6).tolist()
    [60.0]
    """
    step = share * largest
    rows = np.abs(amount) / np.where(step > 0, step, 1.0)
    rows = np.minimum(rows, len(table.probabilities) - 1.0)
    below = np.floor(rows).astype(np.int64)
    part = rows - below
    v = (1.0 - part) * table.deviation(below, keys) + part * table.deviation(below + 1, keys)
    return np.asarray(np.where(step > 0, step * v, 0.0))


def noise_factors(model: TableModel, *, key: bytes, spread: float = 0.5) -> Floats:
    """d₁ s₁ of every cell with a contributor: what its largest contribution is multiplied with, before the magnitude.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"a": ["x", "y"], "v": [3.0, 5.0]}, by="a", value="v")
    >>> bool((abs(abs(noise_factors(model, key=b"secret")) - 1) <= 0.5).all())
    True
    """
    changed = perturb_sums(_fine(model), key=key, magnitudes=(1.0,), spread=spread).values - model.amount
    who, _ = _people(model)
    _, place, value = _largest(model, who, 1)
    filled = place[:, 0] & (value[:, 0] > 0)
    return np.asarray(changed[filled] / value[filled, 0])


def _fine(model: TableModel) -> TableModel:
    """The same table with many decimals, so that rounding does not blur the noise."""
    fine = TableModel(
        model.dimensions,
        model.cells,
        model.inner,
        model.matrix,
        model.counts,
        model.values,
        model.records,
        model.tables,
    )
    fine.__dict__["decimals"] = 12
    return fine


def _people(model: TableModel) -> tuple[Ints, list[str]]:
    """Number of every record's contributor, and a name for every contributor."""
    records = model.records
    assert records is not None
    if records.contributor is None:
        who = np.arange(len(records.inner))
        return who, [f"record {i}" for i in range(len(who))]
    return records.contributor, [f"contributor {label}" for label in records.labels]


def _record_names(model: TableModel, names: Sequence[str], who: Ints) -> list[str]:
    """A record is known by its contributor and its value, not by its place: tables of a part of the data agree."""
    records = model.records
    assert records is not None
    if records.contributor is None:
        return list(names)
    return [f"{names[w]} {value!r}" for w, value in zip(who.tolist(), records.value.tolist(), strict=True)]


def _cell_words(model: TableModel, words: Words) -> Words:
    """Sum of the keys of a cell's records, modulo 2⁶⁴."""
    records = model.records
    assert records is not None
    inner = np.zeros(len(model.counts), np.uint64)
    np.add.at(inner, records.inner, words)
    matrix = model.matrix
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(inner[matrix.indices], dtype=np.uint64)])
    return np.asarray(running[matrix.indptr[1:]] - running[matrix.indptr[:-1]])


def _largest(model: TableModel, who: Ints, count: int) -> tuple[Ints, npt.NDArray[np.bool_], Floats]:
    """Contributors of the ``count`` largest contributions of every cell, whether there are so many, and how much."""
    records = model.records
    assert records is not None
    people = int(who.max(initial=-1)) + 1
    own = sp.csr_matrix((records.value, (records.inner, who)), shape=(len(model.counts), people))
    held = sp.csr_matrix(sp.csr_matrix(model.matrix.T) @ own)
    row = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    order = np.lexsort((held.indices, -np.abs(held.data), row))
    position = np.arange(len(row)) - held.indptr[row]
    keep = position < count
    people_at, filled = np.zeros((held.shape[0], count), np.int64), np.zeros((held.shape[0], count), np.bool_)
    value = np.zeros((held.shape[0], count))
    at = (row[keep], position[keep])
    people_at[at], filled[at] = held.indices[order][keep], True
    value[at] = np.abs(held.data[order][keep])
    return people_at, filled, value


def _uniform(person: Words, cell: Words) -> Floats:
    """A uniform number for every pair of keys."""
    mixed = np.stack([person, cell], axis=1).astype("<u8")
    words = [hashlib.blake2b(pair.tobytes(), digest_size=8).digest() for pair in mixed]
    return np.frombuffer(b"".join(words), "<u8").astype(np.float64) / 2.0**64 if words else np.zeros(0)


def _weight_of(model: TableModel) -> Floats:
    """How much a cell's sum grows by sampling weights."""
    plain = np.abs(model.unweighted)
    return np.where(plain > 0, np.abs(model.amount) / np.where(plain > 0, plain, 1.0), 1.0)
