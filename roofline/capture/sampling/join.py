"""Samples of a whole device -> what each thing that ran on it, and each stretch of time, moved.

A sample counts everything that crossed during its interval.  One that only one thing ran in is that
thing's; one that several touch is shared out by the time of each in it, and then the amount is only
known to lie between what is surely its own and all that it touched: [low, high].  Samples are of
any length: where sampling paused, one holds the whole pause.
"""

from dataclasses import dataclass

import numpy as np

TIGHT = 0.2  # how far low and high may be apart, of the amount, in what is a thing's own
_JUDGED = "dram__bytes"  # metrics of one unit: those that are compared
NOISE = 65_536  # B: or how far in any case; the device itself moves some
COARSE = 4  # times the median, from which a sample cannot tell where a stretch begins or ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """What a device did in n intervals, by m metrics; times on the recorder's clock.

    Where samples were lost, an interval is missing.
    """

    metrics: tuple[str, ...]
    starts: np.ndarray  # [n] ns, ascending
    ends: np.ndarray  # [n] ns
    values: np.ndarray  # [n, m]
    slack_ns: int  # how far this clock and that of the kernels may be apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What each of k things moved, by metric; `own` says of which that is worth telling."""

    amount: np.ndarray  # [k, m]
    low: np.ndarray
    high: np.ndarray
    own: np.ndarray  # [k] bool


def share(starts: np.ndarray, ends: np.ndarray, samples: Samples) -> Shares:
    """What each thing that ran on the device from `starts` to `ends` [ns] moved.

    It is its own where all of it was sampled, and low and high are near each other.
    """
    thing, sample = _touching(starts, ends, samples)
    within = np.minimum(samples.ends[sample], ends[thing])
    within = np.maximum(within - np.maximum(samples.starts[sample], starts[thing]), 0).astype(float)
    alone = np.bincount(sample, minlength=len(samples.starts))[sample] == 1
    # Bytes still under way when a thing ended, beside which nothing ran, are its own.
    within[alone & (within == 0)] = 1.0
    all_within = np.bincount(sample, weights=within, minlength=len(samples.starts))[sample]
    part = np.divide(within, all_within, out=np.zeros_like(within), where=all_within > 0)

    def summed(weights: np.ndarray) -> np.ndarray:
        columns = [
            np.bincount(thing, weights=weights * column[sample], minlength=len(starts))
            for column in samples.values.T
        ]
        return np.stack(columns, axis=1)

    amount, low, high = summed(part), summed(alone.astype(float)), summed(np.ones_like(part))
    over = [at for at, name in enumerate(samples.metrics) if name.startswith(_JUDGED)]
    apart, whole = ((high - low)[:, over].sum(axis=1), amount[:, over].sum(axis=1))
    near = apart <= np.maximum(TIGHT * whole, NOISE)
    return Shares(amount=amount, low=low, high=high, own=near & _held(starts, ends, samples))


def totals(starts: np.ndarray, ends: np.ndarray, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """All that crossed in each stretch of time [ns]: sums [k, m], and which of them are known [k].

    A stretch may hold a pause of the sampling, but not begin or end in one.
    """
    held = _held(starts, ends, samples)
    if not held.any():
        return np.zeros((len(starts), len(samples.metrics))), held
    lengths = samples.ends - samples.starts
    coarse = lengths > COARSE * np.median(lengths)
    for moments in (starts, ends):
        at = np.searchsorted(samples.ends, moments, side="right")
        held &= ~coarse[np.minimum(at, len(coarse) - 1)]
    edges = np.append(samples.starts, samples.ends[-1])
    until = [np.append(0.0, np.cumsum(column)) for column in samples.values.T]
    sums = [np.interp(ends, edges, each) - np.interp(starts, edges, each) for each in until]
    return np.stack(sums, axis=1), held


def _held(starts: np.ndarray, ends: np.ndarray, samples: Samples) -> np.ndarray:
    """Whether each stretch lies within what was sampled, and nothing of it was lost."""
    if not len(samples.starts):
        return np.zeros(len(starts), dtype=bool)
    early, late = starts - samples.slack_ns, ends + samples.slack_ns
    within = (early >= samples.starts[0]) & (late <= samples.ends[-1])
    lost = np.append(0, np.cumsum(samples.starts[1:] > samples.ends[:-1]))
    first = np.searchsorted(samples.ends, early, side="right").clip(max=len(lost) - 1)
    last = (np.searchsorted(samples.starts, late, side="left") - 1).clip(min=0)
    held: np.ndarray = within & (lost[first] == lost[last])
    return held


def _touching(
    starts: np.ndarray, ends: np.ndarray, samples: Samples
) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of a thing and a sample that may have seen it, the clocks' slack considered."""
    first = np.searchsorted(samples.ends, starts - samples.slack_ns, side="right")
    last = np.searchsorted(samples.starts, ends + samples.slack_ns, side="left")
    counts = np.maximum(last - first, 0)
    thing = np.repeat(np.arange(len(starts)), counts)
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return thing, place + np.repeat(first, counts)
