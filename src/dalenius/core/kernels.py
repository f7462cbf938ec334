"""`njit`: Numba's own, except that the machine code may arrive with the package instead of being made at first use.

Numba keeps compiled functions in files. Ours are looked for in the package's folder `_compiled`, where the wheel (and
`make`) put them, compiled for a baseline processor, and then in a folder of the user, where everything is kept that had
to be compiled after all: another Numba, another processor, a type that is not in the list. Neither has to be writable.

Numba calls a kept function fresh while its own file is unchanged, although the code of the functions it calls is inside
it. Here it is fresh while its file and all files of ours that it imports from, near or far, are unchanged.
"""

from __future__ import annotations

import hashlib
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.types.misc import unliteral
from numba.misc.appdirs import AppDirs

ROOT = Path(__file__).resolve().parents[1]
"""Folder of the package."""
SHIPPED = ROOT / "_compiled"
"""Where machine code that came with the package lies."""
BASELINE = {"x86_64": "x86-64-v3", "amd64": "x86-64-v3"}.get(platform.machine().lower(), "generic")
"""Processor that is compiled for in advance: of 2013 or later."""
NEEDED = {"x86-64-v3": {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt"}}
"""What the processor must be able to do, so that code for the baseline runs on it."""
PATIENCE = 3
"""Functions that may be compiled before a line says so: a type out of the ordinary is no reason to speak."""
COMPILING = (
    "compiling for this machine, since no machine code that fits came with the package "
    "(up to two minutes; kept for later runs)"
)
"""What is said when it takes a while for that reason."""
LITTLE = 10_000_000
"""Steps of a loop that one thread has taken before others wake up: on a busy machine they spin while they wait."""
KERNELS: dict[str, Any] = {}
"""Every kernel that is kept, by module and name."""
IMPORTS = re.compile(r"^from (dalenius[\w.]*) import (\([^)]*\)|[^\n]*)", re.M)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function as `numba.njit` does, with ``cache=True`` looking where our machine code lies.

    Examples
    --------
    >>> @njit(nogil=True)
    ... def twice(x):
    ...     return 2 * x
    >>> twice(4)
    8
    """
    keep = options.pop("cache", False)

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher: Any = numba.njit(**options)(function)
        if not hasattr(dispatcher, "overloads"):  # NUMBA_DISABLE_JIT leaves functions as they are
            return dispatcher
        dispatcher.get_call_template = _for_any_number(dispatcher.get_call_template)
        if keep:
            dispatcher._cache = KernelCache(function)
            KERNELS[f"{function.__module__}.{function.__qualname__}"] = dispatcher
        return dispatcher

    return decorate


def _for_any_number(template: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function for ``int64`` once, not once more for every constant that other kernels call it with."""

    def plain(args: Any, kws: Any) -> Any:
        args = tuple(unliteral(kind) for kind in args)
        return template(args, {name: unliteral(kind) for name, kind in kws.items()})

    return plain


@contextmanager
def threads_for(steps: float) -> Iterator[None]:
    """Leave a parallel loop of few steps to one thread; its outcome does not depend on threads.

    Examples
    --------
    >>> with threads_for(1000):
    ...     numba.get_num_threads()
    1
    """
    usual = numba.get_num_threads()
    if steps >= LITTLE or usual == 1:
        yield
        return
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(usual)


def places() -> list[Path]:
    """Where compiled kernels may lie: the package, then a folder of the user, shared by all copies of the package."""
    if not _state.places:
        user = config.CACHE_DIR or AppDirs(appname="dalenius", appauthor=False).user_cache_dir
        _state.places = [SHIPPED, Path(user) / "kernels"]
    return _state.places


def compile_into(place: Path) -> None:
    """Keep what is compiled from now on in one folder, look nowhere else, and say nothing."""
    _state.places, _state.patience = [place], 0


@dataclass
class _State:
    """What holds for this process."""

    places: list[Path] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    patience: int = PATIENCE


_state = _State()


def missed() -> list[str]:
    """Kernels that had to be compiled in this process, by module and name.

    Examples
    --------
    >>> all(name.startswith("dalenius.") for name in missed())
    True
    """
    return list(_state.missed)


@cache
def baseline_fits() -> bool:
    """Whether code that was compiled for the baseline runs on this processor.

    Examples
    --------
    >>> baseline_fits() in (True, False)
    True
    """
    able = binding.get_host_cpu_features()
    return all(able.get(feature, False) for feature in NEEDED.get(BASELINE, ()))


@cache
def sources(path: Path) -> frozenset[Path]:
    """Give a file and every file of the package that it imports from, near or far."""
    files = {path}
    for module, names in IMPORTS.findall(path.read_text(encoding="utf-8")):
        folder = ROOT.joinpath(*module.split(".")[1:])
        near = [folder, *(folder / name for name in re.findall(r"\w+", names))]
        for file in (each.with_suffix(".py") for each in near):
            if file.is_file() and "_kernels" in str(file.relative_to(ROOT)):
                files |= sources(file)
    return frozenset(files)


@cache
def stamp(path: Path) -> str:
    """Hash of all source that decides what a kernel of this file does."""
    digest = hashlib.sha256()
    for file in sorted(sources(path)):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


class KernelFiles(CompileResultCacheImpl):  # type: ignore[misc]
    """How a kernel is written down.

    All lie in one folder, so the name of a file has the module in it, and the source's stamp, so that several states of
    the source do not take turns in overwriting each other.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._lineno = function.__code__.co_firstlineno
        self.stamp = stamp(Path(function.__code__.co_filename))
        self.name = f"{function.__module__}.{function.__qualname__}"
        python = f"py{sys.version_info[0]}{sys.version_info[1]}"
        self._filename_base = f"{self.name}-{self.stamp[:12]}.{python}"


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Compiled forms of one kernel; nothing is read before one is called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = repr(function)
        self._py_func = function
        self.enable()

    @cached_property
    def _impl(self) -> KernelFiles:
        return KernelFiles(self._py_func)

    @property
    def cache_path(self) -> str:
        """Where what has to be compiled is kept."""
        return str(places()[-1])

    def flush(self) -> None:
        """Forget what was kept where new code is kept."""
        self._file(places()[-1]).flush()

    def _file(self, place: Path) -> IndexDataCacheFile:
        return IndexDataCacheFile(str(place), self._impl.filename_base, self._impl.stamp)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        own = self._index_key(sig, target_context.codegen())
        keys = [own, _for_baseline(own)] if baseline_fits() else [own]
        for place in places():
            for key in keys:
                try:
                    data = self._file(place).load(key)
                    if data is not None:
                        return self._impl.rebuild(target_context, data)
                except Exception:
                    continue
        self._say()
        return None

    def _save_overload(self, sig: Any, data: Any) -> None:
        place = places()[-1]
        if not (self._impl.check_cachable(data) and writable(place)):
            return
        file, key, code = self._file(place), self._index_key(sig, data.codegen), self._impl.reduce(data)
        try:
            file.save(key, code)
        except Exception:  # a damaged index, or no room: the code is there, only it is not kept
            with suppress(Exception):
                file.flush()
                file.save(key, code)

    def _say(self) -> None:
        _state.missed.append(self._impl.name)
        if len(_state.missed) == _state.patience:
            print(f"dalenius: {COMPILING} …", file=sys.stderr, flush=True)


@cache
def writable(place: Path) -> bool:
    """Whether files can be written there; the folder is made if need be."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return False
    return True


def _for_baseline(key: Any) -> Any:
    """The same function compiled for the baseline processor instead of this one."""
    signature, (triple, _name, _features), code = key
    return signature, (triple, BASELINE, ""), code
