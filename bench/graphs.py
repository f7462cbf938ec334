"""Links read off graph services: Zari et al.'s table on the Twitch graphs, speed beside a full pass a node, growth.

Run as ``python bench/graphs.py [folder with ES, FR, RU]``; without the folder a made-up graph stands in.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.models.graphs import (
    STRATEGIES,
    Graph,
    GraphService,
    Noise,
    block_graph,
    found_links,
    inject,
    link_teller,
    train_network,
)

PAPER = {
    "FR": {"max_attr": 0.99, "all_ones": 0.99, "class_rep": 0.94, "identity": 0.81, "influence": 0.81,
           "all_zeros": 0.58, "changed features": 0.80},
    "RU": {"max_attr": 0.98, "all_ones": 0.97, "class_rep": 0.83, "identity": 0.69, "influence": 0.70,
           "all_zeros": 0.48, "changed features": 0.74},
}  # fmt: skip


def load(folder: Path, country: str) -> Graph:
    stem = folder / country / country
    people = pl.read_csv(f"{stem}_target.csv").unique("new_id", keep="first").sort("new_id")
    held = json.loads(Path(f"{stem}.json").read_text())
    places = np.array([(int(node), feature) for node, own in held.items() for feature in set(own)])
    features = sp.csr_matrix(
        (np.ones(len(places)), (places[:, 0], places[:, 1])), shape=(people.height, 3170)
    )
    edges = pl.read_csv(f"{stem}_edges.csv").to_numpy()
    return Graph.of(edges, features, people["mature"].cast(pl.Int64).to_numpy())


def timed(call):
    before = time.process_time()
    held = call()
    return held, time.process_time() - before


def table(name: str, graph: Graph, network, ids) -> None:
    service, seconds = GraphService(network, graph), 0.0
    print(f"{name}: {graph!r}; F1 with the best line, with the attacker's own, and the paper's")
    for strategy in (*STRATEGIES, "changed features"):
        attack = link_teller if strategy == "changed features" else inject
        scores, cpu = timed(lambda: attack(service, ids, *([strategy] if attack is inject else [])))  # noqa: B023
        seconds += cpu if attack is inject else 0.0
        best, own = (found_links(scores, graph, threshold=t).f1 for t in ("oracle", "density"))
        print(f"  {strategy:17} {best:.3f}  {own:.3f}  {PAPER.get(name, {}).get(strategy, float('nan')):.2f}")
    _, full = timed(lambda: [network.scores(graph) for _ in range(5)])
    whole = full / 5 * len(ids) * len(STRATEGIES)
    print(
        f"  six strategies, {len(ids)} targets: {seconds:.1f} CPU s; "
        f"a full pass a node {whole:.1f} s ({whole / seconds:.1f}x)"
    )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if folder is not None:
        network, cpu = timed(lambda: train_network(load(folder, "ES"), seed=1))
        print(f"training on ES, 200 epochs: {cpu:.1f} CPU s")
        for name in ("FR", "RU"):
            graph = load(folder, name)
            table(name, graph, network, np.random.default_rng(1).choice(graph.nodes, 500, replace=False))
        for epsilon in (1.0, 3.0):
            service = GraphService(network, graph, defence=Noise(epsilon))
            (scores, cpu) = timed(lambda: inject(service, np.arange(0, 4000, 100)))  # noqa: B023
            print(
                f"RU, ε = {epsilon:g} a release: F1 {found_links(scores, graph, threshold='oracle').f1:.3f}, "
                f"{cpu:.1f} CPU s"
            )
    last = None
    for nodes in (1000, 4000):
        graph = block_graph(nodes, 1, inside=20 / nodes, between=4 / nodes)
        network = train_network(graph, epochs=50, seed=1)
        service = GraphService(network, graph)
        _, cpu = timed(lambda: inject(service, np.arange(300)))  # noqa: B023
        grown = "" if last is None else f", exponent {np.log(cpu / last[1]) / np.log(nodes / last[0]):.2f}"
        print(f"{nodes:6,} nodes of the same degree, 300 targets: {cpu:.2f} CPU s{grown}")
        last = nodes, cpu


if __name__ == "__main__":
    main()
