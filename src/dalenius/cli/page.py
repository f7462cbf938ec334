"""`dalenius app`: the page in the browser, on this machine only."""

from __future__ import annotations

import secrets
import socket
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal
from dalenius.core.errors import DaleniusError, MissingExtraError

app = typer.Typer()


@app.command("app")
def serve(
    workspace: Annotated[Path, typer.Option("--workspace", "-w", help="Folder that keeps the runs.")] = Path(
        "dalenius-workspace"
    ),
    port: Annotated[int, typer.Option("--port", help="Port; 0 takes a free one.", min=0, max=65535)] = 0,
    limit: Annotated[int, typer.Option("--largest", help="Largest file to accept, in MB.", min=1)] = 500,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--file",
            help="Large file of this computer (Parquet, CSV, Arrow) to read in parts, where it is.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Serve the page: open data, run methods, see the map, download a pack. Nothing leaves this computer."""
    try:
        import uvicorn  # noqa: PLC0415 (an extra)

        from dalenius.web.server import make_app  # noqa: PLC0415 (needs the extra)
    except ImportError:
        raise MissingExtraError("fastapi and uvicorn", "web", "serve the page") from None

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        raise DaleniusError(f"port {port} is taken; choose another, or 0 for a free one") from None
    token = secrets.token_urlsafe(24)
    number = listener.getsockname()[1]
    Terminal(quiet).out.print(
        f"Open http://127.0.0.1:{number}/enter?token={token}\n(works once; Ctrl+C ends the page, "
        f"runs are kept in {workspace})",
        soft_wrap=True,
    )
    workspace.mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = str(workspace.absolute())  # large uploads are spooled here and nowhere else
    page = make_app(workspace, token, number, limit, [path.absolute() for path in files or ()])
    uvicorn.Server(uvicorn.Config(page, log_level="warning", access_log=False)).run(sockets=[listener])
