"""The committed assets are what the sources in web/ give."""

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
ASSETS = ROOT / "roofline" / "report" / "page"


def test_the_script_names_the_sources_that_lie_beside_it() -> None:
    """Names and contents of the sources in one digest, as web/build.mjs writes it."""
    names = sorted(
        [f"src/{p.name}" for p in (WEB / "src").iterdir()] + ["build.mjs", "package-lock.json"]
    )
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\n".encode() + (WEB / name).read_bytes())
    said = re.search(
        r"Sources: sha256-([0-9a-f]{64})", (ASSETS / "page.js").read_text(encoding="utf-8")
    )
    assert said is not None
    assert said[1] == digest.hexdigest(), "the page is older than its sources: make page"


def test_building_again_gives_the_same_bytes(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not on the PATH: apt install nodejs npm")
    if not (WEB / "node_modules" / "esbuild").exists():
        pytest.skip("the page's packages are not installed: cd web && npm ci")
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=WEB, check=True, capture_output=True)
    for name in ("page.js", "page.css"):
        assert (tmp_path / name).read_bytes() == (ASSETS / name).read_bytes(), name


def test_every_package_is_pinned_and_none_names_a_host() -> None:
    manifest = json.loads((WEB / "package.json").read_text())
    versions = [*manifest["dependencies"].values(), *manifest["devDependencies"].values()]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions)
    assert "resolved" not in (WEB / "package-lock.json").read_text()


def test_the_licences_of_what_is_in_the_page_are_in_it() -> None:
    """By name and locked version; each text once for all that share it."""
    lock = json.loads((WEB / "package-lock.json").read_text())["packages"]
    brought = {
        n.removeprefix("node_modules/"): p["version"]
        for n, p in lock.items()
        if n and not p.get("dev")
    }
    notice = (ASSETS / "page.js").read_text(encoding="utf-8").partition("*/")[0]
    named = dict(re.findall(r"([a-z0-9-]+) (\d+\.\d+\.\d+)", notice))
    assert named.items() <= brought.items()
    assert lock[""]["dependencies"].keys() <= named.keys()
    for sentence in (
        "Copyright 2010-2026 Mike Bostock",
        "Copyright 2021 Mapbox",
        "THE SOFTWARE IS PROVIDED",
    ):
        assert sentence in notice
