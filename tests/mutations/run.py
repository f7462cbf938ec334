"""Put every fault of the list into a copy of the house, one at a time, and see whether its tests notice.

``python -m tests.mutations.run [--only TEXT] [--start N]``; nothing in the working tree is touched.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from shlex import split

from tests.mutations.faults import FAULTS, Fault

ROOT = Path(__file__).parents[2]


def noticed(house: Path, fault: Fault) -> bool:
    """Whether the tests of a fault fail with it; the file is as it was afterwards, to the time stamp."""
    path = house / "src" / "dalenius" / fault.file
    kept, stamp = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(kept.replace(fault.old, fault.new, 1), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    try:
        done = subprocess.run(
            [*command, *split(fault.tests)],
            cwd=house,
            env={**os.environ, "PYTHONPATH": str(house / "src")},
            capture_output=True,
            check=False,
        )
    finally:
        path.write_text(kept, encoding="utf-8")
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    if done.returncode not in (0, 1):  # the tests themselves did not run
        raise SystemExit(done.stdout.decode()[-3000:] + done.stderr.decode()[-3000:])
    return done.returncode == 1


def main() -> None:
    """Print one line for each fault; exit 1 if any went unnoticed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="Faults whose file contains this.")
    parser.add_argument("--start", type=int, default=1, help="Number in the list to begin with.")
    asked = parser.parse_args()
    chosen = [fault for fault in FAULTS[asked.start - 1 :] if asked.only in fault.file]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="dalenius-mutations-") as place:
        house = Path(place) / "house"
        leave_out = shutil.ignore_patterns(
            ".git", ".venv", "site", ".mypy_cache", ".ruff_cache", ".hypothesis"
        )
        shutil.copytree(ROOT, house, ignore=leave_out)  # with compiled kernels and their time stamps
        for fault in chosen:
            caught = noticed(house, fault)
            missed += not caught
            print(
                f"{FAULTS.index(fault) + 1:3} {'caught' if caught else 'MISSED'}  {fault.file}: {fault.new.strip()}",
                flush=True,
            )
    print(f"{len(chosen) - missed} of {len(chosen)} caught")
    raise SystemExit(missed > 0)


if __name__ == "__main__":
    main()
