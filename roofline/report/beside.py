"""What stands beside a placement: the kind of its time, and counters of another state.

Amounts and times of a replay are those of one call, in the state that it names.  They are held
against each other and never against the times of the running program.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from roofline.called import readable, told_apart
from roofline.counters import Reading
from roofline.device import DRAM, HIERARCHY
from roofline.diagnosis.timeline import timeline
from roofline.program import Item, Program
from roofline.program.counters.replays import Replay, ReplayedKernel
from roofline.runfile import NO_COUNTERS
from roofline.units import show, show_share
from roofline.work import Ledger

if TYPE_CHECKING:
    from rich.console import RenderableType

Document = dict[str, Any]
NAME = 24  # columns
NOTE = (
    "bytes and own time belong together and to no time above, so no rate is made of both; bytes of "
    "the running program: roofline run --counters"
)


def of_program(program: Program) -> Document:
    """`timeline` and `replays` of a document; null where there are none."""
    kind = timeline(program)
    recorder = program.replayed
    return {
        "timeline": None
        if kind is None
        else {"kind": kind.kind, "claim": kind.claim, "evidence": list(kind.evidence)},
        "replays": None
        if recorder is None
        else {
            "tool": recorder.tool,
            "cache": recorder.cache.value,
            "clock": recorder.clock.value,
            "timer": recorder.timer,
            "warnings": list(recorder.warnings),
            "note": NOTE,
        },
    }


def of_item(item: Item, program: Program) -> Document | None:
    """What was counted when the kernels of one call were run again; null where they were not."""
    replay = program.replays.get(item.signatures[0]) if len(item.signatures) == 1 else None
    if replay is None:
        return None
    needed = item.placement.work.algorithmic
    return {
        "source": replay.source(),
        "state": replay.state,
        "missing": list(replay.missing),
        "executed": _amounts(replay.executed),
        "achieved": _crossed(replay.achieved),
        "excess": {
            **_excess(replay.executed, needed, item.calls),
            **_excess(replay.achieved, needed, item.calls),
        },
        "time_s": replay.time_s,
        "roof_s": replay.roof_s,
        "roof_fraction": replay.roof_fraction,
        "refused": replay.refused or None,
        "kernels": [_kernel(kernel, replay) for kernel in replay.kernels],
        "facts": readings(replay.main.facts),
    }


def readings(known: Mapping[str, Reading]) -> Document:
    """Facts with their units and the counters they come from."""
    return {
        name: {
            "value": reading.value, "unit": reading.unit, "source": reading.source,
            "mark": reading.mark,
        }
        for name, reading in known.items()
    }  # fmt: skip


def _kernel(kernel: ReplayedKernel, replay: Replay) -> Document:
    binding = kernel.placement.binding
    passes = kernel.facts.get("replay_passes")
    return {
        "name": readable(kernel.name),
        "launch": kernel.launch,
        "of": kernel.of,
        "time_s": kernel.time_s,
        "clock_hz": kernel.clock_hz,
        "passes": None if passes is None else round(passes.value),
        "binding": None if binding is None else binding.demanded.name,
        "roof_fraction": None if replay.refused else kernel.placement.roof_fraction,
    }


def _amounts(ledger: Ledger | None) -> Document | None:
    return None if ledger is None else {r.name: n for r, n in ledger.demand().items()}


def _crossed(ledger: Ledger | None) -> Document | None:
    """By boundary, reads and writes where they were counted apart, the total, and the source."""
    if ledger is None:
        return None
    found: Document = {}
    for boundary, amount in ledger.demand().items():
        lines = [entry for entry in ledger.entries if entry.resource == boundary]
        apart = all(entry.access for entry in lines)
        found[boundary.name] = {
            "read": ledger.traffic(boundary, "read") if apart else None,
            "write": ledger.traffic(boundary, "write") if apart else None,
            "total": amount,
            "source": ", ".join(dict.fromkeys(entry.why for entry in lines)),
        }
    return found


def _excess(seen: Ledger | None, needed: Ledger | None, calls: int) -> Document:
    """Counted over needed where both are whole: of a pipe its flop, of DRAM all compulsory bytes.

    Cold caches hold nothing, so that bytes which the running program finds in one cross DRAM.
    """
    if seen is None or needed is None or seen.unaccounted or needed.unaccounted:
        return {}
    least = needed.demand()
    least[DRAM] = sum(amount for resource, amount in least.items() if resource in HIERARCHY)
    return {
        r.name: amount * calls / least[r]
        for r, amount in seen.demand().items()
        if (r.is_pipe or r == DRAM) and least.get(r)
    }


def text(document: Document, rows: int) -> Iterable["RenderableType"]:
    """For the terminal: the kind of time where kernels were looked at, and their counters."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    about, kind = document.get("replays"), document.get("timeline")
    counted = [item for item in document["items"] if item.get("replay")][:rows]
    looked = about is not None or any(gap["name"] == NO_COUNTERS for gap in document["gaps"])
    if looked:
        yield Text("")
    if kind is not None and looked:
        yield Text(kind["claim"])
        yield Padding(Text("\n".join(kind["evidence"]), style="dim"), (0, 0, 1, 6))
    if about is None or not counted:
        return
    yield Text(
        f"counters of one call by {about['tool']}: caches {about['cache']}, clocks "
        f"{about['clock']}; another state than the times above"
    )
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column("operator", overflow="ellipsis", no_wrap=True, max_width=NAME)
    table.add_column("launch", justify="right", no_wrap=True)
    for name in ("flop", "of needed", "dram", "of needed", "own time", "of roof"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("bound by", no_wrap=True)
    names = told_apart((item["name"] for item in counted), NAME)
    for item in counted:
        table.add_row(*_cells(names[item["name"]], item))
    yield table
    yield Text(about["timer"], style="dim")
    yield Text(NOTE, style="dim")
    if any(item["replay"]["missing"] for item in counted):
        yield Text("+? further kernels of the call were not counted", style="dim")
    for why in dict.fromkeys(item["replay"]["refused"] for item in counted):
        if why:
            yield Text(f"no share of a roof: {why}", style="dim")


def _cells(name: str, item: Document) -> Sequence[str]:
    replay = item["replay"]
    executed, achieved = replay["executed"], replay["achieved"] or {}
    kernels = replay["kernels"]
    longest = max(kernels, key=lambda kernel: kernel["time_s"] or 0.0)
    flop = None if executed is None else sum(executed.values())
    pipe = max(executed, key=executed.get) if executed else None
    dram = achieved.get("dram")
    fraction = replay["roof_fraction"]
    return (
        name,
        _launches([kernel["launch"] for kernel in kernels]) + "+?" * bool(replay["missing"]),
        "-" if flop is None else show(flop, "flop"),
        _times(replay["excess"].get(pipe)),
        "-" if dram is None else show(dram["total"], "B"),
        _times(replay["excess"].get("dram")),
        "-" if replay["time_s"] is None else show(replay["time_s"], "s"),
        "-" if fraction is None else show_share(fraction),
        longest["binding"] or "-",
    )


def _launches(numbers: Sequence[int]) -> str:
    """``68-70`` of neighbours, else one by one.

    >>> _launches([68, 69, 70]), _launches([4, 9])
    ('68-70', '4, 9')
    """
    first, last = numbers[0], numbers[-1]
    if len(numbers) > 2 and list(numbers) == list(range(first, last + 1)):
        return f"{first}-{last}"
    return ", ".join(map(str, numbers))


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"
