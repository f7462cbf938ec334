"""Reading the message of a holder with suspicion: it may come from another version, or from somebody who cheats."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.core.errors import DataError
from dalenius.models.federated.agreement import Agreement
from dalenius.models.federated.trees import Leaf, Node, Tree, from_json

KEYS = {"tree", "epsilon", "changed", "number"}
LARGEST = 2**53


@dataclass(frozen=True)
class Message:
    """What a message says.

    Attributes
    ----------
    ballot
        The same for messages that say the same, in whatever order.
    holder
        Who sent it, where the agreement names the holders.
    """

    tree: Tree
    epsilon: Mapping[str, float]
    ballot: str
    holder: str | None


def read_message(text: str, agreement: Agreement) -> Message:
    """A message that keeps to the agreement in everything it says, and says nothing else.

    Examples
    --------
    >>> from dalenius.models.federated.agreement import Attribute
    >>> agreed = Agreement((Attribute("age", (0, 100)),), "ill", ("no", "yes"))
    >>> said = '{"tree": {"label": 1}, "epsilon": {"age": 1.5}, "changed": {"age": 0.1}, "people": [[31, 2500]]}'
    >>> read_message(said, agreed)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.DataError: holds more than a tree and what it cost; nothing of it is used, and it is not sent
    """
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        held = None
    if not isinstance(held, dict) or not {"tree", "epsilon"} <= set(held):
        raise DataError("cannot be read; ask its sender to make it again")
    if not set(held) <= KEYS | ({"holder"} if agreement.holders else set()):
        raise DataError("holds more than a tree and what it cost; nothing of it is used, and it is not sent")
    try:
        tree = from_json(held["tree"], len(agreement.attributes), len(agreement.classes))
    except (RecursionError, OverflowError):
        tree = None
    if tree is None or not all(_kept(place, depth, agreement) for place, depth in _places(tree)):
        raise DataError("holds no tree that fits the agreement; ask its sender to make it again")
    number = held.get("number", 0)
    changed = held.get("changed", {})
    names = {a.name for a in agreement.attributes} | (
        {agreement.target} if agreement.protect_label else set()
    )
    shares = (
        isinstance(changed, dict) and set(changed) <= names and all(_number(v, 1.0) for v in changed.values())
    )
    if not shares or isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < LARGEST:
        raise DataError("cannot be read; ask its sender to make it again")
    ballot = json.dumps({"tree": held["tree"], "number": number}, sort_keys=True)
    return Message(tree, _costs(held["epsilon"], names, agreement), ballot, _holder(held, agreement))


def _places(tree: Tree, depth: int = 0) -> Iterator[tuple[Tree, int]]:
    yield tree, depth
    if isinstance(tree, Node):
        for branch in tree.branches:
            yield from _places(branch, depth + 1)


def _kept(place: Tree, depth: int, agreement: Agreement) -> bool:
    """Whether a question or a leaf is one that this agreement allows."""
    if isinstance(place, Leaf):
        counts = place.counts
        sound = counts is None or all(n == 0 or agreement.smallest <= n < LARGEST for n in counts)
        return depth <= agreement.depth and sound and (counts is None or sum(counts) >= agreement.smallest)
    column = agreement.attributes[place.column]
    cuts = [cut for cut in place.cuts if not math.isinf(cut)]
    if column.bounds is not None:
        return all(column.bounds[0] <= cut <= column.bounds[1] for cut in cuts)
    return all(cut % 1 == 0.5 and 0 < cut < len(column.levels or ()) - 1 for cut in cuts)


def _costs(held: Any, names: set[str], agreement: Agreement) -> dict[str, float]:
    """ε by column: none of them where nothing is changed at random, all of them where something is."""
    free = agreement.theta == 0
    sound = isinstance(held, dict) and set(held) == names
    if not sound or not all(v is None if free else _number(v, math.inf) for v in held.values()):
        raise DataError("does not say what each column cost, as agreed; ask its sender to make it again")
    return {name: math.inf if value is None else float(value) for name, value in held.items()}


def _number(value: Any, most: float) -> bool:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and 0 <= value <= most
        and value < LARGEST
    )


def _holder(held: Mapping[str, Any], agreement: Agreement) -> str | None:
    if not agreement.holders:
        return None
    if held.get("holder") not in agreement.holders:
        raise DataError("is of none of the holders that were agreed on; make it with their name (--holder)")
    return str(held["holder"])
