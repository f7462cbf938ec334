"""What goes to the checker: outputs, records, policy, trail and checksums in one folder; evidence in its own.

The folder appears whole or not at all. Evidence (``evidence/``) is confidential: without it the rest still verifies,
and nothing of it is shown.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalenius.core.errors import DataError, FileError, SchemaError
from dalenius.core.errors import names as listed
from dalenius.data.atomic import private_folder, push, write_text
from dalenius.data.lock import locked
from dalenius.outputs.acro import results_json
from dalenius.outputs.decisions import FILES, Decisions
from dalenius.outputs.fixes import attempts, shown_by
from dalenius.outputs.output import Output
from dalenius.outputs.record import Record
from dalenius.outputs.trail import read_lines, trail_faults
from dalenius.release.jobs import file_digest
from dalenius.release.pack import digest_of
from dalenius.release.place import MANIFEST, SIGNATURE
from dalenius.release.signing import signature, signature_fault

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

RECORDS, RESULTS, POLICY, TRAIL, LIST = (
    "records.json",
    "results.json",
    "policy.json",
    "trail.jsonl",
    "checklist.md",
)
EVIDENCE, OFFERS = "evidence", "offers"
WORDS = {"approve": "approved", "reject": "rejected", "return": "returned"}
MARK = "CONFIDENTIAL: the figures in this folder are for the checker; they never leave with the outputs.\n"


@dataclass
class Pack:
    """A folder of outputs in front of a checker."""

    folder: Path
    records: list[Record]
    body: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def decisions(self) -> Decisions:
        """The checker's decisions, a chain of their own."""
        return Decisions(self.folder, str(self.body.get("digest", "")))

    @property
    def warning(self) -> str:
        """Which limits of the policy are weaker than the usual ones; empty if none is."""
        place = self.folder / POLICY
        if not place.exists():
            return ""
        try:
            return laxer([str(name) for name in _held(place, dict).get("weaker", ())])
        except (FileError, TypeError):
            return f"{POLICY} is damaged: whether the policy is weaker than the usual one is not known."

    @property
    def has_evidence(self) -> bool:
        """Whether the confidential figures are here."""
        return (self.folder / EVIDENCE).is_dir()

    def evidence(self, uid: str) -> dict[str, Any] | None:
        """Confidential figures of one output; None without the folder."""
        place = self.folder / EVIDENCE / f"{uid}.json"
        known = any(r.uid == uid for r in self.records)
        return dict(_held(place, dict)) if known and place.exists() else None

    def decide(
        self, uids: Sequence[str], decision: str, reason: str = "", who: str = "", fix: str = ""
    ) -> None:
        """Approve, reject or return outputs; all but a plain approval need a reason.

        With ``fix`` the table that this fix makes is approved instead; it passes, so that no reason is needed.
        """
        if decision not in WORDS:
            raise DataError(f"a decision is {listed(list(WORDS))}")
        if fix and decision != "approve":
            raise DataError("a fix is approved; to reject or return an output name no fix")
        known = {r.uid: r for r in self.records}
        lost = [uid for uid in uids if uid not in known]
        faults = [f"no output {uid!r}" for uid in lost]
        for uid in uids:
            record = known.get(uid)
            if record is not None and fix and fix not in offered(record):
                faults.append(
                    f"{uid}: there is no fix {fix!r} that passes; there is {listed(list(offered(record)))}"
                )
            elif record is not None and not fix and not reason.strip():
                if decision != "approve":
                    faults.append(f"{uid}: say why it is {WORDS[decision]}")
                elif record.status == "fail":
                    faults.append(f"{uid}: it fails a check; say why it may leave all the same")
        if faults or not uids:
            raise SchemaError.from_faults("decision", faults or ["no output was named"])
        for uid in uids:
            facts = {
                "output": uid, "decision": WORDS[decision], "reason": reason.strip(), "who": who, "fix": fix
            }  # fmt: skip
            self.decisions.add(facts)
            _decided(known[uid], facts)

    def files(self, approved: bool = True) -> list[Path]:
        """Files of outputs; only approved ones may be taken, and none while the decisions are not as they were made."""
        faults = self.decisions.faults() if approved else []
        if faults:
            raise FileError(
                f"{self.folder}: the decisions were changed ({'; '.join(faults)}); no file is approved"
            )
        kept = [r for r in self.records if r.decision == "approved" or not approved]
        return [
            self.folder / name
            for r in kept
            for name in ([offered(r)[r.instead]] if r.instead in offered(r) else r.files)
        ]


def offered(record: Record) -> dict[str, str]:
    """Fixes whose table lies ready in the folder, and its file."""
    return {str(o["fix"]): str(o["file"]) for o in record.offers if o.get("file")}


def _decided(record: Record, facts: Mapping[str, Any]) -> None:
    record.decision, record.reason = facts["decision"], facts["reason"]
    record.instead = str(facts.get("fix", ""))


def write_outputs(desk: Desk, folder: Path, key: Path | None = None) -> Pack:
    """Write the folder for the checker; every output that does not pass needs a reason first."""
    faults = [
        f"{o.record.uid} ({o.status}; {o.record.command}): ask for an exception with a reason, fix it, or remove it"
        for o in desk.outputs if o.record.needs_reason
    ]  # fmt: skip
    blocked = [o for o in desk.outputs if o.record.checks.get("file_type", {}).get("verdict") == "fail"]
    faults += [f"{o.record.uid}: this kind of file never leaves; remove it" for o in blocked]
    if not desk.outputs:
        faults.append("nothing was made at this desk yet")
    if faults:
        raise SchemaError.from_faults("outputs", faults)
    target = folder.absolute()
    if target.exists() and not (target / MANIFEST).is_file() and any(target.iterdir()):
        raise FileError(f"{folder}: something else is here, not a folder of outputs; choose another")
    private_folder(target.parent) if not target.parent.exists() else None
    desk.note("finalised", "", outputs=[o.record.uid for o in desk.outputs])
    with locked(target.parent / f".{target.name}.lock"):
        _write(desk, target, key)
    return read_pack(target)


def _write(desk: Desk, target: Path, key: Path | None) -> None:
    fresh, old = (target.parent / f".{target.name}.{word}" for word in ("new", "old"))
    recover(target)
    for rest in (fresh, old):  # what a killed process left half written, or half removed
        shutil.rmtree(rest, ignore_errors=True)
    private_folder(fresh)
    private_folder(fresh / EVIDENCE)
    for out in desk.outputs:
        if out.status != "pass" and out.query.rows:
            out.record.offers = _offers(out, fresh)
        out.record.files = _files(out, fresh)
        held = {
            "findings": [f.result.to_dict(whole=True) for f in out.judged.findings],
            "evidence": out.judged.evidence.to_dict(),
        }
        write_text(fresh / EVIDENCE / f"{out.record.uid}.json", json.dumps(held, default=str))
    write_text(fresh / EVIDENCE / "README.txt", MARK)
    write_text(fresh / EVIDENCE / "policy.json", json.dumps(desk.policy.to_dict(), indent=1))
    records = [o.record for o in desk.outputs]
    write_text(fresh / RECORDS, json.dumps([r.to_dict() for r in records], indent=1, ensure_ascii=False))
    write_text(fresh / RESULTS, results_json(records))
    write_text(fresh / POLICY, json.dumps(desk.policy.public(), indent=1))
    write_text(fresh / TRAIL, "".join(line + "\n" for line in desk.trail.lines))
    write_text(fresh / LIST, _checklist(records, desk.policy.weaker()))
    _manifest(fresh, desk.trail.head, key)
    desk.memory.finalised([r.uid for r in records])
    if target.exists():
        os.replace(target, old)
    os.replace(fresh, target)
    push(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def recover(target: Path) -> None:
    """Put back the folder that a killed process had set aside."""
    old = target.parent / f".{target.name}.old"
    if old.is_dir() and not target.exists():
        os.replace(old, target)


def _files(out: Output, folder: Path) -> list[str]:
    """What would leave: one CSV file a table, or the file itself."""
    if isinstance(out.shown, Path):
        name = f"{out.record.uid}_{out.shown.name}"
        shutil.copyfile(out.shown, folder / name)
        return [name]
    frame = out.table()
    if not frame.width:
        return []
    name = f"{out.record.uid}_0.csv"
    write_text(folder / name, frame.write_csv())
    return [name]


def _offers(out: Output, folder: Path) -> list[dict[str, Any]]:
    """All fixes with their price; the tables of those that pass lie ready, so that a checker can take one."""
    found = []
    for attempt in attempts(out):
        status, price = attempt.judged.status, round(attempt.price, 2)
        facts: dict[str, Any] = {"fix": attempt.way, "status": status, "price_percent": price}
        facts["what"] = attempt.told
        if status == "pass":
            facts["file"] = name = f"{OFFERS}/{out.record.uid}_{attempt.way}.csv"
            private_folder(folder / OFFERS)
            write_text(folder / name, shown_by(out, attempt).write_csv())
        found.append(facts)
    return found


def _manifest(folder: Path, head: str, key: Path | None) -> None:
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    (folder / "checksums").mkdir()
    for name in names:
        if "/" not in name:
            write_text(folder / "checksums" / f"{name}.txt", file_digest(folder / name))
    body: dict[str, Any] = {"files": {n: file_digest(folder / n) for n in names}, "trail": head}
    body["digest"] = digest_of(body)
    write_text(folder / MANIFEST, json.dumps(body, indent=1, sort_keys=True))
    if key is not None:
        write_text(folder / SIGNATURE, signature((folder / MANIFEST).read_bytes(), key))


def _checklist(records: Sequence[Record], weaker: Sequence[str]) -> str:
    """The checker's list, one line an output."""
    warning = [f"**{laxer(weaker)}**", ""] if weaker else []
    head = [
        "| output | command | statbarn | status | fix | exception asked for |",
        "|---|---|---|---|---|---|",
    ]
    lines = ["# Outputs to be checked", "", *warning, *head]
    for r in records:
        cells = (r.uid, r.command, r.statbarn, r.status, r.fix, r.exception)
        lines.append("| " + " | ".join(str(c).replace("|", "\\|").replace("\n", " ") for c in cells) + " |")
    notes = [f"- {r.uid}: {note}" for r in records for note in r.notes]
    return "\n".join([*lines, *(["", "## Notes", "", *notes] if notes else []), ""])


def laxer(names: Sequence[str]) -> str:
    """That a policy is weaker than the usual one, by the names of its limits."""
    return f"The policy is weaker than the usual one in {listed(list(names), 30)}." if names else ""


def read_pack(folder: str | Path) -> Pack:
    """Open a folder of outputs, with the decisions so far."""
    place = Path(folder)
    recover(place.absolute())
    if not (place / MANIFEST).exists() or not (place / RECORDS).exists():
        raise FileError(f"{place}: this is not a folder of outputs; write one with finalise()")
    body, held = _held(place / MANIFEST, dict), _held(place / RECORDS, list)
    try:
        records = [Record.from_dict(r) for r in held]
    except (ValueError, TypeError, AttributeError, KeyError):
        raise FileError(f"{place}: {RECORDS} is damaged") from None
    if not isinstance(body.get("files"), dict):
        raise FileError(f"{place}: {MANIFEST} is damaged")
    known = {r.uid: r for r in records}
    pack = Pack(place, records, body)
    for line in pack.decisions.lines:
        try:
            facts = json.loads(line)["facts"]
            _decided(known[facts["output"]], facts)
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return pack


def _held(file: Path, kind: type) -> Any:
    """What a JSON file of a folder holds; a link to a device is no file, and would never end."""
    try:
        held = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    except (OSError, ValueError, RecursionError):
        held = None
    if not isinstance(held, kind):
        raise FileError(f"{file.parent}: {file.name} is damaged")
    return held


def _strange(place: Path, wanted: Mapping[str, str]) -> list[str]:
    """Links, folders with nothing in them, and checksums that are not those of the manifest."""
    every = sorted(place.rglob("*"))
    faults = [f"{p.relative_to(place)} is a link, not a file" for p in every if p.is_symlink()]
    empty = [p for p in every if p.is_dir() and not p.is_symlink() and not any(p.iterdir())]
    faults += [f"{p.relative_to(place)} is an empty folder" for p in empty]
    for name in sorted(n for n in wanted if "/" not in n):
        held = place / "checksums" / f"{name}.txt"
        if not held.is_file():
            faults.append(f"checksums/{name}.txt is missing")
        elif held.read_text(encoding="utf-8", errors="replace").strip() != wanted[name]:
            faults.append(f"checksums/{name}.txt was changed")
    return faults


def verify_outputs(
    folder: str | Path, public_key: str | Path | None = None, after: str | Path | None = None
) -> list[str]:
    """All that is wrong with a folder of outputs: changed, missing or added files, edited or moved events.

    With ``after``, an earlier folder of the same project, its events must go on from those.
    """
    pack = read_pack(folder)
    place, body = pack.folder, pack.body
    key = None if public_key is None else Path(public_key)
    faults = [] if body.get("digest") == digest_of(body) else ["the manifest was changed"]
    if key is not None:
        said = (place / SIGNATURE).read_text(encoding="utf-8") if (place / SIGNATURE).is_file() else None
        fault = signature_fault((place / MANIFEST).read_bytes(), said, key)
        faults += [fault] if fault else []
    wanted = body.get("files", {})
    there = {str(p.relative_to(place)) for p in place.rglob("*") if p.is_file() or p.is_symlink()}
    free = {MANIFEST, SIGNATURE, *FILES}
    sums = {f"checksums/{n}.txt" for n in wanted if "/" not in n}
    gone = {
        n for n in wanted if n not in there and not (n.startswith(f"{EVIDENCE}/") and not pack.has_evidence)
    }
    faults += [f"{n} is missing" for n in sorted(gone)]
    faults += [f"{n} is not in the manifest" for n in sorted(there - set(wanted) - free - sums)]
    kept = [n for n in sorted(set(wanted) & there) if (place / n).is_file()]  # a link to a device never ends
    faults += [f"{n} was changed" for n in kept if file_digest(place / n) != wanted[n]]
    faults += _strange(place, wanted)
    faults += [f"trail: {f}" for f in trail_faults(read_lines(place / TRAIL), None, body.get("trail"))]
    faults += [f"decisions: {f}" for f in pack.decisions.faults()]
    if after is not None:
        before = read_lines(read_pack(after).folder / TRAIL)
        if read_lines(place / TRAIL)[: len(before)] != before:
            faults.append(
                "the events do not go on from those of the earlier folder: the project was set back"
            )
    return faults
