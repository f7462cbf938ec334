"""`dalenius models`, as a steward types it."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from skops import io as skops_io
from typer.testing import CliRunner

from dalenius.cli import app
from tests.models.conftest import fit, people


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    train, others = people(300, 1), people(300, 2)
    pl.DataFrame(train).write_csv(folder / "train.csv")
    pl.DataFrame(others).write_csv(folder / "others.csv")
    skops_io.dump(fit(DecisionTreeClassifier(random_state=1), train), folder / "tree.skops")
    skops_io.dump(fit(LogisticRegression(), train), folder / "logistic.skops")
    return folder


def run(*words: object):
    return CliRunner().invoke(app, ["models", *map(str, words)])


def test_check_tells_sentences_with_yardsticks(files):
    done = run(
        "check", files / "tree.skops", files / "train.csv", "--holdout", files / "others.csv", "-p", "y", "--refits", 4,
        "--chart", files / "roc.svg", "--exposed", files / "rows.csv",
    )  # fmt: skip
    assert done.exit_code == 1, done.output  # without --must the limits of a plan hold
    text = " ".join(done.output.split())
    for words in (
        "model-small-leaves <= 0 %:",
        "accuracy 1 on the training file",
        "0.5 is a coin",
        "100 % of the people stand",
    ):
        assert words in text
    assert "<svg" in (files / "roc.svg").read_text()
    assert pl.read_csv(files / "rows.csv").columns == ["row", "score"]


def test_limits_decide_the_exit_code(files):
    common = ("check", files / "tree.skops", files / "train.csv", "-p", "y", "--refits", 4, "-q")
    common = (*common, "--skip", "shadow,attribute", "--holdout", files / "others.csv")
    assert run(*common, "--must", "model-membership <= 0.6").exit_code == 1
    assert run(*common, "--must", "model-membership <= 1").exit_code == 0
    weak = run(*common[:-4], "--skip", "lira,sacro", *common[-2:], "--must", "model-membership <= 1")
    assert weak.exit_code == 1  # the strongest attack was left out: no limit on the figure is met
    assert run(*common, "--must", "model-freedom >= 10").exit_code in (0, 1)
    without = ("check", files / "tree.skops", files / "train.csv", "-p", "y", "-q")
    assert run(*without, "--must", "model-membership <= 1").exit_code == 1  # what is not measured is not met


def test_records_in_an_attribute_of_the_file_are_found(files):
    train = people(300, 1)
    x = np.column_stack([train[f"x{i}"] for i in range(6)])
    line = ("--must", "model-stored-records <= 0 %", "-q")
    for number, kept in enumerate((None, x, np.tanh(x), x.tobytes().hex(), x.tolist())):
        model = fit(LogisticRegression(), train)
        if kept is not None:
            model.notes_ = kept
        skops_io.dump(model, files / f"kept-{number}.skops")
        done = run("check", files / f"kept-{number}.skops", files / "train.csv", "-p", "y", *line)
        assert done.exit_code == (kept is not None), done.output


def test_json_names_no_row(files):
    done = run(
        "check", files / "logistic.skops", files / "train.csv", "-p", "y", "--holdout", files / "others.csv", "--json",
        "--skip", "shadow", "--refits", 4, "-q",
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert told["figures"]["model-membership"]["yardsticks"] == {"coin": 0.5}
    assert np.isfinite(told["performance"]["holdout"])
    assert "records" not in told["figures"]["model-membership"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("tree.pkl", "train.csv", "-p", "y"), "refused"),
        (("gone.skops", "train.csv", "-p", "y"), "cannot read the model"),
        (("tree.skops", "gone.csv"), "gone.csv"),
        (("tree.skops", "train.csv", "-p", "z"), "no column 'z'"),
        (("tree.skops", "train.csv", "-p", "y", "--skip", "all"), "--skip 'all'"),
    ],
)
def test_faults_are_one_line(files, words, told):
    done = run("check", *(files / w if "." in w else w for w in words))
    assert done.exit_code == 2
    assert told in done.output + (done.stderr if done.stderr_bytes else "")


def test_explain_declares_a_logistic_model_before_any_attack(files):
    done = run(
        "explain", files / "logistic.skops", files / "train.csv", "--holdout", files / "others.csv", "-p", "y",
        "--explains", "logit", "--people", 40, "--queries", 60, "--decimals", "0,2", "--top", "2",
        "--chart", files / "map.svg",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert "Every column of a record follows exactly from its explanation: 7 queries" in text
    assert "100 % of the whole records" in text
    assert "<svg" in (files / "map.svg").read_text()


def test_explain_keeps_limits(files):
    common = (
        "explain", files / "logistic.skops", files / "train.csv", "--holdout", files / "others.csv", "-p", "y", "-q",
        "--explains", "logit", "--people", 40, "--queries", 60, "--decimals", "2",
    )  # fmt: skip
    assert run(*common, "--must", "model-explanations <= 50 %").exit_code == 1
    assert run(*common, "--must", "model-explanations <= 100 %").exit_code == 0


def test_rows_without_an_outcome_are_told_apart_from_unknown_classes(files):
    frame = pl.read_csv(files / "train.csv")
    gaps = frame.with_columns(y=pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise(pl.col("y")))
    gaps.write_csv(files / "gaps.csv")
    done = run("check", files / "tree.skops", files / "gaps.csv", "-p", "y")
    assert done.exit_code == 2
    assert "column 'y' of the training file has no value in 3 rows; leave these rows out" in " ".join(
        done.output.split()
    )


def test_columns_in_another_order_are_named_as_a_reason(files):
    train = pl.read_csv(files / "train.csv")
    names = [name for name in train.columns if name != "y"]
    model = DecisionTreeClassifier(random_state=1, max_depth=2).fit(
        train[names].to_numpy(), train["y"].to_numpy()
    )
    skops_io.dump(model, files / "nameless.skops")
    swapped = ",".join([names[1], names[0], *names[2:]])
    done = run("check", files / "nameless.skops", files / "train.csv", "-p", "y", "--features", swapped)
    assert "name its columns in its order" in " ".join(done.output.split())


def test_who_looks_for_private_fits_here_is_shown_the_way():
    for words in (["fit"], ["fit", "people.csv", "pay ~ age", "-e", "1"]):
        done = run(*words)
        assert done.exit_code == 2
        assert "by 'dalenius dp regress'" in " ".join(done.output.split())
    assert " fit " not in run("--help").output
