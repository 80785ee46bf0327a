"""Reading a kernel's facts, and the shape that every finding about a kernel has."""

from collections.abc import Callable, Mapping

from roofline.counters import Reading
from roofline.diagnosis.prediction import at_roof_s, down_to
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program

ON_ROOF = 0.8  # assumed: from this share of its roof on, nothing else limits a kernel
BUSY = 60.0  # %, from which a part of the chip is said to be busy
FED = 20.0  # %, from which the tensor pipe is what a kernel is about

Facts = Callable[[str], float | None]


def kernel_finding(
    code: str,
    item: Item,
    claim: str,
    evidence: tuple[str, ...],
    next_step: str,
    wrong_if: str,
    *,
    then: float | None = None,
    best_s: float | None = None,
) -> Finding:
    """`claim` is what is said of the kernel; its name is put before it.

    `then` is the share of today's time that would remain at best, `best_s` that time itself.

    With neither of them it is the time on its roof.
    """
    now_s = None if item.measured_s is None else item.measured_s / item.steps
    least_s = best_s
    if best_s is None and then is not None:
        best_s = least_s = None if now_s is None else now_s * then
    elif best_s is None and (span := at_roof_s(item)) is not None:
        best_s, least_s = (item.roof_s or 0.0) / item.steps, span[0]
    saves_s = None if now_s is None or best_s is None else max(now_s - best_s, 0.0)
    return Finding(
        code=code,
        item=item.name,
        claim=claim,
        evidence=tuple(line for line in evidence if line),
        next_step=next_step,
        wrong_if=wrong_if,
        saves_s=saves_s,
        now_s=now_s,
        then_s=down_to(least_s, now_s),
    )


def reader(readings: Mapping[str, Reading]) -> Facts:
    """A kernel's facts by name; None is not recorded."""

    def fact(name: str) -> float | None:
        reading = readings.get(name)
        return None if reading is None else reading.value

    return fact


def waves_of(fact: Facts, program: Program) -> float | None:
    """Waves of blocks: as counted, else from the launch and the limits of one SM.

    They are printed with two digits after the point, so a count of 0 says only that they are few.
    """
    counted = fact("waves")
    if counted:
        return counted
    per_sm, resident = _blocks_per_sm(fact, program), _resident(fact, program)
    return counted if per_sm is None or not resident else per_sm / resident


def _blocks_per_sm(fact: Facts, program: Program) -> float | None:
    """Blocks of the whole grid on each SM, over all waves; None is not known."""
    per_sm, grid, sms = fact("blocks_per_sm"), fact("grid_size"), sm_count(fact, program)
    return grid / sms if per_sm is None and grid and sms else per_sm


def _resident(fact: Facts, program: Program) -> float | None:
    """Blocks that one SM holds at a time: by the profiler's limits, else by the datasheet's.

    Registers are handed out in units of 256 a warp (CUDA's occupancy calculator).  What an SM has
    of shared memory beyond the most that a block can ask for is what the system keeps of each.
    None where a limit is not known.
    """
    told = [fact(f"blocks_per_sm_{by}") for by in ("registers", "shared", "warps", "blocks")]
    if all(told):
        return min(most for most in told if most)
    threads, registers = fact("block_size"), fact("registers_per_thread")
    warps_max, blocks_max, file = (
        limit(program, name)
        for name in ("warps_per_sm_max", "blocks_per_sm_max", "register_file_per_sm")
    )
    if not threads or warps_max is None or blocks_max is None:
        return None
    if not registers and fact("blocks_per_sm") is None:
        return None
    warps = -(-threads // 32)
    resident = min(warps_max // warps, blocks_max)
    if registers and file:
        resident = min(resident, file // 4 // (-(-registers * 32 // 256) * 256 * warps))
    shared, shared_max = fact("shared_per_block"), limit(program, "shared_per_sm")
    if shared and shared_max:
        kept = shared_max - (limit(program, "shared_per_block_max") or shared_max)
        resident = min(resident, shared_max // (shared + kept))
    return resident


def sm_count(fact: Facts, program: Program) -> float | None:
    """SMs of the device, as counted or as its datasheet says."""
    return fact("sm_count") or limit(program, "sm_count")


def main_name(item: Item, program: Program) -> str:
    """The kernel that an item is, or that takes most of its time."""
    main = program.main_kernels.get(item.signatures[0])
    return item.name if main is None else main.name


def limit(program: Program, name: str) -> float | None:
    """What the datasheet says of the device; None where it does not."""
    fact = program.device.fact(name) if program.device else None
    return float(fact.value) if fact and isinstance(fact.value, float | int) else None


def registers_text(fact: Facts) -> str:
    """Registers of a thread, or nothing where that is not recorded."""
    registers = fact("registers_per_thread")
    return "" if registers is None else f"{registers:.0f} registers a thread"


def near_roof(item: Item, program: Program) -> bool:
    """On its roof, the highest known for what binds it: then nothing else limits it."""
    if item.roof_fraction is None or item.binding is None:
        return False
    binding = item.binding.ceiling
    highest = program.roof.highest(binding.resource) or binding.rate
    return item.roof_fraction * binding.rate / highest >= ON_ROOF


def too_short(item: Item, program: Program) -> bool:
    """Whether a launch is over before the next can be started: no shape of its grid is felt."""
    launch_s = program.conditions.call_overhead_s
    return bool(launch_s and item.measured_s and item.measured_s / item.calls < launch_s)


def fraction_text(item: Item) -> str:
    """How much of its roof it reaches, or nothing where that is unknown."""
    if item.roof_fraction is None or item.binding is None:
        return ""
    return f"{item.roof_fraction:.0%} of its {item.binding.demanded.name} roof"
