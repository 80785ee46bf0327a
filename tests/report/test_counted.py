"""Bytes that counters saw in a real run, on its page: one step, one item, one point."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from roofline import runfile
from roofline.devices import kept
from roofline.report import html
from roofline.report.crossed import whole_step
from roofline.report.document import of_run
from tests.report import documents
from tests.report.test_accessible import faults

DATA = Path(__file__).parents[1] / "data"
SAID = "over dram: 1.28 times the bytes of the formulas; kernels have 100% of them as their own."


@cache
def document() -> dict[str, Any]:
    """26 items in three steps on an H200; the run came without its ceilings."""
    run = runfile.load(DATA / "counters" / "h200.roof")
    return of_run(replace(run, device=kept.read_file(DATA / "h200-measured.json")))


def index(name: str, shapes: str) -> int:
    items = document()["items"]
    return next(
        n for n, i in enumerate(items) if i["name"] == f"aten::{name}" and i["shapes"] == shapes
    )


def test_one_step_stands_above_all_and_needs_no_script() -> None:
    head = html.render(document()).partition("<main>")[0]
    assert (
        "<strong>One step reads 28.8 GB and writes 14.3 GB over dram</strong>: 1.28 times" in head
    )
    assert "Counters: CUPTI PM sampling every 1 us while the program ran" in head
    assert "One step reads" not in html.render(documents.layernorm())


def amounts(**known: float) -> dict[str, Any]:
    names = ("read", "write", "total", "low", "high", "source")
    return {"dram": dict.fromkeys(names) | known}


@pytest.mark.parametrize(
    ("dram", "said"),
    [
        (amounts(read=3e9, low=3e9, source="s"), "one step moves at least 3.00 GB over dram"),
        (amounts(total=4e9, low=3e9, high=5e9, source="s"), "one step moves 4.00 GB over dram"),
        (amounts(), ""),
        (None, ""),
    ],
)
def test_a_way_that_was_not_counted_is_not_zero(dram: Any, said: str) -> None:
    program = {"achieved": dram, "excess": {"dram": None}, "told": None}
    assert whole_step(program) == said


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 500)])
def test_details_have_both_counts_and_where_they_come_from(
    open_page: Any, scheme: str, width: int
) -> None:
    page = open_page(document(), scheme=scheme, width=width)
    at = index("mm", "3 of 8192x8192 bf16")
    page.click("#more")
    page.click(f'tr[data-item="{at}"] button')
    page.wait_for_selector(f"#detail-{at}")
    table = page.locator(f"#detail-{at} table", has_text="as counters saw them")
    # By hand: 4 calls of 3 * 8192 * 8192 * 2 B are 1,610,612,736 B; 5,532,194,472 B crossed.
    assert table.locator("tbody tr").all_inner_texts() == [
        "dram\t1.61 GB\t5.00 GB\t532 MB\t5.53 GB\t3.43x"
    ]
    assert "dram__bytes_write.sum" in page.locator(f"#detail-{at} dl").first.inner_text()
    assert SAID in page.locator("header").inner_text()
    page.focus("#points")
    page.keyboard.press("Home")
    assert faults(page) == []


@pytest.mark.browser
def test_a_point_tells_where_the_bytes_that_crossed_would_put_it(open_page: Any) -> None:
    page = open_page(document())
    said = {}
    page.focus("#points")
    page.keyboard.press("Home")
    for _ in document()["items"]:
        point = page.locator("#point")
        said[int(point.get_attribute("data-item"))] = point.get_attribute("aria-label")
        page.keyboard.press("ArrowRight")
    # By hand: 4,398,046,511,104 flop / 5,532,194,472 B.
    told = said[index("mm", "3 of 8192x8192 bf16")]
    assert "counted 795 flop/B: 3.43 times the bytes of the formula crossed" in told
    # By hand: 4,801,497,256 B in 1.787 ms, without arithmetic, of which 1,073,741,824 B are asked for.
    told = said[index("index_select", "67108864 fp32, 16777216 int64, 16777216 fp32")]
    assert "counted 2.69 TB/s: 4.47 times" in told
    assert "rate 601 GB/s" in told


@pytest.mark.browser
def test_without_counters_nothing_speaks_of_them(open_page: Any) -> None:
    page = open_page(documents.layernorm())
    page.click('tr[data-item="10"] button')
    assert "counters" not in page.locator("body").inner_text()
