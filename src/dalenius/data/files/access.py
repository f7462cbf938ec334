"""Opening files: every way in which it can fail becomes one line that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from dalenius.core.errors import DaleniusError, FileError
from dalenius.data.atomic import readable_name


def existing(path: str | Path) -> Path:
    """The path of a file that can be opened, or a `FileError`.

    Examples
    --------
    >>> existing("no-such-file.csv")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.FileError: no-such-file.csv: no such file; check the name and the folder
    """
    path = readable_name(path)
    try:
        if path.is_dir():
            raise FileError(f"{path}: is a folder; name one file in it")
        with path.open("rb"):
            return path
    except FileNotFoundError:
        raise FileError(f"{path}: no such file; check the name and the folder") from None
    except PermissionError:
        raise FileError(
            f"{path}: permission denied; ask for the right to read it, or copy it elsewhere"
        ) from None
    except OSError as error:
        raise FileError(f"{path}: cannot be opened ({error.strerror}); check the file") from None


def contents(path: str | Path) -> memoryview:
    """All bytes of a file, mapped rather than copied."""
    path = existing(path)
    if path.stat().st_size == 0:
        raise FileError(f"{path}: the file is empty; it needs column names and data")
    return memoryview(pa.memory_map(str(path)).read_buffer())


def text_of(path: str | Path) -> str:
    """The text of a small UTF-8 file."""
    path = existing(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{path}: is not UTF-8 text; save it as UTF-8") from None


@contextmanager
def damage_reported(path: Path, what: str) -> Iterator[None]:
    """Turn any failure of a reading library into one line that quotes nothing of the file.

    The libraries behind this (Arrow, fastexcel, ReadStat) raise their own errors of many types, some of which quote
    cells; none of their text is passed on.
    """
    try:
        yield
    except (DaleniusError, MemoryError):
        raise
    except Exception as error:
        raise FileError(
            f"{path}: cannot be read as {what} ({type(error).__name__}); the file is damaged or of another type: "
            "export it again, or check its ending"
        ) from None
