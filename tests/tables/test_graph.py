"""The graph of sums around a cell: every cell once, every sum's lines, no value."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from dalenius.tables import SmallCount, define, protect, relations
from dalenius.tables.graph import relations_svg


def drawn(result, place):
    text = relations_svg(result, place)
    ElementTree.fromstring(text)
    boxes = re.findall(r'<rect class="([^"]+)" x=[^>]*/><text class="[^"]+"[^>]*>([^<]+)</text>', text)
    return text, boxes


def test_a_cell_its_wholes_and_its_parts():
    data = {
        "geo": ["N1", "N2", "S1"] * 2,
        "zone": list("NNS") * 2,
        "sex": list("fffmmm"),
        "n": [1, 987, 9, 654, 8, 3],
    }
    result = protect(define(data, by=["geo", "zone", "sex"], freq="n"), SmallCount(1))
    place = int(result.model.find(geo="N", sex="f")[0])
    text, boxes = drawn(result, place)
    names = [name for _, name in boxes]
    assert len(names) == len(set(names))
    assert [name for kind, name in boxes if kind.endswith("here")] == ["N : f"]
    assert set(names) == {"N", "f", "N : f", "N : m", "S : f", "N1 : f", "N2 : f"}
    parts = sum(len(p) for _, p in relations(result.model, place))
    assert text.count("<path") == parts
    assert not {"987", "654", "1641", "996"} & set(re.findall(r"\d+", re.sub(r"<[^>]+>", "", text)))


def test_many_parts_are_counted_not_drawn():
    data = {"a": [f"c{i}" for i in range(40)], "n": list(range(1, 41))}
    text, boxes = drawn(protect(define(data, by="a", freq="n"), SmallCount(1)), 1)
    assert "and 31 more" in text
    assert len(boxes) == 10
    assert "with 39 others" in text


def test_a_cell_without_sums():
    text, boxes = drawn(protect(define({"a": ["x"], "b": ["y"]}, formula="~ a - 1"), SmallCount(0)), 0)
    assert len(boxes) == 1
    assert "takes part in no sum" in text
