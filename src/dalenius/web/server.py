"""The guarded application: addresses by subject, and one way of telling what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from dalenius.core.errors import DaleniusError
from dalenius.web import (
    assets,
    attacking,
    checking,
    fitting,
    learning,
    looking,
    modelling,
    opening,
    running,
    setting,
    several,
    tabling,
    taking,
)
from dalenius.web import (
    large as large_files,
)
from dalenius.web.guard import Guard, TooLargeError
from dalenius.web.shell import NoSuchRunError, Shell


def make_app(workspace: Path, token: str, port: int, limit_mb: int = 500, large: Sequence[Path] = ()) -> Any:
    """The guarded application for one workspace.

    Examples
    --------
    >>> import tempfile
    >>> make_app(Path(tempfile.mkdtemp()), "secret", 8123).limit == 500 << 20
    True
    """
    shell = Shell(workspace, limit_mb, large)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    for subject in (
        assets,
        opening,
        large_files,
        several,
        setting,
        running,
        looking,
        tabling,
        attacking,
        checking,
        modelling,
        learning,
        fitting,
        taking,
    ):
        app.include_router(subject.routes(shell))

    async def told(request: Request, error: Exception) -> Response:
        if isinstance(error, TooLargeError):
            status = 413
            text = f"The file is larger than the {limit_mb} MB the page accepts; start the page with --file FILE."
        else:
            status, text = (404 if isinstance(error, NoSuchRunError) else 400), str(error)
        return shell.page("error", status, title="That did not work", text=text)

    app.add_exception_handler(DaleniusError, told)
    app.add_exception_handler(TooLargeError, told)
    return Guard(app, token, port, shell.limit)
