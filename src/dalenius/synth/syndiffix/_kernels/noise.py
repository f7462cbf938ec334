"""Compiled noise: the keyed hash (SipHash-2-4), normal deviates from a seed, and the low-count test.

The reference's own construction (SHA-256, Box-Muller) is here too, for comparisons with it only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dalenius.core.kernels import njit

SUPPRESS, CELL_NOISE, UNIT_NOISE, OUTLIER, TOP, PRECISION, CELL, DRAW = range(8)
"""Steps; each has a key of its own, so that one step's randomness says nothing about another's."""
FURTHEST = 8.5
"""No deviate of either construction is further from zero: beyond it the low-count test needs no hash."""


class Noise(NamedTuple):
    """What the kernels need to make noise.

    ``keys`` are two words per step; ``steps`` and ``salt`` serve the reference's construction. ``gap`` and ``spread``
    belong to the low-count test, ``layer`` is the standard deviation of each of the two noise layers of a count.
    """

    reference: bool
    salt: npt.NDArray[np.uint8]
    steps: npt.NDArray[np.uint64]
    keys: npt.NDArray[np.uint64]
    low: float
    gap: float
    spread: float
    layer: float


@njit(cache=True, nogil=True)
def _turn(x, bits):
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@njit(cache=True, nogil=True)
def _round(a, b, c, d):
    a += b
    b = _turn(b, 13) ^ a
    a = _turn(a, 32)
    c += d
    d = _turn(d, 16) ^ c
    a += d
    d = _turn(d, 21) ^ a
    c += b
    b = _turn(b, 17) ^ c
    c = _turn(c, 32)
    return a, b, c, d


@njit(cache=True, nogil=True)
def sip(k0, k1, first, second, words):
    """SipHash-2-4 (Aumasson, Bernstein 2012) of one or two 64-bit words."""
    a = k0 ^ np.uint64(0x736F6D6570736575)
    b = k1 ^ np.uint64(0x646F72616E646F6D)
    c = k0 ^ np.uint64(0x6C7967656E657261)
    d = k1 ^ np.uint64(0x7465646279746573)
    for i in range(words + 1):
        m = first if i == 0 else second
        if i == words:
            m = np.uint64(words * 8) << np.uint64(56)
        d ^= m
        a, b, c, d = _round(a, b, c, d)
        a, b, c, d = _round(a, b, c, d)
        a ^= m
    c ^= np.uint64(0xFF)
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@njit(cache=True, nogil=True, inline="always")
def keyed(noise, step, seed):
    """64 pseudo-random bits of a step, from a seed."""
    if noise.reference:
        return noise.steps[step] ^ _salted(noise.salt, seed)
    return sip(noise.keys[2 * step], noise.keys[2 * step + 1], np.uint64(seed), np.uint64(0), 1)


@njit(cache=True, nogil=True, inline="always")
def keyed_pair(noise, step, first, second):
    """64 pseudo-random bits of a step, from two words."""
    return sip(noise.keys[2 * step], noise.keys[2 * step + 1], np.uint64(first), np.uint64(second), 2)


@njit(cache=True, nogil=True, inline="always")
def normal(noise, step, seed):
    """A standard normal deviate that depends on nothing but the step and the seed."""
    bits = keyed(noise, step, seed)
    if noise.reference:
        u = max((bits & np.uint64(0x7FFFFFFF)) / 2147483647.0, 2.220446049250313e-16)
        v = ((bits >> np.uint64(32)) & np.uint64(0x7FFFFFFF)) / 2147483647.0
        return math.sqrt(-2.0 * math.log(u)) * math.sin(2.0 * math.pi * v)
    return quantile((float(bits >> np.uint64(11)) + 0.5) * 2.0**-53)


@njit(cache=True, nogil=True)
def quantile(p):
    """Quantile of the normal distribution, to about 1e-9 (rational approximation of Acklam 2003)."""
    if p < 0.02425 or p > 0.97575:
        q = math.sqrt(-2.0 * math.log(min(p, 1.0 - p)))
        top = ((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838) * q
                - 2.549732539343734) * q + 4.374664141464968) * q + 2.938163982698783  # fmt: skip
        bottom = (((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996) * q
                  + 3.754408661907416) * q + 1.0  # fmt: skip
        return top / bottom if p < 0.5 else -top / bottom
    q = p - 0.5
    r = q * q
    top = (((((-3.969683028665376e01 * r + 2.209460984245205e02) * r - 2.759285104469687e02) * r
             + 1.383577518672690e02) * r - 3.066479806614716e01) * r + 2.506628277459239) * q  # fmt: skip
    bottom = ((((-5.447609879822406e01 * r + 1.615858368580409e02) * r - 1.556989798598866e02) * r
               + 6.680131188771972e01) * r - 1.328068155288572e01) * r + 1.0  # fmt: skip
    return top / bottom


@njit(cache=True, nogil=True, inline="always")
def is_low(noise, threshold, units, seed):
    """Low-count test of one unit column: too few distinct units, judged against a noisy threshold."""
    if units < threshold:
        return True
    if noise.spread == 0.0 or units >= threshold + (noise.gap + FURTHEST) * noise.spread:
        return False
    return units < threshold + noise.gap * noise.spread + noise.spread * normal(noise, SUPPRESS, seed)


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % p for p in found):
            found.append(candidate)
        candidate += 1
    return found


def _fraction_bits(prime: int, root: int) -> int:
    """First 32 bits of the fractional part of a root of a prime, exactly."""
    target = prime << (32 * root)
    low, high = 0, prime << 32
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**root <= target else (low, middle - 1)
    return low & 0xFFFFFFFF


_ROUNDS = np.array([_fraction_bits(p, 3) for p in _primes(64)], dtype=np.uint32)
_START = np.array([_fraction_bits(p, 2) for p in _primes(8)], dtype=np.uint32)


@njit(cache=True, nogil=True)
def _rotate(x, n):
    return np.uint32((x >> np.uint32(n)) | (x << np.uint32(32 - n)))


@njit(cache=True, nogil=True)
def _salted(salt, seed):
    """First 8 bytes of SHA-256(salt, seed), little-endian; the salt has at most 47 bytes."""
    size = len(salt) + 8
    block = np.zeros(64, dtype=np.uint8)
    block[: len(salt)] = salt
    for i in range(8):
        block[len(salt) + i] = (np.uint64(seed) >> np.uint64(8 * i)) & np.uint64(255)
    block[size] = 128
    block[62] = (size * 8) >> 8
    block[63] = (size * 8) & 255
    w = np.zeros(64, dtype=np.uint32)
    for i in range(16):
        for j in range(4):
            w[i] = np.uint32((w[i] << np.uint32(8)) | np.uint32(block[4 * i + j]))
    for i in range(16, 64):
        x, y = w[i - 15], w[i - 2]
        s = _rotate(x, 7) ^ _rotate(x, 18) ^ np.uint32(x >> np.uint32(3))
        t = _rotate(y, 17) ^ _rotate(y, 19) ^ np.uint32(y >> np.uint32(10))
        w[i] = np.uint32(w[i - 16] + s + w[i - 7] + t)
    a, b, c, d, e, f, g, h = _START
    for i in range(64):
        s = _rotate(e, 6) ^ _rotate(e, 11) ^ _rotate(e, 25)
        t1 = np.uint32(h + s + ((e & f) ^ (~e & g)) + _ROUNDS[i] + w[i])
        s = _rotate(a, 2) ^ _rotate(a, 13) ^ _rotate(a, 22)
        t2 = np.uint32(s + ((a & b) ^ (a & c) ^ (b & c)))
        h, g, f, e, d, c, b, a = g, f, e, np.uint32(d + t1), c, b, a, np.uint32(t1 + t2)
    first = np.uint64(np.uint32(a + _START[0]))
    second = np.uint64(np.uint32(b + _START[1]))
    return _swap(first) | (_swap(second) << np.uint64(32))


@njit(cache=True, nogil=True)
def _swap(x):
    """Reverse the four bytes of a word."""
    m = np.uint64(255)
    s8, s24 = np.uint64(8), np.uint64(24)
    return (
        ((x & m) << s24)
        | (((x >> s8) & m) << np.uint64(16))
        | (((x >> np.uint64(16)) & m) << s8)
        | ((x >> s24) & m)
    )
