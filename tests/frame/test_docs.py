"""Examples in the documentation are run: Python sessions, and commands whose output is fixed."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from roofline.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)

# Commands that answer the same on every machine.
FIXED = {("roofline", "op"), ("roofline", "--version")}


def blocks(page: Path, *languages: str) -> list[str]:
    return [body for language, body in FENCE.findall(page.read_text()) if language in languages]


def sessions(page: Path) -> list[tuple[list[str], str]]:
    """Every `$ command` of a page with what stands under it, continued lines joined."""
    found = []
    for block in blocks(page, "console"):
        joined = block.replace("\\\n", " ")
        for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((shlex.split(command, comments=True), output))
    return found


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_python_sessions_say_what_they_show(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))  # nothing measured here may show
    # One session a page: later blocks go on with the names of earlier ones.
    text = "\n".join(t for t in blocks(page, "python", "pycon") if ">>>" in t)
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    told: list[str] = []
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    outcome = doctest.DocTestRunner(optionflags=options).run(test, out=told.append)
    assert outcome.failed == 0, "".join(told)
    assert outcome.attempted == text.count(">>> ")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_print_what_stands_under_them(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))  # nothing measured here may show
    monkeypatch.setenv("COLUMNS", "100")
    for words, output in sessions(page):
        if tuple(words[:2]) in FIXED:
            assert main(words[1:]) == 0
            assert capsys.readouterr().out.rstrip() == output.rstrip(), " ".join(words)


def test_a_page_cut_into_sessions(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ roofline op gemm \\\n  m=1\none\ntwo\n$ ls\n```\n")
    assert sessions(page) == [(["roofline", "op", "gemm", "m=1"], "one\ntwo\n"), (["ls"], "")]


def test_every_page_of_the_guide_has_a_title() -> None:
    for page in PAGES:
        assert page.read_text().startswith("# "), named(page)


def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    """The same as `make docs`: a broken link or a page in no table of contents is an error."""
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d",
         str(tmp_path / "doctrees"), str(ROOT / "docs"), str(tmp_path / "html")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "html" / "index.html").exists()


# Names that a page's programs take from the reader's own.
READER = """
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batch = torch.ones(4, 8)
batches = loader = [batch] * 6

def train(batch):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
"""
# What a program needs that a CPU does not have: a profiler of kernels, a Triton kernel.
ELSEWHERE = ("rl.deep(", "count_triton(", "rl.declare(")


def programs() -> list[tuple[Path, str]]:
    found = [(page, body) for page in PAGES for body in blocks(page, "python") if ">>>" not in body]
    return [(page, body) for page, body in found if not any(word in body for word in ELSEWHERE)]


@pytest.mark.parametrize(
    ("page", "program"), programs(), ids=[named(page) for page, _ in programs()]
)
def test_python_programs_run(
    page: Path, program: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))
    (tmp_path / "program.py").write_text(READER + program)

    ran = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, f"{named(page)}:\n{program}\n{ran.stderr}"
