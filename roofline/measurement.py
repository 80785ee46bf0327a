"""The state in which times were taken: numbers of different states do not meet unseen."""

from enum import StrEnum


class CacheState(StrEnum):
    """What the caches held when the clock started."""

    WARM = "warm"  # as the running program left them
    FLUSHED = "flushed"  # a profiler emptied them before each kernel
    UNKNOWN = "unknown"


class ClockState(StrEnum):
    """How the clocks were governed."""

    FREE = "free"  # boost, as a user gets it
    BASE = "base"  # locked to base by a profiler
    UNKNOWN = "unknown"
