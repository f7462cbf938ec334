"""`tvae`: rows pressed through a few normal numbers and made again; new rows come from new numbers.

The idea: Kingma and Welling 2014. As Xu et al. (2019) have it for tables, places are normal around what is made,
with a deviation learnt for each column, and entries are drawn by their shares. The loss is the misfit, counted twice,
and how far the numbers of a row are from standard normal. When training is over the shares of all entries are set to
those of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

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
    LEVELLED,
    Blocks,
    Weights,
    as_arrays,
    as_tensors,
    chance,
    layers,
    linear,
)
from dalenius.synth.iterative import Epochs

if TYPE_CHECKING:
    Tensor: TypeAlias = torch.Tensor

LATENT, WIDTH = 128, 128
RATE, DECAY, TWICE = 1e-3, 1e-5, 2.0
"""Adam's rate and decay, and how often the misfit counts, as in the authors' program."""
LEAST, MOST = 0.01, 1.0
"""Bounds of a place's deviation."""


def made(weights: Weights, latent: Tensor) -> Tensor:
    """What the decoder makes of latent numbers."""
    for layer in ("d1", "d2"):
        latent = linear(weights, layer, latent).relu()
    return linear(weights, "d3", latent)


class TVAEModel(DeepModel):
    """The decoder, deviations of places, and what sets the shares right."""

    method = "tvae"

    def _codes(self, rows: int, random: Any) -> tuple[Tensor, Tensor]:
        weights, blocks = as_tensors(self.weights), Blocks(self.coding.sizes)
        out = made(weights, torch.randn(rows, LATENT, generator=random))
        places = out[:, blocks.width :].tanh()
        places = places + weights["spread"] * torch.randn(places.shape, generator=random)
        return blocks.drawn(out[:, : blocks.width] + weights["level"], random), places.clamp(-1, 1)


class TVAELearner(DeepLearner):
    """Encoder and decoder under training."""

    def __init__(self, table: Table, held: Table | None, batch: int, seed: Seed) -> None:
        super().__init__(table, held, batch, seed)
        outputs = self.blocks.width + self.places.shape[1]
        self.weights = layers({"d1": (LATENT, WIDTH), "d2": (WIDTH, WIDTH), "d3": (WIDTH, outputs)}, seed)
        self.weights["spread"] = torch.full((self.places.shape[1],), 0.1, requires_grad=True)
        self.encoder = layers({"e1": (outputs, WIDTH), "e2": (WIDTH, WIDTH), "e3": (WIDTH, 2 * LATENT)}, seed)
        learnt = [*self.weights.values(), *self.encoder.values()]
        self.adam = torch.optim.Adam(learnt, lr=RATE, weight_decay=DECAY, fused=True)

    def _epoch(self) -> float:
        random, losses = chance(self.seed, "steps", self.done), []
        for rows in self.orders():
            loss = self._loss(self.codes[rows], self.places[rows], random)
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            with torch.no_grad():
                self.weights["spread"].clamp_(LEAST, MOST)
            losses.append(float(loss.detach()))
        return float(np.mean(losses))

    def _held_out(self, codes: Tensor, places: Tensor) -> float:
        return float(self._loss(codes, places, chance(self.seed, "held")))

    def _loss(self, codes: Tensor, places: Tensor, random: Any) -> Tensor:
        """Misfit of rows made again, and distance of their numbers from standard normal ones."""
        hot = self.blocks.hot(codes)
        mean, log_spread = self._pressed(torch.cat([hot, places], 1))
        latent = mean + (log_spread / 2).exp() * torch.randn(mean.shape, generator=random)
        out = made(self.weights, latent)
        entry = -(self.blocks.log_softmax(out[:, : self.blocks.width]) * hot).sum(1)
        spread = self.weights["spread"]
        away = ((places - out[:, self.blocks.width :].tanh()) / spread).square() / 2 + spread.log()
        place = (away * (hot @ self.carries)).sum(1)
        far = (mean.square() + log_spread.exp() - 1 - log_spread).sum(1) / 2
        return (TWICE * (entry + place) + far).mean()

    def _pressed(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the variance of each row's numbers."""
        for layer in ("e1", "e2"):
            x = linear(self.encoder, layer, x).relu()
        mean, log_spread = linear(self.encoder, "e3", x).split(LATENT, 1)
        return mean, log_spread.clamp(-20, 10)

    def _model(self) -> TVAEModel:
        weights = {name: tensor.detach() for name, tensor in self.weights.items()}
        out = made(weights, torch.randn(LEVELLED, LATENT, generator=chance(self.seed, "level")))
        weights["level"] = self.blocks.levelled(out[:, : self.blocks.width], self.shares)
        return TVAEModel(self.table, self.coding, as_arrays(weights))


@register
@dataclass(frozen=True)
class TVAE(Deep):
    """Press rows through a few normal numbers, make them again, and draw new rows from new numbers.

    Quicker to learn than `ctgan`, and it can tell when to stop; trees (`cart`) are closer to the data in a hundredth of
    the time.

    Parameters
    ----------
    batch
        Rows of a step.

    Examples
    --------
    >>> from dalenius.synth import make_synthesizer
    >>> make_synthesizer("tvae").epochs
    300
    """

    epochs: Epochs = 300
    batch: Annotated[int, Option(at_least=1)] = 500

    info = MethodInfo(
        name="tvae",
        title="Variational autoencoder",
        meaning="A network presses rows through a few normal numbers and makes them again; quicker to learn than a "
        "GAN, with too little spread, and further from the data than trees.",
        guarantee="none: networks can memorise people; rows drawn on the way are held against people held out",
        plain="The program learns to describe each person by a few numbers and to make a person from such numbers; "
        "then it makes up people from numbers drawn at random.",
        reference="Kingma and Welling 2014; Xu, Skoularidou, Cuesta-Infante and Veeramachaneni 2019",
        packages=("torch",),
        example_options={"epochs": 5},
    )
    model = TVAEModel

    def _begun(self, table: Table, held: Table | None, seed: Seed) -> TVAELearner:
        return TVAELearner(table, held, self.batch, seed)

    def cost(self, shape: Shape) -> Cost:
        """Steps of a few layers, at most as many as all epochs have."""
        step = 1e-3 + self.batch * (4e-6 + 4.4e-8 * entries(shape))
        return self._forecast(shape, self.epochs * max(shape.rows / self.batch, 1) * step)
