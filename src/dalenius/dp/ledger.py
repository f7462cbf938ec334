"""`Ledger`: the budget of one data set, kept in a file beside it.

Whoever releases something about the data spends from the same file, whatever program or person it is. A spend is
written down, with fsync, *before* any noise is drawn for it: a program that is killed afterwards has spent without
using it, never used without spending. Lines are only ever added, one at a time under a lock of the file; each carries
a checksum that also covers the line before it, so that a line that was changed or taken out is noticed. A line that a
kill cut short was never acknowledged to anybody and is removed by the next spend.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import fcntl
import getpass
import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dalenius.core.errors import FileError, OptionError
from dalenius.dp.budget import Accounting, Budget, Neighbours, Spend

WAIT = 30.0
"""Seconds to wait for another program that is spending right now."""
ENDING = ".budget"
_TERMS = ("epsilon", "delta", "neighbours", "accounting", "unit")


def ledger_path(data: str | Path) -> Path:
    """Where the ledger of a data file lies: beside it, also when the file is reached by a link.

    A symbolic link is followed wherever it leads. Another name of the same file (a hard link) finds the ledger when
    both names are in one folder; see `ledger_beside` for those that are not.

    Examples
    --------
    >>> ledger_path("people.csv").name
    'people.csv.budget'
    """
    path = Path(data).resolve()
    own = path.with_name(path.name + ENDING)
    if own.exists() or _names(path) < 2:
        return own
    named = (p.with_name(p.name.removesuffix(ENDING)) for p in sorted(path.parent.glob(f"*{ENDING}")))
    return next((p.with_name(p.name + ENDING) for p in named if p.exists() and p.samefile(path)), own)


def ledger_beside(data: str | Path) -> Path | None:
    """The ledger that pays for what is released about a data file; None where there is none.

    A file with several names (hard links) whose ledger cannot be seen from here is an error: it may lie beside a name
    in another folder, and nobody would add up.

    Examples
    --------
    >>> ledger_beside("nowhere.csv") is None
    True
    """
    path = ledger_path(data)
    if path.is_file():
        return path
    several = _names(Path(data).resolve())
    if several > 1:
        raise FileError(
            f"{data} is one of {several} names of the same file, and its ledger may lie beside another of them; say "
            "which ledger pays (--ledger), or begin one here (dalenius dp budget)"
        )
    return None


def _names(path: Path) -> int:
    """How many names (hard links) a file has; 0 where there is no file."""
    try:
        return path.stat().st_nlink
    except OSError:
        return 0


@dataclass
class Ledger(Budget):
    """A `Budget` that lives in a file; see `open_ledger`."""

    path: Path = Path()
    wait: float = WAIT
    read: tuple[str, int] = ("", 0)
    """Last checksum that was read, and where its line ends: what is before was checked once."""

    def spend(
        self, what: str, *, epsilon: float = 0.0, delta: float = 0.0, rho: float = 0.0, noise: str = "",
        part: tuple[str, str] | None = None, output: str = "",
    ) -> None:  # fmt: skip
        """Write a spend into the file, durably; an error, and no line, when it would be too much."""
        with _locked(self.path, self.wait) as stream:
            self._reload(stream)
            super().spend(what, epsilon=epsilon, delta=delta, rho=rho, noise=noise, part=part, output=output)
            who, when = _stamp()
            self.spends[-1] = replace(self.spends[-1], who=who, when=when)
            try:
                self.read = _append(stream, asdict(self.spends[-1]), *self.read)
            except OSError as error:
                self.spends.pop()
                raise FileError(f"{self.path}: cannot write ({error.strerror}); nothing was spent") from None

    def _reload(self, stream: Any) -> None:
        """Read what others spent meanwhile, and remove a line that was cut short."""
        entries, self.read = _read(stream, self.path, *self.read)
        self.spends += [_spend(entry) for entry in entries]
        stream.truncate(self.read[1])


def open_ledger(
    path: str | Path, epsilon: float | None = None, delta: float | None = None, *,
    neighbours: Neighbours | None = None, accounting: Accounting | None = None, unit: str | None = None,
    wait: float = WAIT,
) -> Ledger:  # fmt: skip
    """Open the ledger of a data set, or begin one.

    Parameters
    ----------
    path
        The ledger file (`ledger_path` gives the one beside a data file).
    epsilon, delta, neighbours, accounting, unit
        Terms of a new ledger, as in `Budget`; an old one has its own, and other terms are refused: who asks for a
        ledger of people must not spend from one of records. By default the ε and the δ of all spends add up, which
        people can check by hand; "zcdp" allows more where all spends are Gaussian.
    wait
        Seconds to wait for another program that is spending.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "people.csv.budget"
    >>> open_ledger(file, epsilon=1.0).spend("count of people", epsilon=0.25, output="table 1")
    >>> open_ledger(file).left
    0.75
    >>> open_ledger(file).spend("more", epsilon=0.8)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: 'more' would cost 1.05 of a budget of 1; ask for less, or give a larger epsilon
    """
    file = Path(path)
    asked = {
        "epsilon": epsilon,
        "delta": delta,
        "neighbours": neighbours,
        "accounting": accounting,
        "unit": unit,
    }
    if not file.exists():
        if epsilon is None:
            raise FileError(f"{file}: there is no ledger; begin one by giving epsilon (and delta)")
        usual = Budget(epsilon, delta or 0.0, neighbours or "add-remove", accounting or _plain(delta or 0.0))
        _begin(file, replace(usual, unit=unit or usual.unit))
    with _locked(file, wait) as stream:
        entries, read = _read(stream, file)
    if not entries:
        raise FileError(f"{file}: not a ledger")
    terms = entries[0]
    other = [name for name, value in asked.items() if value is not None and value != terms[name]]
    if other:
        held = ", ".join(f"{name} {terms[name]}" for name in other if name != "epsilon")
        raise OptionError(
            f"{file} is a ledger of ε = {terms['epsilon']:g}{f' with {held}' if held else ''}; "
            f"open it without {' and '.join(other)}"
        )
    return Ledger(**terms, spends=[_spend(entry) for entry in entries[1:]], path=file, wait=wait, read=read)


def _plain(delta: float) -> Accounting:
    return "approximate" if delta else "pure"


def _begin(path: Path, budget: Budget) -> None:
    """The first line, with the terms; whoever comes second finds it there."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise FileError(f"{path}: cannot begin a ledger here ({error.strerror})") from None
    with os.fdopen(handle, "r+b", buffering=0) as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        if os.fstat(stream.fileno()).st_size == 0:
            _append(stream, {name: getattr(budget, name) for name in _TERMS}, "", 0)
    folder = os.open(path.parent, os.O_RDONLY)  # so that the file's name is durable too
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _append(stream: Any, entry: dict[str, Any], last: str, end: int) -> tuple[str, int]:
    """Add a line after one that ends at ``end``, durably; its checksum and its end."""
    body = json.dumps(entry, ensure_ascii=False, sort_keys=True)
    checksum = _checksum(last, body)
    line = f"{checksum} {body}\n".encode()
    if stream.write(line) != len(line):
        raise OSError(errno.ENOSPC, "the disk is full")
    os.fsync(stream.fileno())
    return checksum, end + len(line)


@contextlib.contextmanager
def _locked(path: Path, wait: float) -> Iterator[Any]:
    """The file, alone; a program that was killed lets go by itself."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND)
    except OSError as error:
        raise FileError(f"{path}: cannot open the ledger ({error.strerror})") from None
    with os.fdopen(handle, "r+b", buffering=0) as stream:
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= end:
                    raise OptionError(f"{path} is in use by another program; nothing was spent") from None
                time.sleep(0.01)
        yield stream


def _read(
    stream: Any, path: Path, last: str = "", end: int = 0
) -> tuple[list[dict[str, Any]], tuple[str, int]]:
    """Entries from ``end`` on, the last checksum, and where the last whole line ends."""
    stream.seek(end)
    content = stream.read() or b""
    if os.fstat(stream.fileno()).st_size < end:
        raise FileError(f"{path}: lines were taken out; restore the ledger, nothing can be spent from it")
    entries: list[dict[str, Any]] = []
    for line in content.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break  # cut short by a kill: nobody was told that it was spent
        checksum, _, body = line[:-1].decode("utf-8", errors="replace").partition(" ")
        if checksum != _checksum(last, body):
            raise FileError(f"{path}: a line was changed; restore the ledger, nothing can be spent from it")
        entries.append(json.loads(body))
        last, end = checksum, end + len(line)
    return entries, (last, end)


def _checksum(last: str, body: str) -> str:
    return hashlib.blake2b(f"{last} {body}".encode(), digest_size=16).hexdigest()


def _spend(entry: dict[str, Any]) -> Spend:
    part = entry.pop("part", None)
    return Spend(**entry, part=tuple(part) if part else None)


def _stamp() -> tuple[str, str]:
    """Who is spending, and when."""
    try:
        who = getpass.getuser()
    except (KeyError, OSError):
        who = "unknown"
    return who, dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
