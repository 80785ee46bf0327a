"""RF101: neighbouring operators pass over the same data again and again."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from roofline.diagnosis.doubts.above import in_doubt
from roofline.diagnosis.rule import Finding
from roofline.diagnosis.worth import WORTH
from roofline.program import Program
from roofline.program.chains import NEAR, Chain
from roofline.program.chains.chain import together
from roofline.program.chains.fused import START, TOGETHER
from roofline.units import number_of, show

PASSES = 1.25  # assumed: fewer passes than this over the least are not excess
IN_DOUBT = 0.2  # of a chain's time, from which on its calls' doubts silence what is said of it
OPTIMIZER = "optimizer"  # the phase
LISTED = 4  # chains of an update that are told one by one
_FUSE = (
    "fuse them: torch.compile this function, or call a fused operator "
    "(F.layer_norm, F.rms_norm, F.softmax, ...)"
)
_FUSE_UPDATE = (
    "fuse the update: fused=True (Adam, AdamW, SGD, Adagrad), else foreach=True or torch.compile "
    "of the optimizer's step"
)


def excess_passes(program: Program) -> Iterator[Finding]:
    """RF101: a finding for each chain, and one for all chains of an optimizer's update."""
    steps = program.conditions.steps
    for parts in _worth(program):
        if len(parts) == 1:
            yield _excess(parts[0], parts, steps)
        else:
            yield _excess(together(parts, steps), parts, steps)


def worth_chains(program: Program) -> list[Chain]:
    """Chains whose fusion could be noticed: by time where it is known, else by bytes."""
    return [chain for parts in _worth(program) for chain in parts]


def _worth(program: Program) -> Iterator[Sequence[Chain]]:
    """What one change would fuse: a chain, or an update's, which has one for each size."""
    busy_s, steps = program.whole.busy_s, program.conditions.steps
    all_bytes = sum(chain.moved * chain.count for chain in program.chains)

    def worth(whole: Chain) -> bool:
        if whole.saves_s is not None and busy_s:
            return whole.saves_s / steps >= WORTH * busy_s
        return (whole.moved - whole.least) * whole.count >= WORTH * all_bytes

    doubted = {s: item.measured_s or 0.0 for item in in_doubt(program) for s in item.signatures}

    def sound(chain: Chain) -> bool:
        doubt_s = sum(doubted.get(s, 0.0) for s in set(chain.signatures))
        return doubt_s <= IN_DOUBT * (chain.measured_s or 0.0)

    excess = [c for c in program.chains if c.passes >= PASSES * c.least_passes and sound(c)]
    yield from ([c] for c in excess if c.phase != OPTIMIZER and worth(c))
    update = [c for c in excess if c.phase == OPTIMIZER]
    if update and worth(together(update, steps)):
        yield update


def _excess(whole: Chain, parts: Sequence[Chain], steps: int) -> Finding:
    alone, least = len(parts) == 1, "at least " if whole.by_size else ""
    where = f" in {whole.module}" if whole.module else ""
    calls = number_of(len(whole.names), "operator")
    each = " each time" if alone and whole.count != steps else ""
    timed = (_on_roof(whole), *_prediction(whole, alone, steps))
    return Finding(
        code="RF101",
        item=_short(whole.names) if alone else "the optimizer's update",
        claim=(
            f"{calls}{where if alone else ' of the optimizer'} pass {whole.passes:.1f} times over "
            f"the same {show(whole.widest, 'B')}; {'its' if alone else 'their'} inputs and outputs "
            f"need {least}{whole.least_passes:.1f}"
        ),
        evidence=(
            *_listed(parts, steps),
            f"{show(whole.moved, 'B')} by formula{each} against {least}{show(whole.least, 'B')} "
            f"that enter or leave: {'at most ' if whole.by_size else ''}"
            f"{whole.moved / whole.least:.1f} times",
            timed[0],
            *(
                (
                    "data was followed by size, the recording names no memory: equal sizes count "
                    "as one tensor",
                )
                if whole.by_size
                else ()
            ),
            *timed[1:],
        ),
        timed=timed,
        next_step=_FUSE_UPDATE if whole.phase == OPTIMIZER else _FUSE,
        saves_s=None if whole.saves_s is None else whole.saves_s / steps,
        now_s=None if whole.measured_s is None else whole.measured_s / steps,
        then_s=None if (then_s := whole.then_s) is None else (then_s[0] / steps, then_s[1] / steps),
        wrong_if="a fused version moves as many bytes, or takes as long",
    )


def _listed(parts: Sequence[Chain], steps: int) -> Iterator[str]:
    """Chains of an update in the order given, those of one size of parameters together."""
    calls: Counter[str] = Counter()
    for chain in parts:
        over = "" if len(parts) == 1 else f" over {show(chain.widest, 'B')}"
        calls[f"{_short(chain.names, 14)}{over}"] += chain.count
    for what, count in islice(calls.items(), LISTED):
        per_step = count / steps
        times = f", {number_of(per_step, 'time')} a step" if per_step != 1 else ""
        yield f"{what}{times}"
    if len(calls) > LISTED:
        yield f"and over {number_of(len(calls) - LISTED, 'other size')}"


def _prediction(chain: Chain, alone: bool, steps: int) -> Iterator[str]:
    if chain.measured_s is None or chain.least_s is None:
        return
    if chain.then_s is None:
        yield (
            "fused: its bytes and its arithmetic need less than starting a kernel may take, which "
            "is not measured here"
        )
        return
    low, high = (show(seconds / steps, "s") for seconds in chain.then_s)
    interval = f" ({low} to {high} within its interval)" if low != high else ""
    several = alone and chain.kernels > 1
    limit = (
        "the cost of starting one kernel"
        if chain.limit == START
        else f"the ceiling of {chain.limit}"
    )
    times = chain.measured_s / chain.least_s
    faster = (
        f"at most {times:.{0 if times >= 100 else 1}f} times as fast"
        if chain.started
        else "without what starting a kernel takes, which is not measured here"
    )
    yield (
        f"fused: {show(chain.measured_s / steps, 's')} -> {show(chain.least_s / steps, 's')} "
        f"a step at {limit}{'' if several else interval}, {faster}"
    )
    if several:
        yield (
            f"that is one kernel of {len(chain.names)} operators; a compiler puts {TOGETHER} into "
            f"one and makes {chain.kernels} kernels of them: up to {high}"
        )


def _on_roof(chain: Chain) -> str:
    calls = len(chain.names)
    if chain.at_roof is None:
        return "how near its operators are to their roofs is not known"
    if not chain.at_roof:
        return f"none of its {calls} operators is near its roof: each could be faster by itself too"
    near = f"{chain.at_roof} of its {calls} operators {'is' if chain.at_roof == 1 else 'are'}"
    return (
        f"{near} at {NEAR:.0%} of the roof or more: "
        "making each faster gains little there, moving less gains most"
    )


def _short(names: tuple[str, ...], limit: int = 4) -> str:
    plain = [name.removeprefix("aten::") for name in names]
    shown = plain if len(plain) <= limit else [*plain[: limit - 1], "...", plain[-1]]
    return " > ".join(shown)
