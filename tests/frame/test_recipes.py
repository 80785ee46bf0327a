"""What CONTRIBUTING promises of every finding, format and command."""

import re
import tomllib
from pathlib import Path

from roofline.cli import COMMANDS
from roofline.importers import FORMATS
from roofline.version import __version__

ROOT = Path(__file__).parents[2]


def text(folder: str, pattern: str) -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / folder).glob(pattern)))


def test_every_finding_has_its_page_its_line_and_its_tests() -> None:
    codes = set(re.findall(r'"(RF\d{3})"', text("roofline/diagnosis", "**/*.py")))
    pages = {path.stem for path in (ROOT / "docs" / "findings").glob("RF*.md")}
    assert codes == pages
    listed = (ROOT / "docs" / "findings" / "index.md").read_text()
    tested = text("tests/diagnosis", "*.py")
    assert {code for code in codes if f"[{code}]({code}.md)" not in listed} == set()
    assert {code for code in codes if code not in tested} == set()


def test_every_format_has_tests_that_name_it() -> None:
    """By folder, file or module; `nsys_stats` is of the family `nsys`."""
    folder = ROOT / "tests" / "importers"
    told = text("tests/importers", "**/*.py") + "\n".join(map(str, folder.rglob("*")))
    assert {each.name for each in FORMATS if each.name.partition("_")[0] not in told} == set()


def test_every_command_stands_in_the_manual_page() -> None:
    manual = (ROOT / "docs" / "man.md").read_text()
    assert {name for name in COMMANDS if f"`roofline {name}" not in manual} == set()


def test_the_targets_that_are_written_about_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    written = "\n".join(
        path.read_text() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    )
    named = {
        target
        for words in re.findall(r"(?:`|^\$ )make ([a-z][a-z -]*)", written, re.MULTILINE)
        for target in words.split()
    }
    assert named - targets == set()


def test_the_architecture_page_has_the_rows_that_are_checked() -> None:
    """The pictures of the house and the contracts that import-linter reads are the same rows."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    checked = [[names(row) for row in contract["layers"]] for contract in contracts]
    page = (ROOT / "docs" / "architecture.md").read_text()
    house = page.partition("## The house")[2].partition("\n## ")[0]
    drawn = [
        [names(line[:46]) for line in picture.splitlines() if line[:46].strip()]
        for picture in re.findall(r"```\n(.*?)```", house, re.DOTALL)
    ]
    assert drawn == checked


def names(row: str) -> list[str]:
    """The names of a row; brackets mark what is not here yet, in both."""
    return row.replace(" ", "").split("|")


def test_the_version_is_that_of_the_package() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert settings["project"]["version"] == __version__
