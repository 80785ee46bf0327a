"""A real browser for the page: a Chromium, offline, with a fresh profile."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roofline.report import html
from tools.browser import CURE, executable

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
Open = Callable[..., Any]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("playwright is not installed: pip install 'roofline[dev]'")
    with sync_playwright() as playwright:
        chromium = executable(playwright)
        if chromium is None:
            pytest.skip(f"no Chromium that starts: {CURE}")
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"), executable_path=chromium, args=FLAGS, headless=True,
            offline=True,
        )  # fmt: skip
        yield context
        context.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Write a document as a page and open it; at the end, nothing was requested and nothing failed."""
    pages, asked, failed = [], [], []

    def open_(
        document: dict[str, Any], width: int = 1280, scheme: str = "light", at: str = ""
    ) -> Any:
        path = tmp_path / f"report-{len(pages)}.html"
        html.write(document, path)
        page = browser.new_page()
        pages.append(page)
        page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
        page.on("console", lambda said: failed.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: failed.append(str(error)))
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.goto(path.as_uri() + at)
        page.wait_for_selector("#chart svg.plot .axis")
        return page

    yield open_
    for page in pages:
        page.close()
    assert {url for url in asked if not url.startswith(tmp_path.as_uri())} == set()
    assert failed == []
