"""Models of several tables saved and opened again: the same databases come out, and nothing is executed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from dalenius.core.errors import FileError
from dalenius.data import examples
from dalenius.synth.relational.method import make_relational
from dalenius.synth.relational.model_file import load_database_model
from tests.synth.relational.test_relational import shop

CASES = {
    "conditional": lambda: (make_relational("conditional"), shop(150)),
    "events": lambda: (make_relational("conditional", base="syndiffix"), examples.visits(150, seed=1)),
    "hma": lambda: (make_relational("hma"), examples.visits(150, seed=1)),
    "flatten": lambda: (make_relational("flatten", largest=3), examples.visits(150, seed=1)),
    "join": lambda: (make_relational("join"), examples.benefit_registers(200)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_saved_model_draws_the_same(case, tmp_path):
    method, base = CASES[case]()
    model = method.fit(base, seed=1)
    model.save(tmp_path / "a.model")
    again = load_database_model(tmp_path / "a.model")
    first, second = model.sample(seed=3), again.sample(seed=3)
    assert list(first.tables) == list(second.tables)
    assert [str(link) for link in first.links] == [str(link) for link in second.links]
    for name in first.tables:
        frames = [base[name].to_frame("polars") for base in (first, second)]
        assert_frame_equal(*frames, check_dtypes=False)
    model.save(tmp_path / "b.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()


def test_a_saved_model_holds_json_and_plain_arrays_and_no_original_key(tmp_path):
    make_relational("conditional").fit(shop(150), seed=1).save(tmp_path / "a.model")
    with zipfile.ZipFile(tmp_path / "a.model") as archive:
        names = archive.namelist()
        text = archive.read("head.json").decode()
    assert all(name == "head.json" or name.endswith(".npy") for name in names)
    keys = shop(150)["customers"].to_frame("polars")["customer_id"].to_list()
    assert not [key for key in keys if f'"{key}"' in text]


def test_a_damaged_model_and_another_kind_are_told(tmp_path):
    file: Path = tmp_path / "a.model"
    make_relational("hma").fit(examples.visits(150), seed=1).save(file)
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(FileError, match="damaged"):
        load_database_model(file)
    file.write_text("no model")
    with pytest.raises(FileError, match="damaged"):
        load_database_model(file)
