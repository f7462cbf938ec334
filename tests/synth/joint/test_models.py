"""Saturated, log-linear, count and private marginal models on the example survey, and on tables made to break them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.counts import count
from dalenius.counts.pair import Pair
from dalenius.data import Column, Kind, Schema, Table, examples
from dalenius.dp import add_gaussian
from dalenius.evaluation import sweep
from dalenius.evaluation.sweeping import table_utility
from dalenius.synth import load_model, save_model
from dalenius.synth.joint import AIM, MST, LogLinear, PoissonCounts, Saturated, task

COLUMNS = ["sex", "age", "region", "marital", "education", "employment", "income"]


@pytest.fixture(scope="module")
def survey() -> Table:
    """The recipe of Raab 2022 on the example survey: seven columns, numbers in five quantile groups."""
    return Table.from_frame(examples.survey(3000, seed=11).select(COLUMNS))


def recipe(table: Table, synthesizer, replicates: int) -> dict[str, float]:
    found = sweep(
        table, synthesizer["method"], [synthesizer.get("epsilon")], replicates=replicates, seed=5,
        **{k: v for k, v in synthesizer.items() if k not in ("method", "epsilon")},
    )  # fmt: skip
    return found.table.row(0, named=True)


def test_saturated_repeats_a_share_of_one_over_e(survey):
    found = recipe(survey, {"method": "saturated"}, 10)
    assert found["ru % of p1"] == pytest.approx(36.8, abs=1.5)
    assert found["two-way"] == pytest.approx(1.0, abs=0.15)
    assert found["three-way"] == pytest.approx(1.0, abs=0.15)


@pytest.mark.slow
def test_loglinear_keeps_pairs_and_repeats_less(survey):
    found = recipe(survey, {"method": "loglinear", "margins": "two-way"}, 5)
    assert 0.85 < found["two-way"] < 1.2
    assert found["three-way"] < 4
    assert found["ru % of p1"] < 30


@pytest.mark.slow
def test_more_noise_less_utility_and_better_repair_helps(survey):
    small = survey.select(COLUMNS[:5])
    options = {"method": "loglinear", "margins": "two-way", "domain": "from-data", "replicates": 3}
    del options["replicates"]
    found = {
        (adjust, epsilon): recipe(small, {**options, "adjust": adjust, "epsilon": epsilon}, 3)["two-way"]
        for adjust in ("clip", "consistent")
        for epsilon in (0.2, 1.0, 10.0)
    }
    for adjust in ("clip", "consistent"):
        assert found[adjust, 0.2] > found[adjust, 1.0] > found[adjust, 10.0] > 0.7
    assert found["consistent", 0.2] < found["clip", 0.2]
    assert found["consistent", 1.0] < found["clip", 1.0]


def test_uniqueness_of_the_whole_table(survey):
    pair = Pair(survey, survey)
    found, whole = pair.match(survey.names).figures, pair.counts(survey.names)
    assert found["repU"] == found["UiO"] > 0
    assert table_utility(whole.original, whole.protected) == 0


def test_without_prior_only_seen_combinations_occur(survey):
    model = Saturated(prior=0).fit(survey)
    seen = {tuple(row) for row in count_codes(model, survey)}
    drawn = {
        tuple(row)
        for row in np.stack(model.strata[0].table.sample(3000, np.random.default_rng(0)), 1).tolist()
    }
    assert drawn <= seen
    raised = Saturated(prior=300).fit(survey).strata[0].table.sample(3000, np.random.default_rng(0))
    unseen = [row for row in np.stack(raised, 1).tolist() if tuple(row) not in seen]
    assert len(unseen) == pytest.approx(3000 * 300 / 3300, rel=0.25)


def count_codes(model, table: Table) -> list[list[int]]:
    return np.stack([c.astype(np.int64) for c in model.coding.encode(table)], 1).tolist()


def test_poisson_size_varies(survey):
    model = Saturated(size="poisson").fit(survey)
    sizes = {model.sample(seed=i).rows for i in range(8)}
    assert len(sizes) > 3
    assert np.mean(list(sizes)) == pytest.approx(survey.rows, rel=0.05)


def test_a_trillion_cells(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"c{i}": rng.integers(0, 100, 500).astype(str) for i in range(6)})
    schema = Schema(
        tuple(
            Column(n, Kind.CATEGORICAL, levels=tuple(map(str, range(100))), domain="declared")
            for n in frame.columns
        )
    )
    table = Table.from_frame(frame, schema)
    plain = Saturated().fit(table)
    assert "1,000,000,000,000 possible cells" in plain.notes[0]
    assert plain.sample(seed=1).rows == 500
    private = Saturated(epsilon=20.0, threshold=2).fit(table)
    assert private.sample(2000, seed=1).rows == 2000
    codes = np.stack(private.strata[0].table.codes, 1)
    assert len({tuple(c) for c in codes.tolist()}) == len(codes), "a cell is listed once"
    save_model(private, tmp_path / "m")
    opened = load_model(tmp_path / "m")
    assert opened.sample(50, seed=3).to_frame("polars").equals(private.sample(50, seed=3).to_frame("polars"))
    with pytest.raises(OptionError, match=r"would reach the threshold 1 by noise alone; give \d+ or more"):
        Saturated(epsilon=1.0, threshold=1).fit(table)
    with pytest.raises(OptionError, match="too many for Gaussian noise"):
        Saturated(epsilon=1.0, delta=1e-6).fit(table)


def test_structural_zeros_never_occur():
    data = {
        "age": ["child", "adult", "old"] * 40,
        "married": ["no", "yes", "no"] * 40,
        "sex": ["f", "m"] * 60,
    }
    table, rules = Table.from_frame(data), [{"age": "child", "married": "yes"}]
    options = {"structural_zeros": rules}
    private = {"epsilon": 0.5, "domain": "from-data", **options}
    for synthesizer in (
        Saturated(prior=50, **options), LogLinear(prior=50, **options), LogLinear(prior=50, engine="tree", **options),
        PoissonCounts(alpha=2.0, domain="from-data", **options), Saturated(**private), LogLinear(**private),
        LogLinear(**private, adjust="clip"), MST(**private), AIM(**private),
    ):  # fmt: skip
        out = synthesizer.fit(table, seed=1).sample(2000, seed=2).to_frame("polars")
        assert out.filter((pl.col("age") == "child") & (pl.col("married") == "yes")).height == 0


def test_structural_zeros_of_marginal_methods_cross_columns_they_never_measured():
    rng = np.random.default_rng(1)
    data = {n: rng.integers(0, 3, 600).astype(str) for n in "abcd"}
    keep = ~((data["a"] == "0") & (data["b"] == "1") & (data["c"] == "2"))
    table = Table.from_frame({n: v[keep] for n, v in data.items()})
    rules = [{"a": "0", "b": "1", "c": "2"}, {"d": "2"}]
    for synthesizer in (MST, AIM):
        model = synthesizer(epsilon=0.5, domain="from-data", structural_zeros=rules).fit(table, seed=1)
        out = model.sample(4000, seed=2).to_frame("polars")
        assert out.filter((pl.col("a") == "0") & (pl.col("b") == "1") & (pl.col("c") == "2")).height == 0
        assert "2" not in set(out["d"])


def test_structural_zeros_of_numbers_and_bad_rules():
    data = {"age": [i // 2 for i in range(200)], "married": ["no"] * 40 + ["yes", "no"] * 80}
    table = Table.from_frame(data)
    options = {"breaks": {"age": [0, 16, 40, 100]}}
    out = (
        LogLinear(structural_zeros=[{"age": (0, 16), "married": "yes"}], prior=20, **options)
        .fit(table)
        .sample(3000, seed=1)
    )
    frame = out.to_frame("polars")
    assert frame.filter((pl.col("age") < 16) & (pl.col("married") == "yes")).height == 0
    with pytest.raises(DataError, match=r"contradict the data: 80 rows lie in 1 cell "):
        Saturated(structural_zeros=[{"married": "yes"}], **options).fit(table)
    with pytest.raises(OptionError, match="are not levels of it"):
        Saturated(structural_zeros=[{"married": "perhaps"}]).fit(table)
    with pytest.raises(OptionError, match="which is not a column to synthesize"):
        Saturated(structural_zeros=[{"height": 3}]).fit(table)


def test_strata_are_kept_apart_and_in_size():
    data = {"region": ["n"] * 60 + ["s"] * 140, "a": ["x"] * 60 + ["y"] * 140, "b": ["u", "v"] * 100}
    table = Table.from_frame(data)
    for synthesizer in (Saturated(strata="region", prior=0), LogLinear(strata=["region"], prior=0)):
        model = synthesizer.fit(table)
        out = model.sample(seed=1).to_frame("polars")
        assert out.group_by("region", "a").len().sort("region").rows() == [("n", "x", 60), ("s", "y", 140)]
        assert model.sample(1000, seed=1).rows == 1000
    with pytest.raises(DataError, match="strata: no column 'county'"):
        LogLinear(strata=["county"]).fit(table)
    with pytest.raises(OptionError, match="nothing is left"):
        Saturated(strata=["region", "a", "b"]).fit(table)


def test_an_empty_stratum_gets_no_rows_and_is_mentioned():
    schema = Schema(
        (
            Column("region", Kind.CATEGORICAL, levels=("n", "s", "w"), domain="declared"),
            Column("a", Kind.CATEGORICAL),
        )
    )
    table = Table.from_frame({"region": ["n", "s"] * 20, "a": ["x", "y"] * 20}, schema)
    model = LogLinear(strata=["region"]).fit(table, prepare=False)
    assert any("1 of them have no rows" in note for note in model.notes)
    assert set(model.sample(seed=1).to_frame("polars")["region"]) == {"n", "s"}
    private = Saturated(strata=["region"], epsilon=1.0, domain="from-data").fit(table, prepare=False)
    assert not any("no rows" in note for note in private.notes), "which strata are empty is private"


def test_columns_in_no_margin_are_independent_and_named(survey):
    model = LogLinear(margins=[("sex", "age")]).fit(survey)
    assert any("no margin has 'region'" in note for note in model.notes)
    assert model.sample(seed=1).names == COLUMNS


def test_too_many_cells_says_how_many_and_which():
    rng = np.random.default_rng(0)
    data = {f"c{i}": rng.integers(0, 60, 400).astype(str) for i in range(8)}
    with pytest.raises(
        DataError, match=r"largest clique has [\d,]+ cells, more than 67,108,864; it crosses 'c\d'"
    ):
        LogLinear(margins="two-way").fit(Table.from_frame(data))
    chosen = LogLinear().fit(Table.from_frame(data))
    assert any("strongest" in note for note in chosen.notes)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Saturated(epsilon=0.0), lambda: LogLinear(epsilon=-1.0), lambda: MST(epsilon=0.0),
        lambda: AIM(epsilon=None), lambda: Saturated(delta=0.1), lambda: Saturated(prior=-1),
        lambda: Saturated(size="odd"), lambda: Saturated(adjust="x"), lambda: LogLinear(adjust="x"),
        lambda: LogLinear(engine="x"), lambda: LogLinear(tol=0.0), lambda: LogLinear(domain="x"),
        lambda: LogLinear(groups=1), lambda: MST(more=-1), lambda: AIM(order=1),
        lambda: PoissonCounts(epsilon=1.0), lambda: PoissonCounts(alpha=-1.0), lambda: PoissonCounts(law="x"),
        lambda: PoissonCounts(alpha=1.0, calibrate=(2.0, 0.1)), lambda: Saturated(epsilon=1.0, neighbours="x"),
        lambda: Saturated(epsilon=1.0, total="x"),
    ],
)  # fmt: skip
def test_bad_options_are_refused(make):
    with pytest.raises(OptionError):
        make()


@pytest.mark.parametrize("margins", ["odd", 0, [("sex", "nobody")]])
def test_bad_margins_are_refused(margins, survey):
    with pytest.raises((OptionError, DataError)):
        LogLinear(margins=margins).fit(survey)


def test_domains_read_off_the_data_are_refused(survey):
    for synthesizer in (Saturated(epsilon=1.0), LogLinear(epsilon=1.0), MST(), AIM()):
        with pytest.raises(DataError, match="domain=from-data"):
            synthesizer.fit(survey)
    model = MST(domain="from-data").fit(survey.select(["sex", "age"]))
    assert any("read off the confidential data" in note for note in model.notes)


def declared() -> tuple[Table, Schema]:
    schema = Schema(
        (
            Column("sex", Kind.CATEGORICAL, levels=("f", "m", "x"), domain="declared"),
            Column("age", Kind.INTEGER, bounds=(0, 120), domain="declared"),
            Column("pay", Kind.CONTINUOUS, decimals=2, not_applicable=(-8.0,), domain="declared"),
            Column("adult", Kind.BOOLEAN, domain="declared"),
        )
    )
    rng = np.random.default_rng(0)
    data = {
        "sex": rng.choice(["f", "m"], 500).tolist(), "age": rng.integers(20, 60, 500).tolist(),
        "pay": rng.choice([-8.0, 1000.25, 2000.5], 500).tolist(), "adult": [True, False] * 250,
    }  # fmt: skip
    return Table.from_frame(data, schema), schema


@pytest.mark.parametrize("method", [Saturated, LogLinear, MST, AIM])
def test_declared_domains_never_touch_the_values_again(method):
    table, _ = declared()
    options = {"epsilon": 3.0, "breaks": {"pay": [0, 1000, 2000, 5000]}, "groups": 4}
    out = method(**options).fit(table, seed=1).sample(seed=2).to_frame("polars")
    pay = out["pay"].drop_nulls().filter(out["pay"].drop_nulls() != -8)
    assert pay.min() >= 0
    assert pay.max() <= 5000
    assert not set(pay) <= {1000.25, 2000.5}, "values are drawn within bins, not taken from the data"
    assert out["age"].drop_nulls().is_between(0, 120).all()
    assert out.schema == table.to_frame("polars").schema


def test_declared_values_are_the_only_ones():
    table, _ = declared()
    model = LogLinear(epsilon=5.0, breaks={"pay": [0, 1500, 5000]}, values={"pay": [500.0, 3000.0]}).fit(
        table, seed=1
    )
    pay = model.sample(seed=2).to_frame("polars")["pay"].drop_nulls()
    assert set(pay) <= {-8.0, 500.0, 3000.0}


def test_a_noised_total_is_paid_for():
    table, _ = declared()
    model = LogLinear(epsilon=1.0, total="noised", breaks={"pay": [0, 5000]}).fit(table)
    assert "number of records: ε = 0.05" in model.ledger
    assert abs(model.rows - 500) < 300
    assert "taken as public" not in model.ledger


def test_gaussian_noise_under_zcdp():
    table, _ = declared()
    model = LogLinear(epsilon=1.0, delta=1e-6, breaks={"pay": [0, 5000]}).fit(table)
    assert "discrete Gaussian" in model.ledger
    assert "spent: ε = 1, δ = 1e-06" in model.ledger


@pytest.mark.parametrize(("method", "fits"), [(MST, 80), (AIM, 12)])
def test_private_models_keep_a_strong_relation(method, fits, monkeypatch):
    """Rows in the six cells of a × b that hold nobody come of noise alone, and the law of the noise says how many.

    Each such cell invents at most the positive part of its noise: 0.4 σ on average with a deviation of 0.58 σ, and
    repairs only take from it. The mean of many fits stays below this law by seven deviations of its own or more, and
    with twice the noise that MST pays for (26 rows on average, 15 at most by the law) it does not.
    """
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 3000)
    b = a + (rng.random(3000) < 0.1)
    data = {"a": a.astype(str), "b": b.astype(str), "c": rng.integers(0, 2, 3000).astype(str)}
    table = Table.from_frame(data)
    scales: list[float] = []

    def listened(counts, scale):
        scales.extend([scale] * (counts.shape == (3, 4)))
        return add_gaussian(counts, scale)

    monkeypatch.setattr(task, "add_gaussian", listened)
    invented = []
    for seed in range(fits):
        out = method(epsilon=2.0, domain="from-data").fit(table, seed=seed).sample(seed=seed)
        pair = out.to_frame("polars").select(pl.col("a", "b").cast(pl.Int64))
        invented.append(pair.filter(~(pl.col("b") - pl.col("a")).is_between(0, 1)).height)
    assert len(scales) >= fits, "the strong pair is measured in every fit"
    widest = max(scales)
    assert widest < 15, "the budget buys a pair this precise"
    assert np.mean(invented) < 6 * 0.4 * widest + 4 * 0.584 * widest * np.sqrt(6 / fits)


def test_count_models_say_what_they_are_worth():
    table = Table.from_frame({"a": ["x", "y"] * 50, "b": ["u", "v", "v", "v"] * 25})
    stated = {"domain": "from-data"}
    assert any("no guarantee" in note for note in PoissonCounts(alpha=0.1, **stated).fit(table).notes)
    assert any(
        "is no guarantee" in note
        for note in PoissonCounts().fit(Table.from_frame({"a": ["x", "y"] * 50})).notes
    )
    calibrated = PoissonCounts(calibrate=(3.0, 0.01), **stated).fit(table)
    assert any("at ε = 3" in note for note in calibrated.notes)
    for law in ("negative-binomial", "poisson-inverse-gaussian"):
        model = PoissonCounts(law=law, alpha=0.5, **stated).fit(table, seed=1)
        assert model.sample(seed=1).rows == model.rows


def test_dense_and_tree_engines_draw_from_the_same_model(survey):
    small = survey.select(COLUMNS[:4])
    margins = [("sex", "age"), ("age", "marital"), ("region",)]
    models = [LogLinear(margins=margins, engine=e, tol=1e-12).fit(small) for e in ("dense", "tree")]
    full = models[0].strata[0].table.tables[0]
    tree = models[1].strata[0].table
    for clique, table in zip(tree.tree.cliques, tree.tables, strict=True):
        rest = tuple(i for i in range(full.ndim) if i not in clique)
        assert table == pytest.approx(full.sum(axis=rest), abs=1e-8)
    assert "junction tree" in models[1].notes[0]
    assert "in full" in models[0].notes[0]


def test_values_come_from_their_own_group_without_privacy(survey):
    out = LogLinear(groups=5).fit(survey).sample(seed=1)
    assert set(out["age"].values.tolist()) <= set(survey["age"].values.tolist())
    assert count(out, ["sex"]).total == survey.rows


def test_sweep_reads_itself(survey):
    found = sweep(
        survey.select(["sex", "region", "marital"]),
        epsilons=[0.05, 5.0, None],
        replicates=2,
        seed=1,
        domain="from-data",
    )
    rows = found.table.rows(named=True)
    assert [row["epsilon"] for row in rows] == [0.05, 5.0, None]
    assert rows[0]["two-way"] > rows[1]["two-way"]
    assert "not for publication" in found.sentence
    assert not found.trusted
    assert found.chart().to_dict()["hconcat"]
    for bad in ({"method": "bootstrap"}, {"replicates": 0}, {"epsilons": []}):
        with pytest.raises(OptionError):
            sweep(survey, **bad)
