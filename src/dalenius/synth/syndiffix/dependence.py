"""How much columns depend on each other, and how much room each takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dalenius.synth.syndiffix._kernels.clusters import dependence
from dalenius.synth.syndiffix.axis import Axis, Codes
from dalenius.synth.syndiffix.forest import Forest, Settings
from dalenius.synth.syndiffix.options import Anonymity
from dalenius.synth.syndiffix.units import Units

Matrix = npt.NDArray[np.float64]


def entropies(forest: Forest) -> Matrix:
    """Entropy (bits) of each column over the leaves of its tree, from noisy counts."""
    bits = []
    for i in range(len(forest.axes)):
        tree = forest.trees[(i,)]
        share = tree.noisy[tree.is_leaf] / tree.noisy[0]
        bits.append(float(-np.sum(share * np.log2(share))))
    return np.array(bits)


def dependence_matrix(forest: Forest) -> Matrix:
    """Dependence of every pair of columns, in [0, 1]; 1 on the diagonal."""
    count = len(forest.axes)
    pairs = list(combinations(range(count), 2))
    forest.build(pairs)

    def measure(pair: tuple[int, int]) -> float:
        x, y, xy = forest.trees[(pair[0],)], forest.trees[(pair[1],)], forest.trees[pair]
        return float(dependence(x.ints, x.wide, x.noisy, y.ints, y.wide, y.noisy, xy.ints, xy.noisy))

    matrix = np.eye(count)
    for (i, j), value in zip(pairs, forest.each(measure, pairs), strict=True):
        matrix[i, j] = matrix[j, i] = value
    return matrix


def worth_sampling(rows: int, columns: int, size: int) -> bool:
    """Whether measuring dependence on a sample of rows saves work (section 8.1 of the method's description)."""
    return size < rows and columns**2 * rows > 2 * (columns**2 * size + 3 * rows * columns // 2)


def sample_forest(
    axes: Sequence[Axis], codes: Sequence[Codes], units: Units, settings: Settings, size: int
) -> Forest:
    """A forest on a sample of rows, chosen by the units' hashes and so independent of row order.

    Nothing of it is released but which columns go together.
    """
    if units.is_single:
        chosen = np.sort(np.argsort(units.hashes, kind="stable")[:size])
    else:
        ranks = np.argsort(np.argsort(units.code_hashes[0], kind="stable"), kind="stable")
        place = np.where(units.codes[0] >= 0, ranks[units.codes[0]], len(ranks))
        chosen = np.sort(np.argsort(place, kind="stable")[:size])
    weaker = replace(settings, anonymity=Anonymity.exploring(), safe=frozenset())
    return Forest(axes, [held[chosen] for held in codes], units.take(chosen), weaker, harvested=False)
