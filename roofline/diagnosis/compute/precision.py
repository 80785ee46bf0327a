"""Matrix products on a slower pipe than the device has for them.  RF203 and RF205.

fp32 on the cores beside an idle tf32 pipe, and fp16 with sums kept in fp32 on a device whose tensor
cores are faster when they keep them in fp16.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from roofline.device import (
    TENSOR_FP16,
    TENSOR_FP16_ACC16,
    TENSOR_TF32,
    VECTOR_FP32,
    Ceiling,
    Resource,
)
from roofline.diagnosis.rule import Finding
from roofline.placement import ABOVE
from roofline.program import Item, Program
from roofline.units import number_of, show

WORTH = 0.05  # share of a step that such products must take
GAIN = 1.5  # assumed: a predicted gain below this is not worth the precision
PRODUCTS = frozenset(
    f"aten::{name}"
    for name in (
        "mm", "addmm", "bmm", "baddbmm", "addbmm", "linear", "matmul", "convolution",
        "convolution_backward", "cudnn_convolution",
    )
)  # fmt: skip


def tf32_unused(program: Program) -> Iterator[Finding]:
    """RF203: what the fp32 matrix products would take on the tf32 pipe of the same device."""
    moved = _moved(program, VECTOR_FP32, TENSOR_TF32)
    if moved is None or moved.now_s < GAIN * moved.then_s:
        return
    cores, tf32, items = moved.slow, moved.fast, moved.items
    now_s, then_s, steps = moved.now_s, moved.then_s, program.conditions.steps
    yield Finding(
        code="RF203",
        item="",
        claim=(
            f"{number_of(len(items), 'fp32 matrix product')} "
            f"{'takes' if len(items) == 1 else 'take'} {show(now_s, 's')} a step on the fp32 "
            "cores; this device has a tf32 pipe"
        ),
        evidence=(
            f"fp32 cores {show(cores.rate, 'flop/s')}, tf32 {show(tf32.rate, 'flop/s')} "
            f"({tf32.provenance.basis}, {tf32.variant or 'plain'})",
            f"on tf32 they need {show(then_s, 's')} a step: at most {now_s / then_s:.1f} times "
            "as fast",
            *(
                f"{i.name} ({i.shapes}): {show((i.measured_s or 0) / steps, 's')}"
                for i in items[:3]
            ),
        ),
        next_step=(
            "torch.set_float32_matmul_precision('high'), or bf16 by autocast: tf32 keeps fp32's "
            "range and 10 bits of its mantissa"
        ),
        items=tuple(dict.fromkeys(i.name for i in items)),
        saves_s=now_s - then_s,
        now_s=now_s,
        then_s=(moved.least_s, now_s),
        wrong_if="with tf32 allowed the products take as long, or the model does not tolerate it",
    )


def accumulate_in_16(program: Program) -> Iterator[Finding]:
    """RF205: what the fp16 matrix products would take with their sums kept in fp16."""
    moved = _moved(program, TENSOR_FP16, TENSOR_FP16_ACC16)
    if moved is None or moved.bound_s < GAIN * moved.then_s:
        return
    wide, narrow, items = moved.slow, moved.fast, moved.items
    now_s, then_s, least_s = moved.now_s, moved.then_s, moved.least_s
    today = f", today {show(now_s, 's')}"
    yield Finding(
        code="RF205",
        item="",
        claim=(
            f"{number_of(len(items), 'fp16 matrix product')} with sums in fp32: on this device "
            f"fp16 sums are {narrow.rate / wide.rate:.1f} times as fast"
        ),
        evidence=(
            f"fp32 sums {show(wide.rate, 'flop/s')}, fp16 sums {show(narrow.rate, 'flop/s')} "
            f"({narrow.provenance.basis})",
            f"with fp16 sums they need {show(then_s, 's')} a step{today}",
        ),
        timed=(today,),
        next_step=(
            "where sums stay small (normalised inputs, short inner sizes): "
            "torch.backends.cuda.matmul.allow_fp16_accumulation = True; fp16 has 10 bits of "
            "mantissa and ends at 65504"
        ),
        items=tuple(dict.fromkeys(i.name for i in items)),
        saves_s=max(now_s - then_s, 0.0),
        now_s=now_s,
        then_s=(least_s, max(now_s, least_s)),
        wrong_if="with fp16 sums the products take as long, or results overflow",
    )


@dataclass(frozen=True, slots=True)
class _Moved:
    """Products of a step that would run on another pipe, and what they take; seconds a step."""

    slow: Ceiling
    fast: Ceiling
    items: list[Item]
    now_s: float  # measured
    bound_s: float  # at the roof of the pipe that they are on
    then_s: float  # at the roof of the other
    least_s: float  # the same at the upper end of its interval


def _moved(program: Program, slow: Resource, fast: Resource) -> _Moved | None:
    """The products on `slow` at the ceiling of `fast`; None without one, or where few are."""
    old, new = program.roof.ceiling(slow), program.roof.ceiling(fast)
    busy_s, steps = program.whole.busy_s, program.conditions.steps
    if old is None or new is None or new.resource != fast or not busy_s:
        return None
    items = _products_on(program, slow)
    moved = _Moved(
        slow=old,
        fast=new,
        items=items,
        now_s=sum(i.measured_s or 0.0 for i in items) / steps,
        bound_s=sum(i.roof_s or 0.0 for i in items) / steps,
        then_s=sum(_least_s(i, {slow: new.rate}) for i in items) / steps,
        least_s=sum(_least_s(i, {slow: _fastest(new)}) for i in items) / steps,
    )
    return moved if moved.then_s and moved.now_s >= WORTH * busy_s else None


def _products_on(program: Program, pipe: Resource) -> list[Item]:
    """Timed matrix products that `pipe` binds, and that are not above its roof."""
    return [
        item
        for item in program.by("call")
        if item.name in PRODUCTS
        and item.binding is not None
        and item.binding.demanded == pipe
        and item.measured_s is not None
        and (item.roof_fraction or 0.0) <= ABOVE
    ]


def _fastest(ceiling: Ceiling) -> float:
    """The upper end of a ceiling's interval."""
    spread = ceiling.provenance.spread
    return (spread.high if spread else None) or ceiling.rate


def _least_s(item: Item, other: dict[Resource, float]) -> float:
    """Roof time with other rates for some resources."""
    return max(b.amount / other.get(b.demanded, b.ceiling.rate) for b in item.placement.bounds)
