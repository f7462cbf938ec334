"""What the doors say and what they refuse: totals of foreign tables, whose rows, zeros, confidential files, changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import TableError
from dalenius.tables import Dominance, FewContributors, audit, define, protect, protect_years, read_suppressed

WORDS = ["TOTAL", "total", "All", "Sum", "Alle", "Insgesamt", " Total "]
FIRMS = """region,branch,firm,turnover
N,a,A,100
N,a,A,200
N,a,A,300
N,b,B,50
N,b,C,60
N,b,D,70
N,b,E,70
S,a,F,500
S,a,G,400
S,a,H,300
S,a,I,300
S,b,J,5
S,b,K,6
S,b,L,7
S,b,M,7
"""


def run(*arguments):
    return CliRunner().invoke(app, ["tables", *map(str, arguments)])


def one_line(text):
    return " ".join(text.split())


@pytest.fixture
def firms(tmp_path):
    path = tmp_path / "firms.csv"
    path.write_text(FIRMS)
    return path


@pytest.mark.parametrize("word", WORDS)
def test_totals_are_known_by_their_names(word):
    table = {"region": [word, "N", "S", "W"], "turnover": ["100", "", "40", "30"]}
    found = audit(read_suppressed(table, ["region"], "turnover"))
    assert found.failing.tolist() == [1]
    assert f"Taken as totals: {word!r} of column 'region'" in str(found)


def test_totals_are_known_by_their_sums():
    table = {"sex": ["f", "m", "Persons"] * 4, "town": [t for t in "ABCD" for _ in range(3)],
             "n": ["12", "13", "25", "20", "31", "51", "7", "9", "16", "", "44", "50"]}  # fmt: skip
    found = audit(read_suppressed(table, ["sex", "town"], "n", total={"town": ""}))
    assert found.failing.tolist() == [9]
    assert "'Persons' of column 'sex'" in str(found)
    assert "Said to have no total: 'town'." in str(found)


def test_a_table_without_a_total_is_not_passed():
    table = {
        "region": ["Everything", "N", "S", "W"],
        "kind": ["b", "b", "c", "c"],
        "v": ["100", "", "40", "30"],
    }
    with pytest.raises(TableError) as error:
        read_suppressed(table, ["region", "kind"], "v")
    assert len(error.value.faults) == 2
    assert "--total" in str(error.value)
    both = {"region": ["Total", "All", "S"], "v": ["100", "", "40"]}
    with pytest.raises(TableError, match="'Total', 'All' may be its total"):
        read_suppressed(both, ["region"], "v")
    with pytest.raises(TableError, match="not among its codes"):
        read_suppressed(both, ["region"], "v", total="Sum")
    with pytest.raises(TableError, match="no dimension"):
        read_suppressed(both, ["region"], "v", total={"region": "Total", "town": "All"})


def test_the_command_audits_what_it_is_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("region,v\nEverything,100\nN,\nS,40\nW,30\n")
    given = ("audit", path, "--by", "region", "--value", "v")
    refused = run(*given)
    assert refused.exit_code == 2
    assert "no total was found" in one_line(refused.output)
    assert run(*given, "--total", "Everything").exit_code == 1
    assert run(*given, "--total", "region=Everything").exit_code == 1
    none = run(*given, "--total", "region=")
    assert none.exit_code == 0
    assert "no total: 'region'" in one_line(none.output)
    assert run(*given, "--total", "Everything", "--total", "All").exit_code == 2
    path.write_text("region,v\nTOTAL,100\nN,\nS,40\nW,30\n")
    found = run(*given)
    assert found.exit_code == 1
    assert "Taken as totals: 'TOTAL'" in one_line(found.output)


def test_rows_are_said_to_be_contributors(firms):
    """Three rows of firm A looked like three firms, without a word."""
    said = one_line(run("protect", firms, "--by", "region,branch", "--value", "turnover").output)
    assert "Each row counts as one contributor. If column 'firm' says whose row it is" in said
    named = run("protect", firms, "--by", "region,branch", "--value", "turnover", "--contributor", "firm")
    assert "Each row" not in named.output
    counts = run("protect", firms, "--by", "region,branch")
    assert "Each row" not in counts.output
    plain = {
        "area": ["x"] * 4 + ["y"] * 4,
        "pay": [5, 6, 7, 8, 5, 6, 7, 8],
        "staff": [1, 1, 2, 2, 3, 3, 4, 4],
    }
    assert str(protect(define(plain, by="area", value="pay"))).endswith("Each row counts as one contributor.")
    mean = run("statistic", firms, "--statistic", "mean", "--by", "region", "--value", "turnover")
    assert "'firm' says whose row it is" in one_line(mean.output)


@pytest.mark.parametrize(("name", "values", "asked"), [
    ("firm_id", [1, 1, 2, 3], True), ("firm_id", [1, 2, 3, 4], False), ("shop", list("aabc"), True),
    ("pay_2", [1.5, 1.5, 2.0, 3.0], False), ("colour", list("aaaa"), False),
])  # fmt: skip
def test_what_looks_like_a_contributor(name, values, asked):
    model = define({"area": list("xxyy"), "v": [1, 2, 3, 4], name: values}, by="area", value="v")
    assert model.perhaps == ((name,) if asked else ())


def test_contributors_of_nothing_hide_nobody():
    rows = [("X", "A", 1000), *(("X", f"x{i}", 0) for i in range(6)), *(("Y", f"y{i}", 0) for i in range(6))]
    rows += [("Z", f"z{i}", 50 + i) for i in range(6)] + [("W", f"w{i}", 50 + i) for i in range(6)]
    area, firm, value = zip(*rows, strict=True)
    model = define({"area": area, "firm": firm, "v": value}, by="area", value="v", contributor="firm")
    result = protect(model, FewContributors(2))
    assert result.primary[model.find(area="X")].all()
    assert not result.suppressed[model.find(area="Y")].any()  # all have 0: open unless asked
    assert protect(model, Dominance([(1, 80)], protect_zeros=True)).primary[model.find(area="Y")].all()


@pytest.mark.parametrize("ending", ["tab", "jj"])
def test_files_with_true_values_are_private_and_say_so(firms, tmp_path, ending):
    out = tmp_path / f"t.{ending}"
    given = (
        "protect",
        firms,
        "--by",
        "region,branch",
        "--value",
        "turnover",
        "--contributor",
        "firm",
        "-o",
        out,
    )
    for command in (given, (*given, "--quiet")):
        done = run(*command)
        assert done.exit_code == 0
        assert "confidential" in done.stderr
        assert out.stat().st_mode & 0o777 == 0o600
    assert "confidential" in run("years", "--help").output


def test_names_decide_the_changes_of_counts_and_the_command_says_so(firms, tmp_path):
    said = run("perturb", firms, "--by", "region", "--method", "cellkey", "--key-file", tmp_path / "k.bin")
    assert "under other names get fresh changes" in one_line(said.stderr)
    rounded = run("perturb", firms, "--by", "region", "--key-file", tmp_path / "k.bin").output
    assert "random rounding of counts below 3 to 0 or 3: 0 of 3 cells" in one_line(rounded)


def years(old, new):
    models = [
        define({"area": a, "firm": f, "v": v}, by="area", value="v", contributor="firm")
        for a, f, v in (zip(*rows, strict=True) for rows in (old, new))
    ]
    return protect_years(protect(models[0]), models[1])


def test_a_change_that_is_nearly_all_one_firms_is_closed():
    old = [(area, f"{area}{i}", 100 + 7 * i) for area in "NSW" for i in range(5)]
    up = {"N0": 1000, "N1": 1, "N2": 1}
    found = years(old, [(a, f, v + up.get(f, 0)) for a, f, v in old])
    assert found.now.suppressed[found.now.model.find(area="N")].all()
    assert found.now.suppressed[found.now.model.find()].all() or found.now.suppressed.sum() > 1
    even = {"N0": 40, "N1": 50, "N2": 60, "N3": 45}
    assert years(old, [(a, f, v + even.get(f, 0)) for a, f, v in old]).now.suppressed.sum() == 0


def test_who_only_moved_within_a_cell_does_not_count():
    """Two firms changed the total, and a third moved between areas: the total's change is that of two."""
    old = [(area, f"{area}{i}", 100 + 7 * i) for area in "NSW" for i in range(5)]
    new = [("S" if f == "N4" else a, f, v + {"N0": 30, "N1": 40}.get(f, 0)) for a, f, v in old]
    found = years(old, new)
    assert found.now.suppressed[found.now.model.find()].all()


def test_fewer_cells_than_alone_are_no_negative_price():
    old = [(area, f"{area}{i}", 100 + 7 * i) for area in "NSW" for i in range(5)]
    found = years(old, old)
    assert "costs 0 cells more" in str(found)
    assert "of 2 cells fewer than this year alone (2)" in str(replace(found, alone=2))
