"""Several tables: links hold, families look like families, keys are new, nobody's own values come out."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius import Column, Database, Kind, Link, Schema
from dalenius.cli import app
from dalenius.core.errors import DaleniusError, DataError
from dalenius.data import examples
from dalenius.data.relations_rules import broken_share, parse_crossing
from dalenius.synth.relational import RELATIONAL
from dalenius.synth.relational.method import make_relational
from dalenius.utility.rules import rule_table


def shop(customers: int = 400, seed: int = 1) -> Database:
    """Customers with orders of products; a total over items; who recruited whom."""
    rng = np.random.default_rng(seed)
    rich = rng.random(customers) < 0.3
    people = pl.DataFrame({
        "customer_id": [f"C{i:06d}" for i in rng.permutation(customers)], "segment": np.where(rich, "gold", "plain"),
        "since": pl.Series(15_000 + rng.integers(0, 2000, customers)).cast(pl.Int32).cast(pl.Date),
    })  # fmt: skip
    people = people.with_columns(
        recruiter=pl.Series(
            [None if i < 50 else people["customer_id"][int(i // 3)] for i in range(customers)]
        )
    )
    number = np.where(rich, rng.poisson(4, customers), rng.poisson(1, customers))
    owner = np.repeat(np.arange(customers), number)
    orders = pl.DataFrame({
        "order_id": np.arange(len(owner)) + 1000, "customer_id": people["customer_id"].gather(owner),
        "date": pl.Series(people["since"].to_physical().to_numpy()[owner] + rng.integers(0, 900, len(owner))).cast(
            pl.Int32
        ).cast(pl.Date),
        "channel": np.where(rich[owner] & (rng.random(len(owner)) < 0.8), "shop", "web"),
    })  # fmt: skip
    products = pl.DataFrame({"product": [f"p{i}" for i in range(12)], "kind": ["food", "tool", "book"] * 4})
    lines = np.repeat(np.arange(len(owner)), 1 + rng.poisson(1, len(owner)))
    fancy = (orders["channel"].to_numpy() == "shop")[lines]
    bought = np.where(fancy, 3 * rng.integers(0, 4, len(lines)), 3 * rng.integers(0, 4, len(lines)) + 1)
    items = pl.DataFrame({
        "order_id": lines + 1000, "product": [f"p{i}" for i in bought],
        "price": np.round(np.where(fancy, 50, 10) * rng.lognormal(0, 0.2, len(lines)), 2),
    })  # fmt: skip
    total = items.group_by("order_id").agg(pl.col("price").sum().round(2).alias("total"))
    orders = orders.join(total, on="order_id", how="left", maintain_order="left")
    return Database.of(
        {"customers": people, "orders": orders, "products": products, "items": items},
        {"customers": "customer_id", "orders": "order_id", "products": "product"},
        [
            Link("customers", "customer_id", "orders", "customer_id"), Link("orders", "order_id", "items", "order_id"),
            Link("products", "product", "items", "product"), Link("customers", "customer_id", "customers", "recruiter"),
        ],
        rules=("sum(items.price) == orders.total", "orders.date >= customers.since"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def original() -> Database:
    return shop()


@pytest.fixture(scope="module")
def made(original) -> Database:
    return dalenius.synthesize(original, seed=3)


def test_links_hold_and_types_come_back(original, made):
    made.checked()
    assert [link.cardinality for link in made.links][:2] == ["1-n", "1-n"]
    for name in original.tables:
        first, second = original[name].to_frame(), made[name].to_frame()
        assert list(first.columns) == list(second.columns)
        assert first.dtypes == second.dtypes, name


def test_families_look_like_families(original, made):
    """Children per parent by segment, and what grandchildren cost by segment of the customer."""

    def facts(base: Database) -> tuple[list[float], list[float], float]:
        frames = base.to_frames("polars")
        people, orders, items = frames["customers"], frames["orders"], frames["items"]
        number = people.join(orders, on="customer_id", how="left").group_by("segment", maintain_order=False).agg(
            (pl.col("order_id").drop_nulls().len() / pl.col("customer_id").n_unique()).alias("n")
        ).sort("segment")["n"].to_list()  # fmt: skip
        wide = items.join(orders, on="order_id").join(people, on="customer_id")
        price = wide.group_by("segment").agg(pl.col("price").mean()).sort("segment")["price"].to_list()
        kinds = items.join(frames["products"], on="product").join(orders, on="order_id")
        share = kinds.filter(pl.col("channel") == "shop")["kind"].value_counts(normalize=True)
        return number, price, float(share["proportion"].max())

    one, two = facts(original), facts(made)
    assert np.allclose(one[0], two[0], rtol=0.25)
    assert np.allclose(one[1], two[1], rtol=0.25)
    assert two[2] > 0.6, "what is bought in the shop is still of one kind, through the second parent"


def test_rules_across_tables_hold(original, made):
    for rule in parse_crossing(original.rules, original.links):
        assert broken_share(original, rule) == 0
        assert broken_share(made, rule) == 0


def test_keys_are_new_and_in_the_pattern(made):
    keys = made["customers"].to_frame()["customer_id"].to_list()
    assert keys[:2] == ["C000001", "C000002"]
    recruiters = made["customers"].to_frame()["recruiter"].drop_nulls()
    assert 0 < len(recruiters) < 400
    assert recruiters.is_in(keys).all()


def test_the_same_seed_gives_the_same_database(original, made):
    again = dalenius.synthesize(original, seed=3)
    assert all(made[n].to_frame().equals(again[n].to_frame()) for n in made.tables)
    other = dalenius.synthesize(original, seed=4)
    assert not made["orders"].to_frame().equals(other["orders"].to_frame())


def test_join_refuses_what_it_cannot_join_in_one_error(original):
    with pytest.raises(DataError) as error:
        make_relational("join").make(original)
    assert len(error.value.faults) >= 3
    assert "use conditional or hma" in str(error.value)


def test_left_join_keeps_parents_without_a_child():
    rng = np.random.default_rng(2)
    people = {"id": np.arange(300), "sex": rng.choice(["f", "m"], 300)}
    some = np.flatnonzero((np.array(people["sex"]) == "f") & (rng.random(300) < 0.7))
    births = {"id": some, "weight": rng.normal(3400, 300, len(some)).round()}
    base = Database.of({"people": people, "births": births}, {"people": "id", "births": "id"},
                       [Link("people", "id", "births", "id")])  # fmt: skip
    assert base.links[0].cardinality == "1-0..1"
    for method in ("join", "conditional"):
        made = dalenius.synthesize(base, method, seed=1)
        assert made["people"].rows == 300
        wide = made["births"].to_frame("polars").join(made["people"].to_frame("polars"), on="id")
        assert set(wide["sex"]) == {"f"}, "only women give birth, across the link"
        assert abs(made["births"].rows - len(some)) < 40
    inner = dalenius.synthesize(base, "join", how="inner", seed=1)
    assert inner["people"].rows == inner["births"].rows


def test_events_keep_birth_death_gaps_and_transitions():
    base = examples.visits(1500, seed=1)
    made = dalenius.synthesize(base, seed=1)
    for rule in parse_crossing(base.rules, base.links):
        assert broken_share(made, rule) == 0
    first, second = (_sequence(b) for b in (base, made))
    assert second["date"].max() <= first["date"].max(), "nothing comes after the last date of the original"
    starts = [f.unique("patient_id", keep="first", maintain_order=True)["date"] for f in (first, second)]
    spreads = [s.cast(pl.Int32).std() for s in starts]
    assert spreads[1] == pytest.approx(spreads[0], rel=0.15)  # first dates are drawn by the calendar
    moves = [
        f.drop_nulls("before").group_by("before", "reason").len().sort("before", "reason")
        for f in (first, second)
    ]
    shares = [m.with_columns(s=pl.col("len") / pl.col("len").sum().over("before")) for m in moves]
    both = shares[0].join(shares[1], on=["before", "reason"], how="full", coalesce=True).fill_null(0)
    assert (both["s"] - both["s_right"]).abs().max() < 0.08
    for share in (0.25, 0.5, 0.75):
        assert second["gap"].quantile(share) == pytest.approx(first["gap"].quantile(share), rel=0.25)


def _sequence(base: Database) -> pl.DataFrame:
    frame = base["visits"].to_frame("polars").sort("patient_id", "date")
    return frame.with_columns(
        gap=pl.col("date").diff().over("patient_id").dt.total_days(),
        before=pl.col("reason").shift().over("patient_id"),
    )


def test_a_budget_is_refused_where_children_would_not_keep_it(original):
    with pytest.raises(DataError, match="no bound at all"):
        make_relational("conditional", base="mst", options={"epsilon": 1.0}).make(original)


def test_odd_databases_come_back():
    """An empty child, a parent of very many, tables of keys alone, thirty tables, orphans that were kept."""
    many = np.array([1] * 3000 + list(range(2, 200)))
    frames = {
        "a": {"id": np.arange(1, 200)}, "b": {"a_id": many, "x": np.arange(len(many)) % 7},
        "none": {"a_id": pl.Series([], dtype=pl.Int64), "y": pl.Series([], dtype=pl.Int64)},
    }  # fmt: skip
    base = Database.of({n: pl.DataFrame(f) for n, f in frames.items()}, {"a": "id"},
                       [Link("a", "id", "b", "a_id"), Link("a", "id", "none", "a_id")])  # fmt: skip
    made = dalenius.synthesize(base, seed=1)
    assert made["none"].rows == 0
    assert made["none"].names == ["a_id", "y"]
    assert made.sizes(made.links[0]).max() < 3000, "one parent of very many is nobody to come out"
    chain = {
        f"t{i}": {"id": list(range(20)), f"t{i - 1}_id": list(range(20)), "x": ["u", "v"] * 10}
        for i in range(30)
    }
    chain["t0"] = {"id": list(range(20)), "x": ["u", "v"] * 10}
    links = [Link(f"t{i - 1}", "id", f"t{i}", f"t{i - 1}_id") for i in range(1, 30)]
    long = Database.of(chain, {f"t{i}": "id" for i in range(30)}, links)
    assert dalenius.synthesize(long, seed=1).checked()["t29"].rows == 20


def test_loose_children_stay_loose():
    rng = np.random.default_rng(1)
    owner = pl.Series([None if i % 5 == 0 else i % 40 for i in range(400)], dtype=pl.Int64)
    base = Database.of({"a": {"id": np.arange(40)}, "b": pl.DataFrame({"a_id": owner, "x": rng.integers(0, 9, 400)})},
                       {"a": "id"}, [Link("a", "id", "b", "a_id")])  # fmt: skip
    made = dalenius.synthesize(base, seed=1)
    assert made["b"].to_frame()["a_id"].null_count() == 80


def canaries() -> Database:
    """In every table one value, one key and one family that nobody else is like."""
    base = shop(300, seed=5).to_frames("polars")
    people, orders, items = base["customers"], base["orders"], base["items"]
    where = pl.int_range(pl.len()) == 7
    people = people.with_columns(
        segment=pl.when(where).then(pl.lit("kanarie-segment")).otherwise("segment"),
        since=pl.when(where).then(pl.date(1871, 2, 3)).otherwise("since"),
        customer_id=pl.when(where).then(pl.lit("kanarie-key")).otherwise("customer_id"),
        recruiter=pl.lit(None, dtype=pl.String),
    )
    orders = orders.join(people.select("customer_id"), on="customer_id", how="semi", maintain_order="left")
    huge = pl.DataFrame({"order_id": np.arange(90_000, 90_500)}).with_columns(
        customer_id=pl.lit("kanarie-key"),
        date=pl.date(2131, 7, 9),
        channel=pl.lit("kanarie-channel"),
        total=pl.lit(0.0),
    )
    orders = pl.concat([orders, huge.select(orders.columns)])
    items = items.join(orders.select("order_id"), on="order_id", how="semi", maintain_order="left")
    items = items.with_columns(price=pl.when(where).then(98_765_432.25).otherwise("price"))
    return Database.of(
        {"customers": people, "orders": orders.drop("total"), "items": items.drop("product")},
        {"customers": "customer_id", "orders": "order_id"},
        [
            Link("customers", "customer_id", "orders", "customer_id"), Link("orders", "order_id", "items", "order_id"),
        ],
    )  # fmt: skip


@pytest.mark.parametrize("method", ["conditional", "hma", "flatten", "join"])
def test_the_order_of_rows_tells_nothing(method):
    """Files are often sorted by what is secret: the made rows, and their keys, stand in no such order."""
    n, rng = 1500, np.random.default_rng(1)
    pay = np.sort(rng.normal(3000, 700, n)).round(1)
    each = 1 if method == "join" else 2
    people = {"id": np.arange(n), "pay": pay}
    jobs = {"id": np.repeat(np.arange(n), each), "hours": np.sort(rng.normal(30, 6, n * each)).round(1)}
    base = Database.of(
        {"people": people, "jobs": jobs}, {"people": "id"}, [Link("people", "id", "jobs", "id")]
    )
    made = make_relational(method).make(base, seed=1).database
    for table, column in (("people", "pay"), ("jobs", "hours")):
        frame = made[table].to_frame("polars")
        rows = np.arange(frame.height)
        for place in (rows, frame["id"].to_numpy()):
            assert abs(np.corrcoef(place, frame[column].to_numpy())[0, 1]) < 0.2, (table, column)


@pytest.mark.parametrize("method", ["conditional", "hma", "flatten"])
def test_canaries_come_out_neither_as_values_nor_through_keys_or_counts(method, tmp_path):
    assert method in RELATIONAL
    base = canaries()
    if method != "conditional":  # the others take parents and children
        two = {name: base[name] for name in ("customers", "orders")}
        base = Database.of(two, {"customers": "customer_id", "orders": "order_id"}, base.links[:1])
    made = make_relational(method).make(base, seed=1)
    out = made.database
    out.write(tmp_path / "out")
    text = (
        " ".join(f.read_text() for f in (tmp_path / "out").iterdir())
        + " ".join(made.notes)
        + repr(made)
        + str(out)
    )
    for word in ("kanarie", "1871-02-03", "2131-07-09", "98765432"):
        assert word not in text, word
    dates = out["orders"].to_frame()["date"]
    assert dates.dt.year().max() < 2050
    if "items" in out.tables:
        assert out["items"].to_frame()["price"].max() < 1_000_000
    second = int(np.sort(base.sizes(base.links[0]))[-2])
    assert out.sizes(out.links[0]).max() <= 2 * second, (
        "a family of five hundred is nobody's secret no longer"
    )
    assert out["orders"].rows < base["orders"].rows - 250


@pytest.mark.parametrize("base", ["cart", "syndiffix"])
def test_flatten_keeps_families_with_any_method(base):
    rng = np.random.default_rng(4)
    number = rng.integers(0, 4, 500)
    owner = np.repeat(np.arange(500), number)
    east = rng.random(500) < 0.5
    kids = {
        "home_id": owner,
        "school": np.where(east[owner], "blue", "red"),
        "age": rng.integers(0, 18, len(owner)),
    }
    held = Database.of({"homes": {"id": np.arange(500), "side": np.where(east, "east", "west")}, "kids": kids},
                       {"homes": "id"}, [Link("homes", "id", "kids", "home_id")])  # fmt: skip
    made = dalenius.synthesize(held, "flatten", base=base, seed=1)
    sizes = np.bincount(made.sizes(made.links[0]), minlength=4)
    assert np.abs(sizes / sizes.sum() - np.bincount(number) / 500).max() < 0.06
    wide = (
        made["kids"]
        .to_frame("polars")
        .join(made["homes"].to_frame("polars"), left_on="home_id", right_on="id")
    )
    assert ((wide["side"] == "east") == (wide["school"] == "blue")).mean() > 0.97
    schools = made["kids"].to_frame("polars").group_by("home_id").agg(pl.col("school").n_unique())["school"]
    assert (schools == 1).mean() > 0.97, "brothers and sisters go to one school"


def test_a_budget_is_for_families_once_children_are_bounded():
    rng = np.random.default_rng(4)
    number = rng.integers(0, 4, 400)
    owner = np.repeat(np.arange(400), number)

    def declared(name: str, *levels: str) -> Column:
        return Column(name, Kind.CATEGORICAL, levels=levels, domain="declared")

    schemas = {
        "homes": Schema((Column("id", Kind.TEXT), declared("side", "east", "west"))),
        "kids": Schema((Column("home_id", Kind.TEXT), declared("school", "blue", "red"))),
    }
    keys = np.array([f"H{i:05d}" for i in range(400)])
    frames = {
        "homes": {"id": keys, "side": rng.choice(["east", "west"], 400)},
        "kids": {"home_id": keys[owner], "school": rng.choice(["blue", "red"], len(owner))},
    }  # fmt: skip
    options = {"base": "mst", "options": {"epsilon": 2.0}}
    loose = Database.of(frames, {"homes": "id"}, [Link("homes", "id", "kids", "home_id")], schemas=schemas)
    with pytest.raises(DataError, match="say most"):
        dalenius.synthesize(loose, "flatten", **options)
    links = [Link("homes", "id", "kids", "home_id", most=3)]
    made = dalenius.synthesize(
        Database.of(frames, {"homes": "id"}, links, schemas=schemas), "flatten", **options
    )
    assert made.sizes(made.links[0]).max() <= 3
    assert str(made["homes"].to_frame("dict")["id"][0]) == "1", "not even the pattern of keys comes out"


@pytest.mark.slow
def test_rules_of_registers_hold_for_trees_and_are_at_their_prior_otherwise():
    """Twenty thousand people, as in ``bench/relations_registers.py``, which has ten seeds of every method."""
    base = examples.benefit_registers(20_000)
    files = {f"join {s}": dalenius.synthesize(base, "join", seed=s) for s in range(2)}
    files |= {f"conditional {s}": dalenius.synthesize(base, seed=s) for s in range(10)}
    files |= {f"hma {s}": dalenius.synthesize(base, "hma", seed=s) for s in range(5)}
    found = rule_table(base["bij"], {n: f["bij"] for n, f in files.items()}, examples.REGISTER_RULES)
    for name in files:
        if not name.startswith("hma"):
            assert (found[name].drop_nulls() == 100).all(), name
    hma = np.nanmean(found.select(n for n in files if n.startswith("hma")).to_numpy().astype(float), axis=1)
    made = [f["bij"].to_frame("dict") for name, f in files.items() if name.startswith("hma")]
    for rule, prior, kept in zip(found["rule"], found["prior"], hma, strict=True):
        flag, _, value = rule.split(" ")[:3]
        rows = sum(str(given) == value for frame in made for given in frame[flag])  # gaps are no answer
        error = 100 * np.sqrt(prior / 100 * (1 - prior / 100) / rows)
        assert abs(kept - prior) < 3 * error + 0.1, rule


def test_the_command_line_takes_a_folder(tmp_path):
    base = shop(80)
    base.write(tmp_path / "shop")
    run = CliRunner().invoke
    told = run(app, ["schema", str(tmp_path / "shop")])
    assert told.exit_code == 0, told.output
    assert "orders.customer_id" in told.output
    done = run(
        app,
        [
            "synth",
            str(tmp_path / "shop"),
            "-m",
            "conditional",
            "-o",
            str(tmp_path / "out"),
            "--json",
            "-s",
            "3",
        ],
    )
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["rows"]["customers"] == 80
    made = Database.read(tmp_path / "out")
    same = dalenius.synthesize(Database.read(tmp_path / "shop"), seed=3)
    assert made["orders"].rows == same["orders"].rows
    wrong = run(app, ["synth", str(tmp_path / "shop"), "-o", str(tmp_path / "out2"), "--epsilon", "1"])
    assert wrong.exit_code != 0
    with pytest.raises(DaleniusError):
        dalenius.synthesize(base, columns=["a"])
