"""One line for the person who waits while kernels are compiled for the first time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 2.0
_state = {"ready": False}


@contextmanager
def compiling() -> Iterator[None]:
    """Say so if the first use in this process takes long: numba compiles once and keeps the result on disk.

    Examples
    --------
    >>> with compiling():
    ...     pass
    """
    if _state["ready"]:
        yield
        return
    timer = threading.Timer(PATIENCE, _say)
    timer.daemon = True
    timer.start()
    try:
        yield
        _state["ready"] = True
    finally:
        timer.cancel()


def _say() -> None:
    print(
        "dalenius: preparing SynDiffix for this machine (once, about half a minute; kept for later runs) …",
        file=sys.stderr,
    )
