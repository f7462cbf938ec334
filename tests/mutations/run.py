"""Put every fault of the list into a copy of the house, one at a time, and see whether its tests notice.

``python -m tests.mutations.run [--only TEXT] [--start N] [--stop N] [--sample N --seed N] [--jobs N]``; the working
tree stays as it is.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from pathlib import Path
from shlex import split

from tests.mutations.faults import FAULTS, Fault

ROOT = Path(__file__).parents[2]
LONGEST = 900
"""Seconds after which a fault counts as one that makes the work endless, which nobody overlooks."""
LIBRARIES = (
    *("_pytest.assertion.rewrite", "pytest", "hypothesis", "xdist", "numba", "scipy.stats", "scipy.optimize"),
    *("polars", "pyarrow", "pandas", "narwhals", "altair", "jinja2", "yaml", "typer.testing", "rich.console"),
    *("sklearn.linear_model", "statsmodels.api", "fastapi.testclient", "duckdb", "opendp.prelude"),
)
"""Imported once, before each fault gets a process of its own: most of a test's time is spent waiting for them."""


def apart(work: Callable[[], int]) -> int:
    """The number of a process that does the work and leaves with the code it gives, or 255 and the reason."""
    child = os.fork()
    if child:
        return child
    code = 255
    try:
        code = work()
        sys.stdout.flush()
    except BaseException:  # nothing of the parent's may go on in a child
        traceback.print_exc()
    os._exit(code)


def tested(house: Path, fault: Fault) -> int:
    """Run the tests of a fault on a house: pytest's own code."""
    signal.alarm(LONGEST)
    os.chdir(house)
    os.environ["PYTHONPATH"] = str(house / "src")
    sys.path[:] = [
        str(house),
        str(house / "src"),
        *(place for place in sys.path if Path(place or ".") != ROOT),
    ]
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
        del sys.modules[name]
    with (house / "said.txt").open("wb") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    import pytest

    loaded = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # libraries that are plugins of pytest too
    return int(pytest.main(["-x", "-p", "no:cacheprovider", "-m", "not slow", *loaded, *split(fault.tests)]))


def left(child: int) -> int:
    """The code a child left with."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def put_in(house: Path, fault: Fault) -> Iterator[None]:
    """A house with the fault; the file is as it was afterwards, to the time stamp."""
    path = house / "src" / "dalenius" / fault.file
    kept, stamp = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(kept.replace(fault.old, fault.new, 1), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(kept, encoding="utf-8")
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def noticed(house: Path, fault: Fault) -> bool:
    """Whether the tests of a fault fail with it."""
    with put_in(house, fault):
        code = left(apart(lambda: tested(house, fault)))
    if code not in (0, 1, -signal.SIGALRM):  # the tests themselves did not run
        raise SystemExit((house / "said.txt").read_text(encoding="utf-8", errors="replace")[-6000:])
    return code != 0


def look(house: Path, chosen: list[Fault]) -> int:
    """Print one line for each fault; how many went unnoticed."""
    missed = 0
    for fault in chosen:
        caught = noticed(house, fault)
        missed += not caught
        number, word = FAULTS.index(fault) + 1, "caught" if caught else "MISSED"
        print(f"{number:3} {word}  {fault.file}: {' '.join(fault.new.split())}", flush=True)
    return min(missed, 250)  # a process cannot say more


def sampled(faults: list[Fault], number: int, seed: int) -> list[Fault]:
    """So many of the faults, as many from each room as there are, and the last of each, which is mostly new."""
    rng = random.Random(seed)
    rooms: dict[str, list[Fault]] = {}
    for fault in faults:
        rooms.setdefault(fault.room, []).append(fault)
    order = [[last, *rng.sample(others, len(others))] for *others, last in rooms.values()]
    turns = [fault for turn in zip_longest(*order) for fault in turn if fault]
    return turns[:number]


def main() -> None:
    """Look at all faults that were asked for; exit 1 if any went unnoticed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="Faults whose file contains this.")
    parser.add_argument("--start", type=int, default=1, help="Number in the list to begin with.")
    parser.add_argument("--stop", type=int, default=len(FAULTS), help="Number in the list to end with.")
    parser.add_argument("--sample", type=int, help="Only so many of these, spread over the rooms.")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the sample.")
    parser.add_argument("--jobs", type=int, default=2, help="Copies of the house that are tried at once.")
    asked = parser.parse_args()
    chosen = [fault for fault in FAULTS[asked.start - 1 : asked.stop] if asked.only in fault.file]
    if asked.sample is not None:
        chosen = sampled(chosen, asked.sample, asked.seed)
    leave_out = shutil.ignore_patterns(".git", ".venv", "site", ".mypy_cache", ".ruff_cache", ".hypothesis")
    for name in LIBRARIES:
        importlib.import_module(name)
    if "dalenius" in sys.modules:  # it would be tested without its fault
        raise SystemExit("dalenius was loaded before a fault could be put in")
    with tempfile.TemporaryDirectory(prefix="dalenius-mutations-") as place:
        children = []
        for job in range(asked.jobs):
            house = Path(place) / f"house{job}"
            shutil.copytree(ROOT, house, ignore=leave_out)  # with compiled kernels and their time stamps
            children.append(apart(partial(look, house, chosen[job :: asked.jobs])))
        codes = [left(child) for child in children]
    if any(code < 0 or code > 250 for code in codes):
        raise SystemExit("a part of the list was not looked at")
    print(f"{len(chosen) - sum(codes)} of {len(chosen)} caught")
    raise SystemExit(sum(codes) > 0)


if __name__ == "__main__":
    main()
