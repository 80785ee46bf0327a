"""Narrow types: what a faster pipe brings, and what unpacking costs.  RF206 and RF207."""

from collections.abc import Iterator

from roofline.call import DTYPE_BYTES, Call, Tensor
from roofline.device import (
    TENSOR_BF16,
    TENSOR_FP4,
    TENSOR_FP8,
    TENSOR_INT4,
    TENSOR_INT8,
    Ceiling,
)
from roofline.diagnosis.prediction import down_to
from roofline.diagnosis.rule import Finding
from roofline.diagnosis.worth import visible
from roofline.placement import Bound
from roofline.program import Item, Program
from roofline.units import number_of, show

NARROW = (TENSOR_FP8, TENSOR_INT8, TENSOR_FP4, TENSOR_INT4)
STORED = frozenset({
    "int8", "int4", "fp8_e4m3", "fp8_e5m2", "fp4", "fp4x2", "qint8", "quint8",
})  # fmt: skip
WIDE = frozenset({"fp32", "fp16", "bf16"})
UNPACKS = frozenset({
    "aten::_to_copy", "aten::to", "aten::copy_", "aten::mul", "aten::sub", "aten::dequantize",
    "aten::_empty_affine_quantized", "quantized_decomposed::dequantize_per_tensor",
    "quantized_decomposed::dequantize_per_channel",
})  # fmt: skip
WORTH = 0.05  # share of device time in unpacking, from which it is said


def ridge_moved(program: Program) -> Iterator[Finding]:
    """RF206: a narrow product that its memory binds, and that the pipe of bf16 would bind in bf16.

    Where all of its bytes shrank as much as its pipe grew it was bound as it is now, and gained
    all there was to gain: only what stayed wide moves a product past the ridge.
    """
    wide = program.roof.ceiling(TENSOR_BF16)
    if wide is None or wide.resource != TENSOR_BF16:
        return
    for item in program.by("call"):
        bound, pipe = item.binding, _narrow(item)
        if bound is None or pipe is None or not bound.demanded.is_boundary:
            continue
        as_wide = _as_wide(item, bound, program)
        before_s = pipe.amount / wide.rate
        if before_s > as_wide / bound.ceiling.rate and visible(program, item):
            yield _moved(item, bound, pipe, wide, as_wide)


def _narrow(item: Item) -> Bound | None:
    return next((b for b in item.placement.bounds if b.demanded in NARROW), None)


def _as_wide(item: Item, bound: Bound, program: Program) -> float:
    """Bytes that the same product moves in bf16; those of now where its call is not known."""
    call = program.calls.get(item.signatures[0])
    if call is None:
        return bound.amount
    elements = sum(t.numel * (2 if t.dtype == "fp4x2" else 1) for t in call.tensors)
    return DTYPE_BYTES["bf16"] * item.calls * (elements + sum(t.numel for t in call.outputs))


def _moved(item: Item, bound: Bound, pipe: Bound, wide: Ceiling, as_wide: float) -> Finding:
    at = bound.demanded
    intensity = pipe.amount / bound.amount
    before, after = wide.rate / bound.ceiling.rate, pipe.ceiling.rate / bound.ceiling.rate
    gain = pipe.amount / wide.rate / bound.least_s
    return Finding(
        code="RF206",
        item=item.name,
        claim=(
            f"{item.name} ({item.shapes}) became bound by {at.name} when it became narrow: its "
            f"{intensity:.0f} flop/B lie between the ridges of bf16 and {pipe.demanded.name}"
        ),
        evidence=(
            f"ridge of bf16 {before:.0f} flop/B, of {pipe.demanded.name} {after:.0f}",
            *(
                (f"in bf16 it has {pipe.amount / as_wide:.0f} flop/B, and its pipe binds it",)
                if as_wide != bound.amount
                else ()
            ),
            f"the pipe is {pipe.ceiling.rate / wide.rate:.1f} times as fast, the product at most "
            f"{gain:.1f} times with these bytes",
        ),
        next_step=(
            "fewer bytes, not more flop a second: what stayed wide (its result, one operand) in "
            "the narrow type as well, or neighbours fused into the product"
        ),
        saves_s=0.0,
        wrong_if="with a narrow result it takes as long",
    )


def unpacking(program: Program) -> Iterator[Finding]:
    """RF207: narrow weights are written out wide before they are used."""
    busy_s, steps = program.whole.busy_s, program.conditions.steps
    found = unpacked(program)
    spent_s = sum(item.measured_s or 0.0 for item in found) / steps
    if not busy_s or spent_s < WORTH * busy_s:
        return
    calls = sum(item.calls for item in found) / steps
    yield Finding(
        code="RF207",
        item="",
        items=tuple(dict.fromkeys(item.name for item in found)),
        claim=(
            f"dequantisation costs {spent_s / busy_s:.0%} of the operators' time: "
            f"{show(spent_s, 's')} a step to write narrow tensors out wide"
        ),
        evidence=(
            f"{number_of(calls, 'call')} a step",
            *(
                f"{item.name} ({item.shapes}): {show((item.measured_s or 0.0) / steps, 's')}"
                for item in sorted(found, key=lambda i: i.measured_s or 0.0, reverse=True)[:4]
            ),
            "what is written out wide is read again, at full width: the bytes that the narrow "
            "type saved",
        ),
        next_step=(
            "unpack on the chip: a product that takes packed weights (_weight_int8pack_mm, "
            "_weight_int4pack_mm, _scaled_mm), or torch.compile, which folds the conversion into "
            "its reader"
        ),
        saves_s=spent_s,
        now_s=spent_s,
        then_s=down_to(0.0, spent_s),
        wrong_if="a product of packed weights takes as long as both together",
    )


def unpacked(program: Program) -> list[Item]:
    """Lines that read a narrow tensor and write a larger, wide one."""
    return [
        item
        for item in program.by("call")
        if item.name in UNPACKS
        and item.measured_s
        and (call := program.calls.get(item.signatures[0])) is not None
        and _widens(call, item)
    ]


def _widens(call: Call, item: Item) -> bool:
    source = next((a for a in call.args if isinstance(a, Tensor) and a.dtype in STORED), None)
    ledger, at = item.ledger, item.placed_at
    if source is None or source.numel < 2 or ledger is None:
        return False
    if call.outputs and call.outputs[0].dtype not in WIDE:
        return False
    return ledger.traffic(at, "write") > ledger.traffic(at, "read")
