"""The stranger test: a skeleton of each kind, ten lines of one's own, and every battery passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.counts.measure import MEASURES

from .test_plugins import run

YOURS = "    # From here to the end it is yours"
MEASURE = """
    worst = 0.0
    for name in pair.columns:
        column = pair.categories(name)
        first = np.bincount(column.original.codes, minlength=len(column.original.labels))
        second = np.bincount(column.protected.codes, minlength=len(column.original.labels))
        gap = np.abs(first / max(first.sum(), 1) - second / max(second.sum(), 1)).max()
        worst = max(worst, float(gap))
    return Result("toy-measure", worst, f"No category is off by more than {100 * worst:.0f} % of the rows.")
"""
SYNTHESIZER = """
        order = generator(seed, "order")
        vectors = []
        for name in self.table.names:
            picked = order.permutation(max(self.rows, 1))
            picked = np.resize(picked, rows)
            vectors.append(self.table[name].take(picked))
        return Table.from_vectors(vectors, rows, self.origin, self.schema)
"""
RULE = """
        few = model.frequency <= self.most
        even = model.frequency % 2 == 0
        return Protection.of(model, few & even)
"""
STEP = """
        held = table[self.column]
        drawn = generator(seed, self.column)
        gone = drawn.random(table.rows) < self.share
        gone &= held.present
        return Masked.of(table, table.with_vectors(emptied(held, gone)))
"""
COMMAND = """
    empty = {name: int((~table[name].present).sum()) for name in table.names}
    for name, cells in empty.items():
        terminal.say(f"{name}: {cells:,} empty cells")
    terminal.emit({"rows": table.rows, "empty": empty})
"""
GROUPS = {
    "measure": ("measures", MEASURE, "toy_measure"),
    "synthesizer": ("methods", SYNTHESIZER, "ToySynthesizer"),
    "step": ("steps", STEP, "ToyStep"),
    "rule": ("rules", RULE, "ToyRule"),
    "command": ("commands", COMMAND, "app"),
}


def new(what: str, folder: Path) -> list[Path]:
    """The files that `dalenius new` writes."""
    before = set(folder.rglob("*"))
    answer = CliRunner().invoke(app, ["new", what, f"toy-{what}", "--into", str(folder)])
    assert answer.exit_code == 0, answer.output
    return sorted(path for path in set(folder.rglob("*")) - before if path.is_file())


def filled(text: str, body: str) -> str:
    """A skeleton with ten lines or fewer in place of what it asks for."""
    assert len(body.strip().splitlines()) <= 10
    kept = text[: text.index(YOURS.strip())].rstrip()
    made = kept + body
    if "class ToySynthesizer(" in text:  # the rest of the file follows the part to fill in
        made += "\n\n" + text[text.index("@register") :]
        made = made.replace("from dalenius.core.cost", "import numpy as np\n\nfrom dalenius.core.cost", 1)
    return made


@pytest.mark.parametrize("what", GROUPS)
def test_a_skeleton_is_two_files_in_the_right_room(what, tmp_path):
    rooms = {"measure": "utility", "synthesizer": "synth", "step": "mask", "rule": "tables", "command": "cli"}
    (tmp_path / "src" / "dalenius" / rooms[what]).mkdir(parents=True)
    assert [str(path.relative_to(tmp_path)) for path in new(what, tmp_path)] == [
        f"src/dalenius/{rooms[what]}/toy_{what}.py",
        f"tests/{rooms[what]}/test_toy_{what}.py",
    ]
    again = CliRunner().invoke(app, ["new", what, f"toy-{what}", "--into", str(tmp_path)])
    assert again.exit_code == 2
    assert "there already" in again.stderr


def test_a_measure_of_risk_goes_into_its_own_room_and_keeps_its_test(tmp_path):
    (tmp_path / "src" / "dalenius" / "risk").mkdir(parents=True)
    answer = CliRunner().invoke(app, ["new", "measure", "toy-risk", "--risk", "--into", str(tmp_path)])
    assert answer.exit_code == 0, answer.output
    assert "calibration 31 toy-risk" in " ".join(answer.output.split())
    code = (tmp_path / "src" / "dalenius" / "risk" / "toy_risk.py").read_text(encoding="utf-8")
    test = (tmp_path / "tests" / "risk" / "test_toy_risk.py").read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "toy_risk"}
    try:
        exec(code, names)
        exec(test.replace("from dalenius.risk.toy_risk import toy_risk", ""), names)
        names["test_by_hand"]()
        assert MEASURES["toy-risk"].info.dimension is not None
    finally:
        MEASURES.remove("toy-risk")
    answer = CliRunner().invoke(app, ["new", "rule", "toy-rule", "--risk", "--into", str(tmp_path)])
    assert answer.exit_code == 2
    assert "goes with a measure" in answer.stderr


@pytest.mark.parametrize("name", ["Toy", "toy measure", "../toy", "1toy", "", "class", "disco"])
def test_odd_names_are_refused(name, tmp_path):
    answer = CliRunner().invoke(app, ["new", "measure", name, "--into", str(tmp_path)])
    assert answer.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_stranger_adds_one_of_each(tmp_path):
    offered = []
    for what, (group, body, thing) in GROUPS.items():
        code, _ = sorted(new(what, tmp_path), key=lambda path: path.name.startswith("test_"))
        code.write_text(filled(code.read_text(encoding="utf-8"), body), encoding="utf-8")
        offered.append(f"[dalenius.{group}]\ntoy-{what} = toy_{what}:{thing}\n")
    about = tmp_path / "toys-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("\n".join(offered))
    batteries = ["tests/common"]
    told = run(tmp_path, "-m", "pytest", *batteries, "-k", "toy-")
    passed = int(told.split(" passed")[0].split()[-1])
    assert passed > 30, told
    for what in ("synthesizer", "step"):
        run(tmp_path, "-m", "pytest", str(tmp_path / f"test_toy_{what}.py"))
    assert "toy-command" in run(tmp_path, "-m", "dalenius", "--help")
