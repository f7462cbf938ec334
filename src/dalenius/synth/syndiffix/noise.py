"""From salt and options to the noise that kernels use."""

from __future__ import annotations

import hashlib

import numpy as np

from dalenius.synth.syndiffix._kernels.noise import Noise
from dalenius.synth.syndiffix.options import Anonymity

STEPS = ("suppress", "cell noise", "unit noise", "outlier", "top", "precision", "cell", "draw")


def make_noise(salt: bytes, options: Anonymity) -> Noise:
    """Keyed noise: every step has a key of its own, derived from the salt.

    Examples
    --------
    >>> make_noise(b"secret", Anonymity()).low
    3.0
    """
    words = [np.frombuffer(derive(salt, step, 16), "<u8") for step in STEPS]
    return Noise(
        reference=False,
        salt=np.zeros(0, np.uint8),
        steps=np.zeros(len(STEPS), np.uint64),
        keys=np.concatenate(words).astype(np.uint64),
        low=float(options.low),
        gap=float(options.gap),
        spread=float(options.spread),
        layer=float(options.layer),
    )


def derive(salt: bytes, purpose: str, size: int) -> bytes:
    """A key for one purpose; keys of different purposes are independent.

    Examples
    --------
    >>> len(derive(b"secret", "units", 16))
    16
    """
    key = hashlib.blake2b(salt, digest_size=32).digest()
    return hashlib.blake2b(purpose.encode(), key=key, digest_size=size, person=b"dalenius").digest()


def name_hash(salt: bytes, name: str) -> int:
    """Keyed hash of a column name.

    Examples
    --------
    >>> name_hash(b"secret", "age") == name_hash(b"other", "age")
    False
    """
    return int.from_bytes(derive(salt, f"column:{name}", 8), "little")


def fingerprint(salt: bytes) -> str:
    """Short mark by which releases of the same salt know each other; it does not give the salt away.

    Examples
    --------
    >>> fingerprint(b"secret") == fingerprint(b"secret")
    True
    """
    return derive(salt, "fingerprint", 8).hex()
