"""The same program before and after a change: did the bottleneck move?

Times are compared within their own spread.  A step counts as another when the 95 % intervals of the
two medians do not meet; with fewer than six steps there is no interval, and a difference below a
twentieth counts as noise.  A program that waited for a processor may need that much less: where the
two then meet, or the middle halves of their steps do, they cannot be told apart.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from roofline.device import Resource
from roofline.diagnosis.doubts.waiting import WAITED, waiting
from roofline.diagnosis.timeline import timeline
from roofline.errors import BadInput
from roofline.program import Item, Program, read
from roofline.program.columns import measured_steps
from roofline.program.item import line
from roofline.provenance import Spread, spread
from roofline.runfile import Run
from roofline.units import show, show_share

Change = Literal["faster", "slower", "the same", "cannot be told apart"]
Verdict = Literal["moved", "faster", "slower", "the same", "cannot be told apart"]
NOISE = 0.05  # assumed: of a time without an interval, below which a difference is none
FELT = 0.01  # share of waiting that is said
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
    times = f"{_in_words(first)} -> {_in_words(last)}{of} a step{_waiting(first, last)}"
    # What binds most of the time is told by times too: in doubt, they tell of no move.
    in_doubt = max(first.waited, last.waited) >= WAITED and change == UNCLEAR
    verdict: Verdict = change if was == then or in_doubt else "moved"
    if in_doubt:
        limits = was if was == then else f"{was} -> {then}, as far as such times tell"
        sentence = f"{_WORDS[change]}; the limiter is {limits}: {times}"
    elif was != then:
        sentence = f"the limiter moved: {was} -> {then}; {times}: {_WORDS[change]}"
    else:
        sentence = f"{_WORDS[change]}, and the limiter is the same, {was}: {times}"
    return Moved(verdict=verdict, sentence=sentence, evidence=tuple(_lines(before, now)))


UNCLEAR: Change = "cannot be told apart"
_WORDS: dict[Change, str] = {
    "faster": "faster",
    "slower": "slower",
    "the same": "no difference beyond noise",
    UNCLEAR: "the two cannot be told apart",
}


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
    waited: float = 0.0  # share of it that may have been waiting for a processor

    @property
    def span_s(self) -> tuple[float, float]:
        """From the least that it can have been without waiting to what it was [s]."""
        steps = self.spread
        few = (steps.q1, steps.q3) if steps else (self.mean_s, self.mean_s)
        low, high = self.interval_s or few
        return (1 - self.waited) * low, high

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """Of the median, 95 % [s]; None with fewer than six steps."""
        steps = self.spread
        if steps is None or steps.low is None or steps.high is None:
            return None
        return steps.low, steps.high


def _took(run: Run, program: Program, of_device: bool) -> _Took | None:
    """By the wall clock; of the device where it never waits, since its host runs ahead of it."""
    whole = program.whole
    if of_device or whole.step_s is None:
        together = line("program", program.parts, program.conditions) if program.parts else None
        of_steps = None if together is None else together.spread
        return None if whole.busy_s is None else _Took(whole.busy_s, of_steps)
    steps = (run.steps[at] for at in measured_steps(run))
    samples = [(s.duration_ns - s.bookkeeping_ns) / 1e9 for s in steps if s.duration_ns]
    of_steps = spread(samples, best="min") if len(samples) > 1 else None
    return _Took(whole.step_s, of_steps, waiting(program))


def _changed(before: _Took, now: _Took) -> Change:
    apart = abs(now.mean_s - before.mean_s) > NOISE * before.mean_s
    spans = sorted((before.span_s, now.span_s))
    meet = spans[1][0] <= spans[0][1]
    intervals = before.interval_s is not None and now.interval_s is not None
    if not apart and (meet or not intervals):
        return "the same"
    if meet:
        return UNCLEAR
    return "faster" if now.mean_s < before.mean_s else "slower"


def _waiting(before: _Took, now: _Took) -> str:
    """What either waited for a processor, where that is felt."""
    if max(before.waited, now.waited) < FELT:
        return ""
    return f"; {before.waited:.0%} and {now.waited:.0%} of them waiting for a processor"


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
