"""A recipe, a synthesizer and a file with a privacy budget on one map, in a real browser; and what can be mistyped."""

from __future__ import annotations

import zipfile

import pytest

from dalenius.core.errors import OptionError
from dalenius.web.choices import Choices
from dalenius.web.recipe_form import RecipeForm, read_levels
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
        for name in ("copies", "near", "dcr", "membership", "DiSCO", "repU", "S_pMSE"):
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
