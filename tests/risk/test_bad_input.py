"""What a call lacks is told in one line, and odd files get the right figure or none."""

from __future__ import annotations

import datetime as dt
import io
import tracemalloc
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from dalenius import Pair, Schema, Table
from dalenius import risk as r
from dalenius.cli._console import PlainConsole, Terminal
from dalenius.core.errors import DaleniusError, DataError, OptionError
from dalenius.counts.measure import MEASURES
from dalenius.risk.distance.space import Space

KEYS, TARGETS = ["k", "j"], ["t"]


def people(rows: int, seed: int) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    return {
        "k": rng.integers(0, 5, rows).astype(str).tolist(),
        "j": rng.integers(0, 50, rows).tolist(),
        "x": rng.normal(size=rows).tolist(),
        "t": rng.integers(0, 3, rows).astype(str).tolist(),
    }


PAIR = Pair(people(40, 0), people(30, 1), people(20, 2), keys=KEYS, targets=TARGETS)
NO_HOLDOUT = Pair(people(40, 0), people(30, 1), keys=KEYS, targets=TARGETS)
NO_TARGETS = Pair(people(40, 0), people(30, 1), keys=KEYS)
EMPTY = {name: [] for name in people(1, 0)}
ONLY_UNITS = Pair(
    {"id": ["a", "b"]}, {"id": ["b", "c"]}, schema=Schema.infer({"id": ["a", "b"]}).with_roles(entity="id")
)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: r.dcr(NO_HOLDOUT), "needs a holdout"),
        (lambda: r.adversarial(NO_HOLDOUT), "needs a holdout"),
        (lambda: r.membership_distance(NO_HOLDOUT), "needs a holdout"),
        (lambda: r.membership_density(NO_HOLDOUT), "needs a holdout"),
        (lambda: Pair(people(9, 0), people(9, 1), EMPTY), "the holdout has no rows"),
        (lambda: r.disco(NO_TARGETS), "needs targets"),
        (lambda: r.dcap(NO_TARGETS), "needs targets"),
        (lambda: r.gcap(NO_TARGETS), "needs targets"),
        (lambda: r.attacker(NO_TARGETS), "needs targets"),
        (lambda: r.inference(NO_TARGETS), "needs targets"),
        (lambda: r.multi_target(PAIR, KEYS, []), "no targets are named"),
        (lambda: r.train_control_risk(people(9, 0), lambda table, seed: table, KEYS, []), "no targets"),
        (lambda: r.identical_matches(ONLY_UNITS), "no column to compare"),
        (lambda: r.unique_exact_matches(ONLY_UNITS), "no column to compare"),
        (lambda: r.new_rows(ONLY_UNITS), "no column to compare"),
        (lambda: r.singling_out(ONLY_UNITS), "no column to compare"),
        (lambda: r.dcr(PAIR, most=0), "use 1 or more"),
        (lambda: r.nndr(PAIR, most=-1), "use 1 or more"),
        (lambda: r.attacker(PAIR, most=0), "use 1 or more"),
        (lambda: r.linkability(PAIR, attacks=0), "use 1 or more"),
        (lambda: r.linkability(PAIR, lineup=0), "lineup is 0"),
        (lambda: r.singling_out(PAIR, attacks=0), "attacks is 0"),
        (lambda: r.membership_density(PAIR, neighbours=0), "neighbours is 0"),
        (lambda: r.key_scan(PAIR, "t", most_keys=0), "most_keys is 0"),
        (lambda: r.exposed_combinations(PAIR, most=-1), "most is -1"),
        (lambda: r.new_rows(PAIR, tolerance=-0.1), "tolerance is -0.1"),
        (lambda: r.inference(PAIR, ["x"], tolerance=1), "tolerance"),
        (lambda: r.inference(PAIR, known=["t", "k"]), "among the known"),
        (lambda: r.uniques(PAIR, KEYS, denominator="rows"), "denominator is 'rows'"),
        (lambda: r.tcap_ratio(PAIR, KEYS, "t", unmatched="keep"), "unmatched is 'keep'"),
        (lambda: r.disclosure(PAIR, "t", KEYS, denominator_basis="rows"), "denominator_basis is 'rows'"),
        (lambda: r.epsilon_identifiability(PAIR, weights="entropy"), "weights is 'entropy'"),
        (lambda: r.find_outliers(PAIR.original, ["x"], combine="some"), "combine is 'some'"),
        (lambda: r.link_outliers(PAIR.original, PAIR.protected, {"x": 1.0}, candidates="some"), "candidates"),
        (lambda: r.shadow_audit({"a": [1]}, lambda table, seed: table), "need at least 2"),
        (lambda: r.attribute_inference({}, people(9, 0), "t", KEYS), "no file to train on"),
        (lambda: r.suda(people(9, 0), KEYS, max_size=0), "max_size is 0"),
        (lambda: r.k_anonymity(EMPTY, KEYS), "no rows"),
        (lambda: r.suda(EMPTY, KEYS).result(), "no rows"),
        (lambda: r.sample_risk(EMPTY, KEYS).result(), "no rows"),
        (lambda: r.t_closeness(EMPTY, KEYS, "t"), "no rows"),
        (lambda: r.l_diversity(people(9, 0), KEYS, "k"), "'k' is a key"),
        (lambda: r.t_closeness(people(9, 0), KEYS, "k"), "'k' is a key"),
        (lambda: r.best_attack_gaussian(1, fpr=0), "must be"),
        (lambda: r.best_attack_gaussian(-1), "must be"),
        (lambda: r.best_attack_zcdp(-1), "must be"),
        (lambda: r.best_attack(float("nan")), "must be"),
        (lambda: r.risk_page(NO_TARGETS, ["disco"]), "needs targets"),
    ],
)
def test_bad_calls_are_told(call: Callable[[], object], text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DaleniusError, match=text):
            call()


@pytest.mark.parametrize(
    ("measure", "options"),
    [
        ("nndr", {"most": "abc"}),
        ("disco", {"grouped": "maybe"}),
        ("disco", {"keys": "sex"}),
        ("dcr", {"metric": 1}),
    ],
)
def test_options_of_another_kind_are_told(measure: str, options: dict) -> None:
    with pytest.raises(OptionError, match=f"{measure}: {next(iter(options))} is"):
        r.risk_page(PAIR, options={measure: options})


def test_a_huge_budget_protects_nobody() -> None:
    assert r.best_attack(1000) == 1


def test_keys_and_targets_may_come_with_the_call() -> None:
    pair = Pair(people(40, 0), people(30, 1))
    wanted = r.disco(pair, KEYS, TARGETS).value
    assert MEASURES["disco"](pair, keys=KEYS, targets=TARGETS).value == wanted
    page = r.risk_page(pair, [], options={"disco": {"keys": KEYS, "targets": TARGETS}})
    assert page.results["disco"].value == wanted


def test_one_outlier_does_not_hide_a_copy() -> None:
    """A range so wide that neighbours are alike in single precision (incomes with one billionaire)."""
    rng = np.random.default_rng(1)
    close = 5e8 + rng.permutation(400)[:298]
    data, outside = np.append(close, [0, 1e9]), np.append(close + 0.5, [0.5, 1e9 + 1])
    pair = Pair({"x": data}, {"x": data}, {"x": outside})
    space = Space.of(pair)
    assert space.nearest(space.protected, space.original).distance.max() == 0
    assert r.dcr(pair).value == 100
    assert r.epsilon_identifiability(pair).value == 100


def test_numbers_as_large_as_they_can_be() -> None:
    data = {"x": [1.7e308, -1.7e308, 0.5, 1.7e307]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        space = Space.of(Pair(data, {"x": [1.7e308, 0.5]}))
    found = space.nearest(space.protected, space.original, 2)
    assert found.distance[:, 0].tolist() == [0, 0]
    assert found.distance[:, 1] == pytest.approx([0.45, 0.05])


def test_infinite_numbers() -> None:
    numbers = [0.37 * i for i in range(98)]
    data = {"x": [*numbers, 900.5, float("inf")]}
    pair = Pair(data, {"x": [*numbers, 500.0, 600.0]})
    assert r.outlier_linkage(pair).value == 0
    endless = Pair({"k": ["a", "b"], "x": [1.5, 2.5]}, {"k": ["a", "b"], "x": [1.5, float("inf")]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert r.tolerance_disco(endless, "x", 1, ["k"]).value == 50
    with pytest.raises(DataError, match="finite"):
        Space.of(pair, metric="euclidean")


def test_more_keys_than_bits_in_a_number() -> None:
    wide = {
        f"c{i}": [None if (i * 7 + row) % 5 == 0 else str((i + row) % 3) for row in range(30)]
        for i in range(70)
    }
    rows = list(zip(*wide.values(), strict=True))
    wanted = [
        sum(all(a is None or b is None or a == b for a, b in zip(mine, other, strict=True)) for other in rows)
        for mine in rows
    ]
    assert r.frequencies(wide, list(wide)).fk.tolist() == wanted


def test_rows_without_an_owner_are_their_own() -> None:
    data = people(40, 0) | {"id": [None if i < 20 else f"p{i // 2}" for i in range(40)]}
    schema = Schema.infer(data).with_roles(keys=KEYS, targets=TARGETS, entity="id")
    assert Pair(data, people(30, 1), schema=schema).units.count == 30
    assert Table.from_frame(data, schema).units.count == 30
    homes: list = [None, None, 1, 2]
    found = r.sample_risk({"k": ["a", "b", "b", "c"], "home": homes}, ["k"], household="home").household
    assert found is not None
    assert found.tolist() == pytest.approx([1.0, 0.5, 0.5, 1.0])


def test_another_protected_file_keeps_units_and_kinds() -> None:
    data = people(40, 0) | {"id": [f"p{i // 2}" for i in range(40)]}
    schema = Schema.infer(data).with_roles(keys=KEYS, targets=TARGETS, entity="id")
    pair = Pair(data, people(30, 1), schema=schema)  # the unit is not in the protected file
    other = pair.swap_in(people(30, 1))
    assert (pair.units.column, other.units.column) == ("id", "id")
    assert r.uniques(other, KEYS) == r.uniques(pair, KEYS)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(40)]
    dates = Pair(people(40, 0) | {"d": days}, people(40, 1) | {"d": list(map(str, days))}, keys=["d"])
    assert dates.swap_in(dates.original).original["d"].column.kind == dates.original["d"].column.kind


def test_a_level_called_missing_is_no_gap() -> None:
    numbers = [0.37 * i for i in range(99)] + [900.5]
    gone, word = [*["a"] * 99, None], [*["a"] * 99, "missing"]
    left, right = (Table.from_frame({"x": numbers, "c": c}) for c in (gone, word))
    assert r.link_outliers(left, right, {"x": 1.0}, ["c"], candidates="all").linked == 0
    assert r.link_outliers(right, right, {"x": 1.0}, ["c"], candidates="all").linked == 1


def test_working_objects_do_not_print_values() -> None:
    data = people(40, 0)
    data["k"][3], data["t"][5] = "ZZSECRET", "ZZSECRET"
    weights = {"w": [987654321.0, *[2.0] * 39]}
    pair = Pair(data, people(30, 1), keys=KEYS, targets=TARGETS)
    made = [
        r.disclosure(pair, "t", KEYS),
        r.disclosure(pair, "t", KEYS).cells,
        r.cap_scores(pair, KEYS, "t"),
        r.frequencies(data | weights, KEYS, weight="w"),
        r.sample_risk(data | weights, KEYS, weight="w"),
        r.suda(data, KEYS),
        r.replicated_rows(pair, KEYS),
        Space.of(pair),
    ]
    for thing in made:
        assert "ZZSECRET" not in repr(thing)
        assert "array" not in repr(thing)
        assert "98765" not in repr(thing)
    assert "DiSCO" in repr(made[0])


def test_names_with_line_ends_stay_on_their_line() -> None:
    data = {"a\n# Fine": ["x", "y"] * 10, "b": ["u", "v", "u", "u"] * 5}
    text = r.risk_page(Pair(data, data, keys=["a\n# Fine"], targets=["b"])).to_markdown()
    assert "\n# Fine" not in text


def test_names_cannot_steer_the_terminal() -> None:
    terminal, written = Terminal(), io.StringIO()
    terminal.err = PlainConsole(file=written, force_terminal=True, markup=False, emoji=False)
    with terminal.progress("measuring") as show:
        show("l-diversity of [/red]")  # looks like the end of a style
    assert "[/red]" in written.getvalue()
    PlainConsole(file=(plain := io.StringIO()), markup=False, emoji=False).print("a :x: \x1b[2J name")
    assert plain.getvalue() == "a :x: \\x1b[2J name\n"


def test_many_keys_and_levels_fit_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    draw = lambda: {c: [f"{c}{v}" for v in rng.integers(0, 3000, 4000)] for c in "kt"}  # noqa: E731
    pair = Pair(draw(), draw())
    wanted = r.cap_scores(pair, ["k"], "t")
    monkeypatch.setattr("dalenius.risk.cap.gcap.MOST_CELLS", 300_000)
    tracemalloc.start()
    found = r.cap_scores(pair, ["k"], "t")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(found.gcap, wanted.gcap)
    np.testing.assert_array_equal(found.predicted, wanted.predicted)
    assert peak < 40e6  # the whole table has 2,000 x 3,000 cells of eight bytes
