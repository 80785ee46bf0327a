"""Every code that can be printed has a page, and every page a code."""

import re
from pathlib import Path

DIAGNOSIS = Path(__file__).parents[2] / "roofline" / "diagnosis"
PAGES = Path(__file__).parents[2] / "docs" / "findings"


def test_codes_and_pages_match():
    codes = {c for f in DIAGNOSIS.rglob("*.py") for c in re.findall(r'"(RF\d{3})"', f.read_text())}
    pages = {page.stem for page in PAGES.glob("RF*.md")}
    index = (PAGES / "index.md").read_text()

    assert len(codes) >= 15
    assert codes == pages
    for code in codes:
        text = (PAGES / f"{code}.md").read_text()
        assert f"[{code}]({code}.md)" in index
        for part in ("**Worked example.**", "**Next step.**", "**Wrong if**"):
            assert part in text
