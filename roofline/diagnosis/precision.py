"""RF203: matrix products in fp32 on the cores although the device has a tf32 pipe."""

from collections.abc import Iterator

from roofline.device import TENSOR_TF32, VECTOR_FP32, Resource
from roofline.diagnosis.rule import Finding
from roofline.placement import ABOVE
from roofline.program import Item, Program
from roofline.units import show

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
    tf32, cores = program.roof.ceiling(TENSOR_TF32), program.roof.ceiling(VECTOR_FP32)
    busy_s, steps = program.whole.busy_s, program.conditions.steps
    if tf32 is None or cores is None or tf32.resource != TENSOR_TF32 or not busy_s:
        return
    items = [i for i in program.by("call") if _on_cores(i) and (i.roof_fraction or 0) <= ABOVE]
    now_s = sum(i.measured_s or 0.0 for i in items) / steps
    then_s = sum(_least_s(i, {VECTOR_FP32: tf32.rate}) for i in items) / steps
    spread = tf32.provenance.spread
    fastest = (spread.high if spread else None) or tf32.rate
    least_s = sum(_least_s(i, {VECTOR_FP32: fastest}) for i in items) / steps
    if now_s < WORTH * busy_s or not then_s or now_s < GAIN * then_s:
        return
    yield Finding(
        code="RF203",
        item="",
        claim=(
            f"{len(items)} fp32 matrix products take {show(now_s, 's')} a step on the fp32 cores; "
            "this device has a tf32 pipe"
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
        then_s=(least_s, now_s),
        wrong_if="with tf32 allowed the products take as long, or the model does not tolerate it",
    )


def _on_cores(item: Item) -> bool:
    binding = item.binding
    return (
        item.name in PRODUCTS
        and binding is not None
        and binding.demanded == VECTOR_FP32
        and item.measured_s is not None
    )


def _least_s(item: Item, other: dict[Resource, float]) -> float:
    """Roof time with other rates for some resources."""
    return max(b.amount / other.get(b.demanded, b.ceiling.rate) for b in item.placement.bounds)
