"""`Regression`: what the regressions of numbers and of categories have in common."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import ThreadpoolController

from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.design import Design, Terms
from dalenius.synth.sequential.fitted import ColumnMethod

CHUNK = 50_000
"""Rows of a model matrix made at once, so that memory stays flat."""


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Linear algebra on one thread while this is open.

    Matrices of one regression are small: threads wait for each other longer than they work (measured: a fifth of the
    CPU time without them), and columns are fitted beside each other anyway.
    """
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


class Regression(ColumnMethod):
    """A model of terms and coefficients; a subclass names what else it holds, as its constructor takes it."""

    facts: ClassVar[tuple[str, ...]] = ()
    """Names of its plain numbers."""
    arrays: ClassVar[tuple[str, ...]] = ("beta",)
    """Names of its arrays."""
    terms: Terms

    def by_chunk(
        self, design: Design, rows: IntArray, work: Callable[[AnyArray, slice], AnyArray]
    ) -> AnyArray:
        """Something about each row from its part of the model matrix, some rows at a time."""
        with one_thread():
            pieces = [
                work(self.terms.matrix(design, rows[start : start + CHUNK]), slice(start, start + CHUNK))
                for start in range(0, max(len(rows), 1), CHUNK)
            ]
        return np.concatenate(pieces)
