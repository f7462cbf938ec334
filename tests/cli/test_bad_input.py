"""Bad input gives one line that names the file, the column and the remedy, exit code 2, and no partial file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.cli._group import INTERNAL

runner = CliRunner()


def fails(*words: object) -> str:
    result = runner.invoke(app, [str(word) for word in words])
    assert result.exit_code == 2, (result.exit_code, result.output, result.exception)
    lines = result.stderr.strip().splitlines()
    errors = [line for line in lines if line.startswith("dalenius: ")]
    assert len(errors) == 1, lines
    own = lines[-1]
    for word in words:  # how long the folder's name is, is nobody's fault
        own = own.replace(str(word), "")
    assert len(own) < 400
    return errors[0]


def write(folder: Path, content: bytes | str, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


RAGGED = "a,b\n1,2\n3,4,5\n6,7\n"
MIXED = (
    b"name,n\n" + "Müller,1\n".encode() * 40 + "Schröder,2\n".encode("latin-1") + "Özdemir,3\n".encode() * 40
)

FILES = {
    "empty": (b"", "empty"),
    "ragged": (RAGGED, "line 3"),
    "mixed encodings": (MIXED, "line 42"),
    "duplicate names": ("a,a\n1,2\n", "'a'"),
    "empty name": ("a,\n1,2\n", "name"),
    "null bytes": (b"a,b\n1,\x002\n", "data.csv"),
    "not a table": (b"\x89PNG\r\n\x1a\n\x00\x00", "data.csv"),
}


@pytest.mark.parametrize("command", ["evaluate", "compare", "risk"])
def test_files_without_rows(tmp_path, command):
    path = write(tmp_path, "a,b\n")
    extra = ["--keys", "a", "--targets", "b"] if command == "risk" else []
    assert "at least one row" in fails(command, path, path, *extra)


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("command", ["schema", "synth", "check", "plan"])
def test_bad_files(tmp_path, case, command):
    content, hint = FILES[case]
    path = write(tmp_path, content)
    extra = ["-m", "independent"] if command == "synth" else []
    message = fails(command, path, *extra)
    assert "data.csv" in message
    assert hint in message
    assert list(tmp_path.iterdir()) == [path], "nothing else may be left behind"


def test_missing_file_folder_and_ending(tmp_path):
    assert "nowhere.csv" in fails("schema", tmp_path / "nowhere.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "folder.csv" in fails("schema", tmp_path / "folder.csv")
    assert "supported" in fails("schema", write(tmp_path, "a\n1\n", "data.docx"))


def test_damaged_parquet(tmp_path):
    assert "data.parquet" in fails("schema", write(tmp_path, b"PAR1 nothing", "data.parquet"))


def test_output_that_cannot_be_written(tmp_path):
    path = write(tmp_path, "a,b\n1,x\n2,y\n")
    write(tmp_path, "", "blocker")
    message = fails("synth", path, "-m", "independent", "-o", tmp_path / "blocker" / "out.csv")
    assert "blocker" in message
    assert "supported" in fails("synth", path, "-m", "independent", "-o", tmp_path / "out.xyz")
    assert not list(tmp_path.glob("out*"))


def test_existing_output_survives_a_failing_run(tmp_path):
    path = write(tmp_path, RAGGED)
    out = write(tmp_path, "precious\n", "out.csv")
    fails("synth", path, "-m", "independent", "-o", out)
    assert out.read_text() == "precious\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", "out.csv"]


def test_unknown_names(tmp_path):
    path = write(tmp_path, "a,b\n1,x\n2,y\n")
    assert "did you mean 'bootstrap'" in fails("synth", path, "-m", "bootstrp")
    assert "'zzz'" in fails("evaluate", path, path, "-k", "zzz")
    assert "unknown measure" in fails("evaluate", path, path, "--measures", "nothing")
    assert "owner.option=value" in fails("synth", path, "-m", "independent", "--option", "oops")


def test_bad_schema_lists_all_faults(tmp_path):
    path = write(tmp_path, "a,b\n1,x\n2,y\n")
    schema = write(
        tmp_path, "columns:\n  a: {kind: number}\n  b: {kind: text, role: boss, colour: red}\n", "s.yaml"
    )
    message = fails("synth", path, "-m", "independent", "--schema", schema)
    for part in ("s.yaml", "'number'", "'boss'", "'colour'"):
        assert part in message
    assert "s.yaml" in fails(
        "synth", path, "-m", "independent", "--schema", write(tmp_path, "columns: [\n", "s.yaml")
    )


@pytest.mark.parametrize(
    "content",
    [
        "a\n1\n",
        "a,b\n,\n,\n",
        "a,b\n1,1\n1,1\n1,1\n",
        "a\nNaN\ninf\n-inf\n1.5\n",
        "a,b\n1,x\ny,2\n3.5,\n",
        "größe,目標\nä,☃\nö,🙂\n",
        "a,b\n",
    ],
)
def test_odd_but_valid_files_work(tmp_path, content):
    path = write(tmp_path, content)
    for method in ("independent", "bootstrap"):
        result = runner.invoke(app, ["synth", str(path), "-m", method, "-o", str(tmp_path / "out.csv")])
        assert result.exit_code == 0, result.output
        assert (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[0] == content.splitlines()[0]


def test_two_hundred_thousand_identifiers(tmp_path):
    path = write(tmp_path, "pid,sex\n" + "".join(f"P{i:06d},{'fm'[i % 2]}\n" for i in range(200_000)))
    assert (
        runner.invoke(app, ["synth", str(path), "-m", "independent", "-o", str(tmp_path / "o.csv")]).exit_code
        == 0
    )
    assert (tmp_path / "o.csv").read_text().splitlines()[0] == "sex", "identifiers are left out"


def test_internal_errors_do_not_quote_data(tmp_path, monkeypatch):
    path = write(tmp_path, "a,b\nsecret-value,x\n2,y\n")

    def explode(*args: object, **kwargs: object) -> None:
        raise ValueError("could not convert 'secret-value'")

    monkeypatch.setattr("dalenius.cli._input.open_file", explode)
    monkeypatch.delenv("DALENIUS_DEBUG", raising=False)
    result = runner.invoke(app, ["schema", str(path)])
    assert result.exit_code == INTERNAL
    assert "secret-value" not in result.output
    assert "ValueError" in result.stderr


def test_errors_never_quote_values(tmp_path):
    path = write(tmp_path, "a,b\nsecret-value,1\nother,2\n")
    schema = write(
        tmp_path, "columns:\n  a: {kind: categorical, levels: [other]}\n  b: {kind: datetime}\n", "s.yaml"
    )
    message = fails("synth", path, "-m", "independent", "--schema", schema)
    assert "'a'" in message
    assert "'b'" in message
    assert "secret-value" not in message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_unreadable_file(tmp_path):
    path = write(tmp_path, "a\n1\n")
    path.chmod(0)
    assert "data.csv" in fails("schema", path)


def test_measures_have_the_names_that_policy_lines_give_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("sex,age\n" + "\n".join(f"{'fm'[i % 2]},{i}" for i in range(60)) + "\n")
    words = [
        "evaluate",
        str(path),
        str(path),
        "-k",
        "age",
        "-t",
        "sex",
        "--measures",
        "repU,DiSCO,mean S_pMSE",
        "--json",
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert [*json.loads(done.stdout)["results"]] == ["replicated-uniques", "disco", "two-way-utility"]


def test_a_reader_that_goes_away_is_no_error():
    """`dalenius … --help | head` closes the pipe before all is written."""
    read, write = os.pipe()
    os.close(read)
    words = [sys.executable, "-m", "dalenius", "tables", "protect", "--help"]
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert "error" not in done.stderr.lower()


@pytest.mark.parametrize("command", ["schema", "check"])
def test_a_name_that_is_no_text_is_told(tmp_path, command):
    """Old disks hold names in other encodings: the file is named as far as can be, and nothing crashes."""
    odd = os.fsencode(tmp_path) + b"/caf\xe9.csv"
    with open(odd, "wb") as stream:
        stream.write(b"a,b\n1,2\n")
    run = [sys.executable, "-c", "from dalenius.cli import app; app()"]
    done = subprocess.run([*run, command, odd], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "caf\\xe9.csv: the name is not UTF-8; rename the file or folder" in done.stderr
