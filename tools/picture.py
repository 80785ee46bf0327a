"""The picture of the README: python -m tools.picture report.html docs/img/report.png."""

import sys
from pathlib import Path

from tools.browser import CURE, executable

WIDTH, HEIGHT = 1200, 1280  # the answer, the first findings and the chart; tables are cut off


def main(page: Path, picture: Path) -> None:
    """Open `page` in a Chromium and keep what a reader sees first."""
    from playwright.sync_api import sync_playwright

    picture.parent.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as play:
        found = executable(play)
        if found is None:
            sys.exit(f"no Chromium that starts: {CURE}")
        browser = play.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu"]
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
