"""A forger at a signed pack: whatever is changed is caught and named."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dalenius.core.errors import FileError
from dalenius.release import read_plan, run_plan, verify_pack, write_pack
from dalenius.release.pack import pack_digest
from dalenius.release.signing import new_key, signature, signature_fault, signed_by

from .conftest import PLAN, forge, invoke, make_plan

DATA = "public/people.synthetic"


def edit(name: str, before: str, after: str):
    """A change of text in one file."""

    def change(pack: Path) -> None:
        text = (pack / name).read_text()
        assert before in text, name
        (pack / name).write_text(text.replace(before, after, 1))

    return change


def replaced(name: str, text: str):
    return lambda pack: (pack / name).write_text(text)


def figure_up(pack: Path) -> None:
    body = json.loads((pack / "internal/results.json").read_text())
    body["candidates"][body["chosen"]]["replicates"][0]["neighbour"]["disco"]["value"] += 1
    (pack / "internal/results.json").write_text(json.dumps(body))


def real_data(ending: str):
    def change(pack: Path) -> None:
        frame = pl.read_csv(pack.parent / "people.csv")
        (frame.write_csv if ending == "csv" else frame.write_parquet)(pack / f"{DATA}.{ending}")

    return change


def noted(where: str):
    """The real data in the notes of the Parquet file, of one of its columns, or between its parts."""

    def change(pack: Path) -> None:
        path, secret = pack / f"{DATA}.parquet", (pack.parent / "people.csv").read_bytes()
        table = pq.read_table(path)
        if where == "file":
            table = table.replace_schema_metadata({"note": secret})
        if where == "column":
            fields = [table.schema.field(0).with_metadata({"note": secret}), *list(table.schema)[1:]]
            table = table.cast(pa.schema(fields))
        pq.write_table(table, path, compression="zstd")
        if where == "gap":
            whole, foot = path.read_bytes(), pq.read_metadata(path).serialized_size + 8
            path.write_bytes(whole[:-foot] + secret + whole[-foot:])

    return change


def first_line_gone(pack: Path) -> None:
    lines = (pack / f"{DATA}.csv").read_text().splitlines(keepends=True)
    (pack / f"{DATA}.csv").write_text("".join([lines[0], *lines[2:]]))


def two_lines_swapped(pack: Path) -> None:
    lines = (pack / f"{DATA}.csv").read_text().splitlines(keepends=True)
    other = next(n for n in range(2, len(lines)) if lines[n] != lines[1])
    lines[1], lines[other] = lines[other], lines[1]
    (pack / f"{DATA}.csv").write_text("".join(lines))


def longer(pack: Path) -> None:
    (pack / f"{DATA}.csv").write_text((pack / f"{DATA}.csv").read_text() + "\n")


def linked(pack: Path) -> None:
    shutil.move(pack / "public/report.md", pack.parent / "elsewhere.md")
    (pack / "public/report.md").symlink_to(pack.parent / "elsewhere.md")


def parts_swapped(pack: Path) -> None:
    shutil.copy(pack / "internal/report.html", pack / "public/report.html")


def added(name: str):
    def change(pack: Path) -> None:
        (pack / name).parent.mkdir(exist_ok=True)
        (pack / name).write_text("x")

    return change


def folder_added(pack: Path) -> None:
    (pack / "public/more").mkdir()


def nothing(pack: Path) -> None:
    """Only the manifest is rewritten."""


CHANGES = {
    "a word of the public report": (edit("public/report.html", "people", "persons"), "public/report.html"),
    "a word of the public Markdown": (edit("public/report.md", "people", "persons"), "public/report.md"),
    "a figure of the public JSON": (edit("public/report.json", '"value":', '"value": 0, "was":'), "public/report.json"),
    "a word of the internal report": (edit("internal/report.html", "policy", "habit"), "internal/report.html"),
    "a word of the internal Markdown": (edit("internal/report.md", "policy", "habit"), "internal/report.md"),
    "a figure of the results": (figure_up, "internal/results.json"),
    "results emptied": (replaced("internal/results.json", "{}"), "internal/results.json"),
    "the real data as Parquet": (real_data("parquet"), f"{DATA}.parquet"),
    "the real data as CSV": (real_data("csv"), f"{DATA}.csv"),
    "the real data in the notes of the Parquet file": (noted("file"), f"{DATA}.parquet"),
    "the real data in the notes of a column": (noted("column"), f"{DATA}.parquet"),
    "the real data between the parts of the Parquet file": (noted("gap"), f"{DATA}.parquet"),
    "a record taken out": (first_line_gone, f"{DATA}.csv"),
    "two records swapped": (two_lines_swapped, f"{DATA}.csv"),
    "an empty line at the end of the data": (longer, f"{DATA}.csv"),
    "the codebook": (edit("public/codebook.md", "kind", "sort"), "public/codebook.md"),
    "the codebook for machines": (edit("public/codebook.json", "kind", "sort"), "public/codebook.json"),
    "the limits": (edit("public/limits.md", "Do not try", "Try"), "public/limits.md"),
    "the checksums": (replaced("public/checksums.txt", "none\n"), "public/checksums.txt"),
    "the plan in the pack": (edit("internal/plan.yaml", "seed: 3", "seed: 4"), "internal/plan.yaml"),
    "the provenance": (edit("internal/provenance.json", '"seed": 3', '"seed": 4'), "internal/provenance.json"),
    "a public file more": (added("public/people.csv"), "public/people.csv"),
    "a hidden file more": (added("public/.hidden"), "public/.hidden"),
    "an internal file more": (added("internal/notes.txt"), "internal/notes.txt"),
    "a file beside the parts": (added("readme.txt"), "readme.txt"),
    "a second data file": (added("public/other.synthetic.csv"), "public/other.synthetic.csv"),
    "a folder more": (folder_added, "public/more"),
    "a file in a folder more": (added("extra/a.txt"), "extra"),
    "a public file gone": (lambda p: (p / "public/limits.md").unlink(), "public/limits.md"),
    "an internal file gone": (lambda p: (p / "internal/results.parquet").unlink(), "internal/results.parquet"),
    "a link instead of a file": (linked, "public/report.md"),
    "the internal report in public": (parts_swapped, "public/report.html"),
    "a pipe that never ends": (lambda p: os.mkfifo(p / "public/pipe"), "public/pipe is no file"),
    "a file emptied": (lambda p: (p / "public/report.md").write_bytes(b""), "public/report.md"),
    "two files under each other's name": (
        lambda p: os.replace(shutil.copy(p / "public/report.md", p / "t"), p / "public/limits.md"), "public/limits.md",
    ),
}  # fmt: skip
FORGED = {
    "only the manifest rewritten": {}, "another date": {"date": "2020-01-01"}, "another title": {"title": "x"},
    "another chosen candidate": {"chosen": "independent"}, "another threshold": {"threshold": 1},
    "another seed": {"seed": 4}, "another input": {"inputs": {}}, "said to be unrepeatable": {"repeatable": False},
}  # fmt: skip


def endless(*_: object) -> None:
    raise TimeoutError("verify waits for what never comes")


@pytest.fixture
def in_a_minute() -> Iterator[None]:
    """Whoever opens a pipe waits for ever: that is a failure, not a suite without end."""
    before = signal.signal(signal.SIGALRM, endless)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.usefixtures("in_a_minute")
def test_a_change_is_caught_and_named(pack, key, kind):
    change, where = CHANGES[kind]
    change(pack)
    faults = verify_pack(pack, public_key=key.with_suffix(".pub")).faults
    assert any(where in fault for fault in faults), faults


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.usefixtures("in_a_minute")
def test_a_change_with_hashes_rewritten_is_caught_by_the_signature(pack, key, kind):
    CHANGES[kind][0](pack)
    forge(pack)
    found = verify_pack(pack, public_key=key.with_suffix(".pub"))
    assert "the signature does not fit: the manifest was changed after it was signed" in found.faults
    assert invoke("verify", str(pack), "-q", "--public-key", str(key.with_suffix(".pub"))).exit_code == 1


@pytest.mark.parametrize("kind", FORGED)
def test_a_rewritten_manifest_is_caught(pack, key, kind):
    forge(pack, **FORGED[kind])
    faults = verify_pack(pack, public_key=key.with_suffix(".pub")).faults
    assert "the signature does not fit: the manifest was changed after it was signed" in faults


def test_the_signature_itself(pack, key, tmp_path):
    public = key.with_suffix(".pub")
    new_key(tmp_path / "other.key")
    manifest = (pack / "manifest.json").read_bytes()
    (pack / "manifest.sig").write_text(signature(manifest, tmp_path / "other.key"))
    assert "made with another key" in verify_pack(pack, public_key=public).faults[0]
    for spoilt in ("", "{}", '{"key": "x"}', "\xff"):
        (pack / "manifest.sig").write_bytes(spoilt.encode("latin-1"))
        assert verify_pack(pack, public_key=public).faults[0] == "manifest.sig is damaged"
    (pack / "manifest.sig").unlink()
    assert verify_pack(pack, public_key=public).faults[0] == "the pack is not signed"
    with pytest.raises(FileError, match="not a public Ed25519 key"):
        verify_pack(pack, public_key=key)


@pytest.mark.parametrize("name", ["manifest.json", "manifest.sig"])
@pytest.mark.parametrize("how", ["device", "pipe"])
@pytest.mark.usefixtures("in_a_minute")
def test_a_manifest_or_signature_without_an_end_is_damaged(pack, key, name, how):
    (pack / name).unlink()
    if how == "device":
        (pack / name).symlink_to("/dev/zero")
    else:
        os.mkfifo(pack / name)
    if name == "manifest.json":
        with pytest.raises(FileError, match=r"manifest\.json is damaged"):
            verify_pack(pack, public_key=key.with_suffix(".pub"))
    else:
        assert "manifest.sig is damaged" in verify_pack(pack, public_key=key.with_suffix(".pub")).faults


def test_a_very_long_manifest_is_not_read(pack, monkeypatch):
    monkeypatch.setattr("dalenius.release.verify.LONGEST", (pack / "manifest.json").stat().st_size - 1)
    with pytest.raises(FileError, match=r"manifest\.json is damaged"):
        verify_pack(pack)


def test_a_signature_with_a_word_beside_it_is_damaged(key):
    """Whoever reads the file must not take what nobody signed for the steward's."""
    public, manifest = key.with_suffix(".pub"), b'{"title": "Survey"}'
    signed = json.loads(signature(manifest, key))
    assert signature_fault(manifest, json.dumps(signed), public) == ""
    assert signed_by(json.dumps(signed)) == signed["key"]
    more = json.dumps({**signed, "date": "2020-01-01"})
    assert signed_by(more) == ""
    assert signature_fault(manifest, more, public) != ""


def test_an_input_that_the_plan_does_not_name_is_not_accepted(pack):
    (pack / "manifest.sig").unlink()
    inputs = json.loads((pack / "manifest.json").read_text())["inputs"]
    forge(pack, inputs={**inputs, "more people.csv": "0" * 64})
    assert verify_pack(pack).faults == ["input more people.csv is not the file this pack was made from"]


def test_the_digest_in_the_minutes_catches_what_the_signature_would(pack):
    noted = pack_digest(pack)
    assert verify_pack(pack, digest=noted).accepted
    edit("public/report.html", "people", "persons")(pack)
    forge(pack)
    assert (
        "the manifest is not the one whose digest is in the minutes" in verify_pack(pack, digest=noted).faults
    )


@pytest.mark.slow
def test_what_cannot_be_told_is_said(pack, key):
    found = verify_pack(pack)
    assert any("there is a signature, which was NOT checked" in remark for remark in found.remarks)
    (pack / "manifest.sig").unlink()
    found = verify_pack(pack)
    assert found.accepted
    assert any("nobody signed this pack" in r and pack_digest(pack) in r for r in found.remarks)


def test_a_signature_that_nobody_checked_is_not_called_one(pack, key):
    """The hashes rewritten under a signature that fits no more: without the public key nobody can tell."""
    edit("internal/report.md", "policy", "habit")(pack)
    forge(pack)
    said = invoke("verify", str(pack), "--plan", str(pack.parent / "nowhere.yaml")).stderr
    assert "NOT checked" in " ".join(said.split())
    assert "signed with" not in said


def test_without_any_key_rewritten_hashes_are_caught_by_making_it_again(pack):
    """Finding out without a signature needs the plan and its input."""
    kinds = (
        "a word of the public report",
        "a word of the internal report",
        "the codebook",
        "the limits",
        "the checksums",
    )
    for kind in kinds:
        CHANGES[kind][0](pack)
    forge(pack)
    (pack / "manifest.sig").unlink()
    assert sorted(verify_pack(pack).faults) == sorted(
        f"{CHANGES[kind][1]} comes out differently" for kind in kinds
    )


@pytest.mark.parametrize(
    "kind",
    [
        "a public file more",
        "the real data as CSV",
        "the real data as Parquet",
        "the real data in the notes of the Parquet file",
        "the real data in the notes of a column",
        "the real data between the parts of the Parquet file",
        "results emptied",
        "a folder more",
    ],
)
def test_without_any_key_strange_files_and_data_are_caught(pack, kind):
    change, where = CHANGES[kind]
    change(pack)
    forge(pack)
    (pack / "manifest.sig").unlink()
    faults = verify_pack(pack).faults
    assert any(where.removesuffix(".csv") in fault for fault in faults), faults


def test_without_the_kept_candidates_the_public_part_is_remade_and_the_rest_is_listed(pack, key):
    shutil.rmtree(pack.parent / ".out-work")
    found = verify_pack(pack, public_key=key.with_suffix(".pub"))
    assert found.accepted, found.faults
    assert {"public/report.html", "public/report.json", "public/codebook.md", f"{DATA}.csv"} <= set(
        found.remade
    )
    assert "internal/report.html" in found.not_remade
    assert any("other candidates are not here" in remark for remark in found.remarks)
    edit("public/report.md", "people", "persons")(pack)
    forge(pack)
    assert "public/report.md comes out differently" in verify_pack(pack).faults


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    """A pack whose noise cannot be repeated."""
    text = PLAN.replace("  cart: {minbucket: {each: [5, 50]}}\n  loglinear: {}\n  independent: {}\n", "")
    text = text.replace("  independent: {}\n", "").replace(
        "  cart: {minbucket: {each: [5, 50]}}\n  loglinear: {}\n", ""
    )
    text = text.replace("<= 60", "<= 1000000").replace(
        "  saturated: {}", "  loglinear: {epsilon: 20, domain: from-data, groups: 3, margins: 1}"
    )
    path = make_plan(tmp_path_factory.mktemp("private"), 300, text)
    write_pack(run_plan(read_plan(path), workers=1))
    return path.parent


@pytest.mark.parametrize("kept", [True, False])
def test_epsilon_edited_in_the_public_report_is_caught(private, tmp_path, kept):
    shutil.copytree(private, tmp_path / "case")
    pack = tmp_path / "case" / "out"
    if not kept:
        shutil.rmtree(pack.parent / ".out-work")
    found = verify_pack(pack)
    assert found.accepted, found.faults
    assert "public/report.html" in found.remade
    assert any("so its data were not made again" in remark for remark in found.remarks)
    edit("public/report.html", "ε = 20", "ε = 0.1")(pack)
    forge(pack)
    assert "public/report.html comes out differently" in verify_pack(pack).faults
