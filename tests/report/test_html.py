"""The page as a file: what stands in it, and how it is written."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from roofline.errors import BadInput
from roofline.report import html
from tests.report import documents

NASTY = "aten::</script><script>window.broken = 1</script><!-- <script>"


def embedded(page: str) -> str:
    return re.search(r'<script type="application/json" id="placement">(.*?)</script>', page, re.S)[
        1
    ]


def test_the_document_stands_in_the_page_unchanged() -> None:
    document = documents.layernorm()
    assert json.loads(embedded(html.render(document))) == document


def test_a_name_cannot_end_the_script_that_holds_it() -> None:
    document = documents.layernorm()
    document["items"][0]["name"] = NASTY
    text = embedded(html.render(document))
    assert "<" not in text
    assert json.loads(text)["items"][0]["name"] == NASTY


def test_words_of_the_head_are_text_and_not_markup() -> None:
    document = documents.layernorm()
    document["recorder"]["program"] = "<b>a&b</b>.py"
    document["answer"] = ["1 < 2 & <i>so</i>"]
    page = html.render(document)
    assert "<h1>&lt;b&gt;a&amp;b&lt;/b&gt;.py</h1>" in page
    assert "<p>1 &lt; 2 &amp; &lt;i&gt;so&lt;/i&gt;</p>" in page


def test_the_policy_allows_the_two_assets_and_nothing_else() -> None:
    page = html.render(documents.layernorm())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    script = re.findall(r"<script>(.*?)</script>", page, re.S)
    style = re.findall(r"<style>(.*?)</style>", page, re.S)
    assert len(script) == len(style) == 1

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert rules == {
        "default-src": "'none'",
        "script-src": digest(script[0]),
        "style-src": digest(style[0]),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_coverage_is_said_and_unknown_coverage_too() -> None:
    document = documents.layernorm() | {"coverage": 0.98765}
    assert "<strong>Coverage 98.8%</strong>" in html.render(document)
    assert "Coverage unknown" in html.render(document | {"coverage": None})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_refused(value: float) -> None:
    document = documents.layernorm()
    document["items"][0]["measured_s"] = value
    with pytest.raises(ValueError, match="JSON compliant"):
        html.render(document)


def test_a_page_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("earlier")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(BadInput, match=r"cannot write .*report\.html: No space left on device"):
        html.write(documents.empty(), path)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "earlier"


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file or directory"):
        html.write(documents.empty(), tmp_path / "none" / "report.html")


@pytest.mark.parametrize(
    ("stamp", "written"),
    [
        ("2026-07-14T09:12:44Z", "recorded 2026-07-14 09:12 UTC"),
        ("2026-07-14T11:12:44+02:00", "recorded 2026-07-14 09:12 UTC"),
        ("last week", "recorded last week"),
    ],
)
def test_when_it_was_recorded_is_said_to_the_minute(stamp: str, written: str) -> None:
    document = documents.layernorm()
    document["recorder"]["recorded_at"] = stamp
    head = html.render(document).partition("</header>")[0]
    assert written in head
