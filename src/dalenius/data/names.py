"""`Names`: the levels of a long column of text whose values all differ, kept as they were read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import polars as pl

MANY = 100_000
"""Texts from which on a column keeps them as they were read until somebody looks at them one by one."""


class Names(Sequence[str]):
    """The texts of a long column that all differ; a tuple of ten million of them would take a gigabyte, seldom used.

    Examples
    --------
    >>> names = Names(pl.Series(["a", "b"]))
    >>> len(names), names[:1], names == ("a", "b")
    (2, ('a',), True)
    """

    def __init__(self, texts: pl.Series) -> None:
        self.texts = texts

    @cached_property
    def all(self) -> tuple[str, ...]:
        """Every text."""
        return tuple(self.texts.to_list())

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, place: Any) -> Any:
        return tuple(self.texts[place].to_list()) if isinstance(place, slice) else self.texts[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.all)

    def __eq__(self, other: object) -> bool:
        return self is other or self.all == (other.all if isinstance(other, Names) else other)

    def __hash__(self) -> int:
        return hash(self.all)

    def __repr__(self) -> str:
        return f"Names({len(self):,})"
