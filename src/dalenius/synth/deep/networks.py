"""Networks as plain functions of named weights: they begin, learn and draw alike on any number of threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import MissingExtraError
from dalenius.core.later import torch
from dalenius.core.random import Seed, generator

if TYPE_CHECKING:
    Tensor: TypeAlias = torch.Tensor

Weights: TypeAlias = "dict[str, Tensor]"
Arrays: TypeAlias = dict[str, npt.NDArray[np.float32]]
BLOCK = 5000
"""Rows that are drawn at once."""
LEVELLED, ROUNDS = 2000, 25
"""Rows drawn to set margins right, and steps towards them."""


@contextmanager
def one_thread(method: str = "a network") -> Iterator[None]:
    """Torch on one thread while this is open, so that sums are taken in one order; or an error that says how to get it.

    Numbers next to nothing count as nothing: processors take a hundred times as long for them.
    """
    try:
        threads = torch.get_num_threads()
    except ImportError:
        raise MissingExtraError("torch", "deep", f"make files with {method}") from None
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)


def chance(seed: Seed, *path: str | int) -> Any:
    """Torch's random numbers for one step of a run."""
    made = torch.Generator()
    made.manual_seed(int(generator(seed, *path).integers(2**62)))
    return made


def layers(sizes: Mapping[str, tuple[int, int]], seed: Seed) -> Weights:
    """Weights and biases of linear layers by name, as (inputs, outputs), even within 1/√inputs."""
    made = {}
    for name, (inputs, outputs) in sizes.items():
        rng, end = generator(seed, name), 1 / np.sqrt(max(inputs, 1))
        for part, shape in (("w", (outputs, inputs)), ("b", (outputs,))):
            start = torch.from_numpy(rng.uniform(-end, end, shape).astype(np.float32))
            made[f"{name}.{part}"] = start.requires_grad_()
    return made


def linear(weights: Weights, name: str, x: Tensor) -> Tensor:
    """One layer."""
    return torch.nn.functional.linear(x, weights[f"{name}.w"], weights[f"{name}.b"])


def as_arrays(weights: Weights) -> Arrays:
    """Copies of all weights."""
    return {name: tensor.detach().numpy().copy() for name, tensor in weights.items()}


def as_tensors(arrays: Mapping[str, npt.NDArray[Any]]) -> Weights:
    """Weights to draw with."""
    return {name: torch.from_numpy(np.array(array, np.float32)) for name, array in arrays.items()}


def take(weights: Weights, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Put saved numbers into weights that are being learnt."""
    with torch.no_grad():
        for name, tensor in weights.items():
            tensor.copy_(torch.from_numpy(np.array(arrays[name], np.float32)))


class Blocks:
    """Entries of all columns side by side: sums and choices within each column at once, without a loop.

    Examples
    --------
    >>> blocks = Blocks([2, 3])
    >>> blocks.width, blocks.owner.tolist()
    (5, [0, 0, 1, 1, 1])
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = list(sizes)
        self.width = sum(self.sizes)
        self.owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])[:-1].astype(np.int64)

    def hot(self, codes: Tensor) -> Tensor:
        """Entries of some rows as zeros and ones."""
        zeros = torch.zeros(len(codes), self.width)
        return zeros.scatter_(1, codes + torch.from_numpy(self.starts), 1.0)

    def softmax(self, logits: Tensor) -> Tensor:
        """Shares of the entries within each column."""
        return torch.cat([part.softmax(1) for part in logits.split(self.sizes, 1)], 1)

    def log_softmax(self, logits: Tensor) -> Tensor:
        """Logarithms of the shares of the entries within each column."""
        return torch.cat([part.log_softmax(1) for part in logits.split(self.sizes, 1)], 1)

    def drawn(self, logits: Tensor, random: Any) -> Tensor:
        """One entry of each column, drawn by its share."""
        noisy = logits + gumbel(logits.shape, random)
        return torch.stack([part.argmax(1) for part in noisy.split(self.sizes, 1)], 1)

    def levelled(self, logits: Tensor, shares: Tensor) -> Tensor:
        """What must be added to logits for their mean shares to be those of the data."""
        added = torch.zeros(self.width)
        for _ in range(ROUNDS):
            added += torch.log(shares / self.softmax(logits + added).mean(0).clamp_min(1e-9))
        return added.clamp(-20.0, 20.0)


def gumbel(shape: Any, random: Any) -> Tensor:
    """Gumbel noise."""
    return -torch.empty(shape).exponential_(generator=random).clamp_min(1e-20).log()


def mixed(into: Weights, weights: Weights, share: float) -> None:
    """Move averages of weights by a share towards the weights."""
    with torch.no_grad():
        for name, average in into.items():
            average.lerp_(weights[name].detach(), share)
