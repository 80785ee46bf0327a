"""Which events of a run count, how long each took, and how busy the device was."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from roofline.device import Resource
from roofline.program.placed import Placed
from roofline.program.residency import reaches
from roofline.runfile import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One event of a measured step with its time: on a device, that of its kernels."""

    row: int  # position in Run.events
    signature: int
    level: Resource  # the boundary that its data crossed
    kind: str
    step: int
    start_ns: int
    time_ns: float | None
    phase: str
    module: str
    page_faults: int | None
    reads: tuple[int, ...]
    writes: tuple[int, ...]


def measured_steps(run: Run) -> list[int]:
    """Positions of the steps that are not warm-up."""
    return [i for i, step in enumerate(run.steps) if not step.warmup]


def timed(run: Run, placed: Placed) -> list[Timed]:
    """The events of measured steps, in order.

    Where kernels were recorded, an operator takes the time of the kernels it caused, and a kernel
    that no operator caused stands for itself.
    """
    wanted = set(measured_steps(run))
    rows = run.rows()
    kernel_ns: dict[int, int] = {}
    for row in rows:
        if row["kind"] == "kernel" and row["parent"] is not None and row["duration_ns"] is not None:
            kernel_ns[row["parent"]] = kernel_ns.get(row["parent"], 0) + row["duration_ns"]
    on_device = any(row["kind"] == "kernel" for row in rows)
    # An operator that starts no kernel (a view) takes no device time: a known zero.
    calls = [None if placed.free(i) else s.call for i, s in enumerate(placed.signatures)]
    return [
        _timed(
            position,
            row,
            _time_ns(row, kernel_ns.get(position, 0), on_device),
            placed.level(row["signature"], reach),
        )
        for position, (row, reach) in enumerate(zip(rows, reaches(rows, calls), strict=True))
        if row["step"] in wanted and _stands_for_itself(row)
    ]


def busy_ns(run: Run) -> int | None:
    """Time covered by at least one event of a measured step: kernels where there are any."""
    wanted = set(measured_steps(run))
    rows = [r for r in run.rows() if r["step"] in wanted and r["duration_ns"] is not None]
    kernels = [r for r in rows if r["kind"] == "kernel"]
    if not rows:
        return None
    return union_ns((r["start_ns"], r["start_ns"] + r["duration_ns"]) for r in kernels or rows)


def union_ns(intervals: Iterable[tuple[int, int]]) -> int:
    """Length of the union of intervals: overlapping streams are not busy twice.

    >>> union_ns([(0, 10), (5, 12), (20, 21)])
    13
    """
    covered, reached = 0, None
    for start, end in sorted(intervals):
        if reached is None or start > reached:
            covered += end - start
            reached = end
        elif end > reached:
            covered += end - reached
            reached = end
    return covered


def _time_ns(row: dict[str, Any], kernels_ns: int, on_device: bool) -> int | None:
    duration_ns: int | None = row["duration_ns"]
    return kernels_ns if on_device and row["kind"] != "kernel" else duration_ns


def _stands_for_itself(row: dict[str, Any]) -> bool:
    return row["kind"] in ("op", "region") or (row["kind"] == "kernel" and row["parent"] is None)


def _timed(position: int, row: dict[str, Any], time_ns: int | None, level: Resource) -> Timed:
    return Timed(
        row=position,
        signature=row["signature"],
        level=level,
        kind=row["kind"],
        step=row["step"],
        start_ns=row["start_ns"],
        time_ns=time_ns,
        phase=row["phase"],
        module=row["module"],
        page_faults=row["page_faults"],
        reads=tuple(row["reads"] or ()),
        writes=tuple(row["writes"] or ()),
    )
