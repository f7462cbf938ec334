"""A lens as a file: kept inside, beside the confidential work of a plan, never released."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.data.atomic import replacing
from dalenius.data.lens import Lens
from dalenius.data.steps.step import step_from


def write_lens(lens: Lens, path: str | Path) -> None:
    """Write a lens, whole or not at all, as plain data and arrays."""
    facts = {
        "maps": [each.to_dict() for each in lens.maps], "perturbed": sorted(lens.perturbed),
        "dropped": sorted(lens.dropped), "gaps": list(lens.gaps), "linked": lens.links is not None,
    }  # fmt: skip
    arrays: dict[str, Any] = {f"gap{i}": gone for i, gone in enumerate(lens.gaps.values())}
    if lens.links is not None:
        arrays["links"] = lens.links
    held = io.BytesIO()
    np.savez_compressed(held, facts=np.array(json.dumps(facts, default=str)), **arrays)
    with replacing(path) as beside:
        beside.write_bytes(held.getvalue())


def read_lens(path: str | Path) -> Lens | None:
    """Read a lens back; None where there is none.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.data.steps import Recode
    >>> from dalenius.data.table import Table
    >>> where = Path(tempfile.mkdtemp()) / "a.lens"
    >>> write_lens(Recode("age", width=10).apply(Table.from_frame({"age": [*range(40)] * 2})).lens, where)
    >>> print(read_lens(where))
    age recoded
    """
    where = Path(path)
    if not where.is_file():
        return None
    with np.load(where, allow_pickle=False) as held:
        facts = json.loads(str(held["facts"]))
        gaps = {name: held[f"gap{i}"] for i, name in enumerate(facts["gaps"])}
        links = held["links"] if facts["linked"] else None
    maps: Any = tuple(step_from(each) for each in facts["maps"])
    return Lens(maps, frozenset(facts["perturbed"]), frozenset(facts["dropped"]), gaps, links)
