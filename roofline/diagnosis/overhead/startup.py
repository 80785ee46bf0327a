"""RF308: what a run without steps pays once, before its device has anything to do."""

from collections.abc import Iterator

from roofline.diagnosis.rule import Finding
from roofline.program import Program
from roofline.units import show

SHOWN = 3
FELT = 0.1  # share of a step from which it is said


def startup_s(program: Program) -> float:
    """Of a step's gaps, what passes while calls run for the first time."""
    found, gap_s = program.starting, program.whole.gap_s
    if found is None or gap_s is None:
        return 0.0
    return min(found.idle_s / program.conditions.steps, gap_s)


def starting_up(program: Program) -> Iterator[Finding]:
    """RF308: the device does nothing while first calls load what they need."""
    found, step_s, idle_s = program.starting, program.whole.step_s, startup_s(program)
    if found is None or not step_s or idle_s < FELT * step_s:
        return
    loading = ", ".join(
        f"{name.removeprefix('aten::')} {show(seconds, 's')}"
        for name, seconds in found.calls[:SHOWN]
    )
    more = f", {len(found.calls) - SHOWN} more" if len(found.calls) > SHOWN else ""
    span = "the run" if program.conditions.steps == 1 else "a step"
    yield Finding(
        code="RF308",
        item="",
        claim=(
            f"{idle_s / step_s:.0%} of {span} is start-up: the device does nothing while calls "
            "run for the first time and load what they need"
        ),
        evidence=(
            f"{show(idle_s, 's')} of {show(step_s, 's')}, in calls that keep their host for 1 ms "
            f"or more: {loading}{more}",
            "libraries, their handles and the kernels' code are loaded once in a process",
        ),
        next_step=(
            "record the work more than once (a loop, or run.step() after each repetition): first "
            "calls are then set apart, and what is left is the program's own; a process that "
            "lives longer pays this once"
        ),
        wrong_if="the same call a second time takes its host as long",
    )
