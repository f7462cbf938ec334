"""Runs inside the peer's own environment: trees of the reference implementation, as plain arrays.

Usage: python peer.py INPUT.csv OUTPUT.npz SALT NOISE COMBINATIONS, with NOISE "on" or "off" and COMBINATIONS like
"0;1;0,1".
"""

from __future__ import annotations

import sys

import numpy as np


def nodes(tree):
    """Every node: path, depth, leaf, rows, stub, noisy count, then four bounds per dimension."""
    from syndiffix.tree import Branch

    found, waiting = [], [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        branch = isinstance(node, Branch)
        if branch:
            waiting += [(child, depth + 1) for child in node.children.values()]
        sides = [
            (s.min, s.max, a.min, a.max)
            for s, a in zip(node.snapped_intervals, node.actual_intervals, strict=True)
        ]
        rows = node.entity_counter.real_count
        found.append(
            [depth, not branch, rows, node.is_stub, node.noisy_count(), *(v for side in sides for v in side)]
        )
    return np.array(found, float)


def main():
    import pandas as pd
    from syndiffix.clustering.strategy import NoClustering
    from syndiffix.common import AnonymizationParams, FlatteningInterval, SuppressionParams

    from syndiffix import Synthesizer

    data = pd.read_csv(sys.argv[1], keep_default_na=False, na_values=[""])
    quiet = sys.argv[4] == "off"
    params = AnonymizationParams(salt=sys.argv[3].encode())
    if quiet:
        pair = FlatteningInterval(2, 2)
        params = AnonymizationParams(sys.argv[3].encode(), SuppressionParams(layer_sd=0.0), pair, pair, 0.0)
    forest = Synthesizer(data, anonymization_params=params, clustering=NoClustering()).forest
    held = {"matrix": forest.orig_data.to_numpy(float)}
    for text in sys.argv[5].split(";"):
        held[text] = nodes(forest.get_tree(tuple(int(i) for i in text.split(","))))
    np.savez(sys.argv[2], **held)


if __name__ == "__main__":
    main()
