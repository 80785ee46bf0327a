"""No fault that axe-core can find, in either scheme and in every state of the page."""

from pathlib import Path
from typing import Any

import pytest

from tests.report import documents

pytestmark = pytest.mark.browser
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


def faults(page: Any) -> list[str]:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: cd web && npm ci")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [f"{fault['id']}: {node['html'][:120]}" for fault in found for node in fault["nodes"]]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 500)])
def test_the_page(open_page: Any, scheme: str, width: int) -> None:
    assert faults(open_page(documents.layernorm(), scheme=scheme, width=width)) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_point_with_its_tooltip_and_an_open_row(open_page: Any, scheme: str) -> None:
    page = open_page(documents.layernorm(), scheme=scheme, at="#boundary=l2&variants=all")
    page.click('tr[data-item="10"] button')
    page.focus("#points")
    page.keyboard.press("ArrowRight")
    assert page.locator("#tooltip").is_visible()
    assert faults(page) == []


@pytest.mark.parametrize("width", [1280, 500])
def test_no_items(open_page: Any, width: int) -> None:
    assert faults(open_page(documents.empty(), width=width)) == []


def test_the_checker_sees_a_fault(open_page: Any) -> None:
    page = open_page(documents.empty())
    page.evaluate(
        "document.querySelector('#search').closest('label').replaceWith(document.querySelector('#search'))"
    )
    assert any(fault.startswith("label:") for fault in faults(page))
