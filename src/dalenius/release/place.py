"""Where a pack goes: an empty place, or that of an older pack of the same plan, written whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from dalenius.core.errors import FileError
from dalenius.data.atomic import private_folder, push, write_text
from dalenius.release.signing import signature

MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"


class Placed(Protocol):
    """A plan of any kind."""

    @property
    def path(self) -> Path | None:
        """File of the plan."""

    @property
    def output(self) -> Path:
        """Folder of the pack."""


def plan_place(plan: Placed) -> str | None:
    """File of the plan, as seen from the pack."""
    return os.path.relpath(plan.path, plan.output) if plan.path else None


def check_place(plan: Placed) -> None:
    """Refuse a place that holds something else, before anything is made or paid for."""
    target = plan.output
    if not target.exists():
        return
    if not (target / MANIFEST).is_file():
        if any(target.iterdir()):
            raise FileError(f"{target}: something else is here, not a release pack; choose another output")
        return
    try:
        there = json.loads((target / MANIFEST).read_text(encoding="utf-8")).get("plan_file")
    except (ValueError, AttributeError):  # a damaged pack is replaced
        return
    mine = plan_place(plan)
    if there and mine and there != mine:
        raise FileError(
            f"{target}: here is the pack of another plan, {Path(there).name}; give {Path(mine).name} an 'output' "
            "of its own, or move that pack away"
        )


def put_in_place(plan: Placed, work: Path, fill: Callable[[Path], None], key: Path | None) -> Path:
    """A pack in the place of an older one, filled in the work folder, signed, and moved whole."""
    check_place(plan)
    target, folder, old = plan.output, work / "pack", work / "old-pack"
    for stale in (folder, old):
        shutil.rmtree(stale, ignore_errors=True)
    for part in (folder, folder / "public", folder / "internal"):
        private_folder(part)
    fill(folder)
    if key is not None:
        write_text(folder / SIGNATURE, signature((folder / MANIFEST).read_bytes(), key))
    if target.exists():
        os.replace(target, old)
    os.replace(folder, target)
    push(target.parent)
    shutil.rmtree(old, ignore_errors=True)
    return target
