"""What a synthesis does with survey weights: which column, which rows count how much, what is left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dalenius.core.errors import OptionError, names
from dalenius.core.random import Seed, generator, sequence
from dalenius.data.replicates import bootstrap_weights
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.vector import IntArray
from dalenius.synth.sequential.design import Floats
from dalenius.synth.sequential.weights import finite_population, read_weights, weight_notes

if TYPE_CHECKING:
    from dalenius.synth.sequential.synthesizers import Sequential


def weight_column(options: Sequential, table: Table) -> str | None:
    """The column of weights: the one named, or the only one with that role in the schema."""
    if options.weights is not None:
        return options.weights if options.weights in table else None
    named = [name for name in table.schema.by_role(Role.WEIGHT) if name in table]
    return named[0] if len(named) == 1 else None


@dataclass(frozen=True, eq=False, repr=False)
class Weighted:
    """With what the sequence is fitted once the weights are dealt with.

    Attributes
    ----------
    options, table
        Options and table, without what the weighting uses up.
    weights
        Case weight of every row; None when all count alike.
    expansion
        People of the population that one row stands for.
    notes
        What the weights are like, in plain sentences.
    """

    options: Sequential
    table: Table
    weights: Floats | None = None
    expansion: float = 1.0
    notes: tuple[str, ...] = ()


def weighted(options: Sequential, table: Table, seed: Seed) -> Weighted:
    """Options, table and case weights with which the sequence is fitted.

    For a proper pseudo-likelihood synthesis the weights are replicate weights of the design, refitted for each
    synthetic file (Oganian et al. 2024: drawing parameters from the models alone misses the design effect), and
    the models themselves are not drawn.
    """
    name = weight_column(options, table)
    if options.weighting in ("column", "predictor") or name is None:
        if name is None and (options.weights is not None or options.weighting not in ("column", "ignore")):
            asked = (
                f"no column {names([options.weights])}"
                if options.weights
                else "no column has the role weight"
            )
            raise OptionError(f"weights: {asked}; name it in the option weights")
        return Weighted(options, table)
    # these say how the sample was drawn, and the file that is made is one of the population
    gone = [n for role in (Role.PSU, Role.FPC) for n in table.schema.by_role(role) if n in table]
    left = table.drop([name, *gone])
    if options.weighting == "ignore":
        return Weighted(options, left)
    w = read_weights(table[name])
    total = float(np.sum(table[name].floats()))
    done = Weighted(options, left, w, total / table.rows if table.rows else 1.0, weight_notes(name, w))
    if options.weighting == "population":
        counts = finite_population(w, total, sequence(seed, "weights"))
        return replace(done, options=replace(options, proper=False), weights=counts)
    if not options.proper:
        equal = len(w) and w.min() == w.max()
        return replace(done, weights=None) if equal else done
    drawn = _supplied(w, table, sequence(seed, "weights"))
    if drawn is None:
        strata = _codes(table, options.design_strata or _only(table, Role.STRATUM))
        psu = _codes(table, options.psu or _only(table, Role.PSU))
        drawn = bootstrap_weights(w, strata, psu, sequence(seed, "weights"))
    return replace(done, options=replace(options, proper=False), weights=drawn)


def _supplied(weights: Floats, table: Table, seed: Seed) -> Floats | None:
    """One of the replicate weights that came with the data, if each of them is a sample in itself.

    Fay's half-samples are brought back to whole ones. A jackknife leaves one unit out at a time, which is no sample of
    the population: its strata and units are resampled instead.
    """
    sets = [name for name in table.schema.by_role(Role.REPLICATE) if name in table]
    sampling = table.schema.sampling
    if not sets or sampling.replicates not in ("BRR", "bootstrap"):
        return None
    chosen = table[sets[int(generator(seed, "replicate").integers(len(sets)))]].amounts()
    scaled = np.nan_to_num(chosen) * (len(weights) / max(float(np.nansum(chosen)), 1e-300))
    return np.maximum(weights + (scaled - weights) / (1 - sampling.fay), 0.0)


def _only(table: Table, role: Role) -> str | None:
    named = [name for name in table.schema.by_role(role) if name in table]
    return named[0] if len(named) == 1 else None


def _codes(table: Table, name: str | None) -> IntArray | None:
    return None if name is None else table[name].categories.codes.astype(np.int64)
