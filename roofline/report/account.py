"""An account as one plain document, and as text.

Schema ``roofline.account/1``.  Amounts are totals over all calls; null is unknown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from roofline.accounting.account import Account, Group
from roofline.accounting.expected import Expected, expected
from roofline.accounting.placed import least
from roofline.device import DRAM, Device, Roof
from roofline.program import shapes
from roofline.report.console import print_whole
from roofline.report.shown import ACCOUNT_ROWS
from roofline.units import number_of, show
from roofline.work import Entry

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

SCHEMA = "roofline.account/1"
Document = dict[str, Any]
NAME = 44  # columns that the name of a line may take
PLACED = 12  # of them given to its place under a roof


def document(account: Account, by: str = "operator", device: Device | None = None) -> Document:
    """Everything that was counted, as plain data; `by` is one of accounting.GROUPINGS."""
    roof = None if device is None else device.in_force()
    whole = account.total(account.lines)
    return {
        "schema": SCHEMA,
        "subject": account.subject,
        "device": None if device is None else {"id": device.id, "name": device.name},
        "calls": account.calls,
        "complete": not whole.algorithmic.unaccounted,
        **_counts(account, whole, roof),
        "unaccounted": [{"name": n, "calls": calls} for n, calls in account.unaccounted.items()],
        "served": [] if roof is None else _served(whole, roof),
        "by": by,
        "items": [_item(account, group, by, roof) for group in account.by(by)],
        "conventions": list(account.conventions),
    }


def _served(whole: Group, roof: Roof) -> list[Document]:
    """Pipes that the device lacks, which other pipes stand in for."""
    return [
        {"resource": r.name, "by": roof.mapped[r].uses.name, "why": roof.mapped[r].why}
        for r in whole.algorithmic.demand()
        if (ceiling := roof.ceiling(r)) is not None and ceiling.resource != r
    ]


def _item(account: Account, group: Group, by: str, roof: Roof | None) -> Document:
    first = account.signatures[group.lines[0].signature]
    return {
        "name": group.name,
        "shapes": shapes(first.call) if by == "call" else "",
        "calls": group.calls,
        **_counts(account, group, roof),
        "unaccounted": list(group.algorithmic.unaccounted),
        "ledger": _apart(account, group),
    }


def _apart(account: Account, group: Group) -> list[Document] | None:
    """Of one distinct call the lines of its ledger, each with its reason; of several null."""
    ledger = account.signatures[group.lines[0].signature].ledger
    if ledger is None or len({line.signature for line in group.lines}) > 1:
        return None
    times = sum(line.calls for line in group.lines if not line.recomputed)
    scaled = (
        replace(
            e,
            amount=e.amount * times,
            low=None if e.low is None else e.low * times,
            high=None if e.high is None else e.high * times,
        )
        for e in ledger.entries
    )
    return [line | {"why": e.why} for e in scaled for line in _lines([e])]


def _counts(account: Account, group: Group, roof: Roof | None) -> Document:
    asked, ran = group.algorithmic, group.executed
    read, written = asked.traffic(DRAM, "read"), asked.traffic(DRAM, "write")
    counted = None if asked.unaccounted and not asked.entries else asked
    placed = None if roof is None else least(account, group.lines, roof)
    told = None if roof is None else _expected(expected(account, group.lines, roof))
    return {
        "flop": None if counted is None else asked.flop,
        "read": None if counted is None else read,
        "written": None if counted is None else written,
        "intensity": asked.flop / (read + written) if read + written else None,
        "algorithmic": _lines(asked.entries),
        "executed": _lines(ran.entries),
        "exactness": asked.exactness.value if asked.exactness else "unknown",
        "roof_s": placed.roof_s if placed else None,
        "binding": placed.binding.name if placed and placed.binding else None,
        "expected_s": told.seconds if told else None,
        "expected_by": told.by if told else None,
    }


def _expected(told: Expected | None) -> Expected | None:
    """Where a start or a pace is lacking it says too little."""
    return None if told is None or told.lacking else told


def _lines(entries: Iterable[Entry]) -> list[Document]:
    return [
        {"resource": e.resource.name, "amount": e.amount, "unit": e.resource.unit,
         "access": e.access, "exactness": e.exactness.value, "low": e.low, "high": e.high}
        for e in entries
    ]  # fmt: skip


def print_document(
    document: Document, console: "Console", *, rows: int = ACCOUNT_ROWS, conventions: bool = False
) -> None:
    """Print it: the whole, what is missing, the table."""
    from rich.table import Table

    for block in _blocks(document, rows, conventions):
        if isinstance(block, Table):
            print_whole(console, block)
        else:
            console.print(block)


def _blocks(document: Document, rows: int, conventions: bool) -> Iterable["RenderableType"]:
    from rich.text import Text

    yield Text(_whole(document))
    for name in document["unaccounted"]:
        times = "once" if name["calls"] == 1 else f"{name['calls']} times"
        yield Text(f"not accounted for, and in no sum: {name['name']}, called {times}")
    yield Text("\n".join(_pipes(document)))
    yield Text("")
    yield _table(document, rows)
    rest = len(document["items"]) - rows
    if rest > 0:
        yield Text(f"{number_of(rest, 'more line')}: --rows {len(document['items'])}", style="dim")
    words = document["conventions"]
    if conventions:
        yield Text("\n".join(["", *(f"convention: {text}" for text in words)]), style="dim")
    else:
        yield Text(f"{number_of(len(words), 'convention')}: --conventions prints them", style="dim")


def _whole(document: Document) -> str:
    calls = number_of(document["calls"], "operator call")
    if document["flop"] is None:
        return f"{document['subject']}: {calls}, nothing accounted for"
    least_words = "" if document["complete"] else "at least "
    intensity = document["intensity"]
    words = [
        f"{document['subject']}: {least_words}{show(document['flop'], 'flop')}",
        f"{show(document['read'], 'B')} read",
        f"{show(document['written'], 'B')} written",
        *([] if intensity is None else [f"{show(intensity, 'flop/B')} at dram"]),
        calls,
    ]
    if document["device"] is not None and document["roof_s"] is not None:
        words.append(f"{show(document['roof_s'], 's')} at the roof of {document['device']['name']}")
    if document["expected_s"] is not None:
        words.append(f"{show(document['expected_s'], 's')} expected of PyTorch's kernels")
    return ", ".join(words)


def _pipes(document: Document) -> Iterable[str]:
    executed = _by_resource(document["executed"])
    asked = _by_resource(document["algorithmic"])
    for name, (_, unit) in (asked | executed).items():
        amount = asked.get(name, (0, unit))[0]
        asked_words, ran_words = (
            show(n, unit) for n in (amount, executed.get(name, (amount, unit))[0])
        )
        beyond = f", at least {ran_words} executed" if ran_words != asked_words else ""
        stands = next((f", on {s['by']}: {s['why']}" for s in document["served"]
                       if s["resource"] == name), "")  # fmt: skip
        yield f"  {name:<16}{asked_words:>12}{beyond}{stands}"


def _by_resource(lines: Sequence[Document]) -> dict[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    for line in lines:
        before = found.get(line["resource"], (0, ""))[0]
        found[line["resource"]] = (before + line["amount"], line["unit"])
    return found


def _table(document: Document, rows: int) -> "RenderableType":
    from rich.table import Table

    placed = document["device"] is not None
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column(document["by"], overflow="ellipsis", no_wrap=True,
                     max_width=NAME - PLACED * placed)  # fmt: skip
    columns = ["calls", "flop", "read", "written", "flop/B"]
    told = document["expected_s"] is not None
    for name in (*columns, *["roof"] * placed, *["expected"] * told):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("bound by" if placed else "label", no_wrap=True)
    for item in document["items"][:rows]:
        table.add_row(*_cells(item, placed, told))
    return table


def _cells(item: Document, placed: bool, told: bool) -> Iterable[str]:
    name = item["name"].removeprefix("aten::")
    yield f"{name}  {item['shapes']}" if item["shapes"] else name
    yield f"{item['calls']:,}"
    for amount, unit in ((item["flop"], "flop"), (item["read"], "B"), (item["written"], "B")):
        yield "-" if amount is None else show(amount, unit)
    intensity = item["intensity"]
    yield "-" if intensity is None else show(intensity, "flop/B").removesuffix(" flop/B")
    if placed:
        yield "-" if item["roof_s"] is None else show(item["roof_s"], "s")
        if told:
            yield "-" if item["expected_s"] is None else show(item["expected_s"], "s")
        yield item["binding"] or ("unaccounted" if item["unaccounted"] else "nothing")
    else:
        yield item["exactness"]
