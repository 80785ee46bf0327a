"""Put the real output of the two commands into the README: python tools/readme.py.

Runs `make run` and `make test` in this clone and replaces what stands under them.  What is cut out
is marked with "[...]"; nothing else is changed.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CUT = "[...]"
CEILINGS, OPERATORS = 4, 6  # lines of each table that are kept


def main() -> None:
    """Fill both places; a command that fails leaves the README as it was."""
    page = (ROOT / "README.md").read_text()
    page = filled(page, "make run", shortened(output("run")))
    page = filled(page, "make test", closing(output("test")))
    (ROOT / "README.md").write_text(page)


def output(target: str) -> list[str]:
    """What `make TARGET` prints, line by line."""
    done = subprocess.run(
        ["make", "--no-print-directory", target],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return [line.rstrip() for line in done.stdout.splitlines()]


def shortened(lines: list[str]) -> list[str]:
    """The first ceilings, the answer, the first operators, and the first finding."""
    table = first(lines, "ceiling ")
    recorded = first(lines, ".venv/bin/roofline run")
    operators = first(lines, "operator ")
    findings = [i for i in range(operators, len(lines)) if re.match(r"RF\d{3} ", lines[i])]
    end = next(i for i in range(findings[0], len(lines)) if not lines[i])
    written = [line for line in lines if line.startswith("roofline: wrote")]
    return [
        *lines[table - 3 : table + 1 + CEILINGS],
        CUT,
        *lines[recorded : operators + 1 + OPERATORS],
        CUT,
        *lines[findings[0] : end],
        CUT,
        *written,
    ]


def closing(lines: list[str]) -> list[str]:
    """The line that counts the tests."""
    return [CUT, next(line for line in reversed(lines) if re.match(r"=+ .* in .*=$", line))]


def first(lines: list[str], start: str) -> int:
    """Index of the first line that begins so."""
    return next(i for i, line in enumerate(lines) if line.startswith(start))


def filled(page: str, name: str, lines: list[str]) -> str:
    """`page` with the block after its command "$ NAME" replaced by that command and `lines`."""
    block = "```console\n(?:\\$ git clone[^\n]*\n)?" + re.escape(f"$ {name}\n") + "(.*?)```"
    found = re.search(block, page, re.DOTALL)
    if found is None:
        raise LookupError(f"the README has no console block with the command {name}")
    return page[: found.start(1)] + "\n".join(lines) + "\n" + page[found.end(1) :]


if __name__ == "__main__":
    main()
