"""What kind of time a step on a device is made of: the first question, before any kernel's.

Is the device waiting for the host, idle in long gaps, busy with copies or with kernels too short to
pay, or do a few slow kernels hold what is to win?  The first of these that takes a visible share
names the kind; the shares of all of them are its evidence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from roofline.device import PCIE
from roofline.diagnosis.doubts.waiting import WAITED, waiting
from roofline.diagnosis.memory.traffic import COPIES
from roofline.diagnosis.overhead.starts import far_apart
from roofline.diagnosis.overhead.startup import startup_s
from roofline.program import Item, Program
from roofline.units import number_of, show, show_share

Kind = Literal[
    "host-bound", "bubbles", "stray copies", "tiny kernels", "a few slow kernels", "many kernels"
]
IDLE = 0.3  # assumed: from this share of a step on, what the device waits for comes first
COPIED = 0.2  # assumed: of device time
TINY = 0.3  # assumed: of device time, in kernels that are over before the next can start
MOST = 0.8  # of what is to win
FEW = 5  # lines that hold it, up to which they are few


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What most of a step's time is."""

    kind: Kind
    claim: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """The lines that hold most of what is to win."""

    few: int
    lines: int  # of all
    share: float  # that they hold


def timeline(program: Program) -> Timeline | None:
    """The kind of a program's time; None where nothing ran on a device, or no time is known."""
    whole, kernels = program.whole, program.kernels
    if kernels is None or not whole.busy_s:
        return None
    steps = program.conditions.steps
    # What is paid once says nothing of a step's kind.
    own_s = (whole.step_s or 0.0) - startup_s(program)
    idle_s = (whole.gap_s or 0.0) - startup_s(program)
    idle = idle_s / own_s if own_s > 0 else 0.0
    copied_s = _copied_s(program)
    lines = _to_win(program.by("call"))
    few, most = _few(lines)
    evidence = (
        _idle(program),
        f"copies: {show(copied_s, 's')} a step, {show_share(copied_s / whole.busy_s)} of device "
        "time",
        _tiny(program),
        *_most(lines, few, most, steps),
    )
    every = sum(seconds for _, seconds in lines)
    held = Held(few, len(lines), most / every if every else 0.0)
    kind, claim = _kind(program, idle_s, idle, copied_s / whole.busy_s, held)
    return Timeline(kind=kind, claim=claim, evidence=evidence)


def _kind(
    program: Program, idle_s: float, idle: float, copied: float, held: Held
) -> tuple[Kind, str]:
    whole, kernels, steps = program.whole, program.kernels, program.conditions.steps
    assert kernels is not None
    assert whole.busy_s
    tiny = kernels.short_s / steps / whole.busy_s
    if idle >= IDLE:
        each_s = idle_s * steps / kernels.started
        of = "a step, its first calls apart," if startup_s(program) else "a step"
        if far_apart(program, each_s):
            return "bubbles", (
                f"bubbles: {idle:.0%} of {of} the device does nothing, in gaps far longer than "
                "starting a kernel takes"
            )
        return "host-bound", (
            f"host-bound: {idle:.0%} of {of} the device waits for its next kernel, "
            f"{show(each_s, 's')} before each"
        )
    if copied >= COPIED:
        return "stray copies", f"stray copies: they are {copied:.0%} of device time"
    if tiny >= TINY:
        return "tiny kernels", (
            f"trains of tiny kernels: {tiny:.0%} of device time goes into kernels that are over "
            "before the next can be started"
        )
    told = f"{held.few} of {number_of(held.lines, 'line')} hold {held.share:.0%} of what is to win"
    if held.few <= FEW:
        return "a few slow kernels", f"a few slow kernels: {told}"
    return "many kernels", f"many kernels: {told}"


def _idle(program: Program) -> str:
    whole, once_s = program.whole, startup_s(program)
    if not whole.step_s or whole.gap_s is None:
        return "gaps: the time around the kernels is not known"
    once = f"; {show(once_s, 's')} of that in first calls, once" if once_s else ""
    late = waiting(program)
    host = f"; its host waited for a processor during {late:.0%}" if late >= WAITED else ""
    return (
        f"gaps: {show(whole.gap_s, 's')} of {show(whole.step_s, 's')} a step the device does "
        f"nothing, {show_share(whole.gap_s / whole.step_s)}{once}{host}"
    )


def _tiny(program: Program) -> str:
    """Not told apart where nothing says how long a start takes."""
    whole, kernels, steps = program.whole, program.kernels, program.conditions.steps
    assert kernels is not None
    assert whole.busy_s
    if program.conditions.call_overhead_s is None:
        return "tiny kernels: how long a kernel takes to start was not measured on this device"
    return (
        f"tiny kernels: {kernels.short / steps:g} of "
        f"{number_of(kernels.started / steps, 'start')} are of kernels over before the next can be "
        f"started; together {show(kernels.short_s / steps, 's')}, "
        f"{show_share(kernels.short_s / steps / whole.busy_s)} of device time"
    )


def _copied_s(program: Program) -> float:
    """A step's time in copies: over the link, and of operators that only copy."""
    over_link_s = sum(copy.seconds for copy in program.copies)
    within_s = sum(
        item.measured_s or 0.0
        for item in program.by("call")
        if item.name in COPIES and not (item.ledger and PCIE in item.ledger.demand())
    )
    return (over_link_s + within_s) / program.conditions.steps


def _to_win(items: Sequence[Item]) -> list[tuple[Item, float]]:
    """Lines with anything to win, and how much [s], most first."""
    found = [(item, item.to_win_s) for item in items if item.to_win_s > 0]
    return sorted(found, key=lambda pair: pair[1], reverse=True)


def _few(lines: Sequence[tuple[Item, float]]) -> tuple[int, float]:
    """How many lines hold most of what is to win, and how much that is [s]."""
    every, held = sum(s for _, s in lines), 0.0
    for number, (_, seconds) in enumerate(lines, start=1):
        held += seconds
        if held >= MOST * every:
            return number, held
    return len(lines), held


def _most(lines: Sequence[tuple[Item, float]], few: int, most: float, steps: int) -> Iterator[str]:
    if lines:
        names = [item.name.removeprefix("aten::") for item, _ in lines[:few]]
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        yield (
            f"slow kernels: {few} of {number_of(len(lines), 'line')} hold "
            f"{show(most / steps, 's')} of what is to win: {shown}"
        )
