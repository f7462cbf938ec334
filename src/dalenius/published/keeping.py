"""`Kept`: how far a long attack has come, on disk, so that one that was killed goes on to the same bytes."""

from __future__ import annotations

import hashlib
import json
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.data.atomic import private_folder, replacing
from dalenius.published.figures import Published
from dalenius.published.ledger import to_plain

FINGERPRINT = "fingerprint"


def fingerprint(published: Published, **options: Any) -> str:
    """What decides the outcome of an attack: the figures, the options and the version."""
    facts = {"published": to_plain(published), "options": options, "version": version("dalenius")}
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


class Kept:
    """Arrays of one attack in one file; what another attack left there is not looked at.

    The file says how far bounds have come, so it is as confidential as the outcome: its folder is for its owner only.

    Examples
    --------
    >>> import tempfile
    >>> kept = Kept(Path(tempfile.mkdtemp()) / "attack.npz", "first")
    >>> kept.save(at=np.array(3))
    >>> int(kept.load()["at"]), Kept(kept.path, "second").load()
    (3, None)
    """

    def __init__(self, path: Path, mark: str) -> None:
        self.path, self.mark = path, mark

    def load(self) -> dict[str, Any] | None:
        """What was kept; None where nothing of this attack is there, or it cannot be read."""
        try:
            with np.load(self.path, allow_pickle=False) as held:
                found = {name: held[name] for name in held.files}
        except (OSError, ValueError, zipfile.BadZipFile, EOFError):
            return None
        return found if str(found.pop(FINGERPRINT, "")) == self.mark else None

    def save(self, **arrays: Any) -> None:
        """Keep arrays in place of those that were there, whole or not at all."""
        private_folder(self.path.parent)
        held: dict[str, Any] = {**arrays, FINGERPRINT: np.array(self.mark)}
        with replacing(self.path) as temporary, temporary.open("wb") as stream:
            np.savez(stream, **held)

    def drop(self) -> None:
        """Forget it: the attack is done."""
        self.path.unlink(missing_ok=True)
