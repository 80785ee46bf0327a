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
from roofline.program.item import line
from roofline.provenance import Spread, spread
from roofline.runfile import Run
from roofline.units import show, show_share

Verdict = Literal["moved", "faster", "slower", "the same"]
NOISE = 0.05  # assumed: of a time without an interval, below which a difference is none
LINES = 3  # lines of each run with most to win
SHAPES = 40  # characters of a line's tensors that are shown
WAITING = ("host-bound", "bubbles")  # kinds of a step in which the device waits
OTHERWISE = (*WAITING, "stray copies", "tiny kernels")  # limiters that are no kernel's own roof


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What became of a program's limiter."""

    verdict: Verdict
    sentence: str
    evidence: tuple[str, ...]  # of the lines with most to win, then and now


def moved(earlier: Run, later: Run) -> Moved:
    """Hold two runs of one program against each other.

    Raises BadInput where one has no times, or they ran on different devices.
    """
    one, other = earlier.device, later.device
    if one is not None and other is not None and one.id != other.id:
        raise BadInput(f"one run is of {one.name}, the other of {other.name}")
    before, now = read(earlier), read(later)
    was, then = limiter(before), limiter(now)
    of_device = not {was, then} & {*WAITING} and None not in (before.kernels, now.kernels)
    first, last = _took(earlier, before, of_device), _took(later, now, of_device)
    if first is None or last is None:
        raise BadInput("a run without times cannot be held against another")
    change = _changed(first, last)
    of = " of device time" if of_device else ""
    times = f"{_in_words(first)} -> {_in_words(last)}{of} a step"
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


@dataclass(frozen=True, slots=True)
class _Took:
    """Time of a step [s]: its mean, and its distribution where there were several."""

    mean_s: float
    spread: Spread | None


def _took(run: Run, program: Program, of_device: bool) -> _Took | None:
    """By the wall clock; of the device where it never waits, since its host runs ahead of it."""
    whole = program.whole
    if of_device or whole.step_s is None:
        together = line("program", program.parts, program.conditions) if program.parts else None
        of_steps = None if together is None else together.spread
        return None if whole.busy_s is None else _Took(whole.busy_s, of_steps)
    steps = (run.steps[at] for at in measured_steps(run))
    samples = [(s.duration_ns - s.bookkeeping_ns) / 1e9 for s in steps if s.duration_ns]
    return _Took(whole.step_s, spread(samples, best="min") if len(samples) > 1 else None)


def _changed(before: _Took, now: _Took) -> Literal["faster", "slower", "the same"]:
    intervals = sorted(
        (each.spread.low, each.spread.high)
        for each in (before, now)
        if each.spread and each.spread.low is not None and each.spread.high is not None
    )
    if len(intervals) == 2:
        differs = intervals[1][0] > intervals[0][1]
    else:
        differs = abs(now.mean_s - before.mean_s) > NOISE * before.mean_s
    if not differs:
        return "the same"
    return "faster" if now.mean_s < before.mean_s else "slower"


def _in_words(took: _Took) -> str:
    """With how far apart the middle half of the steps is, as a share of the median."""
    steps = took.spread
    if steps is None or not steps.median:
        return show(took.mean_s, "s")
    within = show_share((steps.q3 - steps.q1) / steps.median)
    return f"{show(took.mean_s, 's')} (half of {steps.n} steps within {within})"


def _lines(before: Program, now: Program) -> Iterator[str]:
    """The lines with most to win in either run, each then and now."""
    was, then = _by_call(before), _by_call(now)
    top = [*_worst(was.values()), *_worst(then.values())]
    for key in dict.fromkeys((item.name, item.shapes) for item in top):
        yield f"{_called(*key)}: {_state(was.get(key))} -> {_state(then.get(key))}"


def _called(name: str, shapes: str) -> str:
    short = shapes if len(shapes) <= SHAPES else f"{shapes[: SHAPES - 3]}..."
    return name.removeprefix("aten::") + (f" ({short})" if short else "")


def _by_call(program: Program) -> dict[tuple[str, str], Item]:
    found: dict[tuple[str, str], Item] = {}
    for item in program.by("call"):
        found.setdefault((item.name, item.shapes), item)
    return found


def _worst(items: Iterable[Item]) -> list[Item]:
    return sorted(items, key=lambda i: i.to_win_s / i.steps, reverse=True)[:LINES]


def _state(item: Item | None) -> str:
    if item is None:
        return "not there"
    time = "no time" if item.measured_s is None else show(item.measured_s / item.steps, "s")
    if item.binding is None or item.roof_fraction is None:
        return time
    return f"{time} ({show_share(item.roof_fraction)} of {item.binding.demanded.name})"
