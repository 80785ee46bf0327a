"""The terminal: coverage first, then the answer, the table, the findings."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from roofline.report import beside, crossed, device_time
from roofline.report.console import print_whole
from roofline.report.names import line_names
from roofline.report.shown import FINDINGS, ROWS
from roofline.units import number_of, show, show_share

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Document = dict[str, Any]
FIXED = 62  # columns that the numbers and the binding resource take
_NOT_OPERATORS = frozenset({"module", "phase"})  # lines of these have no shapes
NAME = 26  # columns that the name of an operator or kernel may take
LEGIBLE = 12  # columns that a name has at least, and below which shapes are left out


def print_document(
    document: Document, console: "Console", *, rows: int = ROWS, findings: int = FINDINGS
) -> None:
    """Print a placement document of a run."""
    from rich.table import Table

    for block in _blocks(document, rows, findings, console.width):
        if isinstance(block, Table):
            print_whole(console, block)
        else:
            console.print(block)


def _blocks(document: Document, rows: int, findings: int, width: int) -> Iterable["RenderableType"]:
    from rich.text import Text

    yield Text(_coverage(document))
    for warning in (document["recorder"] or {}).get("warnings", ()):
        yield Text(f"doubt about the recording: {warning}")
    yield Text("")
    for sentence in document["answer"]:
        yield Text(sentence)
    if use := _use(document["program"]):
        yield Text(use, style="dim")
    if path := device_time.words(document["program"]):
        yield Text(path, style="dim")
    if again := _recomputed(document["program"]):
        yield Text(again, style="dim")
    yield Text("")
    if without := no_kernels(document):
        yield Text(without)
    if document["items"]:
        yield _table(document["items"], rows, width, document["by"])
    if note := _notes(document, rows):
        yield Text(note, style="dim")
    yield from crossed.text(document, rows)
    yield from beside.text(document, rows)
    yield from _findings(document["findings"], findings)
    if document["gaps"] and document["findings"]:
        yield Text("")
    for gap in document["gaps"]:
        yield Text(f"not in this run: {gap['name']}: {gap['what']}")


_KERNELS = frozenset({"kernel", "memcpy"})


def no_kernels(document: Document) -> str:
    """What stands in the place of kernels that are asked for, and why; "" where they stand."""
    device = document["device"]
    if document["by"] != "kernel" or any(i["kind"] in _KERNELS for i in document["items"]):
        return ""
    if device is not None and device["kind"] == "gpu":
        return "no line is a kernel: they are counted with the operators that started them"
    return "this run has no kernels: its lines are operators"


def _coverage(document: Document) -> str:
    device, recorder, coverage = document["device"], document["recorder"], document["coverage"]
    in_part = (document["program"] or {}).get("in_part")
    partly = f" (another {in_part:.1%} in part)" if in_part else ""
    covered = (
        f"{coverage:.1%} of operator time accounted for{partly}"
        if coverage is not None
        else ("unknown, since there are no times")
    )
    if device is None:
        where = "no device with ceilings"
    else:
        threads = f", {number_of(device['threads'], 'thread')}" if device["threads"] else ""
        where = f"{device['name']}{threads}, {device['basis'] or 'no'} ceilings"
    return f"coverage: {covered}; {where}; {_times(document, recorder)}"


_DEGREES = {
    "formula": "formulas and measured times",
    "counters": "counters and the times of their own launches",
    "bound": "bounds without times",
}


def _use(whole: Document | None) -> str:
    """MFU, MBU with their formulas, and HFU where it is another; "" where none is known."""
    if whole is None:
        return ""
    known = [(name, whole[name]) for name in ("mfu", "hfu", "mbu") if whole.get(name)]
    return "\n".join(
        f"{name.upper()} {100 * use['share']:.3g}% = {use['formula']}"
        for name, use in known
        if name != "hfu" or not whole["mfu"] or not _reads_alike(use, whole["mfu"])
    )


def _reads_alike(one: Document, other: Document) -> bool:
    """Whether two shares of one ceiling say the same to the digits that are printed."""
    if one["resource"] != other["resource"]:
        return False
    shares, amounts = (
        {f"{use['share']:.3g}" for use in (one, other)},
        {show(use["amount"], "flop") for use in (one, other)},
    )
    return len(shares) == 1 or len(amounts) == 1


def _recomputed(whole: Document | None) -> str:
    """What is computed a second time for the backward pass; "" where nothing is."""
    share = whole.get("recomputed_share") if whole else None
    if not whole or not share:
        return ""
    again = sum(whole["flop"]["recomputed"].values())
    return (
        f"{show(again, 'flop')} of a step, {show_share(share)} of what runs, are computed a second "
        "time for the backward (checkpointing); they are not useful flop"
    )


def _degrees(document: Document) -> str:
    """What the placements rest on, each degree that occurs."""
    present = {item.get("degree") for item in document["items"]}
    return " and ".join(words for degree, words in _DEGREES.items() if degree in present)


def _times(document: Document, recorder: Document | None) -> str:
    whole = document["program"]
    if whole is None or recorder is None:
        return "no times"
    steps = number_of(whole["steps"], "measured step")
    degrees = _degrees(document)
    by = f"{degrees}, " if degrees else ""
    return f"{by}{steps}, caches {recorder['cache']}, clocks {recorder['clock']}"


def _table(items: Sequence[Document], rows: int, width: int, by: str) -> "RenderableType":
    from rich.table import Table

    width = max(width, FIXED + LEGIBLE)
    if by in _NOT_OPERATORS:
        names = [_shortened(item["name"], width - FIXED) for item in items[:rows]]
        described = False
    else:
        names = line_names(items, min(NAME, width - FIXED))[:rows]
        described = True

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    longest = max(len(word) for word in ("operator" if described else by, *names))
    name_width = min(NAME if described else width, longest, width - FIXED)
    shapes_width = width - FIXED - name_width - 2 if described else 0
    table.add_column(
        "operator" if described else by, overflow="ellipsis", no_wrap=True, max_width=name_width
    )
    if shapes_width >= LEGIBLE:
        table.add_column("shapes", overflow="ellipsis", no_wrap=True, max_width=shapes_width)
    for name in ("calls", "time", "roof", "lost", "of roof"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("bound by", no_wrap=True)
    for name, item in zip(names, items, strict=False):
        shapes, *rest = _cells(item)
        table.add_row(name, *([shapes] if shapes_width >= LEGIBLE else []), *rest)
    return table


def _cells(item: Document) -> tuple[str, ...]:
    calls = item["calls"]
    return (
        item["shapes"] or item["module"],
        f"{calls:.3g}" if isinstance(calls, float) else str(calls),
        seconds(item["measured_s"]) + ("~" if item["too_short"] else ""),
        seconds(item["roof_s"]),
        seconds(item["lost_s"]),
        fraction(item),
        _binding(item),
    )


def _shortened(path: str, width: int) -> str:
    """A module's path without its beginning, which it shares with the others."""
    return path if len(path) <= width else f"\N{HORIZONTAL ELLIPSIS}{path[1 - width :]}"


def seconds(value: float | None) -> str:
    """A duration, or a dash for one that is not known."""
    return "-" if value is None else show(value, "s") if value >= 0 else f"-{show(-value, 's')}"


def fraction(item: Document) -> str:
    """The share of the roof that was reached; above 1 stays above 1."""
    value = item["roof_fraction"]
    return "-" if value is None else show_share(value)


def _binding(item: Document) -> str:
    if item["unaccounted"] and (item["count"] == "algorithmic" or item["binding"] is None):
        return "unaccounted"
    if item["binding"] is None:
        return "no ceiling" if item["no_ceiling"] else "nothing"
    bound = item["bounds"][0]
    served = bound["served_by"]
    binds = item["binding"] if served == item["binding"] else f"{item['binding']} on {served}"
    return " or ".join((binds, *item.get("ambiguous_with", ())))


def _notes(document: Document, rows: int) -> str:
    items, whole = document["items"], document["program"]
    notes = [more_lines(items, rows)] if len(items) > rows else []
    left_s = sum(item.get("without_roof_s") or 0.0 for item in items)
    if left_s and any(item["roof_s"] is not None for item in items):
        notes.append(f"{seconds(left_s)} in calls whose roof is not known, in nothing lost")
    if any(item["too_short"] for item in items[:rows]):
        notes.append("~ too short to time one by one")
    if whole and whole.get("others_s"):
        notes.append(f"{seconds(whole['others_s'])} a step only ran what belongs to no step")
    if whole and whole["gap_s"] is not None and whole["step_s"]:
        notes.append(f"{seconds(whole['gap_s'])} a step no operator ran")
    if whole and whole["bookkeeping_s"]:
        notes.append(f"recording took another {seconds(whole['bookkeeping_s'])}, left out")
    return "; ".join(notes)


def more_lines(items: Sequence[Document], rows: int) -> str:
    """What the lines take that are not shown."""
    rest = len(items) - rows
    rest_s = sum(i["measured_s"] or 0.0 for i in items[rows:])
    return f"{number_of(rest, 'more line')} take{'s' if rest == 1 else ''} {seconds(rest_s)}"


def _findings(findings: Sequence[Document], limit: int) -> Iterable["RenderableType"]:
    from rich.padding import Padding
    from rich.text import Text

    for finding in findings[:limit]:
        yield Text("")
        yield Text.assemble((finding["code"], "bold"), " ", finding["claim"])
        lines = list(finding["evidence"])
        yield Padding(Text("\n".join(lines), style="dim"), (0, 0, 0, 6))
        yield Padding(Text(f"next: {finding['next_step']}{_worth(finding)}"), (0, 0, 0, 6))
        yield Padding(Text(f"wrong if: {finding['wrong_if']}", style="dim"), (0, 0, 0, 6))
    if len(findings) > limit:
        what = "more finding" if limit else "finding"
        left = number_of(len(findings) - limit, what)
        yield Text(f"\n{left}: --findings {len(findings)}")


def _worth(finding: Document) -> str:
    """What the next step would bring, and from which time to which where that is predicted."""
    saves, now_s, then_s = (finding[name] for name in ("saves_s", "now_s", "then_s"))
    if not saves:
        return ""
    if now_s is None or then_s is None:
        return f" (saves at most {seconds(saves)} a step)"
    least, most = map(seconds, then_s)
    then = least if most in (least, seconds(now_s)) else f"{least} to {most}"
    return f" (saves at most {seconds(saves)} a step: {seconds(now_s)} -> {then})"
