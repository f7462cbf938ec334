"""`ddpm`: rows made out of noise, a little less noisy at each of some steps (Ho, Jain and Abbeel 2020).

Numbers, as normal scores, are mixed with normal noise; entries are exchanged for others, drawn by their shares in the
data (Hoogeboom et al. 2021; for tables: Kotelnikov et al. 2023). A network learns what a row was from what it has
become, and new rows begin as nothing but noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.later import torch
from dalenius.core.option import Option
from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo
from dalenius.data.table import Table
from dalenius.synth.base import register
from dalenius.synth.deep.base import Deep, DeepLearner, DeepModel, entries
from dalenius.synth.deep.networks import (
    Blocks,
    Weights,
    as_arrays,
    as_tensors,
    chance,
    layers,
    linear,
    mixed,
)
from dalenius.synth.iterative import DRAWN, LOOKS

if TYPE_CHECKING:
    Tensor: TypeAlias = torch.Tensor

WIDTH, WAVES = 256, 16
"""Width of layers, and numbers that tell a network the step."""
RATE, SLOWEST = 2e-3, 0.005
"""Adam's rate, and the least share by which averaged weights follow those that learn."""
TURNS = 4
"""Noises that each row held out is met with."""


class Noise:
    """How much of a row is left after each step: less along a cosine (Nichol, Dhariwal 2021).

    Examples
    --------
    >>> Noise([2], 4).left.round(2).tolist()
    [1.0, 0.85, 0.49, 0.14, 0.0]
    """

    def __init__(self, sizes: list[int], steps: int) -> None:
        self.blocks, self.steps = Blocks(sizes), steps
        falling = np.cos((np.arange(steps + 1) / steps + 0.008) / 1.008 * np.pi / 2) ** 2
        self.left = np.clip(falling / falling[0], 1e-5, 1.0)

    def fresh(self, shares: Tensor, rows: int, random: Any) -> Tensor:
        """Entries of all columns, drawn by their shares."""
        columns = len(self.blocks.sizes)
        whole = torch.zeros(columns).index_add_(0, torch.from_numpy(self.blocks.owner), shares)
        ends = (shares / whole[self.blocks.owner]).double().cumsum(0)
        at = torch.rand(rows, columns, generator=random, dtype=torch.float64) + torch.arange(columns)
        drawn = torch.searchsorted(ends, at, right=True) - torch.from_numpy(self.blocks.starts)
        return drawn.clamp_(min=0).minimum(torch.tensor(self.blocks.sizes) - 1)

    def seen(self, codes: Tensor, places: Tensor, step: Tensor) -> Tensor:
        """What the network is shown: entries, places, and waves that tell the step."""
        angle = step.float()[:, None] / self.steps * torch.arange(1, WAVES + 1) * np.pi / 2
        return torch.cat([self.blocks.hot(codes), places, angle.cos()], 1)


def guessed(weights: Weights, seen: Tensor) -> Tensor:
    """Logits of the entries a row had, and how noise and places are turned into each other."""
    silu = torch.nn.functional.silu
    x = silu(linear(weights, "in", seen))
    for layer in ("one", "two"):
        x = x + silu(linear(weights, layer, x))
    return linear(weights, "out", x)


class DDPMModel(DeepModel):
    """The network, and the shares of entries that noise is made of."""

    method = "ddpm"
    keeps: ClassVar[tuple[str, ...]] = (*DeepModel.keeps, "steps")
    steps: int

    def _codes(self, rows: int, random: Any) -> tuple[Tensor, Tensor]:
        weights, noise = as_tensors(self.weights), Noise(self.coding.sizes, self.steps)
        shares, width = weights["shares"], noise.blocks.width
        codes = noise.fresh(shares, rows, random)
        places = torch.randn(rows, len(self.coding.placed), generator=random)
        for step in range(self.steps, 0, -1):
            out = guessed(weights, noise.seen(codes, places, torch.full((rows,), step)))
            left, before = float(noise.left[step]), float(noise.left[step - 1])
            start = places * left**0.5 - out[:, width:] * (1 - left) ** 0.5
            entry = noise.blocks.drawn(out[:, :width], random)
            if step == 1:
                return entry, start
            codes = self._earlier(codes, entry, left, before, noise, shares, random)
            kept = left / before
            towards = before**0.5 * (1 - kept) / (1 - left) * start
            towards = towards + kept**0.5 * (1 - before) / (1 - left) * places
            spread = ((1 - kept) * (1 - before) / (1 - left)) ** 0.5
            places = towards + spread * torch.randn(places.shape, generator=random)
        return codes, places

    @staticmethod
    def _earlier(
        codes: Tensor, entry: Tensor, left: float, before: float, noise: Noise, shares: Tensor, random: Any
    ) -> Tensor:
        """Entries one step earlier, given those now and those a row began with: one of them, or another."""
        kept = left / before
        own = shares[codes + torch.from_numpy(noise.blocks.starts)]
        stay = kept * (before * (codes == entry) + (1 - before) * own)
        back, other = (1 - kept) * own * before, (1 - kept) * own * (1 - before)
        at = torch.rand(codes.shape, generator=random) * (stay + back + other)
        moved = torch.where(at < stay + back, entry, noise.fresh(shares, len(codes), random))
        return torch.where(at < stay, codes, moved)


class DDPMLearner(DeepLearner):
    """The network under training, and averages of its weights, which draw."""

    scores = True

    def __init__(self, table: Table, held: Table | None, batch: int, steps: int, seed: Seed) -> None:
        super().__init__(table, held, batch, seed)
        self.noise, self.turns = Noise(self.coding.sizes, steps), 0
        outputs = self.blocks.width + self.places.shape[1]
        sizes = {"in": (outputs + WAVES, WIDTH), "one": (WIDTH, WIDTH), "two": (WIDTH, WIDTH)}
        self.learning = layers(sizes | {"out": (WIDTH, outputs)}, seed)
        with torch.no_grad():
            self.learning["out.w"].zero_()  # before it has learnt anything it says the shares of all rows
            self.learning["out.b"].zero_()
            self.learning["out.b"][: self.blocks.width] = self.shares.log()
        self.weights = as_tensors(as_arrays(self.learning))
        self.adam = torch.optim.Adam(self.learning.values(), lr=RATE, fused=True)

    def _epoch(self) -> float:
        random, losses = chance(self.seed, "steps", self.done), []
        for rows in self.orders():
            loss = self._loss(self.learning, self.codes[rows], self.places[rows], random)
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            self.turns += 1
            mixed(self.weights, self.learning, max(SLOWEST, 10 / (10 + self.turns)))
            losses.append(float(loss.detach()))
        return float(np.mean(losses))

    def _held_out(self, codes: Tensor, places: Tensor) -> float:
        codes, places = codes.repeat(TURNS, 1), places.repeat(TURNS, 1)
        return float(self._loss(self.weights, codes, places, chance(self.seed, "held")))

    def _loss(self, weights: Weights, codes: Tensor, places: Tensor, random: Any) -> Tensor:
        """How badly entries and places are told from what some steps of noise have made of them."""
        step = torch.randint(1, self.noise.steps + 1, (len(codes),), generator=random)
        left = torch.from_numpy(self.noise.left)[step].float()[:, None]
        hot = self.blocks.hot(codes)
        real = hot @ self.carries
        places = torch.where(real > 0, places, torch.randn(places.shape, generator=random))
        errors = torch.randn(places.shape, generator=random)
        stays = torch.rand(codes.shape, generator=random) < left
        met = torch.where(stays, codes, self.noise.fresh(self.shares, len(codes), random))
        out = guessed(weights, self.noise.seen(met, left.sqrt() * places + (1 - left).sqrt() * errors, step))
        turned = left.sqrt() * errors - (1 - left).sqrt() * places
        entry = -(self.blocks.log_softmax(out[:, : self.blocks.width]) * hot).sum(1)
        place = ((out[:, self.blocks.width :] - turned).square() * real).sum(1)
        return (entry + place).mean()

    def _model(self) -> DDPMModel:
        model = DDPMModel(self.table, self.coding, as_arrays(self.weights | {"shares": self.shares}))
        model.steps = self.noise.steps
        return model


@register
@dataclass(frozen=True)
class DDPM(Deep):
    """Make rows out of noise, a little less noisy at each step.

    The closest of the deep generators, and slow to draw; trees (`cart`) are closer in a hundredth of the time.

    Parameters
    ----------
    steps
        Steps from noise to a row.
    batch
        Rows of a step of training.

    Examples
    --------
    >>> from dalenius.synth import make_synthesizer
    >>> make_synthesizer("ddpm", steps=1)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: ddpm: steps is 1; use a whole number, 2 or more
    """

    steps: Annotated[int, Option(at_least=2)] = 50
    batch: Annotated[int, Option(at_least=1)] = 1024

    info = MethodInfo(
        name="ddpm",
        title="Diffusion",
        meaning="A network takes noise out of rows step by step, numbers and categories together: the closest of the "
        "deep generators, slow to draw.",
        guarantee="none: networks can memorise people; rows drawn on the way are held against people held out",
        plain="The program learns to guess what people's answers were after chance has blurred them; then it begins "
        "with nothing but chance and makes up people.",
        reference="Ho, Jain and Abbeel 2020; Kotelnikov, Baranchuk, Rubachev and Babenko 2023",
        packages=("torch",),
        example_options={"epochs": 5, "steps": 10},
    )
    model = DDPMModel

    def _begun(self, table: Table, held: Table | None, seed: Seed) -> DDPMLearner:
        return DDPMLearner(table, held, self.batch, self.steps, seed)

    def cost(self, shape: Shape) -> Cost:
        """Rows met in training, and rows drawn, at the end and to be looked at, in so many steps."""
        row = 7e-6 + 6e-8 * entries(shape)
        drawn = shape.rows + min(self.epochs / 5, LOOKS) * min(shape.rows, DRAWN)
        return self._forecast(shape, row * (self.epochs * shape.rows + 0.45 * self.steps * drawn))
