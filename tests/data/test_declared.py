"""A domain counts as declared only where the schema itself lists it."""

from __future__ import annotations

import pytest

from dalenius.core.errors import DaleniusError
from dalenius.data import Column, Kind, Schema, Table
from dalenius.synth import make_synthesizer


def test_levels_read_off_the_data_are_never_declared():
    schema = Schema((Column("a", Kind.CATEGORICAL, domain="declared"),))
    table = Table.from_frame({"a": ["x", "secret"]}, schema)
    assert table.schema["a"].domain == "from-data"
    listed = Schema((Column("a", Kind.CATEGORICAL, levels=("x", "y"), domain="declared"),))
    assert Table.from_frame({"a": ["x", "y"]}, listed).schema["a"].domain == "declared"


def test_private_methods_refuse_a_declaration_without_levels():
    schema = Schema(
        (Column("a", Kind.CATEGORICAL, domain="declared"), Column("b", Kind.BOOLEAN, levels=(False, True)))
    )
    table = Table.from_frame({"a": ["x", "secret"] * 20, "b": [True, False] * 20}, schema)
    with pytest.raises(DaleniusError, match="'a'"):
        make_synthesizer("mst", epsilon=1.0).fit(table)
