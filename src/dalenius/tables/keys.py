"""Keys: the same cell gets the same random number in every table.

A secret key turns a cell's name (or a record's number) into a uniform number. Fresh noise in every table
would average out
(Brenzel et al. 2024); keyed noise does not.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import OptionError
from dalenius.tables.model import Floats, TableModel


def keyed_uniforms(names: Iterable[str], key: bytes, run_id: str = "") -> Floats:
    """Uniform numbers in [0, 1) from names, by a keyed hash.

    Examples
    --------
    >>> a, b = keyed_uniforms(["sex=f", "sex=m"], b"secret")
    >>> bool(a != b), bool(a == keyed_uniforms(["sex=f"], b"secret")[0])
    (True, True)
    """
    return keyed_words(names, key, run_id).astype(np.float64) / 2.0**64


def keyed_words(names: Iterable[str], key: bytes, run_id: str = "") -> npt.NDArray[np.uint64]:
    """Random 64-bit words from names, by a keyed hash.

    Examples
    --------
    >>> keyed_words(["a", "b", "a"], b"secret").tolist()[0] == keyed_words(["a"], b"secret").tolist()[0]
    True
    """
    if not key:
        raise OptionError(
            "the secret key is empty, so anybody could take the noise away; make one with fresh_key()"
        )
    secret = hashlib.blake2b(key, digest_size=32).digest()
    salt = hashlib.blake2b(run_id.encode(), digest_size=16).digest()
    words = [hashlib.blake2b(name.encode(), key=secret, salt=salt, digest_size=8).digest() for name in names]
    return np.frombuffer(b"".join(words), "<u8").astype(np.uint64) if words else np.zeros(0, np.uint64)


def cell_names(model: TableModel) -> list[str]:
    """A name for every cell that does not depend on the table: its codes without the totals.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> cell_names(define({"sex": ["f", "m"], "job": ["a", "b"]}, by="sex"))
    ['', 'sex=f', 'sex=m']
    """
    totals = {d.name: d.hierarchy.total for d in model.dimensions}
    return [
        cell_name((name, code) for name, code in zip(model.names, row, strict=True) if code != totals[name])
        for row in model.cells.iter_rows()
    ]


def cell_name(codes: Iterable[tuple[str, str]]) -> str:
    r"""One name of (column, code) pairs in any order; our own signs within them are escaped, so no two cells share it.

    Examples
    --------
    >>> cell_name([("sex", "f"), ("job", "a|b")])
    'job=a\\|b|sex=f'
    """
    pairs = sorted((_escaped(name), _escaped(code)) for name, code in codes)
    return "|".join(f"{name}={code}" for name, code in pairs)


def _escaped(text: str) -> str:
    return re.sub(r"([\\|=])", r"\\\1", text)


def fresh_key() -> bytes:
    """A new secret; keep it as long as tables of the same data are published.

    Examples
    --------
    >>> len(fresh_key())
    32
    """
    return secrets.token_bytes(32)
