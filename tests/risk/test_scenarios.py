"""Several syntheses, sets of keys, expected disclosures, control groups, repeated attacks."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius import DaleniusError, Pair, Table, make_synthesizer
from dalenius.data import examples
from dalenius.risk import (
    Exclusions,
    attack_grid,
    attack_number,
    attribute_inference,
    check_links,
    compare_outliers,
    disclosure,
    disclosure_of_several,
    drop_links,
    find_outliers,
    key_scan,
    link_outliers,
    multi_target_of_several,
    population_uniques,
    train_control_risk,
    unexpected_disco,
)
from dalenius.risk.distance.outlier_rules import peirce_limit

COLUMNS = ["region", "sex", "age", "marital", "health", "income"]
KEYS = ["region", "sex", "age", "marital"]


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return examples.survey(800, seed=1).select(COLUMNS)


def test_several_syntheses_share_breaks_and_are_summed_up(people: pl.DataFrame) -> None:
    model = make_synthesizer("cart").fit(Table.from_frame(people), seed=1)
    made = [model.sample(seed=s) for s in (1, 2, 3)]
    found = disclosure_of_several(people, made, "income", KEYS, grouped=True)
    assert found["synthesis"].to_list() == ["1", "2", "3", "mean", "smallest", "largest"]
    single = [disclosure(Pair(people, m), "income", KEYS, grouped=True).attribute["DiSCO"] for m in made]
    assert found["DiSCO"].to_list()[:3] == pytest.approx(single)
    assert found["DiSCO"].to_list()[3:] == pytest.approx([np.mean(single), min(single), max(single)])
    assert found["Dorig"].n_unique() == 1, "the original's own figures do not depend on the synthesis"
    with pytest.raises(DaleniusError):
        disclosure_of_several(people, [], "income", KEYS)


def test_targets_are_averaged_over_syntheses(people: pl.DataFrame) -> None:
    model = make_synthesizer("cart").fit(Table.from_frame(people), seed=1)
    made = [model.sample(seed=s) for s in (1, 2, 3)]
    found = multi_target_of_several(people, made, KEYS, ["health", "income"], grouped=True)
    for row in found.to_dicts():
        one = disclosure_of_several(people, made, row["target"], KEYS, grouped=True)
        mean, low, high = one["DiSCO"].to_list()[3:]
        assert [row["protected"], row["smallest"], row["largest"]] == pytest.approx([mean, low, high])
        assert row["repU"] == pytest.approx(one["repU"].to_list()[3])
        assert row["original"] == pytest.approx(one["Dorig"].to_list()[0])
    assert found["protected"].is_sorted()
    with pytest.raises(DaleniusError):
        multi_target_of_several(people, [], KEYS)


def test_key_scan_covers_every_set(people: pl.DataFrame) -> None:
    pair = Pair(people, people)
    found = key_scan(pair, "health", KEYS, most_keys=3)
    assert found.height == 4 + 6 + 4
    by_keys = {row["keys"]: row for row in found.to_dicts()}
    for name in KEYS:
        assert by_keys[name]["DiSCO"] == pytest.approx(disclosure(pair, "health", [name]).attribute["DiSCO"])
    more, fewer = by_keys["region, sex, age"], by_keys["region, age"]
    assert more["UiO"] >= fewer["UiO"]
    assert more["Dorig"] >= fewer["Dorig"]
    with pytest.raises(DaleniusError):
        key_scan(pair, "health", [])


def test_expected_and_unexpected_add_up_to_disco(people: pl.DataFrame) -> None:
    pair = Pair(people, people, examples.survey(800, seed=2).select(COLUMNS))
    found = unexpected_disco(pair, "marital", ["region", "sex", "age"])
    values = dict(found.values)
    assert values["DiSCO"] == pytest.approx(
        disclosure(pair, "marital", ["region", "sex", "age"]).attribute["DiSCO"]
    )
    parts = [values[n] for n in ("expected from the margin", "expected from one key", "unexpected")]
    assert sum(parts) == pytest.approx(values["DiSCO"])
    assert values["expected from one key"] > 0, "children are single: age alone tells"
    strict = unexpected_disco(pair, "marital", ["region", "sex", "age"], margin=100, single_key=100)
    assert strict.value >= found.value
    without = unexpected_disco(
        pair, "marital", ["region", "sex", "age"], exclusions=Exclusions(target_levels=["single"])
    )
    assert without.values["DiSCO"] < values["DiSCO"]


def test_control_group_shows_what_is_general_knowledge(people: pl.DataFrame) -> None:
    copied = train_control_risk(people, lambda table, seed: table, KEYS, ["health"])
    safe = train_control_risk(people, make_synthesizer("independent"), KEYS, ["health"])
    assert copied["specific"].min() > 20
    assert abs(safe["specific"].to_numpy()).max() < 10
    with pytest.raises(DaleniusError, match="unknown figure"):
        train_control_risk(people, lambda table, seed: table, KEYS, ["health"], figures=["nothing"])


def registers(n: int, seed: int) -> pl.DataFrame:
    """The benefit registers of Slokom et al. 2024: who has no benefit comes from a narrow range of birth years."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(5, n, p=[0.9574, 0.0016, 0.0364, 0.0038, 0.0008])
    older = np.isin(kind, [1, 2, 3])
    year = np.where(
        older, rng.integers(1954, 1966, n), np.clip(np.round(rng.normal(1970, 14.9, n)), 1925, 2003)
    )
    share = np.arange(1, 219) ** -1.6
    return pl.DataFrame(
        {
            "year": year.astype(int),
            "gender": rng.choice(["1", "2"], n, p=[0.44, 0.56]),
            "country": rng.choice(218, n, p=share / share.sum()).astype(str),
            "benefit": np.where(np.isin(kind, [0, 1]), "yes", "no"),
        }
    )


@pytest.mark.slow
def test_repeated_attribute_inference_on_the_benefit_registers() -> None:
    real, people = registers(20_000, 7), registers(10_000, 123)
    cart = make_synthesizer("cart").fit(Table.from_frame(real), seed=1).sample(seed=2).to_frame("polars")
    shuffled = real.with_columns(pl.col("benefit").shuffle(seed=1))
    found = attribute_inference(
        {"real": real, "cart": cart, "shuffled": shuffled}, people, "benefit", ["year", "gender", "country"],
        models=["naive-bayes", "tree"], fractions=[0.25, 1.0], repeats=3, groups=80,
    )  # fmt: skip
    assert found.height == 3 * 2 * 4
    majority = found.filter(pl.col("model") == "majority")
    share = (people["benefit"] == "yes").mean()
    assert majority["macro F1"].to_numpy() == pytest.approx(share / (1 + share))
    assert majority["macro F1 sd"].to_numpy() == pytest.approx(0)
    assert majority["MCC"].to_numpy() == pytest.approx(0)
    whole = found.filter((pl.col("fraction") == 0.25) & (pl.col("model") == "tree"))
    scores = dict(zip(whole["training"], whole["MCC"], strict=True))
    assert scores["real"] > scores["shuffled"] + 0.03
    assert scores["cart"] > scores["shuffled"] + 0.03, "what keeps the relation lets the attack work"
    assert abs(scores["shuffled"]) < 0.05
    assert whole.filter(pl.col("training") == "real")["relative"].item() == pytest.approx(1)


def test_repeated_attacks_repeat_and_refuse_nonsense(people: pl.DataFrame) -> None:
    options = {"models": ["tree"], "fractions": [0.5], "repeats": 2}
    runs = [
        attribute_inference({"real": people}, people, "health", ["age", "sex"], **options) for _ in range(2)
    ]
    assert runs[0].equals(runs[1])
    constant = people.with_columns(pl.lit("good").alias("health"))
    only = attribute_inference({"odd": constant}, people, "health", ["age"], real=None, **options)
    assert only["gain"].to_list() == [0, 0, 0]
    with pytest.raises(DaleniusError):
        attribute_inference({"real": people}, people, "health", ["age"], fractions=[2.0])


@pytest.mark.parametrize("model", ["linear", "knn", "tree", "forest", "boosted"])
def test_regressors_find_a_copied_number(model: str) -> None:
    rng = np.random.default_rng(1)

    def draw() -> dict:
        k = rng.integers(0, 60, 400)
        return {"k": k.astype(str), "x": 1000.0 + 10 * rng.permutation(60)[k]}

    people, outside = draw(), draw()
    found = attack_number(Pair(people, people, outside, keys=["k"]), "x", model=model, tolerance=0.01)
    assert found.value > (10 if model == "boosted" else 30)
    assert found.trusted
    with pytest.raises(DaleniusError, match="not a model for numbers"):
        attack_number(Pair(people, people, keys=["k"]), "x", model="svm")


def test_grid_has_an_upper_reference_for_every_attacker(people: pl.DataFrame) -> None:
    pair = Pair(people, people)
    found = attack_grid(pair, KEYS, "health", (2,), ("fr-nn", "tree"), most=400)
    assert found["original"].is_not_nan().all()
    assert found.filter(pl.col("attacker") == "fr-nn")["relative"].item() == pytest.approx(1)


# ---------------------------------------------------------------- outliers (Trindade et al. 2024)
TOLERANCES = {"age": 10.0, "income": 2000.0}


def credit(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": np.round(20 + rng.gamma(1.3, 6, rows)),
            "income": np.round(rng.lognormal(10.9, 0.6, rows)),
            "home": rng.choice(["RENT", "OWN", "MORTGAGE"], rows),
            "intent": rng.choice(["A", "B", "C", "D", "E", "F"], rows),
            "grade": rng.choice(list("ABCDEFG"), rows),
        }
    )


def test_outliers_of_a_copy_find_themselves() -> None:
    data = credit(4000, 1)
    table = Table.from_frame(data)
    outliers = find_outliers(table, ["age", "income"])
    found = link_outliers(table, table, TOLERANCES, ["home", "intent"])
    assert len(found.rows) == int(outliers.sum())
    assert found.linked == len(found.rows), "every outlier has at least itself"
    only = found.candidates == 1
    assert (found.matched[only] == found.rows[only]).all()
    counts = found.by_knowledge["pairs"].to_list()
    assert counts == sorted(counts, reverse=True), "more knowledge leaves fewer pairs"
    wider = link_outliers(table, table, {"age": 20.0, "income": 4000.0}, ["home", "intent"])
    assert wider.pairs > found.pairs
    # the full product, by brute force
    x = data.filter(pl.Series(outliers)).to_dicts()
    pairs = sum(
        abs(a["age"] - b["age"]) <= 10 and abs(a["income"] - b["income"]) <= 2000
        and a["home"] == b["home"] and a["intent"] == b["intent"] for a in x for b in x
    )  # fmt: skip
    assert found.pairs == pairs


def test_outlier_study_and_check_of_links() -> None:
    people, outside, fresh = (credit(3000, s) for s in (1, 2, 3))
    found = compare_outliers(
        people,
        {"copy": people, "fresh": fresh},
        TOLERANCES,
        ["home", "intent"],
        holdout=outside,
        candidates="all",
    )
    copy, other = found.to_dicts()
    assert copy["at least one"] == copy["outliers"]
    inside, strangers = (
        other["at least one"] / other["outliers"],
        other["outsiders, at least one"] / other["outsiders"],
    )
    assert abs(inside - strangers) < 0.12, "without a leak members are linked as often as strangers"
    for file, wanted in ((people, True), (fresh, False)):
        pair = Pair(people, file)
        linked = link_outliers(
            pair.original, pair.protected, TOLERANCES, ["home", "intent"], candidates="all"
        )
        row = check_links(pair, linked, ["grade"]).row(0, named=True)
        assert (row["agree"] > row["any record"] + 40) is wanted


def test_links_can_be_dropped() -> None:
    people = credit(3000, 1)
    left, right = Table.from_frame(people), Table.from_frame(people.sample(fraction=0.8, seed=1))
    before = link_outliers(left, right, TOLERANCES, ["home", "intent"], candidates="all")
    kept = drop_links(left, right, TOLERANCES, ["home", "intent"], candidates="all")
    after = link_outliers(left, kept, TOLERANCES, ["home", "intent"], candidates="all")
    assert before.unique > 0
    assert after.unique == 0
    assert right.rows - kept.rows >= len(np.unique(before.matched[before.candidates == 1]))


@pytest.mark.parametrize(
    ("values", "doubtful", "printed"),
    [(5, 1, 1.509), (10, 1, 1.878), (10, 2, 1.570), (10, 3, 1.380), (20, 1, 2.209), (60, 1, 2.663)],
)
def test_limits_of_peirce_as_in_the_tables(values: int, doubtful: int, printed: float) -> None:
    # Ross 2003, Journal of Engineering Technology 20(2), table for one unknown quantity
    scores = np.concatenate([np.full(doubtful - 1, 9.0), np.zeros(values - doubtful + 1)])
    assert peirce_limit(scores) == pytest.approx(printed, abs=1.1e-3)


def test_outliers_by_peirce() -> None:
    # Ross's ten readings, of which he discards 90.0 and 89.0
    readings = [101.2, 90.0, 99.0, 102.0, 103.0, 100.2, 89.0, 98.1, 101.5, 102.0]
    found = find_outliers(Table.from_frame({"x": readings}), ["x"], rule="peirce")
    assert np.flatnonzero(found).tolist() == [1, 6]
    assert not find_outliers(Table.from_frame({"x": [1.0, 2.0]}), ["x"], rule="peirce").any()


# ---------------------------------------------------------------- population uniques, against the truth
def populations() -> dict[str, dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    size = 30_000
    shares = [1 / np.arange(1, n + 1) ** p for n, p in ((60, 1.0), (30, 1.5), (20, 1.0))]
    independent = {c: rng.choice(len(s), size, p=s / s.sum()) for c, s in zip("abc", shares, strict=True)}
    survey = examples.population(size, seed=3)
    wanted = ["region", "sex", "age", "marital", "education", "employment"]
    dependent = {c: survey[c].cast(pl.String).fill_null("none").to_numpy() for c in wanted}
    return {
        "independent": independent,
        "dependent": dependent,
        "heavy tail": {"a": rng.zipf(1.6, size) % 100_000},
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "estimator", "within"),
    [("independent", "poisson", 0.15), ("dependent", "poisson pairs", 0.25), ("heavy tail", "pitman", 0.3)],
)
def test_population_uniques_come_near_the_truth(kind: str, estimator: str, within: float) -> None:
    people = populations()[kind]
    size = len(next(iter(people.values())))
    codes = np.unique(np.array([np.unique(v, return_inverse=True)[1] for v in people.values()]).T, axis=0,
                      return_inverse=True)[1].ravel()  # fmt: skip
    population = np.bincount(codes)
    truths, found = [], []
    for seed in range(4):
        rows = np.random.default_rng(seed).choice(size, size // 10, replace=False)
        sample = np.bincount(codes[rows], minlength=len(population))
        truths.append(int(((population == 1) & (sample == 1)).sum()))
        estimates = population_uniques({k: v[rows] for k, v in people.items()}, list(people), population=size)
        assert estimates.sample_uniques == int((sample == 1).sum())
        found.append(estimates.estimates)
        low, high = min(found[-1].values()), max(found[-1].values())
        if len(found[-1]) > 1:
            assert low <= truths[-1] <= high, "the truth lies between the models"
    assert np.mean([f[estimator] for f in found]) == pytest.approx(np.mean(truths), rel=within)
