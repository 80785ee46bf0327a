"""From launches to a run: one event a launch, with its duration and its counters."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from roofline.called import readable
from roofline.counters import seconds
from roofline.device import Device
from roofline.importers.cells import Mark
from roofline.importers.limits import duration_ns, identifier
from roofline.importers.ncu.pages import Launch, dimensions
from roofline.runfile import Event, Gap, Recorder, Run, Signature, Step, table
from roofline.units import number_of

_BEYOND = "a duration that no launch can have"
REPEATED_AT_MOST = 100_000  # launches that one row of a summary is written out as
_QUOTED = re.compile(r"\"(?P<kernel>[^\"]+)\"|kernel '(?P<other>[^']+)'")


@dataclass(slots=True)
class Notes:
    """What the reader of the files has to tell: kept in the run."""

    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    elsewhere: list[Gap] = field(default_factory=list)  # what ran on other devices
    unread: list[Gap] = field(default_factory=list)  # nothing here needs it: no reason to doubt


def convert(
    launches: Sequence[Launch],
    mark: Mark,
    *,
    recorder: Recorder,
    device: Device | None,
    notes: Notes,
) -> Run:
    """The run of `launches`, in their order.  Times between launches are not known.

    Its one step has no length, since nobody measured the wall time around the launches.
    """
    signatures: dict[tuple[str, str, str], int] = {}
    events: list[Event] = []
    unread: dict[str, str] = {}
    above: dict[str, float] = {}
    doubts: dict[str, int] = {}
    now_ns = 0
    for launch in launches:
        counters = launch.counters(mark, unread) | _launched(launch)
        clock = seconds(counters)
        if clock.doubt:
            doubts[clock.doubt] = doubts.get(clock.doubt, 0) + 1
        above |= {n: v for n, v in counters.items() if v > 100 and _is_percentage(n)}
        lasted = None if clock.value is None else duration_ns(clock.value * 1e9)
        if clock.value and lasted is None:
            doubts[_BEYOND] = doubts.get(_BEYOND, 0) + 1
        signature = signatures.setdefault(
            (launch.kernel, launch.grid, launch.block), len(signatures)
        )
        times = launch.invocations if launch.invocations <= REPEATED_AT_MOST else 1
        for _ in range(times):
            events.append(
                Event(
                    signature=signature,
                    kind="kernel",
                    step=0,
                    start_ns=now_ns,
                    duration_ns=lasted,
                    module=launch.nvtx,
                    stream=identifier(launch.stream),
                    counters=counters,
                )
            )
            now_ns += lasted or 0
    warnings = [*notes.warnings, *_remarks(launches, unread, above, doubts)]
    return Run(
        recorder=replace(recorder, warnings=tuple(warnings)),
        device=device,
        signatures=tuple(Signature(name=readable(kernel)) for kernel, _, _ in signatures),
        steps=(Step(start_ns=0, duration_ns=0, name="profiled launches"),),
        gaps=(*notes.elsewhere, *_missing(notes.errors, launches), *notes.unread),
        events=table(events),
    )


def _launched(launch: Launch) -> dict[str, float]:
    """What the identity columns say, under the profiler's own metric names."""
    found: dict[str, float] = {}
    for what, text in (("grid", launch.grid), ("block", launch.block)):
        sizes = dimensions(text)
        if sizes is not None:
            found |= {
                f"launch__{what}_dim_{a}": float(n) for a, n in zip("xyz", sizes, strict=True)
            }
            found[f"launch__{what}_size"] = float(sizes[0] * sizes[1] * sizes[2])
    major, _, minor = launch.cc.replace(",", ".").partition(".")
    if major.isdigit() and minor.isdigit():
        stem = "device__attribute_compute_capability_"
        found |= {f"{stem}major": float(major), f"{stem}minor": float(minor)}
    return found


@lru_cache(maxsize=4096)
def _is_percentage(name: str) -> bool:
    return ".pct" in name or name.endswith("_pct")


def _remarks(
    launches: Sequence[Launch],
    unread: dict[str, str],
    above: dict[str, float],
    doubts: dict[str, int],
) -> list[str]:
    found = []
    if above:
        worst = max(above, key=lambda name: above[name])
        found.append(
            f"{number_of(len(above), 'metric')} above 100 %, kept; {worst} is {above[worst]:g} %"
        )
    if unread:
        name, why = next(iter(unread.items()))
        found.append(
            f"{number_of(len(unread), 'metric')} below zero or in a unit that is not known or not "
            f"theirs, so unknown: {name} {why}"
        )
    found += [
        f"{doubt} ({number_of(count, 'launch')}); refused" for doubt, count in doubts.items()
    ][:3]
    if len(doubts) > 3:
        found.append(f"{number_of(len(doubts) - 3, 'more duration')} refused for the same reason")
    many = [launch for launch in launches if launch.invocations > 1]
    if many:
        total = sum(launch.invocations for launch in many)
        found.append(f"{number_of(len(many), 'row')} of averages over {total} launches")
    if any(launch.invocations > REPEATED_AT_MOST for launch in many):
        found.append(f"a row over more than {REPEATED_AT_MOST} launches stands as one launch")
    return found


def _missing(errors: Sequence[str], launches: Sequence[Launch]) -> list[Gap]:
    """Kernels that the profiler says it failed on, and any other error of it."""
    gaps = []
    for error in dict.fromkeys(errors):
        match = _QUOTED.search(error)
        name = (match["kernel"] or match["other"]) if match else "profiler error"
        gaps.append(Gap(name=name, what=f"Nsight Compute said: {error}"))
    return gaps
