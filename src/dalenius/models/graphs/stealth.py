"""How much a made-up node stands out among the real ones: what a service could notice."""

from __future__ import annotations

import numpy as np

from dalenius.data.vector import AnyArray

NEAR = 5


def stealth(features: AnyArray, real: AnyArray) -> dict[str, float]:
    """Where a made-up node lies among real ones, in percent.

    "further than": share of real nodes that lie nearer to their fifth neighbour than the made-up one to its own;
    "outside": share of its features beyond what any real node has; "off the grid": share that no real node has.

    Examples
    --------
    >>> stealth(np.array([0.0, 9.0]), np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))["outside"]
    50.0
    """
    from scipy.spatial import cKDTree  # noqa: PLC0415

    made, held = np.asarray(features, np.float64).ravel(), np.asarray(real, np.float64)
    spread = held.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    tree = cKDTree(held / scale)
    k = min(NEAR, len(held) - 1)
    own = tree.query(held / scale, k + 1)[0][:, -1]
    new = np.atleast_1d(tree.query(made / scale, k)[0])[-1] if k else 0.0
    outside = (made < held.min(axis=0)) | (made > held.max(axis=0))
    strange = np.array([not np.isin(value, column) for value, column in zip(made, held.T, strict=True)])
    return {
        "further than": 100 * float(np.mean(own < new)),
        "outside": 100 * float(outside.mean()),
        "off the grid": 100 * float(strange.mean()),
    }
