"""A recipe, a synthesizer and a file with a privacy budget on one map, in a real browser; and what can be mistyped."""

from __future__ import annotations

import zipfile

import numpy as np
import polars as pl
import pytest

from dalenius import examples
from dalenius.core.errors import OptionError
from dalenius.data.table import Table
from dalenius.web.choices import Choices
from dalenius.web.recipe_form import RecipeForm, read_levels
from dalenius.web.systems_form import SystemsForm, system_facts
from tests.web.test_page import choose_methods, host_of, open_example, served

pytest.importorskip("fastapi", reason="the web extra is not installed")


def test_every_fault_of_a_recipe_is_told_at_once() -> None:
    form = RecipeForm(True, {"age": ("width", "ten"), "sex": ("groups", "")}, {"job": "5, 10"}, "three", "5")
    with pytest.raises(OptionError, match="4 faults") as told:
        form.steps(["age", "sex"])
    assert "job: it is no key" in str(told.value)
    with pytest.raises(OptionError, match="at least one column"):
        RecipeForm(True, k="").steps(["age"])


def test_choices_with_a_recipe_come_back() -> None:
    form = RecipeForm(True, {"age": ("width", "10")}, {"sex": "all"})
    kept = Choices({}, {}, [], [], recipe=form)
    assert Choices.from_dict(kept.to_dict()) == kept
    assert read_levels("5, 10") == [5.0, 10.0, "all"]


@pytest.mark.slow
def test_a_recipe_cart_and_a_private_file_on_one_map(tmp_path, browsing):
    faults: list[str] = []
    with served(tmp_path / "space") as address, browsing(host_of(address)) as seen:
        page = seen.page
        open_example(page, address)
        choose_methods(page, "cart", "mst")
        page.click("text=A recipe that changes the records themselves")
        page.check('input[name="r-on"]')
        page.fill('textarea[aria-label="levels of age"]', "5, 10, 20")
        page.select_option('select[aria-label="what becomes of income"]', "round")
        page.fill('textarea[aria-label="value for income"]', "1000")
        page.fill("#r-k", "3")
        page.fill("#r-limit", "10")
        faults += seen.faults()
        assert seen.fits()
        page.screenshot(path=tmp_path / "setup.png", full_page=True)
        for name in ("copies", "near", "parts", "dcr", "membership", "DiSCO", "repU", "S_pMSE"):
            page.uncheck(f'input[name="p-{name}-on"]')
        page.click("text=Further lines, for experts")
        page.fill("#further", "k >= 3")
        page.click("#run")
        page.wait_for_selector("#verdict")
        seen.drawn()
        shown = page.locator(".chart").first.inner_text()
        assert all(name in shown for name in ("recipe", "cart", "mst"))
        assert "'recipe'" in page.locator("#why").inner_text()
        assert "real people" in page.locator("#verdict").inner_text()
        faults += seen.faults()
        page.screenshot(path=tmp_path / "result.png", full_page=True)
        with page.expect_download() as caught:
            page.click("#public")
        caught.value.save_as(tmp_path / "public.zip")
        page.click("table a >> text=recipe")
        page.wait_for_selector("text=Column by column")
        seen.drawn()
        faults += seen.faults()
    names = zipfile.ZipFile(tmp_path / "public.zip").namelist()
    assert any(name.endswith(".masked.csv") for name in names)
    assert seen.noise == []
    assert faults == []


def homes(rows: int = 700) -> pl.DataFrame:
    """People with a home on the map and four readings of power."""
    people = examples.survey(6000, seed=1).filter(pl.col("income") > 0, pl.col("hours") > 0)
    people = people.select(
        "region", "longitude", "latitude", "sex", "age", "marital", "income", "hours", "diagnosis"
    )
    rng = np.random.default_rng(1)
    used = rng.gamma(8.0, 50.0, (rows, 1)) * rng.uniform(0.8, 1.2, (rows, 4))
    readings = pl.DataFrame(used.round().astype(int), schema=[f"power_{q}" for q in range(1, 5)])
    return pl.concat([people.drop_nulls().head(rows), readings], how="horizontal")


SYSTEMS = {
    "spectral": "variables=income,hours", "average-series": "variables=power_1,power_2,power_3,power_4 k=5",
    "robin-hood": "keys=region,sex,marital fairness=marital k=3", "donut": "near=500 far=2000",
    "grid": "size=64000 halvings=3 k=5",
    "safepub": "variables=region,sex,marital,diagnosis epsilon=3 delta=0.001",
}  # fmt: skip


def test_options_of_systems_are_read_or_told_at_once() -> None:
    table = Table.from_frame(homes(60))
    shown = {facts["info"].name: facts for facts in system_facts(table, SystemsForm(), ["region", "sex"])}
    assert set(SYSTEMS) <= set(shown)
    assert shown["spectral"]["typed"] == "variables=age,income,hours,power_1"
    assert shown["robin-hood"]["typed"] == "keys=region,sex fairness=sex"
    assert "donut" not in {f["info"].name for f in system_facts(table.drop(["longitude"]), SystemsForm(), [])}
    wrong = SystemsForm(["spectral", "grid"], {"spectral": "variable=income", "grid": 'size="64'})
    with pytest.raises(OptionError, match=r"2 faults: Spectral.*no option 'variable'.*quotation mark"):
        wrong.candidates()
    kept = Choices({}, {}, [], [], systems=SystemsForm(list(SYSTEMS), dict(SYSTEMS)))
    assert Choices.from_dict(kept.to_dict()) == kept
    assert list(kept.candidates()) == list(SYSTEMS)


@pytest.mark.slow
def test_each_system_beside_cart_and_a_recipe_on_one_map(tmp_path, browsing):
    homes().write_csv(tmp_path / "homes.csv")
    faults: list[str] = []
    with served(tmp_path / "space") as address, browsing(host_of(address)) as seen:
        page = seen.page
        page.goto(address)
        page.set_input_files('input[type="file"]', tmp_path / "homes.csv")
        page.click("#open")
        page.wait_for_selector("text=What are the columns?")
        choose_methods(page, "cart")
        page.click("text=A recipe that changes the records themselves")
        page.check('input[name="r-on"]')
        page.fill('textarea[aria-label="levels of age"]', "10, 20, 40")
        page.fill("#r-limit", "10")
        page.click("text=Maskers that change certain columns")
        for name, options in SYSTEMS.items():
            page.check(f'input[name="m-{name}-on"]')
            page.fill(f'textarea[name="m-{name}-options"]', options)
        faults += seen.faults()
        assert seen.fits()
        page.screenshot(path=tmp_path / "setup.png", full_page=True)
        for name in ("copies", "near", "parts", "dcr", "membership", "DiSCO", "repU", "S_pMSE"):
            page.uncheck(f'input[name="p-{name}-on"]')
        page.click("text=Further lines, for experts")
        page.fill("#further", "mean S_pMSE <= 1000000")
        page.click("#run")
        page.wait_for_selector("#verdict")
        seen.drawn()
        shown = page.locator(".chart").first.inner_text()
        assert all(name in shown for name in ("recipe", "cart", *SYSTEMS))
        faults += seen.faults()
        page.screenshot(path=tmp_path / "result.png", full_page=True)
    assert seen.noise == []
    assert faults == []
