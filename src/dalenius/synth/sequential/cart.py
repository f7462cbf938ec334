"""Leaf donors: one tree, a tested tree, a bag of trees, a random forest.

A synthetic row is sent down the tree with the values already drawn for it and takes the value of a random original row
of its leaf (Reiter 2005, Using CART to generate partially synthetic public use microdata; synthpop's default).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.design import Design
from dalenius.synth.sequential.fitted import (
    ColumnMethod,
    Job,
    column_method,
    put_together,
    smallest,
)
from dalenius.synth.sequential.trees import Tree


@column_method
@dataclass(eq=False, repr=False)
class Cart(ColumnMethod):
    """One tree with its donors in leaf order."""

    name = "cart"
    summary = "classification and regression tree, donors from leaves"
    tested: ClassVar[bool] = False

    tree: Tree
    donors: AnyArray

    @classmethod
    def fit(cls, job: Job) -> Cart:
        """Grow the tree (on resampled rows for a proper synthesis)."""
        tree, order = Tree.grow(job.proper(), tested=cls.tested)
        return cls(tree, smallest(job.target.values[order]))

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """Value of a random donor of the same leaf."""
        return self.tree.donated(self.donors, design, rows, generator(seed, "donor"))


@column_method
class ConditionalTree(Cart):
    """A tree that splits on the predictor with the smallest p-value and stops when none is below ``alpha``.

    Hothorn, Hornik, Zeileis 2006. Slower to overfit than CART: predictors with many levels get no unfair chance.
    """

    name = "ctree"
    summary = "conditional inference tree, donors from leaves"
    tested = True


@column_method
@dataclass(eq=False, repr=False)
class Bagging(ColumnMethod):
    """Trees grown on resampled rows; a synthetic row takes its donor from a random one of them."""

    name = "bag"
    summary = "bagged trees, donors from the leaves of a random tree"

    trees: list[Cart]

    @classmethod
    def fit(cls, job: Job) -> Bagging:
        """Grow all trees."""
        grown = []
        for i in range(job.tuning.trees):
            tree, order = Tree.grow(job.resampled(i), tries=cls.tries(len(job.use)), seed=_int(job.seed, i))
            grown.append(Cart(tree, smallest(job.target.values[order])))
        return cls(grown)

    @classmethod
    def tries(cls, predictors: int) -> int:
        """Predictors looked at in a node; 0 for all."""
        return 0

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """Value of a random donor of the leaf in a random tree."""
        which = generator(seed, "which").integers(0, len(self.trees), len(rows))
        chosen = [np.flatnonzero(which == i) for i in range(len(self.trees))]
        return put_together(
            len(rows),
            [
                (mine, tree.draw(design, rows[mine], _int(seed, i)))
                for i, (mine, tree) in enumerate(zip(chosen, self.trees, strict=True))
            ],
        )


@column_method
class Forest(Bagging):
    """Bagged trees that look at a random third of the predictors in each node (Breiman 2001)."""

    name = "rf"
    summary = "random forest, donors from the leaves of a random tree"

    @classmethod
    def tries(cls, predictors: int) -> int:
        """A third of the predictors, at least one."""
        return max(1, predictors // 3)


def _int(seed: Seed, step: int) -> int:
    """A seed for one tree that depends on the seed and the tree's number only."""
    return int(generator(seed, "tree", step).integers(0, 2**63 - 1))
