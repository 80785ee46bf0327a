"""What the host does to a step: waits, copies from it, compiling.  RF303, RF304, RF306."""

import re
from collections.abc import Iterator

from roofline.device import LAUNCH, PCIE
from roofline.diagnosis.prediction import down_to
from roofline.diagnosis.rule import Finding
from roofline.program import Program
from roofline.program.device.host import Copy, HostCall
from roofline.units import number_of, show, show_share

FELT = 0.02  # share of a step from which it is said
MUCH = 0.2  # assumed: of what the device does, from which pageable copies are always said
SHOWN = 4
OWN = 2  # waits for the whole device that a profiler makes itself, at its start and end
_WAITS = re.compile(r"(cuda|hip)\w*Synchronize$|(cuda|hip)Memcpy(WithStream)?$")
_GRAPH = re.compile(r"compiled (?P<function>.+) #(?P<number>\d+) \(forward\)$")


def waits(program: Program) -> Iterator[Finding]:
    """RF303: the host waits for the device in the middle of a step, and the device then for it."""
    whole, steps = program.whole, program.conditions.steps
    uploads = {copy.caused_by for copy in program.copies if copy.to_device}
    found = [c for c in program.host_calls if _waits(c) and c.caused_by not in uploads]
    calls = sum(call.calls for call in found) / steps
    if calls < 1 or not whole.step_s or not whole.gap_s:
        return
    each_s = _idle_after_s(program)
    saves_s = None if each_s is None else min(calls * each_s, whole.gap_s)
    waited_s = sum(call.seconds for call in found) / steps
    if (waited_s if saves_s is None else saves_s) < FELT * whole.step_s:
        return
    price = "" if each_s is None else f"; each leaves it idle for {show(each_s, 's')} or more"
    yield Finding(
        code="RF303",
        item="",
        claim=(
            f"the host waits for the device {number_of(calls, 'time')} a step, and the device "
            "then waits for the host to start its next kernel"
        ),
        evidence=(
            *(_wait(call, steps) for call in found[:SHOWN]),
            f"{show(whole.gap_s, 's')} a step the device did nothing{price}",
        ),
        next_step=(
            "keep results on the device: no .item(), .cpu(), print or if on a tensor within a "
            "step; gather what is logged and read it once every so many steps"
        ),
        saves_s=saves_s,
        now_s=whole.step_s,
        then_s=None if saves_s is None else down_to(whole.step_s - saves_s, whole.step_s),
        wrong_if="without them the gaps of the device stay as long",
    )


def _waits(call: HostCall) -> bool:
    own = not call.caused_by and call.name.endswith("DeviceSynchronize") and call.calls <= OWN
    return _WAITS.match(call.name) is not None and not own


def _wait(call: HostCall, steps: int) -> str:
    by = call.caused_by or "the program"
    return (
        f"{call.name} by {by}: {number_of(call.calls / steps, 'time')}, the host waits "
        f"{show(call.seconds / steps, 's')}"
    )


def _idle_after_s(program: Program) -> float | None:
    """Time to start one kernel when the device has nothing left to do; None is not measured."""
    rates = [
        c.rate
        for c in program.roof.ceilings
        if c.resource == LAUNCH and c.variant.way == "launch and wait"
    ]
    return 1 / max(rates) if rates else None


def uploads(program: Program) -> Iterator[Finding]:
    """RF304: every step copies from the host to the device."""
    whole, steps = program.whole, program.conditions.steps
    found = [copy for copy in program.copies if copy.to_device]
    spent_s = sum(copy.seconds for copy in found) / steps
    calls, nbytes = sum(c.calls for c in found) / steps, sum(c.nbytes for c in found) / steps
    of_s, busy_s = whole.step_s or whole.busy_s, whole.busy_s or 0.0
    pageable = [copy for copy in found if "Pageable" in copy.name]
    felt = bool(of_s) and spent_s >= FELT * (of_s or 0.0)
    if calls < 1 or not of_s or not (felt or (pageable and spent_s > MUCH * busy_s)):
        return
    # What a step does not feel is taken from what the device does.
    now_s = of_s if felt else busy_s
    of_device = "" if felt else f", and {spent_s / busy_s:.0%} of device time"
    yield Finding(
        code="RF304",
        item="",
        claim=(
            f"{show(nbytes, 'B')} a step come from the host in {number_of(calls, 'copy')}: "
            f"{show(spent_s, 's')}, {show_share(spent_s / of_s)} of it{of_device}"
        ),
        evidence=(
            *(_copied(copy, steps) for copy in found[:SHOWN]),
            *_pinned(program, nbytes),
        ),
        next_step=(
            ("from pinned memory (pin_memory=True) and " if pageable else "")
            + "with non_blocking=True a step ahead, so that copies run beside kernels; or make "
            "the data on the device"
        ),
        saves_s=spent_s,
        now_s=now_s,
        then_s=(now_s - spent_s, now_s),
        wrong_if="with the data on the device already a step is no shorter",
    )


def _copied(copy: Copy, steps: int) -> str:
    rate = f", {show(copy.nbytes / copy.seconds, 'B/s')}" if copy.seconds else ""
    return (
        f"{copy.name} by {copy.caused_by or 'the program'}: {copy.calls / steps:g} of "
        f"{show(copy.nbytes / copy.calls, 'B')}{rate}"
    )


def _pinned(program: Program, nbytes: float) -> Iterator[str]:
    rates = [c.rate for c in program.roof.ceilings if c.resource == PCIE]
    if rates:
        yield f"at the link's ceiling, {show(max(rates), 'B/s')}: {show(nbytes / max(rates), 's')}"


def recompiled(program: Program) -> Iterator[Finding]:
    """RF306: a function was compiled again: its graphs ran in different steps, never together."""
    steps_of: dict[str, dict[str, set[int]]] = {}
    for part in program.parts:
        if (match := _GRAPH.match(part.name)) is not None:
            graphs = steps_of.setdefault(match["function"], {})
            graphs.setdefault(match["number"], set()).update(part.step_ns)
    for function, graphs in steps_of.items():
        ran = [steps for steps in graphs.values() if steps]
        if len(ran) < 2 or sum(map(len, ran)) > len(set().union(*ran)):
            continue  # graphs that share a step are the pieces between graph breaks
        warnings = program.recorder.warnings if program.recorder else ()
        yield Finding(
            code="RF306",
            item="",
            claim=(
                f"{function} was compiled again: {len(ran)} graphs of it ran, each in steps of its "
                "own"
            ),
            evidence=(
                *(
                    f"graph #{number}: {number_of(len(steps), 'step')}"
                    for number, steps in graphs.items()
                ),
                *(text for text in warnings if "torch.compile" in text),
            ),
            next_step=(
                "see why with TORCH_LOGS=recompiles; mark sizes that change "
                "(torch._dynamo.mark_dynamic, dynamic=True), and keep Python values that change "
                "out of the function"
            ),
            wrong_if="TORCH_LOGS=recompiles prints nothing after the warm-up",
        )
