"""Compile kernels in advance: ``python -m dalenius.core.compiling [FOLDER]``.

`_compiled/signatures.txt` lists which kernels are called with which types, one line each: module, function and the type
of every argument, such as ``int64[1C]`` for a contiguous array of one dimension, with ``!`` after the C when it cannot
be written to, or the types inside a tuple in brackets, after the name of a named one. ``make`` compiles the list while
it installs, and `hatch_build.py` when a wheel is built.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from numba.core import types as numba_types

from dalenius.core.kernels import BASELINE, KERNELS, SHIPPED, compile_into, stamp

types: Any = numba_types
LIST = SHIPPED / "signatures.txt"
TOKEN = re.compile(r"\w+\[\w+!?\]|[\w.]*\(|[\w.]+|[),]")


def spell(kind: Any) -> str:
    """Write a type down.

    Examples
    --------
    >>> from numba import types
    >>> spell(types.Array(types.int64, 2, "C", readonly=True)), spell(types.UniTuple(types.float64, 2))
    ('int64[2C!]', '(float64,float64)')
    """
    if isinstance(kind, types.BaseTuple):
        own = getattr(kind, "instance_class", None)  # of a named tuple
        name = "" if own is None else f"{own.__module__}.{own.__qualname__}".removeprefix("dalenius.")
        return f"{name}({','.join(spell(each) for each in kind)})"
    if isinstance(kind, types.Array):
        return f"{kind.dtype}[{kind.ndim}{kind.layout}{'' if kind.mutable else '!'}]"
    return str(kind)


def read(text: str) -> Any:
    """Read a type that `spell` wrote.

    Examples
    --------
    >>> print(read("int64[2C!]"), read("(float64,bool)"))
    readonly array(int64, 2d, C) Tuple(float64, bool)
    """
    return _read(iter(TOKEN.findall(text)))


def _read(tokens: Iterator[str]) -> Any:
    token = next(tokens)
    if token.endswith("("):
        inside, module = [], token[:-1].rpartition(".")
        own = getattr(importlib.import_module(f"dalenius.{module[0]}"), module[2]) if module[2] else None
        while token != ")":
            inside.append(_read(tokens))
            token = next(tokens)
        return types.BaseTuple.from_types(inside, own)
    array = re.fullmatch(r"(\w+)\[(\d)(\w)(!?)\]", token)
    if array is None:
        known = getattr(types, token)
        return (
            known(token) if isinstance(known, type) else known
        )  # a type without parts is named by its class
    name, dimensions, layout, fixed = array.groups()
    return types.Array(getattr(types, name), int(dimensions), layout, readonly=bool(fixed))


def listed() -> list[tuple[str, tuple[str, ...]]]:
    """Kernels of the list, each with the types of its arguments.

    Examples
    --------
    >>> "dalenius.counts._kernels.tally" in dict(listed())
    True
    """
    lines = LIST.read_text(encoding="utf-8").splitlines()
    split = [line.split() for line in lines if line and not line.startswith("#")]
    return [(f"dalenius.{module}.{name}", tuple(kinds)) for module, name, *kinds in split]


def used() -> list[tuple[str, tuple[str, ...]]]:
    """Kernels that Python has called in this process, with their types; what the list should have."""
    return sorted(
        (name, tuple(spell(kind) for kind in kinds))
        for name, kernel in KERNELS.items()
        for kinds in kernel.overloads
    )


def compile_all(place: Path) -> int:
    """Compile the list into a folder, on all cores, and say how many kernels there are."""
    if place != SHIPPED:  # what the checkout has compiled need not be compiled again
        for file in (*SHIPPED.glob("*.nbi"), *SHIPPED.glob("*.nbc")):
            shutil.copy(file, place)
    rooms: dict[str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for name, kinds in listed():
        rooms[name.split("_kernels")[0]].append((name, kinds))
    todo = sum(len(each) for each in rooms.values())
    os.environ |= {"NUMBA_CPU_NAME": BASELINE, "NUMBA_CPU_FEATURES": ""}  # read when a worker loads Numba
    context = multiprocessing.get_context("spawn")
    done = context.Value("i", 0)
    largest = sorted(rooms.values(), key=len, reverse=True)
    with context.Pool(min(len(os.sched_getaffinity(0)), len(largest)), _start, (done,)) as pool:
        waiting = pool.starmap_async(_compile, [(each, str(place)) for each in largest], chunksize=1)
        _watch(waiting, done, todo)
        waiting.get()
    _tidy(place)
    return todo


def _tidy(place: Path) -> None:
    """Leave what is listed and fresh: functions that others call are inside these."""
    fresh = {
        f"{name}-{stamp(Path(KERNELS[name].py_func.__code__.co_filename))[:12]}"
        for name, _ in listed()
        if importlib.import_module(name.rpartition(".")[0])
    }
    for file in (*place.glob("*.nbi"), *place.glob("*.nbc")):
        if file.name.partition(".py")[0] not in fresh:
            file.unlink()


def _watch(waiting: Any, done: Any, todo: int) -> None:
    shown = -1
    while not waiting.ready():
        waiting.wait(0.5)
        tenth = 10 * done.value // todo
        if tenth > shown:
            print(f"dalenius: compiling kernels, {done.value} of {todo}", flush=True)
            shown = tenth


_done: list[Any] = []


def _start(counter: Any) -> None:
    _done.append(counter)


def _compile(kernels: Sequence[tuple[str, tuple[str, ...]]], place: str) -> None:
    compile_into(Path(place))
    for name, kinds in kernels:
        importlib.import_module(name.rpartition(".")[0])
        KERNELS[name].compile(tuple(read(kind) for kind in kinds))
        with _done[0].get_lock():
            _done[0].value += 1


def main() -> None:
    """Compile the list into the folder that is named, or into the package."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED
    place.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    todo = compile_all(place)
    print(f"dalenius: {todo} kernels are compiled ({time.perf_counter() - begin:.0f} s)")


if __name__ == "__main__":
    main()
