"""`link_audit`: every attack on a service, in one table, with the figure that a limit can be set on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.later import altair as alt
from dalenius.core.random import Seed, generator
from dalenius.core.result import WHOLE, Result, figure
from dalenius.core.style import QUIET, RISK
from dalenius.data.vector import IntArray
from dalenius.models.graphs.injection import BLIND, STRATEGIES, Known, inject
from dalenius.models.graphs.links import Found, LinkScores, found_links
from dalenius.models.graphs.rivals import link_teller, similar_nodes
from dalenius.models.graphs.service import GraphService
from dalenius.models.graphs.stealth import stealth
from dalenius.models.measures import MODEL_MEASURES

GUESSES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""How far off an attacker's belief about the number of links may be (Wu et al. 2022)."""


@dataclass(frozen=True, eq=False, repr=False)
class LinkAudit:
    """What was found: one figure for limits, a table of all attacks, and who is exposed by number of links."""

    result: Result
    table: pl.DataFrame
    guesses: pl.DataFrame
    degrees: pl.DataFrame

    def __repr__(self) -> str:
        return str(self.result)


def link_audit(
    service: GraphService, *, people: int = 500, attacks: Sequence[str] | None = None, seed: Seed = 0,
    fewest: int = 0, most: int | None = None, progress: Callable[[str], None] | None = None,
) -> LinkAudit:  # fmt: skip
    """Attack a service in every way and say how many links come out.

    Parameters
    ----------
    people
        Nodes that the attacker asks about, drawn at random.
    attacks
        Strategies of a new node, "changed features", "alike in scores", "alike in features"; all by default. With noise
        on the graph every new node is a release, so that only ``max_attr`` is run unless others are named.
    fewest, most
        Ask only about people with so many links: those with few are found out most surely (Wu et al. 2022 look at both
        ends).

    Examples
    --------
    >>> from dalenius.models.graphs import block_graph, train_network
    >>> graph = block_graph(300, 1)
    >>> network = train_network(graph, epochs=30)
    >>> open_hand = link_audit(GraphService(network, graph), people=100)
    >>> labels = link_audit(GraphService(network, graph, output="label"), people=100)
    >>> open_hand.result.value > 0.8 > labels.result.value
    True
    """
    whole = [*STRATEGIES, "changed features", "alike in scores", "alike in features"]
    wanted = (
        list(attacks) if attacks is not None else (["max_attr"] if service.defence is not None else whole)
    )
    if service.most_connects == 0:
        wanted = [name for name in wanted if name not in STRATEGIES]
    odd = [name for name in wanted if name not in whole]
    if odd or not wanted:
        raise OptionError(
            f"unknown attack {odd[0]!r}; there are {', '.join(whole)}" if odd else "name an attack"
        )
    graph = service.graph
    held = (graph.degrees >= fewest) & (graph.degrees <= (graph.nodes if most is None else most))
    if held.sum() < 2:
        raise OptionError(f"{int(held.sum())} people have so many links; ask about a wider range")
    order = generator(seed, "link-audit").permutation(graph.nodes)
    ids = np.sort(order[held[order]][:people])
    rows, tried = [], {}
    for name in wanted:
        if progress is not None:
            progress(name)
        scores = _attacked(service, ids, name)
        found = {
            t: found_links(scores, graph, threshold=t, seed=seed) for t in ("density", "degree", "oracle")
        }
        tried[name] = (scores, found["density"])
        rows.append(_row(service, ids, name, found))
    best = max(tried, key=lambda n: np.nan_to_num(tried[n][1].f1, nan=-1.0))
    table = pl.DataFrame(rows).sort("F1", descending=True, nulls_last=True)
    result = _result(service, ids, best, *tried[best], float(str(table["F1 at best"].max() or 0.0)), table)
    guesses = pl.DataFrame(
        [
            {"believed links": g, "F1": found_links(tried[best][0], graph, guess=g, seed=seed).f1}
            for g in GUESSES
        ]
    )
    return LinkAudit(result, table, guesses, _by_degree(graph.degrees, tried[best][1].by_target))


def _attacked(service: GraphService, ids: IntArray, name: str) -> LinkScores:
    if name in STRATEGIES:
        if service.most_connects is None:
            return inject(service, ids, name, patient=True)
        # each attack has the whole limit; a noisy graph is not drawn again for it, as that would be a release
        own = replace(service) if service.defence is None else service
        left = (own.most_connects or 0) - own.connects
        return inject(own, ids, name, targets=ids[:left], patient=True)
    if name == "changed features":
        return link_teller(service, ids)
    return similar_nodes(service, ids, on="scores" if name == "alike in scores" else "features")


def _row(service: GraphService, ids: IntArray, name: str, found: dict[str, Found]) -> dict[str, object]:
    plain = found["density"]
    stands_out = None
    if name in STRATEGIES:
        known = Known(service, ids)
        stands_out = stealth(STRATEGIES[name](known, int(ids[0])), known.features)["further than"]
    return {
        "attack": f"new node: {name}" if name in STRATEGIES else name,
        "F1": plain.f1, "precision": plain.precision, "recall": plain.recall, "F1 by degree": found["degree"].f1,
        "F1 at best": found["oracle"].f1, "F1 by chance": plain.chance,
        "needs features": name not in BLIND and name != "alike in scores",
        "node stands out (%)": stands_out,
    }  # fmt: skip


def _result(
    service: GraphService,
    ids: IntArray,
    best: str,
    scores: LinkScores,
    found: Found,
    top: float,
    table: pl.DataFrame,
) -> Result:
    text = (
        f"Asking about {len(ids)} people ({scores.attack}), an attacker finds {figure(100 * found.recall, '%')} of the "
        f"links among them, and {figure(100 * found.precision, '%')} of the links he calls are true (guessing: "
        f"{figure(100 * found.chance, '%')})."
    )
    if np.isnan(found.f1):
        text = f"None of {len(ids)} people who were looked at are linked, so that nothing can be said; ask about more."
    if service.defence is not None:
        text += (
            f" The graph was released {service.releases} times with ε = {figure(service.defence.epsilon)} for an edge: "
            f"ε = {figure(service.epsilon or 0.0)} in all."
        )
    return Result(
        name="model-links", value=found.f1, sentence=text, interval=found.spread,
        yardsticks={"by chance": found.chance}, outside=found.chance,
        values={"precision": found.precision, "recall": found.recall, "F1 with the best line": top,
                "people": float(len(ids))},
        table=table, counts=WHOLE, trusted=not np.isnan(found.f1), chart=lambda: _chart(table),
    ).with_info(MODEL_MEASURES["model-links"])  # fmt: skip


def _by_degree(degrees: IntArray, targets: pl.DataFrame) -> pl.DataFrame:
    """Links found for people with few, some and many links."""
    held = targets.with_columns(degree=degrees[targets["node"].to_numpy()]).filter(pl.col("links") > 0)
    if not held.height:
        return pl.DataFrame({"links of the person": [], "people": [], "found (%)": []})
    low, high = (float(held["degree"].quantile(q) or 0.0) for q in (1 / 3, 2 / 3))
    group = (
        pl.when(pl.col("degree") <= low)
        .then(pl.lit("few"))
        .when(pl.col("degree") <= high)
        .then(pl.lit("some"))
    )
    shares = held.group_by(group.otherwise(pl.lit("many")).alias("links of the person")).agg(
        people=pl.len(), found=100 * pl.col("found").sum() / pl.col("links").sum()
    )
    order = pl.col("links of the person").replace_strict({"few": 0, "some": 1, "many": 2})
    return shares.sort(order).rename({"found": "found (%)"})


def _chart(table: pl.DataFrame) -> Any:
    """F1 of each attack, with the line that an attacker can draw and with the best one, beside chance."""
    held = table.select("attack", "F1", "F1 at best", "F1 by chance").fill_nan(0.0).to_arrow()
    base = alt.Chart(held).encode(y=alt.Y("attack:N", sort=None, title=None, axis=alt.Axis(labelLimit=240)))
    scale = alt.Scale(domain=[0, 1])
    bars = base.mark_bar(color=RISK, height=12).encode(
        x=alt.X("F1:Q", scale=scale, title="links recovered (F1)")
    )
    best = base.mark_tick(color="#1A3C5A", thickness=2, height=16).encode(
        x=alt.X("F1 at best:Q", scale=scale)
    )
    chance = base.mark_tick(color=QUIET, thickness=2, height=16).encode(
        x=alt.X("F1 by chance:Q", scale=scale)
    )
    return alt.layer(bars, best, chance).properties(width=420, height=alt.Step(24))
