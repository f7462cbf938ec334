"""Recipes: logged, taken back, done again, found by a target; ghost columns go."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius import Candidate
from dalenius.cli import app
from dalenius.core.errors import DaleniusError
from dalenius.data import examples, write
from dalenius.data.recipe import Recipe
from dalenius.data.table import Table
from dalenius.mask.recipes import RecipeMasker
from dalenius.mask.trail import Trail

KEYS = ["region", "sex", "age", "marital"]


def survey(rows: int = 500) -> Table:
    return Table.from_frame(examples.survey(rows, seed=5).select(*KEYS, "health", "diagnosis", "income"))


def test_undo_restores_bytes_and_never_touches_the_source(tmp_path: Path) -> None:
    table = survey()
    write(table, tmp_path / "before.csv")
    trail = Trail.of(table, KEYS).do("recode", column="age", width=10).do("round", column="income", base=1000)
    write(trail.undo().undo().table, tmp_path / "after.csv")
    assert (tmp_path / "before.csv").read_bytes() == (tmp_path / "after.csv").read_bytes()
    write(trail.undo().table, tmp_path / "one.csv")
    write(Trail.of(table, KEYS).do("recode", column="age", width=10).table, tmp_path / "again.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    first = trail.logged[0]
    assert first.before is not None
    assert first.after is not None
    assert first.after[0] < first.before[0]
    with pytest.raises(DaleniusError, match="no step to take back"):
        Trail.of(table).undo()


def test_a_recipe_is_replayed_from_its_file(tmp_path: Path) -> None:
    trail = (
        Trail.of(survey(), KEYS)
        .do("recode", column="age", width=10)
        .do("limit-values", column="income", high=4000)
    )
    for name in ("recipe.yaml", "recipe.json"):
        trail.recipe.write(tmp_path / name)
        again = Recipe.read(tmp_path / name)
        assert again == trail.recipe
        assert again.apply(survey()).to_frame().equals(trail.table.to_frame())


def test_a_target_finds_the_weakest_amount() -> None:
    table = survey()
    steps = [{"do": "recode", "column": "age", "width": {"amount": [2, 5, 10, 20, 50]}}]
    counts = {}
    for width in (2, 5, 10, 20, 50):
        plain = RecipeMasker([{"do": "recode", "column": "age", "width": width}], keys=KEYS)
        counts[width] = plain.find(table, 1)[2][-1].after[0]
    wanted = counts[20]
    recipe, _, log = RecipeMasker(steps, f"expected re-identifications <= {wanted}", KEYS).find(table, 1)
    assert recipe.steps[0].width == 20
    assert log[-1].after[0] == wanted
    with pytest.raises(DaleniusError, match="not even the strongest"):
        Candidate("recipe", {"steps": steps, "target": "k >= 400", "keys": KEYS}).make(table)
    with pytest.raises(DaleniusError, match="go together"):
        Candidate("recipe", {"steps": steps, "keys": KEYS}).check(table)


def test_ghosts_go_unless_they_follow() -> None:
    rng = np.random.default_rng(1)
    age = rng.integers(20, 80, 400)
    town = rng.choice(["a1", "a2", "b1", "b2"], 400)
    frame = pl.DataFrame(
        {
            "age": age,
            "born": 2020 - age,
            "town": town,
            "region": [t[0] for t in town],
            "pay": rng.normal(size=400),
        }
    )
    steps = [{"do": "recode", "column": "age", "width": 10}, {"do": "collapse", "column": "region"}]
    made = Candidate("recipe", {"steps": steps}).make(frame)
    assert made.table.names == ["age", "region", "pay"]
    assert any("'town' was dropped: it gives 'region' back" in note for note in made.notes)
    kept = Candidate("recipe", {"steps": steps, "ghosts": False}).make(frame)
    assert "born" in kept.table.names
    follow = [*steps, {"do": "recode", "column": "born", "width": 10}, {"do": "collapse", "column": "town"}]
    assert "born" in Candidate("recipe", {"steps": follow}).make(frame).table.names


def test_the_command_masks_and_saves_the_recipe(tmp_path: Path) -> None:
    write(survey(), tmp_path / "people.csv")
    run = CliRunner()
    typed = ["--step", "recode column=age width=amount:5,10,20,50", "--keys", ",".join(KEYS)]
    done = run.invoke(
        app, ["mask", str(tmp_path / "people.csv"), *typed, "--target", "expected re-identifications <= 120"]
    )
    assert done.exit_code == 0, done.output
    made = pl.read_csv(tmp_path / "people.masked.csv")
    assert made.height == 500
    assert made["age"].dtype == pl.String
    plain = ["mask", str(tmp_path / "people.csv"), "--step", "round column=income base=500"]
    done = run.invoke(
        app, [*plain, "--save-recipe", str(tmp_path / "r.yaml"), "-o", str(tmp_path / "out.csv")]
    )
    assert done.exit_code == 0, done.output
    again = [
        "mask",
        str(tmp_path / "people.csv"),
        "--recipe",
        str(tmp_path / "r.yaml"),
        "-o",
        str(tmp_path / "b.csv"),
    ]
    assert run.invoke(app, again).exit_code == 0
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    wrong = run.invoke(app, ["mask", str(tmp_path / "people.csv"), "--step", "wash column=age"])
    assert wrong.exit_code == 2
    assert "no step 'wash'" in wrong.output


def test_a_synthesizer_ends_in_a_recipe() -> None:
    table = survey(300)
    then = [
        {"do": "remove-uniques", "keys": KEYS},
        {"do": "limit-values", "column": "age", "high": 60},
        {"do": "label", "text": "MADE UP"},
    ]
    plain = Candidate("bootstrap").make(table, seed=3)
    made = Candidate("bootstrap", then=then).make(table, seed=3)
    assert made.table.names == ["label", *table.names]
    assert made.table.rows < plain.table.rows
    assert made.table["age"].data.max() == 60
    assert any("repeat a unique original" in note for note in made.notes)
    with pytest.raises(DaleniusError, match=r"no step 'wash'"):
        Candidate("bootstrap", then=[{"do": "wash"}]).check()
    with pytest.raises(DaleniusError, match="put them into its recipe"):
        Candidate("round", {"column": "age"}, then=then).check()
    read = Candidate.from_mapping({"then": then, "minbucket": 20}, "cart")
    assert read[0].then == then


def test_what_a_trail_releases_has_no_order_and_no_identifiers() -> None:
    table = Table.from_frame(examples.survey(300, seed=1), examples.survey_schema())
    trail = Trail.of(table, KEYS).do("recode", column="age", width=10)
    made = trail.release()
    assert trail.table["wealth"].data.tolist() == table["wealth"].data.tolist()
    assert {"person_id", "household_id"} <= {*trail.table.names} - {*made.table.names}
    assert made.table["wealth"].data.tolist() != table["wealth"].data.tolist()
    assert np.sort(made.table["wealth"].values).tolist() == np.sort(table["wealth"].values).tolist()
    assert "birth_date" not in made.table.names
