"""How long this thread was ready to run while other programs held the processors."""

from pathlib import Path

_SCHEDULER = Path("/proc/thread-self/schedstat")  # ns running, ns waiting, times it ran


def waited_ns() -> int | None:
    """Nanoseconds since the thread began; None where the system does not tell.

    Source: Linux, Documentation/scheduler/sched-stats.rst, /proc/<pid>/schedstat.
    """
    try:
        return int(_SCHEDULER.read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
