"""Verifying a pack: who signed it, is it whole and unchanged, and does it come out again.

What is computed again: the chosen file's figures from the released data and the source, the verdict of the policy, and
every report that can be written from them. A file with fresh noise cannot be made again: it is taken as given, and all
that is said about it is remade. `Verification` lists which files were remade and which were not.
"""

from __future__ import annotations

import hmac
import json
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dalenius.core.errors import DaleniusError, FileError
from dalenius.data.atomic import write_text
from dalenius.release.copies import copy_faults, table_faults
from dalenius.release.fit_pack import strange_fit_files
from dalenius.release.fit_verify import fit_faults
from dalenius.release.jobs import file_digest, source
from dalenius.release.learnt_pack import learnt_faults, strange_learnt_files
from dalenius.release.model_pack import MODEL
from dalenius.release.model_verify import model_faults, model_files_strange
from dalenius.release.origins import changed_origins
from dalenius.release.pack import (
    CHECKSUMS,
    checksums,
    digest_of,
    pack_digest,
    strange_files,
    write_pack,
)
from dalenius.release.place import MANIFEST, SIGNATURE
from dalenius.release.plan import Plan, read_plan
from dalenius.release.rebuild import Damage, figure_faults, remaking
from dalenius.release.run import run_plan
from dalenius.release.several import whole_base
from dalenius.release.signing import signature_fault, signed_by
from dalenius.report import Provenance

NEEDED = frozenset({"seed", "plan", "inputs", "files", "date", "threshold", "chosen", "repeatable", "digest"})
"""What every manifest says."""
FOLDERS = frozenset({"public", "internal"})
LONGEST = 1 << 26
"""Bytes of a manifest that are read: a pack has some dozens of files."""
Progress = Callable[[str, int, int], None]
KINDS: dict[str, tuple[Callable[[Any], list[str]], Callable[[Path, dict[str, Any], Path], list[str]]]] = {
    "model": (model_files_strange, model_faults),
    "fit": (strange_fit_files, fit_faults),
    "learnt": (strange_learnt_files, learnt_faults),
}
"""Packs of something else than a file: which of their files are strange, and what does not come out again."""


@dataclass
class Verification:
    """Faults (the pack is not accepted), remarks (what could not be told), and which files were remade."""

    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    remade: list[str] = field(default_factory=list)
    not_remade: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.faults


def verify_pack(
    folder: str | Path,
    plan: str | Path | None = None,
    *,
    public_key: str | Path | None = None,
    digest: str | None = None,
) -> Verification:
    """Check a pack: signature, changed, missing or added files, an edited plan or input, figures that do not come out.

    Parameters
    ----------
    folder
        The pack.
    plan
        The plan beside its input; looked for where the manifest says it was. Where it is not there (the pack was sent
        elsewhere) only signature and files are checked, and a remark says so.
    public_key
        The steward's public key, had by another way than the pack. With it an unsigned pack is refused.
    digest
        SHA-256 of the manifest as it was written into the minutes.

    Examples
    --------
    >>> verify_pack("nowhere")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.FileError: nowhere: no manifest.json; this is not a release pack
    """
    where = Path(folder)
    body = _manifest(where)
    verified = Verification(not_remade=sorted(body["files"]))
    _check_origin(verified, where, Path(public_key) if public_key else None, digest)
    verified.faults += _file_faults(where, body)
    place = Path(plan) if plan is not None else _plan_place(where, body)
    if verified.faults:
        return verified
    if place is None:
        verified.faults += [] if body.get("kind") in KINDS else copy_faults(where)
        verified.remarks.append(
            "the figures were not computed again: the plan and its input are not here (name the plan with --plan)"
        )
        return verified
    if body.get("kind") in KINDS:
        verified.faults += KINDS[body["kind"]][1](where, body, place)
        if (where / "public" / CHECKSUMS).read_text(encoding="utf-8") != checksums(where / "public"):
            verified.faults.append(f"public/{CHECKSUMS} is not that of the files beside it")
        if not verified.faults:
            # What everybody reads is written again; a model's own file is opened and checked instead.
            verified.remade = [n for n in body["files"] if n.startswith("public/") and not n.endswith(MODEL)]
            verified.not_remade = sorted(set(body["files"]) - set(verified.remade))
        return verified
    try:
        held = read_plan(place)
    except DaleniusError as error:
        verified.faults.append(f"the plan cannot be used any more: {error}")
        return verified
    verified.faults += _plan_faults(body, held) or (
        table_faults(where, whole_base(held)) if held.several else copy_faults(where, source(held)[0])
    )
    if not verified.faults:
        _remake(verified, where, body, held)
    return verified


def check_release(plan: Plan, workers: int | None = None, progress: Progress | None = None) -> Verification:
    """The gate for an office's own checks: the pack verifies, and the plan gives the same files again."""
    verified = verify_pack(plan.output, plan.path)
    if not verified.faults:
        _remake(verified, plan.output, _manifest(plan.output), plan, workers, progress, anew=True)
    return verified


def _remake(
    verified: Verification, where: Path, body: dict[str, Any], plan: Plan, workers: int | None = 1,
    progress: Progress | None = None, anew: bool = False,
) -> None:  # fmt: skip
    """Write the pack again, from files that are given or (``anew``) made again, and compare."""
    with tempfile.TemporaryDirectory(prefix="dalenius-verify-") as place:
        try:
            again = remaking(Path(place), where, body, plan, anew)
            release = run_plan(again.plan, workers, progress)
            if release.chosen is None or release.chosen.candidate.name != body["chosen"]:
                verified.faults.append(f"the plan now chooses otherwise: {release.why}")
                return
            verified.faults += figure_faults(where, release.chosen)
            pack = write_pack(release, body["threshold"])
            # Copies of the data may be other bytes with the same cells: the sums are of the files that are there.
            write_text(pack / "public" / CHECKSUMS, checksums(where / "public"))
        except Damage as error:
            verified.faults.append(str(error))
            return
        except DaleniusError as error:
            verified.faults.append(f"the pack cannot be made again: {error}")
            return
        compared = [name for name in sorted(body["files"]) if again.covers(name)]
        differing = [
            name
            for name in compared
            if not (pack / name).is_file() or file_digest(pack / name) != body["files"][name]
        ]
    same = body.get("versions") == dict(Provenance.now().versions)
    why = "" if same else " (the pack was made with other versions of Dalenius or its libraries)"
    verified.faults += [f"{name} comes out differently{why}" for name in differing]
    verified.remade = [name for name in compared if name not in differing]
    verified.not_remade = [name for name in sorted(body["files"]) if name not in compared]
    verified.remarks += [remark for remark in again.remarks if remark not in verified.remarks]


def _check_origin(verified: Verification, where: Path, public_key: Path | None, digest: str | None) -> None:
    """Whether the pack is the steward's: by signature, or by the digest in the minutes. Otherwise say what is open."""
    held = pack_digest(where)
    if digest is not None and not hmac.compare_digest(held.encode(), digest.strip().lower().encode()):
        verified.faults.append("the manifest is not the one whose digest is in the minutes")
    try:
        said: str | None = _plain_text(where / SIGNATURE)
    except FileNotFoundError:
        said = None
    except (OSError, ValueError):
        said = ""
    if said is not None and not signed_by(said):
        verified.faults.append(f"{SIGNATURE} is damaged")
    elif public_key is not None:
        fault = signature_fault((where / MANIFEST).read_bytes(), said, public_key)
        verified.faults += [fault] if fault else []
    elif said is not None and digest is None:
        verified.remarks.append(
            "there is a signature, which was NOT checked: whether it fits the pack and is the steward's cannot be told "
            f"without the public key (--public-key). It names the key {signed_by(said)}"
        )
    elif digest is None:
        verified.remarks.append(
            "nobody signed this pack: accidents and careless edits would show, but not the work of somebody who "
            f"rewrote the hashes too. Compare the digest with the minutes (--digest): {held}"
        )


def _file_faults(where: Path, body: dict[str, Any]) -> list[str]:
    faults = [] if body.get("digest") == digest_of(body) else ["the manifest was changed"]
    listed = body["files"]
    strange = KINDS[body["kind"]][0] if body.get("kind") in KINDS else strange_files
    there = sorted(where.rglob("*"))
    names = {path: str(path.relative_to(where)) for path in there}
    links = [names[p] for p in there if p.is_symlink()]
    faults += [f"{name} is a link, not a file" for name in links]
    folders = [names[p] for p in there if p.is_dir() and not p.is_symlink()]
    faults += [
        f"{name} is a folder that does not belong to a pack" for name in folders if name not in FOLDERS
    ]
    # a pipe or a device is not read: that would wait for ever
    odd = [names[p] for p in there if not (p.is_symlink() or p.is_dir() or p.is_file())]
    faults += [f"{name} is no file" for name in odd]
    files = {names[p] for p in there if p.is_file() and not p.is_symlink()} - {MANIFEST, SIGNATURE}
    faults += [f"{name} is missing" for name in sorted(set(listed) - files)]
    faults += [f"{name} is not in the manifest" for name in sorted(files - set(listed))]
    faults += [f"{name} does not belong to a pack" for name in sorted(strange(listed))]
    both = sorted(files & set(listed))
    return faults + [f"{name} was changed" for name in both if file_digest(where / name) != listed[name]]


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        body = json.loads(_plain_text(folder / MANIFEST))
    except (FileNotFoundError, NotADirectoryError):
        raise FileError(f"{folder}: no {MANIFEST}; this is not a release pack") from None
    except (OSError, ValueError, RecursionError):
        raise FileError(f"{folder}: {MANIFEST} is damaged") from None
    whole = isinstance(body, dict) and body.keys() >= NEEDED
    if not whole or not all(isinstance(body[name], dict) for name in ("files", "inputs")):
        raise FileError(f"{folder}: {MANIFEST} is damaged")
    return dict(body)


def _plain_text(path: Path) -> str:
    """The text of a plain file that is not endless: a link may lead to a device, and a pipe would wait for ever."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST:
        raise OSError(f"{path.name} is no plain file")
    return path.read_text(encoding="utf-8")


def _plan_place(where: Path, body: dict[str, Any]) -> Path | None:
    named = body.get("plan_file")
    place = where / str(named) if named else None
    return place if place is not None and place.is_file() else None


def _plan_faults(body: dict[str, Any], plan: Plan) -> list[str]:
    other = "the plan has another seed than the one this pack was made with"
    seed = [] if plan.seed == body["seed"] else [other]
    return seed + changed_origins(body, plan.text_digest, plan.sources)
