"""What was sampled -> the counters of kernels and of steps, and a sentence of how they came."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from roofline.capture.sampling.join import Samples, Shares, share, totals
from roofline.counters.reading import HIGH, LOW
from roofline.runfile import Gap, Step
from roofline.units import number_of, show

if TYPE_CHECKING:
    from roofline.capture.device.kernels import Kernel
    from roofline.capture.sampling.sampler import Sampler

Counters = dict[str, float]
FEW = 0.1  # of the measured kernels, up to which those without counters are not named
_SAME = 0.5  # of a unit: what is nearer is one number


@dataclass(frozen=True, slots=True)
class Attached:
    """Kernels and steps with what was sampled of them."""

    kernels: list[Counters]  # of each kernel; empty where it has none of its own
    steps: tuple[Step, ...]
    how: str  # "" where nothing was sampled
    gaps: tuple[Gap, ...] = ()


def attach(
    kernels: "Sequence[Kernel]",
    step_of: Sequence[int],
    steps: Sequence[Step],
    sampler: "Sampler | None",
) -> Attached:
    """Join the samples of `sampler` to kernels, and to `steps` by the step of each kernel."""
    if sampler is None or sampler.samples is None:
        return Attached([{} for _ in kernels], tuple(steps), "")
    here = [at for at, kernel in enumerate(kernels) if kernel.device == sampler.device]
    starts = np.array([kernels[at].start for at in here], np.int64)
    ends = starts + np.array([kernels[at].duration for at in here], np.int64)
    counters = of_kernels(starts, ends, sampler.samples)
    whole = of_steps(starts, ends, [step_of[at] for at in here], sampler.samples)
    found: list[Counters] = [{} for _ in kernels]
    for at, each in zip(here, counters, strict=True):
        found[at] = each
    counted = tuple(replace(step, counters=whole.get(at, {})) for at, step in enumerate(steps))
    measured = {at for at, step in enumerate(steps) if not step.warmup}
    of_measured = [each for each, step in zip(found, step_of, strict=True) if step in measured]
    how = (
        f"CUPTI PM sampling every {sampler.interval_ns / 1000:g} us while the program ran, caches "
        f"as it left them: {sum(map(bool, of_measured))} of "
        f"{number_of(len(of_measured), 'kernel')} and {len(measured & set(whole))} of "
        f"{number_of(len(measured), 'measured step')} counted"
    )
    uncounted = [counted[at] for at in measured if at not in whole]
    gaps = (*_untold(of_measured), *_too_long(uncounted, sampler.window_s))
    return Attached(found, counted, how, gaps)


def _untold(kernels: Sequence[Counters]) -> Iterator[Gap]:
    """Kernels without bytes of their own, where they are more than a few."""
    without = sum(not counters for counters in kernels)
    if without > FEW * len(kernels):
        what = (
            "kernels ran in a pause of the sampling, or so close to others that no sample tells "
            "them apart: they have no bytes of their own"
        )
        yield Gap(name="counters of kernels", what=what, count=without)


def _too_long(uncounted: Sequence[Step], window_s: float) -> Iterator[Gap]:
    """Steps without a total because they began or ended in a pause of the sampling."""
    long = [step for step in uncounted if step.duration_ns > window_s * 1e9]
    if long:
        what = (
            f"steps are longer than the {show(window_s, 's')} that are sampled without a pause; "
            "a larger --sample-us covers longer ones"
        )
        yield Gap(name="counters of steps", what=what, count=len(long))


def of_kernels(starts: np.ndarray, ends: np.ndarray, samples: Samples) -> list[Counters]:
    """The counters of what ran from `starts` to `ends` [ns]; empty where they are not its own.

    Where a sample had to be shared out, ``NAME:low`` and ``NAME:high`` stand beside ``NAME``.
    """
    shares = share(starts, ends, samples)
    return [
        _counters(samples.metrics, shares, row) if own else {}
        for row, own in enumerate(shares.own.tolist())
    ]


def of_steps(
    starts: np.ndarray, ends: np.ndarray, step_of: Sequence[int], samples: Samples
) -> dict[int, Counters]:
    """By step, all that crossed from the start of its first kernel to the end of its last.

    A step whose kernels run among those of another has no total of its own.
    """
    spans: dict[int, tuple[int, int]] = {}
    for start, end, step in zip(starts.tolist(), ends.tolist(), step_of, strict=True):
        if step >= 0:
            first, last = spans.get(step, (start, end))
            spans[step] = (min(first, start), max(last, end))
    apart = _apart(spans)
    edges = np.array([spans[step] for step in apart], np.int64).reshape(-1, 2)
    sums, known = totals(edges[:, 0], edges[:, 1], samples)
    return {
        step: dict(zip(samples.metrics, row.tolist(), strict=True))
        for step, row, held in zip(apart, sums, known, strict=True)
        if held
    }


def _counters(metrics: tuple[str, ...], shares: Shares, row: int) -> Counters:
    counters: Counters = {}
    for at, name in enumerate(metrics):
        low, high = float(shares.low[row, at]), float(shares.high[row, at])
        counters[name] = float(shares.amount[row, at])
        if high - low > _SAME:
            counters |= {name + LOW: low, name + HIGH: high}
    return counters


def _apart(spans: dict[int, tuple[int, int]]) -> list[int]:
    """Those whose span meets no other's."""
    ordered = sorted(spans, key=lambda step: spans[step])
    found, reached = [], 0
    for step, after in zip(ordered, [*ordered[1:], None], strict=False):
        start, end = spans[step]
        if start >= reached and (after is None or end <= spans[after][0]):
            found.append(step)
        reached = max(reached, end)
    return found
