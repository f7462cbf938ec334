"""`SynDiffixModel`: anonymised buckets per cluster, from which rows are drawn and stitched."""

from __future__ import annotations

from collections.abc import Sequence

from dalenius.core.random import Seed, generator
from dalenius.data.frames import Origin
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.synth.base import Model
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

    keeps = ("outlooks", "plan", "buckets", "entropies", "fingerprint", "notes")

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
        notes = [f"synthesized together: {', '.join(cluster)}" for cluster in self.clusters]
        if len(self.schema) > WIDE and len(self.plan.parts):
            notes.append(
                f"{len(self.schema)} columns in one table: relations between columns of different clusters are weak; "
                "make one small table per question (TableSet), or name a target"
            )
        return notes

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
