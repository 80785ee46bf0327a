"""RF5xx: communication between devices, in the way and over its link."""

from collections.abc import Iterator

from roofline.device import NETWORK, NVLINK
from roofline.diagnosis.prediction import down_to, to_roof_s
from roofline.diagnosis.rule import Finding
from roofline.diagnosis.worth import visible
from roofline.program import Item, Program
from roofline.program.chains import NEAR
from roofline.units import show
from roofline.work import Exactness

EXPOSED = 0.05  # share of a step, from which waiting for communication is said
LINKS = (NVLINK, NETWORK)
THE_MOST = "the most that a rank may send: what it sent hangs on the group, and its place in it"
WAITING = 0.05  # assumed: of its roof, below which a collective is not about bytes


def exposed(program: Program) -> Iterator[Finding]:
    """RF501: communication with nothing beside it."""
    whole, overlap, steps = program.whole, program.overlap, program.conditions.steps
    step_s = whole.step_s or whole.busy_s
    if overlap is None or not step_s or overlap.exposed_s / steps < EXPOSED * step_s:
        return
    alone_s, talking_s = overlap.exposed_s / steps, overlap.communication_s / steps
    yield Finding(
        code="RF501",
        item="",
        claim=(
            f"for {show(alone_s, 's')} a step, {alone_s / step_s:.0%} of it, the device only "
            "communicates"
        ),
        evidence=(
            f"it communicates for {show(talking_s, 's')} a step, "
            f"{(talking_s - alone_s) / talking_s:.0%} of that beside other kernels",
            *_least(program),
            f"{overlap.streams} stream{'s' if overlap.streams > 1 else ''} in use",
        ),
        next_step=(
            "start it earlier and let it run beside computation: gradients in buckets while the "
            "backward pass goes on, weights of the next layer fetched ahead (FSDP prefetch), "
            "asynchronous collectives on a stream of their own; or send less (gradients in a half "
            "type, fewer and larger steps)"
        ),
        saves_s=alone_s,
        now_s=step_s,
        then_s=down_to(step_s - alone_s, step_s),
        wrong_if="with the collectives left out a step is no shorter",
    )


def _least(program: Program) -> Iterator[str]:
    """What the bytes alone need."""
    known = [i.roof_s for i in program.by("call") if _link(i) and i.roof_s]
    if known:
        least_s = sum(known) / program.conditions.steps
        yield f"its bytes need {show(least_s, 's')} a step at the ceiling of the link"


def link_roof(program: Program) -> Iterator[Finding]:
    """RF502: how near a collective comes to the ceiling of its link."""
    for item in program.by("call"):
        fraction = item.roof_fraction
        if fraction is None or not _link(item) or not visible(program, item):
            continue
        if fraction < WAITING:
            yield _waits(program, item)
        else:
            yield _placed(program, item, fraction)


def _placed(program: Program, item: Item, fraction: float) -> Finding:
    """What fills its link is told to send less, what does not to send better."""
    perhaps = fraction >= NEAR and not _exact(item)
    full = fraction >= NEAR and not perhaps
    link = item.binding.demanded.name if item.binding else ""
    most = "" if _exact(item) else "at most "
    return Finding(
        code="RF502",
        item=item.name,
        claim=(
            f"{item.name} ({item.shapes}) "
            f"{'fills its link: ' if full else f'reaches {most}'}{fraction:.0%} of the {link} roof"
        ),
        evidence=_evidence(program, item),
        next_step=(
            "only fewer bytes help: a half type, gradients accumulated over more samples, "
            "another way to split the model"
            if full
            else "fewer and larger messages (larger buckets, coalesced collectives), and all "
            "ranks there at the same time: waiting for the slowest is part of this time"
        ),
        saves_s=None if perhaps else 0.0 if full else _felt_s(program, item),
        now_s=_now_s(item),
        then_s=_then_s(program, item),
        wrong_if=(
            "with the same bytes it runs clearly faster"
            if full
            else "a bandwidth test of the link with messages of this size is no faster"
        ),
    )


def _waits(program: Program, item: Item) -> Finding:
    """Its bytes are nothing beside its time."""
    return Finding(
        code="RF502",
        item=item.name,
        claim=f"{item.name} ({item.shapes}) waits: its bytes need next to nothing of its time",
        evidence=_evidence(program, item),
        next_step=(
            "let all ranks come at the same time: equal work for each, and nothing that only one "
            "does (loading, logging, saving) before a collective; send small messages together"
        ),
        saves_s=_felt_s(program, item),
        now_s=_now_s(item),
        then_s=_then_s(program, item),
        wrong_if="it takes as long where all ranks come together",
    )


def _evidence(program: Program, item: Item) -> tuple[str, ...]:
    bound, overlap = item.binding, program.overlap
    assert bound is not None
    took_s = item.measured_s or 0.0
    hidden = 1 - overlap.exposed_s / overlap.communication_s if overlap else 0.0
    return (
        f"{show(bound.amount / item.calls, 'B')} a call in {show(took_s / item.calls, 's')}: "
        f"{show(bound.amount / took_s, 'B/s')} of {show(bound.ceiling.rate, 'B/s')} "
        f"({bound.ceiling.provenance.basis})",
        *((f"{hidden:.0%} of all communication runs beside other kernels",) if hidden else ()),
        *(() if _exact(item) else (THE_MOST,)),
        *(item.placement.ledger.conventions if item.placement.ledger else ()),
    )


def _now_s(item: Item) -> float:
    return (item.measured_s or 0.0) / item.steps


def _felt_s(program: Program, item: Item) -> float:
    """What it loses to its roof, as far as nothing runs beside it: the rest is no step's time."""
    lost_s, overlap = max(item.lost_s or 0.0, 0.0), program.overlap
    return min(lost_s, lost_s if overlap is None else overlap.exposed_s) / item.steps


def _then_s(program: Program, item: Item) -> tuple[float, float] | None:
    now_s = _now_s(item)
    span = to_roof_s([item], now_s)
    return None if span is None else (max(span[0], now_s - _felt_s(program, item)), now_s)


def _exact(item: Item) -> bool:
    """Whether its bytes are known, and not only the most they can be."""
    entries = item.ledger.entries if item.ledger else ()
    return all(entry.exactness is Exactness.EXACT for entry in entries)


def _link(item: Item) -> bool:
    return item.binding is not None and item.binding.demanded in LINKS
