"""What can be taken away from a run: the pack, the plan, the reports."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from dalenius.core.errors import DaleniusError
from dalenius.release import verify_pack
from dalenius.release.place import MANIFEST
from dalenius.release.verify import Verification
from dalenius.web.shell import Shell, download

REPORTS = {"report.html": "internal", "public-report.html": "public"}


def routes(shell: Shell) -> APIRouter:
    """Addresses of downloads."""
    router = APIRouter()

    @router.get("/run/{name}/public.zip")
    def public(name: str) -> Response:
        return _part(shell, name, "public")

    @router.get("/run/{name}/internal.zip")
    def internal(name: str) -> Response:
        return _part(shell, name, "internal")

    @router.get("/run/{name}/plan.yaml")
    def plan(name: str) -> Response:
        run = shell.run(name)
        if not run.plan.is_file():
            raise DaleniusError("this run has no plan yet")
        return download(run.plan.read_bytes(), "application/yaml", "plan.yaml")

    @router.post("/run/{name}/verify")
    def check(name: str) -> Response:
        run = shell.run(name)
        if not (run.pack / MANIFEST).is_file():
            raise DaleniusError("this run has no pack")
        found = verify_pack(run.pack, run.plan)
        return JSONResponse({"accepted": found.accepted, "said": _said(found)})

    @router.get("/run/{name}/{report}")
    def report(name: str, report: str) -> Response:
        run = shell.run(name)
        path = run.pack / REPORTS.get(report, "none") / "report.html"
        if not path.is_file():
            raise DaleniusError("this run has no such report")
        return download(path.read_bytes(), "text/html", report)

    return router


def _said(found: Verification) -> str:
    """What was found out about a pack, in one line."""
    if not found.accepted:
        return "Not as it was made: " + "; ".join(found.faults)
    again = f" Made again and equal: {', '.join(found.remade)}." if found.remade else ""
    return f"The pack is whole and unchanged.{again}"


def _part(shell: Shell, name: str, part: str) -> Response:
    """What may leave the house, or what stays; never both in one file. Unpacked into one folder they are the pack."""
    pack = shell.run(name).pack
    if not (pack / MANIFEST).is_file():
        raise DaleniusError("this run has no pack")
    kept = (pack / part).rglob("*") if part == "public" else [*pack.glob("*"), *(pack / part).rglob("*")]
    return download(zipped(pack, kept), "application/zip", f"release-{part}.zip")


def zipped(folder: Path, kept: Iterable[Path]) -> bytes:
    """Files of a pack as one archive."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in kept if p.is_file()):
            archive.write(path, str(path.relative_to(folder.parent)))
    return held.getvalue()
