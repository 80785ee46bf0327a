"""Names: what the details page calls a metric."""

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
