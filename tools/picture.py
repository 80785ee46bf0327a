"""The picture of the README: python tools/picture.py report.html docs/img/report.png."""

import shutil
import sys
from pathlib import Path

WIDTH, HEIGHT = 1200, 1150  # the answer and the chart; the tables below are cut off


def main(page: Path, picture: Path) -> None:
    """Open `page` in the system's Chromium and keep what a reader sees first."""
    from playwright.sync_api import sync_playwright

    picture.parent.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        view = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", offline=True
        )
        view.goto(page.resolve().as_uri())
        view.wait_for_load_state("networkidle")
        view.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
