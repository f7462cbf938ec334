"""What all methods that learn with torch share: how a table is coded, trained on in batches, and drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from dalenius.core.cost import Cost, Shape
from dalenius.core.later import torch
from dalenius.core.random import Seed, generator
from dalenius.data.table import Table
from dalenius.synth.deep.coding import Coding
from dalenius.synth.deep.kept_rules import with_rules_kept
from dalenius.synth.deep.networks import BLOCK, Arrays, Blocks, Weights, as_arrays, chance, one_thread, take
from dalenius.synth.iterative import LOOKS, Iterative, IterativeModel
from dalenius.synth.training import State

if TYPE_CHECKING:
    Tensor: TypeAlias = torch.Tensor


class DeepModel(IterativeModel):
    """How the columns are coded, and the weights of the network that draws the codes."""

    contents = (
        "the weights of a network; every value of each column that it may draw, with rare levels' counts; modes or "
        "ordered values of numbers"
    )
    keeps: ClassVar[tuple[str, ...]] = ("coding", "weights", "curve")

    def __init__(self, table: Table, coding: Coding, weights: Arrays) -> None:
        super().__init__(table)
        self.coding, self.weights = coding, weights

    def _draw(self, rows: int, seed: Seed) -> Table:
        return with_rules_kept(self._once, rows, seed)

    def _once(self, rows: int, seed: Seed) -> Table:
        """Rows as the network draws them, whatever the rules."""
        codes = np.zeros((rows, len(self.coding.parts)), np.int64)
        places = np.zeros((rows, len(self.coding.placed)), np.float32)
        if rows:
            with one_thread(self.method), torch.no_grad():
                for first in range(0, rows, BLOCK):
                    some = slice(first, min(first + BLOCK, rows))
                    drawn = self._codes(some.stop - first, chance(seed, "rows", first))
                    codes[some], places[some] = (part.numpy() for part in drawn)
        vectors = self.coding.drawn(codes, places, self.schema, seed)
        return Table.from_vectors(vectors, rows, self.origin, self.schema)

    @abstractmethod
    def _codes(self, rows: int, random: Any) -> tuple[Tensor, Tensor]:
        """Entries of all columns, and places of those that have them."""


class DeepLearner(ABC):
    """Rows as tensors, and a network under training; see `Learner`.

    Whatever else runs between two epochs may change torch's threads: each epoch sees to it that there is one.
    """

    scores: ClassVar[bool] = False
    """Whether numbers are placed by normal scores, not by modes."""
    weights: Weights

    def __init__(self, table: Table, held: Table | None, batch: int, seed: Seed) -> None:
        self.table, self.seed, self.done = table, seed, 0
        self.coding = Coding.fit(table, self.scores)
        self.blocks = Blocks(self.coding.sizes)
        self.codes, self.places = self._coded(table, "train")
        self.held = None if held is None else self._coded(held, "held")
        self.carries = torch.from_numpy(self.coding.carries().astype(np.float32))
        self.shares = self._shares()
        self.batch = min(batch, max(table.rows, 1))

    def _coded(self, table: Table, what: str) -> tuple[Tensor, Tensor]:
        codes, places = self.coding.coded(table, self.seed)
        return torch.from_numpy(codes), torch.from_numpy(places)

    def _shares(self) -> Tensor:
        """Share of the rows that have each entry."""
        flat = (self.codes.numpy() + self.blocks.starts).ravel()
        times = np.bincount(flat, minlength=self.blocks.width)
        return torch.from_numpy((times / max(self.table.rows, 1)).astype(np.float32)).clamp_min(1e-6)

    def orders(self) -> Iterator[Tensor]:
        """Batches of rows, each row once, in an order of its own each epoch."""
        order = generator(self.seed, "order", self.done).permutation(self.table.rows)
        for first in range(0, self.table.rows, self.batch):
            yield torch.from_numpy(order[first : first + self.batch])

    def epoch(self) -> float:
        """Go through the data once; the training loss."""
        self.done += 1
        with one_thread():
            return self._epoch()

    @abstractmethod
    def _epoch(self) -> float: ...

    def held_out(self) -> float:
        """The loss on people held out; NaN unless a method can tell."""
        if self.held is None:
            return float("nan")
        with one_thread(), torch.no_grad():
            return self._held_out(*self.held)

    def _held_out(self, codes: Tensor, places: Tensor) -> float:
        return float("nan")

    def model(self) -> DeepModel:
        """The model in its present state."""
        with one_thread(), torch.no_grad():
            return self._model()

    @abstractmethod
    def _model(self) -> DeepModel: ...

    def state(self) -> State:
        """Copies of all weights."""
        return as_arrays(self.weights)

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take weights back."""
        take(self.weights, state)


class Deep(Iterative):
    """A method whose network is trained with torch, on one thread."""

    def _learner(self, table: Table, held: Table | None, seed: Seed) -> DeepLearner:
        with one_thread(self.info.name):
            return self._begun(table, held, seed)

    @abstractmethod
    def _begun(self, table: Table, held: Table | None, seed: Seed) -> DeepLearner:
        """A network before its first epoch."""

    def _forecast(self, shape: Shape, seconds: float) -> Cost:
        """What training costs that takes so many seconds, with the beginning and the looks on the way."""
        looks = 3 + 0.25 * min(self.epochs / 5, LOOKS)
        return Cost(looks + seconds, bytes=5e8 + 60.0 * shape.rows * shape.columns)


def entries(shape: Shape) -> float:
    """Entries of all columns, about: many different cells are mostly numbers."""
    return float(sum(levels if levels <= 50 else 20 for levels in shape.levels))
