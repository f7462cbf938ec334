"""`dalenius attack` and `dalenius synth --from`, as users call them."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius.cli import app
from dalenius.data.files.excel import write_sheets
from dalenius.data.table import Table
from dalenius.evaluation.policy import Rule
from dalenius.published import Ledger, Published
from dalenius.published.doubts import look_alikes
from dalenius.release.attacking import read_published
from dalenius.risk.reconstruction.attacked import attack


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "sexes.csv").write_text("sex,n\nf,52\nm,48\n")
    (tmp_path / "new" / "young.csv").write_text("sex,age,n\nf,0-79,49\nm,0-79,30\nm,80+,18\n")
    people = [("f", "0-79")] * 49 + [("f", "80+")] * 3 + [("m", "0-79")] * 30 + [("m", "80+")] * 18
    frame = pl.DataFrame(people, schema=["sex", "age"], orient="row").with_row_index("pid")
    frame.write_csv(tmp_path / "people.csv")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_attack_by_pattern_and_revealed(tables):
    shown = run(
        "attack",
        tables / "new",
        "--earlier",
        tables / "old",
        "--same-people",
        "--truth",
        tables / "people.csv",
    )
    assert shown.exit_code == 1, shown.output
    assert "cells to hold back" in shown.output
    assert "young [" in shown.output
    assert "sex = f, age = 80+" not in shown.output.split("cells to hold")[0]
    assert "with people, are right in the true file" in shown.output
    revealed = run("attack", tables / "new", tables / "old", "--show-cells")
    assert "sexes [sex = f] − young" in revealed.output
    assert revealed.exit_code == 0


def test_policy_lines_json_links_and_the_ledger(tables):
    told = run(
        "attack", tables / "old", "--must", "proved-unique <= 0 %", "--must", "small-groups <= 0", "--json",
        "--record", tables / "out.jsonl",
    )  # fmt: skip
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert all(line["met"] for line in found["policy"])
    assert Ledger(tables / "out.jsonl").names == ["old"]
    refused = run("attack", tables / "new", tables / "out.jsonl", "--must", "small-groups <= 0", "--record",
                  tables / "out.jsonl")  # fmt: skip
    assert refused.exit_code == 1
    assert "not met" in refused.output
    assert Ledger(tables / "out.jsonl").names == ["old"]
    linked = run("attack", tables / "new", tables / "old", "--truth", tables / "people.csv", "--external",
                 tables / "people.csv", "--area", "sex", "--keys", "sex", "--json")  # fmt: skip
    assert linked.exit_code == 0, linked.output
    assert "modal guesser" in json.loads(linked.stdout)["links"]["values"]


def test_cells_are_written_and_faults_named(tables):
    done = run("attack", tables / "new", tables / "old", "-o", tables / "cells.csv")
    assert done.exit_code == 0
    assert pl.read_csv(tables / "cells.csv")["proved"].all()
    (tables / "bad.csv").write_text("sex,n\nf,-3\n")
    bad = run("attack", tables / "bad.csv")
    assert bad.exit_code != 0
    assert run("attack", tables / "nowhere").exit_code != 0


def test_a_rule_about_published_figures_is_read():
    rule = Rule.parse("proved-unique <= 0 %")
    assert (rule.measure, rule.limit) == ("proved-unique", 0.0)


def test_synth_from_targets(tmp_path):
    (tmp_path / "targets.yaml").write_text(
        "rows: 400\n"
        "columns:\n  cars: {values: [0, 1]}\n  sex: {values: [f, m], shares: [0.55, 0.45]}\n"
        "  tenure: {values: [owner, tenant]}\n"
        "targets:\n"
        "  - {table: [tenure, cars], counts: {owner: {0: 60, 1: 180}, tenant: {0: 100, 1: 60}}, source: Table 5}\n"
        "  - {logit: cars, reference: {sex: m, tenure: owner}, constant: 1.3,"
        " coefficients: {sex: {f: -0.4}, tenure: {tenant: -1.65}}}\n"
    )
    done = run("synth", "--from", tmp_path / "targets.yaml", "-o", tmp_path / "made.csv")
    assert done.exit_code == 0, done.output
    assert "INVENTED" in (tmp_path / "made.README.txt").read_text()
    made = pl.read_csv(tmp_path / "made.csv")
    assert made.filter(pl.col("tenure") == "owner")["cars"].sum() == 180
    assert run("synth").exit_code != 0
    (tmp_path / "wrong.yaml").write_text("rows: 4\ncolumns: {a: {values: [1]}}\ntargets: [{tabel: 1}]\n")
    assert run("synth", "--from", tmp_path / "wrong.yaml").exit_code != 0


def test_a_protected_table_is_read_as_it_was_written(tmp_path):
    """What `tables protect` writes has a column of flags, which crosses nothing."""
    towns = [f"t{i % 4}" for i in range(60)]
    ills = ["rare" if i == 7 else "a" if i % 3 else "b" for i in range(60)]
    data, table = tmp_path / "people.csv", tmp_path / "table.csv"
    dalenius.write({"town": towns, "ill": ills}, data)
    made = run("tables", "protect", data, "--by", "town,ill", "--rule", "freq:3", "-o", table)
    assert made.exit_code == 0
    published = read_published([table])
    assert set(published.columns) == {"town", "ill"}
    found = attack(published)
    *kinds, total = found.patterns().rows()
    assert sum(cells for _, cells, *_ in kinds) == total[1] == 4 * 3
    assert total[2:] == (60, 60)
    assert max(most for *_, most in kinds) <= 60


def test_the_planner_and_guesses(tables):
    told = run("attack", tables / "new", tables / "old", "--which", "--compare", "--guesses", 2, "--truth",
               tables / "people.csv", "--json")  # fmt: skip
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert found["which"][0]["people proved"] <= found["which"][-1]["people proved"]
    assert found["compare"][0]["way"] == "as they are"
    assert found["guesses"][0]["value"] == 100
    assert run("attack", tables / "new", "--compare").exit_code != 0


def test_patterns_count_people_once_and_say_where_bands_overlap(tables):
    # both cells of town B share its four people, though each alone may hold three or two of them
    crossed = {"sex": ["f", "m", "Total"], "n": ["3", "2", "5"]}
    towns = {"town": list("AB"), "n": ["1", "4"]}
    found = attack(Published.from_tables({"sexes": crossed, "towns": towns})).patterns()
    assert found.rows()[1:3] == [
        ("bounded, somebody is there", 2, 4, 4),
        ("bounded, nobody may be there", 2, 1, 1),
    ]
    assert found.rows()[-1] == ("all together", 4, 5, 5)
    open_end = attack(Published.from_tables({"t": {"sex": ["f", "m"], "n": ["3", ":c"]}})).patterns()
    assert open_end.rows()[-1] == ("all together", 2, 3, None)
    (tables / "a.csv").write_text("age,n\n0-17,52\n18+,48\n")
    (tables / "b.csv").write_text("age,n\n0-5,20\n6-17,32\n")
    told = attack(read_published([tables / "a.csv", tables / "b.csv"])).patterns()
    assert all(kind.endswith(", as read") for kind in told["kind"])


def test_guesses_start_from_a_public_sample(tables):
    (tables / "others.csv").write_text("sex,age\n" + "f,80+\n" * 3 + "m,0-79\n" * 4)
    words = ("attack", tables / "new", tables / "old", "--guesses", 2, "--show-cells")
    plain, started = run(*words), run(*words, "--start-from", tables / "others.csv")
    assert started.exit_code == 0, started.output
    assert started.output.split("ranked highest")[1] != plain.output.split("ranked highest")[1]
    alone = run("attack", tables / "new", "--start-from", tables / "others.csv")
    assert alone.exit_code != 0
    assert "--start-from needs --guesses" in alone.output
    (tables / "foreign.csv").write_text("sex,age\nx,80+\n")
    refused = run(*words, "--start-from", tables / "foreign.csv")
    assert "'sex' has values outside its domain" in refused.output


@pytest.mark.parametrize(
    "total",
    ["Total", "total", "ALL", "_T", "Both sexes", "All ages", "Alle", "Insgesamt", "T", "All industries"],
)
def test_a_total_is_never_taken_for_a_category(tmp_path, total):
    """Taken for one, it would hide that the suppressed cell follows."""
    (tmp_path / "t.csv").write_text(f"sex,n\nf,:c\nm,4\n{total},5\n")
    told = run("attack", tmp_path / "t.csv", "--must", "proved-unique <= 0 %", "--json")
    assert told.exit_code == 1, told.output
    assert json.loads(told.stdout)["figures"]["proved-unique"]["value"] == 20


def test_treated_counts_are_said_and_never_taken_for_exact(tmp_path):
    (tmp_path / "t.csv").write_text("sex,n\nf,3\nm,6\nTotal,12\n")
    wrong = run("attack", tmp_path / "t.csv")
    assert wrong.exit_code != 0
    assert "say so" in wrong.output
    right = run("attack", tmp_path / "t.csv", "--kind", "rounded", "--base", 3, "--json")
    assert right.exit_code == 0, right.output
    assert json.loads(right.stdout)["figures"]["proved-people"]["value"] == 0
    assert run("attack", tmp_path / "t.csv", "--kind", "odd").exit_code != 0
    (tmp_path / "two.csv").write_text("sex,n,count\nf,3,4\n")
    assert "several columns of counts" in run("attack", tmp_path / "two.csv").output


@pytest.mark.parametrize(
    ("kind", "base", "trusted"), [("rounded", 3, False), ("rounded", 1, True), ("cellkey", 3, True)]
)
def test_exact_counts_are_not_waved_through_as_rounded(tmp_path, kind, base, trusted):
    """As rounded ones they would prove nothing."""
    (tmp_path / "t.csv").write_text("sex,n\nf,:c\nm,40\nTotal,41\n")
    told = run(
        "attack", tmp_path / "t.csv", "--kind", kind, "--base", base, "--must", "small-groups <= 1", "--json"
    )
    assert json.loads(told.stdout)["figures"]["small-groups"]["trusted"] == trusted
    assert told.exit_code == (0 if trusted else 1), told.output
    assert ("no multiples of it" in told.output) != trusted


def test_counts_that_look_rounded_are_told(tmp_path):
    (tmp_path / "t.csv").write_text("age,n\n" + "".join(f"{i},{5 * i}\n" for i in range(1, 8)))
    assert "multiples of 5: if they were rounded" in " ".join(
        run("attack", tmp_path / "t.csv").output.split()
    )
    (tmp_path / "t.csv").write_text("age,n\n" + "".join(f"{i},{5 * i}\n" for i in range(1, 8)) + "8,41\n")
    assert "multiples" not in run("attack", tmp_path / "t.csv").output


def test_means_beside_the_counts_are_not_passed_over(tmp_path):
    """The mean of all and that of all but one would give away the last one's."""
    (tmp_path / "s.csv").write_text("sex,n\nf,14\nm,21\n")
    (tmp_path / "list.yaml").write_text(
        "tables:\n  s: {file: s.csv}\nfigures:\n  pay: {kind: mean, about: income, values: {all: 100, f: 90}}\n"
    )
    told = run("attack", tmp_path / "list.yaml", "--must", "small-groups <= 0")
    assert told.exit_code == 1
    assert "these figures may give values away" in " ".join(told.output.split())


def test_tables_of_one_name_are_told_apart(tmp_path):
    for folder, rest in (("old", "f,52\nm,48"), ("new", "f,0-79,49\nm,0-79,30\nm,80+,18")):
        (tmp_path / folder).mkdir()
        head = "sex,n" if folder == "old" else "sex,age,n"
        (tmp_path / folder / "people.csv").write_text(f"{head}\n{rest}\n")
    told = run("attack", tmp_path / "new", "--earlier", tmp_path / "old", "--same-people", "--show-cells")
    assert "old/people [sex = f] − new/people [" in " ".join(told.output.split())
    apart = run("attack", tmp_path / "new", "--earlier", tmp_path / "old")
    assert apart.exit_code == 0
    assert "attacked apart" in " ".join(apart.output.split())


def test_files_of_a_folder_that_are_not_attacked_are_named(tables):
    folder = tables / "new"
    assert "Not attacked" not in run("attack", folder).output
    (folder / "towns.csv").write_text("town,people\nA,1\nB,6\n")
    (folder / "ages.tsv").write_text("age\tn\n0-79\t1\n")
    (folder / "more").mkdir()
    (folder / "more" / "sexes.csv").write_text("sex,n\nf,1\n")
    told = json.loads(run("attack", folder, "--json").stdout)
    assert sorted(name.rsplit("/", 1)[-1] for name in told["not attacked"]) == [
        "ages.tsv",
        "sexes.csv",
        "towns.csv",
    ]
    limited = run("attack", folder, "--must", "proved-unique <= 100 %")
    said = " ".join(limited.output.split())
    assert "Not attacked, and what is in it is not known: new/ages.tsv, more/sexes.csv, new/towns.csv" in said
    assert "not trusted" in said
    assert limited.exit_code == 1
    assert (
        run("attack", folder, "--must", "proved-unique <= 100 %", "--record", tables / "o.jsonl").exit_code
        == 1
    )
    assert not (tables / "o.jsonl").exists()


def test_what_was_read_is_told_with_its_hashes(tables):
    """So that somebody can see later that another table lies among those that were out."""
    first = json.loads(run("attack", tables / "new", "--earlier", tables / "old", "--json").stdout)["read"]
    (tables / "old" / "towns.csv").write_text("town,n\nA,60\nB,40\n")
    then = json.loads(run("attack", tables / "new", "--earlier", tables / "old", "--json").stdout)["read"]
    assert {name: digest for name, digest in then.items() if name in first} == first
    assert set(then) - set(first) == {"old/towns.csv"}


def test_every_sheet_and_every_spelling_of_an_ending_is_read(tmp_path):
    pytest.importorskip("xlsxwriter")
    folder = tmp_path / "out"
    folder.mkdir()
    sheets = {"sexes": {"sex": ["f", "m"], "n": [52, 48]}, "towns": {"town": ["A", "B"], "n": [1, 99]}}
    write_sheets({name: Table.from_frame(body) for name, body in sheets.items()}, folder / "t.xlsx")
    (folder / "AGES.CSV").write_text("age,n,share\n0-79,90,0.9\n80+,10,0.1\n")  # a share crosses nothing
    (folder / "README.md").write_text("Tables of 2026.")
    published = read_published([folder])
    assert {m.name for m in published.margins} == {"t sexes", "t towns", "AGES"}
    assert set(published.columns) == {"sex", "town", "age"}
    assert not published.doubts
    sheets["notes"] = {"note": ["rounded?"]}
    write_sheets({name: Table.from_frame(body) for name, body in sheets.items()}, folder / "t.xlsx")
    assert "out/t.xlsx" in read_published([folder]).doubts[0]


def test_columns_that_differ_in_capitals_alone_are_named(tables):
    (tables / "new" / "sexes.csv").write_text("Sex,n\nf,52\nm,48\n")
    assert "Taken for different columns: Sex, sex" in run("attack", tables / "new").output
    assert "Taken for different columns" not in run("attack", tables / "old").output


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.csv": "sex,n\nf,52\nm,48\n", "b.csv": "Sex,n\nf,52\nm,48\n"}, "different columns: Sex, sex"),
        (
            {"a.csv": "sex,n\nf,52\nm,48\n", "b.csv": "sex,n\nF,52\nM,48\n"},
            "different values of 'sex': F, f; M, m",
        ),
        (
            {"a.csv": "town,n\nM\u00e1laga,52\nB,48\n", "b.csv": "town,n\nMa\u0301laga,52\nC,48\n"},
            "Taken for different values of 'town'",
        ),
        ({"a.csv": "age,n\n0-17,52\n18+,48\n", "b.csv": "age,n\n0-5,20\n6-17,32\n"}, "overlap: 0-17 and 0-5"),
        ({"a.csv": "sex,n\nf,52\nm,48\nPersons,100\n"}, "may be a total"),
        ({"a.csv": "sex,n\nf,52\nm,48\n", "towns.csv": "town,people\nA,1\n"}, "towns.csv"),
        ({"a.csv": "sex,n\nf,52\nm,48\n", "towns.sav": "?"}, "towns.sav"),
        ({"a.csv": "sex,n\nf,52\nm,48\n", "b.csv": "age,n\n"}, "Table 'b' has no rows"),
        (
            {"a.csv": "sex,n\nf,52\nm,48\n", "b.csv": "age,n,share\ny,80,0.8\no,:c,0.2\n"},
            "may give these away",
        ),
    ],
)
def test_what_cannot_be_read_for_certain_meets_no_limit(tmp_path, files, said):
    (tmp_path / "out").mkdir()
    for name, text in files.items():
        (tmp_path / "out" / name).write_text(text)
    told = run("attack", tmp_path / "out", "--must", "proved-unique <= 100 %")
    assert said in " ".join(told.output.split())
    assert told.exit_code == 1
    # what a list says of the tables is not doubted
    (tmp_path / "out" / "figures.yaml").write_text("tables:\n  a: {file: a.csv, total: []}\n")
    assert run("attack", tmp_path / "out", "--must", "proved-unique <= 100 %").exit_code == 0


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("AB", "\uff21\uff22", True),
        ("AB", "AB\u200b", True),
        ("St. Gallen", "St Gallen", True),
        ("18-24", "18\u201324", True),
        ("1", "01", True),
        ("1", "1.0", True),
        ("1", "10", False),
        ("1.1", "11", False),
        ("1.1", "1.10", False),  # a class of NACE and its group
        (".", "..", False),
        ("1-2", "12", False),
        ("<5", "5", False),
    ],
)
def test_labels_that_look_alike_are_named(one, other, alike):
    tables = {"a": {"x": [one], "n": [3]}, "b": {"x": [other], "n": [3]}}
    assert bool(look_alikes(Published.from_tables(tables))) is alike


def test_a_suppressed_cell_beside_a_table_of_another_column_meets_no_limit(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    (tmp_path / "old" / "region.csv").write_text("region,n\nNorth,300\nSouth,193\nIsles,:c\n")
    (tmp_path / "new" / "sex.csv").write_text("sex,n\nf,241\nm,253\n")
    limits = ("--must", "small-groups <= 0", "--must", "proved-unique <= 0 %")
    told = run("attack", tmp_path / "old", tmp_path / "new", *limits, "--show-cells")
    assert told.exit_code == 1
    assert "region = Isles = + sex [sex = f] + sex [sex = m]" in " ".join(told.output.split())
    assert (
        told.output.count("not met") == 2
    )  # the only one of the Isles is alone with region and sex, whatever it is
    assert run("attack", tmp_path / "old", *limits).exit_code == 0
    held = run("attack", tmp_path / "new", "--earlier", tmp_path / "old", "--same-people")
    assert held.exit_code == 1
    assert "cells to hold back beside what was out: sex [" in " ".join(held.output.split())


def test_a_share_beside_cells_of_unknown_size_says_so(tmp_path):
    (tmp_path / "a.csv").write_text("sex,n\nf,3\nm,x\n")
    said = " ".join(run("attack", tmp_path / "a.csv").output.split())
    assert "For up to 100.0 % of the people (3 of at least 3; nobody says how many)" in said
    (tmp_path / "a.csv").write_text("sex,n\nf,3\nm,x\nTotal,12\n")
    assert "For 100.0 % of the people the count" in " ".join(run("attack", tmp_path / "a.csv").output.split())


def test_a_count_larger_than_any_population_is_one_line(tmp_path):
    (tmp_path / "a.csv").write_text("sex,n\nf,99999999999999999999\nm,2\n")
    told = run("attack", tmp_path / "a.csv")
    assert told.exit_code == 2
    assert told.output == "dalenius: published tables: table 'a': 1 counts are larger than any population\n"


def test_a_table_without_rows_meets_no_limit(tmp_path):
    (tmp_path / "a.csv").write_text("sex,n\n")
    told = run("attack", tmp_path / "a.csv", "--must", "small-groups <= 0")
    assert told.exit_code == 1
    assert "not trusted" in " ".join(told.output.split())


def test_sums_beside_counts_do_not_hide_what_follows(tmp_path):
    (tmp_path / "a.csv").write_text("region,n,pay\nN,300,9000\nS,188,5000\nI,:c,:c\nTotal,494,14200\n")
    told = " ".join(run("attack", tmp_path / "a.csv", "--must", "small-groups <= 0").output.split())
    assert "1 group of fewer than 10 people follows" in told
    assert "Column 'pay' of 'a' adds nothing to what tells its rows apart" in told
    assert "not trusted" in told
    (tmp_path / "list.yaml").write_text("tables:\n  a: {file: a.csv, by: [region]}\n")
    listed = " ".join(run("attack", tmp_path / "list.yaml", "--must", "small-groups <= 1").output.split())
    assert "1 group of fewer than 10 people follows" in listed
    assert "small-groups <= 1: 1 against 1, met" in listed


def test_a_table_of_some_people_is_named_after_them(tmp_path):
    (tmp_path / "all.csv").write_text("age,n\ny,50\no,20\n")
    (tmp_path / "women.csv").write_text("age,n\ny,46\no,15\n")
    (tmp_path / "list.yaml").write_text(
        "domains: {sex: [f, m], age: [y, o]}\n"
        "tables:\n  all: {file: all.csv}\n  women: {file: women.csv, where: \"sex == 'f'\"}\n"
    )
    told = " ".join(run("attack", tmp_path / "list.yaml", "--show-cells").output.split())
    assert "+ all [age = o] − women [sex = f, age = o] = 5" in told


def test_what_is_printed_is_not_what_follows(tmp_path):
    sexes = "sex,town,freq\n{}\n"
    rows = ["f,A,30", "f,B,20", "m,A,25", "m,B,15", "Total,Total,90"]
    hidden = ["f,A,:c", "f,B,20", "m,A,25", "m,B,15", "Total,Total,90"]
    safe = ["f,A,:c", "f,B,:c", "m,A,:c", "m,B,:c", "Total,Total,90"]
    for name, lines, printed, beyond in (
        ("all", rows, 100, 0),
        ("one", hidden, 100, 100 / 3),
        ("none", safe, 0, 0),
    ):
        (tmp_path / f"{name}.csv").write_text(sexes.format("\n".join(lines)))
        # a list finds the column of counts as a folder does
        (tmp_path / f"{name}.yaml").write_text(f"tables: {{cross: {{file: {name}.csv}}}}\n")
        for given in (f"{name}.csv", f"{name}.yaml"):
            told = json.loads(run("attack", tmp_path / given, "--json").stdout)["figures"]
            assert told["proved-people"]["value"] == pytest.approx(printed)
            assert told["proved-beyond"]["value"] == pytest.approx(beyond)
            assert "(sex × town)" in told["proved-people"]["sentence"]


def test_a_remedy_is_not_counted_as_a_fault(tmp_path):
    (tmp_path / "one.csv").write_text("sex,n\nf,3\nm,4\nTotal,8\n")
    (tmp_path / "two.csv").write_text("sex,n\nf,5\nm,4\n")
    told = run("attack", tmp_path / "one.csv", tmp_path / "two.csv")
    assert told.exit_code == 2
    named = told.output.replace("\n", " ").count("disagrees with")
    assert named >= 2
    assert f"{named} faults" in told.output
    assert "if counts were rounded" in told.output.replace("\n", " ")


def test_a_pack_without_tables_says_what_to_name(tmp_path):
    (tmp_path / "public").mkdir()
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "public" / "data.csv").write_text("sex,age\nf,30\nm,40\n")
    told = run("attack", tmp_path)
    assert told.exit_code == 2
    assert "name the tables that went out with it" in told.output.replace("\n", " ")
