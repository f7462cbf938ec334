"""`federate`: the whole round in one process, and a report of what was sent, what it cost, how good the tree is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, names
from dalenius.core.random import Seed, generator, sequence
from dalenius.core.result import figure
from dalenius.data.keyed import keyed
from dalenius.data.table import Table
from dalenius.models.federated.agreement import Agreement
from dalenius.models.federated.client import client_message
from dalenius.models.federated.messages import Message, read_message
from dalenius.models.federated.trees import Tree, Vote, leaves, merge, predict

MEANINGFUL = 10.0
"""A total ε beyond which e^ε says nothing about anybody."""


@dataclass(frozen=True, eq=False, repr=False)
class Federated:
    """What came out.

    Attributes
    ----------
    tree
        The merged tree: what leaves.
    messages
        What each holder sent, as JSON.
    epsilon
        Local ε by column, the largest over holders, and in all.
    scores
        One line a holder: accuracy and F1 on its own people whom the trees never saw; their mean and spread.
    """

    agreement: Agreement
    tree: Tree
    messages: tuple[str, ...]
    epsilon: pl.DataFrame
    scores: pl.DataFrame | None = None

    def __repr__(self) -> str:
        return self.sentence

    @property
    def total(self) -> float:
        """Local ε of a record over all columns."""
        return float(self.epsilon["ε"].sum())

    @property
    def sentence(self) -> str:
        """One sentence for a board."""
        text = f"{len(self.messages)} holders sent one tree each; merged they have {len(leaves(self.tree))} leaves."
        if self.scores is not None:
            right = 100 * float(str(self.scores["accuracy"].mean()))
            text += f" On people it never saw the tree is right for {figure(right, '%')}."
        if not np.isfinite(self.total):
            return text + " Nothing was changed at random (theta 0): there is no ε."
        text += f" The local ε of a record is {figure(self.total)} over all columns"
        if self.total > MEANINGFUL:
            return (
                text
                + ", which means nothing: it is a formal figure, and the protection is that only trees were sent."
            )
        return text + ", for a matrix of chances that is regarded as fixed and public."


def merge_messages(
    messages: Sequence[str], agreement: Agreement, *, vote: Vote = "tree"
) -> tuple[Tree, pl.DataFrame]:
    """What the server does: read every message with suspicion, merge the trees, add up ε.

    Examples
    --------
    >>> from dalenius.models.federated.agreement import Attribute
    >>> agreed = Agreement((Attribute("age", (0, 100)),), "ill", ("no", "yes"))
    >>> tree, _ = merge_messages(['{"tree": {"label": 1}, "epsilon": {"age": 1.5}, "changed": {"age": 0.1}}'], agreed)
    >>> tree
    Leaf(label=1, counts=None)
    """
    read = []
    for number, text in enumerate(messages, 1):
        try:
            read.append(read_message(text, agreement))
        except DataError as fault:
            raise DataError(f"message {number} {fault}") from None
    _nobody_twice(read)
    columns = [a.name for a in agreement.attributes] + ([agreement.target] if agreement.protect_label else [])
    worst = [max(said.epsilon[name] for said in read) for name in columns]
    return merge([said.tree for said in read], vote=vote), pl.DataFrame({"column": columns, "ε": worst})


def _nobody_twice(read: Sequence[Message]) -> None:
    """Nobody votes twice: not by the same message, and not under one name."""
    if len({said.ballot for said in read}) < len(read):
        raise DataError(
            "two messages are the same, and nobody votes twice; give the message of each holder once (two holders with "
            "the same tree: one of them makes it again with another seed)"
        )
    named = [said.holder for said in read if said.holder is not None]
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        raise DataError(
            f"more than one message is of {names(twice)}, and nobody votes twice; ask who sent them"
        )


def federate(
    holders: Sequence[Any] | Mapping[str, Any], agreement: Agreement, *, vote: Vote = "tree", test_share: float = 0.2,
    bins: Mapping[str, int] | int | None = None, seed: Seed = 0,
) -> Federated:  # fmt: skip
    """Play the whole round: every holder keeps some people aside, sends one message, and judges the merged tree.

    Examples
    --------
    >>> from dalenius.models.federated.agreement import Attribute
    >>> agreed = Agreement((Attribute("age", (0, 100)),), "ill", ("no", "yes"), depth=2, theta=0.1)
    >>> rng = np.random.default_rng(1)
    >>> ages = [rng.integers(0, 100, 400) for _ in range(3)]
    >>> done = federate([{"age": a, "ill": np.where(a < 40, "no", "yes")} for a in ages], agreed, bins=10)
    >>> done.scores["accuracy"].mean() > 0.95
    True
    """
    called = (
        list(holders) if isinstance(holders, Mapping) else [f"holder {i + 1}" for i in range(len(holders))]
    )
    files = list(holders.values()) if isinstance(holders, Mapping) else list(holders)
    if not files:
        raise DataError("there is no holder; give one file each")
    tables = [f if isinstance(f, Table) else Table.from_frame(f) for f in files]
    _no_file_twice(called, tables)
    messages, kept = [], []
    for i, table in enumerate(tables):
        order = generator(seed, "set-aside", i).permutation(table.rows)
        aside = round(test_share * table.rows)
        kept.append(table.take(np.sort(order[:aside])))
        rest = table.take(np.sort(order[aside:]))
        messages.append(
            json.dumps(client_message(rest, agreement, bins=bins, seed=sequence(seed, "holder", i)))
        )
    tree, costs = merge_messages(messages, agreement, vote=vote)
    scores = pl.DataFrame(
        [
            _scored(tree, agreement, name, table)
            for name, table in zip(called, kept, strict=True)
            if table.rows
        ]
    )
    return Federated(agreement, tree, tuple(messages), costs, scores if scores.height else None)


def _no_file_twice(called: Sequence[str], tables: Sequence[Table]) -> None:
    """Holders with the very same records are one holder who would vote twice."""
    first: dict[tuple[int, ...], str] = {}
    for name, table in zip(called, tables, strict=True):
        same = first.setdefault(tuple(keyed(0, table).generate_state(8).tolist()), name)
        if same != name:
            raise DataError(
                f"{same} and {name} have the same records, and nobody votes twice; give each file once"
            )


def _scored(tree: Tree, agreement: Agreement, name: str, table: Table) -> dict[str, Any]:
    """How well a holder's own people are told apart; the last class is the one that F1 is about."""
    truth, said = agreement.labels(table), predict(tree, agreement.values(table))
    wanted = len(agreement.classes) - 1
    hits = int(((said == wanted) & (truth == wanted)).sum())
    called, there = int((said == wanted).sum()), int((truth == wanted).sum())
    return {
        "holder": name, "people": table.rows, "accuracy": float(np.mean(said == truth)),
        "precision": hits / called if called else 0.0, "recall": hits / there if there else 0.0,
        "F1": 2 * hits / (called + there) if called + there else 0.0,
    }  # fmt: skip
