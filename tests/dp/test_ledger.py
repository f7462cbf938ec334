"""The ledger of a data set: nothing is spent twice, lost or beyond the budget, whoever is killed when."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time

import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import FileError, OptionError
from dalenius.data import Column, Kind, Schema, Table
from dalenius.dp import Budget, ledger_path, open_ledger, paid_utility
from dalenius.dp import ledger as ledgers
from dalenius.dp.count_privacy import delta
from dalenius.evaluation import sweep
from dalenius.synth import make_synthesizer, synthesize

SPENDER = """
import sys
from dalenius.dp import open_ledger
path, told, name = sys.argv[1:4]
ledger = open_ledger(path)
with open(told, "a", buffering=1) as out:
    for turn in range(100000):
        try:
            ledger.spend(f"{name}:{turn}", epsilon=0.01, output="t")
        except Exception as error:
            out.write("refused\\n")
            break
        out.write(f"{name}:{turn}\\n")
"""


@pytest.mark.slow
def test_twenty_kills_lose_and_double_nothing(tmp_path):
    file = tmp_path / "people.csv.budget"
    open_ledger(file, epsilon=12.0)
    chance = random.Random(1)
    running: list[tuple[subprocess.Popen, str]] = []

    def begin(number: int) -> None:
        name = f"p{number}"
        words = [sys.executable, "-c", SPENDER, str(file), str(tmp_path / f"{name}.told"), name]
        running.append((subprocess.Popen(words, env=os.environ), name))

    for number in range(3):
        begin(number)
    killed = 0
    while killed < 20:
        while not any((tmp_path / f"{name}.told").exists() for _, name in running):
            time.sleep(0.02)
        time.sleep(chance.uniform(0.0, 0.15))
        process, _ = running.pop(chance.randrange(len(running)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed += 1
        begin(number + killed)
    for process, _ in running:
        process.wait(timeout=600)
    ledger = open_ledger(file)
    kept = [spend.what for spend in ledger.spends]
    told = [line for path in tmp_path.glob("*.told") for line in path.read_text().splitlines() if ":" in line]
    assert len(told) > 20
    assert len(set(kept)) == len(kept), "no spend is doubled"
    assert set(told) <= set(kept), "no spend that was acknowledged is lost"
    assert ledger.spent <= 12.0 * (1 + 1e-9)
    assert len(kept) == 1200, "the survivors spent the rest, and not one more"


def test_a_line_that_a_kill_cut_short_is_no_spend(tmp_path):
    file = tmp_path / "a.budget"
    open_ledger(file, epsilon=1.0).spend("one", epsilon=0.5)
    whole = file.read_bytes()
    file.write_bytes(whole + b'0123 {"what": "cut')
    open_ledger(file).spend("two", epsilon=0.25)
    assert [s.what for s in open_ledger(file).spends] == ["one", "two"]
    assert file.read_bytes().startswith(whole)


def test_a_changed_line_is_noticed(tmp_path):
    file = tmp_path / "a.budget"
    ledger = open_ledger(file, epsilon=1.0)
    for turn in range(3):
        ledger.spend(f"spend {turn}", epsilon=0.3)
    lines = file.read_text().splitlines(keepends=True)
    for changed in (
        [lines[0], lines[1].replace("0.3", "0.1"), *lines[2:]],
        [lines[0], *lines[2:]],
        [lines[0].replace("1.0", "9.0"), *lines[1:]],
    ):
        file.write_text("".join(changed))
        with pytest.raises(FileError, match="was changed"):
            open_ledger(file)


def test_a_second_program_waits_or_is_refused_in_one_line(tmp_path):
    import fcntl

    file = tmp_path / "a.budget"
    ledger = open_ledger(file, epsilon=1.0, wait=0.05)
    with file.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(OptionError, match="in use by another program") as caught:
            ledger.spend("late", epsilon=0.1)
        assert "\n" not in str(caught.value)
    ledger.spend("late", epsilon=0.1)
    assert open_ledger(file).spent == pytest.approx(0.1)


def test_terms_of_a_ledger_stay(tmp_path):
    file = tmp_path / "a.budget"
    with pytest.raises(FileError, match="no ledger"):
        open_ledger(file)
    open_ledger(file, epsilon=1.0, delta=1e-6)
    with pytest.raises(OptionError, match="ledger of ε = 1"):
        open_ledger(file, epsilon=2.0)
    terms = {"delta": 1e-5, "neighbours": "replace", "accounting": "zcdp", "unit": "person"}
    for name, value in terms.items():  # nobody spends per person from a ledger that protects records
        with pytest.raises(OptionError, match=f"open it without {name}"):
            open_ledger(file, **{name: value})
    again = open_ledger(file, 1.0, 1e-6, neighbours="add-remove", accounting="approximate", unit="record")
    assert again.left == open_ledger(file).left
    ledger = open_ledger(file)
    ledger.charge(Budget(0.5), "a query", output="table.csv")
    with pytest.raises(OptionError, match="do not add up"):
        ledger.charge(Budget(0.5, neighbours="replace"), "another")
    said = str(open_ledger(file))
    assert "a query: ε = 0.5 → table.csv" in said
    assert json.loads(file.read_text().splitlines()[1].partition(" ")[2])["who"] in said


def test_synthetic_files_are_paid_out_of_the_ledger_before_noise(tmp_path):
    schema = Schema((Column("a", Kind.CATEGORICAL, levels=("x", "y"), domain="declared"),))
    data, file = {"a": ["x", "y"] * 50}, tmp_path / "data.csv.budget"
    open_ledger(file, epsilon=1.0)
    for method in ("saturated", "loglinear"):
        synthesize(data, method, schema=schema, epsilon=0.5, ledger=str(file))
    with pytest.raises(OptionError, match=r"would cost 1\.5 of a budget of 1"):
        synthesize(data, "saturated", schema=schema, epsilon=0.5, ledger=str(file))
    assert [s.what for s in open_ledger(file).spends] == ["saturated: a", "loglinear: a"]
    shared = Budget(2.0, 1e-6, accounting="approximate")
    synthesize(data, "mst", schema=schema, epsilon=1.0, delta=1e-9, ledger=shared)
    assert 0 < shared.spent < shared.total


PEOPLE = Schema((Column("sex", Kind.CATEGORICAL, levels=("f", "m")), Column("ill", Kind.BOOLEAN))).declare()
DATA = {"sex": ["f", "m"] * 100, "ill": [True, False, False, False] * 50}


def begun(folder, **terms):
    """A data file with its schema, and the ledger beside it."""
    pl.DataFrame(DATA).write_csv(folder / "people.csv")
    PEOPLE.to_yaml(folder / "schema.yaml")
    return open_ledger(ledger_path(folder / "people.csv"), **terms)


def run(folder, *words):
    given = [
        str(folder / word) if "." in word and "=" not in word and not word[0].isdigit() else word
        for word in words
    ]
    return CliRunner().invoke(app, given)


@pytest.mark.parametrize("named", ["people.csv", "link.csv"])
def test_synth_pays_from_the_ledger_beside_the_data_by_itself(tmp_path, named):
    begun(tmp_path, epsilon=1.5)
    (tmp_path / "link.csv").symlink_to(tmp_path / "people.csv")
    words = ["synth", named, "-m", "saturated", "--epsilon", "1", "--schema", "schema.yaml", "-o", "out.csv"]
    done = run(tmp_path, *words)
    assert done.exit_code == 0, done.output
    assert "200 rows" not in done.output, "the number of rows is noised, on the screen too"
    assert open_ledger(tmp_path / "people.csv.budget").spent == 1.0
    (tmp_path / "out.csv").unlink()
    again = run(tmp_path, *words)
    assert again.exit_code == 2
    assert "would cost 2 of a budget of 1.5" in " ".join(again.output.split())
    assert not (tmp_path / "out.csv").exists()


def test_another_ledger_can_be_named_and_no_other_door_is_open(tmp_path):
    begun(tmp_path, epsilon=0.5)
    other = open_ledger(tmp_path / "other.budget", epsilon=3.0)
    words = [
        "synth",
        "people.csv",
        "-m",
        "saturated",
        "--epsilon",
        "1",
        "--schema",
        "schema.yaml",
        "-o",
        "out.csv",
    ]
    assert run(tmp_path, *words).exit_code == 2
    assert run(tmp_path, *words, "--ledger", "other.budget").exit_code == 0
    assert open_ledger(other.path).spent == 1.0
    asked = run(tmp_path, "dp", "count", "people.csv", "--schema", "schema.yaml", "--epsilon", "0.9")
    assert asked.exit_code == 2


def test_nothing_is_paid_for_a_file_that_cannot_be_written(tmp_path):
    begun(tmp_path, epsilon=1.5)
    words = [
        "synth",
        "people.csv",
        "-m",
        "saturated",
        "--epsilon",
        "1",
        "--schema",
        "schema.yaml",
        "-o",
        "out.foo",
    ]
    assert run(tmp_path, *words).exit_code == 2
    assert open_ledger(tmp_path / "people.csv.budget").spent == 0


def test_a_sweep_pays_for_each_file_it_makes(tmp_path):
    ledger = open_ledger(tmp_path / "budget", epsilon=4.0)
    sweep(DATA, "saturated", [0.5, 1.0, None], replicates=2, schema=PEOPLE, ledger=ledger)
    assert open_ledger(ledger.path).spent == pytest.approx(3.0)
    with pytest.raises(OptionError, match="of a budget of 4"):
        sweep(DATA, "saturated", [1.0], replicates=2, schema=PEOPLE, ledger=ledger)


def test_count_models_pay_what_they_state(tmp_path):
    table = Table.from_frame(DATA, PEOPLE)
    ledger = Budget(5.0, 0.5, accounting="approximate")
    make_synthesizer("poisson", calibrate=(2.0, 0.01), ledger=ledger).fit(table)
    assert ledger.spends[0].epsilon == 2.0
    assert 0.009 < ledger.spends[0].delta <= 0.01
    make_synthesizer("poisson", alpha=1.0, ledger=ledger).fit(table)
    assert ledger.spends[1].delta == pytest.approx(delta(1.0, 1.0))
    with pytest.raises(OptionError, match="would cost"):
        make_synthesizer("poisson", alpha=0.1, ledger=Budget(5.0, 0.01, accounting="approximate")).fit(table)


def test_a_spend_that_could_not_be_written_is_not_remembered(tmp_path, monkeypatch):
    ledger = open_ledger(tmp_path / "budget", epsilon=1.0)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dalenius.dp.ledger._append", full)
        with pytest.raises(FileError, match="nothing was spent"):
            ledger.spend("a", epsilon=0.6)
    assert ledger.left == 1.0
    ledger.spend("b", epsilon=0.6)


def test_a_line_written_in_part_is_no_spend(tmp_path, monkeypatch):
    ledger = open_ledger(tmp_path / "budget", epsilon=1.0)
    whole = (tmp_path / "budget").read_bytes()

    class Cut:
        """A file on a disk that takes ten more bytes."""

        def __init__(self, stream):
            self.stream = stream

        def write(self, line):
            return self.stream.write(line[:10])

        def __getattr__(self, name):
            return getattr(self.stream, name)

    @contextlib.contextmanager
    def narrow(path, wait):
        with locked(path, wait) as stream:
            yield Cut(stream)

    locked = ledgers._locked
    with monkeypatch.context() as patch:
        patch.setattr(ledgers, "_locked", narrow)
        with pytest.raises(FileError, match="nothing was spent"):
            ledger.spend("a", epsilon=0.6)
    assert ledger.left == 1.0
    assert (tmp_path / "budget").read_bytes() == whole + (tmp_path / "budget").read_bytes()[len(whole) :][:10]
    ledger.spend("b", epsilon=0.6)
    assert open_ledger(tmp_path / "budget").spent == pytest.approx(0.6)


def test_nobody_else_may_read_a_ledger(tmp_path):
    open_ledger(tmp_path / "budget", epsilon=1.0)
    assert stat.S_IMODE((tmp_path / "budget").stat().st_mode) == 0o600


def test_a_spend_is_on_the_disk_before_it_counts(tmp_path, monkeypatch):
    ledger, pushed = open_ledger(tmp_path / "budget", epsilon=1.0), []
    monkeypatch.setattr(os, "fsync", pushed.append)
    ledger.spend("a", epsilon=0.1)
    assert len(pushed) == 1


def test_bought_figures_are_paid_by_whom_they_protect(tmp_path):
    whole = Budget(5.0, unit="who")
    paid_utility(DATA, DATA, epsilon=1.0, schema=PEOPLE, records=3, unit="who", ledger=whole)
    assert whole.spent == 1.0
    with pytest.raises(OptionError, match="do not add up"):
        paid_utility(DATA, DATA, epsilon=1.0, schema=PEOPLE, ledger=whole)
    with pytest.raises(OptionError, match="do not add up"):
        whole.charge(Budget(1.0), "for records")


def test_a_new_ledger_is_on_the_disk_with_its_name(tmp_path, monkeypatch):
    pushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: pushed.append(os.fstat(handle).st_ino))
    file = tmp_path / "budget"
    open_ledger(file, epsilon=1.0)
    assert pushed == [file.stat().st_ino, tmp_path.stat().st_ino]


def test_noisy_tables_are_paid_too(tmp_path):
    """A table under a budget is a release like any other."""
    begun(tmp_path, epsilon=1.5)
    words = ["tables", "perturb", "people.csv", "--by", "sex", "--method", "budget", "--epsilon", "1"]
    words += ["--public-codes", "-o", "table.csv"]
    done = run(tmp_path, *words)
    assert done.exit_code == 0, done.output
    paid = open_ledger(tmp_path / "people.csv.budget")
    assert (paid.spent, paid.spends[0].output) == (1.0, "dalenius tables perturb")
    (tmp_path / "table.csv").unlink()
    again = run(tmp_path, *words)
    assert again.exit_code == 2
    assert "would cost 2 of a budget of 1.5" in " ".join(again.output.split())
    assert not (tmp_path / "table.csv").exists()


def test_a_fix_by_noise_is_paid_where_a_ledger_is_named():
    from dalenius.tables import define, noisy_table

    ledger, model = Budget(1.0), define({"a": ["x", "y"], "n": [50, 70]}, by="a", freq="n")
    noisy_table(model, Budget(0.75), assume_public_codes=True, ledger=ledger)
    assert ledger.spent == 0.75
    with pytest.raises(OptionError, match="would cost"):
        noisy_table(model, Budget(0.75), assume_public_codes=True, ledger=ledger)


def test_another_name_of_the_file_finds_the_ledger_or_is_stopped(tmp_path):
    """A hard link is the same file: what it holds must not be released without the ledger."""
    begun(tmp_path, epsilon=1.0)
    (tmp_path / "elsewhere").mkdir()
    for other in ("hard.csv", "elsewhere/hard.csv"):
        (tmp_path / other).hardlink_to(tmp_path / "people.csv")
    words = ["--schema", "schema.yaml", "--epsilon", "0.75"]
    assert run(tmp_path, "dp", "count", "hard.csv", *words).exit_code == 0
    assert open_ledger(tmp_path / "people.csv.budget").spent == 0.75
    assert run(tmp_path, "dp", "count", "hard.csv", *words).exit_code == 2
    far = run(tmp_path, "dp", "count", "elsewhere/hard.csv", *words)
    assert far.exit_code == 2
    assert "one of 3 names of the same file" in " ".join(far.output.split())
    made = run(tmp_path, "synth", "elsewhere/hard.csv", "-m", "saturated", *words, "-o", "out.csv")
    assert made.exit_code == 2, "every door asks"
    free = run(tmp_path, "synth", "elsewhere/hard.csv", "-m", "cart", "-o", "out.csv")
    assert free.exit_code == 0, "what spends nothing needs no ledger"
