"""What tests share: hypothesis without a clock, no garbage looked for twice, a browser without a network (axe-core)."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests import LONG

# A first call compiles kernels and machines are busy: no test may depend on how long a call takes. The same code gives
# the same outcome on every machine; DALENIUS_LONG=1 looks for examples nobody has seen, and more of them.
hypothesis.settings.register_profile(
    "house", deadline=None, derandomize=not LONG, max_examples=300 if LONG else 50
)
hypothesis.settings.load_profile("house")

# Thousands of tests and all libraries live until the end: to look through them for garbage again and again took a sixth
# of the time. What is there when all are collected is left out; what a test leaves behind is looked through as ever.
gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.enable()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is tried with a method that needs further packages is slow, and left out where they are not there."""
    from dalenius.synth import METHODS

    needy = {name: kind.info for name, kind in METHODS._all.items() if kind.info.packages}
    for item in items:
        params = getattr(getattr(item, "callspec", None), "params", {}).values()
        for info in (needy[value] for value in params if isinstance(value, str) and value in needy):
            item.add_marker(pytest.mark.slow)
            if not info.installed:
                item.add_marker(pytest.mark.skip(reason=f"{info.name} needs {', '.join(info.packages)}"))


def pytest_unconfigure(config: pytest.Config) -> None:
    gc.unfreeze()


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
OVERLAPS = (Path(__file__).parent / "overlaps.js").read_text(encoding="utf-8")
DRAWN = "[...document.querySelectorAll('.chart')].every(c => c.dataset.drawn === 'yes')"


class Watched:
    """A page whose console, errors and requests to elsewhere are written down."""

    def __init__(self, page: Any, allowed: tuple[str, ...]) -> None:
        self.page, self.allowed = page, allowed
        self.noise: list[str] = []
        page.set_default_timeout(90_000)
        page.on("console", lambda m: self.noise.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.noise.append(str(error)))
        page.on("request", self._requested)

    def _requested(self, request: Any) -> None:
        if not request.url.startswith(self.allowed):
            self.noise.append(request.url)

    def drawn(self) -> None:
        """Wait until every chart is drawn."""
        self.page.wait_for_function(DRAWN)

    def faults(self, within: str = "html") -> list[str]:
        """Serious accessibility faults of the page, or a part of it, as it is shown now, by axe-core."""
        package = pytest.importorskip(
            "axe_playwright_python", reason="axe-playwright-python is not installed"
        )
        self.page.wait_for_load_state()
        self.page.evaluate((Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
        found = self.page.evaluate(
            "within => axe.run(within).then("
            "r => r.violations.map(v => [v.id, v.impact, v.nodes[0].html.slice(0, 120)]))",
            within,
        )
        return [f"{name}: {where}" for name, impact, where in found if impact in ("serious", "critical")]

    def overlaps(self) -> list[str]:
        """Pairs of texts that lie on one another; a page without any text says nothing."""
        texts, faults = self.page.evaluate(OVERLAPS)
        assert texts, "there is no text to look at"
        return list(faults)

    def fits(self) -> bool:
        """Whether nothing is wider than the window, once its style sheet is there as well."""
        self.page.wait_for_load_state()
        return bool(self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


@pytest.fixture
def browsing():
    """Opens windows of a real browser; see `window`."""
    if BROWSER is None:
        pytest.skip("no chromium is installed on this machine")
    pytest.importorskip("playwright.sync_api", reason="the playwright package is not installed")
    return window


@contextmanager
def window(*allowed: str, width: int = 1366, height: int = 768, scheme: str = "light") -> Iterator[Watched]:
    """A window of a fresh browser that may only reach addresses with these beginnings."""
    from playwright import sync_api as playwright

    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        yield Watched(page, (*allowed, "data:"))
        browser.close()
