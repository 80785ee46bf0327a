"""What the model says a change would bring, as an interval: `Finding.then_s`.

The least is the time at the upper end of the ceiling's own interval.  The most is today's time
where only the limit is known and not how near a cure comes to it, and the time at the lower end of
the interval where what remains is known.
"""

from collections.abc import Iterable

from roofline.program import Item

Span = tuple[float, float]


def at_roof_s(item: Item) -> Span | None:
    """A step's time of `item` on its roof, within the interval of the ceiling that binds it."""
    bound = item.binding
    if bound is None or item.roof_s is None or not bound.least_s:
        return None
    least_s, most_s = bound.interval_s
    share = item.roof_s / bound.least_s / item.steps  # of several levels the binding one stands
    return least_s * share, most_s * share


def down_to(least_s: float | None, now_s: float | None) -> Span | None:
    """From the least that is possible to what is there today; None where either is unknown."""
    return None if least_s is None or now_s is None else (min(least_s, now_s), now_s)


def to_roof_s(items: Iterable[Item], now_s: float | None) -> Span | None:
    """From all of `items` on their roofs to today's time."""
    spans = [at_roof_s(item) for item in items]
    known = [span[0] for span in spans if span is not None]
    return down_to(sum(known) if len(known) == len(spans) else None, now_s)


def added(spans: Iterable[Span | None]) -> Span | None:
    """Several predictions together; None where one of them is unknown."""
    known = [*spans]
    whole = [span for span in known if span is not None]
    if not whole or len(whole) < len(known):
        return None
    return sum(span[0] for span in whole), sum(span[1] for span in whole)
