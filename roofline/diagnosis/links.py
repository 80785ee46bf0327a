"""RF5xx: communication between devices, in the way and over its link."""

from collections.abc import Iterator

from roofline.device import NETWORK, NVLINK
from roofline.diagnosis.memory import visible
from roofline.diagnosis.prediction import down_to, to_roof_s
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.program.chains import NEAR
from roofline.units import show
from roofline.work import Exactness

EXPOSED = 0.05  # share of a step, from which waiting for communication is said
LINKS = (NVLINK, NETWORK)
UNKNOWN_RANKS = "how many ranks take part was not recorded; bytes are those of many, the most"


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
        bound, fraction = item.binding, item.roof_fraction
        if bound is None or fraction is None or not _link(item) or not visible(program, item):
            continue
        now_s = (item.measured_s or 0.0) / item.steps
        open_ended = fraction >= NEAR and not _exact(item)
        full = fraction >= NEAR and not open_ended
        yield Finding(
            code="RF502",
            item=item.name,
            claim=(
                f"{item.name} ({item.shapes}) "
                + (
                    f"fills its link: {fraction:.0%} of the {bound.demanded.name} roof"
                    if full
                    else f"reaches {'' if _exact(item) else 'at most '}{fraction:.0%} of the "
                    f"{bound.demanded.name} roof"
                )
            ),
            evidence=(
                f"{show(bound.amount / item.calls, 'B')} a call in "
                f"{show((item.measured_s or 0.0) / item.calls, 's')}: "
                f"{show(bound.amount / (item.measured_s or 1.0), 'B/s')} of "
                f"{show(bound.ceiling.rate, 'B/s')} ({bound.ceiling.provenance.basis})",
                *(() if _exact(item) else (UNKNOWN_RANKS,)),
                *(item.placement.ledger.conventions if item.placement.ledger else ()),
            ),
            next_step=(
                "only fewer bytes help: a half type, gradients accumulated over more samples, "
                "another way to split the model"
                if full
                else "fewer and larger messages (larger buckets, coalesced collectives), and all "
                "ranks there at the same time: waiting for the slowest is part of this time"
            ),
            saves_s=None
            if open_ended
            else 0.0
            if full
            else max(item.lost_s or 0.0, 0.0) / item.steps,
            now_s=now_s,
            then_s=to_roof_s([item], now_s),
            wrong_if=(
                "with the same bytes it runs clearly faster"
                if full
                else "a bandwidth test of the link with messages of this size is no faster"
            ),
        )


def _exact(item: Item) -> bool:
    """Whether its bytes are known, and not only the most they can be."""
    entries = item.ledger.entries if item.ledger else ()
    return all(entry.exactness is Exactness.EXACT for entry in entries)


def _link(item: Item) -> bool:
    return item.binding is not None and item.binding.demanded in LINKS
