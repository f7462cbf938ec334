"""The checker's page: a queue of outputs, what was found about each, and the decision; all by keyboard."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from dalenius.core.errors import DaleniusError
from dalenius.outputs.pack import Pack, read_pack, verify_outputs
from dalenius.web.checking_view import queue, shown_output
from dalenius.web.shell import Shell, download

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")


def routes(shell: Shell) -> APIRouter:
    """Addresses of output checking."""
    router = APIRouter()

    @router.get("/outputs")
    def folders() -> Response:
        found = [_told(path) for path in _folders(shell)]
        return shell.page("outputs", title="Outputs to be checked", folders=found, place=_place(shell))

    @router.get("/outputs/{name}")
    def check(name: str) -> Response:
        pack = _pack(shell, name)
        records = queue(pack)
        shown = [shown_output(pack, record) for record in records]
        faults = verify_outputs(pack.folder)
        waiting = sum(not r.decision for r in records)
        facts: dict[str, Any] = {
            "outputs": shown,
            "faults": faults,
            "waiting": waiting,
            "evidence": pack.has_evidence,
            "warning": pack.warning,
        }
        return shell.page("checking", title=f"Outputs of {name}", pack=name, **facts)

    @router.post("/outputs/{name}/decide")
    async def decide(name: str, request: Request) -> Response:
        pack = _pack(shell, name)
        async with request.form(max_fields=2000, max_files=0) as form:
            uids = [str(u) for u in form.getlist("output")]
            reason, (uid, _, way) = (
                str(form.get("reason", ""))[:2000],
                str(form.get("fix", "")).partition(":"),
            )
            if way:
                pack.decide([uid], "approve", reason, "checker", way)
            else:
                pack.decide(uids, str(form.get("decision", "")), reason, "checker")
        return RedirectResponse(f"/outputs/{name}", 303)

    @router.get("/outputs/{name}/approved.zip")
    def approved(name: str) -> Response:
        pack = _pack(shell, name)
        faults = verify_outputs(pack.folder)
        if faults:
            raise DaleniusError(f"the folder was changed after it was written: {'; '.join(faults[:5])}")
        if not pack.files():
            raise DaleniusError("nothing is approved yet")
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in pack.files():
                archive.write(path, path.name)
        return download(held.getvalue(), "application/zip", f"{name}-approved.zip")

    return router


def _place(shell: Shell) -> Path:
    return shell.place.folder / "outputs"


def _folders(shell: Shell) -> list[Path]:
    place = _place(shell)
    if not place.is_dir():
        return []
    return sorted(p for p in place.iterdir() if NAME.fullmatch(p.name) and (p / "manifest.json").is_file())


def _pack(shell: Shell, name: str) -> Pack:
    """The folder an address names; only names of folders that are there are looked at."""
    found = [p for p in _folders(shell) if p.name == name]
    if not found:
        raise DaleniusError("there is no such folder of outputs")
    return read_pack(found[0])


def _told(path: Path) -> dict[str, object]:
    records = read_pack(path).records
    return {"name": path.name, "number": len(records), "waiting": sum(not r.decision for r in records)}
