"""Composition rows of the worked examples: what separate operators move and what one would."""

import pytest

from roofline import ops
from roofline.call import Call, Tensor
from roofline.device import DRAM

N = 1 << 20


def moved(*ledgers):
    return sum(ledger.demand()[DRAM] for ledger in ledgers)


def half(*shape):
    return Tensor(shape, "fp16")


def call(op, *args):
    return ops.account(Call(f"aten::{op}", args))


def test_relu_of_a_sum():
    """x + y reads 2 and writes 1 (6N bytes of fp16), relu 4N: 10N; fused 6N: 1.67 times less."""
    x = half(N)
    separate = moved(call("add", x, half(N), 1), call("relu", x))
    fused = moved(ops.FORMULAS["elementwise"](n=N, inputs=2, flop=2, dtype="fp16"))

    assert (separate, fused) == (10 * N, 6 * N)


def test_relu_of_a_shifted_operand():
    """x + c is one streamed operand: 4N + 4N = 8N; fused 4N."""
    x = half(N)
    separate = moved(call("add", x, 1.5, 1), call("relu", x))
    fused = moved(ops.FORMULAS["elementwise"](n=N, inputs=1, flop=2, dtype="fp16"))

    assert (separate, fused) == (8 * N, 4 * N)


@pytest.mark.parametrize("k", [1, 2, 5, 10])
def test_a_chain_of_unary_operators(k):
    """K operators are 2K passes; fused, 2."""
    x = half(N)
    one_pass = 2 * N

    assert moved(*[call("relu", x)] * k) == 2 * k * one_pass
    assert moved(ops.FORMULAS["elementwise"](n=N, inputs=1, flop=k, dtype="fp16")) == 2 * one_pass


@pytest.mark.parametrize("k", [2, 3, 7])
def test_fused_is_never_more_than_unfused(k):
    unfused = [ops.FORMULAS["elementwise"](n=N, inputs=i, dtype="fp32") for i in range(1, k)]
    fused = ops.FORMULAS["elementwise"](n=N, inputs=k - 1, flop=k, dtype="fp32")
    assert moved(fused) <= moved(*unfused)


def test_materialised_scores_grow_with_the_square_and_online_softmax_does_not():
    """H = 8, D = 64, fp16: the scores alone are 2 S^2 bytes a head, written and read; Q K V O are 4 S D."""

    def materialised(s):
        q, scores = half(8, s, 64), half(8, s, s)
        return moved(
            call("bmm", q, half(8, 64, s)),
            call("_softmax", scores, -1, False),
            call("bmm", scores, q),
        )

    def online(s):
        return moved(
            ops.FORMULAS["attention"](batch=1, heads=8, seq_q=s, head_dim=64, dtype="fp16")
        )

    # score bytes: written by the first product, read and written by softmax, read by the second
    assert materialised(4096) == 4 * (8 * 4096 * 4096 * 2) + 4 * (8 * 4096 * 64 * 2)
    assert online(4096) == 4 * (8 * 4096 * 64 * 2)
    assert materialised(8192) / materialised(4096) == pytest.approx(4, rel=0.02)
    assert online(8192) / online(4096) == 2


def test_gelu_fused_into_the_product_before_it_saves_one_write_and_one_read():
    """2^25 fp16 elements: 2 * 2^25 * 2 B = 134.2 MB."""
    assert moved(call("gelu", half(1 << 25), "none")) == 134_217_728


def test_sigmoid_relu_sin_times_x():
    """4,096 fp32: sin, relu, sigmoid 32,768 B each and the product 49,152: 147,456; fused 32,768: 4.5."""
    x = Tensor((4096,), "fp32")
    four = moved(
        call("sin", x), call("relu", x), call("sigmoid", x), call("mul", x, Tensor((4096,), "fp32"))
    )
    one = moved(ops.FORMULAS["elementwise"](n=4096, inputs=1, flop=6, sfu=2, dtype="fp32"))

    assert (four, one) == (147_456, 32_768)


@pytest.mark.parametrize(("m", "n"), [(4, 8), (128, 4096), (1000, 1)])
def test_naive_softmax(m, n):
    """max, subtract, exp, sum, divide: reads 5MN + 2M, writes 3MN + 2M elements; fused 2MN."""
    x, row = Tensor((m, n)), Tensor((m, 1))
    five = (
        call("amax", x, (1,), True),
        call("sub", x, row, 1),
        call("exp", x),
        call("sum", x, (1,), True, None),
        call("div", x, row),
    )
    read, written = (sum(one.traffic(DRAM, way) for one in five) // 4 for way in ("read", "write"))
    fused = moved(ops.FORMULAS["softmax"](rows=m, cols=n)) // 4

    assert (read, written, fused) == (5 * m * n + 2 * m, 3 * m * n + 2 * m, 2 * m * n)
    assert (read + written) / fused == pytest.approx((8 * m * n + 4 * m) / (2 * m * n))


@pytest.mark.parametrize(("bm", "bn", "bk"), [(128, 128, 64), (64, 256, 32), (16, 8, 16)])
def test_tile_loop_of_a_product(bm, bn, bk):
    """One step of a tile: 2 BM BN BK flop, (BM BK + BK BN) s bytes in, intensity 2 BM BN / ((BM + BN) s)."""
    step = ops.FORMULAS["gemm"](m=bm, n=bn, k=bk, dtype="fp16")
    loaded = step.traffic(DRAM, "read")

    assert step.flop == 2 * bm * bn * bk
    assert loaded == (bm * bk + bk * bn) * 2
    assert step.flop / loaded == pytest.approx(bm * bn * 2 / ((bm + bn) * 2))
