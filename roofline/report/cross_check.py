"""The cross-check of an account against torch's FlopCounterMode, as data and as text."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from roofline.report.console import print_whole
from roofline.units import number_of, show

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from roofline.accounting.against import Difference

Document = dict[str, Any]


def document(differences: "Sequence[Difference]", version: str) -> Document:
    """What each counts, operator by operator; those that differ say why."""
    return {
        "with": f"torch {version} FlopCounterMode",
        "ours": sum(d.ours or 0 for d in differences),
        "theirs": sum(d.theirs for d in differences),
        "operators": [{**asdict(d), "why": list(d.why)} for d in differences],
    }


def print_document(document: Document, console: "Console") -> None:
    """Print the totals and the operators that differ."""
    from rich.table import Table

    for block in _blocks(document):
        if isinstance(block, Table):
            print_whole(console, block)
        else:
            console.print(block)


def _blocks(document: Document) -> Iterable["RenderableType"]:
    from rich.table import Table
    from rich.text import Text

    ours, theirs = (show(document[key], "flop") for key in ("ours", "theirs"))
    yield Text(f"\nours {ours}, {document['with']} {theirs}")
    differing = [each for each in document["operators"] if each["why"]]
    agreeing = len(document["operators"]) - len(differing)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column("operator", overflow="ellipsis", no_wrap=True, max_width=36)
    for name in ("ours", "torch", "torch - ours"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("why")
    for each in _together(differing):
        table.add_row(*_cells(each))
    if differing:
        yield table
    yield Text(
        f"{number_of(agreeing, 'operator')} with flop agree{'s' if agreeing == 1 else ''}",
        style="dim",
    )


def _together(differing: Sequence[Document]) -> Iterable[Document]:
    """One line for all operators of which torch counts nothing, for the same reason."""
    groups: dict[tuple[str, ...], list[Document]] = {}
    for at, each in enumerate(differing):
        alone = each["theirs"] or each["ours"] is None
        groups.setdefault((*each["why"], str(at)) if alone else tuple(each["why"]), []).append(each)
    for group in groups.values():
        first = group[0]
        more = f" and {len(group) - 1} more" if len(group) > 1 else ""
        yield first | {
            "operator": first["operator"] + more,
            "ours": sum(each["ours"] for each in group) if more else first["ours"],
        }


def _cells(each: Document) -> Iterable[str]:
    yield each["operator"].removeprefix("aten::")
    yield "unknown" if each["ours"] is None else show(each["ours"], "flop")
    yield show(each["theirs"], "flop")
    if each["ours"] is None:
        yield "-"
    else:
        by = each["theirs"] - each["ours"]
        yield f"{'-' if by < 0 else '+'}{show(abs(by), 'flop')}"
    yield "; ".join(each["why"])
