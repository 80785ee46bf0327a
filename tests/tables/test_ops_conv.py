"""Convolutions by hand: 2 flop a multiply-add, taps on padding counted, a bias add per output."""

import pytest

from roofline import ops
from roofline.call import Call, Tensor
from roofline.device import DRAM, TENSOR_FP16, VECTOR_FP32
from roofline.errors import BadInput

ONE, ZERO = (1, 1), (0, 0)


def convolution(
    x, w, bias=None, stride=ONE, padding=ZERO, dilation=ONE, transposed=False, more=ZERO, groups=1
):
    """aten::convolution in schema order."""
    b = None if bias is None else Tensor((bias,))
    return Call(
        "aten::convolution",
        (Tensor(x), Tensor(w), b, stride, padding, dilation, transposed, more, groups),
    )


FORWARD = [
    # transposed: 2 * N * Cin * Cout/g * k*k * inputs; bias once an output
    (convolution((1, 32, 1, 1), (32, 1, 3, 3), 1, transposed=True), 2 * 32 * 9 * 1, 9),
    (convolution((1, 3, 2, 2), (3, 1, 2, 2), 1, (2, 2), transposed=True), 2 * 3 * 4 * 4, 16),
    (convolution((2, 4, 8, 8), (4, 6, 4, 4), 6, (2, 2), ONE, transposed=True), 98_304, 2 * 6 * 16 * 16),
    (convolution((2, 4, 8, 8), (4, 1, 3, 3), 4, (2, 2), ONE, transposed=True, more=ONE, groups=4), 9_216, 2 * 4 * 16 * 16),
    (convolution((2, 6, 8, 8), (6, 2, 2, 2), 6, (2, 2), transposed=True, groups=3), 12_288, 2 * 6 * 16 * 16),
    # grouped and depthwise
    (convolution((2, 8, 16, 16), (8, 1, 3, 3), padding=ONE, groups=8), 2 * 2 * 8 * 256 * 9, 0),
    (convolution((2, 64, 16, 16), (64, 16, 3, 3), padding=ONE, groups=4), 2 * 2 * 64 * 256 * 16 * 9, 0),
    # padded: 5x5 outputs and 16 taps each; only 23,328 of them fall inside
    (convolution((2, 3, 6, 6), (6, 3, 4, 4), padding=ONE), 2 * 2 * 6 * 25 * 3 * 16, 0),
    # dilated: a 3x3 kernel reaches 5, so 8x8 gives 4x4
    (convolution((1, 2, 8, 8), (4, 2, 3, 3), dilation=(2, 2)), 2 * 4 * 16 * 2 * 9, 0),
    # one and three dimensions
    (Call("aten::conv1d", (Tensor((2, 4, 9)), Tensor((8, 4, 3)), Tensor((8,)))), 2 * 2 * 8 * 7 * 4 * 3, 2 * 8 * 7),
    (Call("aten::conv3d", (Tensor((1, 2, 4, 4, 4)), Tensor((3, 2, 2, 2, 2)))), 2 * 3 * 27 * 2 * 8, 0),
    # without a batch
    (Call("aten::conv2d", (Tensor((3, 6, 6)), Tensor((4, 3, 3, 3)), None, ONE, "same")), 2 * 4 * 36 * 3 * 9, 0),
    # an even kernel pads one side more, and gives as many places as it is given
    (Call("aten::conv2d", (Tensor((3, 6, 6)), Tensor((4, 3, 4, 2)), None, ONE, "same")), 2 * 4 * 36 * 3 * 8, 0),
    (Call("aten::conv2d", (Tensor((3, 6, 6)), Tensor((4, 3, 3, 3)), None, ONE, "valid")), 2 * 4 * 16 * 3 * 9, 0),
]  # fmt: skip


@pytest.mark.parametrize(("call", "flop", "bias"), FORWARD)
def test_forward(call, flop, bias):
    """Products and bias on their own lines."""
    entries = ops.account(call).entries

    assert [e.amount for e in entries if e.why.startswith("multiply-add")] == [flop]
    assert sum(e.amount for e in entries if e.why.startswith("add bias")) == bias


@pytest.mark.parametrize(
    ("x", "w", "groups", "forward"),
    [((2, 8, 16, 16), (8, 1, 3, 3), 8, 73_728), ((2, 64, 16, 16), (64, 16, 3, 3), 4, 9_437_184)],
)
def test_backward_is_twice_the_forward(x, w, groups, forward):
    """dX and dW are each a forward: 221,184 and 28,311,552 flop together with it."""
    mask = (True, True, False)
    back = Call(
        "aten::convolution_backward",
        (Tensor(x), Tensor(x), Tensor(w), None, ONE, ONE, ONE, False, ZERO, groups, mask),
    )

    assert ops.account(convolution(x, w, padding=ONE, groups=groups)).flop == forward
    assert ops.account(back).flop == 2 * forward


def test_what_groups_are_padded_with_is_said_to_be_unknown():
    """A library fills tiles with channels that are not there: how many, nobody saw."""
    whole, grouped = (
        ops.account(convolution((2, 8, 6, 6), (8, 8 // g, 3, 3), groups=g)) for g in (1, 4)
    )

    assert not any("every group" in words for words in whole.conventions)
    assert any("is not known and not counted" in words for words in grouped.conventions)
    ran = ops.executed(convolution((2, 8, 6, 6), (8, 2, 3, 3), groups=4))
    assert ran is not None
    assert not any(resource.is_pipe for resource in ran.demand())


def test_backward_bias_and_bytes():
    """dY (1,2,3,3), X (1,1,5,5), W (2,1,3,3): 2 * 9 * 18 flop twice, a sum of 18; all fp32."""
    call = Call(
        "aten::convolution_backward",
        (
            Tensor((1, 2, 3, 3)),
            Tensor((1, 1, 5, 5)),
            Tensor((2, 1, 3, 3)),
            (2,),
            ONE,
            ZERO,
            ONE,
            False,
            ZERO,
            1,
            (True, True, True),
        ),
    )

    ledger = ops.account(call)

    # reads dY 18, X 25, W 18; writes dX 25, dW 18, dbias 2
    assert ledger.demand() == {VECTOR_FP32: 2 * 324 + 18, DRAM: 4 * (61 + 45)}


def test_a_kernel_that_skips_reads_less():
    """1x1 with stride 2 on 8x8: 16 of 64 places; 4 B each, 3 channels; W 6; writes 2 * 16."""
    ledger = ops.account(convolution((1, 3, 8, 8), (2, 3, 1, 1), stride=(2, 2)))

    assert ledger.traffic(DRAM, "read") == 4 * (3 * 16 + 6)
    assert ledger.traffic(DRAM, "write") == 4 * 2 * 16


def test_formula():
    """3x3, padding 1: 2*64*56*56*64*9 flop; 200,704 elements in and out, 36,864 weights, 2 B each."""
    ledger = ops.conv2d(
        batch=1,
        channels_in=64,
        channels_out=64,
        height=56,
        width=56,
        kernel=3,
        padding=1,
        dtype="fp16",
    )

    assert ledger.demand() == {TENSOR_FP16: 231_211_008, DRAM: 2 * (2 * 200_704 + 36_864)}


@pytest.mark.parametrize("wrong", [{"kernel": 0}, {"groups": 3}, {"padding": -1}, {"kernel": 9}])
def test_formula_refuses(wrong):
    """A kernel larger than its input, channels that do not divide."""
    sizes = dict(batch=1, channels_in=4, channels_out=4, height=4, width=4, kernel=3) | wrong
    with pytest.raises(BadInput, match="conv2d"):
        ops.conv2d(**sizes)
