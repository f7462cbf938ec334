"""What every address of the page needs: the workspace, the limit for files, and finished HTML."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from fastapi.responses import HTMLResponse, Response

from dalenius.core.errors import DaleniusError
from dalenius.web.workspace import Run, Workspace

PLACE = Path(__file__).parent / "templates"
MEGABYTE = 1 << 20


class NoSuchRunError(DaleniusError):
    """The address names no run of the workspace."""


class Shell:
    """The workspace and how its pages are drawn.

    Examples
    --------
    >>> import tempfile
    >>> Shell(Path(tempfile.mkdtemp()), 500).limit == 500 * MEGABYTE
    True
    """

    def __init__(self, workspace: Path, limit_mb: int, large: Sequence[Path] = ()) -> None:
        self.large = tuple(large)
        self.place = Workspace(workspace)
        self.limit_mb = limit_mb
        self.limit = limit_mb * MEGABYTE

    def run(self, name: str) -> Run:
        """The run an address names."""
        found = self.place.run(name)
        if found is None:
            raise NoSuchRunError("there is no such run")
        return found

    def page(self, name: str, status: int = 200, **facts: Any) -> HTMLResponse:
        """A finished page."""
        return HTMLResponse(_environment().get_template(f"{name}.html.j2").render(**facts), status)


def download(content: bytes, media: str, name: str) -> Response:
    """Something to be saved under a name of ours."""
    return Response(
        content, media_type=media, headers={"content-disposition": f'attachment; filename="{name}"'}
    )


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(PLACE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
