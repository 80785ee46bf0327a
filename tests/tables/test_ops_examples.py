"""Formulas against the worked examples: every row shows its arithmetic."""

import re
from datetime import date

import pytest

from roofline import ops
from roofline.device import (
    DRAM,
    SFU,
    TENSOR_FP8_ACC16,
    TENSOR_FP16,
    TENSOR_FP16_ACC16,
    TENSOR_TF32,
    VECTOR_FP32,
    Ceiling,
    Roof,
)
from roofline.errors import BadInput, NotFound
from roofline.placement import place
from roofline.provenance import Basis, Provenance

MATH = "ieee|tf32|bf16|fp16|acc16"
STATED = Provenance(basis=Basis.STATED, source="a round number", as_of=date(2026, 1, 1))
N = 4096

# Per element, or per matrix: flop, bytes, and flop a byte to the digits of the source.
ROWS = [
    # ledger                                    flop             bytes                       intensity
    (ops.add(n=N),                              1 * N,           12 * N,                     0.0833),
    (ops.saxpy(n=N),                            2 * N,           12 * N,                     0.1667),
    (ops.formula("triad", n="4096"),            2 * N,           24 * N,                     0.0833),
    (ops.relu(n=N, dtype="fp16"),               1 * N,           4 * N,                      0.25),
    (ops.softmax(rows=8, cols=512),             5 * N,           8 * N,                      0.625),
    (ops.layer_norm(rows=8, cols=512, affine=False), 6 * N,      8 * N,                      0.75),
    # gamma and beta of 512 elements are read once more
    (ops.layer_norm(rows=8, cols=512),          8 * N,           8 * N + 2 * 512 * 4,        8 / 9),
    # the worked example counts the matrix only: 8 flop and 8 B an element, 1.0 for many rows
    (ops.layer_norm(rows=2**20, cols=512),      8 * 2**29,       8 * 2**29 + 2 * 512 * 4,    1.0),
    # square, sum, scale, gamma; gamma of 512 elements
    (ops.rms_norm(rows=8, cols=512),            4 * N,           8 * N + 512 * 4,            16 / 34),
    (ops.gemv(m=4096, k=4096),                  2 * N * N,       2 * N * N + 2 * N + 2 * N,  0.9995),
    (ops.gemm(m=N, n=N, k=N, dtype="fp32"),     2 * N**3,        12 * N * N,                 682.67),
    (ops.gemm(m=N, n=N, k=N, dtype="fp16"),     2 * N**3,        6 * N * N,                  N / 3),
    # beta = 1: C is read as well, 2 B an element, and added, 1 flop an element
    (ops.gemm(m=N, n=N, k=N, dtype="fp16", beta=1.0), 2 * N**3 + N * N, 8 * N * N,           1024.125),
    (ops.gelu(n=N, dtype="fp16"),               10 * N,          4 * N,                      2.5),
    (ops.gelu(n=N, dtype="fp16", form="erf"),   5 * N,           4 * N,                      1.25),
    (ops.silu(n=N),                             5 * N,           8 * N,                      0.625),
    (ops.mul(n=N),                              1 * N,           12 * N,                     0.0833),
    (ops.elementwise(n=N, inputs=3, flop=4, sfu=1), 5 * N,       16 * N,                     0.3125),
    (ops.formula("sum", n="4096"),              N,               4 * N + 4,                  0.2499),
    (ops.mean(n=N),                             N + 1,           4 * N + 4,                  0.25),
    (ops.copy(n=N, dtype="fp32", out_dtype="bf16"), 0,           6 * N,                      0.0),
    # 16 rows of 32 fp32, int64 indices
    (ops.embedding(indices=16, dim=32, rows=100), 0,             16 * 8 + 16 * 128 * 2,      0.0),
    # two products of their own: 2 * 2*3*5*4 flop; 2 * (3*4 + 4*5 + 3*5) elements of 2 B
    (ops.bmm(b=2, m=3, n=5, k=4),               2 * 2 * 60,      2 * 47 * 2,                 240 / 188),
    # 4 rows, 8 features in, 16 out: 2*4*8*16 and a bias of 4*16; 32 + 128 + 64 + 16 elements of 2 B
    (ops.linear(n=4, k=8, m=16),                1024 + 64,       240 * 2,                    1088 / 480),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_worked_example(row):
    """Counts are exact; the intensity holds to the digits printed."""
    ledger, flop, nbytes, intensity = ROWS[row]

    assert ledger.flop == flop
    assert ledger.demand()[DRAM] == nbytes
    assert flop / nbytes == pytest.approx(intensity, rel=5e-4)


def test_every_formula_has_a_row():
    """A formula nobody worked out by hand does not ship (attention, conv2d and packed_gemm have rows elsewhere)."""
    counted = {*ops.FORMULAS} - {"attention", "conv2d", "packed_gemm"}

    named = {"add", "saxpy", "triad", "relu", "softmax", "layer_norm", "rms_norm", "gemv", "gemm", "gelu",
             "silu", "mul", "elementwise", "sum", "mean", "copy", "embedding", "bmm", "linear"}  # fmt: skip
    assert counted == named


def test_softmax_has_one_special_function_an_element():
    """max, subtract, sum, scale on the vector pipe; exp on sfu."""
    assert ops.softmax(rows=2, cols=8).demand() == {VECTOR_FP32: 4 * 16, SFU: 16, DRAM: 8 * 16}


# 120 Tflop/s and 2 TB/s; 2 flop * M * 4096^2, and 2 B * (4096^2 + 2 * 4096 M)
GEMM_TABLE = [
    # M    intensity  compute us  traffic us  roof us  binding
    (1,    0.9995,    0.280,      16.785,     16.785,  DRAM),
    (32,   31.5077,   8.948,      17.039,     17.039,  DRAM),
    (128,  120.4706,  35.791,     17.826,     35.791,  TENSOR_FP16),
]  # fmt: skip


@pytest.mark.parametrize(("m", "intensity", "compute", "traffic", "roof_us", "binding"), GEMM_TABLE)
def test_gemm_table_through_placement(m, intensity, compute, traffic, roof_us, binding):
    """K = N = 4096 in fp16: I = 2048 M / (2048 + M)."""
    roof = Roof(
        name="stated",
        kind="gpu",
        ceilings=(
            Ceiling(resource=TENSOR_FP16, rate=120e12, provenance=STATED),
            Ceiling(resource=DRAM, rate=2e12, provenance=STATED),
        ),
    )

    placed = place(ops.gemm(m=m, n=4096, k=4096, dtype="fp16"), roof)

    least = {bound.demanded: bound.least_s * 1e6 for bound in placed.bounds}
    assert placed.intensity[DRAM] == pytest.approx(2048 * m / (2048 + m), rel=1e-9)
    assert placed.intensity[DRAM] == pytest.approx(intensity, abs=5e-5)
    assert least[TENSOR_FP16] == pytest.approx(compute, abs=5e-4)
    assert least[DRAM] == pytest.approx(traffic, abs=5e-4)
    assert placed.roof_s is not None
    assert placed.roof_s * 1e6 == pytest.approx(roof_us, abs=5e-4)
    assert placed.bounds[0].demanded == binding


ATTENTION = [
    # sizes                                                       flop                      bytes
    # one head of 12, S 64, D 64, fp32: 4*12*64*64*64; Q, K, V, O of 12*64*64*4 B
    (dict(batch=1, heads=12, seq_q=64, head_dim=64, dtype="fp32"), 12_582_912,              4 * 196_608),
    # grouped: 8 heads on 2, S 128, D 64: Q and O 131,072 B each, K and V 32,768 B each
    (dict(batch=1, heads=8, kv_heads=2, seq_q=128, head_dim=64),  33_554_432,               327_680),
    # its backward: twice; reads Q K V O dO, writes dQ dK dV: 4 * 131,072 + 4 * 32,768
    (dict(batch=1, heads=8, kv_heads=2, seq_q=128, head_dim=64, backward=True), 67_108_864, 655_360),
    # causal, exact: 4*8*128 * 4096*4097/2; dense would be 68,719,476,736
    (dict(batch=1, heads=8, seq_q=4096, head_dim=128, causal=True), 34_368_126_976,         4 * 8_388_608),
    (dict(batch=1, heads=8, seq_q=4096, head_dim=128),            68_719_476_736,           4 * 8_388_608),
    # decode: one query sees all 1024 keys, causal or not: 4*32*1024*128 flop
    (dict(batch=1, heads=32, kv_heads=8, seq_q=1, seq_kv=1024, head_dim=128, causal=True),
     16_777_216, 2 * 32 * 128 * 2 + 2 * 8 * 1024 * 128 * 2),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "flop", "nbytes"), ATTENTION)
def test_attention(sizes, flop, nbytes):
    """The two matrix products, with Q, K, V read once and O written once."""
    ledger = ops.attention(**sizes)

    assert (ledger.flop, ledger.demand()[DRAM]) == (flop, nbytes)
    assert any("causal" in words for words in ledger.conventions) == sizes.get("causal", False)


def test_formula_takes_text():
    """What the command line has in hand; underscores are fine."""
    assert ops.formula("gemm", m="1", n="4_096", k="4096", dtype="fp16") == ops.gemm(
        m=1, n=4096, k=4096, dtype="fp16"
    )
    assert (
        ops.formula("gemm", m="2", n="2", k="2", dtype="fp32", bias="yes", math="tf32").flop == 20
    )


@pytest.mark.parametrize(
    ("dtype", "math", "pipe"),
    [
        ("fp16", "ieee", TENSOR_FP16),
        ("fp16", "acc16", TENSOR_FP16_ACC16),
        ("fp8_e4m3", "acc16", TENSOR_FP8_ACC16),
        ("fp32", "acc16", VECTOR_FP32),  # only types with such a pipe are concerned
        ("fp32", "tf32", TENSOR_TF32),
        ("fp16", "tf32", TENSOR_FP16),
    ],
)
def test_the_accumulator_is_part_of_the_pipe(dtype, math, pipe):
    """2048^3 multiply-adds are 2 * 2048^3 = 17,179,869,184 flop, on the pipe that `math` names."""
    ledger = ops.formula("gemm", m="2048", n="2048", k="2048", dtype=dtype, math=math)

    pipes = {r: n for r, n in ledger.demand().items() if r.is_pipe}
    assert pipes == {pipe: 17_179_869_184}


@pytest.mark.parametrize("spelled", ["fp16", "float16", "half", "torch.float16"])
def test_a_dtype_is_spelled_as_here_or_as_in_torch(spelled):
    """2 * 2 * 3 * 4 flop, 2 B an element."""
    ledger = ops.formula("gemm", m="2", n="3", k="4", dtype=spelled)

    assert ledger.demand()[TENSOR_FP16] == 48
    assert ledger.traffic(DRAM, "write") == 2 * 3 * 2


@pytest.mark.parametrize(
    ("name", "given", "error", "sentence"),
    [
        ("gem", {}, NotFound, "no operator formula 'gem'; there is gemm, gemv"),
        ("gemm", {"m": "1", "q": "2"}, BadInput, "gemm has no parameter 'q'; it has m: int, n: int, k: int, dtype: dtype = 'bf16'"),
        ("gemm", {"m": "1"}, BadInput, "gemm needs n, k; its parameters are m: int, n: int"),
        ("gemm", {"m": "x", "n": "1", "k": "1"}, BadInput, "gemm: m='x' is not a whole number"),
        ("gemm", {"m": "1", "n": "1", "k": "1", "dtype": "fp7"}, BadInput, "gemm: dtype='fp7' is not one of fp4, "),
        ("gemm", {"m": "1", "n": "1", "k": "1", "dtype": "e4m3"}, BadInput, "gemm: dtype='e4m3' is not one of fp8_e4m3, fp64, "),
        ("gemm", {"m": "1", "n": "1", "k": "1", "math": "no"}, BadInput, "gemm: math='no' is not one of ieee, tf32, bf16, fp16, acc16"),
        ("gemm", {"m": "1", "n": "1", "k": "1", "bias": "x"}, BadInput, "gemm: bias='x' is not true or false"),
        ("gemm", {"m": "0", "n": "1", "k": "-2"}, BadInput, "gemm needs sizes of at least 1; got m=0, k=-2"),
        ("softmax", {"rows": "0", "cols": "1"}, BadInput, "softmax needs rows and cols of at least 1"),
        ("relu", {"n": "-1"}, BadInput, "relu needs n of at least 1; got -1"),
        ("gelu", {"n": "1", "form": "x"}, BadInput, "gelu has the forms tanh and erf; got 'x'"),
        ("attention", {"batch": "1", "heads": "3", "seq_q": "1", "head_dim": "1", "kv_heads": "2"}, BadInput, "3 heads cannot share 2 kv_heads evenly"),
    ],
)  # fmt: skip
def test_a_wrong_formula_is_one_sentence(name, given, error, sentence):
    """What is wrong, and what there is."""
    with pytest.raises(error, match=re.escape(sentence)):
        ops.formula(name, **given)


def test_every_formula_shows_its_shapes():
    """The first line of the docstring has the shapes, and parameters are typed."""
    for name, function in ops.FORMULAS.items():
        assert "[" in (function.__doc__ or "").splitlines()[0], name
        for parameter in ops.parameters(name):
            assert parameter.type in ("int", "float", "bool", "dtype", "str", MATH), name
