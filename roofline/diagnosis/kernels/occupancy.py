"""Kernels that do not keep the chip's slots filled: grids, waves, warps, registers."""

from collections.abc import Iterator

from roofline.diagnosis.kernels.launch_facts import (
    BUSY,
    FED,
    Facts,
    fraction_text,
    kernel_finding,
    limit,
    main_name,
    near_roof,
    registers_text,
    sm_count,
    too_short,
    waves_of,
)
from roofline.diagnosis.kernels.tiles import tile_of
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import number_of, show_share

OCCUPIED = 50.0  # % of the warps an SM can hold
FULL = 0.9  # waves from which the grid is said to fill the chip
WARPS = 0.25  # of the warps an SM can hold, from which a smaller grid does not leave it idle
TAIL = 0.8  # waves / ceil(waves) below which the last wave is felt
REQUEST = 128  # B of one request of a warp to local memory: 4 a thread
SPILLED = 0.1  # share of what the L2 is asked for, below which spills are not felt
LIMITERS = {  # what it is, and what it does
    "blocks_per_sm_registers": ("registers", "registers allow"),
    "blocks_per_sm_shared": ("shared memory", "shared memory allows"),
    "blocks_per_sm_warps": ("its block size", "its block size allows"),
    "blocks_per_sm_barriers": ("barriers", "barriers allow"),
}


def few_blocks(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF402: the grid does not fill the chip once.

    How many blocks an SM holds is not always known; fewer blocks than SMs are few all the same.
    """
    waves, grid, sms = waves_of(fact, program), fact("grid_size"), sm_count(fact, program)
    if grid is None or near_roof(item, program):
        return
    if waves >= FULL if waves is not None else sms is None or grid >= sms:
        return
    if too_short(item, program) or _all_at_work(item, fact, program):
        return
    yield kernel_finding(
        "RF402",
        item,
        f"starts {number_of(round(grid), 'block')}, "
        + ("less than one an SM" if waves is None else f"{_part(waves)} of one wave")
        + ": part of the chip is idle",
        (
            number_of(round(grid), "block")
            + (
                f" of {tile[0]}x{tile[1]} results"
                if (tile := tile_of(main_name(item, program)))
                else ""
            )
            + (f" on {sms:.0f} SMs" if sms else ""),
            _warps_there(fact, program),
            fraction_text(item),
        ),
        "more and smaller blocks: split the reduction or batch several calls into one launch",
        "with twice the blocks and the same work it is no faster",
    )


def _part(waves: float) -> str:
    """Two digits after the point; where those are zeros the first that is none.

    A counted 0 is what is left of a number of two digits.

    >>> _part(0.124), _part(0.00076), _part(0.0)
    ('0.12', '0.0008', 'less than 0.01')
    """
    if not waves:
        return "less than 0.01"
    return f"{waves:.2f}" if waves >= 0.005 else f"{waves:.1g}"


def _warps_there(fact: Facts, program: Program) -> str:
    """Warps of the whole grid against those that the chip can hold; "" where one is not known."""
    grid, threads, sms = fact("grid_size"), fact("block_size"), sm_count(fact, program)
    most = limit(program, "warps_per_sm_max")
    if not grid or not threads or not sms or not most:
        return ""
    warps = grid * -(-threads // 32)
    return (
        f"{number_of(round(warps), 'warp')}, {show_share(min(warps / (sms * most), 1.0))} of those "
        "that the chip can hold"
    )


def _all_at_work(item: Item, fact: Facts, program: Program) -> bool:
    """Whether every SM has a block, with warps enough or tensor cores to feed: a wave is no aim."""
    grid, sms, threads = fact("grid_size"), sm_count(fact, program), fact("block_size")
    if not grid or not sms or grid < sms:
        return False
    warps = grid / sms * -(-(threads or 0.0) // 32)
    most = limit(program, "warps_per_sm_max")
    return tile_of(main_name(item, program)) is not None or bool(most and warps >= WARPS * most)


def tail(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF403: the last wave of blocks is nearly empty."""
    waves = waves_of(fact, program)
    if waves is None or waves <= 1 or near_roof(item, program):
        return
    efficiency = waves / -(-waves // 1)
    if efficiency >= TAIL:
        return
    yield kernel_finding(
        "RF403",
        item,
        f"runs {waves:.2f} waves of blocks: the last is mostly empty "
        f"({efficiency:.0%} of the slots work)",
        (
            (f"{number_of(round(grid), 'block')} in " if (grid := fact("grid_size")) else "")
            + f"{-(-waves // 1):.0f} waves",
            fraction_text(item),
        ),
        "change the block size so that the grid is a whole number of waves, or use a persistent "
        "grid",
        "a grid of whole waves with the same work is no faster",
        then=efficiency,
    )


def low_occupancy(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF404: too few warps in flight to hide latency, with what limits them."""
    achieved, possible, waves = (
        fact("occupancy_achieved"), fact("occupancy_theoretical"), waves_of(fact, program),
    )  # fmt: skip
    if achieved is None or achieved >= OCCUPIED or near_roof(item, program):
        return
    # A grid smaller than the chip is RF402; kernels that feed tensor cores hide latency otherwise.
    if (waves is not None and waves < 1) or _feeds_tensor_cores(item, fact):
        return
    if any((fact(pipe) or 0.0) >= BUSY for pipe in ("fma_pipe", "fp64_pipe", "xu_pipe")):
        return
    limits = {name: value for name in LIMITERS if (value := fact(name)) is not None}
    limiter = min(limits, key=limits.__getitem__) if limits else None
    by = f", limited by {LIMITERS[limiter][0]}" if limiter and (possible or 0) < 100 else ""
    yield kernel_finding(
        "RF404",
        item,
        f"keeps {achieved:.0f} % of the warps an SM can hold{by}",
        (
            f"occupancy {achieved:.0f} % achieved"
            + (f" of {possible:.0f} % possible" if possible else ""),
            *(
                f"{LIMITERS[name][1]} {number_of(round(value), 'block')} an SM"
                for name, value in limits.items()
            ),
            registers_text(fact),
            fraction_text(item),
        ),
        "fewer registers or less shared memory a block, a larger block, or more independent "
        "work a thread",
        "with higher occupancy it is no faster",
    )


def _feeds_tensor_cores(item: Item, fact: Facts) -> bool:
    """By the profiler's count, else by the time that its own flop needs there."""
    if (fact("tensor_pipe") or 0.0) >= FED:
        return True
    needed_s = max(
        (b.least_s for b in item.placement.bounds if b.demanded.name.startswith("tensor-")),
        default=0.0,
    )
    return bool(item.measured_s and needed_s >= FED / 100 * item.measured_s)


def spills(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF405: registers did not suffice, and their overflow moves through memory."""
    requests, asked = fact("local_spilling_requests"), fact("l2_requested")
    if not requests or (asked and requests * REQUEST < SPILLED * asked):
        return
    yield kernel_finding(
        "RF405",
        item,
        f"spills registers: {requests:.3g} requests to local memory",
        (registers_text(fact),),
        "smaller tiles, fewer values alive at once, or a larger register limit (launch bounds, "
        "num_warps)",
        "a version without spills is no faster",
    )
