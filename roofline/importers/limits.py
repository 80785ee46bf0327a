"""Which times can be: what lies outside is damage, and unknown."""

LONGEST_NS = 10**14  # of one kernel or region: more than a day
LARGEST_ID = 2**62  # of streams and threads
MOST_BYTES = 1 << 48  # of one copy: more than any device holds
LATEST_NS = 4 * 10**18  # of a clock that began in 1970: the year 2096


def duration_ns(value: float | None) -> int | None:
    """A duration in whole nanoseconds; None for none, for zero and below, and for what cannot be.

    >>> duration_ns(1500.4), duration_ns(0.0), duration_ns(1e30)
    (1500, None, None)
    """
    if value is None or not 0 < value < LONGEST_NS:
        return None
    return round(value) or None


def moment_ns(value: float | None) -> int | None:
    """A point in time in whole nanoseconds; None for none and for what cannot be."""
    return None if value is None or not abs(value) < LATEST_NS else round(value)


def identifier(value: object) -> int | None:
    """The number of a stream or thread; None for anything that is no such number."""
    if isinstance(value, str):
        value = int(value) if value.isdecimal() and len(value) < 19 else None
    return value if isinstance(value, int) and 0 <= value < LARGEST_ID else None
