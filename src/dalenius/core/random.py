"""Seeds: every public function takes ``seed``, and derived streams never depend on order or threads."""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import OptionError

Seed: TypeAlias = int | np.random.SeedSequence | None
DEFAULT_SEED = 0
"""Seed of whatever makes files, where none is given: in Python, on the command line, in plans and on the page."""
SHORTEST = 8
"""Fewest characters of a secret (a salt, a key) on which draws depend: fewer could be tried out."""


def generator(seed: Seed, *path: str | int) -> np.random.Generator:
    """Random generator for one step of a run.

    The stream depends on the seed and on the path (a column name, a replicate number), not on what was drawn before,
    so steps may run in any order and on any number of threads. ``None`` draws fresh entropy.

    Examples
    --------
    >>> bool(generator(1, "age").random() == generator(1, "age").random())
    True
    >>> bool(generator(1, "age").random() == generator(1, "sex").random())
    False
    """
    return np.random.Generator(np.random.PCG64(sequence(seed, *path)))


def sequence(seed: Seed, *path: str | int) -> np.random.SeedSequence:
    """Seed sequence for one step; see :func:`generator`.

    Examples
    --------
    >>> sequence(1, "a").entropy == sequence(1, "a").entropy
    True
    """
    if isinstance(seed, np.random.SeedSequence):
        base = seed.entropy
        words = list(base) if isinstance(base, (list, tuple)) else [0 if base is None else base]
        words += list(seed.spawn_key)
    elif seed is None:
        fresh = np.random.SeedSequence().entropy
        words = [fresh] if isinstance(fresh, int) else [0]
    else:
        words = [int(seed)]
    return np.random.SeedSequence([_unsigned(w) for w in words] + [_word(part) for part in path])


def some_rows(rows: int, most: int | None, seed: Seed, *path: str | int) -> npt.NDArray[np.integer[Any]]:
    """At most so many of the rows, in their order, so that heavy figures stay affordable and repeat exactly.

    Examples
    --------
    >>> some_rows(3, 10, 1).tolist(), len(some_rows(100, 10, 1))
    ([0, 1, 2], 10)
    """
    if most is not None and most < 1:
        raise OptionError(f"{most} rows or people are too few to measure; use 1 or more")
    if most is None or rows <= most:
        return np.arange(rows)
    return np.sort(generator(seed, *path).choice(rows, most, replace=False))


def _unsigned(value: object) -> int:
    number = int(str(value))
    return number if number >= 0 else (-number << 1) | 1


def _word(part: str | int) -> int:
    digest = hashlib.blake2b(f"{type(part).__name__}:{part}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")
