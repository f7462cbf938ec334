"""Readers of every format tables are written in, made from the formats' descriptions alone.

Each gives {codes: value as text, or None}.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import re
import struct
import zipfile
from xml.etree import ElementTree


def read_csv(path):
    """RFC 4180; an apostrophe before text that a spreadsheet would run is no part of it."""
    with path.open(newline="", encoding="utf-8") as file:
        _, *rows = list(csv.reader(file))
    return {tuple(_plain(code) for code in row[:2]): row[2] or None for row in rows}


def _plain(code):
    return code[1:] if re.match(r"'+[=+\-@]", code) else code


def read_sdmx(path):
    """SDMX-CSV 2.0: three columns of structure, the dimensions, OBS_VALUE and attributes."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:3] == ["STRUCTURE", "STRUCTURE_ID", "ACTION"]
    for row in rows:
        assert (row["OBS_STATUS"], row["CONF_STATUS"]) == (("A", "F") if row["OBS_VALUE"] else ("Q", "C"))
    return {(_plain(row["sector"]), _plain(row["geo"])): row["OBS_VALUE"] or None for row in rows}


def read_jsonstat(path):
    """json-stat.org: the value at Σ place × stride belongs to the codes at these places of ``category.index``."""
    data = json.loads(path.read_text())
    assert (data["version"], data["class"]) == ("2.0", "dataset")
    codes = [data["dimension"][name]["category"]["index"] for name in data["id"]]
    assert [len(c) for c in codes] == data["size"]
    assert len(data["value"]) == math.prod(data["size"])
    cells = {}
    for i, first in enumerate(codes[0]):
        for j, second in enumerate(codes[1]):
            at = i * data["size"][1] + j
            value = data["value"][at]
            assert (data["status"].get(str(at)) == "c") == (value is None)
            cells[first, second] = None if value is None else f"{value:.1f}"
    return cells


def read_xlsx(path):
    """A workbook is a zip of XML parts: shared strings, and cells that point at them (t="s") or hold numbers."""
    space = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    with zipfile.ZipFile(path) as book:
        names = re.findall(r'<sheet name="([^"]+)"', book.read("xl/workbook.xml").decode())
        assert names == ["Table", "Cells", "Notes"]
        strings = ["".join(t.text or "" for t in item.iter(f"{{{space['m']}}}t"))
                   for item in ElementTree.fromstring(book.read("xl/sharedStrings.xml"))]  # fmt: skip
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet2.xml"))
    assert not sheet.findall(".//m:f", space)  # no formula, whatever a code looks like
    rows = []
    for row in sheet.findall(".//m:row", space):
        cells = {}
        for cell in row.findall("m:c", space):
            value = cell.find("m:v", space)
            column = re.match("[A-Z]+", cell.get("r")).group()
            cells[column] = strings[int(value.text)] if cell.get("t") == "s" else float(value.text)
        rows.append(cells)
    return {(r["A"], r["B"]): f"{r['C']:.1f}" if "C" in r else None for r in rows[1:]}


class R:
    """R Internals, "Serialization Formats": XDR, version 2 or 3; flags of an item hold its type and what follows."""

    def __init__(self, data):
        self.data, self.at, self.symbols = data, 0, []

    def take(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def whole(self):
        return struct.unpack(">i", self.take(4))[0]

    def open(self):
        if self.data[:4] == b"RDX2" or self.data[:4] == b"RDX3":
            self.take(5)
        assert self.take(2) == b"X\n"
        version = self.whole()
        self.take(8)
        if version == 3:
            self.take(self.whole())
        return self.item()

    def item(self):
        flags = self.whole()
        kind, attributes, tagged = flags & 0xFF, bool(flags & 0x200), bool(flags & 0x400)
        if kind == 254:  # NULL
            return None
        if kind == 255:  # a symbol seen before
            return self.symbols[(flags >> 8) - 1 if flags >> 8 else self.whole() - 1]
        if kind == 1:
            self.symbols.append(self.item())
            return self.symbols[-1]
        if kind == 2:  # pair list: attributes, tag, head, tail
            pairs = {}
            while kind == 2:
                if attributes:
                    self.item()
                name = self.item() if tagged else len(pairs)
                pairs[name] = self.item()
                flags = self.whole()
                kind, attributes, tagged = flags & 0xFF, bool(flags & 0x200), bool(flags & 0x400)
            assert kind == 254
            return pairs
        if kind == 9:
            count = self.whole()
            return None if count == -1 else self.take(count).decode()
        value = self._vector(kind, self.whole())
        return (value, self.item()) if attributes else value

    def _vector(self, kind, count):
        if kind in (10, 13):
            return [None if v == -(2**31) else v for v in struct.unpack(f">{count}i", self.take(4 * count))]
        if kind == 14:
            raw = [self.take(8) for _ in range(count)]
            return [None if r[4:] == b"\0\0\x07\xa2" else struct.unpack(">d", r)[0] for r in raw]
        assert kind in (16, 19)
        return [self.item() for _ in range(count)]


def read_r(path):
    """A data frame is a list of columns with the attributes names, row.names and class; a factor has levels."""
    data = path.read_bytes()
    found = R(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).open()
    if path.suffix == ".rda":
        assert list(found) == ["protected"]
        found = found["protected"]
    columns, attributes = found
    assert attributes["class"] == ["data.frame"]
    columns = [[c[1]["levels"][v - 1] for v in c[0]] if isinstance(c, tuple) else c for c in columns]
    named = dict(zip(attributes["names"], columns, strict=True))
    values = [None if v is None or math.isnan(v) else f"{v:.1f}" for v in named["value"]]
    return dict(zip(zip(named["sector"], named["geo"], strict=True), values, strict=True))


class Thrift:
    """Thrift's compact protocol, as Parquet's metadata use it: structs as {field: value}, lists, numbers, bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value, shift = 0, 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self):
        value = self.number()
        return (value >> 1) ^ -(value & 1)

    def struct(self):
        found, last = {}, 0
        while (head := self.data[self.at]) != 0:
            self.at += 1
            last = last + (head >> 4) if head >> 4 else self.signed()
            found[last] = self.value(head & 15)
        self.at += 1
        return found

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            self.at += 1
            return self.data[self.at - 1]
        if kind in (4, 5, 6):
            return self.signed()
        if kind == 7:
            self.at += 8
            return struct.unpack("<d", self.data[self.at - 8 : self.at])[0]
        if kind == 8:
            count = self.number()
            self.at += count
            return self.data[self.at - count : self.at]
        if kind == 9:
            head = self.data[self.at]
            self.at += 1
            count = head >> 4 if head >> 4 < 15 else self.number()
            return [self.value(head & 15) for _ in range(count)]
        assert kind == 12
        return self.struct()


def unsnapped(data):
    """Snappy's format description: a length, then literals (tag 0) and copies of what came before (tags 1 to 3)."""
    reader = Thrift(data)
    size, out = reader.number(), bytearray()
    at = reader.at
    while at < len(data):
        tag = data[at]
        at += 1
        if tag & 3 == 0:
            count = (tag >> 2) + 1
            if count > 60:
                wide = count - 60
                count = int.from_bytes(data[at : at + wide], "little") + 1
                at += wide
            out += data[at : at + count]
            at += count
            continue
        if tag & 3 == 1:
            count, back, step = ((tag >> 2) & 7) + 4, (tag >> 5 << 8) | data[at], 1
        else:
            step = 2 if tag & 3 == 2 else 4
            count, back = (tag >> 2) + 1, int.from_bytes(data[at : at + step], "little")
        at += step
        for _ in range(count):
            out.append(out[-back])
    assert len(out) == size
    return bytes(out)


def hybrid(data, width, count):
    """Parquet's mixture of runs (a number, how often) and bit-packed groups of eight."""
    reader, values = Thrift(data), []
    while len(values) < count:
        head = reader.number()
        if head & 1:
            size = (head >> 1) * width
            bits = int.from_bytes(data[reader.at : reader.at + size], "little")
            values += [bits >> (width * i) & ((1 << width) - 1) for i in range((head >> 1) * 8)]
        else:
            size = (width + 7) // 8
            values += [int.from_bytes(data[reader.at : reader.at + size], "little")] * (head >> 1)
        reader.at += size
    return values[:count]


def plain(data, kind, count):
    """Values one after the other: text with its length, doubles, longs."""
    if kind == 6:
        values = []
        for _ in range(count):
            size = int.from_bytes(data[:4], "little")
            values.append(data[4 : 4 + size].decode())
            data = data[4 + size :]
        return values
    return list(struct.unpack(f"<{count}{'d' if kind == 5 else 'q'}", data[: 8 * count]))


def parquet_column(data, about):
    """Pages of one column chunk: a dictionary, then pages of optional values, version 1."""
    kind, rows, at = about[1], about[5], min(about[9], about.get(11, about[9]))
    words, values = [], []
    while len(values) < rows:
        reader = Thrift(data[at:])
        head = reader.struct()
        start = at + reader.at
        body = data[start : start + head[3]]
        at = start + head[3]
        body = unsnapped(body) if about[4] == 1 else body
        if head[1] == 2:  # dictionary page
            words = plain(body, kind, head[7][1])
            continue
        count, encoding = head[5][1], head[5][2]
        size = int.from_bytes(body[:4], "little")
        there = hybrid(body[4 : 4 + size], 1, count)
        body, known = body[4 + size :], sum(there)
        held = (
            plain(body, kind, known)
            if encoding == 0
            else [words[i] for i in hybrid(body[1:], body[0], known)]
        )
        waiting = iter(held)
        values += [next(waiting) if here else None for here in there]
    return values


def read_parquet(path):
    """Apache Parquet's format: the footer says where each column's pages are."""
    data = path.read_bytes()
    assert data[:4] == data[-4:] == b"PAR1"
    footer = Thrift(data[-8 - int.from_bytes(data[-8:-4], "little") : -8]).struct()
    columns = {}
    for group in footer[4]:
        for chunk in group[1]:
            name = chunk[3][3][0].decode()
            columns.setdefault(name, []).extend(parquet_column(data, chunk[3]))
    values = [None if v is None else f"{v:.1f}" for v in columns["value"]]
    return dict(zip(zip(columns["sector"], columns["geo"], strict=True), values, strict=True))
