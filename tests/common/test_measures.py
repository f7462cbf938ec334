"""One battery for every registered measure. A measure registered later is checked without anybody writing a test."""

from __future__ import annotations

import doctest
import json
import math
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import dalenius.risk
import dalenius.utility  # noqa: F401 (both rooms register their measures)
from dalenius.core.errors import DataError, OptionError
from dalenius.core.result import Result
from dalenius.core.small_cells import THRESHOLD
from dalenius.core.style import configured
from dalenius.counts.measure import MEASURES, Measure, measure
from dalenius.counts.pair import Pair
from dalenius.data.lens import Lens
from dalenius.evaluation.policy import DIMENSIONS

from .conftest import EXTRA, KEYS, TARGETS, survey_schema

INFOS = {measure.info.name: measure.info for measure in MEASURES.values()}
NAMES = list(INFOS)
RISK = [name for name in NAMES if INFOS[name].family == "risk"]
UTILITY = [name for name in NAMES if INFOS[name].family == "utility"]
SIDED = [name for name in UTILITY if INFOS[name].better != "centre"]
CENTRED = [name for name in NAMES if INFOS[name].better == "centre"]
DEPENDENT = [name for name in UTILITY if INFOS[name].sees_dependence]
NEEDY = [name for name in NAMES if INFOS[name].needs]


def measured(
    name: str, files: dict[str, pl.DataFrame], protected: pl.DataFrame, original: pl.DataFrame | None = None
) -> Result:
    base = files["original"] if original is None else original
    needs = INFOS[name].needs & {*EXTRA, "links"}
    given = (id(base), id(protected), id(files["holdout"]), needs)
    if (
        given not in PAIRS
    ):  # measures share a pair, as they do in an evaluation; the frames stay, so that ids do
        PAIRS[given] = paired(base, protected, files["holdout"], needs), (base, protected, files["holdout"])
    return MEASURES[name](PAIRS[given][0])


PAIRS: dict[tuple[int, int, int, frozenset[str]], tuple[Pair, tuple[pl.DataFrame, ...]]] = {}


def paired(
    original: pl.DataFrame, protected: pl.DataFrame, holdout: pl.DataFrame, needs: frozenset[str]
) -> Pair:
    kept = pl.exclude([column for need, column in EXTRA.items() if need not in needs])
    base = original.select(kept)
    whole = survey_schema(needs).select(base.columns)
    schema = replace(
        whole, columns=tuple(c if c.name != "region" else replace(c, levels=None) for c in whole)
    )
    # what needs links gets them: row i of the protected file is taken to be row i of the original
    lens = Lens(links=np.arange(protected.height) % base.height) if "links" in needs else None
    return Pair(
        base,
        protected.select(kept),
        holdout.select(kept),
        schema=schema,
        keys=KEYS,
        targets=TARGETS,
        lens=lens,
    )


@pytest.fixture(scope="session")
def results(files: dict[str, pl.DataFrame]) -> dict[tuple[str, str], Result]:
    class Lazy(dict):  # type: ignore[type-arg]
        def __missing__(self, place: tuple[str, str]) -> Result:
            self[place] = measured(place[0], files, files[place[1]])
            return self[place]

    return Lazy()


@pytest.fixture(scope="session")
def values(results: dict[tuple[str, str], Result]) -> dict[tuple[str, str], float]:
    class Lazy(dict):  # type: ignore[type-arg]
        def __missing__(self, place: tuple[str, str]) -> float:
            return results[place].value

    return Lazy()


def badness(name: str, values: dict[tuple[str, str], float], *variants: str) -> list[float]:
    """Figures turned so that more is worse, for risk and for utility."""
    return [INFOS[name].shortfall(values[name, variant]) for variant in variants]


@pytest.mark.parametrize("name", [name for name in RISK if INFOS[name].sees_copy])
def test_a_copy_is_worst_on_risk(name, values):
    copy, fresh, shuffled = badness(name, values, "copy", "fresh", "shuffled")
    assert copy > fresh, "a copy of the original must look riskier than a fresh sample"
    assert copy > shuffled, "a copy of the original must look riskier than shuffled columns"


ONE_CLOSEST = ("dcr",)
"""One row repeated has one closest person, in the data or not: all or nothing, a toss of a coin."""


@pytest.mark.parametrize("name", [n for n in RISK if INFOS[n].sees_copy and n not in ONE_CLOSEST])
def test_a_constant_file_gives_away_less_than_a_copy(name, values):
    copy, constant = badness(name, values, "copy", "constant")
    assert math.isnan(constant) or constant < copy


@pytest.mark.parametrize("name", [name for name in SIDED if INFOS[name].sees_copy])
def test_a_copy_is_best_on_utility(name, values):
    copy, fresh, shuffled = badness(name, values, "copy", "fresh", "shuffled")
    assert copy <= fresh
    assert copy <= shuffled + 1e-12


@pytest.mark.parametrize("name", CENTRED)
def test_a_fresh_sample_is_nearest_to_the_centre(name, values):
    """Of a figure that is best in the middle both ends are bad: a copy, and a file that is nothing like the data."""
    fresh, copy, shuffled, constant = badness(name, values, "fresh", "copy", "shuffled", "constant")
    assert fresh < min(copy, shuffled, constant)
    low, high = sorted((values[name, "copy"], values[name, "constant"]))
    assert low < INFOS[name].centre < high


@pytest.mark.parametrize("name", [name for name in UTILITY if INFOS[name].sees_spread])
def test_a_constant_file_is_of_no_use(name, values):
    fresh, constant = badness(name, values, "fresh", "constant")
    assert math.isnan(constant) or constant > fresh


@pytest.mark.parametrize("name", DEPENDENT)
def test_shuffled_columns_are_noticed(name, values):
    fresh, shuffled = badness(name, values, "fresh", "shuffled")
    assert shuffled > fresh, "a fresh sample of the population must look more useful than shuffled columns"


@pytest.mark.parametrize("name", NAMES)
def test_values_stay_in_the_documented_range(name, values):
    low, high = INFOS[name].bounds
    for variant in ("copy", "fresh", "shuffled"):
        value = values[name, variant]
        assert math.isfinite(value)
        assert low <= value <= high


@pytest.mark.parametrize("name", NAMES)
def test_result_reads_itself(name, results):
    result = results[name, "fresh"]
    assert result.name == name
    assert result.info is INFOS[name]
    assert len(result.sentence.split()) > 5
    assert "nan" not in result.sentence.lower().split()
    assert result.sentence.rstrip().endswith((".", "!", "?"))
    json.dumps(result.to_dict(), default=str)
    assert result.info.title in result._repr_html_() or "&" in result._repr_html_()
    if result.interval is not None:
        assert result.interval.low <= result.value <= result.interval.high
    if result.chart is not None:
        assert configured(result.chart()).to_dict()
    assert result.records is None, "per-record figures are made on request only"


@pytest.fixture(scope="session")
def rare_files(files) -> list[pl.DataFrame]:
    """Original and protected file in which seven people have a region of their own."""
    few = pl.int_range(pl.len()) < 7
    mark = pl.when(few).then(pl.lit(RARE)).otherwise("region").alias("region")
    return [files[which].with_columns(mark) for which in ("original", "fresh")]


RARE = "Rzz-rare"


@pytest.mark.parametrize("name", NAMES)
def test_what_few_people_have_is_not_shown(name, files, rare_files):
    """No rendering of any figure tells something about seven people: figures, words, tables, charts, JSON."""
    result = measured(name, files, rare_files[1], rare_files[0])
    assert result.threshold == THRESHOLD
    texts = [str(result), repr(result), result._repr_html_(), json.dumps(result.to_dict(), default=str)]
    if result.chart is not None:
        texts.append(json.dumps(configured(result.chart()).to_dict(), default=str))
    assert not any(RARE in text for text in texts)
    assert result.table is None or result.counts is not None, "say what the rows of the table rest on"
    for count in result.counts or ():
        assert not len(result.shown.filter(pl.col(count).is_between(1, THRESHOLD - 1)))


def room(name: str, value: float) -> float:
    """How far a figure may move when rows are put in another order: by a twentieth of its range where it is random."""
    low, high = INFOS[name].bounds
    if not INFOS[name].random:
        return 1e-9 + 1e-6 * abs(value)
    return 0.05 * (high - max(low, 0.0)) if math.isfinite(high) else 0.1 * abs(value)


LINKED = [name for name in NAMES if "links" in INFOS[name].needs]


@pytest.mark.parametrize("name", LINKED)
def test_links_follow_rows_into_another_order(name, files):
    rng = np.random.default_rng(5)
    original, made = files["original"].drop(EXTRA.values()), files["fresh"].drop(EXTRA.values())
    first, second = rng.permutation(original.height), rng.permutation(made.height)
    plain = Pair(original, made, lens=Lens(links=np.arange(made.height)))
    moved = Pair(original[first], made[second], lens=Lens(links=np.argsort(first)[second]))
    assert MEASURES[name](moved).value == pytest.approx(MEASURES[name](plain).value, abs=1e-9)


@pytest.fixture(scope="session")
def moved(files: dict[str, pl.DataFrame]) -> list[pl.DataFrame]:
    """Protected file and original with rows, and the original's columns, in another order."""
    rng = np.random.default_rng(5)
    original = files["original"][rng.permutation(files["original"].height)]
    protected = files["fresh"][rng.permutation(files["fresh"].height)]
    return [protected, original.select(original.columns[::-1])]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LINKED])
def test_row_and_column_order_do_not_matter(name, files, moved, values):
    value, other = values[name, "fresh"], measured(name, files, *moved).value
    assert other == pytest.approx(value, abs=room(name, value), rel=0)


@pytest.fixture(scope="session")
def odd_files(few: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    fresh = few["fresh"]
    return {
        "half the rows in another order of columns": fresh[: fresh.height // 2].select(fresh.columns[::-1]),
        "twice the rows, a new level, floats for integers": pl.concat([fresh, few["holdout"]]).with_columns(
            pl.when(pl.int_range(pl.len()) < 9).then(pl.lit("new")).otherwise("marital").alias("marital"),
            pl.col("age").cast(pl.Float64),
        ),
        "missing column": fresh.drop("bmi"),
        "constant and empty columns, new numbers": fresh.with_columns(
            pl.lit("single").alias("marital"),
            pl.lit(None, dtype=pl.Float64).alias("bmi"),
            pl.col("age") + 200,
        ),
        "one row": fresh[:1],
    }


@pytest.fixture(scope="session")
def few(files: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The same files with fewer rows, where a range is all that is looked at."""
    return {which: frame[: frame.height // 4] for which, frame in files.items()}


@pytest.mark.parametrize("name", NAMES)
def test_odd_protected_files(name, few, odd_files):
    low, high = MEASURES[name].info.bounds
    for what, protected in odd_files.items():
        value = measured(name, few, protected).value
        assert math.isnan(value) or low <= value <= high, what


@pytest.fixture(scope="session")
def poor_files(few: dict[str, pl.DataFrame]) -> list[pl.DataFrame]:
    """Protected file and original with a constant column and an empty one."""
    changes = [pl.lit("single").alias("marital"), pl.lit(None, dtype=pl.Float64).alias("bmi")]
    return [few[which].with_columns(changes) for which in ("fresh", "original")]


@pytest.mark.parametrize("name", NAMES)
def test_constant_and_missing_columns_in_the_original(name, few, poor_files):
    low, high = MEASURES[name].info.bounds
    value = measured(name, few, *poor_files).value
    assert math.isnan(value) or low <= value <= high


@pytest.mark.parametrize("name", NEEDY)
def test_what_is_lacking_is_an_error_not_a_number(name, files):
    """Also for whoever calls the function itself."""
    schema = replace(survey_schema().with_roles(keys=[], targets=[]), rules=())
    original, fresh = (files[which].drop(EXTRA.values()) for which in ("original", "fresh"))
    pair = Pair(original, fresh, schema=schema)
    home = sys.modules[MEASURES[name].function.__module__]
    called = getattr(home, MEASURES[name].function.__name__)
    assert called is MEASURES[name]
    with pytest.raises(DataError, match="needs") as error:
        called(pair)
    assert "name them" in str(error.value)


@pytest.mark.parametrize("name", NAMES)
def test_options_are_checked_in_every_call(name, files):
    pair = Pair(files["original"], files["fresh"])
    with pytest.raises(OptionError, match="no option 'colour'") as error:
        MEASURES[name](pair, colour="red")
    assert name in str(error.value)


@pytest.mark.parametrize("name", NAMES)
def test_documentation_is_kept_and_run(name):
    one = MEASURES[name]
    module = sys.modules[one.function.__module__]
    assert one.__doc__ == one.function.__doc__
    found = {test.name: test for test in doctest.DocTestFinder().find(module)}
    assert found[f"{module.__name__}.{one.function.__name__}"].examples, "its example must be found and run"


@pytest.mark.parametrize("name", NAMES)
def test_metadata_is_complete(name):
    info = INFOS[name]
    assert info.title
    assert info.meaning.endswith(".")
    assert info.reference
    assert info.bounds[0] < info.bounds[1]
    assert info.needs <= {"keys", "targets", "holdout", "households", "identifiers", "rules", "links"}
    assert (info.dimension is not None) == (info.family == "risk"), (
        f"{name}: a risk measure says by dimension= what it is about ({', '.join(DIMENSIONS)}), one of utility does not"
    )
    assert info.centre is None or info.bounds[0] < info.centre < info.bounds[1]


def test_a_name_is_taken_once_but_a_file_may_be_loaded_again():
    register = measure("toy", "Toy", "utility", "A toy.", better="higher", bounds=(0, 1), reference="none")

    def toy(pair: Pair) -> Result:
        return Result("toy", 1.0, "All is well.")

    def other(pair: Pair) -> Result:
        return Result("toy", 0.0, "All is lost.")

    try:
        first = register(toy)
        assert register(toy) == first
        assert isinstance(MEASURES["toy"], Measure)
        with pytest.raises(OptionError, match="registered twice"):
            register(other)
    finally:
        MEASURES.remove("toy")
