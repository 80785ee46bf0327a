"""RF411: enough warps, and no part of the chip busy: what the warps wait for."""

from collections.abc import Iterator, Mapping

from roofline.counters import Reading
from roofline.counters.facts import busiest
from roofline.diagnosis.kernels.launch_facts import (
    BUSY,
    Facts,
    fraction_text,
    kernel_finding,
    near_roof,
    reader,
    too_short,
    waves_of,
)
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program

OCCUPIED = 50.0  # % of the warps an SM can hold, from which there are enough
FULL = 0.9  # waves from which the grid is said to fill the chip
SHOWN = 3
# What is no waiting: a warp that issues, or could and another one did.
_READY = ("selected", "not_selected")
# reason -> (what a warp waits for, what makes it wait less)
REASONS: Mapping[str, tuple[str, str]] = {
    "long_scoreboard": (
        "data from global or local memory",
        "load earlier (prefetch, several loads in flight a thread), or keep what is reused in "
        "shared memory or registers",
    ),
    "short_scoreboard": (
        "shared memory or special functions",
        "fewer exp, log and divisions, wider accesses to shared memory, no bank conflicts",
    ),
    "barrier": (
        "the other warps of the block at a barrier",
        "fewer __syncthreads, smaller blocks, or work split more evenly between the warps of one",
    ),
    "membar": ("a memory fence", "fewer fences, or fences of a narrower scope"),
    "wait": (
        "the fixed latency of the instruction before",
        "more independent instructions a thread: unroll, or two results at a time",
    ),
    "math_pipe_throttle": (
        "a pipe that other warps use",
        "move work to another pipe, or issue less of what fills this one",
    ),
    "lg_throttle": (
        "room in the queue of global memory",
        "fewer and wider loads and stores: 16 B a thread",
    ),
    "mio_throttle": (
        "room in the queue of shared memory and special functions",
        "fewer and wider accesses to shared memory",
    ),
    "tex_throttle": ("room in the queue of the texture unit", "fewer texture reads at a time"),
    "branch_resolving": ("the target of a branch", "fewer branches: predicate, or unroll"),
    "no_instruction": (
        "instructions that are not in the cache",
        "a smaller loop body, less unrolling",
    ),
    "imc_miss": ("constants that are not in the cache", "the same constant for all of a warp"),
    "drain": ("its stores when it ends", "spread the stores, or more work a block"),
    "sleeping": ("a sleep of its own", "less sleeping"),
    "gmma": (
        "matrix products of the warp group",
        "more stages in flight, or two warp groups that take turns",
    ),
}


def nothing_busy(
    item: Item, readings: Mapping[str, Reading], program: Program
) -> Iterator[Finding]:
    """RF411: a full chip of warps, none of its parts busy, below every roof."""
    fact = reader(readings)
    occupied, waves, busy = fact("occupancy_achieved"), waves_of(fact, program), busiest(readings)
    seen = fact("sm_throughput") is not None and _memory_seen(fact)
    if occupied is None or occupied < OCCUPIED or not seen or not busy or busy[1].value >= BUSY:
        return
    if near_roof(item, program) or too_short(item, program) or (waves is not None and waves < FULL):
        return
    if (fact("issue_active") or 0.0) >= BUSY:
        return
    waits = _waits(readings)
    reason = waits[0][0] if waits else ""
    why, cure = REASONS.get(reason, (reason.replace("_", " "), "look where it is issued"))
    yield kernel_finding(
        "RF411",
        item,
        "has warps enough and keeps no part of the chip busy"
        + (f": they wait for {why}" if waits else ""),
        (
            f"{occupied:.0f} % of the warps an SM can hold; the busiest part, "
            f"{busy[0].replace('_', ' ')}, is at {busy[1].value:.0f} % of its peak",
            *(_share(name, share) for name, share in waits[:SHOWN]),
            *([] if waits else ["why its warps wait was not collected"]),
            fraction_text(item),
        ),
        cure if waits else "collect the reasons of stalls (`roofline ncu --levels`)",
        "with that wait shortened it is no faster",
    )


def _memory_seen(fact: Facts) -> bool:
    return any(fact(f"{part}_throughput") is not None for part in ("memory", "dram"))


def _waits(readings: Mapping[str, Reading]) -> list[tuple[str, float]]:
    """Reasons for which warps wait with their share of all waiting, most first."""
    found = {
        name.removeprefix("stall_"): reading.value
        for name, reading in readings.items()
        if name.startswith("stall_") and name.removeprefix("stall_") not in _READY
    }
    every = sum(found.values())
    shares = ((name, value / every) for name, value in found.items() if every)
    return sorted(shares, key=lambda pair: pair[1], reverse=True)


def _share(name: str, share: float) -> str:
    meaning = REASONS.get(name)
    return f"{share:.0%} of the waiting is {name.replace('_', ' ')}" + (
        f": {meaning[0]}" if meaning else ""
    )
