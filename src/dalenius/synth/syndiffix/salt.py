"""The salt: the secret that makes noise reproducible for its owner and unpredictable for everybody else."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from dalenius.core.errors import OptionError
from dalenius.core.random import SHORTEST

SALT_FILE = "DALENIUS_SALT_FILE"
"""Environment variable that names the file of the user's own salt."""


def resolve_salt(salt: str | bytes | None) -> bytes:
    """The salt to use; without one, the user's own, made once and kept in a private file.

    The same salt must serve all releases from the same data: with a new salt for each release, noise could be averaged
    away. That is why the default is kept between runs and does not depend on a seed.

    Examples
    --------
    >>> resolve_salt("a long secret")
    b'a long secret'
    """
    if salt is not None:
        if not isinstance(
            salt, (str, bytes)
        ):  # bytes(12345) would be that many zeros, which anybody can guess
            raise OptionError("the salt must be text or bytes; put a number into quotes")
        held = salt.encode() if isinstance(salt, str) else salt
        if len(held) < SHORTEST:
            raise OptionError(
                f"the salt is too short to be a secret; give at least {SHORTEST} bytes, or none for your own kept one"
            )
        return held
    path = salt_path()
    try:
        return bytes.fromhex(path.read_text().strip())
    except FileNotFoundError:
        return _make(path)
    except (OSError, ValueError):
        raise OptionError(f"{path}: the salt cannot be read; repair the file, or give a salt") from None


def salt_path() -> Path:
    """File of the user's own salt (``DALENIUS_SALT_FILE``, or below the user's configuration folder)."""
    named = os.environ.get(SALT_FILE)
    if named:
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / "dalenius" / "syndiffix.salt"


def _make(path: Path) -> bytes:
    """Write a fresh salt without ever replacing one that another process made meanwhile."""
    fresh = secrets.token_bytes(16)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(fresh.hex())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return bytes.fromhex(path.read_text().strip())
        finally:
            temporary.unlink()
    except OSError as error:
        raise OptionError(
            f"{path}: the salt cannot be kept there ({error.strerror}); give a salt, or set {SALT_FILE}"
        ) from None
    return fresh
