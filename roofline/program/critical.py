"""The critical path of a traced step on a device: what the step waited for, moment by moment.

Walked backwards from the end of the step: the kernel or copy that ended last, then the one that had
ended last when it began, and so on; between two of them the device waited for the host.  What ran
beside the path on another stream could have been slower without a longer step.  A trace names no
dependencies between streams, so that the path is one of times: what ended last is taken to be what
the next was waiting for.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from roofline.program.columns import is_kind, measured_steps
from roofline.program.overlap import communicates
from roofline.runfile import Run

TOUCHING_NS = 1_000  # assumed: kernels that overlap by less follow each other


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalPath:
    """All measured steps together [s]; the parts of the path add up to their length."""

    kernels_s: float
    communication_s: float
    copies_s: float
    waiting_s: float  # for the host to start something
    beside_s: float  # what ran off the path, beside it
    longest: tuple[tuple[str, float], ...]  # names of kernels on it, most time first


def critical_path(run: Run) -> CriticalPath | None:
    """None where nothing ran on a device, or steps have no length."""
    steps = [i for i in measured_steps(run) if run.steps[i].duration_ns]
    table = run.events.select(
        ["signature", "kind", "step", "start_ns", "duration_ns", "parent"]
    ).filter(is_kind(run.events, ("kernel", "memcpy")))
    if not steps or not table.num_rows:
        return None
    talks = communicates(run, table).to_pylist()
    columns = (table[name].to_pylist() for name in ("step", "start_ns", "duration_ns"))
    in_step: dict[int, list[tuple[int, int, int]]] = {step: [] for step in steps}
    for row, (step, start, ns) in enumerate(zip(*columns, strict=True)):
        if step in in_step and ns is not None:
            in_step[step].append((start + ns, start, row))
    kinds, named = table["kind"].to_pylist(), table["signature"].to_pylist()
    spent = {"kernel": 0, "communication": 0, "memcpy": 0, "waiting": 0}
    beside_ns, names = 0, dict[str, int]()
    for step in steps:
        begin = run.steps[step].start_ns
        path = _walk(in_step[step], begin, begin + run.steps[step].duration_ns, spent)
        # On a device the recorder's own work on the host may hide behind kernels.
        spent["waiting"] = max(spent["waiting"] - run.steps[step].bookkeeping_ns, 0)
        on_path = {row for _, row in path}
        beside_ns += sum(end - start for end, start, row in in_step[step] if row not in on_path)
        for ns, row in path:
            spent["communication" if talks[row] else kinds[row]] += ns
            name = run.signatures[named[row]].name
            names[name] = names.get(name, 0) + ns
    longest = sorted(names.items(), key=lambda pair: pair[1], reverse=True)
    return CriticalPath(
        kernels_s=spent["kernel"] / 1e9,
        communication_s=spent["communication"] / 1e9,
        copies_s=spent["memcpy"] / 1e9,
        waiting_s=spent["waiting"] / 1e9,
        beside_s=beside_ns / 1e9,
        longest=tuple((name, ns / 1e9) for name, ns in longest),
    )


def _walk(
    events: Sequence[tuple[int, int, int]], begin: int, end: int, spent: dict[str, int]
) -> list[tuple[int, int]]:
    """(ns on the path, row) of what is on it, from the end of a step to its begin."""
    ordered = sorted(events)
    ends = [done for done, _, _ in ordered]
    path: list[tuple[int, int]] = []
    now, at = end, len(ordered) - 1
    while at >= 0:
        done, start, row = ordered[at]
        reached = min(done, now)
        spent["waiting"] += now - reached
        path.append((max(reached - max(start, begin), 0), row))
        now = max(start, begin)
        at = min(bisect_right(ends, now + TOUCHING_NS), at) - 1
    spent["waiting"] += max(now - begin, 0)
    return path
