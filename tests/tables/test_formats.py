"""Files of tables: what is written comes back, and readers made from the formats' descriptions open it."""

from __future__ import annotations

import csv
import re

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DataError, FileError
from dalenius.tables import (
    FewContributors,
    SmallCount,
    TableFile,
    audit,
    define,
    protect,
    read_argus,
    read_hierarchy,
    read_jj,
    read_table_file,
    write_argus,
    write_jj,
    write_table_file,
)
from tests.tables import format_readers as readers

ENDINGS = ("csv", "xlsx", "parquet", "json", "sdmx.csv", "rds", "rda")


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(4)
    size = 60
    geo = rng.choice(["N1", "N2", "S1", "=HYPERLINK(1)"], size)
    data = {"sector": rng.choice(["a", "b, \"c\"", "ü;x", "d"], size), "geo": geo,
            "zone": [g[0] for g in geo], "firm": rng.choice([f"F{i}" for i in range(20)], size),
            "turnover": np.round(rng.lognormal(3, 1, size), 1)}  # fmt: skip
    model = define(data, by=["sector", "geo", "zone"], value="turnover", contributor="firm")
    return protect(model, FewContributors(2))


@pytest.fixture(scope="module")
def counts():
    data = {"a": list("xyzxyz"), "b": list("ppqqrr"), "n": [1, 7, 9, 4, 12, 2]}
    return protect(define(data, by=["a", "b"], freq="n"), SmallCount(3))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["result", "counts"])
def test_round_trip(ending, kind, tmp_path, request):
    outcome = request.getfixturevalue(kind)
    wanted = TableFile.of(outcome)
    back = read_table_file(write_table_file(outcome, tmp_path / f"t.{ending}"))
    assert back.cells.equals(wanted.cells)
    np.testing.assert_array_equal(back.values, wanted.values)
    assert (back.flags, back.measure, back.decimals) == (wanted.flags, wanted.measure, wanted.decimals)
    if ending in ("xlsx", "parquet", "json"):
        assert {n: t.parts for n, t in back.hierarchies.items()} == {
            n: t.parts for n, t in wanted.hierarchies.items()
        }
        assert audit(back.disclosed()).passed == audit(wanted.disclosed()).passed


READERS = {"csv": readers.read_csv, "sdmx.csv": readers.read_sdmx, "json": readers.read_jsonstat,
           "xlsx": readers.read_xlsx, "parquet": readers.read_parquet, "rds": readers.read_r,
           "rda": readers.read_r}  # fmt: skip


@pytest.mark.parametrize("ending", READERS)
def test_a_reader_made_from_the_description_opens_it(ending, result, tmp_path):
    found = READERS[ending](write_table_file(result, tmp_path / f"t.{ending}"))
    model = result.model
    for row, value, gone in zip(model.cells.iter_rows(), model.amount, result.suppressed, strict=True):
        assert found[row] == (None if gone else f"{value:.1f}")
    assert len(found) == len(model.cells)


def test_decimals_are_those_of_the_data(tmp_path):
    data = {"a": ["x"] * 3 + ["y"] * 3, "v": [0.1, 0.2, 251.1, 0.7, 6743435.3, 0.1]}
    model = define(data, by="a", value="v")
    assert repr(model.amount[2]) != "6743436.1"  # adding up leaves dust
    text = write_table_file(protect(model, SmallCount(1)), tmp_path / "t.csv").read_text()
    assert "6743436.1," in text
    assert "251.4," in text


def test_a_table_that_is_not_safe_is_not_written(tmp_path):
    model = define({"a": ["x", "y"], "n": [1, 7]}, by="a", freq="n")
    leaky = protect(model, SmallCount(3), forced={"a": ["y", "Total"]})
    assert not leaky.checked.passed
    for ending in ENDINGS:
        with pytest.raises(DataError, match="not safe"):
            write_table_file(leaky, tmp_path / f"t.{ending}")
        assert not list(tmp_path.iterdir())
    with pytest.raises(DataError, match="not handed out"):
        leaky.to_frame()
    for ending in ENDINGS:
        path = write_table_file(leaky, tmp_path / f"t.{ending}", force=True)
        if ending in ("xlsx", "json", "parquet", "sdmx.csv"):
            assert "NOT SAFE" in read_table_file(path).notes[0]
    assert (tmp_path / "t.csv").read_text().count("NOT SAFE") == 3
    assert leaky.to_frame(force=True)["audit"].to_list() == ["NOT SAFE"] * 3


def test_internal_files_tell_primary_from_secondary(counts, tmp_path):
    inside = read_table_file(write_table_file(counts, tmp_path / "t.sdmx.csv", internal=True))
    assert np.array_equal([f == "u" for f in inside.flags], counts.primary)
    assert np.array_equal([f == "x" for f in inside.flags], counts.secondary)


def test_unknown_endings_and_broken_files(tmp_path, counts):
    with pytest.raises(FileError, match=r"\.xlsx"):
        write_table_file(counts, tmp_path / "t.docx")
    for ending in ENDINGS:
        (tmp_path / f"bad.{ending}").write_bytes(b"nonsense\n")
        with pytest.raises(FileError, match="bad"):
            read_table_file(tmp_path / f"bad.{ending}")


def test_no_code_runs_in_a_spreadsheet(result, tmp_path):
    for ending in ("csv", "sdmx.csv"):
        text = write_table_file(result, tmp_path / f"t.{ending}").read_text()
        assert "'=HYPERLINK(1)" in text
        assert not re.search(r"(^|[,\"])=.*HYPER", text, re.MULTILINE)


def test_the_tau_argus_files_by_their_manual(result, tmp_path):
    """The .rda names the columns of the .tab, each with keywords below it; a .hrc indents by its lead string."""
    write_argus(result, tmp_path / "t.tab")
    described, separator, name = {}, None, ""
    for line in (tmp_path / "t.rda").read_text().splitlines():
        if line.startswith("<SEPARATOR>"):
            separator = line.split()[1].strip('"')
        elif line.startswith("  <"):
            word, _, rest = line.strip().partition(">")
            described[name][word[1:]] = rest.strip().strip('"')
        elif not line.startswith("<"):
            name = line
            described[name] = {}
    with (tmp_path / "t.tab").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter=separator))
    names, model = list(described), result.model
    assert names == ["sector", "geo", "Value", "Freq", "Top1", "Top2", "Status"]
    assert described["geo"]["TOTCODE"] == "Total"
    assert described["Value"]["DECIMALS"] == "1"
    for row, codes, value, first, gone in zip(
        rows, model.cells.iter_rows(), model.amount, result.primary, result.suppressed, strict=True
    ):
        assert tuple(row[:2]) == codes
        assert row[2] == f"{value:.1f}"
        assert row[names.index("Status")] == ("U" if first else "M" if gone else "S")
    lead = described["geo"]["HIERLEADSTRING"]
    parents, above = {}, []
    for line in (tmp_path / described["geo"]["HIERCODELIST"]).read_text().splitlines():
        depth = (len(line) - len(line.lstrip(lead))) // len(lead)
        above = [*above[:depth], line.lstrip(lead)]
        parents[above[-1]] = above[-2] if depth else "Total"
    tree = model.dimensions[1].hierarchy
    assert parents == {
        code: min(tree.parents[code], key=lambda c: len(tree.parts[c])) for code in tree.codes[1:]
    }


def test_files_of_tau_argus(result, tmp_path):
    files = write_argus(result, tmp_path / "t.tab")
    assert [f.name for f in files] == ["t.tab", "t.rda", "t-geo.hrc"]
    back = read_argus(tmp_path / "t.rda")
    model = result.model
    assert back.dimensions == model.names
    assert list(back.frame.select(model.names).iter_rows()) == list(model.cells.iter_rows())
    np.testing.assert_allclose(back.numbers("value"), model.amount, atol=0.05)
    assert [letter == "u" for letter in back.letters] == result.primary.tolist()
    tree = read_hierarchy(tmp_path / "t-geo.hrc")
    assert {c: tree.parts[c] for c in tree.codes} == {
        c: model.dimensions[1].hierarchy.parts[c] for c in tree.codes
    }


def test_relations_in_jj_format(result, tmp_path):
    """Read by hand: 0, number of cells, a line a cell, number of relations, each "0 n : cell (sign) …"."""
    lines = write_jj(result, tmp_path / "t.jj").read_text().splitlines()
    cells = int(lines[1])
    values = [float(line.split()[1]) for line in lines[2 : 2 + cells]]
    assert [line.split()[3] == "u" for line in lines[2 : 2 + cells]] == result.primary.tolist()
    for line in lines[3 + cells :]:
        count, terms = re.fullmatch(r"0 (\d+) : (.*)", line).groups()
        pairs = re.findall(r"(\d+) \((-?1)\)", terms)
        assert len(pairs) == int(count)
        assert abs(sum(values[int(c)] * int(sign) for c, sign in pairs)) < 1e-6
    back = read_jj(tmp_path / "t.jj")
    assert audit(back.disclosed(result.suppressed)).passed
    assert not audit(back.disclosed()).passed  # primary cells alone are not enough


def test_microdata_of_tau_argus_with_fixed_places(tmp_path):
    (tmp_path / "m.asc").write_text("N1a  10.5 2\nN1b   3.0 1\nS1a   7.5 1\n")
    (tmp_path / "m.rda").write_text(
        'geo 1 2\n  <RECODABLE>\n  <TOTCODE> "Total"\n  <HIERARCHICAL>\n  <HIERCODELIST> "geo.hrc"\n'
        '  <HIERLEADSTRING> "@"\n'
        "sector 3 1\n  <RECODABLE>\nturnover 4 6\n  <NUMERIC>\n  <DECIMALS> 1\nw 10 2\n  <WEIGHT>\n"
    )
    (tmp_path / "geo.hrc").write_text("N\n@N1\nS\n@S1\n")
    found = read_argus(tmp_path / "m.rda")
    assert found.frame["turnover"].to_list() == ["10.5", "3.0", "7.5"]
    assert found.roles == {"value": ["turnover"], "weight": ["w"]}
    assert found.hierarchies["geo"].leaves == ("N1", "S1")


def test_sub2sum_is_understood():
    case = {"a": list("xxyy"), "b": list("pqpq"), "v": [5.0, 1.0, 2.0, 9.0]}
    model = define(case, by=["a", "b"], value="v")
    named = protect(model, FewContributors(1), small="sub2Sum", repair=False)
    coded = protect(model, FewContributors(1), singleton="numFFT", small="none", repair=False)
    assert named.suppressed.tolist() == coded.suppressed.tolist()


def test_level_files_with_a_column_before(tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_text("levels,codes\n@,Total\n@@,N\n@@@,n1\n@@@,n2\n@@,S\n")
    named = tmp_path / "named.csv"
    named.write_text('"","levels","codes"\n1,@,Total\n2,@@,N\n3,@@@,n1\n4,@@@,n2\n5,@@,S\n')
    assert read_hierarchy(named).parents == read_hierarchy(plain).parents


def test_frames_written_are_typed(counts, tmp_path):
    assert pl.read_parquet(write_table_file(counts, tmp_path / "t.parquet"))["freq"].dtype == pl.Int64
