"""What was measured: a duration of a named scope, with its state and its source."""

import math
from dataclasses import dataclass
from enum import StrEnum

from roofline.errors import BadInput
from roofline.provenance import Provenance


class Scope(StrEnum):
    """How much of the program a duration covers."""

    KERNEL = "kernel"
    OP = "op"
    REGION = "region"
    STEP = "step"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One duration on one device."""

    name: str
    scope: Scope
    duration_s: float
    provenance: Provenance  # its spread, in seconds, when repeated
    cache: CacheState = CacheState.UNKNOWN
    clock: ClockState = ClockState.UNKNOWN

    def __post_init__(self) -> None:
        if not (math.isfinite(self.duration_s) and self.duration_s > 0):
            raise BadInput(
                f"{self.name}: a measured time must be positive and finite; "
                f"got {self.duration_s!r} s"
            )
