"""What starting one operator or kernel takes, and how many are started one by one.

Measured on this device where it was; else a recording holds how long its own launches kept the
host, which is the least that a start takes there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from roofline.program import Program
from roofline.units import number_of, show

FAR_APART = 20.0  # assumed: gaps of more than so many starts are not starting
NO_START_S = 1e-4  # assumed: where nothing says what a start takes, it takes no longer
LOADING = 0.1  # share of the idle time from which a driver's launches are part of its reason
_LAUNCH = re.compile(r"(cuda|cu|hip)\w*LaunchKernel")


@dataclass(frozen=True, slots=True)
class Start:
    """The time of one start [s], and where it is known from."""

    seconds: float
    said: str


def start(program: Program) -> Start | None:
    """None where it was neither measured nor recorded."""
    measured_s = program.conditions.call_overhead_s
    if measured_s:
        return Start(measured_s, f"starting one takes {show(measured_s, 's')} at its ceiling")
    launches = [
        (call.seconds / call.calls, call.name)
        for call in program.host_calls
        if call.seconds and _LAUNCH.match(call.name)
    ]
    if not launches:
        return None
    # The cheapest operator's: the first launches of others load the code of their kernels.
    recorded_s, name = min(launches)
    return Start(
        recorded_s,
        f"{name} alone keeps the host for {show(recorded_s, 's')} or more, as recorded here",
    )


def started(program: Program) -> float:
    """Starts of a step, one by one: kernels (those of a graph are none), on a CPU operators."""
    kernels = program.kernels
    return program.whole.calls if kernels is None else kernels.started / program.conditions.steps


def far_apart(program: Program, each_s: float) -> bool:
    """Whether gaps of `each_s` before every start are far longer than starting takes."""
    known = start(program)
    return each_s > (FAR_APART * known.seconds if known else NO_START_S)


def in_driver(program: Program, idle_s: float) -> Iterator[str]:
    """Launches that keep the host far longer than starting takes, in a visible part of the gaps."""
    steps = program.conditions.steps
    for call in program.host_calls:
        each_s = call.seconds / call.calls
        if not _LAUNCH.match(call.name) or not far_apart(program, each_s):
            continue
        if call.seconds / steps >= LOADING * idle_s:
            yield (
                f"{call.name} by {call.caused_by or 'the program'} keeps the host for "
                f"{show(call.seconds / steps, 's')} a step, {number_of(call.calls / steps, 'call')}"
            )
