"""Worked examples, by hand, of the papers on attribution, isolation, outliers, neighbours and rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius import DaleniusError, Pair, Table
from dalenius.risk import (
    ATTACKERS,
    Attack,
    all_tables,
    attack_grid,
    cap_scores,
    epsilon_identifiability,
    find_outliers,
    link_outliers,
    msu_overlap,
    new_row_curve,
    outlier_limits,
    shared_neighbour_identifiability,
    table_risk,
    tcap_ratio,
    weap,
)
from dalenius.risk import isolation as iso
from dalenius.risk.attack.repeats import scores
from dalenius.risk.distance.identifiability import inverse_entropy
from dalenius.risk.distance.similarity import similarity
from dalenius.risk.isolation import chance, partition
from dalenius.risk.isolation import gain as gains

# Hittmeir: ten records by hand. Keys (a, b); the third original key combination is absent from the synthetic file.
GT = {"a": list("xxxxyyyyzz"), "b": list("1122112211"), "t": list("pqppqqpqpq")}
SD = {"a": list("xxxxyyyyzz"), "b": list("1122112222"), "t": list("ppqpqqppqq")}
GT2 = {"k1": [1, 1, 4, 4, 4, 5], "k2": [2, 2, 12, 12, 12, 12], "t": [3, 3, 4, 4, 9, 10]}
SD2 = {"k1": [1, 1, 4, 4, 4, 5], "k2": [2, 2, 12, 12, 12, 12], "t": [3, 5, 4, 4, 4, 10]}


def test_cap_by_hand() -> None:
    found = cap_scores(Pair(GT, SD), ["a", "b"], "t")
    # x1: p p -> (1, 0); x2: q p -> (.5, .5); y1: q q -> (1, 1); y2: p p -> (1, 0); z1 is absent: its neighbours one key
    # away are x1 (p p), y1 (q q) and z2 (q q), so p has 2 of 6 and q 4 of 6
    assert found.cap[:8].tolist() == [1, 0, 0.5, 0.5, 1, 1, 1, 0]
    assert np.isnan(found.cap[8:]).all()
    assert found.gcap[8:].tolist() == pytest.approx([2 / 6, 4 / 6])
    assert found.radius.tolist() == [0] * 8 + [1, 1]
    assert found.zero_cap == pytest.approx(0.5)
    assert found.ignoring_cap == pytest.approx(0.625)
    assert found.mean_gcap == pytest.approx(0.6)
    assert found.unmatched == 2
    assert found.original.tolist() == [0.5, 0.5, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5]
    # ties in x2 go to the value more frequent in the whole synthetic file; both have 5 there, so to the first level
    assert found.predicted.tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 1, 1]
    assert found.accuracy == pytest.approx(0.7)


rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=30)


def frame(data: list) -> dict[str, list[str]]:
    return {n: [f"{n}{r[i]}" for r in data] for i, n in enumerate(("a", "b", "t"))}


@given(rows, rows)
@settings(max_examples=15, deadline=None)
def test_gcap_identities(first: list, second: list) -> None:
    pair = Pair(frame(first), frame(second))
    found = cap_scores(pair, ["a", "b"], "t")
    assert (found.gcap >= np.nan_to_num(found.cap) - 1e-12).all()
    assert found.mean_gcap >= found.zero_cap - 1e-12
    attack = Attack(pair, ["a", "b"], "t")
    if len({r[2] for r in second}) > 1:
        assert attack.accuracy("fr-nn") == pytest.approx(found.accuracy)
    same = cap_scores(Pair(frame(first), frame(first)), ["a", "b"], "t")
    assert same.ignoring_cap == pytest.approx(same.mean_gcap) == pytest.approx(float(same.original.mean()))


@given(rows, rows)
@settings(max_examples=30, deadline=None)
def test_gcap_equals_brute_force(first: list, second: list) -> None:
    found = cap_scores(Pair(frame(first), frame(second)), ["a", "b"], "t")
    for i, (a, b, t) in enumerate(first):
        gaps = [(a != x) + (b != y) for x, y, _ in second]
        near = [z for gap, (_, _, z) in zip(gaps, second, strict=True) if gap == min(gaps)]
        assert found.radius[i] == min(gaps)
        assert found.gcap[i] == pytest.approx(near.count(t) / len(near))


def test_isolation_figures() -> None:
    wanted = {2: 0.5, 3: 0.444444, 5: 0.4096, 10: 0.387420, 100: 0.369730, 1000: 0.368063, 10**6: 0.367880}
    for n, value in wanted.items():
        assert iso.max_isolation_probability(n) == pytest.approx(value, abs=5e-7)
    for c, value in {
        0.01: 0.0099,
        0.1: 0.090484,
        0.5: 0.303265,
        1: 0.367879,
        1.5: 0.334695,
        2: 0.270671,
        3: 0.149361,
    }.items():
        assert chance.misspecified_isolation_probability(c) == pytest.approx(value, abs=1e-6)
    curve = {  # figure 1 of the paper, n = 5
        1: 0.4096, 2: 0.8192, 3: 1.2288, 4: 1.6384, 5: 2.048, 6: 2.411265, 7: 2.698875, 8: 2.930908, 9: 3.121475,
        10: 3.2805, 15: 3.794173, 20: 4.072531, 25: 4.246733, 30: 4.365932, 40: 4.518439, 50: 4.611841, 100: 4.802980,
    }  # fmt: skip
    for k, value in curve.items():
        assert chance.expected_isolations(5, k) == pytest.approx(value, abs=1e-6)
    for k in (1, 5, 30):
        best = chance.optimal_guess_weight(5, k)
        assert chance.expected_isolations_weights(np.full(k, best), 5) == pytest.approx(curve[k], abs=1e-6)
    for share, factor in {0.5: 1.442695, 0.9: 9.491222, 0.95: 19.495726, 0.99: 99.499162}.items():
        assert iso.guesses_needed(10**6, share) / 10**6 == pytest.approx(factor, rel=1e-5)
    assert [iso.guesses_needed(1000, a) for a in (0.5, 0.9, 0.95, 0.99)] == [1442, 9483, 19477, 99401]
    assert iso.population_unique_probability(1e-8, 10**6, 10**4) == pytest.approx(0.990149, abs=1e-6)
    # r = 0.1: e^(-(1-r)/100) = 0.991040; a weight of 1/n: e^(-(1-r)/r) = 1.0112e-43; Governor Weld: N P(B) = 0.5447
    assert iso.population_unique_probability(1e-9, 10**7, 10**6) == pytest.approx(0.991040, abs=1e-6)
    assert iso.population_unique_probability(1e-8, 10**10, 10**8) == pytest.approx(1.0112e-43, rel=1e-3)
    assert iso.population_unique_probability(0.5447e-6, 10**6) == pytest.approx(0.58, abs=1e-4)
    assert iso.population_unique_probability(1e-4, 10**4, 10**4) == 1, "everybody is in the file"
    assert chance.max_weight_for_uniqueness(10**6, 10**4, 0.990149) == pytest.approx(1e-8, rel=1e-3)
    large = 10**7
    assert partition.partition_lower_bound(large, large, 0.25) / large == pytest.approx(0.227449, abs=1e-6)
    assert float(iso.isolation_probability(1e-8, 10**4)) == pytest.approx(9.999e-5, rel=1e-5)
    assert partition.partition_lower_bound(100, 100, 0.25) == pytest.approx(22.830544, abs=1e-6)
    halves = np.repeat([0.75 / 100, 1.25 / 100], 50)
    assert chance.expected_isolations_weights(halves, 100) == pytest.approx(35.788144, abs=1e-6)


@pytest.mark.parametrize(
    ("share", "m", "gain"),
    [
        (1e-6, 1, 101.004916),
        (1e-4, 9, 3.919879),
        (1e-4, 7, 3.202238),
        (0.1, 1000, 1.000450),
        (0.1, 900, 1.006277),
    ],
)
def test_isolation_gain_of_a_count(share: float, m: int, gain: float) -> None:
    assert iso.cell_isolation_gain(share, m, 10**4).gain == pytest.approx(gain, abs=1e-6)


@pytest.mark.parametrize(
    ("n", "share", "noisy", "epsilon", "chance", "gain"),
    [
        (1000, 0.01, 10, 1, 0.384969, 1.0459),
        (1000, 0.001, 1, 1, 0.634431, 1.7237),
        (1000, 0.001, 1, 3, 0.930190, 2.5273),
        (10**4, 1e-6, 1, 1, 0.026462, 2.6728),
        (10**4, 1e-6, 1, 10, 0.995480, 100.5484),
    ],
)
def test_isolation_gain_of_a_noisy_count(n, share, noisy, epsilon, chance, gain) -> None:
    found = gains.noisy_cell_isolation_gain(share, noisy, n, lambda x: np.exp(-epsilon * np.abs(x)))
    assert found.probability == pytest.approx(chance, abs=2e-6)
    assert found.gain == pytest.approx(gain, abs=2e-4)


@given(st.integers(1, 50), st.lists(st.floats(0, 1), min_size=1, max_size=60))
@settings(max_examples=50, deadline=None)
def test_nobody_isolates_more_than_the_best_guess(n: int, raw: list[float]) -> None:
    weights = np.array(raw) / max(sum(raw), 1.0)
    assert chance.expected_isolations_weights(weights, n) <= chance.expected_isolations(n, len(raw)) + 1e-9


def test_isolation_refuses_nonsense() -> None:
    for call in (
        lambda: iso.isolation_probability(1.5, 3),
        lambda: iso.guesses_needed(5, 1.0),
        lambda: chance.expected_isolations_weights([0.9, 0.9], 3),
    ):
        with pytest.raises(DaleniusError):
            call()
    assert math.isinf(gains.isolation_gain(0.5, 0.0, 10))


def test_tables_and_minimal_uniques() -> None:
    assert [len(all_tables("abc", "xyz", [d])) for d in (2, 3, 4, 5)] == [12, 19, 15, 6]
    pair = Pair(GT2, SD2)
    shares, found = weap(pair, ["k1", "k2"], "t")
    assert shares.tolist() == [0.5, 0.5, 1, 1, 1, 1]
    np.testing.assert_allclose(found, [np.nan, np.nan, 2 / 3, 2 / 3, 2 / 3, 1])
    risk = table_risk(pair, ["k1", "k2", "t"], ["t"], nu=None)
    assert (risk.common, risk.protected, risk.original, risk.risk) == (1, 2, 2, 0.5)
    assert tcap_ratio(pair, ["k1", "k2"], "t") == risk.risk
    assert table_risk(pair, ["k1", "t"], ["t"], nu=None).risk == 0.5
    assert table_risk(pair, ["k1", "t"], ["t"], geo="k2", nu=None) == risk
    for share in (1.0, 0.9, 0.3):  # a lower share leaves more values out as no news
        fewer = table_risk(pair, ["k1", "k2", "t"], ["t"], nu=share)
        assert fewer.protected <= risk.protected
    assert table_risk(pair, ["k1", "k2", "t"], ["t"], nu=0.3).protected == 1, (
        "4 is the value of a third of all"
    )
    assert table_risk(Pair(GT2, GT2), ["k1", "k2", "t"], ["t"]).risk == 1
    odd = Pair(
        {"k": [1, 1, 4], "t": [3, 3, 4]}, {"k": [1, 4, 9], "t": [3, 5, 7]}
    )  # the original has no key 9
    assert tcap_ratio(odd, ["k"], "t") == pytest.approx(1 / 3)
    assert tcap_ratio(odd, ["k"], "t", unmatched="drop") == pytest.approx(1 / 2)
    assert math.isnan(table_risk(pair, ["k2", "t"], ["t"], nu=None).risk)
    overlap = msu_overlap(pair, ["k1", "k2", "t"], max_size=3, grouped=False)
    assert overlap.value == pytest.approx(1 / 3)
    assert overlap.values["protected rows with MSU"] == 3
    assert msu_overlap(Pair(GT2, GT2), grouped=False).value == 1
    assert tcap_ratio(Pair(GT2, GT2), ["k1"], "t") == 1


def test_outlier_similarities() -> None:
    ages = similarity(np.array([0, 5, 7, 10, 11]), offset=5, scale=5)
    np.testing.assert_allclose(ages, [1, 1, 0.895025, 0.5, 0.368567], atol=5e-7)
    incomes = similarity(np.array([0, 1000, 1500, 2000, 2001]), offset=1000, scale=1000)
    np.testing.assert_allclose(incomes, [1, 1, 0.840896, 0.5, 0.499307], atol=5e-7)
    for decay in ("gauss", "exp", "linear", "squared"):
        assert similarity(np.array([10.0]), 5, 5, decay)[0] == pytest.approx(0.5)
    assert similarity(np.array([5.0, 5.1]), 5, 5, "step").tolist() == [1, 0]


def test_outlier_pair_of_table_five() -> None:
    left = {"age": [54.0], "income": [170000.0], "home": ["MORTGAGE"], "loan": ["PERSONAL"]}
    right = {
        "age": [54.0, 90.5],
        "income": [170262.0, 1.5],
        "home": ["MORTGAGE"] * 2,
        "loan": ["PERSONAL"] * 2,
    }
    from dalenius import Column, Kind, Schema

    kinds = [Kind.CONTINUOUS, Kind.CONTINUOUS, Kind.CATEGORICAL, Kind.CATEGORICAL]
    schema = Schema(tuple(Column(n, k) for n, k in zip(left, kinds, strict=True)))
    found = link_outliers(
        Table.from_frame(left, schema), Table.from_frame(right, schema), {"age": 10, "income": 2000},
        ["home", "loan"], rows=np.array([0]), candidates="all",
    )  # fmt: skip
    assert (found.pairs, found.unique, found.linked) == (1, 1, 1)
    assert found.by_knowledge["pairs"].to_list() == [1, 1, 1]
    assert found.unique_similarity == (1.0, 1.0), "ages are equal, incomes within 1,000"
    wide = link_outliers(
        Table.from_frame(left, schema), Table.from_frame(right, schema), {"age": 10, "income": 262},
        ["home", "loan"], rows=np.array([0]), candidates="all",
    )  # fmt: skip
    assert wide.unique_similarity == (0.75, 0.75), "at the limit of one number, equal in the other"


def test_outlier_rules() -> None:
    rng = np.random.default_rng(1)
    table = Table.from_frame(
        {"x": np.append(rng.normal(size=300), [9.5]), "y": np.append(rng.normal(size=300), [0.01])}
    )
    for rule in ("zscore", "tukey", "robust"):
        assert find_outliers(table, ["x"], rule)[-1]
    assert find_outliers(table, ["x", "y"], "mahalanobis")[-1]
    x = table["x"].floats()
    for rule in ("zscore", "tukey", "robust", "peirce"):
        limits = outlier_limits(table, ["x", "y"], rule)
        low, high, outliers = limits.select("low", "high", "outliers").row(0)
        assert outliers == int(find_outliers(table, ["x"], rule).sum()) == int(((x < low) | (x > high)).sum())
    assert outlier_limits(table, ["x"]).select("middle", "spread").row(0) == pytest.approx(
        (x.mean(), x.std(ddof=1))
    )
    low, high = np.quantile(x, [0.25, 0.75])
    fences = outlier_limits(table, ["x"], "tukey").select("low", "high").row(0)
    assert fences == pytest.approx((low - 1.5 * (high - low), high + 1.5 * (high - low)))
    assert outlier_limits(Table.from_frame({"x": [1.5, 1.5]}), ["x"])["low"].to_list() == [None]
    with pytest.raises(DaleniusError):
        outlier_limits(table, ["x"], "mahalanobis")
    assert find_outliers(table, ["x", "y"], combine="all").sum() == 0


def test_epsilon_identifiability_of_table_a5() -> None:
    # record 347 of Pima, its nearest real neighbour 314 and the synthetic record; weights from all 768 records
    names = [f"v{i}" for i in range(9)]
    real = [(1, 139, 46, 19, 83, 28.7, 0.654, 22, 0), (3, 113, 50, 10, 85, 29.5, 0.626, 25, 0)]
    fake = [(0, 137, 58, 15, 85, 24.6, 0.766, 21, 0)]
    entropy = [2.413572, 4.679451, 3.321887, 3.178490, 3.245031, 5.263591, 6.119453, 3.485728, 0.646799]
    from dalenius import Column, Kind, Schema
    from dalenius.risk import Space

    schema = Schema(tuple(Column(n, Kind.CONTINUOUS) for n in names))
    tables = [
        Table.from_frame({n: [float(r[i]) for r in rows] for i, n in enumerate(names)}, schema)
        for rows in (real, fake)
    ]
    pair = Pair(*tables)
    weighted = Space.of(pair, names, "euclidean", {n: 1 / h for n, h in zip(names, entropy, strict=True)})
    own = weighted.nearest(weighted.original, weighted.original, leave_out_self=True).distance[0, 0]
    other = weighted.nearest(weighted.original, weighted.protected).distance[0, 0]
    assert own == pytest.approx(6.493791, abs=2e-6)
    assert other == pytest.approx(4.007089, abs=2e-6)
    plain = Space.of(pair, names, "euclidean")
    assert plain.nearest(plain.original, plain.original, leave_out_self=True).distance[0, 0] == pytest.approx(
        28.118335, abs=1e-6
    )
    assert plain.nearest(plain.original, plain.protected).distance[0, 0] == pytest.approx(13.668304, abs=1e-6)


def test_epsilon_identifiability_of_a_copy_and_of_fresh_draws() -> None:
    rng = np.random.default_rng(2)
    a, b = ({c: rng.normal(size=400) for c in "xyz"} for _ in range(2))
    assert epsilon_identifiability(Pair(a, a)).value == 100
    fresh = epsilon_identifiability(Pair(a, b))
    assert fresh.value == pytest.approx(fresh.yardsticks["fresh draws"], abs=10)
    assert inverse_entropy(Pair({"c": [1.0, 1.0]}, {"c": [1.0]}), ["c"]) == {"c": 0.0}


REAL = [
    (0, 0),
    (1.13, 0.21),
    (0.31, 1.34),
    (1.52, 1.47),
    (0.72, 0.64),
    (2.05, 0.53),
    (10, 10),
    (10.94, 10.22),
]
FAKE = [
    (0.43, 0.12),
    (0.91, 1.07),
    (1.83, 1.16),
    (0.24, 0.75),
    (10.37, 10.81),
    (11.21, 10.98),
    (1.36, 0.83),
    (5.08, -6.02),
]


@pytest.mark.parametrize(
    ("k", "value", "clusters", "noise"), [(5, 0.25, 2, 0), (6, 0.0, 1, 0), (4, 0.5, 3, 7)]
)
def test_shared_neighbours_toy(k: int, value: float, clusters: int, noise: int) -> None:
    from dalenius import Column, Kind, Schema

    schema = Schema((Column("x", Kind.CONTINUOUS), Column("y", Kind.CONTINUOUS)))
    pair = Pair(
        *(
            Table.from_frame({"x": [float(p[0]) for p in pts], "y": [float(p[1]) for p in pts]}, schema)
            for pts in (REAL, FAKE)
        )
    )
    found = shared_neighbour_identifiability(pair, k, metric="euclidean")
    assert found.value == value
    assert found.label.max() + 1 == clusters
    assert int((found.label < 0).sum()) == noise


def test_majority_guess() -> None:
    for share, value in ((0.9612, 0.4901), (0.9615, 0.4902), (0.96, 0.489796)):
        truth = np.repeat([1, 0], [round(share * 10**4), round((1 - share) * 10**4)])
        found = scores(truth, np.ones(10**4))
        assert found["macro F1"] == pytest.approx(value, abs=5e-5)
        assert found["MCC"] == 0


def test_new_rows() -> None:
    real = {"a": [100, 200, 300], "c": ["x", "y", "z"]}
    fake = {"a": [101, 150, 300, 0], "c": ["x", "y", "z", "x"]}
    curve = new_row_curve(Pair(real, fake), [0, 0.01, 0.5, 1.0])
    assert curve["protected"].to_list() == [0.75, 0.5, 0.25, 0.25]
    gaps = Pair({"a": [1, None], "c": ["x", "y"]}, {"a": [None, None, 1], "c": ["y", "x", "x"]})
    assert new_row_curve(gaps, [0.01])["protected"].to_list() == pytest.approx([1 / 3])
    rng = np.random.default_rng(3)
    a, b = ({c: rng.lognormal(size=80) for c in "xy"} for _ in range(2))
    shares = new_row_curve(Pair(a, b))["protected"].to_numpy()
    assert (np.diff(shares) <= 0).all()


@pytest.mark.slow
def test_every_attacker_learns_and_fails_on_noise() -> None:
    rng = np.random.default_rng(5)

    def draw(n: int) -> dict[str, np.ndarray]:
        k = rng.integers(0, 4, n)
        return {"k": k.astype(str), "j": rng.integers(0, 3, n).astype(str), "t": (k > 1).astype(str)}

    people, outside = draw(200), draw(200)
    noise = people | {"t": rng.permutation(people["t"])}
    real, noisy = (Attack(Pair(people, made, outside), ["k", "j"], "t") for made in (people, noise))
    for name in ATTACKERS:
        if name != "zero-rule":
            assert real.accuracy(name) == real.accuracy(name, "outsiders") == 1.0
        assert noisy.accuracy(name) < 0.75
    grid = attack_grid(Pair(people, people, outside), ["k", "j"], "t", (1, 2), ("forest", "fr-nn"))
    assert grid["subsets"].to_list() == [2, 2, 1, 1]
    assert grid["accuracy"].max() == 1.0
