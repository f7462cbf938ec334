"""Numbers that tell where a masked point was: distances, heights, anything that changes smoothly over the map.

A distance to the hospital leaves of a ring an arc, two of them leave a point. So a kept number goes if places give it
back far more closely than it changes between where a point was and where it is shown. Places give it back by a
distance from one unknown point, or by what their neighbours have.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from dalenius.core.random import generator
from dalenius.data.lens import Lens
from dalenius.data.places import place_columns
from dalenius.data.table import Table
from dalenius.mask.neighbours import Floats

NARROWER = 6.0
"""A number is known so many times more closely than it changes over a move (a middle one by the root mean square)."""
SMOOTH = 0.25
"""Share of what neighbours differ in a number that may not follow from where they are."""
FEWEST, SOME = 30, 2500
"""Places it takes to ask, and how many are asked at most."""
AROUND = 20
"""Neighbours a surface is laid through."""
DRAWS = 8
"""Moves of others that are tried on each place."""


def told_places(
    table: Table, masked: Table, lens: Lens, kept: list[str], changed: list[str]
) -> dict[str, str]:
    """Kept numbers that tell where masked points were: by name, the coordinate they are told with.

    Examples
    --------
    >>> from dalenius.mask.geo.donut import Donut
    >>> rng = np.random.default_rng(1)
    >>> lon, lat = 6 + rng.random((2, 400)) / 10
    >>> away = np.hypot(64 * (lon - 6.02), 111 * (lat - 6.04)).round(2)
    >>> table = Table.from_frame({"lon": lon.round(6), "lat": lat.round(6), "km": away, "n": rng.random(400)})
    >>> made = Donut(near=100, far=400).apply(table, 1)
    >>> told_places(table, made.table, made.lens, ["km", "n"], ["lon", "lat"])
    {'km': 'lon'}
    """
    names = place_columns(table.schema)
    if not all(names):  # a plane may have any names: two numbers that noise moved are one
        moved = [name for name in table.names if name in lens.perturbed and table[name].is_number]
        names = (moved[0], moved[1]) if len(moved) == 2 else ("", "")
    if not all(name in table and table[name].is_number for name in names):
        return {}
    table = table if lens.links is None else table.take(lens.links)
    if table.rows != masked.rows or not {*lens.mapped, *lens.perturbed, *lens.gaps, *lens.dropped} & set(
        names
    ):
        return {}
    true = np.column_stack([table[name].floats() for name in names])
    there = np.flatnonzero(np.isfinite(true).all(axis=1))
    _, first = np.unique(true[there], axis=0, return_index=True)  # who lives at one address says it once
    rows = there[np.sort(first)][:: -(-max(len(first), 1) // SOME)]
    numbers = {name: table[name].floats()[rows] for name in kept if name in table and table[name].is_number}
    if len(rows) < FEWEST or not numbers:
        return {}
    moves = _moves(true[rows], masked.take(rows), names)
    if not np.abs(moves).max() > 0:
        return {}
    scale = np.sqrt(np.square(moves).mean(axis=0)).clip(
        1e-12
    )  # from here on a move is about 1 in each direction
    places = (true[rows] - true[rows].mean(axis=0)) / scale
    return {name: names[0] for name, amounts in numbers.items() if _told(places, moves / scale, amounts)}


def _moves(true: Floats, masked: Table, names: tuple[str, str]) -> Floats:
    """From where each point was to where it is shown; to the middle of all where it is not."""
    shown = np.full(true.shape, np.nan)
    for i, name in enumerate(names):
        if name in masked and masked[name].is_number:
            shown[:, i] = masked[name].floats()
    unseen = ~np.isfinite(shown).all(axis=1)
    shown[unseen] = true.mean(axis=0)
    moves: Floats = shown - true
    return moves


def _told(places: Floats, moves: Floats, amounts: Floats) -> bool:
    """Whether places give a number back much more closely than it changes over the moves."""
    known = np.isfinite(amounts)
    if known.sum() < FEWEST or len(np.unique(amounts[known])) < FEWEST / 3:
        return False
    places, moves, amounts = places[known], moves[known], amounts[known]
    drawn = generator(0, "moves").integers(0, len(moves), (DRAWS, len(moves)))
    return _by_distance(places, moves[drawn], amounts) or _by_surface(places, moves, amounts)


def _by_distance(places: Floats, moves: Floats, amounts: Floats) -> bool:
    """Whether the number is a distance from one point, whichever that is, in any unit and from any start on."""
    scaled = amounts / np.abs(amounts).max(initial=1e-12)
    x, y = places.T
    parts = np.column_stack([scaled**2, scaled, y**2, x, y, np.ones(len(x))])
    found = np.linalg.lstsq(parts, x**2, rcond=None)[0]
    if found[0] <= 0 or found[2] >= 0:  # no circle
        return False
    half = found[1] / (2 * found[0])

    def amount(where: Floats) -> Floats:
        ground = np.stack(
            [where[..., 1] ** 2, where[..., 0], where[..., 1], np.ones(where.shape[:-1])], axis=-1
        )
        square = (where[..., 0] ** 2 - ground @ found[2:]) / found[0] + half**2
        told: Floats = np.sqrt(np.maximum(square, 0.0)) - half
        return told

    off = np.abs(scaled - amount(places))
    changed = amount(places + moves) - amount(places)
    return bool(np.median(off) * NARROWER < np.sqrt(np.square(changed).mean()))


def _by_surface(places: Floats, moves: Floats, amounts: Floats) -> bool:
    """Whether the number follows from a curved surface through what a place's neighbours have, itself left out."""
    if len(places) <= 2 * AROUND:
        return False
    near = cKDTree(places).query(places, k=AROUND + 1)[1][:, 1:]
    gaps = places[near] - places[:, None]
    wide = np.abs(gaps).max(axis=(1, 2), keepdims=True).clip(1e-12)
    x, y = np.moveaxis(gaps / wide, 2, 0)
    parts = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=2)
    turned = parts.transpose(0, 2, 1)
    square = turned @ parts + 1e-9 * np.eye(6)
    found = np.linalg.solve(square, turned @ amounts[near][:, :, None])[:, :, 0]
    off = np.abs(amounts - found[:, 0])
    usual = np.abs(amounts - amounts[near].mean(axis=1))
    slopes = found[:, 1:3] / wide[:, 0]
    changes = np.sqrt(np.einsum("ij,jk,ik->i", slopes, moves.T @ moves / len(moves), slopes))
    flat = changes <= 1e-9 * np.abs(amounts).max(initial=0)
    if flat.mean() > 0.5:
        return False
    off, usual, changes = off[~flat], usual[~flat], changes[~flat]
    return bool(np.median(off / changes) < 1 / NARROWER and np.median(off) < SMOOTH * np.median(usual))
