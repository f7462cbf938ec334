"""The round over a real network on this computer: the same bytes as in one process, and what happens when it fails.

Flower is an extra that pins other libraries, so these tests run where it is installed (an environment of its own).
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from dalenius.core.errors import DataError, FileError, MissingExtraError, OptionError
from dalenius.models.federated import Agreement, Attribute, client_message, flower, merge_messages
from dalenius.models.federated.trees import to_json

needs_flower = pytest.mark.skipif(
    importlib.util.find_spec("flwr") is None,
    reason="Flower is not installed: pip install 'dalenius[federated]'",
)
AGREED = Agreement((Attribute("age", (0, 100)),), "ill", ("no", "yes"), depth=2, theta=0.1)
OTHER = Agreement((Attribute("age", (0, 100)),), "ill", ("no", "yes"), depth=2, theta=0.2)


def message(holder, agreed=AGREED):
    age = np.random.default_rng(holder).integers(0, 100, 400)
    data = {"age": age, "ill": np.where(age < 40 + holder, "no", "yes")}
    return client_message(data, agreed, bins=10, seed=holder)


@pytest.fixture
def round_of(tmp_path):
    """Starts commands of one round, each a process of its own; ends what is left of them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "agreed.json").write_text(json.dumps(AGREED.to_json()))
    (tmp_path / "other.json").write_text(json.dumps(OTHER.to_json()))
    running = []

    def start(*words):
        command = [sys.executable, "-m", "dalenius", "models", "federate", *words, "--address", address]
        held = {"cwd": tmp_path, "env": {**os.environ, "FLWR_TELEMETRY_ENABLED": "1"}, "text": True}
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **held))
        return running[-1]

    yield start, tmp_path, address
    for process in running:
        process.kill()
        process.communicate()


@needs_flower
@pytest.mark.slow
def test_what_goes_over_the_network_is_what_is_merged_in_one_process(round_of):
    start, folder, _ = round_of
    for holder in range(3):
        (folder / f"{holder}.json").write_text(json.dumps(message(holder)))
    holders = [start("join", f"{holder}.json", "agreed.json", "--wait", "120") for holder in range(3)]
    time.sleep(8)  # they are there before anybody serves
    server = start("serve", "agreed.json", "--holders", "3", "-o", "tree.json", "--wait", "120")
    said = [process.communicate(timeout=180) for process in (server, *holders)]
    assert [p.returncode for p in (server, *holders)] == [0, 0, 0, 0], said
    tree, _ = merge_messages([json.dumps(message(holder)) for holder in range(3)], AGREED)
    assert json.loads((folder / "tree.json").read_text())["tree"] == to_json(tree)
    assert "3 holders sent one tree each" in said[0][0]


@needs_flower
@pytest.mark.slow
def test_a_holder_who_agreed_on_something_else_sends_nothing(round_of):
    start, folder, _ = round_of
    (folder / "own.json").write_text(json.dumps(message(1, OTHER)))
    server = start("serve", "agreed.json", "--holders", "1", "-o", "tree.json", "--wait", "120")
    holder = start("join", "own.json", "other.json", "--wait", "120")
    told, asked = holder.communicate(timeout=180)[1], server.communicate(timeout=180)[1]
    assert "nothing was sent" in " ".join(told.split())
    assert "1 holder agreed on something else; nothing was merged" in " ".join(asked.split())
    assert holder.returncode
    assert server.returncode
    assert not (folder / "tree.json").exists()


VANISHES = """
import os, sys
from dalenius.models.federated import Agreement, flower
import json
agreed = Agreement.from_json(json.load(open("agreed.json")))
make = flower._answering
def vanishing(*given):
    client = make(*given)
    client.fit = lambda parameters, config: os._exit(9)
    return client
flower._answering = vanishing
flower.join(open("own.json").read(), agreed, address=sys.argv[1], wait=60)
"""


@needs_flower
@pytest.mark.slow
def test_a_holder_who_disappears_in_the_middle_ends_the_round(round_of):
    start, folder, address = round_of
    (folder / "own.json").write_text(json.dumps(message(1)))
    server = start("serve", "agreed.json", "--holders", "2", "-o", "tree.json", "--wait", "120")
    honest = start("join", "own.json", "agreed.json", "--wait", "120")
    gone = subprocess.Popen([sys.executable, "-c", VANISHES, address], cwd=folder)
    asked = server.communicate(timeout=180)[1]
    assert "1 of 2 holders went away; nothing was merged" in " ".join(asked.split())
    assert gone.wait(timeout=60) == 9
    honest.communicate(timeout=60)
    assert server.returncode
    assert not (folder / "tree.json").exists()


@needs_flower
@pytest.mark.slow
def test_waiting_ends(round_of):
    start, folder, _ = round_of
    (folder / "own.json").write_text(json.dumps(message(1)))
    before = time.monotonic()
    alone = start("join", "own.json", "agreed.json", "--wait", "2")
    assert re.search("nobody (serves|asked)", " ".join(alone.communicate(timeout=120)[1].split()))
    assert alone.returncode
    server = start("serve", "agreed.json", "--holders", "2", "-o", "tree.json", "--wait", "2")
    assert "0 of 2 holders joined in time" in " ".join(server.communicate(timeout=120)[1].split())
    assert time.monotonic() - before < 240


@needs_flower
def test_nobody_is_told_of_a_round(monkeypatch):
    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "1")
    flower._flower()
    from flwr.supercore import telemetry

    assert telemetry.FLWR_TELEMETRY_ENABLED == "0"
    assert os.environ["FLWR_TELEMETRY_ENABLED"] == "0"


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: flower.serve(AGREED, 0), OptionError, "at least one holder"),
    (lambda: flower.serve(AGREED, 2, wait=0), OptionError, "above 0 seconds"),
    (lambda: flower.serve(AGREED, 2, address="0.0.0.0:99"), OptionError, "not this computer.*give certificates"),
    (lambda: flower.join("{}", AGREED, address="data.example:99"), OptionError, "not this computer"),
    (lambda: flower.serve(AGREED, 2, address="nowhere"), OptionError, "host and port"),
    (lambda: flower.join("{}", AGREED), DataError, "message 1 cannot be read"),
    (lambda: flower.join("x" * (flower.MOST + 1), AGREED), DataError, "larger than"),
    (lambda: flower.Certificates("/nowhere/ca.pem").read(), OptionError, "certificate and a key of its own"),
    (lambda: flower.Certificates("/nowhere/ca.pem", "a", "b").read(), FileError, "No such file"),
])  # fmt: skip
def test_bad_input_names_what_to_do(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_the_extra_is_named_where_it_lacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "flwr", None)
    with pytest.raises(MissingExtraError, match=r"dalenius\[federated\]"):
        flower.serve(AGREED, 2)
