"""`SynDiffixModel`: anonymised buckets per cluster, from which rows are drawn and stitched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalenius.core.random import Seed, generator
from dalenius.data.frames import Origin
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.synth.base import Arrays, Model
from dalenius.synth.syndiffix.axis import Axis
from dalenius.synth.syndiffix.buckets import Buckets
from dalenius.synth.syndiffix.clusters import Plan
from dalenius.synth.syndiffix.microdata import decode, draw_codes, empty_vector
from dalenius.synth.syndiffix.outlook import Outlook
from dalenius.synth.syndiffix.stitching import Drawn, join

WIDE = 8
"""Columns from which on a table without a target deserves a word of warning."""


class SynDiffixModel(Model):
    """Buckets of each cluster of columns, and how clusters are stitched.

    Attributes
    ----------
    outlooks
        How codes become values, one per column.
    plan
        Clusters by column position.
    buckets
        One set per cluster of the plan.
    entropies
        Noisy entropy of each column: the order of bisection when stitching.
    fingerprint
        Mark of the salt; tables of different salts must not be released together.
    """

    method = "syndiffix"
    contents = (
        "anonymised buckets (snapped ranges with noisy counts of at least 3 units each); no rows, no value that fewer "
        "than 3 units share, not the salt"
    )

    def __init__(
        self, schema: Schema, rows: int, outlooks: Sequence[Outlook], plan: Plan, buckets: Sequence[Buckets],
        entropies: Sequence[float], fingerprint: str = "", origin: Origin | None = None,
    ) -> None:  # fmt: skip
        super().__init__(schema, rows, origin)
        self.outlooks = list(outlooks)
        self.plan = plan
        self.buckets = list(buckets)
        self.entropies = list(entropies)
        self.fingerprint = fingerprint
        self.notes = self._told()

    @property
    def clusters(self) -> list[list[str]]:
        """Names of the columns that were synthesized together."""
        names = self.schema.names
        return [[names[i] for i in combination] for combination in self.plan.combinations]

    def _told(self) -> list[str]:
        """What a user should know about this model."""
        found = [f"synthesized together: {', '.join(cluster)}" for cluster in self.clusters]
        if len(self.schema) > WIDE and len(self.plan.parts):
            found.append(
                f"{len(self.schema)} columns in one table: relations between columns of different clusters are weak; "
                "make one small table per question (TableSet), or name a target"
            )
        return found

    def _draw(self, rows: int, seed: Seed) -> Table:
        if any(not len(held.weight) for held in self.buckets):
            vectors = [empty_vector(outlook.axis, rows) for outlook in self.outlooks]
            return Table.from_vectors(vectors, rows, self.origin, self.schema)
        drawn = self._draw_cluster(0, rows, seed)
        for k, part in enumerate(self.plan.parts, start=1):
            common = sorted(part.stitch, key=lambda i: (self.entropies[i], i))
            drawn = join(
                drawn, self._draw_cluster(k, rows, seed), common, part.shared, generator(seed, "stitch", k)
            )
        drawn = drawn.take(generator(seed, "order").permutation(drawn.rows))
        vectors = [decode(self.outlooks[i], drawn.codes[i], drawn.tags[i]) for i in sorted(drawn.codes)]
        return Table.from_vectors(vectors, drawn.rows, self.origin, self.schema)

    def _draw_cluster(self, k: int, rows: int, seed: Seed) -> Drawn:
        held = self.buckets[k]
        which = held.spread(rows, generator(seed, "spread", k))
        codes, tags = {}, {}
        for j, i in enumerate(held.columns):
            rng = generator(seed, "draw", k, i)
            codes[i], tags[i] = draw_codes(self.outlooks[i], held.low[which, j], held.high[which, j], rng)
        return Drawn(codes, tags)

    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """Axes, plan and buckets."""
        facts = {
            "plan": self.plan.to_facts(),
            "entropies": self.entropies,
            "fingerprint": self.fingerprint,
            "columns": [outlook_facts(outlook) for outlook in self.outlooks],
            "sets": [list(held.columns) for held in self.buckets],
        }
        arrays: dict[str, Any] = {}
        for i, outlook in enumerate(self.outlooks):
            arrays |= {f"ranks.{i}": outlook.ranks, f"known.{i}": outlook.known}
        for k, held in enumerate(self.buckets):
            arrays |= {f"low.{k}": held.low, f"high.{k}": held.high, f"weight.{k}": held.weight}
        return facts, arrays

    @classmethod
    def from_parts(
        cls, schema: Schema, rows: int, facts: Mapping[str, Any], arrays: Arrays
    ) -> SynDiffixModel:
        """Rebuild the model."""
        outlooks = [
            outlook_from(schema.columns[i], held, arrays[f"ranks.{i}"], arrays[f"known.{i}"])
            for i, held in enumerate(facts["columns"])
        ]
        buckets = [
            Buckets(tuple(map(int, columns)), arrays[f"low.{k}"], arrays[f"high.{k}"], arrays[f"weight.{k}"])
            for k, columns in enumerate(facts["sets"])
        ]
        plan = Plan.from_facts(facts["plan"])
        return cls(schema, rows, outlooks, plan, buckets, facts["entropies"], facts["fingerprint"])


def outlook_facts(outlook: Outlook) -> dict[str, Any]:
    """Plain data of an outlook, without its column and arrays."""
    prefixes = [[*pair, text] for pair, text in outlook.prefixes.items()]
    return {"axis": outlook.axis.to_facts(), "edges": outlook.edges, "prefixes": prefixes}


def outlook_from(column: Any, facts: Mapping[str, Any], ranks: Any, known: Any) -> Outlook:
    """Rebuild an outlook."""
    edges = facts["edges"]
    return Outlook(
        Axis.from_facts(column, facts["axis"]),
        None if edges is None else (int(edges[0]), int(edges[1])),
        np.asarray(ranks, np.int64),
        np.asarray(known, np.int64),
        {(int(a), int(b)): str(text) for a, b, text in facts["prefixes"]},
    )
