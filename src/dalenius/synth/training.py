"""`train`: epochs with early stopping, for whatever learns step by step, and `Curve`, what was seen on the way.

The state that is kept is the best one on people held out (Prechelt 1998, early stopping), and never one after the
rows it draws were found to be copies: see `memorising`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.later import altair as alt
from dalenius.core.style import HOLDOUT, ORIGINAL, PROTECTED
from dalenius.synth._store import stored
from dalenius.synth.memorising import Look

if TYPE_CHECKING:
    from dalenius.synth.base import Model

State = Mapping[str, npt.NDArray[Any]]
L_co = TypeVar("L_co", bound="Model", covariant=True)
BEST, COPIES, END = "held out", "copies", "epochs"
"""Why training ended: people held out fit no better, rows drawn were too like the data, all epochs were done."""


class Learner(Protocol[L_co]):
    """What learns epoch by epoch; its state is plain arrays, from which it goes on as if nothing had happened since."""

    def epoch(self) -> float:
        """Go through the data once; the training loss."""
        ...

    def held_out(self) -> float:
        """The loss on people held out; NaN where there is none to tell by (adversarial training, nobody held out)."""
        ...

    def state(self) -> State:
        """Copies of all parameters that `model` needs."""
        ...

    def restore(self, state: State) -> None:
        """Take a state back."""
        ...

    def model(self) -> L_co:
        """The model in its present state."""
        ...


@stored
@dataclass(frozen=True)
class Curve:
    """How a training went; no value of a record is in it.

    Attributes
    ----------
    training, held_out
        Loss after each epoch; None on people held out where there is none to tell by.
    looks
        What rows drawn on the way looked like, the last of them those of the state that was kept.
    kept
        The epoch whose state was kept.
    stopped
        Why it ended: "held out", "copies" or "epochs".
    """

    training: list[float] = field(default_factory=list)
    held_out: list[float | None] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    kept: int = 0
    stopped: str = END

    @property
    def told(self) -> str:
        """How training ended, in a sentence.

        Examples
        --------
        >>> Curve([3.0, 2.0], [3.0, 3.5], [], 1, BEST).told
        'trained for 2 epochs and gone back to epoch 1: people held out were fitted no better after it'
        """
        why = {
            BEST: "people held out were fitted no better after it",
            COPIES: "rows drawn after it were too like those of the data",
            END: "it was the best one on people held out",
        }[self.stopped]
        done = len(self.training)
        epochs = "1 epoch" if done == 1 else f"{done} epochs"
        return f"trained for {epochs}" + (
            f" and gone back to epoch {self.kept}: {why}" if self.kept < done else ""
        )

    def frame(self) -> pl.DataFrame:
        """Losses and looks as one long table: epoch, what, value."""
        losses = [
            (epoch, what, value)
            for what, values in (("training loss", self.training), ("held-out loss", self.held_out))
            for epoch, value in enumerate(values, 1)
            if value is not None
        ]
        seen = [
            (look.epoch, what, value)
            for look in self.looks
            for what, value in (
                ("copies, %", look.copies),
                ("ε-identifiability, %", look.epsilon),
                ("fresh draws, %", look.null),
            )
        ]
        return pl.DataFrame([*losses, *seen], schema=["epoch", "what", "value"], orient="row").with_columns(
            pl.col("value").cast(pl.Float64)
        )

    def chart(self) -> alt.TopLevelMixin:
        """Losses above, copies and ε-identifiability below, with a line at the epoch that was kept."""
        frame = self.frame()
        kept = alt.Chart(pl.DataFrame({"epoch": [self.kept]}).to_arrow()).mark_rule(strokeDash=[4, 3])
        parts = []
        for names, title in (
            (("training loss", "held-out loss"), "loss"),
            (("copies, %", "ε-identifiability, %", "fresh draws, %"), "% of rows"),
        ):
            shown = frame.filter(pl.col("what").is_in(names)).to_arrow()
            colours = alt.Scale(domain=list(names), range=[ORIGINAL, PROTECTED, HOLDOUT][-len(names) :])
            lines = alt.Chart(shown).mark_line(point=len(self.looks) < 40).encode(
                x=alt.X("epoch:Q"), y=alt.Y("value:Q", title=title),
                color=alt.Color("what:N", scale=colours, title=None),
            )  # fmt: skip
            parts.append((lines + kept.encode(x="epoch:Q")).properties(width=420, height=150))
        return alt.vconcat(*parts).resolve_scale(color="independent")


def train(
    learner: Learner[Any],
    epochs: int,
    patience: int | None = None,
    *,
    look: Callable[[int], Look] | None = None,
    every: int = 5,
    progress: Callable[[str], None] | None = None,
) -> Curve:
    """Train for at most so many epochs and go back to the best state.

    Parameters
    ----------
    patience
        Epochs without a better fit of people held out after which training ends; None goes through all epochs and
        keeps the last state, whatever is seen on the way.
    look
        Draws rows in the present state and says how like the data they are; after the first epoch, after every so many,
        and at the end.

    Examples
    --------
    >>> class Sum:
    ...     at = 0
    ...     def epoch(self): self.at += 1; return 1 / self.at
    ...     def held_out(self): return (self.at - 3) ** 2
    ...     def state(self): return {"at": np.array(self.at)}
    ...     def restore(self, state): self.at = int(state["at"])
    ...     def model(self): return None
    >>> learner = Sum()
    >>> curve = train(learner, 20, patience=2)
    >>> learner.at, len(curve.training), curve.stopped
    (3, 5, 'held out')
    """
    curve = _Run(learner, patience, look)
    for epoch in range(1, epochs + 1):
        curve.step(epoch)
        if progress is not None:
            progress(f"epoch {epoch} of {epochs}, {curve.loss}")
        due = (epoch == 1 or epoch % every == 0) and epoch < epochs
        if (due and curve.look_now(epoch)) or curve.tired(epoch):
            break
    return curve.end()


class _Run:
    """A training under way: its losses, and the states that it may go back to."""

    def __init__(
        self, learner: Learner[Any], patience: int | None, look: Callable[[int], Look] | None
    ) -> None:
        self.learner, self.patience, self.look = learner, patience, look
        self.training: list[float] = []
        self.held_out: list[float] = []
        self.looks: list[Look] = []
        self.best: tuple[int, float, State] | None = None
        self.clean: tuple[int, State] | None = None
        self.stopped = END

    @property
    def loss(self) -> str:
        held = self.held_out[-1]
        return f"loss {self.training[-1]:.3g}" + (f", held out {held:.3g}" if math.isfinite(held) else "")

    def step(self, epoch: int) -> None:
        self.training.append(float(self.learner.epoch()))
        self.held_out.append(float(self.learner.held_out()))
        if not math.isfinite(self.training[-1]):
            raise DataError(
                f"training got out of hand at epoch {epoch} (the loss is no number); take a lower rate or fewer epochs"
            )
        held = self.held_out[-1]
        if self.patience is not None and math.isfinite(held) and (self.best is None or held < self.best[1]):
            self.best = epoch, held, _copied(self.learner.state())

    def look_now(self, epoch: int) -> bool:
        """Look at rows drawn; whether to stop."""
        if self.look is None:
            return False
        self.looks.append(self.look(epoch))
        if self.patience is None:
            return False
        if not self.looks[-1].clean:
            self.stopped = COPIES
            return True
        self.clean = epoch, _copied(self.learner.state())
        return False

    def tired(self, epoch: int) -> bool:
        """Whether people held out have been fitted no better for too long."""
        if self.patience is None or self.best is None or epoch - self.best[0] < self.patience:
            return False
        self.stopped = BEST
        return True

    def end(self) -> Curve:
        """Go back to the state that is kept, and look at its rows."""
        kept = len(self.training)
        if self.best is not None:
            kept = self.best[0]
            self.learner.restore(self.best[2])
        elif self.stopped == COPIES and self.clean is not None:
            kept = self.clean[0]
            self.learner.restore(self.clean[1])
        last = self._look(kept)
        if last is not None and not last.clean and self.clean is not None and self.clean[0] < kept:
            kept, self.stopped = self.clean[0], COPIES
            self.learner.restore(self.clean[1])
            self._look(kept)
        held = [value if math.isfinite(value) else None for value in self.held_out]
        return Curve(self.training, held, self.looks, kept, self.stopped)

    def _look(self, kept: int) -> Look | None:
        if self.look is None:
            return None
        self.looks.append(self.look(kept))
        return self.looks[-1]


def _copied(state: State) -> State:
    return {name: np.array(array) for name, array in state.items()}
