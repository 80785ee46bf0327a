"""The page in a browser: it shows the numbers of the document, and every part of it can be used."""

import math
import re
from typing import Any

import pytest

from roofline.units import show, show_binary
from tests.report import documents

pytestmark = pytest.mark.browser
DASH = "–"


def percent(share: float | None) -> str:
    """83 %, and below ten one decimal: 4.3 %."""
    if share is None:
        return DASH
    value = share * 100
    if 0 < value < 0.05:
        return "< 0.1 %"
    return f"{value:.1f} %" if 0 < abs(value) < 9.95 else f"{value:.0f} %"


def quantity(value: float | None, unit: str) -> str:
    return DASH if value is None else show(value, unit)


def cells(page: Any) -> list[list[str]]:
    return page.eval_on_selector_all(
        "table.items tbody tr:not(.detail)",
        "rows => rows.map(r => [...r.cells].map(c => c.textContent))",
    )


def column(page: Any, key: str) -> list[str]:
    keys = page.eval_on_selector_all(
        "table.items thead th", "heads => heads.map(h => h.dataset.key)"
    )
    return [row[keys.index(key)] for row in cells(page)]


def test_every_number_of_the_table_is_that_of_the_document(open_page: Any) -> None:
    document = documents.layernorm()
    page = open_page(document)
    lost = lambda item: (item["lost_s"] is None, -(item["lost_s"] or 0))  # noqa: E731
    expected = [
        [
            item["name"].removeprefix("aten::"),
            item["shapes"],
            str(item["calls"]),
            quantity(item["measured_s"], "s"),
            quantity(item["roof_s"], "s"),
            quantity(item["lost_s"], "s"),
            percent(item["roof_fraction"])
            + (" above" if (item["roof_fraction"] or 0) > 1.05 else ""),
            item["binding"] or DASH,
            item["placed_at"] or DASH,
            quantity(item["intensity"].get(item["placed_at"]), "flop/B").removesuffix(" flop/B"),
            item["module"],
            item["phase"],
        ]
        for item in sorted(document["items"], key=lost)
    ]
    assert cells(page) == expected
    # By hand: copy_ moves 2 * 67,108,864 B; 134,217,728 B / 12.1 GB/s = 11.092 ms; 11.3 ms were measured.
    row = next(row for row in cells(page) if row[0] == "copy_")
    assert row[3:7] == ["11.3 ms", "11.1 ms", "208 us", "98 %"]


VALUES = [
    2.834e-13,
    1.0, 0.1, 2.5, 7.2e-6, 999.4e-9, 999.6e-9, 1e-9, 4.2e-10, 1e-12, 0.999499, 0.9995, 9.995, 9.994, 99.95, 99.94,
    999.5, 1000.0, 999_960.0, 4.8e12, 1.234567e9, 3.35e12, 989e12, 1.5e18, 2.5e20, 17e-6, 60.0, 156.0, 12_345.0,
    1_234_567.0, 1.0e-5, 3.0e-4, 0.0833333,
    # Exact halves of the third digit, where Python goes to the even neighbour.
    100.5, 101.5, 1.125, 1.375, 10.25, 0.03125, 0.09375, 2.0**-10, 2.0**40, 1005.0, 1015.0, 12.25e9, 1.265625,
]  # fmt: skip


def test_units_are_written_as_python_writes_them(open_page: Any) -> None:
    items = [
        documents.item("op", f"{index}", {"dram": 12}, value)
        | {"intensity": {"dram": value}, "lost_s": -value}
        for index, value in enumerate(VALUES)
    ]
    roof = []
    for value in VALUES:
        for resource, unit in (
            ("dram", "B"),
            ("vector-fp32", "flop"),
            ("tensor-int8", "op"),
            ("dispatch", "launch"),
        ):
            roof.append(documents.ceiling(resource, {}, value, round(value) or 1) | {"unit": unit})
    page = open_page(
        documents.layernorm() | {"items": items, "roof": roof, "findings": []}, at="#sort=calls"
    )
    page.click("#more")
    assert column(page, "measured_s") == [show(value, "s") for value in VALUES]
    assert column(page, "lost_s") == [show(-value, "s") for value in VALUES]
    assert column(page, "intensity") == [
        show(value, "flop/B").removesuffix(" flop/B") for value in VALUES
    ]
    shown = page.eval_on_selector_all(
        "#ceilings tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
    )
    assert [row[2] for row in shown] == [show(c["rate"], f"{c['unit']}/s") for c in roof]
    assert [row[6] for row in shown] == [show_binary(c["capacity"]) for c in roof]


@pytest.mark.parametrize("key", ["calls", "measured_s", "roof_s", "lost_s", "roof_fraction"])
def test_a_click_sorts_and_another_turns_it(open_page: Any, key: str) -> None:
    document = documents.layernorm()
    page = open_page(document, at="#sort=label")
    header = page.locator(f'table.items th[data-key="{key}"]')
    for order, down in (("descending", True), ("ascending", False)):
        header.locator("button").click()
        assert header.get_attribute("aria-sort") == order
        assert page.locator("table.items th[aria-sort]").count() == 1
        known = [i for i in document["items"] if i[key] is not None]
        unknown = [i for i in document["items"] if i[key] is None]
        known.sort(key=lambda i: i[key], reverse=down)
        shown = [document["items"][int(n)] for n in page.eval_on_selector_all(
            "table.items tbody tr", "rows => rows.map(r => r.dataset.item)")]  # fmt: skip
        assert [i[key] for i in shown] == [i[key] for i in known + unknown]
    assert page.evaluate("location.hash") == f"#sort={key}"


def test_find_keeps_what_matches(open_page: Any) -> None:
    page = open_page(documents.layernorm())
    page.fill("#search", "handLAYER")
    # Nine lines of the example belong to HandLayerNorm.
    assert column(page, "module") == ["HandLayerNorm"] * 9
    assert page.inner_text("#count") == "9 of 19 items, one a call"
    page.fill("#search", "no such thing")
    assert cells(page) == [["No item matches."]]


def test_details_say_how_the_roof_time_came_about(open_page: Any) -> None:
    document = documents.layernorm()
    page = open_page(document)
    button = page.locator('tr[data-item="10"] button')
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    rows = page.eval_on_selector_all(
        ".detail table:first-of-type tbody tr",
        "rows => rows.map(r => [...r.cells].map(c => c.textContent))",
    )
    # addmm: 2 * 16384 * 1024 * 1024 + 16384 * 1024 = 34,376,515,584 flop at 318 Gflop/s = 108.1 ms;
    # 138,416,128 B over dram at 12.1 GB/s = 11.44 ms.
    assert rows[0] == [
        "vector-fp32",
        "34.4 Gflop",
        "318 Gflop/s",
        "108 ms",
        "",
        "measured, library, 2 threads",
    ]
    assert rows[1] == [
        "dram",
        "138 MB",
        "12.1 GB/s",
        "11.4 ms",
        "248 flop/B",
        "measured, copy, 2 threads",
    ]


def test_samples_that_have_no_one_number_say_so(open_page: Any) -> None:
    page = open_page(documents.layernorm())
    page.click('tr[data-item="14"] button')
    # 910 ns in the middle; quartiles 0.97 and 1.04 times, best 0.94 times that.
    said = "median 910 ns, half of 10 between 883 ns and 946 ns, best 855 ns, each one call, two clusters, 900 ns and 1.10 us"
    assert said in page.inner_text(".detail")


# The chart -------------------------------------------------------------------------------------


def scale(page: Any, axis: int, vertical: bool) -> Any:
    """Value -> px of an axis, from where its ticks stand: two known points of a logarithmic scale."""
    ticks = page.evaluate(
        """([axis, at]) => [...document.querySelectorAll('.axis')[axis].querySelectorAll('.tick')].map(t =>
             [t.__data__, +t.getAttribute('transform').match(/[-\\d.]+/g)[at]])""",
        [axis, 1 if vertical else 0],
    )
    (low, start), (high, end) = ticks[0], ticks[-1]
    return lambda value: start + (end - start) * math.log(value / low) / math.log(high / low)


def expected_places(page: Any, document: dict[str, Any]) -> dict[int, tuple[float, float]]:
    x, y, rate = scale(page, 0, False), scale(page, 1, True), scale(page, 2, False)
    rows = page.eval_on_selector_all(".lane", "lanes => lanes.map(l => +l.getAttribute('y1'))")
    lanes = [
        b
        for b in ("l1", "l2", "l3", "dram")
        if any(i["flop"] == 0 and i["placed_at"] == b for i in document["items"])
    ]
    places = {}
    for index, item in enumerate(document["items"]):
        if item["flop"]:
            speed = (
                item["flop"] / item["measured_s"]
                if item["measured_s"]
                else item["attainable_flop_per_s"]
            )
            places[index] = (x(item["flop"] / item["demand"][item["placed_at"]]), y(speed))
        elif item["demand"]:
            speed = item["demand"][item["placed_at"]] / item["measured_s"]
            places[index] = (rate(speed), rows[lanes.index(item["placed_at"])])
    return places


def visited(page: Any) -> dict[int, tuple[float, float, str]]:
    """Every point in the order in which the keyboard comes by it: middle of its ring, and its words."""
    page.focus("#points")
    page.keyboard.press("Home")
    found = {}
    total = int(page.get_attribute("#point", "aria-setsize"))
    for _ in range(total):
        found[int(page.get_attribute("#point", "data-item"))] = page.evaluate(
            """() => { const p = document.getElementById('point');
                 return [p.offsetLeft + p.offsetWidth / 2, p.offsetTop + p.offsetHeight / 2, p.getAttribute('aria-label')] }"""
        )
        page.keyboard.press("ArrowRight")
    return found


@pytest.mark.parametrize("width", [1280, 800, 500])
def test_points_stand_where_their_numbers_say(open_page: Any, width: int) -> None:
    document = documents.layernorm()
    page = open_page(document, width=width)
    places = expected_places(page, document)
    found = visited(page)
    assert found.keys() == places.keys()
    assert 17 not in found  # histc: nobody knows its flop
    assert 18 not in found  # view: it needs nothing
    for index, (x, y) in places.items():
        assert found[index][0] == pytest.approx(x, abs=1.5), document["items"][index]["name"]
        assert found[index][1] == pytest.approx(y, abs=1.5), document["items"][index]["name"]


def test_the_keyboard_goes_from_the_most_time_lost_to_the_least(open_page: Any) -> None:
    document = documents.layernorm()
    order = list(visited(open_page(document)))
    lost = [document["items"][i]["lost_s"] for i in order]
    assert lost[-1] is None  # gelu was not measured
    assert lost[:-1] == sorted(lost[:-1], reverse=True)


def test_a_point_tells_its_numbers(open_page: Any) -> None:
    page = open_page(documents.layernorm())
    words = visited(page)[8][2]
    # add 16384x1024, 1024: 134,221,824 B / 12.1 GB/s = 11.093 ms of 12.7 ms = 87.3 %; 1.607 ms lost;
    # 16,777,216 flop / 134,221,824 B = 0.125; 16,777,216 flop / 12.7 ms = 1.321 Gflop/s.
    assert words == (
        "add 16384x1024 fp32, 1024 fp32: calls 1; measured 12.7 ms; roof time 11.1 ms; lost 1.61 ms; of its roof 87 %; "
        "bound by dram, 12.1 GB/s; basis measured, copy, 2 threads; placed at dram, 0.125 flop/B; rate 1.32 Gflop/s"
    )


def test_the_pointer_finds_a_point_and_leaves_it(open_page: Any) -> None:
    document = documents.layernorm()
    page = open_page(document)
    x, y = expected_places(page, document)[10]
    corner = page.locator("#points").bounding_box()
    assert page.locator("#tooltip").is_hidden()
    page.mouse.move(corner["x"] + x, corner["y"] + y)
    tip = page.locator("#tooltip")
    assert tip.is_visible()
    assert tip.locator("strong").inner_text() == "addmm"
    facts = dict(
        tip.evaluate(
            "t => [...t.querySelectorAll('dl > div')].map(d => [...d.children].map(c => c.textContent))"
        )
    )
    assert facts["measured"] == "131 ms"
    assert facts["bound by"] == "vector-fp32, 318 Gflop/s"
    page.mouse.move(corner["x"] + 5, corner["y"] + 5)
    assert tip.is_hidden()


def test_a_point_opens_its_row(open_page: Any) -> None:
    page = open_page(documents.many(60))
    page.focus("#points")
    page.keyboard.press("End")
    index = page.get_attribute("#point", "data-item")
    # With sixty items the last in rank is not among the rows shown at first.
    assert page.locator(f'tr[data-item="{index}"]').count() == 0
    page.keyboard.press("Enter")
    assert page.locator(f"#detail-{index}").is_visible()
    assert page.evaluate("document.activeElement.closest('tr').dataset.item") == index


def test_escape_closes_the_tooltip(open_page: Any) -> None:
    page = open_page(documents.layernorm())
    page.focus("#points")
    page.keyboard.press("ArrowDown")
    assert page.locator("#tooltip").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#tooltip").is_hidden()


def inked(page: Any, x: float, y: float) -> bool:
    """Whether the canvas has colour at a place in px of the page."""
    return page.evaluate(
        """([x, y]) => { const c = document.getElementById('all'), r = c.width / c.offsetWidth;
             return c.getContext('2d').getImageData(x * r, y * r, 1, 1).data[3] > 0 }""",
        [x, y],
    )


def test_unmeasured_points_are_hollow_and_those_above_their_roof_are_ringed(open_page: Any) -> None:
    document = documents.layernorm()
    page = open_page(document)
    places = expected_places(page, document)
    gelu, norm, total = places[16], places[9], places[14]
    assert not inked(page, *gelu)
    assert inked(page, *norm)
    # The ring has the point's radius, 4 px at least, and 4.5 px more.
    assert inked(page, total[0], total[1] + 8.5)
    assert not inked(page, norm[0] + 9.5, norm[1])
    legend = page.inner_text("#legend")
    assert "hollow: not measured" in legend
    assert "more than 5 % above its roof" in legend
    assert (
        "Only in the table: 1 item that needs no arithmetic and no bytes, 1 item of which flop, bytes or ceiling are not known."
        in legend
    )


def test_a_binding_resource_has_a_shape_of_its_own(open_page: Any) -> None:
    page = open_page(documents.layernorm())
    signs = page.eval_on_selector_all(
        "#legend .signs > li",
        "rows => rows.map(r => [r.textContent, r.querySelector('path')?.getAttribute('d')])",
    )
    bound = {text: shape for text, shape in signs if text.startswith("bound by")}
    assert bound.keys() == {
        "bound by dram",
        "bound by l2",
        "bound by tensor-bf16",
        "bound by vector-fp32",
    }
    assert len(set(bound.values())) == 4


def test_every_level_and_every_pipe_in_use_has_a_roof(open_page: Any) -> None:
    page = open_page(documents.layernorm())

    def drawn() -> list[str]:
        return page.eval_on_selector_all(
            "line[data-resource]", "lines => lines.map(l => l.dataset.resource)"
        )

    assert sorted(drawn()) == [
        "dram",
        "l1",
        "l2",
        "l3",
        "tensor-bf16",
        "vector-fp32",
    ]
    page.check("#variants")  # and what nothing in this run uses: vector-fp64
    # Three access mixes a level; two reaches of each vector pipe; int8 is counted in op, not in flop.
    assert len(drawn()) == 4 * 3 + 2 + 2 + 1


def test_one_item_is_joined_across_the_boundaries_that_it_crosses(open_page: Any) -> None:
    """addmm has 248 flop/B at dram; with ten times the bytes over l2 it has 24.8 there."""
    document = documents.layernorm()
    mm = document["items"][10]
    mm["intensity"]["l2"] = mm["intensity"]["dram"] / 10
    page = open_page(document)
    x, (_, y) = scale(page, 0, False), expected_places(page, document)[10]
    at = x(mm["intensity"]["l2"])

    def drawn(px: float, py: float) -> bool:
        return page.evaluate(
            """([x, y]) => { const c = document.getElementById('one'), r = c.width / c.offsetWidth;
                 return c.getContext('2d').getImageData((x - 2) * r, (y - 2) * r, 4 * r, 4 * r).data.some((v) => v) }""",
            [px, py],
        )

    assert not drawn(at + 5, y)
    page.hover('tr[data-item="10"]')
    assert drawn(at + 5, y)  # the ring
    assert drawn((at + x(mm["intensity"]["dram"])) / 2, y)  # the line
    assert "also at l2, " in visited(page)[10][2]
    assert "rings joined" in page.inner_text("#legend")


def test_findings_stand_first_with_what_they_save_and_lead_to_what_is_behind(
    open_page: Any,
) -> None:
    document = documents.layernorm()
    page = open_page(document, at="#sort=calls")
    lines = page.eval_on_selector_all(
        "#first li", "rows => rows.map(r => [...r.children].map(c => c.textContent))"
    )
    assert len(lines) == min(5, len(document["findings"]))
    for (said, worth), finding in zip(lines, document["findings"], strict=False):
        assert said == finding["code"] + finding["claim"]
        if finding["saves_s"]:
            assert worth == f"at most {show(finding['saves_s'], 's')}"
        elif finding["code"].startswith("RF0"):
            assert worth == "a doubt"
    page.click("#first li:last-child a")
    last = page.evaluate("document.activeElement.id")
    assert last == f"finding-{len(lines)}"
    assert page.locator(f"#{last}").is_visible()
    assert page.evaluate("location.hash") == "#sort=calls"  # what the reader chose stays


def test_a_step_is_a_bar_of_what_it_consists_of(open_page: Any) -> None:
    document = documents.layernorm()
    whole = document["program"]
    page = open_page(document)
    words = page.get_attribute(".step", "aria-label")
    lost = whole["step_s"] - whole["roof_s"] - whole["gap_s"]
    assert words == (
        f"One step: {show(whole['roof_s'], 's')} at the roof, {show(lost, 's')} lost in operators, "
        f"{show(whole['gap_s'], 's')} between operators"
    )
    widths = page.eval_on_selector_all(".step span", "s => s.map(e => e.offsetWidth)")
    assert widths[0] / sum(widths) == pytest.approx(whole["roof_s"] / whole["step_s"], abs=0.01)
    # The figures above are its parts, and shares of the same step.
    for name, value in (("roof", whole["roof_s"]), ("lost", lost), ("between", whole["gap_s"])):
        tile = page.locator(f"#sums div:has(.key.{name}) dd").all_text_contents()
        assert tile[0] == show(value, "s")
        assert percent(value / whole["step_s"]) + " of the step" in tile[1]
    # What ran without belonging to a step is a part of its own, neither lost nor idle.
    others = whole["gap_s"] / 4
    document["program"] = whole | {"others_s": others, "gap_s": whole["gap_s"] - others}
    words = open_page(document).get_attribute(".step", "aria-label")
    assert f"{show(lost, 's')} lost in operators, {show(others, 's')} of no step" in words
    # Where the roof is longer than operators took (streams overlap) there is nothing to divide.
    document["program"] = whole | {"roof_s": whole["busy_s"] * 1.1}
    assert open_page(document).locator(".step").count() == 0


def test_times_of_an_item_stand_beside_what_was_measured(open_page: Any) -> None:
    page = open_page(documents.layernorm())
    page.click('tr[data-item="10"] button')
    rows = page.eval_on_selector_all(
        ".detail table:first-of-type tbody tr",
        "rows => rows.map(r => [r.cells[0].textContent, r.cells[3].textContent, r.querySelector('.bar').offsetWidth && r.querySelector('.bar span').offsetWidth / r.querySelector('.bar').offsetWidth])",
    )
    assert rows[-1] == ["measured", "131 ms", 1]
    # 108.1 of 131 ms.
    assert rows[0][2] == pytest.approx(108.1 / 131, abs=0.03)


@pytest.mark.parametrize("width", [320, 400, 768])
def test_long_names_do_not_widen_the_page(open_page: Any, width: int) -> None:
    document = documents.layernorm()
    name = "at::native::" + "unrolled_elementwise_kernel" * 6
    finding = document["findings"][0] | {"claim": name, "evidence": [name], "item": name}
    gap = {"name": name, "what": name, "seconds": None, "count": None}
    document |= {"findings": [finding], "gaps": [gap], "answer": [name, name]}
    document["items"][0] |= {"name": name, "shapes": name}
    page = open_page(document, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_boundary_can_be_picked_out_and_is_remembered(open_page: Any) -> None:
    page = open_page(documents.layernorm())
    assert page.eval_on_selector_all("#boundary option", "o => o.map(e => e.value)") == [
        "",
        "l1",
        "l2",
        "l3",
        "dram",
    ]
    page.select_option("#boundary", "l2")
    lit = "line[data-resource]:not(.faded)"
    shown = page.eval_on_selector_all(lit, "lines => lines.map(l => l.dataset.resource)")
    assert sorted(shown) == ["l2", "tensor-bf16", "vector-fp32"]
    page.reload()
    page.wait_for_selector("line.selected")
    assert page.input_value("#boundary") == "l2"


def test_zoom_moves_points_and_axes_together(open_page: Any) -> None:
    document = documents.layernorm()
    page = open_page(document)
    before = expected_places(page, document)
    page.click("#zoom-in")
    page.wait_for_function(
        f"Math.abs(document.querySelector('#point').offsetLeft - {before[10][0]}) > 1"
    )
    page.click("#zoom-in")
    found, after = visited(page), expected_places(page, document)
    assert after[9] != pytest.approx(before[9], abs=1)
    for index, (x, y) in after.items():
        assert found[index][:2] == pytest.approx([x, y], abs=1.5)
    page.click("#zoom-reset")
    assert expected_places(page, document)[9] == pytest.approx(before[9], abs=0.5)


CORNERS = """texts => texts.map(t => { const b = t.getBBox(), m = t.getCTM();
  return [[b.x, b.y], [b.x + b.width, b.y], [b.x + b.width, b.y + b.height], [b.x, b.y + b.height]]
    .map(([x, y]) => [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f]) })"""


def apart(one: list[list[float]], other: list[list[float]], slack: float = 1.0) -> bool:
    """Whether some line separates two convex figures, which may overlap by `slack` px."""
    for figure in (one, other):
        for (x1, y1), (x2, y2) in zip(figure, [*figure[1:], figure[0]], strict=True):
            nx, ny = y2 - y1, x1 - x2
            length = math.hypot(nx, ny)
            if not length:
                continue
            a = [(x * nx + y * ny) / length for x, y in one]
            b = [(x * nx + y * ny) / length for x, y in other]
            if max(a) <= min(b) + slack or max(b) <= min(a) + slack:
                return True
    return False


@pytest.mark.parametrize("width", [1280, 800])
@pytest.mark.parametrize("variants", ["", "all"])
def test_labels_keep_off_each_other_and_off_the_roofs(
    open_page: Any, width: int, variants: str
) -> None:
    page = open_page(documents.layernorm(), width=width, at=f"#variants={variants}")
    boxes = page.eval_on_selector_all("svg.names text", CORNERS)
    words = page.eval_on_selector_all("svg.names text", "texts => texts.map(t => t.textContent)")
    for i, box in enumerate(boxes):
        for j in range(i):
            assert apart(box, boxes[j], slack=3), (words[i], words[j])
    if variants:
        return  # twelve diagonals leave labels no room that is free of lines
    lines = page.eval_on_selector_all(
        "line[data-resource]",
        "ls => ls.map(l => [[+l.getAttribute('x1'), +l.getAttribute('y1')], [+l.getAttribute('x2'), +l.getAttribute('y2')]])",
    )
    for box, text in zip(boxes, words, strict=True):
        for line in lines:
            assert apart(box, line, slack=3), text


# The rest --------------------------------------------------------------------------------------


def test_a_small_share_is_not_shown_as_none(open_page: Any) -> None:
    # 134,217,728 B / 12.1 GB/s = 11.09 ms of 100 s is 0.011 %.
    slow = documents.item("copy_", "16384x1024 fp32", {"dram": 134_217_728}, 100.0)
    page = open_page(documents.layernorm() | {"items": [slow]})
    assert column(page, "roof_fraction") == ["< 0.1 %"]


def test_findings_keep_their_order_and_their_parts(open_page: Any) -> None:
    document = documents.layernorm()
    page = open_page(document)
    articles = page.locator("article.finding")
    assert articles.count() == 3
    for at, finding in enumerate(document["findings"]):
        text = articles.nth(at).inner_text()
        for part in (
            finding["code"],
            finding["claim"],
            *finding["evidence"],
            finding["next_step"],
            finding["wrong_if"],
        ):
            assert part in text
    assert "at most 66.0 ms a step: 80.0 ms → 14.0 ms to 14.4 ms" in articles.nth(1).inner_text()
    assert "Saves" not in articles.nth(0).inner_text()


def test_five_findings_are_open_and_the_rest_one_click_away(open_page: Any) -> None:
    document = documents.layernorm()
    document["findings"] = [document["findings"][1] | {"code": f"RF{n}"} for n in range(101, 108)]
    page = open_page(document)
    shown = page.locator("article.finding:visible")
    assert shown.count() == 5
    page.click("#findings summary:has-text('2 more findings')")
    assert shown.count() == 7


def test_the_recording_says_how_and_what_it_lacks(open_page: Any) -> None:
    page = open_page(documents.layernorm())
    text = page.inner_text("#recording")
    for part in ("torch 2.13.0+cpu", "2.40 us", "10.0 us", "warm", "free", "810 us a step",
                 "thread loader-0: Operators on this thread were seen by nobody. (3.10 ms)", "One region ran outside the recorder. (1 time)"):  # fmt: skip
        assert part in text, part


def test_unknown_is_never_a_zero(open_page: Any) -> None:
    page = open_page(documents.layernorm())
    histc = next(row for row in cells(page) if row[0] == "histc")
    assert histc[4:8] == [DASH, DASH, DASH, DASH]
    gelu = next(row for row in cells(page) if row[0] == "gelu")
    assert gelu[3] == gelu[5] == gelu[6] == DASH


def test_a_page_without_items(open_page: Any) -> None:
    page = open_page(documents.empty())
    assert cells(page) == [["This run holds no items."]]
    assert page.locator("line[data-resource]").count() == 7
    assert page.locator('[role="listbox"]').count() == 0
    assert "Nothing was found." in page.inner_text("#findings")


def test_a_page_without_ceilings_and_device(open_page: Any) -> None:
    bare = [documents.item("add", "8 fp32", {"vector-fp32": 8, "dram": 96}, 1e-6) | {
        "bounds": [], "binding": None, "roof_s": None, "serial_s": None, "lost_s": None, "roof_fraction": None,
        "attainable_flop_per_s": None, "no_ceiling": ["vector-fp32", "dram"]}]  # fmt: skip
    page = open_page(documents.empty() | {"roof": [], "device": None, "items": bare})
    assert "No ceiling of this device is known." in page.inner_text("#ceilings")
    # It still has a place: 8 flop / 96 B, 8 flop / 1 us.
    assert "placed at dram, 0.0833 flop/B; rate 8.00 Mflop/s" in page.get_attribute(
        "#point", "aria-label"
    )
    assert "no ceiling known" in page.inner_text("#legend")


def test_five_thousand_items(open_page: Any) -> None:
    document = documents.many(5000)
    page = open_page(document)
    assert len(cells(page)) == 25
    page.click("#more:has-text('Show 250 more')")
    assert page.inner_text("#count") == "275 of 5,000 items, one a call"
    lost = sorted((i["lost_s"] for i in document["items"] if i["lost_s"] is not None), reverse=True)
    assert column(page, "lost_s") == [show(value, "s") for value in lost[:275]]
    page.fill("#search", "op_4321")
    assert column(page, "label") == ["op_4321"]
    # Every one has flop or is a copy: all have a place.
    assert page.get_attribute("#point", "aria-setsize") == "5000"


def test_names_are_text(open_page: Any) -> None:
    nasty = "aten::</script><script>window.broken = 1</script><!-- <img src=x>"
    document = documents.layernorm()
    document["items"][0] |= {"name": nasty, "shapes": nasty, "module": nasty}
    document["findings"][0] |= {"claim": nasty}
    page = open_page(document)
    assert nasty.removeprefix("aten::") in column(page, "label")
    assert page.inner_text("article.finding h3 >> nth=0") == f"RF001{nasty}"
    assert page.evaluate("window.broken") is None
    assert page.locator("img").count() == 0


def luminance(color: str) -> float:
    """Of an rgb() colour, as WCAG 2 defines it."""
    parts = [int(n) / 255 for n in re.findall(r"\d+", color)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_signs_stand_out_from_the_paper_in_both_schemes(open_page: Any, scheme: str) -> None:
    """WCAG 2.2, 1.4.11: graphical objects need a contrast of 3."""
    page = open_page(documents.layernorm(), scheme=scheme)
    paper = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert (paper > 0.9) == (scheme == "light")
    names = (
        "dram",
        "l3",
        "l2",
        "l1",
        "shared",
        "pipe-1",
        "pipe-2",
        "pipe-3",
        "pipe-4",
        "other",
        "warn",
    )
    for name in names:
        sign = luminance(page.evaluate(
            "n => { const e = document.body.appendChild(document.createElement('i')); e.style.color = `var(--${n})`;"
            " const c = getComputedStyle(e).color; e.remove(); return c }", name))  # fmt: skip
        assert (max(sign, paper) + 0.05) / (min(sign, paper) + 0.05) >= 3, name
