"""How far a long call has come: one line by Rich, on the terminal and, where a notebook is running, under its cell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Line

Tell = Callable[[str], None]


def line(**options: Any) -> Line:
    """A line with a spinner, what is being done, and the time since it began."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    return Progress(*columns, **options)


@contextmanager
def telling(told: Tell | None, what: str) -> Iterator[Tell | None]:
    """The function that is told how far a call is: the caller's own, or a line of the notebook that is running.

    The line goes when the call ends. Outside notebooks, and without a function, nothing is shown.

    Examples
    --------
    >>> with telling(print, "measuring") as tell:
    ...     tell("1 of 2")
    1 of 2
    >>> with telling(None, "measuring") as tell:
    ...     tell is None
    True
    """
    if told is not None or not _in_notebook():
        yield told
        return
    from IPython.display import display  # noqa: PLC0415

    shown = line(auto_refresh=False)
    task = shown.add_task(what)
    place: Any = display(shown, display_id=True)

    def tell(text: str) -> None:
        shown.update(task, description=f"{what}: {text}")
        place.update(shown)

    try:
        yield tell
    finally:
        place.update({"text/plain": "", "text/html": ""}, raw=True)


def _in_notebook() -> bool:
    """Whether a kernel runs this code, and not a program that happens to have loaded one."""
    if "ipykernel" not in sys.modules:
        return False
    shell: Any = sys.modules["IPython"].get_ipython()
    return getattr(shell, "kernel", None) is not None
