"""Nothing is half-written: write to a temporary file beside the target, push it to the disk, then rename.

Both the file and the folder that names it are pushed (fsync): after a power cut there is the old file or the new one.
A file in a private folder (nobody else may look in) is private too.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dalenius.core.errors import FileError

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
ROOM = 1 << 16
"""Bytes below which a disk is full, whatever a library says."""


@contextmanager
def replacing(path: str | Path, *, private: bool = False) -> Iterator[Path]:
    """Path of a temporary file that takes the place of ``path`` when the block ends without an error.

    With ``private`` nobody but its owner may read the file.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "out.txt"
    >>> with replacing(target) as temporary:
    ...     _ = temporary.write_text("done")
    >>> target.read_text()
    'done'
    """
    target = readable_name(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".dalenius-", suffix=target.suffix)
    except OSError as error:
        raise FileError(f"{target}: cannot write here ({error.strerror}); choose another folder") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        os.chmod(temporary, PRIVATE_FILE if private else _mode(target.parent))
        push(temporary)
        os.replace(temporary, target)
        push(target.parent)
    except OSError as error:
        raise FileError(f"{target}: cannot write ({error.strerror or error}); choose another file") from None
    except Exception:  # libraries that write have errors of their own for a disk without room
        if shutil.disk_usage(target.parent).free >= ROOM:
            raise
        raise FileError(
            f"{target}: cannot write (the disk is full); make room, or choose another disk"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """Path of a temporary folder that takes the place of ``path``, all of it at once, when the block ends well.

    The two are exchanged in one step where the system can do that (Linux), so that after a kill there is the old folder
    or the new one.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "out"
    >>> with replacing_folder(target) as temporary:
    ...     _ = (temporary / "a.txt").write_text("done")
    >>> (target / "a.txt").read_text()
    'done'
    """
    target = readable_name(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=".dalenius-"))
    except OSError as error:
        raise FileError(f"{target}: cannot write here ({error.strerror}); choose another folder") from None
    try:
        yield temporary
        allowed = _mode(target.parent)
        os.chmod(temporary, allowed | (allowed & 0o444) >> 2)  # who may read a folder may look into it
        push(temporary)
        if target.is_dir():
            _exchange(temporary, target)
        else:
            os.rename(temporary, target)
        push(target.parent)
    except OSError as error:
        raise FileError(
            f"{target}: cannot write ({error.strerror or error}); choose another folder"
        ) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


EXCHANGE = 2
"""Flag of Linux's renameat2: both names change places in one step."""


def _exchange(new: Path, old: Path) -> None:
    """Let two folders change places; elsewhere than on Linux there is a moment in which neither has the name."""
    library = ctypes.CDLL(None, use_errno=True)
    here = -100  # names are taken from the current folder
    swap = getattr(library, "renameat2", None)
    if swap is not None and swap(here, os.fsencode(new), here, os.fsencode(old), EXCHANGE) == 0:
        return
    aside = new.with_name(f"{new.name}-old")
    os.rename(old, aside)
    os.rename(new, old)
    os.rename(aside, new)


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def private_folder(path: Path) -> Path:
    """The folder, made if it is not there, which only its owner may enter.

    Examples
    --------
    >>> import tempfile
    >>> oct(private_folder(Path(tempfile.mkdtemp()) / "a" / "b").stat().st_mode & 0o777)
    '0o700'
    """
    path.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    path.chmod(PRIVATE_FOLDER)
    return path


def push(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def readable_name(path: str | Path) -> Path:
    r"""The path, if its name is text; libraries that read and write files fail on other names.

    Examples
    --------
    >>> readable_name("people\udcff.csv")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.FileError: people\xff.csv: the name is not UTF-8; rename the file or folder
    """
    try:
        os.fspath(path).encode("utf-8")
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise FileError(f"{shown}: the name is not UTF-8; rename the file or folder") from None
    return Path(path)


def _mode(folder: Path) -> int:
    """What the folder and the user's own setting (umask) allow."""
    if folder.stat().st_mode & 0o077 == 0:
        return PRIVATE_FILE
    current = os.umask(0)
    os.umask(current)
    return 0o666 & ~current
