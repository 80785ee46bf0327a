"""What a run pays once: first calls on a device load libraries and kernels.

A script without steps holds them in what is measured, unless the same call follows again.
"""

from collections import Counter
from dataclasses import dataclass

from roofline.program.columns import in_steps, is_kind, union_ns
from roofline.runfile import Run

OURS = "roofline"  # the recorder here, which is started before the program is
LOADING_NS = 1_000_000  # assumed: a call keeps its host so long only to load something, or to wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Starting:
    """Calls of measured steps that were their signature's first and kept their host long."""

    idle_s: float  # in which the device did nothing while they ran
    calls: tuple[tuple[str, float], ...]  # operator, how long the host was in it [s]; longest first


def starting(run: Run) -> Starting | None:
    """None where nothing ran on a device, and where no first call took long.

    A trace does not begin with its program, and its first calls are not the program's.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    events = run.events
    if not run.recorder.tool.startswith(OURS):
        return None
    # What an earlier step left to do keeps the device busy as well.
    device = is_kind(events, ("kernel", "memcpy"))
    if not pc.any(pc.and_(in_steps(run), device)).as_py():
        return None
    long = pc.fill_null(pc.greater_equal(events["duration_ns"], LOADING_NS), False)
    called = pc.and_(is_kind(events, ("op", "region")), pc.and_(in_steps(run), long))
    signatures = events["signature"].filter(called).unique().to_pylist()
    first = [events["signature"].index(at).as_py() for at in signatures]
    rows = [row for row in first if called[row].as_py()]
    if not rows:
        return None
    loading = np.zeros(len(events), bool)
    loading[rows] = True
    chosen = pc.or_(device, pa.chunked_array([loading]))
    took: Counter[str] = Counter()
    lasted = (events[name].take(rows).to_pylist() for name in ("signature", "duration_ns"))
    for at, ns in zip(*lasted, strict=True):
        took[run.signatures[at].name] += ns
    return Starting(
        idle_s=(union_ns(events, chosen) - union_ns(events, device)) / 1e9,
        calls=tuple((name, ns / 1e9) for name, ns in took.most_common()),
    )
