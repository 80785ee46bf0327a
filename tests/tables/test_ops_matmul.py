"""Matrix products of every kind, and attention, by hand: a multiply-add is 2 flop."""

from dataclasses import replace

import pytest

from roofline import ops
from roofline.call import Call, Tensor
from roofline.device import (
    DRAM,
    TENSOR_BF16,
    TENSOR_FP8,
    TENSOR_FP16_SPARSE,
    TENSOR_INT8,
    TENSOR_TF32,
)
from tests.tables.ops_golden import Row, b, check, f, h, i


def c8(*shape):
    """An int8 tensor."""
    return Tensor(shape, "int8")


def e4(*shape):
    """An fp8 tensor."""
    return Tensor(shape, "fp8_e4m3")


def bf(*shape):
    """A bf16 tensor."""
    return Tensor(shape, "bf16")


A, B = f(2, 3), f(3, 5)  # 24 B, 60 B; the product is 2*5, 40 B, and 2*2*5*3 = 60 flop
PRODUCTS = [
    Row("mm", (A, B), 60, 84, 40, words="2 flop"),
    Row("mm", (Tensor((2, 3), "complex64"), Tensor((3, 5), "complex64")), 240, 168, 80),
    Row("bmm", (f(4, 2, 3), f(4, 3, 5)), 240, 336, 160),
    # a bias is an add an output on a line of its own, and is read once
    Row("addmm", (f(5), A, B, 1, 1), 60 + 10, 84 + 20, 40),
    Row("addmm", (f(2, 5), A, B, 1, 1), 70, 84 + 40, 40),
    Row("addmm", (f(2, 5), A, B, 0, 1), 60, 84, 40),  # beta 0: not read
    Row("addmm", (f(2, 5), A, B, 0.5, 2), 60 + 30, 124, 40),  # scale both, add
    Row("addmm_", (f(2, 5), A, B, 1, 1), 70, 124, 40),
    Row("addmm_", (f(2, 5), A, B, 0, 1), 60, 84, 40),
    Row("_addmm_activation", (f(5), A, B, 1, 1, False), 60 + 20, 104, 40),  # bias, relu
    Row("_addmm_activation", (f(5), A, B, 1, 1, True), 60 + 10 + 50, 104, 40),  # bias, gelu
    Row("baddbmm", (f(4, 2, 5), f(4, 2, 3), f(4, 3, 5), 1, 1), 240 + 40, 336 + 160, 160),
    Row("baddbmm_", (f(4, 2, 5), f(4, 2, 3), f(4, 3, 5), 1, 1), 280, 496, 160),
    # the batch is summed away: 4 products into one
    Row("addbmm", (f(2, 5), f(4, 2, 3), f(4, 3, 5), 1, 1), 240 + 10, 336 + 40, 40),
    Row("addbmm_", (f(2, 5), f(4, 2, 3), f(4, 3, 5), 1, 1), 250, 376, 40),
    # linear: n 4, k 8, m 16: 2*4*8*16 = 1024 and a bias of 64
    *(Row(name, (f(4, 8), f(16, 8), f(16)), 1024 + 64, 128 + 512 + 64, 256)
      for name in ("linear", "mkldnn_linear")),
    Row("linear", (f(2, 2, 8), f(16, 8), None), 1024, 128 + 512, 256),
    Row("linear", (f(1, 1000), f(1000, 1000), None), 2_000_000, 4_004_000, 4000),
    # dX 1024, dW 1024, db 64; reads X, G, W; writes dX 128, dW 512, db 64
    *(Row(name, (f(4, 8), f(4, 16), f(16, 8), (True, True, True)),
          2112, 128 + 256 + 512, 128 + 512 + 64) for name in ("linear_backward", "mkldnn_linear_backward")),
    # vectors
    Row("matmul", (f(8), f(8)), 16, 64, 4),
    Row("matmul", (f(4, 8), f(8)), 64, 128 + 32, 16),
    Row("matmul", (f(8), f(8, 4)), 64, 32 + 128, 16),
    # the batch broadcasts: (2,1,4,8) @ (3,8,5) is 6 products of 2*4*5*8
    Row("matmul", (f(2, 1, 4, 8), f(3, 8, 5)), 1920, 256 + 480, 480),
    Row("mv", (f(4, 8), f(8)), 64, 160, 16),
    Row("addmv", (f(4), f(4, 8), f(8), 1, 1), 64 + 4, 176, 16),
    Row("addmv_", (f(4), f(4, 8), f(8), 1, 1), 68, 176, 16),
    Row("dot", (f(8), f(8)), 16, 64, 4),
    Row("vdot", (f(8), f(8)), 16, 64, 4),
    # one multiply an output
    Row("outer", (f(3), f(5)), 15, 32, 60),
    Row("ger", (f(3), f(5)), 15, 32, 60),
    Row("addr", (f(3, 5), f(3), f(5), 1, 1), 30, 60 + 32, 60),
    # contractions
    Row("einsum", ("ij,jk->ik", (A, B), None), 60, 84, 40),
    Row("einsum", ("bij,bjk->bik", (f(4, 2, 3), f(4, 3, 5)), None), 240, 336, 160),
    Row("einsum", ("i,j->ij", (f(3), f(5)), None), 15, 32, 60),  # nothing is summed: 1 each
    Row("einsum", ("ij->", (A,), None), 6, 24, 4),
    Row("einsum", ("...ij,...jk", (f(4, 2, 3), f(4, 3, 5)), None), 240, 336, 160),
    # from the left: (2,3)(3,5) 60, then (2,5)(5,7) 140
    Row("einsum", ("ij,jk,kl->il", (A, B, f(5, 7)), None), 200, 84 + 140, 56, words="two at a time"),
    # the other way: (3,5)(5,7) 210, then (2,3)(3,7) 84
    Row("einsum", ("ij,jk,kl->il", (A, B, f(5, 7)), (1, 2, 0, 1)), 294, 224, 56),
    Row("tensordot", (f(4, 2, 3), f(3, 2, 5), (1, 2), (1, 0)), 2 * 4 * 5 * 6, 96 + 120, 80),
    Row("inner", (f(4, 3), f(5, 3)), 2 * 20 * 3, 48 + 60, 80),
    Row("kron", (f(2, 2), f(3, 3)), 36, 16 + 36, 144),
    # x[4,3] y[4,5] z[7,3,5], summed over 3 and 5: 2 multiplies and an add on 4*7*3*5
    Row("_trilinear", (f(4, 3), f(7, 3, 5), f(4, 5), (1, 3), (0,), (1, 2), (2, 3)),
        3 * 420, 48 + 420 + 80, 112),
    # packed, scaled, grouped
    Row("_int_mm", (c8(32, 64), c8(64, 32)), 131_072, 4096, 32 * 32 * 4),
    Row("_scaled_mm", (e4(64, 64), e4(64, 64), f(), f(), None, None, "bf16", False),
        524_288, 8192 + 8, 8192, words="scaling is left out"),
    Row("_scaled_mm", (e4(64, 64), e4(64, 64), f(), f(), bf(64), None, "bf16", False),
        524_288 + 4096, 8200 + 128, 8192),
    Row("_scaled_mm_v2", (e4(64, 64), e4(64, 64), (f(),), (0,), (0,), (f(),), (0,), (0,), None, "bf16", (), False),
        524_288, 8200, 8192),
    # x (1,4096), int4 weights stored as uint8 (4096,2048), scales and zeros of 32 groups
    *(Row(name, (bf(1, 4096), Tensor((4096, 2048), "uint8"), 128, bf(32, 4096, 2)),
          33_554_432, 8192 + 8_388_608 + 524_288, 8192)
      for name in ("_weight_int4pack_mm", "_weight_int4pack_mm_for_cpu")),
    Row("_weight_int4pack_mm_with_scales_and_zeros",
        (bf(1, 4096), Tensor((4096, 2048), "uint8"), 128, bf(32, 4096), bf(32, 4096)),
        33_554_432, 8192 + 8_388_608 + 524_288, 8192),
    Row("_weight_int8pack_mm", (bf(2, 64), c8(32, 64), bf(32)), 8192, 256 + 2048 + 64, 128),
    Row("_dyn_quant_matmul_4bit", (f(2, 64), Tensor((1100,), "uint8"), 32, 64, 32), 8192, 512 + 1100, 256),
    Row("_mixed_dtypes_linear", (h(2, 64), c8(64, 32), h(32), h(32), "relu"),
        8192 + 64 + 64, 256 + 2048 + 64 + 64, 128),
    # 16 rows shared out among 2 experts: 2*16*16*8; both experts are read
    Row("_grouped_mm", (bf(16, 16), bf(2, 16, 8), Tensor((2,), "int32"), None, None),
        4096, 512 + 512 + 8, 256),
    Row("_grouped_mm", (bf(2, 4, 16), bf(2, 16, 8), None, None, None), 2048, 256 + 512, 128),
    Row("_grouped_mm", (bf(4, 16), bf(16, 8), Tensor((2,), "int32"), None, None),  # inner size shared
        1024, 128 + 256 + 8, 2 * 32 * 2),
    Row("_scaled_grouped_mm", (e4(16, 16), e4(2, 16, 8), f(16), f(2, 8), Tensor((2,), "int32"), None, None, "bf16", False),
        4096, 256 + 256 + 8 + 64 + 64, 256),
    # 2:4 sparse: the dense product's flop on the sparse pipe, half the values stored
    Row("_sparse_semi_structured_mm", (h(32, 32), Tensor((32, 4), "int16"), h(64, 16), None),
        2 * 32 * 16 * 64, 2048 + 256 + 2048, 1024, words="2:4"),
    Row("_sparse_semi_structured_addmm", (h(32), h(32, 32), Tensor((32, 4), "int16"), h(64, 16), 1, 1, None),
        65_536 + 512, 4352 + 64, 1024),
    Row("_sparse_semi_structured_linear", (h(16, 64), h(32, 32), Tensor((32, 4), "int16"), h(32), None, None),
        65_536 + 512, 2048 + 2048 + 256 + 64, 1024),
    # compressed 32x64 halves: 9/16 of 2048 elements
    Row("_cslt_sparse_mm", (h(1152), h(64, 16), None, None, None, False), 65_536, 2304 + 2048, 1024),
    # fused encoder layer: B 2, S 5, E 8, F 16, see below
    Row("_native_multi_head_attention",
        (f(2, 5, 8), f(2, 5, 8), f(2, 5, 8), 8, 2, f(24, 8), f(24), f(8, 8), f(8), None, True, True, None),
        # 8*B*S*E*E + 4*B*S*S*E + biases 4*B*S*E
        8 * 10 * 64 + 4 * 2 * 25 * 8 + 4 * 80, 3 * 320 + 4 * (192 + 24 + 64 + 8), 320),
    Row("_transformer_encoder_layer_fwd",
        (f(2, 5, 8), 8, 2, f(24, 8), f(24), f(8, 8), f(8), False, False, 1e-5, f(8), f(8), f(8), f(8),
         f(16, 8), f(16), f(8, 16), f(8), None, None),
        # attention; feed-forward 4*10*8*16, biases 10*24, residuals 160, norms 16*80, relu 160
        5120 + 1600 + 320 + 5120 + 240 + 160 + 1280 + 160,
        320 + 4 * (192 + 24 + 64 + 8 + 32 + 128 + 16 + 128 + 8), 320),
]  # fmt: skip

Q = h(1, 2, 4, 8)  # B 1, H 2, S 4, D 8: 64 elements, 128 B
MASK = Tensor((1, 1, 4, 4), "bool")
FLOP = 4 * 2 * 4 * 4 * 8  # 1024
CAUSAL = 4 * 2 * 8 * 10  # 10 of 16 scores
LENGTHS = Tensor((3,), "int32")  # two sequences
PACKED = h(6, 2, 8)  # 6 tokens: 96 elements, 192 B
FLASH_TAIL = (None, None, None, None, None, None, None)


def forward(name, *args, flop=FLOP, read=384, **more):
    """Q, K, V in, O out."""
    return Row(name, args, flop, read, 128, **more)


def backward(name, *args, flop=2 * FLOP, read=640, **more):
    """Q, K, V, O and dO in, dQ, dK and dV out."""
    return Row(name, args, flop, read, 384, **more)


L = Tensor((1, 2, 4))
ATTENTION = [
    forward("scaled_dot_product_attention", Q, Q, Q, None, 0.0, False, None, False),
    forward("scaled_dot_product_attention", Q, Q, Q, None, 0.0, True, None, False, flop=CAUSAL, words="S(S+1)/2"),
    forward("scaled_dot_product_attention", Q, Q, Q, MASK, 0.0, False, None, False, read=384 + 16, words="a mask is read"),
    forward("_scaled_dot_product_attention_math", Q, Q, Q, None, 0.0, False, None, None, False),
    forward("_scaled_dot_product_flash_attention_for_cpu", Q, Q, Q, 0.0, False, None, None),
    forward("_scaled_dot_product_flash_attention_for_cpu", Q, Q, Q, 0.0, True, None, None, flop=CAUSAL),
    forward("_scaled_dot_product_flash_attention", Q, Q, Q, 0.0, True, False, None, flop=CAUSAL, device="cuda"),
    forward("_scaled_dot_product_flash_attention", Q, Q, Q, None, None, None, 0.0, True, False, None, flop=CAUSAL),
    forward("_scaled_dot_product_efficient_attention", Q, Q, Q, MASK, True, 0.0, False, None, read=400),
    forward("_scaled_dot_product_cudnn_attention", Q, Q, Q, None, True, 0.0, True, False, None, flop=CAUSAL),
    forward("_scaled_dot_product_fused_attention_overrideable", Q, Q, Q, None, 0.0, True, False, None, flop=CAUSAL),
    forward("_cudnn_attention_forward", Q, Q, Q, None, None, None, 4, 4, True, 0.0, False, False, None),
    # B,S,H,D here: (1,4,2,8) is the same attention
    forward("_flash_attention_forward", h(1, 4, 2, 8), h(1, 4, 2, 8), h(1, 4, 2, 8), None, None, 4, 4, 0.0, False, False, *FLASH_TAIL),
    # a window of one key back, and causal: 4 + 3 of 16 scores
    forward("_flash_attention_forward", h(1, 4, 2, 8), h(1, 4, 2, 8), h(1, 4, 2, 8), None, None, 4, 4, 0.0, True, False,
            None, 1, -1, None, None, None, None, flop=4 * 2 * 8 * 7, words="w keys back and the query's own are w + 1"),
    forward("_efficient_attention_forward", h(1, 4, 2, 8), h(1, 4, 2, 8), h(1, 4, 2, 8), None, None, None, 4, 4, 0.0, 1, True,
            None, None, None, flop=CAUSAL),
    # two sequences of 6 tokens together, at most 4 long: from 3,3 (18 scores) to 4,2 (20)
    Row("_flash_attention_forward", (PACKED, PACKED, PACKED, LENGTHS, LENGTHS, 4, 4, 0.0, False, False, *FLASH_TAIL),
        4 * 2 * 8 * 18, 576, 192, words="a range"),
    # grouped: K and V with one head
    forward("scaled_dot_product_attention", Q, h(1, 1, 4, 8), h(1, 1, 4, 8), None, 0.0, False, None, True, read=128 + 128),
    # one query against 16 keys: 4 * 2 * 16 * 8
    Row("scaled_dot_product_attention", (h(1, 2, 1, 8), h(1, 2, 16, 8), h(1, 2, 16, 8), None, 0.0, False, None, False),
        1024, 32 + 1024, 32),
    backward("_scaled_dot_product_flash_attention_for_cpu_backward", Q, Q, Q, Q, Q, L, 0.0, False, None, None),
    backward("_scaled_dot_product_flash_attention_backward", Q, Q, Q, Q, Q, L, None, None, 4, 4, 0.0, True, None, None, None,
             flop=2 * CAUSAL),
    backward("_scaled_dot_product_efficient_attention_backward", Q, Q, Q, Q, MASK, Q, L, None, None, 0.0, (True,) * 4, False,
             None, read=656),
    backward("_scaled_dot_product_cudnn_attention_backward", Q, Q, Q, Q, Q, L, None, None, None, None, None, 4, 4, 0.0, True,
             None, flop=2 * CAUSAL),
    backward("_scaled_dot_product_fused_attention_overrideable_backward", Q, Q, Q, Q, None, (True,) * 4, Q, L, None, None, 4, 4,
             0.0, True, None, None, None, flop=2 * CAUSAL),
    backward("_cudnn_attention_backward", Q, Q, Q, Q, Q, L, None, None, None, None, None, 4, 4, 0.0, True, None, flop=2 * CAUSAL),
    backward("_flash_attention_backward", *(h(1, 4, 2, 8),) * 5, L, None, None, 4, 4, 0.0, True, None, None, None, None, None,
             flop=2 * CAUSAL),
    backward("_efficient_attention_backward", *(h(1, 4, 2, 8),) * 4, None, h(1, 4, 2, 8), None, None, 4, 4, L, 0.0, None, None, 1,
             False, None, None, None, False, flop=2 * CAUSAL),
    # the mask is a function: from one key a query (64) to all
    forward("higher_order::flex_attention", Q, Q, Q, "score_mod", (), 1.0, (), words="a range"),
    backward("higher_order::flex_attention_backward", Q, Q, Q, Q, L, Q),
]  # fmt: skip

CONV = (f(1, 2, 4, 4), f(3, 2, 3, 3), f(3))  # 2x2 outputs: 2*3*4*18 = 432, bias 12
ONE, ZERO = (1, 1), (0, 0)
CONVOLUTIONS = [
    *(Row(name, (*CONV, ONE, ZERO, ONE, False, ZERO, 1), 444, 128 + 216 + 12, 48, words="padding are counted")
      for name in ("convolution", "_convolution", "convolution_overrideable")),
    Row("conv1d", (f(1, 2, 4), f(3, 2, 3), None, (1,), (0,), (1,), 1), 2 * 3 * 2 * 6, 32 + 72, 24),
    Row("conv2d", (*CONV, ONE, ZERO, ONE, 1), 444, 356, 48),
    Row("conv3d", (f(1, 1, 3, 3, 3), f(1, 1, 3, 3, 3), None), 54, 108 + 108, 4),
    Row("conv_transpose1d", (f(1, 2, 4), f(2, 3, 3), None, (1,), (0,), (0,), 1, (1,)), 2 * 4 * 18, 32 + 72, 72),
    # a 3x3 kernel at 16 inputs: 2*16*54; 6x6 outputs, 3 channels
    Row("conv_transpose2d", (f(1, 2, 4, 4), f(2, 3, 3, 3), f(3), ONE, ZERO, ZERO, 1, ONE),
        1728 + 108, 128 + 216 + 12, 432),
    Row("conv_transpose3d", (f(1, 1, 1, 1, 1), f(1, 1, 2, 2, 2), None), 16, 4 + 32, 32),
    Row("cudnn_convolution", (*CONV[:2], ZERO, ONE, ONE, 1, False, False, True), 432, 344, 48),
    Row("cudnn_convolution_transpose", (f(1, 2, 4, 4), f(2, 3, 3, 3), ZERO, ZERO, ONE, ONE, 1, False, False, True),
        1728, 128 + 216, 432),
    Row("cudnn_convolution_relu", (*CONV, ONE, ZERO, ONE, 1), 444 + 12, 356, 48),
    Row("miopen_convolution_relu", (*CONV, ONE, ZERO, ONE, 1), 444 + 12, 356, 48),
    # the result added to, and relu: 2 an output more
    Row("cudnn_convolution_add_relu", (*CONV[:2], f(1, 3, 2, 2), 1, CONV[2], ONE, ZERO, ONE, 1), 444 + 24, 356 + 48, 48),
    Row("miopen_convolution", (*CONV, ZERO, ONE, ONE, 1, False, False), 444, 356, 48),
    Row("miopen_convolution_transpose", (f(1, 2, 4, 4), f(2, 3, 3, 3), f(3), ZERO, ZERO, ONE, ONE, 1, False, False), 1836, 356, 432),
    Row("miopen_depthwise_convolution", (f(1, 2, 4, 4), f(2, 1, 3, 3), None, ZERO, ONE, ONE, 2, False, False), 144, 200, 32),
    Row("mkldnn_convolution", (*CONV, ZERO, ONE, ONE, 1), 444, 356, 48),
    *(Row(name, (*CONV[:2], (3, 3), CONV[2], ONE, ZERO), 444, 356, 48)
      for name in ("thnn_conv2d", "_slow_conv2d_forward")),
    Row("slow_conv_dilated2d", (*CONV[:2], (3, 3), CONV[2], ONE, ZERO, ONE), 444, 356, 48),
    *(Row(name, (f(1, 1, 3, 3, 3), f(1, 1, 3, 3, 3), (3, 3, 3), None, (1, 1, 1), (0, 0, 0)), 54, 216, 4)
      for name in ("slow_conv3d", "slow_conv3d_forward", "slow_conv_dilated3d")),
    Row("_conv_depthwise2d", (f(1, 2, 4, 4), f(2, 1, 3, 3), (3, 3), None, ONE, ZERO, ONE), 2 * 2 * 4 * 9, 128 + 72, 32),
    Row("conv_depthwise3d", (f(1, 2, 3, 3, 3), f(2, 1, 3, 3, 3), (3, 3, 3), None, (1,) * 3, (0,) * 3, (1,) * 3), 108, 432, 8),
    Row("slow_conv_transpose2d", (f(1, 2, 4, 4), f(2, 3, 3, 3), (3, 3), f(3), ONE, ZERO, ZERO, ONE), 1836, 356, 432),
    Row("slow_conv_transpose3d", (f(1, 1, 1, 1, 1), f(1, 1, 2, 2, 2), (2,) * 3, None, (1,) * 3, (0,) * 3, (0,) * 3, (1,) * 3),
        16, 36, 32),
    # dX, dW 432 each, dbias 12; reads dY 48, X 128, W 216; writes 128 + 216 + 12
    Row("convolution_backward", (f(1, 3, 2, 2), *CONV[:2], (3,), ONE, ZERO, ONE, False, ZERO, 1, (True, True, True)),
        876, 392, 356),
]  # fmt: skip

# LSTM of 3 inputs and 4 hidden, T 5, N 2: weights 16x3 and 16x4, biases 16 and 16
W = (f(16, 3), f(16, 4), f(16), f(16))
X, STATE = f(5, 2, 3), f(1, 2, 4)
LSTM = 2 * 10 * (48 + 64) + 10 * 32 + 13 * 40  # products, biases, cells: 3080
IN, WEIGHTS = 120, 4 * (48 + 64 + 32)
GRU = (f(12, 3), f(12, 4), f(12), f(12))
PLAIN = (f(4, 3), f(4, 4), f(4), f(4))
RECURRENT = [
    Row("lstm", (X, (STATE, STATE), W, True, 1, 0.0, True, False, False), LSTM, IN + 64 + WEIGHTS, 160 + 64, sfu=200),
    Row("lstm", (f(10, 3), i(5), (STATE, STATE), W, True, 1, 0.0, True, False), LSTM, IN + 64 + WEIGHTS, 224, sfu=200),
    Row("gru", (X, STATE, GRU, True, 1, 0.0, True, False, False),
        2 * 10 * 84 + 10 * 24 + 11 * 40, IN + 32 + 4 * (84 + 24), 160 + 32, sfu=120),
    Row("rnn_tanh", (X, STATE, PLAIN, True, 1, 0.0, True, False, False),
        2 * 10 * 28 + 80, IN + 32 + 4 * 36, 192, sfu=40),
    Row("rnn_relu", (X, STATE, PLAIN, True, 1, 0.0, True, False, False), 560 + 80 + 40, IN + 32 + 144, 192),
    Row("lstm_cell", (f(2, 3), (f(2, 4), f(2, 4)), *W), 2 * 2 * 112 + 2 * 32 + 13 * 8, 24 + 64 + WEIGHTS, 32 + 64, sfu=40),
    Row("gru_cell", (f(2, 3), f(2, 4), *GRU), 2 * 2 * 84 + 48 + 88, 24 + 32 + 432, 32 + 32, sfu=24),
    Row("rnn_tanh_cell", (f(2, 3), f(2, 4), *PLAIN), 2 * 2 * 28 + 16, 24 + 32 + 144, 64, sfu=8),
    Row("rnn_relu_cell", (f(2, 3), f(2, 4), *PLAIN), 112 + 16 + 8, 200, 64),
    Row("mkldnn_rnn_layer", (X, *W, STATE, STATE, False, (), 2, 4, 1, True, False, False, True), LSTM, IN + 64 + WEIGHTS, 224,
        sfu=200),
    Row("miopen_rnn", (X, W, 4, STATE, STATE, 2, 4, 1, False, 0.0, True, False, (), None), LSTM, IN + 64 + WEIGHTS, 224, sfu=200),
    Row("_cudnn_rnn", (X, W, 4, None, STATE, STATE, 2, 4, 0, 1, False, 0.0, True, False, (), None), LSTM, IN + 64 + WEIGHTS, 224,
        sfu=200),
    # products twice, bias sums 320, cells 22*40; reads y, dy too; writes dx, dW and the states' gradients
    Row("mkldnn_rnn_layer_backward", (X, *W, STATE, STATE, f(5, 2, 4), STATE, STATE, f(5, 2, 4), None, None, False, 2, 4, 1,
        True, True, False, (), False, None), 2 * 2240 + 320 + 880, IN + 64 + WEIGHTS + 160 + 64 + 160, IN + WEIGHTS + 64),
    Row("_cudnn_rnn_backward", (X, W, 4, f(144), STATE, STATE, f(5, 2, 4), f(5, 2, 4), None, None, 2, 4, 0, 1, False, 0.0, True,
        False, (), None, None, (True,) * 4), 2 * 2240 + 320 + 880, IN + 64 + WEIGHTS + 320, IN + WEIGHTS + 64),
    # gates of 2x16: add hidden gates 32; cells 13*8; reads gates twice and c; writes h, c, workspace
    Row("_thnn_fused_lstm_cell", (f(2, 16), f(2, 16), f(2, 4), None, None), 32 + 104, 256 + 32, 64 + 128, sfu=40),
    Row("_thnn_fused_gru_cell", (f(2, 12), f(2, 12), f(2, 4), f(12), f(12)), 72 + 88, 192 + 32 + 96, 32 + 160, sfu=24),
    # 22*8; bias sums 32; reads dh, dc, c, c', workspace
    *(Row(name, (f(2, 4), f(2, 4), f(2, 4), f(2, 4), f(2, 16), True), 176 + 32, 128 + 128, 128 + 32)
      for name in ("_thnn_fused_lstm_cell_backward", "_thnn_fused_lstm_cell_backward_impl")),
    Row("_thnn_fused_gru_cell_backward", (f(2, 4), f(2, 20), True), 17 * 8 + 48, 32 + 160, 96 + 32 + 96),
]  # fmt: skip

# 4x6 with 5 elements: 20 B of values; COO 2*5*8 = 80 B of indices, CSR (5 + 5)*8 = 80 B as well
COO = Tensor((4, 6), layout="coo", stored=5)
CSR = Tensor((4, 6), layout="csr", stored=5)
OTHER = Tensor((6, 4), layout="coo", stored=5)
# 3 blocks of 2x2: 48 B of values, 3 columns and 3 pointers of 8 B
BSR = Tensor((4, 6), layout="bsr", stored=12, places=3, index_nbytes=48)
# 3 of 10 rows of 4: 48 B of values, 3 indices
ROWS_OF_TABLE = Tensor((10, 4), layout="coo", stored=12, places=3, index_nbytes=24)


def coo(*shape, stored):
    return Tensor(shape, layout="coo", stored=stored)


SPARSE = [
    # 2*5*3; the 5 rows of D named, 12 B each; C is 4x3
    *(Row(name, (s, f(6, 3)), 30, 100 + 60, 48, words="per hit") for name in ("mm", "_sparse_mm") for s in (COO, CSR)),
    *(Row(name, (f(4, 3), s, f(6, 3), 1, 1), 30 + 12, 100 + 60 + 48, 48) for name in ("addmm", "_sparse_addmm") for s in (COO, CSR)),
    Row("_sparse_addmm", (f(4, 3), CSR, f(6, 3), 0, 1), 30, 160, 48),
    # 2*5*2 and an add each; 4 rows of A (there are no more) and 5 columns of B, 8 B each
    Row("sparse_sampled_addmm", (CSR, f(4, 2), f(2, 6), 1, 1), 20 + 5, 100 + 32 + 40, 100),
    *(Row(name, (COO, None, None), 0, 100, 96) for name in ("_to_dense", "to_dense")),
    Row("_to_dense", (f(4, 6), None, None), 0, 96, 96),  # of a tensor in oneDNN's blocks
    *(Row(name, (f(4, 6),), 24, 96, 100, outputs=(s,)) for name, s in (
        ("_to_sparse", COO), ("to_sparse", COO), ("_to_sparse_csr", CSR))),
    # columns: 3 elements, 12 B; (3 + 7) * 8 B of indices
    Row("_to_sparse_csc", (f(4, 6),), 24, 96, 12 + 80, outputs=(Tensor((4, 6), layout="csc", stored=3),)),
    # from one sparse layout to another
    Row("_to_sparse_csr", (COO,), 0, 100, 100),
    # not recorded: at most all 24 elements, 4 + 2*8 B each
    Row("_to_sparse", (f(4, 6),), 24, 96, 480, words="from none to all"),
    # 5 elements, 3 comparisons each, and an add
    Row("_coalesce", (COO,), 15 + 5, 100, 100),
    Row("sparse_mask", (f(4, 6), COO), 0, 80 + 20, 100),
    Row("_sparse_softmax", (COO, 1, False), 20, 100, 100, sfu=5),
    # blocks: every element stored is one, 2*12*3; rows of D named: all 6 of 12 B
    Row("mm", (BSR, f(6, 3)), 72, 96 + 72, 48),
    # the sparse one behind: 2*5*3; 4 columns of A (there are no more), 12 B each; C is 3x6
    Row("mm", (f(3, 4), COO), 30, 100 + 48, 72),
    # both: as if spread evenly 2*5*5/6 = 8, no less than the 4 elements of C; C 16 + 64 B
    *(Row(name, (COO, OTHER), 8, 200, 80, outputs=(coo(4, 4, stored=4),), words="a range")
      for name in ("mm", "_sparse_sparse_matmul")),
    # a vector: 2*5; 5 elements of x named; an add for each of 4 outputs
    Row("mv", (COO, f(6)), 10, 100 + 20, 16),
    Row("addmv", (f(4), CSR, f(6), 1, 1), 10 + 4, 16 + 100 + 20, 16),
    Row("bmm", (coo(2, 4, 6, stored=5), f(2, 6, 3)), 30, 20 + 120 + 60, 96),
    # onto a dense matrix: 5 adds; in place 5 elements of it; scaled rows of a table, 16 B each
    Row("add", (f(4, 6), COO, 1), 5, 96 + 100, 96),
    Row("add_", (f(4, 6), COO, 1), 5, 100 + 20, 20),
    Row("sub_", (f(4, 6), COO, 1), 5, 100 + 20, 20),
    Row("add_", (f(10, 4), ROWS_OF_TABLE, -0.1), 24, 72 + 48, 48),
    # two sparse: 8 places of 10 held, so 2 are added; 32 + 128 B
    Row("add", (COO, COO, 1), 2, 200, 160, outputs=(coo(4, 6, stored=8),)),
    Row("mul", (COO, COO), 2, 200, 40, outputs=(coo(4, 6, stored=2),)),
    Row("mul", (COO, f(4, 6)), 5, 100 + 20, 100),
    Row("mul", (COO, 2.0), 5, 100, 100),
    Row("div", (CSR, f()), 5, 100, 100),
    # on the elements held; in place without indices
    Row("relu", (COO,), 5, 100, 100),
    Row("relu_", (COO,), 5, 20, 20),
    Row("clone", (CSR, None), 0, 100, 100),
    Row("_to_copy", (BSR, "fp64"), 0, 96, 96 + 48, outputs=(replace(BSR, dtype="fp64"),)),
    *(Row(name, (COO, None), 5, 100, 4) for name in ("sum", "_sparse_sum")),
    Row("_sparse_sum", (COO, (1,)), 5, 100, 12 + 24, outputs=(coo(4, stored=3),)),
    Row("cat", ((COO, COO), 0), 0, 200, 200),
    *(Row(name, (f(4, 6), (2, 2)), 24, 96, 96, outputs=(BSR,)) for name in ("_to_sparse_bsr", "_to_sparse_bsc")),
    Row("_to_sparse_bsr", (CSR, (2, 2)), 0, 100, 96, outputs=(BSR,)),
]  # fmt: skip

# 3 and 5 rows of 2 heads of 16, bf16: 512 B a tensor; 9 + 25 scores of 4*2*16, causal 6 + 15
TOKENS, STARTS = bf(8, 2, 16), Tensor((3,), "int32", values=(0, 3, 8))
GIVEN = (TOKENS, TOKENS, TOKENS, STARTS, STARTS, 5, 5)
NESTED = [
    # int8: 2*3*5*4; quantise 12 inputs, 7 each; 2 an output; W is 20 B
    *(Row(f"quantized::linear{name}_dynamic", (f(3, 4), "linearpackedparamsbase", False), 120 + 84 + 30,
          48 + 20, 60, outputs=(f(3, 5),), words="taken as int8") for name in ("", "_relu")),
    *(Row(f"quantized::linear{name}", (Tensor((3, 4), "quint8"), "linearpackedparamsbase", 0.1, 3), 120 + 75,
          12 + 20, 15, outputs=(Tensor((3, 5), "quint8"),)) for name in ("", "_relu")),
    Row("torch_attn::_varlen_attn", (*GIVEN, False, None, None), 128 * 34, 1536, 512),
    Row("torch_attn::_varlen_attn", (*GIVEN, True, None, (-1, -1)), 128 * 21, 1536, 512),
    # a window of one key back: 2 S - 1 a sequence
    Row("torch_attn::_varlen_attn", (*GIVEN, True, None, (1, 0)), 128 * (5 + 9), 1536, 512),
    Row("torch_attn::_varlen_attn_out", (TOKENS, *GIVEN, False, None, None), 128 * 34, 1536, 512),
    Row("torch_attn::_varlen_attn_backward",
        (TOKENS, *[TOKENS] * 3, TOKENS, f(2, 8), STARTS, STARTS, 5, 5, True, None, None, None),
        2 * 128 * 21, 5 * 512, 3 * 512),
    # lengths that nobody sees: a range
    Row("torch_attn::_varlen_attn", (TOKENS, TOKENS, TOKENS, *[Tensor((3,), "int32")] * 2, 5, 5, False, None, None),
        128 * 32, 1536, 512, words="a range"),
    # dA = G B^T and dB = A^T G: 2*3*5*4 each
    Row("matmul_backward", (f(3, 5), f(3, 4), f(4, 5), (True, True)), 240, 60 + 48 + 80, 48 + 80),
    Row("matmul_backward", (f(3, 5), f(3, 4), f(4, 5), (False, True)), 120, 60 + 48, 80),
    Row("_nested_tensor_from_mask_left_aligned", (f(2, 5, 8), b(2, 5)), 20, 10, 0),
]  # fmt: skip

ROWS = [*PRODUCTS, *SPARSE, *NESTED, *ATTENTION, *CONVOLUTIONS, *RECURRENT]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    """Amounts equal the row."""
    check(row)


@pytest.mark.parametrize(
    ("call", "pipe"),
    [
        (Call("aten::_int_mm", (c8(32, 64), c8(64, 32))), TENSOR_INT8),
        (Call("aten::_scaled_mm", (e4(64, 64), e4(64, 64), f(), f())), TENSOR_FP8),
        (Call("aten::mm", (f(2, 3), f(3, 5)), math="tf32"), TENSOR_TF32),
        (Call("aten::mm", (bf(2, 3), bf(3, 5))), TENSOR_BF16),
        (Call("aten::_sparse_semi_structured_mm", (h(32, 32), h(32, 4), h(64, 16))), TENSOR_FP16_SPARSE),
    ],
    ids=lambda x: getattr(x, "name", getattr(x, "op", None)),
)  # fmt: skip
def test_pipe(call, pipe):
    """int8 is integer operations against the int8 ceiling, tf32 and sparse are pipes of their own."""
    assert [r for r in ops.account(call).demand() if r.is_pipe] == [pipe]


def test_packed_gemm_formula():
    """int4 4096x4096: W 8,388,608 B, scales 262,144, x and y 8,192 each; 33,554,432 flop: 3.87 a byte."""
    ledger = ops.packed_gemm(m=1, n=4096, k=4096)

    assert ledger.demand() == {TENSOR_BF16: 33_554_432, DRAM: 8_667_136}
    assert round(33_554_432 / 8_667_136, 2) == 3.87


def test_a_sparse_operand_of_a_dense_rule_is_a_gap():
    """And one whose elements nobody counted."""
    for call in (
        Call("aten::layer_norm", (COO, (6,), None, None)),
        Call("aten::add", (COO, COO, 1)),
        Call("aten::mm", (COO, OTHER)),
        Call("aten::addmm", (COO, COO, f(6, 6))),
        Call("aten::mm", (Tensor((4, 6), layout="coo"), f(6, 3))),
    ):
        assert ops.account(call).unaccounted == (call.op,)
        assert any(w in ops.account(call).conventions[0] for w in ("sparse", "was not recorded"))


def test_scores_of_packed_sequences_are_a_range():
    """Causal, 6 tokens in two sequences of at most 4: 6 + 6 = 12 scores to 10 + 3 = 13."""
    entry = ops.account(Call("aten::_flash_attention_forward",
                             (PACKED, PACKED, PACKED, LENGTHS, LENGTHS, 4, 4, 0.0, True, False, *FLASH_TAIL))).entries[0]  # fmt: skip

    each = 4 * 2 * 8
    assert (entry.amount, entry.low, entry.high) == (12 * each, 12 * each, 13 * each)


def test_what_attention_kernels_run_beyond_the_formula():
    """B4 H16 S2048 D128 by flex: 7 products, not 4; B2 H8 S1024 D64 in fp32: three of tf32 for each."""
    q, every = bf(4, 16, 2048, 128), 4 * 16 * 2048 * 2048
    flex = Call("higher_order::flex_attention_backward", (q, q, q, (every, every)), device="cuda")
    assert ops.account(flex).demand()[TENSOR_BF16] == 2 * 4 * 128 * every
    assert ops.executed(flex).demand()[TENSOR_BF16] == 481_036_337_152 == 7 * 2 * 128 * every
    x = f(2, 8, 1024, 64)
    efficient = ("aten::_scaled_dot_product_efficient_attention", (x, x, x, None, False))
    on_gpu, on_cpu = (Call(*efficient, device=device) for device in ("cuda", "cpu"))
    assert ops.account(on_gpu).demand()[TENSOR_TF32] == 4_294_967_296 == 4 * 64 * 16 * 1024 * 1024
    assert ops.executed(on_gpu).demand()[TENSOR_TF32] == 3 * 4_294_967_296
    assert TENSOR_TF32 not in ops.account(on_cpu).demand()
