"""An invented country: regions, districts and municipalities of very unequal size, on an empty sea."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from dalenius.core.random import generator
from dalenius.data.examples.draw import Floats, Ints, Lottery

REGIONS = ("R1", "R2", "R3", "R4", "R5", "R6")
REGION_SHARES = (0.38, 0.22, 0.17, 0.12, 0.08, 0.03)
DISTRICTS_PER_REGION = (9, 6, 7, 4, 5, 3)
# The island lies in the open Atlantic, so that no example person lives at a real address.
REGION_CENTRES = ((-29.0, 46.0), (-27.6, 46.6), (-30.4, 45.2), (-28.2, 44.9), (-30.6, 46.8), (-26.6, 45.4))


@dataclass(frozen=True)
class Geography:
    """The municipalities of the country, largest of each district first; one array entry each.

    `region` and `district` are indices into `regions` and `districts`, `share` is the share of all
    households, `urban` the standardised log of that share, `spread` how far homes lie from the centre.

    Examples
    --------
    >>> land = geography()
    >>> len(land.regions), len(land.districts), land.municipalities[0]
    (6, 34, 'R1-01-01')
    """

    regions: tuple[str, ...]
    districts: tuple[str, ...]
    municipalities: tuple[str, ...]
    region: Ints
    district: Ints
    share: Floats
    urban: Floats
    spread: Floats
    longitude: Floats
    latitude: Floats
    lottery: Lottery


def _places() -> tuple[list[str], list[str], list[tuple[int, int, float]]]:
    """List district codes, municipality codes, and (region, district, share) of each municipality."""
    districts: list[str] = []
    codes: list[str] = []
    places: list[tuple[int, int, float]] = []
    for r, (region, districts_here) in enumerate(zip(REGIONS, DISTRICTS_PER_REGION, strict=True)):
        district_shares = 1.0 / np.arange(1, districts_here + 1)
        district_shares *= REGION_SHARES[r] / district_shares.sum()
        for d in range(districts_here):
            districts.append(f"{region}-{d + 1:02d}")
            # Between 4 and 14 municipalities: any rule that does not follow the size of the district will do.
            shares = np.arange(1.0, 5.0 + (7 * d + 3 * r) % 11) ** -1.3
            shares *= district_shares[d] / shares.sum()
            for m, share in enumerate(shares):
                codes.append(f"{districts[-1]}-{m + 1:02d}")
                places.append((r, len(districts) - 1, float(share)))
    return districts, codes, places


@cache
def geography() -> Geography:
    """Return the country, the same for every seed: two seeds are two samples of one world.

    Examples
    --------
    >>> bool(abs(geography().share.sum() - 1) < 1e-9)
    True
    """
    districts, codes, places = _places()
    region = np.array([place[0] for place in places], dtype=np.int64)
    district = np.array([place[1] for place in places], dtype=np.int64)
    share = np.array([place[2] for place in places])
    log_share = np.log(share)
    urban = np.clip((log_share - log_share.mean()) / log_share.std(), -2.0, 2.5)
    rng = generator(1977, "geography")
    centre = np.array(REGION_CENTRES)[region]
    centre = centre + rng.normal(0.0, 0.3, (len(districts), 2))[district]
    centre = centre + rng.normal(0.0, 0.1, (len(codes), 2))
    return Geography(
        regions=REGIONS,
        districts=tuple(districts),
        municipalities=tuple(codes),
        region=region,
        district=district,
        share=share,
        urban=urban,
        spread=0.008 + 0.004 * (urban + 2.0),
        longitude=centre[:, 0],
        latitude=centre[:, 1],
        lottery=Lottery.of(share),
    )
