"""`Traced`: the column of the unit as it came with the data.

pandas takes, sorts, repeats, stacks and joins rows, and the names of their units go with them in an array of a kind of
its own. Whoever writes other names into the column, computes them or makes a new column of them gets ordinary values,
or an array that knows it was written to: nobody would be known again by those, and one person could be counted as many.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray, ExtensionDtype


class TracedDtype(ExtensionDtype):  # type: ignore[misc,unused-ignore]
    """Kind of a `Traced` array; ``inner`` is the kind of its values."""

    _metadata = ("inner",)
    na_value = np.nan

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        """How it is shown."""
        return f"unit[{self.inner}]"

    @property
    def type(self) -> Any:
        """Kind of a single value."""
        return self.inner.type

    @property
    def kind(self) -> str:
        """Letter of NumPy for the kind of the values."""
        return str(self.inner.kind)

    @property
    def _is_numeric(self) -> bool:
        return self.kind in "iuf"

    @classmethod
    def construct_array_type(cls) -> Any:
        """The array of this kind."""
        return Traced

    @classmethod
    def construct_from_string(cls, string: str) -> TracedDtype:
        """No name makes one: only data do."""
        raise TypeError(f"cannot construct a column of units from {string!r}")

    def _get_common_dtype(self, dtypes: Any) -> Any:
        if all(d == self for d in dtypes):
            return self
        plain = [d.inner if isinstance(d, TracedDtype) else d for d in dtypes]
        return pd.concat([pd.Series(dtype=d) for d in plain], ignore_index=True).dtype


class Traced(ExtensionArray):  # type: ignore[misc,unused-ignore]
    """Names of units that came with the data.

    Attributes
    ----------
    inner
        The names, as pandas holds them.
    intact
        False once anything was written into it.

    Examples
    --------
    >>> column = pd.Series(Traced(np.array([3, 1, 2])))
    >>> traced(column[column > 1].reset_index(drop=True)), traced(column + 0), traced(pd.concat([column] * 2))
    (True, False, True)
    """

    def __init__(self, inner: Any, intact: bool = True) -> None:
        if isinstance(inner, np.ndarray):  # who gets it out of here cannot write into it
            inner = inner.view()
            inner.flags.writeable = False
        self.inner, self.intact = inner, intact

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> Any:
        inner = dtype.inner if isinstance(dtype, TracedDtype) else None
        return cls(pd.array(list(scalars), dtype=inner), intact=False)

    @classmethod
    def _from_factorized(cls, values: Any, original: Any) -> Any:
        return cls(values, original.intact)

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[Any]) -> Any:
        parts = [part.inner for part in to_concat]
        whole = isinstance(parts[0], np.ndarray)
        joined = np.concatenate(parts) if whole else type(parts[0])._concat_same_type(parts)
        return cls(joined, all(part.intact for part in to_concat))

    @property
    def dtype(self) -> Any:
        """Its kind."""
        return TracedDtype(self.inner.dtype)

    @property
    def nbytes(self) -> int:
        """Memory of the names."""
        return int(self.inner.nbytes)

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, item: Any) -> Any:
        found = self.inner[pd.api.indexers.check_array_indexer(self, item)]
        return type(self)(found, self.intact) if isinstance(found, np.ndarray | ExtensionArray) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        key = pd.api.indexers.check_array_indexer(self, key)
        before = self.inner[key]
        if isinstance(before, np.ndarray | ExtensionArray) and not len(before):
            return
        self.intact = False
        self.inner = self.inner.copy()
        try:
            self.inner[key] = bare(value)
        except (TypeError, ValueError):
            self.inner = np.array(self.inner, object)
            self.inner[key] = bare(value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.inner, dtype=dtype, copy=copy)

    def __arrow_array__(self, type: Any = None) -> Any:
        import pyarrow as pa  # noqa: PLC0415 (only where it is written to a file)

        return pa.array(self.inner, type=type, from_pandas=True)

    def isna(self) -> Any:
        """Rows without a name."""
        return pd.isna(self.inner)

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> Any:
        """Some of the rows; a row that nobody has is without a name."""
        if not allow_fill:
            return type(self)(self.inner.take(np.asarray(indices, np.int64)), self.intact)
        places = np.asarray(indices, np.int64)
        gaps = places < 0
        if not gaps.any():
            return type(self)(self.inner.take(places), self.intact)
        return type(self)(held(pd.Series(self.inner).reindex(np.where(gaps, -1, places))), self.intact)

    def copy(self) -> Any:
        """A copy that can be written to without changing this one."""
        return type(self)(self.inner.copy(), self.intact)

    def view(self, dtype: Any = None) -> Any:
        """The same names; written to, both know it."""
        return self if dtype is None else self.inner.view(dtype)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Values of another kind, which are no names that came with the data any more."""
        if isinstance(dtype, TracedDtype) and dtype == self.dtype:
            return self.copy() if copy else self
        found = held(pd.Series(self.inner).astype(dtype))
        return found.copy() if isinstance(found, np.ndarray) else found  # a view could not be written to

    def shift(self, periods: int = 1, fill_value: Any = None) -> Any:
        """Names moved off their rows, which nobody can trust."""
        return type(self)(held(pd.Series(self.inner).shift(periods, fill_value=fill_value)), intact=False)

    def unique(self) -> Any:
        """Each name once, as ordinary values."""
        return pd.unique(self.inner)

    def _values_for_factorize(self) -> Any:
        if isinstance(self.inner, np.ndarray):
            return self.inner, np.nan
        return self.inner._values_for_factorize()

    def factorize(self, use_na_sentinel: bool = True) -> Any:
        """Codes, and each name once."""
        codes, found = pd.factorize(self.inner, use_na_sentinel=use_na_sentinel)
        return codes, type(self)(found, self.intact)

    def _values_for_argsort(self) -> Any:
        inner = self.inner
        return inner if isinstance(inner, np.ndarray) else inner._values_for_argsort()

    def _reduce(self, name: str, *, skipna: bool = True, keepdims: bool = False, **options: Any) -> Any:
        found = getattr(pd.Series(self.inner), name)(skipna=skipna, **options)
        return pd.array([found]) if keepdims else found

    def _formatter(self, boxed: bool = False) -> Callable[[Any], str]:
        return str

    def __invert__(self) -> Any:
        return ~self.inner

    def __neg__(self) -> Any:
        return -self.inner


def _operator(name: str) -> Callable[[Any, Any], Any]:
    """An operator whose result is of ordinary values."""
    turned = name not in COMPARED and name.startswith("r") and name != "rshift"
    usual = getattr(operator, {"and": "and_", "or": "or_"}.get(name[turned:], name[turned:]))

    def computed(self: Traced, other: Any) -> Any:
        if isinstance(other, pd.Series | pd.Index | pd.DataFrame):
            return NotImplemented
        sides = (bare(other), self.inner) if turned else (self.inner, bare(other))
        return usual(*(np.asarray(s) if isinstance(s, list) else s for s in sides))

    return computed


COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")
PLAIN = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
for _name in (*COMPARED, *PLAIN, *(f"r{n}" for n in PLAIN)):
    setattr(Traced, f"__{_name}__", _operator(_name))


def bare(given: Any) -> Any:
    """Values as pandas would hold them without the desk: arrays, columns and frames."""
    if isinstance(given, Traced):
        return given.inner
    if isinstance(given, pd.Series) and isinstance(given.dtype, TracedDtype):
        return pd.Series(given._values.inner, index=given.index, name=given.name)
    if isinstance(given, pd.Index) and isinstance(given.dtype, TracedDtype):
        return pd.Index(given._values.inner, name=given.name)
    if isinstance(given, pd.DataFrame) and any(isinstance(d, TracedDtype) for d in given.dtypes):
        made = given.copy(deep=False)
        for place, dtype in enumerate(given.dtypes):
            if isinstance(dtype, TracedDtype):
                pd.DataFrame.isetitem(made, place, pd.DataFrame(given).iloc[:, place]._values.inner)
        return made
    return given


def held(column: Any) -> Any:
    """Values of a plain column as pandas holds them."""
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array


def traced(column: Any) -> bool:
    """Whether a column still holds the names that came with the data."""
    return isinstance(column.dtype, TracedDtype) and bool(column._values.intact)
