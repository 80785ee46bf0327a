"""RF3xx: time that does not follow the work."""

from collections.abc import Iterator

from roofline.device import LAUNCH
from roofline.diagnosis.overhead.starts import Start, far_apart, in_driver, start, started
from roofline.diagnosis.overhead.startup import startup_s
from roofline.diagnosis.overhead.ways_out import ways_out
from roofline.diagnosis.rule import Finding
from roofline.program import Program
from roofline.units import number_of, show

FASTER = 2.0  # so many times as many starts a second are worth a line
BOUND = 0.3  # assumed: from this share of a step on, overhead is what binds it


def overhead_bound(program: Program) -> Iterator[Finding]:
    """RF301 and RF302: a step is bound by what is not the operators' work."""
    whole = program.whole
    if whole.step_s is None or whole.gap_s is None or not whole.calls:
        return
    dispatch_s = whole.overhead_s or 0.0
    roof_s = whole.roof_s or 0.0
    # On a CPU starting an operator is part of its time; it cannot be more than all of that.  What
    # a device waits for its next kernel is in the gaps already.
    within_s = 0.0 if program.kernels else min(dispatch_s, whole.busy_s or 0.0)
    idle_s = whole.gap_s - startup_s(program)
    spent_s = idle_s + within_s
    if spent_s < BOUND * whole.step_s or spent_s < roof_s:
        return
    starts = started(program)
    each_s = idle_s / starts if starts else idle_s
    if far_apart(program, each_s):
        yield _between(program, idle_s, each_s)
    elif (known := start(program)) is not None:  # else nothing says that starting is the cause
        yield _starting(program, idle_s, spent_s, known)


def _starting(program: Program, idle_s: float, spent_s: float, known: Start) -> Finding:
    """RF301: the calls are too many and too small."""
    step_s = program.whole.step_s or 0.0
    starts = started(program)
    return Finding(
        code="RF301",
        item="",
        claim=(
            f"{spent_s / step_s:.0%} of a step goes into {number_of(starts, 'start')}, not into "
            "the operators' work"
        ),
        evidence=(
            f"{show(idle_s, 's')} of {show(step_s, 's')} a step no operator ran",
            f"{_before_each(idle_s, starts)}; {known.said}",
            _work(program),
            *_kernels(program),
            *ways_out(program, step_s),
        ),
        next_step=(
            "fewer, larger calls: a bigger batch, fused or foreach operators, torch.compile, "
            "a captured graph on a GPU"
        ),
        saves_s=spent_s,
        now_s=step_s,
        then_s=(step_s - spent_s, step_s),
        wrong_if="doubling the batch doubles the time of a step",
    )


def _before_each(idle_s: float, starts: float) -> str:
    """The time before one start; of a single one all of it."""
    if starts == 1:
        return f"all of it around the one start of a step: {show(idle_s, 's')}"
    return f"{show(idle_s / starts, 's')} before each of {number_of(starts, 'start')}"


def launch_bound(program: Program) -> Iterator[Finding]:
    """RF305: without times around the kernels, starting them takes longer than they run."""
    whole, kernels = program.whole, program.kernels
    launch_s = program.conditions.call_overhead_s
    if whole.step_s is not None or not whole.busy_s or kernels is None or not launch_s:
        return
    started = kernels.started / whole.steps
    if started * launch_s <= whole.busy_s:
        return
    yield Finding(
        code="RF305",
        item="",
        claim=(
            f"{number_of(started, 'start')} one by one take{'s' if started == 1 else ''} "
            f"{show(started * launch_s, 's')}, what they start runs {show(whole.busy_s, 's')}"
        ),
        evidence=(
            f"starting one takes {show(launch_s, 's')} at its ceiling",
            *_kernels(program),
            *ways_out(program, started * launch_s),
        ),
        next_step=(
            "capture them in a graph, fuse them, or give each more work by a bigger batch; "
            "making one kernel faster gains nothing until then"
        ),
        saves_s=started * launch_s - whole.busy_s,
        now_s=started * launch_s,
        then_s=(whole.busy_s, started * launch_s),
        wrong_if="a captured graph of the same kernels is no faster",
    )


def _kernels(program: Program) -> Iterator[str]:
    """How many kernels are over before the next can start, and what a graph makes of it."""
    kernels, launch_s, steps = (
        program.kernels,
        program.conditions.call_overhead_s,
        program.whole.steps,
    )
    if kernels is None or not launch_s:
        return
    yield (
        f"{kernels.short / steps:.4g} of {number_of(kernels.started / steps, 'start')} a step are "
        "of kernels over before the next can be started; together they run "
        f"{show(kernels.short_s / steps, 's')}"
    )
    fastest = program.roof.highest(LAUNCH)
    if fastest and fastest * launch_s > FASTER:
        started_s = kernels.started / steps / fastest
        yield f"from a captured graph all of them start in {show(started_s, 's')}"


def _between(program: Program, idle_s: float, each_s: float) -> Finding:
    """RF302: the time between operators is the program's own, far more than starting them takes."""
    whole = program.whole
    step_s, known = whole.step_s or 0.0, start(program)
    takes = known.said if known else "starting one takes far less on any machine"
    driver = tuple(in_driver(program, idle_s))
    loading = "record later steps, since first launches load code, then " if driver else ""
    return Finding(
        code="RF302",
        item="",
        claim=(
            f"{idle_s / step_s:.0%} of a step no operator runs, and starting operators does not "
            "explain it: the program does something else there"
        ),
        evidence=(
            f"{show(idle_s, 's')} of {show(step_s, 's')} a step",
            f"{_before_each(idle_s, started(program))}; {takes}",
            *driver,
            *_compiling(program),
            _work(program),
        ),
        next_step=(
            f"{'set compiling apart (more steps, --warmup), then ' if _compiling(program) else ''}"
            f"{loading}profile the Python between the calls: data loading, building of modules, "
            "printing, waiting, or the freeing of large results"
        ),
        saves_s=idle_s,
        now_s=step_s,
        then_s=(step_s - idle_s, step_s),
        wrong_if="a Python profiler finds nothing between the operators",
    )


def _compiling(program: Program) -> tuple[str, ...]:
    """What the recorder noted of compilation, which runs between operators."""
    warnings = program.recorder.warnings if program.recorder else ()
    return tuple(text for text in warnings if "torch.compile" in text)


def _work(program: Program) -> str:
    whole = program.whole
    if whole.roof_s is None:
        return "what the work itself needs at its roof is not known"
    counted = "" if (whole.coverage or 0.0) >= 0.995 else ", as far as it is accounted for"
    return f"the work itself needs {show(whole.roof_s, 's')} at its roof{counted}"
