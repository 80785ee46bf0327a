"""Another clock's time as the recorder's, which is `time.perf_counter_ns`."""

from collections.abc import Callable
from time import perf_counter_ns, time_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_TRIES = 5


class Clock:
    """A straight line through two readings of both clocks: one may be corrected meanwhile."""

    def __init__(self, now: Callable[[], int] = time_ns):
        self._now = now  # the other clock, in any unit
        self._readings = [self._reading()]

    def read(self) -> None:
        """Compare the two clocks once more."""
        self._readings.append(self._reading())

    def host(self, time: int) -> int:
        """One moment on the recorder's clock."""
        then, ticks, rate = self._line()
        return ticks + round((time - then) * rate)

    def hosts(self, times: "np.ndarray") -> "np.ndarray":
        """Many moments [n] on the recorder's clock."""
        import numpy as np

        then, ticks, rate = self._line()
        return ticks + np.rint((times - then) * rate).astype(np.int64)

    def _line(self) -> tuple[int, int, float]:
        (then, ticks), (later, later_ticks) = self._readings[0], self._readings[-1]
        return then, ticks, 1.0 if later == then else (later_ticks - ticks) / (later - then)

    def _reading(self) -> tuple[int, int]:
        """Both clocks at one moment: the closest of a few tries."""
        tries = []
        for _ in range(_TRIES):
            before, there, after = perf_counter_ns(), self._now(), perf_counter_ns()
            tries.append((after - before, there, (before + after) // 2))
        _, there, ticks = min(tries)
        return there, ticks
