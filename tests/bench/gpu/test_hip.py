"""Nothing in the Triton kernels is NVIDIA's alone: each compiles for AMD's CDNA 3 without a card.

Compiled is not measured: no AMD card was at hand.
"""

import pytest

triton = pytest.importorskip(
    "triton", reason="triton is not installed: it is what is compiled with"
)
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

from roofline.bench.gpu import memory, vector  # noqa: E402
from roofline.bench.gpu.kernels import loops, rows, streams  # noqa: E402

MI300 = GPUTarget("hip", "gfx942", 64)
TYPES = {
    "float32": "fp32",
    "float64": "fp64",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int32": "i32",
}


def compiled(kernel, signature, constants, **options):
    """Machine code of one kernel; `constants` are its compile-time arguments."""
    names = kernel.arg_names
    source = ASTSource(
        fn=kernel,
        signature={**signature, **dict.fromkeys(constants, "constexpr")},
        constexprs={(names.index(name),): value for name, value in constants.items()},
        attrs={
            (names.index(name),): [["tt.divisibility", 16]]
            for name, kind in signature.items()
            if kind.startswith("*")
        },
    )
    return triton.compile(source, target=MI300, options=options).asm["amdgcn"]


@pytest.mark.parametrize("access", memory.COUNTED)
def test_streams(access):
    arrays = {"x": "*fp32", "y": "*fp32", "z": "*fp32"}
    block, unroll, warps = memory.WAYS[0]
    shape = {"BLOCK": block, "UNROLL": unroll, "ACCESS": access}
    code = compiled(streams.once, arrays, shape, num_warps=warps)
    assert ("global_load" in code or "buffer_load" in code) == (access != "write")
    block, unroll, warps, _ = memory.L2_WAYS[0]
    shape = {"BLOCK": block, "UNROLL": unroll, "ACCESS": access}
    around = {**arrays, "blocks": "i32", "steps": "i32"}
    assert "s_endpgm" in compiled(streams.around, around, shape, num_warps=warps)


@pytest.mark.parametrize("loop", vector.LOOPS, ids=lambda o: f"{o.resource.name} {o.way or ''}")
def test_register_loops(loop):
    number = "i32" if loop.dtype == "int32" else "fp32"
    signature = {"x": f"*{TYPES[loop.dtype]}", "a": number, "b": number, "rounds": "i32"}
    block, warps, _ = vector.WAYS[0]
    shape = {"BLOCK": block, "UNROLL": 4, "STEP": loop.step}
    code = compiled(loops.registers, signature, shape, num_warps=warps, enable_fp_fusion=loop.fused)
    if loop.resource.name in ("vector-fp32", "vector-fp64"):  # fused only where that is asked for
        assert ("fma" in code) == loop.fused


BF16 = "*bf16"
ROWS = [
    (rows.scaled, {"x": BF16, "gamma": BF16, "y": BF16, "n": "i32"}, {"BLOCK": 1024}),
    (rows.widened, {"x": "*i8", "factor": "*fp32", "y": BF16, "n": "i32"}, {"BLOCK": 4096}),
    (rows.biased_gelu, {"x": BF16, "bias": BF16, "y": BF16, "total": "i32"}, {"N": 4095, "BLOCK": 1024}),
    (rows.normed, {"x": BF16, "r": BF16, "gamma": BF16, "beta": BF16, "s": BF16, "y": BF16}, {"N": 6143, "CHUNK": 2048}),
    (rows.softmax, {"x": BF16, "mask": BF16, "y": BF16}, {"N": 6143, "CHUNK": 2048}),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "signature", "shape"), ROWS)
def test_rows(kernel, signature, shape):
    code = compiled(kernel, signature, shape, num_warps=8)
    assert "global_store" in code or "buffer_store" in code  # the second where it is masked


def test_dial_and_nothing():
    signature = {"x": "*fp32", "z": "*fp32", "a": "fp32", "b": "fp32", "steps": "i32"}
    code = compiled(loops.dial, signature, {"BLOCK": 1024, "F": 8, "ROUNDS": 1}, num_warps=4)
    assert "fma" in code
    assert "s_endpgm" in compiled(loops.nothing, {}, {}, num_warps=1)
