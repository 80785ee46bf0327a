"""What to say where nothing can be advised: what is not known, and who can record it."""

from collections.abc import Mapping, Sequence

from roofline.diagnosis.doubts.profilers import counters_by
from roofline.diagnosis.kernels.evidence import readings_of
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.program.device.starting import OURS
from roofline.units import show_share

# What rules about kernels read, in words, and what the names of its facts begin with.
REASONS: Mapping[str, tuple[str, ...]] = {
    "how many warps were in flight": ("occupancy_achieved", "occupancy_estimated"),
    "what they waited for": ("stall_",),
    "how busy its pipes were": ("tensor_pipe", "fma_pipe", "lsu_pipe"),
}


def without_ceilings(program: Program) -> str:
    """Who can say how fast the device is: its name, where the file comes from elsewhere."""
    if program.device is None and not _ours(program):
        return (
            "Name the device that it ran on (`--device NAME`; `roofline devices` lists them), "
            "then look again."
        )
    return "Measure the device (`roofline measure`), then look again."


def _ours(program: Program) -> bool:
    return program.recorder is not None and program.recorder.tool.startswith(OURS)


def below_the_roof(program: Program, findings: Sequence[Finding], share: float) -> str:
    """Nothing explains why a step is at `share` of its roof time: what was not recorded."""
    doubts = ", ".join(dict.fromkeys(f.code for f in findings if f.code.startswith("RF0")))
    but = f", beside {doubts}," if doubts else ""
    nothing = f"Nothing that was recorded{but} says why it is at {show_share(share)} of its roof"
    slowest = program.by("call")[0]
    if slowest.degree == "counters":
        return f"{nothing}: {_not_counted(slowest, program)}."
    if program.kernels is None or program.replayed is not None:
        return f"{nothing}: take a longer recording."
    way = "`roofline run --deep`" if _ours(program) else counters_by(program)
    return f"{nothing}: collect counters of the lines that lose most ({way})."


def _not_counted(slowest: Item, program: Program) -> str:
    """Of what a profiler of kernels can say, what it was not asked for."""
    known = readings_of(slowest, program)[0]
    lacking = [
        what for what, names in REASONS.items() if not any(n.startswith(names) for n in known)
    ]
    if not lacking:
        return "its counters name no reason, so compare it with another kernel for the same work"
    more = counters_by(program).replace("`roofline ncu`", "`roofline ncu --levels`")
    listed = lacking[0] if len(lacking) == 1 else f"{', '.join(lacking[:-1])} and {lacking[-1]}"
    return f"nobody counted {listed} ({more})"
