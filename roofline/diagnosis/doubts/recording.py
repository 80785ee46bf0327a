"""What the recording itself leaves open: caches, graphs, kernels from before.  RF006 to RF008."""

from collections.abc import Iterator

from roofline.device import DRAM
from roofline.diagnosis.doubts.profilers import counters_by
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.runfile import Gap
from roofline.units import number_of, show, show_binary

COLD = 0.2  # share of device time in kernels that the L2 could have served
GRAPH = 0.2  # share of device time under graph launches from which it is said
BEFORE = 0.02  # share of device time without a launch from which it is said
GRAPHS, BEFORE_WINDOW = "graph launches", "activities without a launch"


def cold_caches(program: Program) -> Iterator[Finding]:
    """RF006: counters of kernels whose caches a profiler emptied, or may have."""
    recorder, busy_s = program.recorder, program.whole.busy_s
    fact = program.device.fact("l2_capacity") if program.device else None
    if recorder is None or recorder.cache == "warm" or not busy_s or fact is None:
        return
    l2 = float(fact.value)
    held = [item for item in program.by("call") if 0 < _crossed(item) <= l2]
    held_s = sum(item.measured_s or 0.0 for item in held) / program.conditions.steps
    if held_s < COLD * busy_s:
        return
    state = "were emptied" if recorder.cache == "flushed" else "may have been emptied"
    yield Finding(
        code="RF006",
        item="",
        claim=(
            f"caches {state} before each kernel: {number_of(len(held), 'kernel')} took from dram "
            f"what a running program may find in the {show_binary(l2)} L2"
        ),
        evidence=(
            f"they are {held_s / busy_s:.0%} of device time and move "
            f"{show(sum(_crossed(i) * i.calls for i in held) / program.conditions.steps, 'B')}",
            f"the recording says: caches {recorder.cache}",
        ),
        next_step=(
            "do not set these bytes against times of a running program; for its own bytes profile "
            "with caches left alone (ncu --cache-control none --clock-control none), for its times "
            "take a trace"
        ),
        wrong_if="with caches left alone the same kernels move as many bytes over dram",
    )


def _crossed(item: Item) -> float:
    """Bytes that one call moved over DRAM by counters; 0 is not counted."""
    seen = item.placement.work.achieved
    return (seen.demand().get(DRAM, 0) if seen else 0) / item.calls


def graph_launches(program: Program) -> Iterator[Finding]:
    """RF007: kernels of a captured graph, whose operators were not recorded."""
    gap, share = _share(program, GRAPHS)
    if gap is None or share < GRAPH:
        return
    covered = program.whole.coverage
    yield Finding(
        code="RF007",
        item="",
        claim=(
            f"{share:.0%} of device time ran from captured graphs, whose operators are not in the "
            f"recording: coverage is {'unknown' if covered is None else f'{covered:.0%}'}"
        ),
        evidence=(gap.what,),
        next_step=(
            "record the operators while the graph is captured, or the same program without graphs "
            "(enforce_eager, mode='default'); or give the kernels counters: "
            f"{counters_by(program)}"
        ),
        wrong_if="the graph's kernels stand in the recording with their operators",
        doubt_s=(gap.seconds or 0.0) / program.conditions.steps,
    )


def before_the_window(program: Program) -> Iterator[Finding]:
    """RF008: kernels that were started before the recording was."""
    gap, share = _share(program, BEFORE_WINDOW)
    if gap is None or share < BEFORE:
        return
    yield Finding(
        code="RF008",
        item="",
        claim=(
            f"{number_of(gap.count or 0, 'kernel')}, {show(gap.seconds or 0.0, 's')} of device "
            "time, without a launch in the recording: in no step and in no total"
        ),
        evidence=(
            gap.what,
            f"{share:.0%} of what the device did in the recording",
            *_within(program),
        ),
        next_step=(
            "wait for the device before the recording starts (torch.cuda.synchronize), or record a "
            "warm-up step first (schedule(wait=1, warmup=1, active=2))"
        ),
        wrong_if="the first step of another recording is as short without them",
    )


def _within(program: Program) -> Iterator[str]:
    """How much of a step is theirs: the device was not idle meanwhile."""
    others_s, step_s = program.whole.others_s, program.whole.step_s
    if others_s and step_s:
        yield (
            f"{show(others_s, 's')} of {show(step_s, 's')} a step only what belongs to no step "
            "ran: the device was not idle then"
        )


def _share(program: Program, name: str) -> tuple[Gap | None, float]:
    """The gap of that name, and its share of all device time that was recorded."""
    gap = next((gap for gap in program.gaps if gap.name == name), None)
    busy_s = (program.whole.busy_s or 0.0) * program.conditions.steps
    if gap is None or not gap.seconds or not busy_s:
        return None, 0.0
    # What belongs to no step is not in the busy time; what a graph ran is.
    return gap, gap.seconds / (busy_s + (gap.seconds if name == BEFORE_WINDOW else 0.0))
