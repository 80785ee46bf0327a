"""The dial's steps under the two roofs they follow, in a terminal."""

import math
from collections.abc import Sequence

from roofline.units import show

HEIGHT = 18
_EVERY = 2  # steps between two ticks


def chart(
    steps: Sequence[tuple[float, float]], bandwidth: float, peak: float, width: int
) -> list[str]:
    """Lines of a chart of (intensity [flop/B], rate [flop/s]) steps, both axes logarithmic.

    `bandwidth` [B/s] and `peak` [flop/s] are the roofs.  Dots are the roofs, o the steps.
    """
    import plotext

    figure = plotext.figure
    figure.clear()
    figure.plot_size(width, HEIGHT)
    first, last = steps[0][0], steps[-1][0]
    corner = min(max(peak / bandwidth, first), last)
    roof = [(x, min(peak, x * bandwidth)) for x in (first, corner, last)]
    line = figure.signal(*_scaled(roof), marker="·")
    line.lines()
    figure.draw(line)
    figure.draw(figure.signal(*_scaled(steps), marker="o"))
    shown = [x for x, _ in steps[::_EVERY]]
    figure.ruler("x").ticks([math.log2(x) for x in shown], [f"{x:g}" for x in shown])
    rates = _decades(steps)
    figure.ruler("y").ticks([math.log2(y) for y in rates], [show(y, "flop/s") for y in rates])
    figure.label("flop/B", "x")
    text = str(plotext.uncolorize(figure.build().string()))
    figure.clear()
    return [line.rstrip() for line in text.splitlines()]


def _scaled(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [math.log2(x) for x, _ in points], [math.log2(y) for _, y in points]


def _decades(steps: Sequence[tuple[float, float]]) -> list[float]:
    """Powers of ten within the steps' rates, and the highest rate."""
    low, high = min(y for _, y in steps), max(y for _, y in steps)
    between = range(math.ceil(math.log10(low)), math.ceil(math.log10(high)))
    return [*(10.0**n for n in between if 10.0**n < high / 1.5), high]
