"""Fail when a file of the package is too long to read at a sitting."""

import sys
import tokenize
from pathlib import Path

LIMIT = 250  # lines of code; 200 is the aim
NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
            tokenize.ENCODING, tokenize.ENDMARKER}  # fmt: skip


def code_lines(path: Path) -> int:
    """Lines that hold code: not blank, not comment, not docstring."""
    with tokenize.open(path) as file:
        tokens = [t for t in tokenize.generate_tokens(file.readline) if t.type not in NOT_CODE]
    code = [t for t in tokens if not (t.type == tokenize.STRING and t.line.lstrip()[:3] == '"""')]
    return len({line for t in code for line in range(t.start[0], t.end[0] + 1)})


def main() -> int:
    """Name every file over the limit."""
    sizes = {path: code_lines(path) for path in sorted(Path("roofline").rglob("*.py"))}
    over = {path: lines for path, lines in sizes.items() if lines > LIMIT}
    for path, lines in over.items():
        print(f"{path}: {lines} lines of code, {LIMIT} are allowed; split it by idea")
    if not over:
        print(f"{len(sizes)} files, {sum(sizes.values())} lines of code, none over {LIMIT}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
