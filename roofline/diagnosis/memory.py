"""RF1xx: bound by a memory boundary."""

from collections.abc import Iterator

from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.program.chains import NEAR, Chain
from roofline.units import show

WORTH = 0.02  # assumed: a chain that could save less of a step is not worth a line
PASSES = 1.25  # assumed: fewer passes than this over the least are not excess
PAGE = 4096  # B, the unit in which the kernel hands out fresh memory
FRESH = 0.5  # assumed: from this share of an output's pages faulted, its memory was fresh


def excess_passes(program: Program) -> Iterator[Finding]:
    """RF101: neighbouring operators pass over the same data again and again."""
    step_bytes = sum(chain.moved * chain.count for chain in program.chains)
    for chain in program.chains:
        if chain.passes < PASSES * chain.least_passes or not _worth(program, chain, step_bytes):
            continue
        yield _excess(program, chain)


def _excess(program: Program, chain: Chain) -> Finding:
    steps = program.conditions.steps
    calls, where = len(chain.names), f" in {chain.module}" if chain.module else ""
    saves_s = None if chain.saves_s is None else chain.saves_s / steps
    times = f", {chain.count / steps:g} times a step" if chain.count != steps else ""
    return Finding(
        code="RF101",
        item=_short(chain.names),
        claim=(
            f"{calls} operators{where} pass {chain.passes:.1f} times over the same "
            f"{show(chain.widest, 'B')}; its inputs and outputs need {chain.least_passes:.1f}"
        ),
        evidence=(
            f"{_short(chain.names, 14)}{times}",
            f"{show(chain.moved, 'B')} by formula against {show(chain.least, 'B')} that enter "
            f"or leave: {chain.moved / chain.least:.1f} times",
            _on_roof(chain),
        ),
        next_step=(
            "fuse them: torch.compile this function, or call a fused operator "
            "(F.layer_norm, F.rms_norm, F.softmax, ...)"
        ),
        saves_s=saves_s,
        wrong_if="a fused version moves as many bytes, or takes as long",
    )


def _on_roof(chain: Chain) -> str:
    calls = len(chain.names)
    if chain.at_roof is None:
        return "how near its operators are to their roofs is not known"
    if not chain.at_roof:
        return f"none of its {calls} operators is near its roof: each could be faster by itself too"
    return (
        f"{chain.at_roof} of its {calls} operators are at {NEAR:.0%} of their roof or more: "
        "making each faster gains little there, moving less gains most"
    )


def at_the_roof(program: Program) -> Iterator[Finding]:
    """RF102: one operator, alone, fills its memory boundary with its compulsory bytes."""
    chained = {s for chain in program.chains for s in chain.signatures}
    for item in program.by("call"):
        bound, fraction = item.binding, item.roof_fraction
        if bound is None or fraction is None or item.too_short or item.signatures[0] in chained:
            continue
        if not bound.demanded.is_boundary or fraction < NEAR or not _visible(program, item):
            continue
        yield Finding(
            code="RF102",
            item=item.name,
            claim=(
                f"{item.name} ({item.shapes}) is at {fraction:.0%} of its {bound.demanded.name} "
                "roof with no byte more than its formula needs: nothing to gain by tuning it"
            ),
            evidence=(
                f"{show(bound.amount / item.calls, 'B')} a call in "
                f"{show((item.measured_s or 0) / item.calls, 's')}",
                f"{bound.demanded.name} ceiling {show(bound.ceiling.rate, 'B/s')}, "
                f"{bound.ceiling.provenance.basis}, {bound.ceiling.variant}",
            ),
            next_step="stop here, or change the algorithm or the data type",
            saves_s=0.0,
            wrong_if="a version that moves the same bytes runs clearly faster",
        )


def fresh_memory(program: Program) -> Iterator[Finding]:
    """RF103: outputs land in memory the kernel has to hand out and clear first."""
    for item in program.by("operator"):
        ledger, faults = item.ledger, item.page_faults
        if ledger is None or not faults or item.lost_s is None or not _visible(program, item):
            continue
        written = sum(e.amount for e in ledger.entries if e.access == "write")
        if not written or faults * PAGE < FRESH * written:
            continue
        yield Finding(
            code="RF103",
            item=item.name,
            claim=(
                f"{item.name} writes into memory it has just been given: the system clears "
                f"{show(faults * PAGE / item.calls, 'B')} for it in each call"
            ),
            evidence=(
                f"{faults / item.calls:.0f} page faults a call, "
                f"{faults * PAGE / written:.0%} of the bytes it writes ({PAGE} B a page)",
                f"{show(item.lost_s / item.steps, 's')} a step beyond its roof time",
            ),
            next_step=(
                "reuse memory: write in place or to out=, keep buffers between steps, or preload "
                "an allocator that keeps freed memory (jemalloc, tcmalloc)"
            ),
            saves_s=None,
            wrong_if="the same call with out= a buffer already in use takes as long",
        )


def _visible(program: Program, item: Item) -> bool:
    """Whether the item takes a share of the step that anyone would notice."""
    busy_s = program.whole.busy_s
    return bool(busy_s and item.measured_s and item.measured_s / item.steps >= WORTH * busy_s)


def _worth(program: Program, chain: Chain, step_bytes: int) -> bool:
    """By time where it is known, else by bytes."""
    busy_s = program.whole.busy_s
    if chain.saves_s is not None and busy_s:
        return chain.saves_s / program.conditions.steps >= WORTH * busy_s
    return (chain.moved - chain.least) * chain.count >= WORTH * step_bytes


def _short(names: tuple[str, ...], limit: int = 4) -> str:
    plain = [name.removeprefix("aten::") for name in names]
    shown = plain if len(plain) <= limit else [*plain[: limit - 1], "...", plain[-1]]
    return " > ".join(shown)
