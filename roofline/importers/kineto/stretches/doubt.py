"""Times of device activities that cannot be: kept as unknown, and counted."""

from dataclasses import dataclass

from roofline.importers.kineto.stretches.times import Times, ended


@dataclass(frozen=True, slots=True)
class Doubt:
    """How many activities have no believable duration, by what is wrong with it."""

    zero: int = 0  # shorter than the trace can tell
    overlong: int = 0  # reaches over whole later activities of the same stream
    early: int = 0  # begins before its launch
    late: int = 0  # ends long after everything that was recorded

    def __add__(self, other: "Doubt") -> "Doubt":
        return Doubt(
            self.zero + other.zero,
            self.overlong + other.overlong,
            self.early + other.early,
            self.late + other.late,
        )


def without_zero(at: Times) -> tuple[Times, Doubt]:
    """The times without durations of zero."""
    import pyarrow as pa
    import pyarrow.compute as pc

    zero = pc.fill_null(pc.equal(at.duration, 0), False)
    duration = pc.if_else(zero, pa.scalar(None, pa.int64()), at.duration)
    return ended(at.start, duration), Doubt(zero=pc.sum(zero).as_py() or 0)
