"""What measures need of their call, told in one line where it is not there."""

from __future__ import annotations

from collections.abc import Sequence

from dalenius.core.errors import DataError, OptionError
from dalenius.counts.pair import Pair


def chosen_targets(pair: Pair, targets: Sequence[str] | None) -> list[str]:
    """Targets of the call, or of the pair; at least one.

    Examples
    --------
    >>> chosen_targets(Pair({"a": [1], "b": [2]}, {"a": [1], "b": [2]}), ["b"])
    ['b']
    """
    found = list(targets) if targets is not None else pair.targets
    if not found:
        raise OptionError(
            "no targets are named; say which columns would hurt if learnt, as in targets=['ill']"
        )
    return found


def compared_columns(pair: Pair) -> list[str]:
    """Columns that records are compared on; at least one, as files without any would all look alike.

    Examples
    --------
    >>> compared_columns(Pair({"a": [1]}, {"a": [1]}))
    ['a']
    """
    if not pair.columns:
        raise DataError(
            "the files have no column to compare in common: identifiers, units, weights and free text are left out"
        )
    return pair.columns


def need_holdout(pair: Pair, what: str) -> None:
    """Raise when there are no people outside the data.

    Examples
    --------
    >>> need_holdout(Pair({"a": [1]}, {"a": [1]}, {"a": [1]}), "DCR")
    """
    if pair.holdout is None:
        raise DataError(f"{what} needs a holdout; give the people who are not in the data as holdout")
