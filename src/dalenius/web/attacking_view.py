"""What the page shows of an attack: by pattern, and only where somebody asks for it cells and recipes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.core.errors import DaleniusError
from dalenius.published import Fit
from dalenius.release.attacking import files_read, read_both
from dalenius.release.jobs import file_digest
from dalenius.release.tables_attack import SMALL_GROUP, recipes
from dalenius.report.attacked import AttackStory
from dalenius.report.people import in_people, people_picture
from dalenius.risk.reconstruction import Attack, Guesses, attack, guess, holds_for

MOST_SHOWN = 40
SMALL = 2000
"""Possible cells up to which exact bounds are found while somebody waits."""
RUNS, ROWS, STEPS = 10, 200, 200


@dataclass(frozen=True)
class Asked:
    """What an address asks for."""

    earlier: tuple[str, ...] = ()
    same_people: bool = False
    small_group: int = SMALL_GROUP
    guesses: bool = False
    reveal: bool = False

    @classmethod
    def of(cls, given: Any, known: Sequence[str]) -> Asked:
        """Read a query; names of packs that are not there are left out, odd numbers are the usual one.

        Examples
        --------
        >>> Asked.of({"small": "many", "reveal": "1"}, []).reveal
        True
        """
        small = str(given.get("small", ""))
        listed = given.getlist("earlier") if hasattr(given, "getlist") else []
        return cls(
            tuple(name for name in dict.fromkeys(listed) if name in known), given.get("same") == "1",
            int(small) if small.isascii() and small.isdigit() and 0 < len(small) < 6 and int(small) else SMALL_GROUP,
            given.get("guesses") == "1", given.get("reveal") == "1",
        )  # fmt: skip


def attacked(path: Path, earlier: tuple[Path, ...], asked: Asked) -> dict[str, Any]:
    """Facts for the page; cells, records and recipes are not among them unless they are asked for."""
    found, hold = _found(path, earlier, asked.same_people, asked.small_group, _marks(path, earlier))
    story = AttackStory.of(
        found.results, found.patterns().to_dicts(), recipes(found), remarks=found.remarks, hold=hold,
        reveal=asked.reveal,
    )  # fmt: skip
    facts: dict[str, Any] = {"story": story, "held": len(hold), "ranked": None, "cells": None, "steps": []}
    if asked.guesses:
        facts["ranked"] = _ranked(found, asked.reveal)
    if asked.reveal:
        cells = found.frame().filter(pl.col("low") > 0).sort("proved", "low", descending=[True, False])
        facts["cells"] = _rows(cells)
        facts["steps"] = [
            {"group": small.group, "value": small.low, "steps": small.recipe.steps if small.recipe else []}
            for small in found.differences.follows[:MOST_SHOWN]
        ]
    return facts


def _marks(path: Path, earlier: tuple[Path, ...]) -> tuple[str, ...]:
    """Fingerprints of what is read: a pack that was changed is attacked again."""
    files = {n: f for p in (path, *earlier) for n, f in files_read(p).items()}
    return tuple(f"{name} {file_digest(file)}" for name, file in sorted(files.items()))


@lru_cache(maxsize=8)
def _found(
    path: Path, earlier: tuple[Path, ...], same_people: bool, small_group: int, marks: tuple[str, ...]
) -> tuple[Attack, list[str]]:
    new, before = read_both([path], earlier)
    both = new if before is None else before | new
    found = attack(both, threshold=small_group, same_people=same_people)
    if sum(len(fit.low) for fit in found.fits.values()) <= SMALL:
        found = attack(both, threshold=small_group, same_people=same_people, bounds=True)
    hold = [] if before is None else holds_for(before, new, threshold=small_group, same_people=same_people)
    return found, hold


def _ranked(found: Attack, reveal: bool) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    for fitted in found.fits.values():
        try:
            ranked = _guessed(fitted)
        except DaleniusError as error:
            told.append({"sentence": f"Nothing is ranked: {error}.", "picture": None, "rows": None})
            continue
        share = ranked.result.value
        told.append({
            "sentence": ranked.result.sentence, "picture": people_picture(share, 0.0),
            "words": f"Records ranked highest that are certainly real: {in_people(share).replace('people', 'records')}",
            "rows": _rows(ranked.frame.head(20)) if reveal else None,
        })  # fmt: skip
    return told


@lru_cache(maxsize=8)
def _guessed(fitted: Fit) -> Guesses:
    return guess(fitted, runs=RUNS, rows=ROWS, steps=STEPS)


def _rows(frame: pl.DataFrame) -> dict[str, Any]:
    shown = frame.head(MOST_SHOWN)
    return {"head": shown.columns, "rows": shown.rows(), "more": frame.height - shown.height}
