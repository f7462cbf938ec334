"""A new user's way through the page, in a real browser."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from dalenius.release import read_plan, verify_pack

pytest.importorskip("fastapi", reason="the web extra is not installed")


@contextmanager
def served(folder: Path):
    """A real `dalenius app` for a workspace, and the address it prints."""
    command = [sys.executable, "-u", "-c", "from dalenius.cli import app; app()", "app", "-w", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder.parent)
    try:
        yield re.search(r"http://\S+", process.stdout.readline())[0]
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def host_of(address: str) -> str:
    return address.split("/enter", maxsplit=1)[0]


def choose_methods(page, *wanted: str) -> None:
    for box in page.locator('input[name="method"]').all():
        box.set_checked(box.get_attribute("value") in wanted)


def loosen(page) -> None:
    """A policy that the example's files meet."""
    for name, limit in (
        ("copies", "60"),
        ("near", "99"),
        ("dcr", "100"),
        ("membership", "1"),
        ("repU", "60"),
    ):
        page.fill(f'input[name="p-{name}-limit"]', limit)
    page.fill('input[name="p-DiSCO-limit"]', "60")
    page.fill('input[name="p-S_pMSE-limit"]', "50")


def open_example(page, address: str) -> None:
    page.goto(address)
    page.click("#example")
    page.wait_for_selector("text=What are the columns?")


@pytest.mark.slow
def test_from_the_example_to_the_pack(tmp_path, browsing):
    """Open the example, set two roles, run three methods, see the map, drill down, compare, download the pack."""
    faults: list[str] = []
    with served(tmp_path / "space") as address, browsing(host_of(address)) as seen:
        page = seen.page
        page.goto(address)
        faults += seen.faults() + seen.overlaps()
        page.click("#example")
        page.wait_for_selector("text=What are the columns?")
        faults += seen.overlaps()
        assert page.locator("#step-columns tbody tr").count() == 10
        page.select_option('select[aria-label="role of smoker"]', "key")
        page.select_option('select[aria-label="role of health"]', "target")
        first = page.locator(".intruder").first
        assert first.locator('.key input:checked + span:text-is("smoker")').count() == 1
        assert first.locator('.target input:checked + span:text-is("health")').count() == 1
        choose_methods(page, "independent", "saturated", "cart")
        loosen(page)
        faults += seen.faults()
        assert seen.fits()
        page.focus("#run")
        page.keyboard.press("Enter")  # by keyboard
        page.wait_for_selector("#verdict")
        seen.drawn()
        shown = page.locator(".chart").first.inner_text()
        assert all(name in shown for name in ("independent", "saturated", "cart"))
        assert "is the most useful" in page.locator("#why").inner_text()
        verdict = page.locator("#verdict").inner_text().lower()
        for question in (
            "what would be released?",
            "what could go wrong?",
            "how much of that is this file's doing?",
            "what may it be used for?",
        ):
            assert question in verdict
        faults += seen.faults() + seen.overlaps()
        assert seen.fits()
        for part in ("public", "internal"):
            with page.expect_download() as caught:
                page.click(f"#{part}")
            caught.value.save_as(tmp_path / f"{part}.zip")
        page.click("table a >> text=cart")
        page.wait_for_selector("text=Column by column")
        seen.drawn()
        assert page.locator(".chart svg").count() > 8
        faults += seen.faults() + seen.overlaps()
        page.go_back()
        page.check('input[aria-label="compare cart"]')
        page.check('input[aria-label="compare independent"]')
        page.click("text=Compare the marked files")
        page.wait_for_selector("#combinations")
        seen.drawn()
        heads = page.locator("#combinations table").first.locator("thead").inner_text()
        assert "still found in cart" in heads
        assert "still found in independent" in heads
        assert page.locator("#combinations table").first.locator("tbody tr").count() > 5
        assert "region + sex + age" in page.locator("#combinations").inner_text()
        faults += seen.faults() + seen.overlaps()
        assert seen.fits()
        page.locator("#pairs a").first.click()
        page.wait_for_selector(".sheets")
        seen.drawn()
        assert page.locator(".sheets .chart svg").count() == 3
        faults += seen.faults()
    assert seen.noise == []
    assert faults == []
    for part in ("public", "internal"):
        with zipfile.ZipFile(tmp_path / f"{part}.zip") as archive:
            archive.extractall(tmp_path / "got")
    assert verify_pack(tmp_path / "got" / "release").accepted


@pytest.mark.slow
def test_intruders_options_stop_continue_and_restart(tmp_path, browsing):
    """Several intruders and options chosen on the page reach the plan; a run is stopped, continued, found again."""
    space = tmp_path / "space"
    with served(space) as address, browsing(host_of(address), scheme="dark") as seen:
        page = seen.page
        open_example(page, address)
        faults = seen.faults()
        page.click('button:has-text("employer")')
        assert page.locator(".intruder").count() == 2
        second = page.locator(".intruder").nth(1)
        second.locator(".target input:checked").first.uncheck()
        page.fill("#s-1-share", "5")
        choose_methods(page, "cart", "independent", "forest")
        page.locator('.method:has(input[value="cart"]) summary').click()
        page.fill("#o-cart-minbucket", "each: 5, 40")
        page.fill('input[name="p-repU-limit"]', "a lot")
        page.click("#run")
        page.wait_for_selector("text=the limit of repU must be a number")
        assert page.input_value("#o-cart-minbucket") == "each: 5, 40", "what was typed is still there"
        assert ["400" in line for line in seen.noise] == [True], "the browser notes the refused form"
        seen.noise.clear()
        loosen(page)
        page.click("#run")
        page.wait_for_selector("#cancel")
        faults += seen.faults()
        page.click("#cancel")
        page.wait_for_selector("#continue")
        assert "Stopped" in page.locator("#progress").inner_text()
        faults += seen.faults()
        run = page.url
    assert seen.noise == []
    plan = read_plan(next((space / "runs").iterdir()) / "plan.yaml")
    assert [s.name for s in plan.scenarios] == ["acquaintance", "employer"]
    assert plan.scenarios[1].population_share == 0.05
    assert len(plan.scenarios[1].targets) == len(plan.scenarios[0].targets) - 1
    assert {c.name for c in plan.candidates} == {
        "cart minbucket=5",
        "cart minbucket=40",
        "independent",
        "forest",
    }
    with served(space) as address, browsing(host_of(address)) as seen:  # a restart finds it again
        page = seen.page
        page.goto(address)
        assert "stopped, can continue" in page.locator("main").inner_text()
        page.click("text=Example survey")
        assert page.url.endswith(run.rsplit("/", 1)[-1])
        page.click("#continue")
        page.wait_for_selector("#verdict")
        seen.drawn()
        page.click('.pills a:has-text("employer")')
        page.wait_for_selector('.pills a[aria-current]:has-text("employer")')
        seen.drawn()
        page.click("text=Change and run again")  # a new run: what came of the first is kept
        page.wait_for_selector("text=What are the columns?")
        assert page.input_value("#o-cart-minbucket") == "each: 5, 40"
        page.goto(host_of(address))
        assert page.locator("tbody tr").count() == 2
    assert seen.noise == []
    assert faults == []


@pytest.mark.slow
def test_the_page_by_keyboard_alone(tmp_path, browsing):
    """From the start to the set-up page with the keyboard, focus always to be seen."""
    with served(tmp_path / "space") as address, browsing(host_of(address)) as seen:
        page = seen.page
        page.goto(address)
        for _ in range(12):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "example":
                break
        page.keyboard.press("Enter")
        page.wait_for_selector("text=What are the columns?")
        reached = set()
        for _ in range(140):
            page.keyboard.press("Tab")
            here = page.evaluate("document.activeElement.id || document.activeElement.name")
            reached.add(here)
            if here == "run":
                break
        assert {"kind-0", "role-9", "s-0-key", "s-0-target", "method", "p-repU-limit", "run"} <= reached
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
    assert seen.noise == []
