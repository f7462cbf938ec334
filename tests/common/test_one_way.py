"""Python, command line, plan and page give the same bytes for the same method, options and seed.

Where fresh noise is part of the guarantee no two files are alike; then the four doors must lead to the same candidate,
made with the same seed and number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dalenius import Candidate, synthesize
from dalenius.cli import app
from dalenius.core.option import Declared, declared, knobs
from dalenius.data import examples, read, write
from dalenius.release.jobs import job_path
from dalenius.release.plan import read_plan
from dalenius.release.run import run_plan, work_folder
from dalenius.synth import METHODS
from dalenius.synth.made import Made
from dalenius.synth.sequential.planning import READ_BY
from dalenius.synth.sequential.synthesizers import Sequential
from tests import LONG

COLUMNS = ["region", "sex", "age", "income"]
PLAN = "input: {data}\nseed: {seed}\nholdout_share: 0\nscenarios: {{a: {{keys: [sex], targets: [income]}}}}\n"
SAME = {"origin": "http://127.0.0.1:8123", "sec-fetch-site": "same-origin"}
QUICK = settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

ODD = {
    "threads",
    "epsilon",
    "delta",
    "contribution",
    "threshold",
    "drawing",
    "psu",
    "calibrate",
    "max_cells",
    "weighting",
}
"""Options whose values need others beside them, or data of another kind."""


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("one-way") / "people.csv"
    examples.survey(80, seed=3).select(COLUMNS).write_csv(path)
    return path


@pytest.fixture(scope="module", autouse=True)
def salt(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALENIUS_SALT_FILE", str(tmp_path_factory.mktemp("salt") / "salt"))
        yield


def values(option: Declared) -> st.SearchStrategy[Any] | None:
    """Values of an option of a simple type; None for the others."""
    hints = [h for h in (get_args(option.hint) or (option.hint,)) if h is not type(None)]
    if get_origin(option.hint) is Literal:
        return st.sampled_from(get_args(option.hint))
    if option.hint is bool:
        return st.booleans()
    if hints[0] in (int, float) and len(hints) == 1:
        rule = option.option
        low = next((x for x in (rule.at_least, rule.above) if x is not None), 0)
        high = min(low + 20, rule.at_most or low + 20)
        if hints[0] is int:
            return st.integers(int(low), int(high))
        return st.floats(low, high, exclude_min=rule.above is not None).map(lambda x: round(x, 3) or high)
    return None


def chosen_options(method: str) -> st.SearchStrategy[dict[str, Any]]:
    options = declared(METHODS[method])
    # what no column's model reads is refused
    idle = [n for n in READ_BY if issubclass(METHODS[method], Sequential) and not options[n].option.knob]
    simple = {n: values(o) for n, o in options.items() if n not in ODD and n not in idle}
    some = st.fixed_dictionaries({}, optional={n: s for n, s in simple.items() if s is not None})
    needed = dict(METHODS[method].info.example_options)
    whole = some.map(lambda options: {**options, **needed}).filter(
        lambda o: not Candidate(method, o).faults()
    )
    return whole.filter(lambda options: Candidate(method, options).repeatable)


def through_python(data: Path, method: str, options: Mapping[str, Any], seed: int) -> bytes:
    out = data.with_name("python.csv")
    write(synthesize(read(data), method, seed=seed, **options), out)
    return out.read_bytes()


def through_command_line(data: Path, method: str, options: Mapping[str, Any], seed: int) -> bytes:
    out = data.with_name("command.csv")
    typed = [f"--option={method}.{name}={json.dumps(value)}" for name, value in options.items()]
    call = ["synth", str(data), "-m", method, *typed, "--seed", str(seed), "-o", str(out), "--quiet"]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    return out.read_bytes()


def job_bytes(path: Path) -> bytes:
    """What the one job of a plan makes, without measuring it."""
    from dalenius.release.jobs import _make

    plan = read_plan(path)
    out = path.with_name("job.json")
    _make(plan, plan.candidates[0], 0, out)
    write(read(out.with_suffix(".parquet")), path.with_name("plan.csv"))
    return path.with_name("plan.csv").read_bytes()


def through_plan(data: Path, method: str, options: Mapping[str, Any], seed: int) -> bytes:
    path = data.with_name("plan.yaml")
    entry = json.dumps({"mine": {"method": method, **options}})
    path.write_text(PLAN.format(data=data.name, seed=seed) + f"candidates: {entry}\n")
    return job_bytes(path)


@cache
def page(data: Path) -> tuple[Any, str]:
    """The page, with the file opened in it, and the address of its run."""
    pytest.importorskip("fastapi", reason="the web extra is not installed")
    from starlette.testclient import TestClient

    from dalenius.web.server import make_app

    space = make_app(data.parent / "space", "secret", 8123)
    client = TestClient(space, base_url="http://127.0.0.1:8123", follow_redirects=False)
    client.get("/enter?token=secret")
    opened = client.post("/open", files={"file": (data.name, data.read_bytes())}, headers=SAME)
    return client, opened.headers["location"]


def through_page(data: Path, method: str, options: Mapping[str, Any], seed: int) -> bytes:
    client, run = page(data)
    from dalenius.web.workspace import Run

    form: dict[str, Any] = {
        "method": method, "seed": str(seed), "holdout_share": "0", "s-0-name": "a",
        "s-0-key": str(COLUMNS.index("sex")), "s-0-target": str(COLUMNS.index("income")),
    }  # fmt: skip
    for name, value in options.items():
        form[f"o-{method}-{name}"] = value if isinstance(value, str) else json.dumps(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "start", lambda run: None)  # the job is done here, and without measuring
        answer = client.post(f"{run}/start", data=form, headers=SAME)
    assert answer.status_code == 303, answer.text
    return job_bytes(data.parent / "space" / "runs" / run.rpartition("/")[2] / "plan.yaml")


def compare_doors(data: Path, method: str, options: dict[str, Any], seed: int) -> None:
    first = through_python(data, method, options, seed)
    assert first.count(b"\n") > 1
    assert through_command_line(data, method, options, seed) == first
    assert through_plan(data, method, options, seed) == first
    # the page offers a few options; the plan takes them all
    offered = {k.name: options[k.name] for k in knobs(METHODS[method]) if k.name in options}
    if offered != options:
        first = through_python(data, method, offered, seed)
    assert through_page(data, method, offered, seed) == first


REPEATABLE = [name for name, kind in METHODS._items.items() if kind.info.seedable and not kind.info.masks]
NOISY = [name for name in METHODS if not METHODS[name].info.seedable]


@pytest.mark.parametrize("method", REPEATABLE)
def test_every_door_gives_the_same_bytes(data, method):
    compare_doors(data, method, dict(METHODS[method].info.example_options), seed=7)


@pytest.mark.parametrize("method", REPEATABLE)
def test_every_door_gives_the_same_bytes_whatever_the_options(data, method):
    @QUICK
    @given(options=chosen_options(method), seed=st.integers(0, 2**40))
    def compare(options, seed):
        compare_doors(data, method, options, seed)

    compare()


@pytest.mark.slow
@pytest.mark.parametrize("method", REPEATABLE)
def test_every_door_gives_the_same_bytes_with_many_options(data, method):
    @settings(QUICK, max_examples=40 if LONG else 6, derandomize=False)
    @given(options=chosen_options(method), seed=st.integers(0, 2**40))
    def compare(options, seed):
        compare_doors(data, method, options, seed)

    compare()


@pytest.mark.parametrize("method", [*NOISY, "loglinear"])
def test_noise_is_fresh_but_the_way_is_the_same(data, method, monkeypatch):
    ways = []

    def record(self, table, copies=1, *, seed=0, first=0, progress=None, force=False):
        ways.append((self.method, dict(self.options), self.columns, self.rows, table.rows, seed, first))
        return Made((table,), table.rows)

    monkeypatch.setattr(Candidate, "make", record)
    needed = {k: v for k, v in METHODS[method].info.example_options.items() if k in ("variables", "delta")}
    domain = {"domain": "from-data"} if "domain" in declared(METHODS[method]) else {}
    options = {**needed, "epsilon": 2.0, **domain}
    doors = [through_python, through_command_line, through_plan]
    if method != "safepub":  # what it generalises is written in a plan; the page has no form for it
        doors.append(through_page)
    for door in doors:
        door(data, method, options, 5)
    assert len(ways) == len(doors)
    assert all(way == ways[0] for way in ways)


def test_default_method_and_seed_are_the_same_everywhere(data):
    out = data.with_name("default.csv")
    result = CliRunner().invoke(app, ["synth", str(data), "-o", str(out), "--quiet"])
    assert result.exit_code == 0, result.output
    write(synthesize(read(data)), data.with_name("python.csv"))
    assert out.read_bytes() == data.with_name("python.csv").read_bytes()
    plan = data.with_name("plan.yaml")
    text = PLAN.format(data=data.name, seed=0).replace("seed: 0\n", "") + "candidates: {cart: {}}\n"
    plan.write_text(text)
    assert job_bytes(plan) == out.read_bytes()


@pytest.mark.parametrize("options", [{}, {"proper": True}])
def test_replicates_of_a_plan_are_the_copies_of_a_candidate(data, options):
    plan_file = data.with_name("replicates.yaml")
    entry = json.dumps({"cart": options})
    plan_file.write_text(
        PLAN.format(data=data.name, seed=3)
        + f"candidates: {entry}\nreplicates: 2\nmeasures: [two-way-utility]\n"
    )
    plan = read_plan(plan_file)
    run_plan(plan, workers=1)
    out = data.with_name("copies.csv")
    typed = [f"--option=proper={json.dumps(v)}" for v in options.values()]
    result = CliRunner().invoke(
        app, ["synth", str(data), "--copies", "2", *typed, "--seed", "3", "-o", str(out)]
    )
    assert result.exit_code == 0, result.output
    files = [out.with_name(f"copies.{number}.csv").read_bytes() for number in (1, 2)]
    assert files[0] != files[1]
    for replicate in (0, 1):
        made = read(job_path(work_folder(plan), plan.candidates[0], replicate).with_suffix(".parquet"))
        write(made, data.with_name("replicate.csv"))
        assert data.with_name("replicate.csv").read_bytes() == files[replicate]


def test_a_drawn_population_is_drawn_anew_for_each_copy(tmp_path):
    path = tmp_path / "weighted.csv"
    examples.survey(120, seed=1).select("sex", "age", "weight").write_csv(path)
    options = {"weights": "weight", "weighting": "population"}
    made = Candidate("cart", options).make(read(path), copies=2, seed=1)
    assert made.proper
    alone = Candidate("cart", options).make(read(path), seed=1, first=1)
    write(alone.table, tmp_path / "alone.csv")
    write(made.tables[1], tmp_path / "second.csv")
    assert (tmp_path / "alone.csv").read_bytes() == (tmp_path / "second.csv").read_bytes()
    typed = [f"--option=cart.{name}={value}" for name, value in options.items()]
    call = ["synth", str(path), *typed, "--copies", "2", "--seed", "1", "-o", str(tmp_path / "out.csv")]
    assert CliRunner().invoke(app, call).exit_code == 0
    assert (tmp_path / "out.2.csv").read_bytes() == (tmp_path / "second.csv").read_bytes()
