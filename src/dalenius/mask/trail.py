"""`Trail`: steps tried one after the other on a file, each of which can be taken back; the source is never touched."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.random import DEFAULT_SEED, Seed
from dalenius.core.small_table import small_table
from dalenius.data.recipe import Recipe
from dalenius.data.steps.step import Masked, Step, step_from
from dalenius.data.table import Table
from dalenius.mask.ghosts import without_ghosts
from dalenius.mask.log import Logged, log_frame, run
from dalenius.synth.candidate import Candidate
from dalenius.synth.made import Made


@dataclass(frozen=True)
class Trail:
    """A file, the steps done to it so far, and what came of them.

    Columns that give a masked one back are left out of ``table`` and ``masked`` unless ``ghosts`` is false, and the log
    names them; later steps can still mask them.

    Examples
    --------
    >>> people = {"age": [*range(20, 60)] * 2, "pay": [100 * i + 7 for i in range(80)]}
    >>> trail = Trail.of(people, keys=["age"]).do("recode", column="age", width=10).do("round", column="pay", base=500)
    >>> trail.log.select("step", "cells changed", pl.col("after").round(6)).rows()
    [('recode', 80, 4.0), ('round', 80, 4.0)]
    >>> trail.undo().undo().table.to_frame() == people
    True
    >>> sorted(trail.release().table.to_frame()["pay"]) == sorted(trail.table.to_frame()["pay"])
    True
    >>> born = Trail.of({"age": people["age"], "born": [2020 - age for age in people["age"]]})
    >>> born.do("recode", column="age", width=10).masked.notes
    ("'born' was dropped: it gives 'age' back; mask it too, or keep ghosts",)
    """

    source: Table
    steps: tuple[Step, ...] = ()
    keys: tuple[str, ...] | None = None
    seed: Seed = DEFAULT_SEED
    ghosts: bool = True

    @classmethod
    def of(
        cls, data: Any, keys: list[str] | None = None, seed: Seed = DEFAULT_SEED, ghosts: bool = True
    ) -> Trail:
        """Begin with a file or frame of any supported type."""
        return cls(Table.from_frame(data), (), None if keys is None else tuple(keys), seed, ghosts)

    def do(self, step: Step | str, **options: Any) -> Trail:
        """One more step, by itself or by its name with its options; a step that cannot be done is an error now."""
        made = step if isinstance(step, Step) else step_from({"do": step, **options})
        made.apply(self._whole.table, self.seed)
        return replace(self, steps=(*self.steps, made))

    def undo(self) -> Trail:
        """The trail without its last step."""
        if not self.steps:
            raise DataError("there is no step to take back")
        return replace(self, steps=self.steps[:-1])

    @property
    def recipe(self) -> Recipe:
        """The steps, to be written and done again next year."""
        return Recipe(self.steps, tuple(self.source.names))

    @property
    def table(self) -> Table:
        """The file after the steps, to look at: whole, in the order of the source. What may leave is `release`."""
        return self.masked.table

    def release(self) -> Made:
        """The file as it may leave: without identifiers and ghosts, in an order of its own, with notes and lens."""
        keys = [] if self.keys is None else list(self.keys)
        options = {"steps": [step.to_dict() for step in self.steps], "keys": keys, "ghosts": self.ghosts}
        return Candidate("recipe", options).make(self.source, seed=self.seed)

    @property
    def masked(self) -> Masked:
        """The file after the steps, with its lens, without ghosts."""
        drops = self.ghosts and not any(step.whole for step in self.steps)
        return without_ghosts(self.source, self._whole) if drops else self._whole

    @property
    def _whole(self) -> Masked:
        return self.recipe.mask(self.source, self.seed)

    @property
    def logged(self) -> list[Logged]:
        """What each step did; the notes of the last one also name the ghosts that were dropped."""
        done = run(self.recipe, self.source, self.seed, None if self.keys is None else list(self.keys))[1]
        if not done:
            return done
        ghosts = self.masked.notes[len(self._whole.notes) :]
        return [*done[:-1], replace(done[-1], notes=(*done[-1].notes, *ghosts))]

    @property
    def log(self) -> pl.DataFrame:
        """What each step did, as a table."""
        return log_frame(self.logged)

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.masked.notes if "was dropped" in note)
        return small_table(self.log) + notes
