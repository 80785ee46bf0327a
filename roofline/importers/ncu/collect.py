"""Running a program under the user's own Nsight Compute, with the counters that are read here.

The smallest set accounts for a launch: its time, its bytes from memory, its flop by type.  The
other levels of memory and the reasons of stalls take more passes, so they are asked for.

Clocks are left alone, so that times are those of a user.  Caches are flushed before every pass
unless the user says otherwise: a launch is replayed for several passes, and without a flush the
later ones find its own data in the caches, which is neither cold nor as the program left them.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TextIO

from roofline.counters.vector import OPERATIONS, TYPES, metric
from roofline.errors import Missing
from roofline.importers.format import Options, source
from roofline.measurement import CacheState, ClockState
from roofline.runfile import Run
from roofline.units import number_of

Cache = Literal["flush", "none"]
CONTROL: dict[Cache, str] = {"flush": "all", "none": "none"}
INSTALL = (
    "there is no `ncu` on the PATH: Nsight Compute comes with the CUDA toolkit "
    "(its bin folder, often /usr/local/cuda/bin) and from developer.nvidia.com/nsight-compute"
)
# Names of kernels as the compiler wrote them, the same in every run.  The profiler else shortens
# them, by what else it saw, and leaves brackets open.
WHOLE_NAMES = "--rename-kernels"
_PASSES = "profiler__replayer_passes"
_CLOCKS = "Running with unmodified GPU clocks"
REPLAYED = (
    "caches were not flushed, and launches that needed several passes found their own data in them"
)

# Patterns of whole names of hardware counters.  One that matches none on a chip ends the profile,
# so names that only some chips have stand in one pattern with others.  What is no counter (names of
# ``launch__`` and ``device__attribute_``, the limit of occupancy) is not found by a pattern; it is
# on every raw page without being asked for.
LEAST = (
    r"gpu__time_duration\.sum",
    r"dram__bytes(_op)?_(read|write)\.sum",
    *(
        re.escape(metric("smsp", letter, operation)) + r"\.sum"
        for letter in TYPES
        for operation in OPERATIONS
    ),
    r"sm__(inst_executed_pipe_tensor"
    r"|ops_path_tensor_src_([a-z0-9]+(_fp[0-9]+)*(_dst_fp(16|32))?|fp8_sparsity_(on|off)))\.sum",
    r"(gpc|sm)__cycles_elapsed\.avg\.per_second",
    r"sm__warps_active\.avg\.pct_of_peak_sustained_active",
)
MORE = (
    r"lts__t_sectors_srcunit_tex_op_(read|write|red|atom|atom_dot_alu|atom_dot_cas)\.sum",
    r"lts__((t_bytes|t_sectors|lts2xbar_cycles_active)\.sum|t_sectors\.(max|avg))",
    r"l1tex__(t_bytes|lsu_writeback_active(_mem_lg|_mem_lgds)?)\.sum",
    r"l1tex__data_(pipe_lsu_wavefronts|bank_conflicts_pipe_lsu)_mem_shared\.sum",
    r"l1tex__t_(sectors|requests)_pipe_lsu_mem_global_op_(ld|st)\.sum",
    r"smsp__sass_average_data_bytes_per_sector_mem_global_op_(ld|st)\.ratio",
    r"(l1tex|lts)__t_sector_hit_rate\.pct",
    r"smsp__average_warps_issue_stalled_[a-z_]+_per_issue_active\.ratio",
    r"(sm|dram|lts|l1tex)__throughput\.avg\.pct_of_peak_sustained_elapsed",
    r"sm__((pipe_(tc|tensor|fma|fp64)_cycles_active|inst_executed_pipe_(fma|xu|lsu))"
    r"\.avg\.pct_of_peak_sustained_elapsed|inst_executed_pipe_xu\.sum)",
    r"smsp__(issue_active\.avg\.pct_of_peak_sustained_active"
    r"|sass_thread_inst_executed_op_conversion_pred_on\.sum)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to profile, and how."""

    cache: Cache = "flush"
    levels: bool = False  # L2, L1, shared memory and stalls as well
    kernel: str | None = None  # pattern of kernel names
    skip: int | None = None  # launches to leave out first
    count: int | None = None  # launches to profile after that
    kernel_id: str | None = None  # ncu's own filter of functions and numbers of launches
    device: str | None = None  # the device, where the profiler does not name it


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """What one run of the profiler left."""

    export: bytes  # its raw page and messages
    program: str  # base name of the script, else of the program
    exit_code: int  # the profiler's, which is the program's where that ended by itself


def collect(program: Sequence[str], wanted: Wanted, output: TextIO | int | None = None) -> Profiled:
    """Run `program` under ncu; its own output goes to `output`, else where it always goes."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise Missing(INSTALL)
    with tempfile.TemporaryDirectory(prefix="roofline-ncu-") as folder:
        log = Path(folder) / "ncu.csv"
        options = [*_whole_names(ncu), *arguments(wanted, log)]
        done = subprocess.run([ncu, *options, *program], check=False, stdout=output)
        export = log.read_bytes() if log.exists() else b""
    return Profiled(export=export, program=named(program), exit_code=done.returncode)


def _whole_names(ncu: str) -> list[str]:
    """The option for it, of versions that have it: others end at options that they do not know."""
    told = subprocess.run([ncu, "--help"], check=False, capture_output=True, text=True)
    return [WHOLE_NAMES, "0"] if WHOLE_NAMES in told.stdout else []


def arguments(wanted: Wanted, log: Path) -> list[str]:
    """The options of ncu: raw page in base units into a file of its own."""
    patterns = (*LEAST, *MORE) if wanted.levels else LEAST
    options = [
        "--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log),
        "--target-processes", "all", "--clock-control", "none",
        "--cache-control", CONTROL[wanted.cache],
        "--metrics", ",".join(f"regex:^{pattern}$" for pattern in patterns),
    ]  # fmt: skip
    if wanted.kernel is not None:
        options += ["--kernel-name", f"regex:{wanted.kernel}"]
    if wanted.kernel_id is not None:
        options += ["--kernel-id", wanted.kernel_id]
    if wanted.skip is not None:
        options += ["--launch-skip", str(wanted.skip)]
    if wanted.count is not None:
        options += ["--launch-count", str(wanted.count)]
    return options


def imported(profiled: Profiled, wanted: Wanted) -> Run:
    """The run of what was profiled with `wanted`; BadInput says why nothing was."""
    from roofline.importers.ncu import load

    flushed = wanted.cache == "flush"
    options = Options(
        ncu_cache=CacheState.FLUSHED if flushed else CacheState.UNKNOWN,
        ncu_clock=ClockState.FREE,
        device=wanted.device,
    )
    with tempfile.TemporaryDirectory(prefix="roofline-ncu-") as folder:
        path = Path(folder) / profiled.program
        path.write_bytes(profiled.export)
        run = load([source(path)], options)
    # That clocks are left alone was asked for.
    warnings = tuple(text for text in run.recorder.warnings if _CLOCKS not in text)
    warnings += () if flushed else (REPLAYED,)
    timer = f"{run.recorder.timer}; {_cost(run)}"
    return replace(run, recorder=replace(run.recorder, timer=timer, warnings=warnings))


def _cost(run: Run) -> str:
    """``16 launches in 368 passes``; without the passes where the profiler does not say."""
    launches = [row["counters"].get(_PASSES) for row in run.rows()]
    known = [passes for passes in launches if passes is not None]
    many = f" in {number_of(round(sum(known)), 'pass')}" if len(known) == len(launches) else ""
    return number_of(len(launches), "launch") + many


def named(program: Sequence[str]) -> str:
    """The base name of the script, else of the program."""
    scripts = [word for word in program[1:] if word.endswith(".py")]
    return Path(scripts[0] if scripts else program[0]).name
