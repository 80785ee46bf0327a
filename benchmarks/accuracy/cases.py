"""Sixty memory-bound kernels, by hand, for the model to be developed on.

Nothing of them stands in the table: that is made of others (`drawn`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from roofline.ops.pace import compiled as passing
from roofline.ops.pace.way import PLAIN, Pace

BF16, FP16, FP32, FP64 = torch.bfloat16, torch.float16, torch.float32, torch.float64

Make = Callable[[str], Any]  # device -> one operand
Run = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One call to predict and to time."""

    name: str
    kind: str
    makes: tuple[Make, ...]  # of the operands
    run: Run
    # None: accounted operator by operator.  Else one kernel that reads its operands and writes its
    # results once: fused by torch.compile, or of Triton.
    fused: Run | None = None
    own: Pace = PLAIN  # how such a kernel passes over its data, as its author knows

    def operands(self, device: str) -> tuple[Any, ...]:
        """One set of operands."""
        return tuple(make(device) for make in self.makes)


def of(dtype: torch.dtype, *shape: int) -> Make:
    """Random numbers, integers or truth values."""

    def make(device: str) -> Tensor:
        if dtype.is_floating_point:
            return torch.randn(shape, device=device, dtype=dtype)
        high = 2 if dtype == torch.bool else 100
        return torch.randint(0, high, shape, device=device).to(dtype)

    return make


def picks(below: int, *shape: int) -> Make:
    """Random indices."""
    return lambda device: torch.randint(0, below, shape, device=device)


def many(dtype: torch.dtype, *sizes: int) -> Make:
    """A list of vectors, as an optimizer holds them."""
    return lambda device: [torch.randn(n, device=device, dtype=dtype) for n in sizes]


def steps(n: int) -> Make:
    """The step counts of an optimizer's state."""
    return lambda device: [torch.ones((), device=device) for _ in range(n)]


def _layers(n: int) -> tuple[int, ...]:
    """Sizes of parameters that are nothing round."""
    return tuple(1_300_007 + 110_503 * i for i in range(n))


def adamw(*state: list[Tensor]) -> None:
    """The fused step of torch.optim.AdamW."""
    parameters, gradients, means, squares, counts = state
    torch._fused_adamw_(
        parameters, gradients, means, squares, [], counts, lr=1e-3, beta1=0.9, beta2=0.999,
        weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False,
    )  # fmt: skip


def batch_norm(training: bool, x: Tensor, *affine: Tensor) -> Tensor:
    """Running mean and variance, gamma and beta follow x."""
    mean, var, gamma, beta = affine
    return F.batch_norm(x, mean, var, gamma, beta, training)


def residual_norm(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
    """The sum and its norm, as in a transformer's block."""
    s = x + r
    return s, F.layer_norm(s, (s.shape[-1],), gamma, beta)


def swiglu(a: Tensor, b: Tensor) -> Tensor:
    """Two halves of a gated layer."""
    return F.silu(a) * b


def bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    """As in the first half of a transformer's feed-forward layer."""
    return F.gelu(x + bias) * 0.7


def masked_softmax(x: Tensor, mask: Tensor) -> Tensor:
    """Scores, scaled and masked."""
    return torch.softmax(x * 0.125 + mask, -1)


def eager() -> Sequence[Case]:
    """Operators of PyTorch as they come."""
    c = Case
    half, fp32, fp16 = (partial(of, dtype) for dtype in (BF16, FP32, FP16))
    return [
        c("add fp32 48234497", "pointwise", (fp32(48_234_497), fp32(48_234_497)), torch.add),
        c("add bf16 100000007", "pointwise", (half(100_000_007), half(100_000_007)), torch.add),
        c("scale fp16 77777777", "pointwise", (fp16(77_777_777),), lambda x: x * 1.7),
        c("relu bf16 12345678", "pointwise", (half(12_345_678),), torch.relu),
        c("gelu fp16 8191x8200", "pointwise", (fp16(8191, 8200),), F.gelu),
        c("silu fp32 3001x20011", "pointwise", (fp32(3001, 20_011),), F.silu),
        c("exp fp64 10000019", "pointwise", (of(FP64, 10_000_019),), torch.exp),
        c("where bf16 33333333", "pointwise",
          (of(torch.bool, 33_333_333), half(33_333_333), half(33_333_333)), torch.where),
        c("addcmul fp32 4099x5003", "pointwise", (fp32(4099, 5003),) * 3,
          lambda x, a, b: torch.addcmul(x, a, b, value=0.5)),
        c("add a row bf16 30011x1537", "pointwise", (half(30_011, 1537), half(1537)), torch.add),
        c("clamp int32 40000003", "pointwise", (of(torch.int32, 40_000_003),),
          lambda x: torch.clamp(x, 3, 70)),
        c("less fp32 50000017", "pointwise", (fp32(50_000_017), fp32(50_000_017)), torch.lt),
        c("sigmoid bf16 3000001", "pointwise", (half(3_000_001),), torch.sigmoid),
        c("add fp32 1500007", "pointwise", (fp32(1_500_007), fp32(1_500_007)), torch.add),
        c("copy fp32 64000031", "copy", (fp32(64_000_031),), torch.clone),
        c("cast fp32 to bf16 90000001", "copy", (fp32(90_000_001),), lambda x: x.to(BF16)),
        c("cast bf16 to fp32 5003x12289", "copy", (half(5003, 12_289),), lambda x: x.to(FP32)),
        c("cast int64 to int32 25000003", "copy", (of(torch.int64, 25_000_003),),
          lambda x: x.to(torch.int32)),
        c("copy uint8 200000003", "copy", (of(torch.uint8, 200_000_003),), torch.clone),
        c("zeros fp32 100000019", "copy", (fp32(1),),
          lambda x: torch.zeros(100_000_019, device=x.device)),
        c("transpose fp32 8191x10007", "layout", (fp32(8191, 10_007),),
          lambda x: x.t().contiguous()),
        c("transpose bf16 12289x6151", "layout", (half(12_289, 6151),),
          lambda x: x.t().contiguous()),
        c("channels last bf16 64x96x113x113", "layout", (half(64, 96, 113, 113),),
          lambda x: x.contiguous(memory_format=torch.channels_last)),
        c("every second column fp32 4001x16384", "layout", (fp32(4001, 16_384),),
          lambda x: x[:, ::2].contiguous()),
        c("first columns bf16 40009x1536", "layout", (half(40_009, 1536),),
          lambda x: x[:, :1000].contiguous()),
        c("cat rows bf16 3 of 9001x3073", "layout", (half(9001, 3073),) * 3,
          lambda *x: torch.cat(x, 0)),
        c("cat columns fp32 20011x1025+2049", "layout", (fp32(20_011, 1025), fp32(20_011, 2049)),
          lambda *x: torch.cat(x, 1)),
        c("sum fp32 150000001", "reduction", (fp32(150_000_001),), torch.sum),
        c("sum rows fp16 20011x4099", "reduction", (fp16(20_011, 4099),), lambda x: x.sum(1)),
        c("sum columns fp32 40009x2051", "reduction", (fp32(40_009, 2051),), lambda x: x.sum(0)),
        c("mean of short rows bf16 2000003x33", "reduction", (half(2_000_003, 33),),
          lambda x: x.mean(1)),
        c("max of rows fp32 1009x80021", "reduction", (fp32(1009, 80_021),), lambda x: x.amax(1)),
        c("variance of rows fp32 10007x4111", "reduction", (fp32(10_007, 4111),),
          lambda x: x.var(1)),
        c("softmax fp32 16411x2047", "norm", (fp32(16_411, 2047),), lambda x: x.softmax(-1)),
        c("softmax bf16 4099x32001", "norm", (half(4099, 32_001),), lambda x: x.softmax(-1)),
        c("log softmax fp16 60013x515", "norm", (fp16(60_013, 515),), lambda x: x.log_softmax(-1)),
        c("layer norm bf16 24001x4096", "norm", (half(24_001, 4096), half(4096), half(4096)),
          lambda x, g, b: F.layer_norm(x, (4096,), g, b)),
        c("layer norm fp32 50021x1027", "norm", (fp32(50_021, 1027), fp32(1027), fp32(1027)),
          lambda x, g, b: F.layer_norm(x, (1027,), g, b)),
        c("rms norm bf16 16001x8192", "norm", (half(16_001, 8192), half(8192)),
          lambda x, g: F.rms_norm(x, (8192,), g)),
        c("batch norm fp16 100x64x112x113, evaluation", "norm",
          (fp16(100, 64, 112, 113), *[fp32(64), lambda d: torch.ones(64, device=d)] * 2),
          partial(batch_norm, False)),
        c("batch norm bf16 63x129x95x97, training", "norm",
          (half(63, 129, 95, 97), *[fp32(129), lambda d: torch.ones(129, device=d)] * 2),
          partial(batch_norm, True)),
        c("cross entropy fp32 8009x32003", "loss", (fp32(8009, 32_003), picks(32_003, 8009)),
          F.cross_entropy),
        c("mean squared error fp32 70000009", "loss", (fp32(70_000_009), fp32(70_000_009)),
          F.mse_loss),
        c("dropout bf16 60000007", "dropout", (half(60_000_007),),
          lambda x: torch.native_dropout(x, 0.1, True)),
        c("embedding bf16 30011 of 200003x2048", "gather",
          (picks(200_003, 30_011), half(200_003, 2048)), F.embedding),
        c("embedding fp32 500009 of 1000003x128", "gather",
          (picks(1_000_003, 500_009), fp32(1_000_003, 128)), F.embedding),
        c("rows fp16 60001 of 100003x1030", "gather", (fp16(100_003, 1030), picks(100_003, 60_001)),
          lambda x, i: x.index_select(0, i)),
        c("foreach add fp32 41 tensors", "optimizer", (many(FP32, *_layers(41)),) * 2,
          lambda x, y: torch._foreach_add_(x, y, alpha=-0.01)),
        c("fused AdamW fp32 29 tensors", "optimizer",
          (many(FP32, *_layers(29)),) * 2 + (lambda d: [torch.rand(n, device=d)
                                                        for n in _layers(29)],) * 2 + (steps(29),),
          adamw),
        c("linear bf16 1 row 8192 to 28672", "decoder", (half(1, 8192), half(28_672, 8192)),
          F.linear),
        c("linear bf16 4 rows 5120 to 13824", "decoder", (half(4, 5120), half(13_824, 5120)),
          F.linear),
        c("linear fp16 8 rows 6144 to 6144", "decoder", (fp16(8, 6144), fp16(6144, 6144)),
          F.linear),
        c("matrix times vector fp32 20011x9001", "decoder", (fp32(20_011, 9001), fp32(9001)),
          torch.mv),
        c("attention decode bf16 64x32 heads, 2049 keys of 128", "decoder",
          (half(64, 32, 1, 128), half(64, 32, 2049, 128), half(64, 32, 2049, 128)),
          F.scaled_dot_product_attention),
    ]  # fmt: skip


def fused(device: str) -> Sequence[Case]:
    """Fused by torch.compile, and kernels of Triton; on a CPU only what they need is known."""
    half, fp32, fp16 = (partial(of, dtype) for dtype in (BF16, FP32, FP16))
    return [
        compiled(device, "bias, gelu bf16 20003x4097", (half(20_003, 4097), half(4097)),
                 bias_gelu, passing.gelu(20_003, 4097)),
        compiled(device, "residual, layer norm bf16 18001x5120",
                 (half(18_001, 5120),) * 2 + (half(5120),) * 2, residual_norm,
                 passing.normalised(18_001, 5120)),
        compiled(device, "swiglu fp16 7001x14336", (fp16(7001, 14_336),) * 2, swiglu, PLAIN),
        compiled(device, "masked softmax bf16 30011x1500", (half(30_011, 1500), half(1500)),
                 masked_softmax, passing.softmax(30_011, 1500)),
        of_triton(device, "rms norm bf16 26003x3000", (half(26_003, 3000), half(3000)), "rms_norm",
                  passing.rows(26_003, 3000)),
        of_triton(device, "dequantise int8 to bf16 9001x11009",
                  (of(torch.int8, 9001, 11_009), fp32(9001)), "dequantise",
                  passing.streamed(9001, 11_009)),
    ]  # fmt: skip


def compiled(device: str, name: str, makes: tuple[Make, ...], run: Run, own: Pace) -> Case:
    """Fused into one kernel by torch.compile."""
    made = run if device == "cpu" else torch.compile(run, dynamic=False)
    return Case(f"compiled {name}", "compiled", makes, made, run, own)


def of_triton(device: str, name: str, makes: tuple[Make, ...], kernel: str, own: Pace) -> Case:
    """One of `kernels`."""
    same: Run = {"rms_norm": _rms_norm, "dequantise": _dequantised}[kernel]
    made = same
    if device != "cpu":
        import kernels

        made = getattr(kernels, kernel)
    return Case(f"Triton {name}", "Triton", makes, made, same, own)


def _rms_norm(x: Tensor, gamma: Tensor) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), gamma)


def _dequantised(x: Tensor, scale: Tensor) -> Tensor:
    return (x * scale[:, None]).to(BF16)
