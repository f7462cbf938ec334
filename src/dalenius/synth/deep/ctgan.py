"""`ctgan`: two networks, of which one makes rows and the other learns to tell them from real ones (Xu et al. 2019).

Rows are made for a condition, one entry of one column, and rare entries are met more often (by the logarithm of their
number). The critic sees packs of ten rows (Lin et al. 2018), and its slope is held near one (Gulrajani et al. 2017).
When training is over the shares of all entries are set to those of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.later import torch
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.table import Table
from dalenius.synth.base import register
from dalenius.synth.deep.base import Deep, DeepLearner, DeepModel, entries
from dalenius.synth.deep.coding import Coding
from dalenius.synth.deep.networks import (
    LEVELLED,
    Blocks,
    Weights,
    as_arrays,
    as_tensors,
    chance,
    gumbel,
    layers,
    linear,
)

if TYPE_CHECKING:
    Tensor: TypeAlias = torch.Tensor

NOISE, WIDTH, PACK, SOFT, PENALTY = 128, 256, 10, 0.2, 10.0
"""Numbers of noise, width of layers, rows in a pack, temperature of soft choices, weight of the critic's slope."""
RATE, DECAY, FIRST = 2e-4, 1e-6, (0.5, 0.9)
"""Adam's rate, decay and moments."""


class Conditions:
    """One entry of one column, drawn: columns alike, entries by weights of their own.

    Columns of categories are drawn from; where there are none, the modes of numbers.
    """

    def __init__(self, coding: Coding, shares: Tensor, rows: int = 0) -> None:
        sizes = coding.sizes
        wide = [i for i, size in enumerate(sizes) if size > 1]
        self.columns = [i for i in wide if coding.parts[i].scale is None] or wide
        starts = coding.starts
        self.entries = np.concatenate(
            [np.zeros(0, np.int64), *(starts[i] + np.arange(sizes[i]) for i in self.columns)]
        )
        self.owner = np.repeat(
            np.arange(len(self.columns)), np.array([sizes[i] for i in self.columns], np.int64)
        )
        self.times = shares.numpy()[self.entries].astype(np.float64)
        self.often, self.rarely = self._ends(self.times), self._ends(np.log1p(self.times * rows))

    @property
    def width(self) -> int:
        """Number of entries that may be asked for."""
        return len(self.entries)

    def _ends(self, weights: Any) -> Any:
        """Ends of the entries' shares, those of column j between j and j + 1."""
        whole = np.bincount(self.owner, weights, len(self.columns))
        return np.cumsum(weights / np.maximum(whole[self.owner], 1e-12))

    def drawn(self, rows: int, ends: Any, rng: np.random.Generator) -> Any:
        """Conditions for some rows, as places among ``entries``."""
        if not self.width:
            return np.zeros(rows, np.int64)
        at = rng.integers(0, len(self.columns), rows) + rng.random(rows)
        return np.minimum(np.searchsorted(ends, at, side="right"), self.width - 1)

    def hot(self, chosen: Any) -> Tensor:
        """Conditions as zeros and ones."""
        zeros = torch.zeros(len(chosen), self.width)
        return zeros.scatter_(1, torch.from_numpy(chosen)[:, None], 1.0) if self.width else zeros


def made(weights: Weights, noise: Tensor, wanted: Tensor, stats: bool = False) -> tuple[Tensor, list[Tensor]]:
    """What the generator makes of noise and conditions, and means and variances of its layers where ``stats`` asks."""
    x, seen = torch.cat([noise, wanted], 1), []
    for layer in ("one", "two"):
        h = linear(weights, layer, x)
        mean, spread = weights.get(f"{layer}.mean"), weights.get(f"{layer}.spread")
        if stats:
            seen += [h.mean(0), h.var(0, unbiased=False)]
        scale, shift = weights[f"{layer}.scale"], weights[f"{layer}.shift"]
        h = torch.nn.functional.batch_norm(h, mean, spread, scale, shift, training=mean is None)
        x = torch.cat([h.relu(), x], 1)
    return linear(weights, "out", x), seen


class CTGANModel(DeepModel):
    """The network that makes rows, what its layers saw on average, and what sets the shares right."""

    method = "ctgan"

    def _codes(self, rows: int, random: Any) -> tuple[Tensor, Tensor]:
        weights = as_tensors(self.weights)
        blocks, asked = Blocks(self.coding.sizes), Conditions(self.coding, weights["shares"])
        rng = np.random.default_rng(int(torch.randint(2**62, (1,), generator=random)))
        noise = torch.randn(rows, NOISE, generator=random)
        out, _ = made(weights, noise, asked.hot(asked.drawn(rows, asked.often, rng)))
        logits = out[:, : blocks.width] + weights["level"]
        return blocks.drawn(logits, random), out[:, blocks.width :].tanh()


class CTGANLearner(DeepLearner):
    """Generator and critic under training."""

    def __init__(self, table: Table, held: Table | None, batch: int, seed: Seed) -> None:
        super().__init__(table, held, batch, seed)
        self.batch = max(self.batch // PACK * PACK, 2 * PACK)
        self.asked = Conditions(self.coding, self.shares, table.rows)
        inputs, outputs = NOISE + self.asked.width, self.blocks.width + self.places.shape[1]
        sizes = {
            "one": (inputs, WIDTH),
            "two": (inputs + WIDTH, WIDTH),
            "out": (inputs + 2 * WIDTH, outputs),
        }
        self.weights = layers(sizes, seed)
        for layer in ("one", "two"):
            self.weights[f"{layer}.scale"] = torch.ones(WIDTH, requires_grad=True)
            self.weights[f"{layer}.shift"] = torch.zeros(WIDTH, requires_grad=True)
        seen = PACK * (outputs + self.asked.width)
        self.critic = layers({"c1": (seen, WIDTH), "c2": (WIDTH, WIDTH), "c3": (WIDTH, 1)}, seed)
        how = {"lr": RATE, "betas": FIRST, "weight_decay": DECAY, "fused": True}
        self.makes = torch.optim.Adam(self.weights.values(), **how)
        self.tells = torch.optim.Adam(self.critic.values(), **how)
        self._sort_rows()

    def _sort_rows(self) -> None:
        """Rows in the order of each column's entries, to find those that meet a condition."""
        codes = self.codes.numpy()
        held = [np.argsort(codes[:, i], kind="stable") for i in self.asked.columns]
        self.order = np.concatenate(held) if held else np.zeros(0, np.int64)
        times = np.bincount((codes + self.blocks.starts).ravel(), minlength=self.blocks.width)
        self.times = times[self.asked.entries]
        self.begins = np.cumsum(self.times) - self.times

    def _epoch(self) -> float:
        """As many steps as there are batches of rows; the critic's distance between real and made rows."""
        rng, random = generator(self.seed, "steps", self.done), chance(self.seed, "steps", self.done)
        apart = [self._step(rng, random) for _ in range(max(self.table.rows // self.batch, 1))]
        return float(np.mean(apart))

    def _step(self, rng: np.random.Generator, random: Any) -> float:
        fake, asked, lost = self._fake(rng, random)
        seen, real = fake.detach(), self._real(asked, rng)
        score = self._critic(seen, random).mean() - self._critic(real, random).mean()
        mix = torch.rand(len(seen), 1, generator=random)
        self._learn(self.tells, score + self._slope(mix * real + (1 - mix) * seen, random))
        self._learn(self.makes, lost - self._critic(fake, random).mean())
        return -float(score.detach())

    def _learn(self, optimizer: Any, loss: Tensor) -> None:
        optimizer.zero_grad()
        loss.backward(inputs=optimizer.param_groups[0]["params"])
        optimizer.step()

    def _fake(self, rng: np.random.Generator, random: Any) -> tuple[Tensor, Any, Tensor]:
        """Packs of made rows with their conditions; the conditions; and how badly they are met."""
        asked = self.asked.drawn(self.batch, self.asked.rarely, rng)
        wanted = self.asked.hot(asked)
        out, _ = made(self.weights, torch.randn(self.batch, NOISE, generator=random), wanted)
        logits = out[:, : self.blocks.width]
        soft = self.blocks.softmax((logits + gumbel(logits.shape, random)) / SOFT)
        places = out[:, self.blocks.width :].tanh() * (soft @ self.carries)
        met = self.blocks.log_softmax(logits)[:, self.asked.entries]
        return self._packed(soft, places, wanted), asked, -(met * wanted).sum() / self.batch

    def _real(self, asked: Any, rng: np.random.Generator) -> Tensor:
        """Packs of real rows that meet the same conditions, in another order."""
        asked = rng.permutation(asked)
        if self.asked.width:
            within = (rng.random(self.batch) * self.times[asked]).astype(np.int64)
            rows = torch.from_numpy(self.order[self.begins[asked] + within])
        else:
            rows = torch.from_numpy(rng.integers(0, self.table.rows, self.batch))
        return self._packed(self.blocks.hot(self.codes[rows]), self.places[rows], self.asked.hot(asked))

    def _packed(self, *parts: Tensor) -> Tensor:
        return torch.cat(parts, 1).reshape(self.batch // PACK, -1)

    def _critic(self, packs: Tensor, random: Any) -> Tensor:
        for layer in ("c1", "c2"):
            packs = torch.nn.functional.leaky_relu(linear(self.critic, layer, packs), 0.2)
            packs = packs * _dropped(packs.shape, random)
        return linear(self.critic, "c3", packs)

    def _slope(self, packs: Tensor, random: Any) -> Tensor:
        """How far the critic's slope is from one; layers of straight pieces have it in closed form."""
        slopes, x = [], packs
        with torch.no_grad():
            for layer in ("c1", "c2"):
                x = linear(self.critic, layer, x)
                slopes.append(torch.where(x > 0, 1.0, 0.2) * _dropped(x.shape, random))
                x = x * slopes[-1]
        back = (self.critic["c3.w"] * slopes[1]) @ self.critic["c2.w"] * slopes[0]
        return PENALTY * ((back @ self.critic["c1.w"]).norm(dim=1) - 1).square().mean()

    def _model(self) -> CTGANModel:
        """The generator, with what its layers see on average, and shares set to those of the data."""
        weights = {name: tensor.detach() for name, tensor in self.weights.items()}
        wanted = self.asked.hot(self.asked.drawn(LEVELLED, self.asked.often, generator(self.seed, "level")))
        noise = torch.randn(LEVELLED, NOISE, generator=chance(self.seed, "level"))
        out, seen = made(weights, noise, wanted, stats=True)
        for layer, (mean, spread) in zip(("one", "two"), (seen[:2], seen[2:]), strict=True):
            weights |= {f"{layer}.mean": mean, f"{layer}.spread": spread}
        weights["level"] = self.blocks.levelled(out[:, : self.blocks.width], self.shares)
        return CTGANModel(self.table, self.coding, as_arrays(weights | {"shares": self.shares}))


def _dropped(shape: Sequence[int], random: Any) -> Tensor:
    """Half of the cells switched off, the others doubled."""
    return torch.empty(*shape).bernoulli_(0.5, generator=random) * 2


@register
@dataclass(frozen=True)
class CTGAN(Deep):
    """Train a network that makes rows against one that tells them from real ones.

    The best known of the deep generators, kept for comparison: trees (`cart`) are closer to the data in a hundredth of
    the time.

    Parameters
    ----------
    batch
        Rows of a step.

    Examples
    --------
    >>> from dalenius.synth import make_synthesizer
    >>> make_synthesizer("ctgan", batch=5)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: ctgan: batch is 5; use a whole number, 20 or more
    """

    batch: Annotated[int, Option(at_least=2 * PACK)] = 500

    info = MethodInfo(
        name="ctgan",
        title="Conditional GAN",
        meaning="A network makes rows for a condition, another learns to tell them from real ones: widely known, slow "
        "to learn, and further from the data than trees.",
        guarantee="none: networks can memorise people; rows drawn on the way are held against people held out",
        plain="One program makes up people, another tries to tell them from real ones, and both learn until the second "
        "can hardly do it.",
        reference="Xu, Skoularidou, Cuesta-Infante and Veeramachaneni 2019",
        packages=("torch",),
        example_options={"epochs": 2},
    )
    model = CTGANModel

    def _begun(self, table: Table, held: Table | None, seed: Seed) -> CTGANLearner:
        return CTGANLearner(table, held, self.batch, seed)

    def cost(self, shape: Shape) -> Cost:
        """Steps of a few layers as wide as all entries."""
        step = 3e-3 + self.batch * (2e-5 + 1.7e-7 * entries(shape))
        return self._forecast(shape, self.epochs * max(shape.rows / self.batch, 1) * step)
