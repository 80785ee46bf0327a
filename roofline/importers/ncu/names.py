"""Names: what the details page calls a metric, and what a kernel is called for people."""

import re

_PCT = ".avg.pct_of_peak_sustained_elapsed"
_ACTIVE = ".avg.pct_of_peak_sustained_active"

# (name on the details page, "%" or "/s" or "" for any other unit) -> metric.  Two spellings a
# metric: those of 2020 and of today.
DETAILS: dict[tuple[str, str], str] = {
    ("Duration", ""): "gpu__time_duration.sum",
    ("Elapsed Cycles", ""): "gpc__cycles_elapsed.max",
    ("SM Frequency", "/s"): "gpc__cycles_elapsed.avg.per_second",
    ("DRAM Frequency", "/s"): "dram__cycles_elapsed.avg.per_second",
    ("Memory Throughput", "/s"): "dram__bytes.sum.per_second",
    ("Memory Throughput", "%"): f"gpu__compute_memory_throughput{_PCT}",
    ("Memory [%]", "%"): f"gpu__compute_memory_throughput{_PCT}",
    ("SOL Memory", "%"): f"gpu__compute_memory_throughput{_PCT}",
    ("Compute (SM) Throughput", "%"): f"sm__throughput{_PCT}",
    ("Compute (SM) [%]", "%"): f"sm__throughput{_PCT}",
    ("SM [%]", "%"): f"sm__throughput{_PCT}",
    ("SOL SM", "%"): f"sm__throughput{_PCT}",
    ("DRAM Throughput", "%"): f"gpu__dram_throughput{_PCT}",
    ("SOL DRAM", "%"): f"gpu__dram_throughput{_PCT}",
    ("L1/TEX Cache Throughput", "%"): f"l1tex__throughput{_ACTIVE}",
    ("SOL L1/TEX Cache", "%"): f"l1tex__throughput{_ACTIVE}",
    ("L2 Cache Throughput", "%"): f"lts__throughput{_PCT}",
    ("SOL L2 Cache", "%"): f"lts__throughput{_PCT}",
    ("L1/TEX Hit Rate", "%"): "l1tex__t_sector_hit_rate.pct",
    ("L2 Hit Rate", "%"): "lts__t_sector_hit_rate.pct",
    ("Issue Slots Busy", "%"): f"sm__issue_active{_ACTIVE}",
    ("Block Size", ""): "launch__block_size",
    ("Grid Size", ""): "launch__grid_size",
    ("Cluster Size", ""): "launch__cluster_size",
    ("Registers Per Thread", ""): "launch__registers_per_thread",
    ("Waves Per SM", ""): "launch__waves_per_multiprocessor",
    ("# SMs", ""): "launch__sm_count",
    ("Threads", ""): "launch__thread_count",
    ("Driver Shared Memory Per Block", ""): "launch__shared_mem_per_block_driver",
    ("Dynamic Shared Memory Per Block", ""): "launch__shared_mem_per_block_dynamic",
    ("Static Shared Memory Per Block", ""): "launch__shared_mem_per_block_static",
    ("Block Limit SM", ""): "launch__occupancy_limit_blocks",
    ("Block Limit Registers", ""): "launch__occupancy_limit_registers",
    ("Block Limit Shared Mem", ""): "launch__occupancy_limit_shared_mem",
    ("Block Limit Warps", ""): "launch__occupancy_limit_warps",
    ("Block Limit Barriers", ""): "launch__occupancy_limit_barriers",
    ("Theoretical Occupancy", "%"): "sm__maximum_warps_per_active_cycle_pct",
    ("Achieved Occupancy", "%"): f"sm__warps_active{_ACTIVE}",
    ("Local Memory Spilling Requests", ""): "derived__local_spilling_requests",
}


def metric(name: str, unit: str) -> str | None:
    """The metric that a row of a long page holds; None for one that means nothing here."""
    if "__" in name:
        return name
    kind = "%" if unit in ("%", "percent") else "/s" if _is_rate(unit) else ""
    return DETAILS.get((name, kind))


def _is_rate(unit: str) -> bool:
    return unit.lower().endswith(("/s", "/second", "hz", "/nsecond", "/usecond", "/ns", "/us"))


_MANGLED = re.compile(r"_Z(?:L)?(?P<nested>N)?[KVRr]*")
_LENGTH = re.compile(r"\d+")
_ANONYMOUS = "_GLOBAL__N_"


def readable(name: str) -> str:
    """A kernel's name without return type and parameters; template arguments stay.

    A mangled name becomes its qualified name, without template arguments.  A name that was cut
    stays as it is.

    >>> readable("void gemm_v0<float>(T1 *, int)"), readable("_ZN2at6native4gemmIfEEvPT_")
    ('gemm_v0<float>', 'at::native::gemm')
    >>> readable("unnamed>::saxpy_kernel(float, const float *)")
    'unnamed>::saxpy_kernel'
    """
    name = " ".join(name.split())
    if name.startswith("_Z"):
        return _demangled(name) or name
    name = name.removesuffix(" [clone .kd]").removesuffix(".kd")
    if name.endswith(")"):
        name = name[: _opening(name)] or name
    return name.removeprefix("void ")


def _opening(name: str) -> int:
    """Where the last parenthesis of a name opens; its end where it never does."""
    depth = 0
    for position in range(len(name) - 1, -1, -1):
        depth += (name[position] == ")") - (name[position] == "(")
        if depth == 0:
            return position
    return len(name)


def _demangled(name: str) -> str | None:
    """The qualified name inside an Itanium-mangled one: its length-prefixed identifiers."""
    start = _MANGLED.match(name)
    if start is None:
        return None
    parts: list[str] = []
    at = start.end()
    while length := _LENGTH.match(name, at):
        at = length.end() + int(length.group()[:6])
        part = name[length.end() : at]
        if len(part) < int(length.group()[:6]):
            break  # cut
        parts.append("(anonymous)" if part.startswith(_ANONYMOUS) else part)
        if not start["nested"]:
            break
        if name[at : at + 1] == "I":  # template arguments: what follows belongs to them
            break
    return "::".join(parts) or None
