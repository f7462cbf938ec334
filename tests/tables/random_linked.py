"""Random linked tables built to be awkward: equal content under different names, nested and crossed hierarchies."""

from __future__ import annotations

import numpy as np

from dalenius.tables import Dominance, FewContributors, Manual, SmallCount, define

WAYS = ("global", "local", "local-bdiag", "back-tracking", "consistent", "super-consistent", "chained")


def random_linked(seed: int):
    """A model with two to four linked tables, and a rule that fits it."""
    rng = np.random.default_rng(seed)
    leaves = int(rng.integers(3, 6))
    rows = int(rng.integers(5, 16))
    area = rng.integers(0, leaves, rows)
    zone_of = np.sort(rng.integers(0, 2, leaves))  # nested in the area
    town_of = rng.integers(0, 2, leaves)  # another grouping of the areas, crossing the zones
    data = {
        "area": [f"a{i}" for i in area],
        "zone": [f"z{zone_of[i]}" for i in area],
        "kind": [f"k{town_of[i]}" for i in area],
        "twin": [f"t{i}" if i else "first" for i in area],  # the same people as the area, called differently
        "sex": [("f", "m")[i] for i in rng.integers(0, 2, rows)],
    }
    magnitude = rng.random() < 0.3
    if magnitude:
        data["value"] = rng.integers(0, 40, rows).astype(float).tolist()
        data["firm"] = [f"F{i}" for i in rng.integers(0, 5, rows)]
    else:
        data["n"] = rng.integers(0, 12, rows).tolist()
    pool = ["~ area", "~ zone", "~ kind", "~ twin", "~ sex", "~ zone*sex", "~ kind*sex", "~ area*sex", "~ twin:sex",
            "~ zone:kind", "~ area + zone - 1", "~ kind:sex + zone"]  # fmt: skip
    picked = rng.choice(len(pool), int(rng.integers(2, 5)), replace=False)
    layouts = {f"t{i}": pool[p] for i, p in enumerate(picked)}
    nested = bool(rng.random() < 0.5)
    kind = {"value": "value", "contributor": "firm"} if magnitude else {"freq": "n"}
    model = define(data, tables=layouts, nested=nested, **kind)
    if magnitude:
        rule = (FewContributors(1), Dominance([(1, 80)]), FewContributors(2))[int(rng.integers(3))]
    else:
        marked = rng.random(len(model.cells)) < 0.15
        rule = (SmallCount(2), SmallCount(3, protect_zeros=False), Manual(marked))[int(rng.integers(3))]
    return model, rule
