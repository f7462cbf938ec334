"""The ledger of a data set: nothing is spent twice, lost or beyond the budget, whoever is killed when."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from dalenius.core.errors import FileError, OptionError
from dalenius.data import Column, Kind, Schema
from dalenius.dp import Budget, open_ledger
from dalenius.synth import synthesize

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
