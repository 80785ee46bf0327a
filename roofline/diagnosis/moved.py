"""The same program before and after a change: did the bottleneck move?

Times are compared within their own spread.  A step counts as another when the 95 % intervals of the
two medians do not meet; with fewer than six steps there is no interval, and a difference below a
twentieth counts as noise.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from roofline.device import Resource
from roofline.diagnosis.timeline import timeline
from roofline.errors import BadInput
from roofline.program import Item, Program, read
from roofline.program.columns import measured_steps
from roofline.provenance import Spread, spread
from roofline.runfile import Run
from roofline.units import show, show_share

Verdict = Literal["moved", "faster", "slower", "the same"]
NOISE = 0.05  # assumed: of a time without an interval, below which a difference is none
LINES = 3  # lines of each run that take most time
OTHERWISE = ("host-bound", "bubbles", "stray copies", "tiny kernels")  # no kernel's own roof


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What became of a program's limiter."""

    verdict: Verdict
    sentence: str
    evidence: tuple[str, ...]  # of the lines with most time, then and now


def moved(earlier: Run, later: Run) -> Moved:
    """Hold two runs of one program against each other.

    Raises BadInput where one has no times, or they ran on different devices.
    """
    one, other = earlier.device, later.device
    if one is not None and other is not None and one.id != other.id:
        raise BadInput(f"one run is of {one.name}, the other of {other.name}")
    before, now = read(earlier), read(later)
    was, then = limiter(before), limiter(now)
    first_s, last_s = _step_s(before), _step_s(now)
    if first_s is None or last_s is None:
        raise BadInput("a run without times cannot be held against another")
    spreads = _spread(earlier), _spread(later)
    change = _changed(*spreads, first_s, last_s)
    first, last = show(first_s, "s") + _around(spreads[0]), show(last_s, "s") + _around(spreads[1])
    times = f"{first} -> {last} a step"
    verdict: Verdict = change if was == then else "moved"
    if was != then:
        sentence = f"the limiter moved: {was} -> {then}; {times}: {_WORDS[change]}"
    else:
        sentence = f"{_WORDS[change]}, and the limiter is the same, {was}: {times}"
    return Moved(verdict=verdict, sentence=sentence, evidence=tuple(_lines(before, now)))


_WORDS = {"faster": "faster", "slower": "slower", "the same": "no difference beyond noise"}


def limiter(program: Program) -> str:
    """What limits a program, in a few words: the host, or the resource that binds most of its time.

    Of several resources the one speaks under whose roofs most of the measured time is spent.
    """
    kind = timeline(program)
    if kind is not None and kind.kind in OTHERWISE:
        return kind.kind
    spent: dict[Resource, float] = {}
    for item in program.by("call"):
        if item.binding is not None:
            at = item.binding.demanded
            spent[at] = spent.get(at, 0.0) + (item.measured_s or 0.0)
    most = max(spent, key=spent.__getitem__, default=None)
    return "unknown" if most is None else most.name


def _step_s(program: Program) -> float | None:
    whole = program.whole
    return whole.busy_s if whole.step_s is None else whole.step_s


def _spread(run: Run) -> Spread | None:
    """Of the wall time of a step, where there were several."""
    steps = (run.steps[at] for at in measured_steps(run))
    samples = [(s.duration_ns - s.bookkeeping_ns) / 1e9 for s in steps if s.duration_ns]
    return spread(samples, best="min") if len(samples) > 1 else None


def _changed(
    before: Spread | None, now: Spread | None, first_s: float, last_s: float
) -> Literal["faster", "slower", "the same"]:
    intervals = sorted(
        (each.low, each.high)
        for each in (before, now)
        if each is not None and each.low is not None and each.high is not None
    )
    if len(intervals) == 2:
        differs = intervals[1][0] > intervals[0][1]
    else:
        differs = abs(last_s - first_s) > NOISE * first_s
    if not differs:
        return "the same"
    return "faster" if last_s < first_s else "slower"


def _around(steps: Spread | None) -> str:
    """How far apart the middle half of the steps is, as a share of the median."""
    if steps is None or not steps.median:
        return ""
    return f" (half of {steps.n} steps within {show_share((steps.q3 - steps.q1) / steps.median)})"


def _lines(before: Program, now: Program) -> Iterator[str]:
    """The lines with most time in either run, each then and now."""
    was, then = _by_call(before), _by_call(now)
    top = [*_longest(was.values()), *_longest(then.values())]
    for key in dict.fromkeys((item.name, item.shapes) for item in top):
        name = key[0].removeprefix("aten::") + (f" ({key[1]})" if key[1] else "")
        yield f"{name}: {_state(was.get(key))} -> {_state(then.get(key))}"


def _by_call(program: Program) -> dict[tuple[str, str], Item]:
    found: dict[tuple[str, str], Item] = {}
    for item in program.by("call"):
        found.setdefault((item.name, item.shapes), item)
    return found


def _longest(items: Iterable[Item]) -> list[Item]:
    return sorted(items, key=lambda i: (i.measured_s or 0.0) / i.steps, reverse=True)[:LINES]


def _state(item: Item | None) -> str:
    if item is None:
        return "not there"
    time = "no time" if item.measured_s is None else show(item.measured_s / item.steps, "s")
    if item.binding is None or item.roof_fraction is None:
        return time
    return f"{time} ({show_share(item.roof_fraction)} of {item.binding.demanded.name})"
