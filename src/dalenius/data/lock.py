"""One at a time: a lock file that a process holds while it writes, and that a killed process lets go by itself."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dalenius.core.errors import DaleniusError, FileError
from dalenius.data.atomic import PRIVATE_FILE


@contextmanager
def locked(path: Path, busy: str | None = None) -> Iterator[None]:
    """Hold a lock file. Wait while somebody else holds it, or raise ``busy`` where waiting makes no sense.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "lock"
    >>> with locked(place), locked(place, busy="somebody else is writing; try again later"):
    ...     pass
    Traceback (most recent call last):
    ...
    dalenius.core.errors.DaleniusError: somebody else is writing; try again later
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    except OSError as error:
        raise FileError(f"{path}: cannot write here ({error.strerror}); choose another folder") from None
    try:
        _take(handle, busy)
        yield
    finally:
        os.close(handle)


def _take(handle: int, busy: str | None) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
    except BlockingIOError:
        raise DaleniusError(str(busy)) from None
