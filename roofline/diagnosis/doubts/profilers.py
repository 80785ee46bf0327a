"""Who can count what kernels do: the profiler of the device's maker."""

from roofline.program import Program

NVIDIA = "`roofline ncu`"
AMD = "rocprofv3 or rocprofiler-compute, whose files `roofline import` reads"


def counters_by(program: Program) -> str:
    """The way to counters of this program's kernels; both where nothing names the maker."""
    named = program.device.id if program.device else ""
    tool = program.recorder.tool.lower() if program.recorder else ""
    calls = {call.name[:3] for call in program.host_calls}
    if named.startswith("amd") or "roc" in tool or (not named and "hip" in calls):
        return AMD
    if named.startswith("nvidia") or "nsight" in tool or (not named and "cud" in calls):
        return NVIDIA
    return f"{NVIDIA} on NVIDIA; on AMD {AMD}"
