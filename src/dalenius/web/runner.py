"""The process that carries out one run of the page: ``python -m dalenius.web.runner FOLDER``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dalenius.core.errors import DaleniusError
from dalenius.release import read_plan, run_plan, write_pack
from dalenius.web.large import carry_out_large
from dalenius.web.workspace import Run, note_state


def carry_out(folder: Path) -> None:
    """Run the plan of a folder and write its pack, noting progress."""
    me = os.getpid()

    def progress(name: str, done: int, of: int) -> None:
        note_state(folder, state="running", done=done, of=of, now=name, pid=me)

    try:
        if Run(folder).large:
            carry_out_large(Run(folder), me)
            return
        release = run_plan(read_plan(folder / "plan.yaml"), None, progress)
        of = len(release.judged)
        if release.chosen is None:
            note_state(folder, state="refused", why=release.why, done=of, of=of)
            return
        progress("writing the pack", of, of)
        key = os.environ.get("DALENIUS_KEY")
        write_pack(release, key=Path(key) if key else None)
        note_state(folder, state="done", why=release.why, done=of, of=of)
    except DaleniusError as error:
        note_state(folder, state="failed", why=str(error))
    except Exception as error:  # the text of an unexpected error may quote the data
        note_state(folder, state="failed", why=f"internal error ({type(error).__name__})")


if __name__ == "__main__":
    carry_out(Path(sys.argv[1]))
