"""What no figure looks at stands against every figure: names, own words, new columns, and strangers who are none."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
import pytest

from dalenius import Column, Kind, Pair, Schema
from dalenius.core.errors import DataError
from dalenius.data import Table, examples
from dalenius.evaluation import benchmark, compare, evaluate
from dalenius.evaluation.disguised import people_disguised
from dalenius.evaluation.doubts import doubts
from dalenius.evaluation.policy import RISKS, Rule
from dalenius.release import read_plan, run_plan
from dalenius.release.jobs import source
from dalenius.release.strangers import check_strangers
from dalenius.report.words import comparison_story
from dalenius.risk.distance.linked import as_they_are, linked
from dalenius.risk.distance.near_copies import near_copies
from dalenius.risk.distance.own_rows import OWN, SEVERAL, told_by_nearest, with_own_row
from dalenius.synth import Candidate
from tests.release.conftest import PLAN, invoke, make_plan

COLUMNS = ["region", "sex", "age", "marital", "education", "health", "diagnosis", "bmi", "income"]
ROWS = 500
ALL = examples.survey(2 * ROWS, seed=11).with_columns(
    pl.Series("name", [f"Ann{i} Smith{i * 7 % 1001}" for i in range(2 * ROWS)]),
    pl.Series("remark", [f"her aunt told {i * 7919 % 997} of {i}" for i in range(2 * ROWS)]),
)
ALL = ALL.select(["person_id", "name", *COLUMNS, "remark"])
ALL = ALL.with_columns(ticket=pl.Series([f"T-{i * 7919 % 900_001:06d}" for i in range(2 * ROWS)]))
TICKET = ALL["ticket"][:ROWS].str.slice(2).cast(pl.Int64)
PEOPLE, OTHERS = ALL[:ROWS], ALL[ROWS:]
SMALL = PEOPLE["name"][7].lower()
SCHEMA = (
    Schema.infer(PEOPLE)
    .replace_columns(Column("remark", Kind.TEXT))
    .with_roles(identifier=["person_id", "name", "ticket"])
)
MADE = examples.survey(ROWS, seed=12).select(COLUMNS)
PLAIN_PEOPLE, PLAIN_OTHERS = PEOPLE.select(COLUMNS), OTHERS.select(COLUMNS)
ASKED = {"keys": ["region", "sex", "age"], "targets": ["diagnosis"], "measures": ["identical-matches", "dcr"]}


def story(file: pl.DataFrame):
    found = compare(PEOPLE, {"file": file, "made": MADE}, SCHEMA, holdout=OTHERS, **ASKED)
    return found, comparison_story(found)


def turned(texts: pl.Series) -> pl.Series:
    """The first word at the end."""
    return pl.Series([" ".join([*t.split()[1:], t.split()[0]]) for t in texts])


def hashed(texts: pl.Series) -> pl.Series:
    return pl.Series([hashlib.sha256(t.encode()).hexdigest()[:12] for t in texts])


HOSTILE = {
    "identifiers": (MADE.with_columns(PEOPLE["person_id"], PEOPLE["name"]), "'person_id'"),
    "names elsewhere": (MADE.with_columns(region=PEOPLE["name"]), "'region' of the protected file holds values of"),
    "names in a new column": (MADE.with_columns(who=PEOPLE["name"].shuffle(seed=1)), "'who'"),
    "numbers in a new column": (MADE.with_columns(who=PEOPLE["person_id"].shuffle(seed=1)), "values of 'person_id'"),
    "own words": (MADE.with_columns(PEOPLE["remark"].shuffle(seed=1)), "texts that fewer than 3 units"),
    "one text": (MADE.with_columns(remark=pl.Series([None] * 499 + [PEOPLE["remark"][7]])), "fewer than 3 units"),
    "columns renamed": (MADE.with_columns(PEOPLE["income"].alias("z")), "row by row ('z')"),
    "columns recoded": (MADE.with_columns((PEOPLE["age"] * 12).alias("z")), "row by row ('z')"),
    "own words in capitals": (MADE.with_columns(remark=PEOPLE["remark"].str.to_uppercase()), "fewer than 3 units"),
    "own words and a sign": (MADE.with_columns(remark=PEOPLE["remark"] + " ."), "fewer than 3 units"),
    "own words cut": (MADE.with_columns(remark=PEOPLE["remark"].str.head(-1)), "fewer than 3 units"),
    "own words turned": (MADE.with_columns(remark=turned(PEOPLE["remark"])), "fewer than 3 units"),
    "own words in cipher": (MADE.with_columns(remark=hashed(PEOPLE["remark"])), "cannot be told"),
    "own words elsewhere": (MADE.with_columns(region=PEOPLE["remark"].str.to_uppercase()), "'region'"),
    "cipher elsewhere": (MADE.with_columns(region=hashed(PEOPLE["remark"])), "holds texts and has another value"),
    "small letters": (MADE.with_columns(name=PEOPLE["name"].str.to_lowercase()), "say who people in the data are"),
    "one in small letters": (MADE.with_columns(name=pl.Series([None] * 499 + [SMALL])), "say who people in the data"),
    "names reversed": (MADE.with_columns(name=PEOPLE["name"].str.reverse()), "say who people in the data are"),
    "a sign before names": (MADE.with_columns(name="P/" + PEOPLE["name"]), "say who people in the data are"),
    "names in cipher": (MADE.with_columns(name=hashed(PEOPLE["name"])), "cannot be told"),
    "numbers in cipher": (MADE.with_columns(person_id=PEOPLE["person_id"].hash(3) % 10**9), "cannot be told"),
    "numbers in their order": (MADE.with_columns(person_id=PEOPLE["name"].rank("ordinal")), "cannot be told"),
    "numbers in decimals": (MADE.with_columns(bmi=24 + TICKET / 10**6), "'bmi'"),
    "an unknown column": (MADE.with_columns(PEOPLE["income"].shuffle(seed=1).alias("z")), "has not ('z')"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_figure_looks_at_keeps_a_file_off_the_short_list(name):
    file, said = HOSTILE[name]
    found, told = story(file)
    assert not any(r.trusted for r in found["file"].family("risk"))
    assert any(said in line and "'file' is not on the short list" in line for line in told.refused)
    assert found["made"]["dcr"].trusted, "the file beside it is judged as ever"
    assert not any(str(value) in " ".join(told.refused) for value in (PEOPLE["name"][7], PEOPLE["remark"][7]))


@pytest.mark.parametrize(
    "file",
    [
        MADE.with_columns(number=pl.Series(np.arange(ROWS) + 1)),
        MADE.with_columns(kind=pl.lit("synthetic")),
        MADE.with_columns(remark=pl.Series([f"made up {i % 100}" for i in range(ROWS)])),
        MADE.with_columns(name=pl.Series([f"P{i:04d}" for i in range(ROWS)])),
        MADE.with_columns(person_id=pl.Series(np.arange(ROWS) + 1)),
    ],
    ids=["row numbers", "a label", "texts made up", "names numbered anew", "people numbered anew"],
)
def test_what_tells_nothing_is_no_leftover(file):
    assert Pair(PEOPLE, file, OTHERS, schema=SCHEMA).leftovers == []


def test_texts_that_a_method_has_just_made_up_are_no_doubt_at_any_door():
    """Of a file that was read nobody can tell: a hash looks like a made-up text."""
    schema = SCHEMA.select(["sex", "remark"])
    people, others = (file.select("sex", "remark") for file in (PEOPLE, OTHERS))
    few = Candidate("independent", rows=30)
    made = few.make(Table.from_frame(people, schema))
    asked = {"holdout": others, "measures": ["identical-matches"]}
    assert compare(people, {"made": made}, schema, **asked)["made"].doubts == ()
    assert evaluate(people, made.table, schema, **asked).doubts == ()
    tried = benchmark(
        Table.from_frame(people, schema), [few], replicates=1, holdout_share=0.3,
        measures=["identical-matches"],
    )  # fmt: skip
    assert tried.comparison["independent"].doubts == ()
    read = evaluate(people, made.table.to_frame(), schema, **asked)
    assert "cannot be told" in read.doubts[0]


def test_a_report_about_risk_alone_asks_for_a_measure_of_use():
    asked = [Rule.parse(line).measure for line in RISKS]
    found = compare(
        PLAIN_PEOPLE, {"a": MADE, "b": PLAIN_PEOPLE}, keys=["region", "sex", "age"], targets=["diagnosis"],
        holdout=PLAIN_OTHERS, measures=asked,
    )  # fmt: skip
    told = comparison_story(found).decided[0]
    assert told.startswith("'a' is within the default limits")
    assert told.endswith("ask for two-way-utility too.")
    with pytest.raises(DataError, match="no utility measure to draw the map with; ask for one"):
        found.points()


def test_the_first_screen_of_one_file_says_so():
    file, _ = HOSTILE["identifiers"]
    found = compare(PEOPLE, {"file": file}, SCHEMA, holdout=OTHERS, **ASKED)
    assert comparison_story(found).likely[0].startswith("This cannot be told: Column 'person_id'")


@pytest.mark.parametrize("share", [1.0, 0.3, 0.2])
def test_a_holdout_of_lines_of_the_file_is_no_yardstick(share):
    some = round(share * ROWS)
    held = pl.concat([MADE.sample(some, seed=1), PLAIN_OTHERS[some:]])
    found = evaluate(PLAIN_PEOPLE, MADE, holdout=held, measures=["near-copies", "dcr"])
    assert "of the people of the holdout are in the protected file whole" in found["dcr"].doubt
    assert not found["dcr"].trusted
    assert doubts(Pair(PLAIN_PEOPLE, MADE, PLAIN_OTHERS)) == []


def test_a_holdout_made_like_the_file_is_no_yardstick():
    schema = Schema.infer(PLAIN_PEOPLE)
    made, held = (
        Candidate("cart", {"minbucket": least}).make(Table.from_frame(PLAIN_PEOPLE, schema), seed=0).table
        for least in (4, 5)
    )
    assert any("nearer to the protected file" in doubt for doubt in doubts(Pair(PLAIN_PEOPLE, made, held)))
    assert doubts(Pair(PLAIN_PEOPLE, made, PLAIN_OTHERS)) == []


def test_a_handful_of_strangers_is_no_yardstick():
    found = evaluate(PLAIN_PEOPLE, MADE, holdout=PLAIN_OTHERS[:1], measures=["near-copies"])
    assert not found["near-copies"].trusted
    assert "Only 1 person is in the holdout" in found["near-copies"].doubt
    assert doubts(Pair(PLAIN_PEOPLE, MADE, PLAIN_OTHERS[:30])) == []


def test_a_file_in_other_words_cannot_be_judged():
    """Every category renamed: a copy in which no measure finds anybody."""
    words = [c for c in COLUMNS if PLAIN_PEOPLE[c].dtype == pl.String]
    told = [pl.col(c).map_elements(lambda v: f"<{v}>", return_dtype=pl.String) for c in words]
    found = evaluate(
        PLAIN_PEOPLE, PLAIN_PEOPLE.with_columns(told), holdout=PLAIN_OTHERS, measures=["identical-matches"]
    )
    assert "hardly any of the original's categories" in found["identical-matches"].doubt
    assert doubts(Pair(PLAIN_PEOPLE, MADE.with_columns(told[:1]), PLAIN_OTHERS)) == []


def in_cipher(people: pl.DataFrame, kind: str, seed: int | None = 1) -> pl.DataFrame:
    """Every column recoded one to one, so that no value is its person's; rows in another order."""
    rng = np.random.default_rng(seed)
    made = {}
    for name in people.columns:
        column = people[name]
        often = column.value_counts(sort=True)[name].drop_nulls().to_list()
        if column.dtype.is_numeric() and kind == "stretched":
            made[name] = column.max() ** 1.5 - column.cast(pl.Float64) ** 1.5
            continue
        other = rng.permutation(often).tolist()
        if kind == "in pairs":  # each value changes places with the one that is nearly as frequent
            other = [often[i ^ 1] if i ^ 1 < len(often) else often[i] for i in range(len(often))]
        made[name] = column.replace_strict(often, other, default=None, return_dtype=column.dtype)
    made = pl.DataFrame(made)
    return made if seed is None else made.sample(len(people), shuffle=True, seed=seed)


@pytest.mark.parametrize(
    ("kind", "columns"), [("stretched", 9), ("in pairs", 9), ("at random", 9), ("in pairs", 7)]
)
def test_real_people_in_a_cipher_are_not_on_the_short_list(kind, columns):
    inside, outside = PLAIN_PEOPLE[:, :columns], PLAIN_OTHERS[:, :columns]
    files = {"cipher": in_cipher(inside, kind), "made": MADE[:, :columns]}
    found = compare(inside, files, holdout=outside, **ASKED)
    assert found["cipher"]["identical-matches"].value < 1, "no value is its person's"
    (said,) = [line for line in comparison_story(found).refused if line.startswith("'cipher'")]
    assert "renamed, moved or exchanged" in said
    assert not found["cipher"]["dcr"].trusted
    assert found["made"].doubts == ()


def test_numbers_in_a_cipher_without_any_order_are_turned_back_value_by_value():
    rng = np.random.default_rng(1)

    def people(rows: int) -> dict[str, np.ndarray]:
        home = rng.integers(0, 30, rows)
        return {f"c{k}": (home * k + rng.integers(0, 8, rows)) % 30 for k in (1, 7, 11, 13, 17)}

    inside, outside = people(600), people(300)
    file = {name: rng.permutation(30)[values] for name, values in inside.items()}
    assert "renamed, moved or exchanged" in people_disguised(Pair(inside, file, outside))


def test_half_a_file_in_a_cipher_is_enough():
    half = pl.concat([PLAIN_PEOPLE[:250], MADE[:250]])
    (said,) = doubts(Pair(PLAIN_PEOPLE, in_cipher(half, "stretched"), PLAIN_OTHERS))
    assert "renamed, moved or exchanged" in said


def in_disguise(people: pl.DataFrame, renamed: int = 0, exchanged: int = 0, seed: int = 1) -> pl.DataFrame:
    """Words renamed in pairs, cells exchanged between people and all numbers moved by a twentieth of their spread."""
    rng = np.random.default_rng(seed)
    words = [name for name in people.columns if not people[name].dtype.is_numeric()]
    taken = np.argsort(rng.random(people.shape), axis=1) < exchanged
    made = in_cipher(people.select(words[:renamed]), "in pairs", None).to_dict()
    for name, moved in zip(people.columns, taken.T, strict=True):
        column = made.get(name, people[name])
        if column.dtype.is_numeric():
            column = (column + pl.Series(rng.normal(0, 0.05 * column.std(), len(people)))).cast(column.dtype)
        at = np.arange(len(people))
        at[moved] = rng.permutation(at[moved])
        made[name] = column.gather(at)
    return pl.DataFrame(made).select(people.columns)


MANY = [*COLUMNS, "wealth", "hours"]


def test_real_people_with_columns_renamed_and_numbers_moved_among_made_up_lines_are_found():
    """Two of five lines are real: no measure of copying and no renaming of whole columns shows them."""
    people = examples.survey(1200, seed=13).select(MANY)
    inside, outside, rng = people[:800], people[800:], np.random.default_rng(1)
    made_up = pl.DataFrame({c: inside[c].gather(rng.integers(0, 800, 480)) for c in MANY})
    file = pl.concat([in_disguise(inside[:320], renamed=3), made_up])
    found = compare(inside, {"file": file, "made up": made_up}, holdout=outside, **ASKED)
    story = comparison_story(found)
    (said,) = [line for line in story.refused if line.startswith("'file'")]
    assert "lead back to people of the data" in said
    assert "'file': this cannot be told, for what is said above." in story.likely
    assert not any("'file'" in line and "nothing that shows" in line for line in story.likely)
    assert found["made up"].doubts == ()
    alone = comparison_story(compare(inside, {"file": file}, holdout=outside, **ASKED))
    assert alone.chances == [], "what cannot be told is not drawn"


@pytest.mark.parametrize("cells", [4, 5])
def test_real_people_with_cells_exchanged_and_numbers_moved_are_found(cells):
    people = examples.survey(1200, seed=13).select(MANY)
    file = in_disguise(people[:800], exchanged=cells)
    assert "lead back" in people_disguised(Pair(people[:800], file, people[800:]))


def test_how_values_were_changed_is_learnt_in_rounds():
    """All words are others: at first numbers alone tell, in the end words tell as if they had been left."""
    people = examples.survey(1200, seed=13).select(MANY)
    pair = Pair(people[:800], in_disguise(people[:800], renamed=6), people[800:])
    assert linked(pair, as_they_are(pair), np.arange(800) % 2 == 0).value > 80


def test_trees_are_no_people_in_disguise():
    """Their lines hold answers of people in leaves; hardly any is of one of them rather than of somebody else."""
    people = examples.survey(900, seed=14).select(MANY)
    inside = Table.from_frame(people[:600])
    made = Candidate("cart").make(inside, seed=1).table.to_frame()
    pair = Pair(people[:600], made, people[600:])
    found = linked(pair, as_they_are(pair), np.arange(600) % 2 == 0)
    assert found.value < 3
    assert people_disguised(pair) == ""


def test_few_lines_of_people_in_disguise_are_counted_as_if_there_were_more():
    people = examples.survey(1600, seed=13).select(MANY)
    file = in_disguise(people[:60], renamed=3)
    assert "lead back" in people_disguised(Pair(people[:1200], file, people[1200:]))
    assert (
        people_disguised(Pair(people[:1200], in_disguise(people[1540:], renamed=3), people[1200:1540])) == ""
    )


@pytest.mark.parametrize("rows", [60, 500])
def test_other_people_in_a_cipher_are_nobody(rows):
    """Names are turned back for them as well; nobody in the data comes out."""
    file = in_cipher(MADE, "at random")[:rows]
    assert doubts(Pair(PLAIN_PEOPLE, file, PLAIN_OTHERS)) == []


def test_a_copy_that_is_plain_to_see_is_not_called_a_cipher():
    """The model with all cells copies combinations of groups; its limits are those on copying."""
    made = Candidate("saturated").make(PLAIN_PEOPLE[:100], seed=2, force=True).table
    pair = Pair(PLAIN_PEOPLE[:100], made, PLAIN_OTHERS[:50])
    assert near_copies(pair).added_interval.low > 5
    assert doubts(pair) == []


def panel(waves: int, people: int = 250) -> pl.DataFrame:
    """People with several near-equal rows and nothing that says whose they are."""
    rng, base = np.random.default_rng(1), examples.survey(people, seed=22).select(COLUMNS)
    rows = [
        base.with_columns(
            pl.col("age") + wave // 2,
            (pl.col("bmi") + pl.Series(rng.normal(0, 0.4, people))).round(1),
            pl.col("income") + pl.Series(rng.integers(0, 6, people) * 1000),
        )
        for wave in range(waves)
    ]
    return pl.concat(rows).sample(people * waves, shuffle=True, seed=1)


@pytest.mark.parametrize("waves", [2, 10])
def test_a_panel_without_a_number_of_the_person_is_not_released(waves, tmp_path):
    file = panel(waves)
    file.write_csv(tmp_path / "people.csv")
    head, _, _ = PLAN.replace("schema: schema.yaml\n", "").partition("candidates:")
    (tmp_path / "plan.yaml").write_text(f"{head}candidates:\n  independent: {{}}\n")
    done = invoke("release", str(tmp_path / "plan.yaml"), "--workers", "1")
    assert done.exit_code == 2
    assert "the same people seem to have several rows" in done.stderr
    assert "role entity" in done.stderr


def test_a_panel_in_which_a_third_have_a_second_row_is_not_released(tmp_path):
    """Averages over all records do not show it."""
    people = examples.survey(900, seed=22).select(COLUMNS)
    moved = pl.Series(np.maximum(np.random.default_rng(1).integers(-4, 3, 300), 0) * 1000)
    again = people[:300].with_columns(pl.col("age") + 1, pl.col("income") + moved)
    file = pl.concat([people, again])
    assert with_own_row(Pair(people[:700], people[:700], people[700:])) < 0.1, "strangers are none"
    file.sample(len(file), shuffle=True, seed=1).write_csv(tmp_path / "people.csv")
    head, _, _ = PLAN.replace("schema: schema.yaml\n", "").partition("candidates:")
    (tmp_path / "plan.yaml").write_text(f"{head}candidates:\n  independent: {{}}\n")
    done = invoke("release", str(tmp_path / "plan.yaml"), "--workers", "1")
    assert done.exit_code == 2
    assert "some people seem to have several rows" in done.stderr
    assert "role entity" in done.stderr


def test_rows_whose_owner_is_known_are_not_asked_about():
    file = panel(4).with_columns(pl.Series("number", [f"n{i}" for i in range(1000)]))
    schema = Schema.infer(file).with_roles(entity="number")
    first, rest = file[:800], file[800:]
    assert told_by_nearest(Pair(first, first, rest)) < OWN
    assert told_by_nearest(Pair(first, first, rest, schema=schema)) == 1.0


@pytest.mark.parametrize("factor", [0.0, 0.9, 0.98])
def test_strangers_whose_columns_go_together_are_strangers(factor):
    """Also where every column tells every other one."""
    rng = np.random.default_rng(3)
    common = rng.normal(size=1000)
    file = pl.DataFrame(
        {c: factor * common + (1 - factor**2) ** 0.5 * rng.normal(size=1000) for c in "abcdefgh"}
    )
    pair = Pair(file[:800], file[:800], file[800:])
    assert told_by_nearest(pair) > OWN
    assert with_own_row(pair) < SEVERAL


def test_strangers_of_few_kinds_are_strangers():
    rng = np.random.default_rng(4)
    file = Table.from_frame({c: rng.integers(0, 2, 1000).astype(str) for c in "abcdefgh"})
    check_strangers(file.take(np.arange(800)), file.take(np.arange(800, 1000)))


def test_a_panel_stops_the_check_of_strangers():
    file = Table.from_frame(panel(4))
    with pytest.raises(DataError, match="several rows"):
        check_strangers(file.take(np.arange(800)), file.take(np.arange(800, 1000)))


def test_a_file_with_a_doubt_is_refused_whatever_the_policy_says(tmp_path):
    """The one line of the policy is about usefulness alone; the holdout is the file that comes out."""
    head = PLAN.partition("candidates:")[0].replace("holdout_share: 0.2", "holdout: held.csv")
    text = head + 'candidates:\n  independent: {}\npolicy: ["mean S_pMSE <= 1000"]\noutput: out\n'
    path = make_plan(tmp_path, 300, text)
    (tmp_path / "held.csv").write_text((tmp_path / "people.csv").read_text())
    plan = read_plan(path)
    made = plan.candidates[0].make(source(plan)[0], seed=plan.seed)
    made.table.to_frame().write_csv(tmp_path / "held.csv")
    release = run_plan(read_plan(path), workers=1)
    assert release.chosen is None
    assert "in the protected file whole" in release.judged[0].refusal
    assert not release.judged[0].made_up
