"""Small inputs that other counters get wrong: each row states what is right, and why."""

import pytest

from roofline import ops
from roofline.call import Call, Tensor
from roofline.device import DRAM, SFU, TENSOR_FP8, TENSOR_FP16, TENSOR_INT8, VECTOR_FP32
from roofline.work import Exactness
from tests.tables.ops_golden import b, f, h, i

SDPA = "aten::scaled_dot_product_attention"


def products(ledger):
    """Matrix flop alone: the line of the two products."""
    return sum(e.amount for e in ledger.entries if "Q K^T" in e.why or "dV" in e.why)


def sdpa(q, k, v, *, causal=False, op=SDPA, device="cpu"):
    """One call of an attention entry point, its other arguments at their defaults."""
    args = {
        SDPA: (q, k, v, None, 0.0, causal, None, True),
        "aten::_scaled_dot_product_flash_attention_for_cpu": (q, k, v, 0.0, causal, None, None),
        "aten::_scaled_dot_product_flash_attention": (q, k, v, 0.0, causal, False, None),
    }[op]
    return Call(op, args, device=device)


@pytest.mark.parametrize("op", [SDPA, "aten::_scaled_dot_product_flash_attention_for_cpu"])
def test_attention_on_the_cpu_is_counted(op):
    """q = k = v (1,12,64,64): 4 * 12 * 64 * 64 * 64, where some counters say 0."""
    q = f(1, 12, 64, 64)

    assert ops.account(sdpa(q, q, q, op=op)).flop == 12_582_912


def test_grouped_query_attention():
    """q (1,8,128,64), k and v (1,2,128,64), fp16: Q and O 262,144 B, K and V 65,536 B; I = 102.4."""
    q, k = h(1, 8, 128, 64), h(1, 2, 128, 64)

    ledger = ops.account(sdpa(q, k, k))

    assert ledger.demand() == {TENSOR_FP16: 33_554_432, DRAM: 327_680}
    assert ledger.flop / 327_680 == pytest.approx(102.4)
    assert any(e.amount == 131_072 for e in ledger.entries)


def test_repeated_keys_move_more_and_the_repeat_is_a_copy():
    """K and V as large as Q: 4 * 131,072 B, I = 64; each repeat reads 32,768 B and writes 131,072."""
    q = h(1, 8, 128, 64)
    repeat = Call("aten::repeat_interleave", (h(1, 2, 128, 64), 4, 1), (q,))

    ledger = ops.account(sdpa(q, q, q))

    assert ledger.demand() == {TENSOR_FP16: 33_554_432, DRAM: 524_288}
    assert ledger.flop / 524_288 == 64
    assert ops.account(repeat).demand() == {DRAM: 32_768 + 131_072}


def test_flash_attention_forward_has_its_own_layout():
    """q (2,128,8,64) is B,S,H,D: 4*2*8*128*128*64; read as B,H,S,D it would be 16 times less."""
    q = h(2, 128, 8, 64)
    tail = (None, None, 128, 128, 0.0, False, False, None, None, None, None, None, None, None)
    outer = sdpa(h(2, 8, 128, 64), h(2, 8, 128, 64), h(2, 8, 128, 64))

    assert ops.account(Call("aten::_flash_attention_forward", (q, q, q, *tail))).flop == 67_108_864
    assert ops.account(outer).flop == 67_108_864


def test_nested_calls_agree():
    """B2 H5 S9 D4 is 4*2*5*81*4 = 12,960 at every level; linear is the addmm inside it."""
    q = f(2, 5, 9, 4)
    levels = [SDPA, "aten::_scaled_dot_product_flash_attention_for_cpu"]
    linear = ops.account(Call("aten::linear", (f(4, 8), f(16, 8), f(16))))
    addmm = ops.account(Call("aten::addmm", (f(16), f(4, 8), f(8, 16), 1, 1)))

    assert [ops.account(sdpa(q, q, q, op=op)).flop for op in levels] == [12_960, 12_960]
    assert linear.demand() == addmm.demand()


def test_causal_is_exact_and_says_so():
    """B1 H8 S4096 D128: 4*8*128 * 4096*4097/2; the dense count is another convention, named."""
    q = h(1, 8, 4096, 128)

    causal, dense = (ops.account(sdpa(q, q, q, causal=c)) for c in (True, False))

    assert (causal.flop, dense.flop) == (34_368_126_976, 68_719_476_736)
    assert any("S(S+1)/2" in words for words in causal.conventions)
    assert any("every score is counted" in words for words in dense.conventions)


def test_a_causal_kernel_runs_whole_tiles():
    """B8 H16 S1024 D64: 36 of 64 tiles, as an H200 was seen to run; exact causal is less."""
    q = h(8, 16, 1024, 64)
    call = sdpa(q, q, q, causal=True, op="aten::_scaled_dot_product_flash_attention", device="cuda")

    executed = ops.executed(call)

    assert ops.account(call).flop == 17_196_646_400
    assert executed is not None
    assert executed.demand()[TENSOR_FP16] == 19_327_352_832


def test_attention_backward():
    """Twice the forward by the formula; 2.5 times as run, because scores are computed again."""
    q, k = h(1, 8, 128, 64), h(1, 2, 128, 64)
    call = Call("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                (q, q, k, k, q, f(1, 8, 128), 0.0, False, None, None))  # fmt: skip

    executed = ops.executed(call)

    assert ops.account(call).flop == 67_108_864
    assert executed is not None
    assert executed.demand()[TENSOR_FP16] == 83_886_080
    assert executed.demand()[SFU] == 8 * 128 * 128


@pytest.mark.parametrize(
    ("a", "b", "flop"),
    [((8,), (8,), 16), ((4, 8), (8,), 64), ((2, 1, 4, 8), (3, 8, 5), 1_920)],
)
def test_matmul_of_any_rank(a, b, flop):
    """Vectors are products too, and batches broadcast: 2*3 products of 2*4*5*8."""
    assert ops.account(Call("aten::matmul", (f(*a), f(*b)))).flop == flop


def test_bias_is_a_line_of_its_own():
    """n 4, k 8, m 16: 1,024 and 64."""
    entries = ops.account(Call("aten::linear", (f(4, 8), f(16, 8), f(16)))).entries

    assert [(e.amount, e.why) for e in entries if e.resource.is_pipe] == [
        (1024, "multiply-add, M*N*K times"),
        (64, "add bias, once per output"),
    ]


def test_broadcast_operands_count_once():
    """(2,3,4)*(4): 24 flop, 96 + 16 + 96 B; (8)*(2,8): 16 flop."""
    ledger = ops.account(Call("aten::mul", (f(2, 3, 4), f(4))))

    assert ledger.demand() == {VECTOR_FP32: 24, DRAM: 208}
    assert ops.account(Call("aten::mul", (f(8), f(2, 8)))).flop == 16


def test_int8_and_fp8_have_their_own_ceilings():
    """2*32*64*32 integer operations, which are not flop; 2 * 64^3 on the fp8 pipe."""
    int8 = ops.account(Call("aten::_int_mm", (Tensor((32, 64), "int8"), Tensor((64, 32), "int8"))))
    e4 = Tensor((64, 64), "fp8_e4m3")
    fp8 = ops.account(Call("aten::_scaled_mm", (e4, e4, f(), f(), None, None, "bf16", False)))

    assert int8.demand()[TENSOR_INT8] == 131_072
    assert (int8.flop, TENSOR_INT8.unit) == (0, "op")
    assert fp8.demand()[TENSOR_FP8] == 524_288


def test_an_embedding_moves_rows_not_the_table():
    """64 indices of 8 B, 64 rows of 128 B gathered and written: 16,896 B; rows are counted per hit."""
    ledger = ops.account(Call("aten::embedding", (f(100, 32), i(4, 16), -1, False, False)))

    assert ledger.demand() == {DRAM: 512 + 8192 + 8192}
    assert ledger.exactness is Exactness.BOUNDED
    assert any("per hit" in words for words in ledger.conventions)


def test_a_custom_operator_is_unknown():
    """No rule, so named; the linear beside it is 2,000,000 flop."""
    linear = Call("aten::linear", (f(1, 1000), f(1000, 1000), None))
    total = ops.account(linear) + ops.account(Call("mylib::triton_op", (f(4),)))

    assert total.flop == 2_000_000
    assert total.unaccounted == ("mylib::triton_op",)
    assert total.exactness is None


def test_taps_on_padding_are_counted():
    """(2,3,6,6)*(6,3,4,4), padding 1: 28,800 of which 23,328 fall inside; the ledger says so."""
    call = Call(
        "aten::convolution",
        (f(2, 3, 6, 6), f(6, 3, 4, 4), None, (1, 1), (1, 1), (1, 1), False, (0, 0), 1),
    )

    ledger = ops.account(call)

    assert ledger.flop == 28_800
    assert any("taps on padding are counted" in words for words in ledger.conventions)


def test_expanded_memory_is_read_once():
    """randn(4,1).expand(4,1024): 16 B."""
    expanded = f(4, 1024, strides=(1, 0))

    assert ops.account(Call("aten::sum", (expanded, None))).traffic(DRAM, "read") == 16


def test_a_narrow_slice_moves_whole_sectors():
    """x[:, :1] of (4,1024) fp32: 16 useful bytes in 4 sectors of 32 B."""
    call = Call("aten::sum", (f(4, 1, strides=(1024, 1)), None), device="cuda")

    executed = ops.executed(call)

    assert ops.account(call).traffic(DRAM, "read") == 16
    assert executed is not None
    assert executed.traffic(DRAM, "read") == 128


def test_views_are_free_and_not_unknown():
    """0 B, nothing unaccounted."""
    for op in ("view", "transpose", "t", "expand", "slice", "_unsafe_view", "detach"):
        ledger = ops.account(Call(f"aten::{op}", (f(4, 4),)))
        assert (ledger.entries, ledger.unaccounted, ledger.footprint) == ((), (), 0)


def test_in_place_crosses_twice():
    """x.add_(1), a million fp32: 8,000,000 B, and a footprint of half of it."""
    ledger = ops.account(Call("aten::add_", (f(1_000_000), 1, 1)))

    assert (ledger.demand()[DRAM], ledger.footprint) == (8_000_000, 4_000_000)


def test_mixed_output_types():
    """1024^3, fp16 in and fp32 out: 2 * 2 MiB + 4 MiB = 8,388,608 B; in 0.01 ms 838.9 GB/s."""
    nbytes = ops.gemm(m=1024, n=1024, k=1024, dtype="fp16", out_dtype="fp32").demand()[DRAM]

    assert nbytes == 8_388_608
    assert nbytes / 1e-5 == pytest.approx(838.9e9, rel=1e-4)


@pytest.mark.parametrize(("device", "moved"), [("cpu", 320_000_000), ("cuda", None)])
def test_a_cpu_fetches_the_lines_it_writes(device, moved):
    """fp64 triad of 1e7: 240 MB by the formula; a CPU moves 80 MB more, on a line of its own."""
    x = Tensor((10_000_000,), "fp64")
    call = Call("aten::add", (x, Tensor((10_000_000,), "fp64"), 3.0), device=device)

    executed = ops.executed(call)

    assert ops.account(call).demand()[DRAM] == 240_000_000
    assert (executed and executed.demand()[DRAM]) == moved
    if executed:
        (fetched,) = (e for e in executed.entries if e.exactness is Exactness.ESTIMATE)
        assert (fetched.amount, fetched.access) == (80_000_000, "read")


def test_in_place_fetches_nothing_more():
    """What is written was read anyway."""
    assert ops.executed(Call("aten::add_", (f(1000), 1, 1))) is None


def test_packed_weights_count_by_stored_bytes():
    """int4 4096x4096 as uint8 (4096,2048), bf16 scales of 128, x (1,4096): 8,667,136 B, I = 3.87."""
    bf16 = {"dtype": "bf16"}
    call = Call("aten::_mixed_dtypes_linear", (
        Tensor((1, 4096), **bf16), Tensor((4096, 2048), "uint8"), Tensor((4096,), **bf16), None, None))  # fmt: skip
    by_size = ops.packed_gemm(m=1, n=4096, k=4096, group=128)

    assert by_size.flop == 33_554_432
    assert by_size.demand()[DRAM] == 8_388_608 + 262_144 + 8_192 + 8_192
    assert by_size.flop / by_size.demand()[DRAM] == pytest.approx(3.87, abs=5e-3)
    assert ops.account(call).flop == 33_554_432


def test_one_useful_row_runs_eight():
    """An n8 tile pads one row 8 times; an m16 tile pads one query 16 times."""
    gemm = Call(
        "aten::mm", (Tensor((1, 4096), "bf16"), Tensor((4096, 4096), "bf16")), device="cuda"
    )
    q, k = h(1, 8, 1, 64), h(1, 8, 128, 64)
    decode = sdpa(q, k, k, op="aten::_scaled_dot_product_flash_attention", device="cuda")

    for call, factor in ((gemm, 8), (decode, 16)):
        executed = ops.executed(call)
        assert executed is not None
        pipe = next(r for r in ops.account(call).demand() if r.is_pipe)
        assert executed.demand()[pipe] == factor * ops.account(call).flop


def test_a_mask_is_read():
    """A bool mask of 128*128 is 16,384 B more, and no less work."""
    q = h(1, 8, 128, 64)
    masked = ops.account(Call(SDPA, (q, q, q, b(128, 128), 0.0, False, None, False)))

    assert masked.flop == ops.account(sdpa(q, q, q)).flop
    assert masked.demand()[DRAM] == 524_288 + 16_384
    assert products(masked) == masked.flop
