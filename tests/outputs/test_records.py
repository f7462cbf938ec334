"""Records, trail, the folder for the checker: whole or not at all, nothing confidential, edits are found."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from dalenius.cli.outputs import app
from dalenius.core.errors import DaleniusError, SchemaError
from dalenius.outputs import Desk, Evidence, judge
from dalenius.outputs.acro import read_results
from dalenius.outputs.folder import check_folder
from dalenius.outputs.judge import examined
from dalenius.outputs.pack import offered, read_pack, verify_outputs
from dalenius.outputs.register import register
from dalenius.outputs.trail import read_lines, trail_faults
from dalenius.release.signing import new_key

SECRET = 731_905.25


def small_desk(**options):
    rng = np.random.default_rng(3)
    desk = Desk({"nk_k": 0.8765, "p": 0.1234}, unit="person", **options)
    pd_ = desk.pandas
    data = pd_.DataFrame({
        "g": rng.choice(list("abc"), 300, p=[0.55, 0.43, 0.02]), "c": rng.choice(list("xy"), 300),
        "v": np.append(rng.normal(50, 5, 299), SECRET), "person": [f"Kowalska-{i:05d}" for i in range(300)],
    })  # fmt: skip
    pd_.crosstab(data.g, data.c)
    desk.last.fix("suppress")
    pd_.crosstab(data.g, data.c, values=data.v, aggfunc="mean")
    desk.last.exception("The table is about machines, not people.")
    data[data.g != "c"].groupby("c")["v"].max()  # with them the cells above would follow
    desk.last.fix("end_values")
    desk.smf.ols("v ~ C(c)", data).fit()
    desk.last.exception("A mean of two large groups.")
    desk.stats.ttest_ind(data.v[:100], data.v[100:200])
    return desk


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    small_desk(memory=place / "project").finalise(place / "outputs")
    return place


@pytest.fixture
def folder(made, tmp_path):
    """A copy of the folder, to be spoilt."""
    shutil.copytree(made, tmp_path / "own")
    return tmp_path / "own" / "outputs"


def test_finalise_asks_for_all_reasons_at_once():
    desk = Desk()
    for _ in range(2):
        desk.table({"g": ["a"] * 3}, "g")
    with pytest.raises(SchemaError) as error:
        desk.finalise("nowhere")
    assert len(error.value.faults) == 2
    assert "output_1" in str(error.value)
    with pytest.raises(DaleniusError, match="needs a reason"):
        desk.last.exception("  ")


def test_the_folder_is_whole_and_verifies(folder):
    assert verify_outputs(folder) == []
    names = {p.name for p in folder.iterdir()}
    assert {
        "results.json",
        "records.json",
        "policy.json",
        "trail.jsonl",
        "checklist.md",
        "evidence",
        "manifest.json",
    } <= names
    pack = read_pack(folder)
    assert [r.uid for r in pack.records] == [f"output_{i}" for i in range(5)]
    assert pack.records[0].fix == "suppress"


def test_nothing_confidential_leaves(folder):
    """Neither names, nor single values, nor counts of hidden cells, nor concentration limits."""
    public = [p for p in folder.rglob("*") if p.is_file() and "evidence" not in p.parts]
    text = "\n".join(p.read_text(encoding="utf-8") for p in public)
    for secret in ("Kowalska", "731905", "0.8765", "0.1234", "nk_k", "at_low", '"top"'):
        assert secret not in text, secret
    inside = "".join(p.read_text(encoding="utf-8") for p in (folder / "evidence").iterdir())
    assert "731905" in inside  # it is there, and marked
    assert "Kowalska" not in inside
    assert "CONFIDENTIAL" in (folder / "evidence" / "README.txt").read_text()
    assert oct((folder / "evidence").stat().st_mode & 0o777) == "0o700"


def test_errors_and_notebook_texts_tell_no_values():
    desk = small_desk()
    told = " ".join([repr(desk), repr(desk.policy), *(o.summary + repr(o) for o in desk.outputs)])
    for secret in ("Kowalska", "731905", "0.8765", "0.1234"):
        assert secret not in told
    with pytest.raises(DaleniusError) as error:
        desk.table({"g": ["a"], "v": ["Kowalska"]}, "g", "v", "mean")
    assert "Kowalska" not in str(error.value)


@pytest.mark.parametrize("harm", ["event", "order", "cut", "file", "missing", "added", "record", "manifest"])
def test_any_edit_breaks_verification(folder, harm):
    trail = folder / "trail.jsonl"
    lines = trail.read_text().splitlines()
    if harm == "event":
        trail.write_text("\n".join([lines[0], lines[1].replace("made", "mode"), *lines[2:]]) + "\n")
    elif harm == "order":
        trail.write_text("\n".join([lines[1], lines[0], *lines[2:]]) + "\n")
    elif harm == "cut":
        trail.write_text("\n".join(lines[:-1]) + "\n")
    elif harm == "file":
        (folder / "output_0_0.csv").write_text("g,c,count\n")
    elif harm == "missing":
        (folder / "output_1_0.csv").unlink()
    elif harm == "added":
        (folder / "more.csv").write_text("x\n")
    elif harm == "record":
        (folder / "records.json").write_text((folder / "records.json").read_text().replace("fail", "pass"))
    else:
        body = json.loads((folder / "manifest.json").read_text())
        body["trail"] = "0" * 64
        (folder / "manifest.json").write_text(json.dumps(body))
    assert verify_outputs(folder)


def test_edits_with_new_checksums_break_the_chain(folder):
    """Whoever also rewrites hashes of files still has to rewrite the chain, and cannot sign it."""
    lines = read_lines(folder / "trail.jsonl")
    changed = json.loads(lines[1])
    changed["facts"]["status"] = "edited"
    assert trail_faults([lines[0], json.dumps(changed), *lines[2:]]) == ["event 2 was changed"]
    assert trail_faults(lines[:2] + lines[3:])
    assert trail_faults(lines, head="f" * 64)


def test_a_project_set_back_as_a_whole_is_found_beside_an_earlier_folder(tmp_path):
    """Trail and memory together can be set back; the folder that was handed over before tells."""
    project = tmp_path / "project"
    desk = Desk(memory=project)
    desk.table({"g": ["a"] * 20}, "g")
    copy = {p.name: p.read_bytes() for p in project.iterdir()}
    desk.finalise(tmp_path / "one")
    desk.memory.store.close()
    again = Desk(memory=project)
    again.table({"g": ["b"] * 20}, "g")
    again.finalise(tmp_path / "two")
    assert verify_outputs(tmp_path / "two", after=tmp_path / "one") == []
    again.memory.store.close()
    for path in project.iterdir():
        path.unlink()
    for name, body in copy.items():
        (project / name).write_bytes(body)
    late = Desk(memory=project)
    late.table({"g": ["b"] * 20}, "g")
    late.finalise(tmp_path / "three")
    assert verify_outputs(tmp_path / "three") == []
    told = verify_outputs(tmp_path / "three", after=tmp_path / "two")
    assert told == ["the events do not go on from those of the earlier folder: the project was set back"]
    answer = CliRunner().invoke(app, ["verify", str(tmp_path / "three"), "--since", str(tmp_path / "two")])
    assert answer.exit_code == 1


def test_signed_events_and_manifest(tmp_path):
    new_key(tmp_path / "me.key")
    desk = Desk(memory=tmp_path / "project", key=tmp_path / "me.key")
    desk.table({"g": ["a"] * 20}, "g")
    desk.finalise(tmp_path / "out", key=tmp_path / "me.key")
    assert verify_outputs(tmp_path / "out", tmp_path / "me.pub") == []
    assert trail_faults(desk.trail.lines, tmp_path / "me.pub") == []
    new_key(tmp_path / "you.key")
    assert verify_outputs(tmp_path / "out", tmp_path / "you.pub")
    assert trail_faults(desk.trail.lines, tmp_path / "you.pub")


KILLED = """
import sys, pandas as pd
from dalenius.outputs import Desk
desk = Desk(memory=sys.argv[1] + "/project")
frame = pd.DataFrame({"g": ["a", "b"] * 50})
for i in range(12):
    desk.table(frame, "g")
desk.finalise(sys.argv[1] + "/out")
print("ready", flush=True)
while True:
    desk.finalise(sys.argv[1] + "/out")
"""


@pytest.mark.slow
def test_a_kill_during_finalise_loses_nothing(tmp_path):
    for turn in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.11 + 0.07 * turn)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert len(read_pack(tmp_path / "out").records) == 12
        assert verify_outputs(tmp_path / "out") == []
        lines = read_lines(tmp_path / "project" / "trail.jsonl")
        assert trail_faults(lines) == []
        assert sum('"made"' in line for line in lines) == 12 * (turn + 1)


def test_what_a_kill_left_of_the_folder_before_is_in_nobodys_way(tmp_path):
    desk = Desk(memory=tmp_path / "project")
    desk.table({"g": ["a"] * 20}, "g")
    desk.finalise(tmp_path / "out")
    (tmp_path / ".out.old").mkdir()
    (tmp_path / ".out.old" / "half").write_text("removed")
    desk.finalise(tmp_path / "out")
    assert verify_outputs(tmp_path / "out") == []
    assert not (tmp_path / ".out.old").exists()


def test_half_a_line_is_no_event(tmp_path):
    desk = Desk(memory=tmp_path)
    desk.table({"g": ["a"] * 20}, "g")
    with (tmp_path / "trail.jsonl").open("a") as stream:
        stream.write('{"number": 3, "wha')
    desk.table({"g": ["a"] * 20}, "g")
    assert trail_faults(read_lines(tmp_path / "trail.jsonl")) == []
    assert len(read_lines(tmp_path / "trail.jsonl")) == 3


def test_a_checker_decides_and_only_approved_files_are_taken(folder, tmp_path):
    run = CliRunner()
    refused = run.invoke(app, ["decide", str(folder), "output_1", "--approve"])
    assert refused.exit_code != 0  # it fails a check: a reason is needed
    assert run.invoke(app, ["decide", str(folder), "output_0", "output_4", "--approve"]).exit_code == 0
    assert (
        run.invoke(app, ["decide", str(folder), "output_1", "--reject", "--reason", "too few"]).exit_code == 0
    )
    assert [r.decision for r in read_pack(folder).records] == ["approved", "rejected", "", "", "approved"]
    assert verify_outputs(folder) == []
    assert run.invoke(app, ["take", str(folder), str(tmp_path / "gone")]).exit_code == 0
    assert sorted(p.name for p in (tmp_path / "gone").iterdir()) == ["output_0_0.csv", "output_4_0.csv"]
    text = (folder / "decisions.jsonl").read_text()
    (folder / "decisions.jsonl").write_text(text.replace("rejected", "approved"))
    assert run.invoke(app, ["verify", str(folder)]).exit_code == 1
    assert run.invoke(app, ["take", str(folder), str(tmp_path / "gone")]).exit_code != 0


def test_a_checker_takes_what_a_fix_makes_instead(tmp_path):
    """An output fails; its suppressed table lies ready, passes, and leaves in its place."""
    rng, desk, folder = np.random.default_rng(3), Desk(unit="person"), tmp_path / "outputs"
    group = rng.choice(list("abc"), 300, p=[0.55, 0.43, 0.02])
    data = {"g": group, "c": rng.choice(list("xy"), 300), "person": range(300)}
    desk.table(data, ["g", "c"])
    desk.last.exception("The table is about machines, not people.")
    desk.finalise(folder)
    run, pack = CliRunner(), read_pack(folder)
    assert set(offered(pack.records[0])) >= {"suppress"}
    lost = run.invoke(app, ["decide", str(folder), "output_0", "--approve", "--fix", "noise"])
    assert "no fix 'noise' that passes" in str(lost.exception)
    with pytest.raises(DaleniusError, match="name no fix"):
        pack.decide(["output_0"], "reject", "why", fix="suppress")
    good = run.invoke(app, ["decide", str(folder), "output_0", "--approve", "--fix", "suppress"])
    assert good.exit_code == 0
    assert verify_outputs(folder) == []
    assert run.invoke(app, ["take", str(folder), str(tmp_path / "gone")]).exit_code == 0
    assert [p.name for p in (tmp_path / "gone").iterdir()] == ["output_0_suppress.csv"]
    rows = (tmp_path / "gone" / "output_0_suppress.csv").read_text().splitlines()
    assert [line for line in rows if line.startswith("c,")] == ["c,x,", "c,y,"]
    pack = read_pack(folder)
    assert (pack.records[0].decision, pack.records[0].instead) == ("approved", "suppress")
    (folder / "offers" / "output_0_suppress.csv").write_text("g,c,count\nc,x,50\n")
    assert verify_outputs(folder)


def test_only_fixes_that_pass_lie_ready(tmp_path):
    desk = Desk(unit="p")
    desk.table({"g": ["a"] * 30 + ["b"] * 4, "p": range(34)}, "g").exception("a test")
    (record,) = desk.finalise(tmp_path / "out").records
    assert {o["fix"] for o in record.offers if o["status"] == "review"} == {"noise", "cell_key"}
    assert not {"noise", "cell_key"} & set(offered(record))


def test_only_named_outputs_leave(tmp_path):
    desk = small_desk(memory=tmp_path / "project")
    desk.table({"g": ["a"] * 3, "person": range(3)}, "g")  # a look that nobody wants to take out
    pack = desk.finalise(tmp_path / "out", outputs=["output_0", "output_4"])
    assert [r.uid for r in pack.records] == ["output_0", "output_4"]
    assert len(desk.memory.earlier()) == 2  # the table and the test
    with pytest.raises(DaleniusError, match="no output 'output_9'"):
        desk.finalise(tmp_path / "out", outputs=["output_9"])


def test_an_output_passes_once_what_it_conflicted_with_is_taken_back():
    desk = Desk(unit="person")
    data = {"g": ["a", "b"] * 40, "person": list(range(80))}
    desk.table(data, "g")
    less = desk.table({k: v[1:] for k, v in data.items()}, "g")
    assert less.status == "fail"
    desk.remove("output_0")
    assert less.status == "pass"
    assert less.record.conflicts == []


def test_without_evidence_the_folder_still_verifies(folder):
    for path in (folder / "evidence").iterdir():
        path.unlink()
    (folder / "evidence").rmdir()
    assert verify_outputs(folder) == []
    assert read_pack(folder).evidence("output_0") is None


def test_evidence_can_be_judged_elsewhere():
    desk = small_desk()
    for out in desk.outputs[:2]:
        sent = json.loads(json.dumps(out.judged.evidence.to_dict()))
        names = [n.strip() for n in out.query.statistic.split(",")]
        there = examined([register().lookup(n) for n in names], Evidence.from_dict(sent), desk.policy)
        here = judge(out.query, desk.policy)
        assert there.cells.equals(here.cells)
        assert there.status == here.status


def test_results_json_is_read_again(folder):
    records = read_results(folder)
    assert [r.status for r in records] == [r.status for r in read_pack(folder).records]
    assert records[1].exception.startswith("The table is about")


def test_folders_without_a_desk(tmp_path):
    (tmp_path / "a.csv").write_text("region,f,m,Total\nN,30,,34\nS,25,28,53\n")
    (tmp_path / "b.html").write_text(
        "<table><tr><th>r</th><th>n</th></tr><tr><td>N</td><td>120</td></tr></table>"
    )
    (tmp_path / "c.html").write_text(
        "<table><tr><th>r</th><th>n</th></tr><tr><td>N</td><td>118</td></tr></table>"
    )
    (tmp_path / "d.svg").write_text("<svg/>")
    (tmp_path / "e.csv").write_text("g,mean\na,12.5\n")
    found = {f.file: f for f in check_folder(tmp_path)}
    assert "missing cell follows" in found["a.csv"].seen[0]
    assert found["b.html"].seen == ["differs by fewer than 10 from c.html: N"]
    assert found["d.svg"].status == "fail"
    assert found["e.csv"].status == "review"
    answer = CliRunner().invoke(app, ["check", str(tmp_path)])
    assert answer.exit_code == 1
    assert "Checked without the data" in answer.stdout
    assert CliRunner().invoke(app, ["explain", "odds ratio"]).stdout.startswith("odds ratio: Calculated odds")
