"""Experiment A, the intensity dial: load a float, do F fused multiply-adds on it, store it.

    F FMAs are 2F flop on 8 B: the intensity is F/4 flop/B, and F alone turns it.

Turned from 1 to 2048 the same kernel goes from the memory roof to the compute roof; where both
would take the same time is the ridge.  Pure functions over steps; who times them is in `gpu_dial`
and `cpu_dial`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from roofline.bench.lab.outcome import Column, Outcome, Question
from roofline.units import show

FS = tuple(2**i for i in range(12))  # 1 to 2048
BYTES = 8  # an element: read and written
ON_A_ROOF = 0.9  # steps at least this near to the best rate lie on that roof
CHAINS = 4  # independent ones, so that an FMA need not wait for the one before

QUESTION = Question(
    "at which intensity do memory and arithmetic bind together (the ridge point)?",
    "flop/B",
    "peak flop/s over bytes/s: what the maker prints, or what you measured",
)
LATENCY = Question(
    "how many cycles does one dependent FMA take?",
    "",
    "with a single chain every FMA waits for the result of the one before",
)
COLUMNS = (
    Column("F"),
    Column("intensity", "flop/B"),
    Column("memory", "B/s"),
    Column("arithmetic", "flop/s"),
    Column("kernel holds"),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One setting of the dial."""

    f: int
    elements_per_s: float
    holds: str = ""  # what was found in the machine code; "" is not looked at

    @property
    def intensity(self) -> float:
        """Flop per byte: 2F over 8."""
        return self.f / 4

    @property
    def bytes_per_s(self) -> float:
        """Read and written."""
        return self.elements_per_s * BYTES

    @property
    def flop_per_s(self) -> float:
        """An FMA is two."""
        return self.elements_per_s * 2 * self.f


def slope(steps: Sequence[Step]) -> float:
    """Bandwidth along the memory roof [B/s]: the median of the steps that lie on it."""
    rates = [step.bytes_per_s for step in steps]
    return median(rate for rate in rates if rate >= ON_A_ROOF * max(rates))


def plateau(steps: Sequence[Step]) -> float:
    """Arithmetic along the compute roof [flop/s], likewise."""
    rates = [step.flop_per_s for step in steps]
    return median(rate for rate in rates if rate >= ON_A_ROOF * max(rates))


def roofs(outcome: Outcome) -> tuple[float, float]:
    """Bandwidth [B/s] and peak [flop/s] that the steps of an outcome follow."""
    steps = [Step(int(row[0] or 0), float(row[2] or 0) / BYTES) for row in outcome.rows]
    return slope(steps), plateau(steps)


def ridge(steps: Sequence[Step]) -> float | None:
    """The intensity where both roofs meet [flop/B]; None when the dial never reached one of them.

    A roof is reached when more than one step lies on it.
    """
    last, before = steps[-1].flop_per_s, steps[-2].flop_per_s
    first, second = steps[0].bytes_per_s, steps[1].bytes_per_s
    if before < ON_A_ROOF * last or second < ON_A_ROOF * first:
        return None
    return plateau(steps) / slope(steps)


def cycles_per_fma(step: Step, under_way: int, clock_hz: float) -> float:
    """Cycles between dependent FMAs, from one step on the plateau.

    `under_way` elements are worked on at a time, each by a chain of its own: every chain does one
    FMA in as many cycles as all of them together do `under_way`.
    """
    return under_way * clock_hz / (step.elements_per_s * step.f)


_ALLOCATES = (
    "memory counts 8 B an element; these stores go through the caches, which read a line before it "
    "is overwritten: 12 B move. `roofline measure` has more where a copy's stores bypass the caches"
)


def _falls(steps: Sequence[Step]) -> str:
    """Why a single chain is at its fastest before its end; "" where it is not."""
    best, last = max(steps, key=lambda step: step.flop_per_s), steps[-1]
    if last.flop_per_s >= ON_A_ROOF * best.flop_per_s:
        return ""
    return (
        f"at F = {best.f} the core begins the next elements while a chain still waits (out of "
        f"order), {show(best.flop_per_s, 'flop/s')}; a longer one fills its window, and at F = "
        f"{last.f} every FMA waits for the one before, {show(last.flop_per_s, 'flop/s')}"
    )


def outcome(
    device: str,
    steps: Sequence[Step],
    *,
    gpu: bool,
    latency: float | None = None,
    chains: int = CHAINS,
    conditions: Sequence[str] = (),
) -> Outcome:
    """The dial as a table; with one chain the answer is the latency of an FMA."""
    found = ridge(steps)
    notes = [] if found or chains < CHAINS else ["the dial did not reach both roofs"]
    notes += [] if gpu else [_ALLOCATES]
    notes += [_falls(steps)] if not gpu and chains < CHAINS else []
    return Outcome(
        experiment="dial",
        device=device,
        kind="gpu" if gpu else "cpu",
        question=QUESTION if chains >= CHAINS else LATENCY,
        answer=found if chains >= CHAINS else latency,
        columns=COLUMNS,
        rows=tuple((s.f, s.intensity, s.bytes_per_s, s.flop_per_s, s.holds) for s in steps),
        notes=tuple(note for note in notes if note),
        conditions=tuple(conditions),
    )
