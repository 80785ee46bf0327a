"""The Chromium that draws pages here: the system's, or the one that playwright brought."""

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CURE = "apt install chromium, or python -m playwright install --with-deps chromium"


def executable(playwright: "Playwright") -> str | None:
    """The path of a Chromium that starts; None where there is none.

    On Ubuntu /usr/bin/chromium-browser may be a script that only says to install a snap.
    """
    own = playwright.chromium.executable_path
    found = [path for name in NAMES if (path := shutil.which(name))]
    return next((path for path in (*found, own) if Path(path).exists() and _starts(path)), None)


def _starts(path: str) -> bool:
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.returncode == 0 and "Chrom" in said.stdout
