"""Which encoding a text file has: certain where it can be, stated where it is assumed, refused where it is mixed."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dalenius.core.errors import FileError

CHUNK = 1 << 24
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
MIXED_SHARE = 0.1
"""A file with faulty UTF-8 is *mixed* when this share of its non-English lines reads as UTF-8 all the same: a text of
several bytes above 127 is hardly ever valid UTF-8 by accident, so such lines were written as UTF-8."""


@dataclass(frozen=True)
class Encoding:
    r"""Name of an encoding, the bytes of its mark at the start of the file, and the ground for the choice.

    Examples
    --------
    >>> detect_encoding("café\n".encode("cp1252"), Path("a.csv")).name
    'cp1252'
    """

    name: str
    mark: bytes = b""
    ground: str = ""


def detect_encoding(data: bytes | memoryview, path: Path) -> Encoding:
    r"""Encoding of a whole file; `FileError` with a line number when its lines disagree.

    Examples
    --------
    >>> detect_encoding(b"name\nAnna\n", Path("a.csv"))
    Encoding(name='utf-8', mark=b'', ground='UTF-8')
    """
    start = bytes(data[:4])
    for mark, name in MARKS:
        if start.startswith(mark):
            return Encoding(name, mark, f"{name.upper()} by its byte-order mark")
    if _valid_utf8(data):
        return Encoding("utf-8", ground="UTF-8")
    return _single_byte(bytes(data), path)


def _valid_utf8(data: bytes | memoryview) -> bool:
    if not len(data) or np.frombuffer(data, np.uint8).max() < 128:  # ASCII, as most files are
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), CHUNK):
            decoder.decode(bytes(data[start : start + CHUNK]), start + CHUNK >= len(data))
    except UnicodeDecodeError:
        return False
    return True


def _single_byte(data: bytes, path: Path) -> Encoding:
    """Not UTF-8 as a whole: one of the Western single-byte encodings, unless some lines are UTF-8 after all."""
    valid: list[int] = []
    faulty: list[int] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.isascii():
            continue
        (valid if _valid_utf8(line) else faulty).append(number)
    if len(valid) >= MIXED_SHARE * (len(valid) + len(faulty)):
        odd, what = (faulty, "is not UTF-8") if len(faulty) <= len(valid) else (valid, "is UTF-8")
        others = f" (and {len(odd) - 1:,} more)" if len(odd) > 1 else ""
        raise FileError(
            f"{path}: line {odd[0]:,}{others} {what}, unlike the rest of the file; convert the file to UTF-8, or give "
            "encoding='cp1252' to read all of it as one encoding"
        )
    undefined = any(byte in data for byte in (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d"))
    name = "latin-1" if undefined else "cp1252"
    return Encoding(name, ground=f"{name} assumed: not UTF-8 from line {faulty[0]:,} on")
