"""RF4xx: what a kernel's own counters say about why it is below its roof.

These rules read the facts that a profiler recorded beside a launch; without counters they are
silent.  Thresholds are assumed unless a comment says where they come from.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from roofline.counters import Reading
from roofline.device import DRAM, L2, SHARED, TENSOR_TF32, VECTOR_FP32
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import show
from roofline.work import Access

WAVEFRONT = 128  # B that shared memory moves in one pass
SECTOR = 32  # B, the unit in which a GPU's caches fetch
WORTH = 0.02  # share of device time below which a kernel is not worth a line
COALESCED = 0.75  # share of each sector that is used
REUSED = 40.0  # % of L1 hits, from which the rest of a sector is used by a later request
BUSY = 60.0  # %, from which a part of the chip is said to be busy
OCCUPIED = 50.0  # %
ON_ROOF = 0.8
FED = 20.0  # %, from which the tensor pipe is what a kernel is about
TILE = 4096.0  # B of shared memory a block, less than any tile of a matrix product takes
TAIL = 0.8  # waves / ceil(waves) below which the last wave is felt
CONFLICTS = 0.6  # useful share of the bytes that shared memory moved
LIMITERS = {
    "blocks_per_sm_registers": "registers",
    "blocks_per_sm_shared": "shared memory",
    "blocks_per_sm_warps": "its block size",
    "blocks_per_sm_barriers": "barriers",
}

WAYS: tuple[Access, ...] = ("read", "write")

Facts = Callable[[str], float | None]


def from_counters(program: Program) -> Iterator[Finding]:
    """RF401 to RF408 for kernels that take a visible share of the time, one finding a cause."""
    causes: dict[str, list[Finding]] = {}
    for finding in _each(program):
        causes.setdefault(finding.code, []).append(finding)
    for findings in causes.values():
        yield _merged(sorted(findings, key=lambda f: f.saves_s or 0.0, reverse=True))


def _each(program: Program) -> Iterator[Finding]:
    busy_s = program.whole.busy_s
    for item in program.by("call"):
        readings = program.facts.get(item.signatures[0])
        share = (item.measured_s or 0.0) / item.steps / busy_s if busy_s else 0.0
        if not readings or share < WORTH:
            continue
        fact = _reader(readings)
        for rule in RULES:
            yield from rule(item, fact, program)


def _merged(findings: list[Finding]) -> Finding:
    """The worst, with the others named and their savings added."""
    worst, others = findings[0], findings[1:]
    if not others:
        return worst
    saves = [f.saves_s for f in findings if f.saves_s is not None]
    names = dict.fromkeys(_brief(f.item) for f in others)
    return replace(
        worst,
        claim=f"{worst.claim}; {len(others)} more kernels likewise",
        evidence=(*worst.evidence, f"likewise: {', '.join([*names][:4])}"),
        items=tuple(f.item for f in findings),
        item="",
        saves_s=sum(saves) if saves else None,
        now_s=None,
        then_s=None,
    )


def uncoalesced(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF401: requests use little of each 32-byte sector that is fetched for them."""
    used = {
        "loads": fact("bytes_used_per_sector_loaded"),
        "stores": fact("bytes_used_per_sector_stored"),
    }
    poor = {k: v for k, v in used.items() if v and v < COALESCED * SECTOR}
    requests = fact("sectors_per_request_load" if "loads" in poor else "sectors_per_request_store")
    # One sector a request is a scalar; what the L1 serves again is not fetched again.
    if not poor or not requests or requests <= 1 or (fact("l1_hit_rate") or 0.0) >= REUSED:
        return
    if _near(item, program):
        return
    yield _finding(
        "RF401",
        item,
        f"{_brief(item.name)} uses {min(poor.values()):.0f} of every {SECTOR} B it moves: "
        "uncoalesced access",
        (
            *(f"{kind} use {value:.1f} of {SECTOR} B a sector" for kind, value in poor.items()),
            f"{requests:.1f} sectors a request; 4 would serve 32 neighbouring fp32",
        ),
        "let neighbouring threads touch neighbouring addresses: transpose, or stage through "
        "shared memory",
        "with unit stride it runs no faster",
        best_s=_useful_s(item, used, program),
    )


def _useful_s(item: Item, used: Mapping[str, float | None], program: Program) -> float | None:
    """Time for the useful part of its DRAM bytes at the ceiling of their own mix.

    What the L1 asks for in vain the L2 may hold: no more is useless on DRAM than what is not asked.
    """
    achieved = item.placement.work.achieved
    if achieved is None:
        return None
    share = {"read": used["loads"] or SECTOR, "write": used["stores"] or SECTOR}
    useful: dict[str, float] = {}
    for way in WAYS:
        far, asked = achieved.traffic(DRAM, way), achieved.traffic(L2, way)
        useful[way] = min(far, (asked or far) * share[way] / SECTOR)
    total = sum(useful.values())
    ceiling = program.roof.ceiling(DRAM, useful["read"] / total if total else None)
    return total / ceiling.rate / item.steps if total and ceiling else None


def few_blocks(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF402: the grid does not fill the chip once."""
    waves, grid, sms = _waves(fact, program), fact("grid_size"), fact("sm_count")
    if waves is None or grid is None or waves >= 1 or _near(item, program):
        return
    yield _finding(
        "RF402",
        item,
        f"{_brief(item.name)} starts {grid:.0f} blocks, {waves:.2f} of one wave: "
        "part of the chip is idle",
        (f"{grid:.0f} blocks" + (f" on {sms:.0f} SMs" if sms else ""), _fraction(item)),
        "more and smaller blocks: split the reduction or batch several calls into one launch",
        "with twice the blocks and the same work it is no faster",
    )


def tail(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF403: the last wave of blocks is nearly empty."""
    waves = _waves(fact, program)
    if waves is None or waves <= 1 or _near(item, program):
        return
    efficiency = waves / -(-waves // 1)
    if efficiency >= TAIL:
        return
    yield _finding(
        "RF403",
        item,
        f"{_brief(item.name)} runs {waves:.2f} waves of blocks: the last is mostly empty "
        f"({efficiency:.0%} of the slots work)",
        (f"{fact('grid_size') or 0:.0f} blocks in {-(-waves // 1):.0f} waves", _fraction(item)),
        "change the block size so that the grid is a whole number of waves, or use a persistent "
        "grid",
        "a grid of whole waves with the same work is no faster",
        then=efficiency,
    )


def low_occupancy(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF404: too few warps in flight to hide latency, with what limits them."""
    achieved, possible, waves = (
        fact("occupancy_achieved"), fact("occupancy_theoretical"), _waves(fact, program),
    )  # fmt: skip
    if achieved is None or achieved >= OCCUPIED or _near(item, program):
        return
    # A grid smaller than the chip is RF402; kernels that feed tensor cores hide latency otherwise.
    if (waves is not None and waves < 1) or (fact("tensor_pipe") or 0.0) >= FED:
        return
    if any((fact(pipe) or 0.0) >= BUSY for pipe in ("fma_pipe", "fp64_pipe", "xu_pipe")):
        return
    limits = {name: value for name in LIMITERS if (value := fact(name)) is not None}
    limiter = min(limits, key=limits.__getitem__) if limits else None
    by = f", limited by {LIMITERS[limiter]}" if limiter and (possible or 0) < 100 else ""
    yield _finding(
        "RF404",
        item,
        f"{_brief(item.name)} keeps {achieved:.0f} % of the warps an SM can hold{by}",
        (
            f"occupancy {achieved:.0f} % achieved"
            + (f" of {possible:.0f} % possible" if possible else ""),
            *(f"{LIMITERS[name]} allow {value:.0f} blocks an SM" for name, value in limits.items()),
            f"{fact('registers_per_thread') or 0:.0f} registers a thread",
            _fraction(item),
        ),
        "fewer registers or less shared memory a block, a larger block, or more independent "
        "work a thread",
        "with higher occupancy it is no faster",
    )


def spills(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF405: registers did not suffice, and their overflow moves through memory."""
    requests = fact("local_spilling_requests")
    if not requests:
        return
    yield _finding(
        "RF405",
        item,
        f"{_brief(item.name)} spills registers: {requests:.3g} requests to local memory",
        (f"{fact('registers_per_thread') or 0:.0f} registers a thread",),
        "smaller tiles, fewer values alive at once, or a larger register limit (launch bounds, "
        "num_warps)",
        "a version without spills is no faster",
    )


def bank_conflicts(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF406: shared memory serves several threads of a warp one after the other."""
    conflicts = fact("bank_conflicts")
    achieved = item.placement.work.achieved
    entries = achieved.entries if achieved else ()
    moved = sum(e.amount for e in entries if e.resource == SHARED) / item.calls
    if not conflicts or not moved:
        return
    useful = fact("shared_useful")
    share = useful / moved if useful else 1 - conflicts * WAVEFRONT / moved
    if share >= CONFLICTS or (fact("tensor_pipe") or 0.0) >= FED:
        return
    yield _finding(
        "RF406",
        item,
        f"{_brief(item.name)} uses {share:.0%} of what shared memory moves: bank conflicts",
        (
            f"{conflicts:.3g} conflicts in {moved / WAVEFRONT:.3g} passes of {WAVEFRONT} B",
            f"{show(moved, 'B')} a launch",
        ),
        "pad or swizzle the shared array so that a warp's addresses fall into 32 banks",
        "a padded version is no faster",
        then=share,
    )


def wrong_pipe(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF407: matrix work in fp32 on the CUDA cores although the device has tf32."""
    fma, tensor = fact("fma_pipe"), fact("tensor_pipe")
    ceiling, cores = program.roof.ceiling(TENSOR_TF32), program.roof.ceiling(VECTOR_FP32)
    if fma is None or fma < BUSY or (tensor or 0.0) >= 5.0 or ceiling is None or cores is None:
        return
    # A product keeps tiles in shared memory; without, it is some other arithmetic.
    if ceiling.resource != TENSOR_TF32 or (fact("shared_per_block") or 0.0) < TILE:
        return
    gain = ceiling.rate / cores.rate
    yield _finding(
        "RF407",
        item,
        f"{_brief(item.name)} keeps the fp32 cores {fma:.0f} % busy and the tensor cores idle",
        (
            f"tf32 ceiling {show(ceiling.rate, 'flop/s')}, fp32 cores {show(cores.rate, 'flop/s')}",
            "only matrix products can move to the tensor cores",
        ),
        "if it is a matrix product that tolerates tf32 or bf16: "
        "torch.set_float32_matmul_precision('high'), or a half type",
        "it is not a matrix product, or tf32 runs no faster",
        then=1 / gain,
    )


def special_functions(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF408: transcendental functions fill their unit."""
    busy = fact("xu_pipe")
    if busy is None or busy < BUSY:
        return
    yield _finding(
        "RF408",
        item,
        f"{_brief(item.name)} is bound by special functions: their unit is {busy:.0f} % busy",
        (f"{fact('fma_pipe') or 0:.0f} % of the fp32 pipe", _fraction(item)),
        "fewer exp, log, division or conversions an element: reuse them, or use polynomials on the "
        "fp32 pipe",
        "with half the special functions it is no faster",
    )


RULES = (
    uncoalesced, few_blocks, tail, low_occupancy, spills, bank_conflicts, wrong_pipe,
    special_functions,
)  # fmt: skip


def _finding(
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
    """`then` is the share of today's time that would remain at best, `best_s` that time itself."""
    now_s = None if item.measured_s is None else item.measured_s / item.steps
    roof_s = None if item.roof_s is None else item.roof_s / item.steps
    if best_s is None:
        best_s = now_s * then if now_s is not None and then is not None else roof_s
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
        then_s=None if now_s is None or best_s is None else (best_s, now_s),
    )


def _reader(readings: Mapping[str, Reading]) -> Facts:
    def fact(name: str) -> float | None:
        reading = readings.get(name)
        return None if reading is None else reading.value

    return fact


def _brief(name: str) -> str:
    """A kernel's name without its template's insides, short enough for a sentence."""
    plain = re.sub(r"<.*", "", name.removeprefix("void ")).rsplit("::", maxsplit=1)[-1] or name
    return plain if len(plain) <= 60 else f"{plain[:57]}..."


def _waves(fact: Facts, program: Program) -> float | None:
    """Waves of blocks: as counted, else from the launch and the limits of one SM.

    Registers are handed out in units of 256 a warp (CUDA's occupancy calculator).
    """
    if (counted := fact("waves")) is not None:
        return counted
    per_sm, threads, registers = (
        fact("blocks_per_sm"), fact("block_size"), fact("registers_per_thread"),
    )  # fmt: skip
    warps_max, blocks_max, file = (
        _limit(program, name)
        for name in ("warps_per_sm_max", "blocks_per_sm_max", "register_file_per_sm")
    )
    if per_sm is None or threads is None or warps_max is None or blocks_max is None:
        return None
    warps = -(-threads // 32)
    resident = min(warps_max // warps, blocks_max)
    if registers and file:
        resident = min(resident, file // 4 // (-(-registers * 32 // 256) * 256 * warps))
    shared, shared_max = fact("shared_per_block"), _limit(program, "shared_per_sm")
    if shared and shared_max:
        resident = min(resident, shared_max // shared)
    return per_sm / resident if resident >= 1 else None


def _limit(program: Program, name: str) -> float | None:
    fact = program.device.fact(name) if program.device else None
    return float(fact.value) if fact and isinstance(fact.value, float | int) else None


def _near(item: Item, program: Program) -> bool:
    """On its roof, the highest known for what binds it: then nothing else limits it."""
    if item.roof_fraction is None or item.binding is None:
        return False
    binding = item.binding.ceiling
    highest = program.roof.highest(binding.resource) or binding.rate
    return item.roof_fraction * binding.rate / highest >= ON_ROOF


def _fraction(item: Item) -> str:
    if item.roof_fraction is None or item.binding is None:
        return ""
    return f"{item.roof_fraction:.0%} of its {item.binding.demanded.name} roof"
