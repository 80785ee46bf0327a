"""What counters say beside flop, bytes and time: launch shape, occupancy, caches, stalls, clocks.

A fact has a short stable name, a value in a base unit, and the metric it came from.  Percentages
are as printed: the profiler's own view of its own peak, kept even above 100.
"""

from collections.abc import Mapping

from roofline.counters.reading import Counters, Reading, first, known
from roofline.counters.traffic import delivered, requested, useful_shared

_OF_PEAK = ".pct_of_peak_sustained_elapsed"
_PCT = f".avg{_OF_PEAK}"
_ACTIVE = ".avg.pct_of_peak_sustained_active"

# fact -> unit, metric names in order of preference; those of words are a PyTorch trace's
NAMES: dict[str, tuple[str, tuple[str, ...]]] = {
    "grid_size": ("", ("launch__grid_size", "grid")),
    "block_size": ("", ("launch__block_size", "block")),
    "block_columns": ("", ("launch__block_dim_x", "block x")),
    "waves": ("", ("launch__waves_per_multiprocessor",)),
    "sm_count": ("", ("launch__sm_count", "device__attribute_multiprocessor_count")),
    "registers_per_thread": ("", ("launch__registers_per_thread", "registers per thread")),
    "shared_per_block": (
        "B",
        (
            "launch__shared_mem_per_block",
            "launch__shared_mem_per_block_allocated",
            "shared memory",
        ),
    ),
    "cluster_size": ("", ("launch__cluster_size",)),
    "blocks_per_sm_registers": ("", ("launch__occupancy_limit_registers",)),
    "blocks_per_sm_shared": ("", ("launch__occupancy_limit_shared_mem",)),
    "blocks_per_sm_warps": ("", ("launch__occupancy_limit_warps",)),
    "blocks_per_sm_blocks": ("", ("launch__occupancy_limit_blocks",)),
    "blocks_per_sm_barriers": ("", ("launch__occupancy_limit_barriers",)),
    "blocks_per_sm": ("", ("blocks per SM",)),  # of the whole grid, over all waves
    "occupancy_estimated": ("%", ("est. achieved occupancy %",)),
    "occupancy_theoretical": ("%", ("sm__maximum_warps_per_active_cycle_pct",)),
    "occupancy_achieved": ("%", (f"sm__warps_active{_ACTIVE}", "OccupancyPercent")),
    "sm_throughput": ("%", (f"sm__throughput{_PCT}",)),
    "memory_throughput": ("%", (f"gpu__compute_memory_throughput{_PCT}",)),
    "dram_throughput": (
        "%",
        (
            f"gpu__dram_throughput{_PCT}",
            f"dram__throughput{_PCT}",
            "dram__bytes.sum.pct_of_peak_sustained_elapsed",
        ),
    ),
    "l2_throughput": ("%", (f"lts__throughput{_PCT}", f"lts__t_bytes{_PCT}")),
    "l1_throughput": ("%", (f"l1tex__throughput{_ACTIVE}", f"l1tex__throughput{_PCT}")),
    "l1_hit_rate": ("%", ("l1tex__t_sector_hit_rate.pct",)),
    "l2_hit_rate": ("%", ("lts__t_sector_hit_rate.pct", "L2CacheHit")),
    "vector_pipe": ("%", ("VALUBusy",)),
    "matrix_pipe": ("%", ("MfmaUtil",)),
    "memory_pipe": ("%", ("MemUnitBusy",)),
    # The fifth generation's pipe is `tc`; its `tensor` is the older instructions' only.  Before
    # `cycles_active` there were instructions alone.
    "tensor_pipe": (
        "%",
        tuple(
            f"sm__{m}{roll}"
            for m in (
                "pipe_tc_cycles_active",
                "pipe_tensor_cycles_active",
                "pipe_tensor_op_hmma_cycles_active",
                "inst_executed_pipe_tensor",
                "inst_executed_pipe_tensor_op_hmma",
            )
            for roll in (_PCT, _ACTIVE)
        ),
    ),
    **{
        f"tensor_{op}_pipe": (
            "%",
            tuple(
                f"sm__{m}{roll}"
                for m in (
                    f"pipe_tensor_op_{op}_cycles_active",
                    f"inst_executed_pipe_tensor_op_{op}",
                )
                for roll in (_PCT, _ACTIVE)
            ),
        )
        for op in ("imma", "dmma")
    },
    "fma_pipe": (
        "%",
        tuple(
            f"sm__{m}{r}"
            for m in ("pipe_fma_cycles_active", "inst_executed_pipe_fma")
            for r in (_PCT, _ACTIVE)
        ),
    ),
    "fp64_pipe": ("%", tuple(f"sm__pipe_fp64_cycles_active{r}" for r in (_PCT, _ACTIVE))),
    "xu_pipe": ("%", tuple(f"sm__inst_executed_pipe_xu{r}" for r in (_PCT, _ACTIVE))),
    "lsu_pipe": ("%", tuple(f"sm__inst_executed_pipe_lsu{r}" for r in (_PCT, _ACTIVE))),
    "sm_clock": (
        "Hz",
        (
            "gpc__cycles_elapsed.avg.per_second",  # what the profiler prints as SM Frequency
            "sm__cycles_elapsed.avg.per_second",
            "smsp__cycles_elapsed.avg.per_second",
        ),
    ),
    "dram_clock": ("Hz", ("dram__cycles_elapsed.avg.per_second",)),
    "issue_active": ("%", (f"smsp__issue_active{_ACTIVE}", f"sm__issue_active{_ACTIVE}")),
    "bank_conflicts": ("", ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",)),
    "local_spilling_requests": ("", ("derived__local_spilling_requests",)),
    "bytes_used_per_sector_loaded": (
        "B",
        ("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",),
    ),
    "bytes_used_per_sector_stored": (
        "B",
        ("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",),
    ),
    "tma_loads": ("", ("smsp__sass_inst_executed_op_tma_ld.sum",)),
    "tma_stores": ("", ("smsp__sass_inst_executed_op_tma_st.sum",)),
    "replay_passes": ("", ("profiler__replayer_passes",)),
}
# fact -> unit, dividend, divisor
RATIOS: dict[str, tuple[str, str, str]] = {
    f"sectors_per_request_{what}": (
        "",
        f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum",
        f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum",
    )
    for what, op in (("load", "ld"), ("store", "st"))
} | {
    # The fullest slice against the mean: 1 where addresses spread evenly over the memory.
    "l2_slice_load": ("", "lts__t_sectors.max", "lts__t_sectors.avg"),
    "dram_channel_load": ("", "dram__bytes.max", "dram__bytes.avg"),
    # Of 32 threads of an instruction of that pipe, those that convert between types.
    "conversions_per_xu": (
        "",
        "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum",
        "sm__inst_executed_pipe_xu.sum",
    ),
}
# Warps stalled for one reason, per instruction issued, in three generations of the name.
STALLS = (
    ("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"),
    ("smsp__average_warp_latency_issue_stalled_", ".ratio"),
    ("smsp__average_warp_latency_issue_stalled_", ".pct"),
)
_SHARED = "launch__shared_mem_per_block"
OF_SPARSE = "perhaps of the sparse peak, of which dense work reaches 50 at most"
_DENSE_MOST = 52.5  # %; no dense work is so busy against a sparse peak
_NO_SPARSE = ("fp64", "fp4_fp6")  # sources that have none
_TENSOR_PATH = "sm__ops_path_tensor_src_"


def facts(counters: Counters) -> Mapping[str, Reading]:
    """Every fact these counters hold, by its name."""
    found: dict[str, Reading] = {}
    for fact, (unit, names) in NAMES.items():
        reading = first(counters, ((name, 1, "") for name in names), unit)
        if reading is not None and (reading.value or unit != "Hz"):  # no clock stands still
            found[fact] = reading
    for fact, (unit, above, below) in RATIOS.items():
        dividend, divisor = known(counters, above), known(counters, below)
        if dividend is not None and divisor:
            found[fact] = Reading(dividend / divisor, unit, f"{above} / {below}")
    shared = [known(counters, f"{_SHARED}_{kind}") for kind in ("dynamic", "static", "driver")]
    if "shared_per_block" not in found and any(part is not None for part in shared):
        size = sum(part for part in shared if part is not None)
        found["shared_per_block"] = Reading(size, "B", f"{_SHARED}_dynamic + _static + _driver")
    for fact, reading in (
        ("l2_requested", requested(counters)),
        ("l2_delivered", delivered(counters)),
        ("shared_useful", useful_shared(counters)),
    ):
        if reading is not None:
            found[fact] = reading
    found |= _stalls(counters)
    found |= _tensor_paths(counters)
    return {fact: _marked(reading) for fact, reading in found.items()}


# Facts that say how busy a part of the chip was, against that part's own peak.
_PARTS = ("_throughput", "_pipe")


def busiest(known_facts: Mapping[str, Reading]) -> tuple[str, Reading] | None:
    """The part of the chip nearest its own peak, by the profiler's percentages."""
    parts = {
        fact: reading
        for fact, reading in known_facts.items()
        if reading.unit == "%" and (fact.endswith(_PARTS) or fact.startswith("tensor_"))
    }
    return max(parts.items(), key=lambda item: item[1].value, default=None)


def stall(name: str) -> str | None:
    """The reason named by a stall metric, such as ``long_scoreboard``."""
    for start, end in STALLS:
        if name.startswith(start) and name.endswith(end):
            return name[len(start) : -len(end)]
    return None


def _stalls(counters: Counters) -> dict[str, Reading]:
    found: dict[str, Reading] = {}
    for start, end in STALLS:
        for name, value in counters.items():
            if name.startswith(start) and name.endswith(end) and value >= 0:
                fact = f"stall_{name[len(start) : -len(end)]}"
                found.setdefault(fact, Reading(value, "%" if end == ".pct" else "", name))
    return found


def _tensor_paths(counters: Counters) -> dict[str, Reading]:
    """How busy each tensor path was, against the dense peak where the profiler gives it.

    The percentage of a name without sparsity is against the sparse peak on some chips, where dense
    work reaches half of it at most; more than that tells that this is none of them.
    """
    found: dict[str, Reading] = {}
    for name, value in counters.items():
        stem = name.removesuffix(_OF_PEAK).removesuffix(".avg").removesuffix(".sum")
        if not (name.startswith(_TENSOR_PATH) and name.endswith(_OF_PEAK)) or value < 0:
            continue
        if stem.endswith((".min", ".max")):
            continue  # of one SM
        path = stem[len(_TENSOR_PATH) :]
        dense = path.endswith("_sparsity_off")
        path = path.removesuffix("_sparsity_off")
        if path.endswith("_sparsity_on") or not value:
            continue
        fact = f"tensor_{path}"
        if dense or fact not in found:
            certain = dense or value > _DENSE_MOST or path.startswith(_NO_SPARSE)
            found[fact] = Reading(value, "%", name, "" if certain else OF_SPARSE)
    return found


def _marked(reading: Reading) -> Reading:
    if reading.unit != "%" or reading.value <= 100:
        return reading
    return Reading(reading.value, "%", reading.source, "above 100 %", reading.exactness)
