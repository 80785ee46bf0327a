"""What CONTRIBUTING promises of every finding, format and command."""

import re
from pathlib import Path

from roofline.cli import COMMANDS
from roofline.importers import FORMATS

ROOT = Path(__file__).parents[2]


def text(folder: str, pattern: str) -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / folder).glob(pattern)))


def test_every_finding_has_its_page_its_line_and_its_tests() -> None:
    codes = set(re.findall(r'"(RF\d{3})"', text("roofline/diagnosis", "*.py")))
    pages = {path.stem for path in (ROOT / "docs" / "findings").glob("RF*.md")}
    assert codes == pages
    listed = (ROOT / "docs" / "findings" / "index.md").read_text()
    tested = text("tests/diagnosis", "*.py")
    assert {code for code in codes if f"[{code}]({code}.md)" not in listed} == set()
    assert {code for code in codes if code not in tested} == set()


def test_every_format_has_samples() -> None:
    for each in FORMATS:
        samples = [p for p in (ROOT / "tests" / "importers" / each.name).rglob("*") if p.is_file()]
        assert samples, f"no sample of {each.name} in tests/importers"


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
