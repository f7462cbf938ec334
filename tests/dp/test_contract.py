"""The privacy contract as its words say it, tried through the doors that users take."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.data import Column, Kind, Schema, Table
from dalenius.dp.count_privacy import delta
from dalenius.synth import make_synthesizer, synthesize

SCHEMA = Schema(
    (
        Column("region", Kind.CATEGORICAL, levels=("n", "s", "w"), domain="declared"),
        Column("smokes", Kind.BOOLEAN, domain="declared"),
        Column("age", Kind.INTEGER, bounds=(0, 99), domain="declared"),
    )
)
PRIVATE = {
    "saturated": {"epsilon": 1.0},
    "loglinear": {"epsilon": 1.0},
    "mst": {"epsilon": 1.0},
    "aim": {"epsilon": 1.0, "rounds": 2},
    "poisson": {"alpha": 0.5},
}


def people(rows: int = 200, seed: int = 1) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    return {
        "region": rng.choice(["n", "s"], rows).tolist(),
        "smokes": rng.choice([True, False], rows).tolist(),
        "age": rng.integers(18, 90, rows).tolist(),
    }


def with_row(data: dict[str, list], *row) -> dict[str, list]:
    return {name: [*values, value] for (name, values), value in zip(data.items(), row, strict=True)}


# --- finding 6: count models ---------------------------------------------------------------------------------------


def test_a_count_model_with_a_statement_takes_no_levels_off_the_data():
    data = with_row(people(), "rare", True, 40)
    with pytest.raises(DataError, match="not declared"):
        synthesize(data, "poisson", alpha=1.0)
    blind = SCHEMA.replace_columns(
        Column("region", Kind.CATEGORICAL, levels=("n", "s", "w", "rare"), domain="declared")
    )
    seen = ["rare" in synthesize(people(), "poisson", alpha=1.0, schema=blind)["region"] for _ in range(10)]
    assert any(seen), "a declared level comes out of files of people who do not have it, too"


def test_a_count_model_with_a_statement_copies_no_numbers():
    incomes = np.round(np.random.default_rng(3).lognormal(10, 1, 300), 2)
    schema = Schema((Column("income", Kind.CONTINUOUS, bounds=(0, 1e6), decimals=2, domain="declared"),))
    made = synthesize({"income": incomes.tolist()}, "poisson", alpha=0.5, schema=schema)
    assert len(set(made["income"]) & set(incomes.tolist())) <= 2


def test_more_rows_or_files_of_a_count_model_cost_nothing_more():
    """The likelihood of a rare cell must not sharpen with rows or files: all of them come from one drawn table."""
    schema = Schema((Column("a", Kind.CATEGORICAL, levels=("x", "y", "z"), domain="declared"),))
    table = Table.from_frame({"a": ["x"] * 30 + ["y"]}, schema)
    shares = []
    for _ in range(30):
        model = make_synthesizer("poisson", alpha=1.0).fit(table)
        held = model.strata[0].table
        assert np.all(held.weights == np.round(held.weights)), (
            "the model holds drawn counts, not the originals"
        )
        drawn = pl.DataFrame(model.sample(5000, seed=1).to_frame("dict"))
        shares.append((drawn["a"] == "z").mean())
    assert np.std(shares) > 0.01, "ten times the rows repeat the noise instead of averaging it out"


def test_copies_are_paid_for():
    schema = Schema((Column("a", Kind.CATEGORICAL, levels=("x", "y", "z"), domain="declared"),))
    table = Table.from_frame({"a": ["x"] * 30 + ["y"]}, schema)
    model = make_synthesizer("poisson", alpha=1.0, draws=10).fit(table)
    stated = delta(3.0, 1.0, copies=10)
    assert stated > 0.3
    assert any(f"δ = {stated:.3g} at ε = 3" in note for note in model.notes)
    with pytest.raises(OptionError, match="several draws"):
        make_synthesizer("poisson", alpha=1.0, draws=2, law="negative-binomial")


def test_a_seed_does_not_repeat_a_count_model_with_a_statement():
    files = [synthesize(people(), "poisson", alpha=1.0, schema=SCHEMA, seed=0) for _ in range(2)]
    assert files[0] != files[1]


@pytest.mark.parametrize("law", ["poisson", "negative-binomial", "poisson-inverse-gaussian"])
def test_the_word_guarantee_only_below_a_stated_delta(law):
    table = Table.from_frame(people(), SCHEMA)
    model = make_synthesizer("poisson", law=law, alpha=1.0, groups=2).fit(table)
    said = " ".join(model.notes)
    assert "no guarantee, a δ of at most 1e-06" in said
    assert ": a guarantee" not in said
    strong = make_synthesizer("poisson", calibrate=(12.0, 1e-7), groups=2).fit(table)
    assert any("a guarantee (δ of at most 1e-06)" in note for note in strong.notes)


# --- finding 7: what was inferred is not declared --------------------------------------------------------------------


@pytest.mark.parametrize("method", PRIVATE)
def test_breaks_do_not_make_inferred_facts_public(method):
    data = {"income": [1200.5, 800.0, -8.0, 950.25] * 30, "yes": [True, False] * 60}
    with pytest.raises(DataError, match="'income', 'yes': not declared"):
        synthesize(data, method, breaks={"income": [0, 500, 1000, 2000]}, **PRIVATE[method])


def test_the_refusal_of_an_undeclared_table_depends_on_nothing_in_it():
    said = set()
    for data in (people(), with_row(people(), "rare", None, 1234), {n: [] for n in SCHEMA.names}):
        with pytest.raises(DataError) as caught:
            synthesize(data, "mst")
        said.add(str(caught.value))
    assert len(said) == 1


# --- a declared domain is all that is known --------------------------------------------------------------------------


@pytest.mark.parametrize("method", PRIVATE)
@pytest.mark.parametrize(
    "row",
    [
        ("elsewhere", True, 40),
        ("n", None, None),
        ("n", "maybe", 3.5),
        (3, True, -5),
        ("n", True, 1e300),
        ("n", 1, "?"),
    ],
)
def test_values_outside_the_domain_are_mapped_and_never_an_error(method, row):
    made = synthesize(with_row(people(), *row), method, schema=SCHEMA, **PRIVATE[method])
    assert set(made["region"]) <= {"n", "s", "w", None}
    assert set(made["smokes"]) <= {True, False, None}
    assert all(value is None or (isinstance(value, int) and 0 <= value <= 99) for value in made["age"])


def test_one_strange_value_changes_nobody_elses_code():
    plain = Table.from_frame(people(), SCHEMA.blind())
    for row in (("elsewhere", True, 40), ("n", "maybe", 3.5), (3, True, "?"), ("n", None, float("inf"))):
        table = Table.from_frame(with_row(people(), *row), SCHEMA.blind())
        for name in SCHEMA.names:
            assert table[name].data[:-1].tolist() == plain[name].data.tolist()
            assert table[name].column == plain[name].column


def test_a_rule_for_values_outside_can_be_declared():
    schema = Schema(
        (
            Column("region", Kind.CATEGORICAL, levels=("n", "other"), domain="declared", outside="other"),
            Column("age", Kind.INTEGER, bounds=(0, 99), domain="declared", outside="missing"),
        )
    )
    table = Table.from_frame({"region": ["n", "q", None], "age": [5, 120, 7]}, schema)
    assert table.to_frame("dict") == {"region": ["n", "other", None], "age": [5, None, 7]}
    assert Schema.from_yaml(schema.to_yaml()) == schema


@pytest.mark.parametrize("method", PRIVATE)
def test_types_of_the_output_follow_from_the_schema_alone(method):
    frames = [
        pd.DataFrame(people()),
        pd.DataFrame(with_row(people(), "n", None, None)),
        pd.DataFrame(with_row(people(), "n", True, "?")),
        pd.DataFrame(people()).astype({"region": pd.CategoricalDtype(["n", "s", "secret"])}),
    ]
    seen = {tuple(map(str, synthesize(f, method, schema=SCHEMA, **PRIVATE[method]).dtypes)) for f in frames}
    assert seen == {("object", "boolean", "Int64")}


# --- finding 8: number of records and strata -------------------------------------------------------------------------


def test_the_number_of_records_is_noised_unless_neighbours_have_the_same():
    table = Table.from_frame(people(), SCHEMA)
    for method in ("saturated", "loglinear", "mst", "aim"):
        sizes = {make_synthesizer(method, epsilon=1.0).fit(table).rows for _ in range(6)}
        assert sizes != {200}, method
        model = make_synthesizer(method, epsilon=1.0, neighbours="replace").fit(table)
        assert model.rows == 200
        assert any(note.startswith("number of records: public") for note in model.notes)
        noised = make_synthesizer(method, epsilon=1.0).fit(table)
        assert any(note.startswith("number of records: noised") for note in noised.notes)
        assert "number of records" in noised.ledger
    with pytest.raises(OptionError, match="public number of records"):
        make_synthesizer("mst", neighbours="add-remove", total="public")
    exact = make_synthesizer("mst", total="invariant").fit(table)
    assert exact.rows == 200
    assert "NOT PROTECTED, by the user's wish: the number of records" in exact.ledger


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("method", ["saturated", "loglinear", "mst", "aim", "poisson"])
def test_sizes_of_strata_are_paid_for(method, neighbours):
    data = with_row(people(2000), "w", True, 40)  # the only one in the west
    options = {"neighbours": neighbours} if method != "poisson" else {}
    sizes = []
    for _ in range(6):
        synthesizer = make_synthesizer(method, strata=["region"], **PRIVATE[method], **options)
        model = synthesizer.fit(Table.from_frame(data, SCHEMA))
        sizes.append(tuple(stratum.rows for stratum in model.strata))
        if method != "poisson":
            assert model.ledger.count("number of records [strata") == 4, "three regions, and missing"
    assert len(set(sizes)) > 1
    assert all(len({size[i] for size in sizes}) > 1 for i in (0, 1)), "every size is noised"
    if neighbours == "replace" and method != "poisson":
        assert {sum(size) for size in sizes} == {2001}


def test_invariants_are_kept_and_listed_as_unprotected():
    data = people(500)
    counts = pl.DataFrame(data)["region"].value_counts().sort("region").rows()
    for method in ("loglinear", "mst", "aim"):
        model = make_synthesizer(method, **PRIVATE[method], invariants=[["region"]]).fit(
            Table.from_frame(data, SCHEMA)
        )
        table = model.strata[0].table
        held = table.table if hasattr(table, "mergings") else table
        assert np.allclose(500 * held.margin((0,))[:2], [n for _, n in counts], atol=0.5), method
        assert "NOT PROTECTED, by the user's wish: the exact table region" in model.ledger
        assert "NOT PROTECTED, by the user's wish: the number of records" in model.ledger
    strata = make_synthesizer("saturated", epsilon=1.0, strata=["region"], invariants=[["region"]])
    sizes = [s.rows for s in strata.fit(Table.from_frame(data, SCHEMA)).strata]
    assert sizes[:2] == [n for _, n in counts]
