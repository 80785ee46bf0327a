"""Reductions, scans, softmax, normalisation, losses and dropout, by hand."""

import pytest

from roofline.call import Tensor
from tests.tables.ops_golden import Row, b, check, f, h, i

X = f(4, 6)  # 24 elements, 96 B

REDUCTIONS = [
    # one step an element; a result is 4 B
    Row("sum", (X, None), 24, 96, 4),
    Row("sum", (X, (1,), False, None), 24, 96, 4 * 4),
    Row("sum", (X, (0,), True, None), 24, 96, 6 * 4),
    Row("sum", (i(4, 6), None), 24, 192, 8),  # integers: operations, not flop
    Row("sum", (b(4, 6), None), 24, 24, 8),  # counts in int64
    Row("sum", (h(4, 6), (1,), False, "fp32"), 24, 48, 16),
    Row("nansum", (X, None, False, None), 48, 96, 4),  # compare, add
    Row("mean", (X, None), 24 + 1, 96, 4),
    Row("mean", (X, (-1,), True, None), 24 + 4, 96, 16),
    Row("prod", (X, 1, False, None), 24, 96, 16),
    Row("amax", (X, (1,), False), 24, 96, 16),
    Row("amin", (X, (), False), 24, 96, 4),
    Row("max", (X,), 24, 96, 4),
    Row("max", (X, 1, False), 24, 96, 4 * 4 + 4 * 8),  # values and int64 places
    Row("max", (X, f(6)), 24, 96 + 24, 96),  # of two tensors
    Row("min", (X, 0, True), 24, 96, 6 * 4 + 6 * 8),
    Row("any", (b(4, 6),), 24, 24, 1),
    Row("all", (b(4, 6), 1, False), 24, 24, 4),
    Row("argmax", (X, -1, False), 24, 96, 4 * 8),
    Row("argmin", (X, None, False), 24, 96, 8),
    Row("count_nonzero", (X, ()), 24, 96, 8),
    # sum; subtract, square, sum: 4 an element; 2 divides a result; std has a root
    Row("var", (X, (1,), 1, False), 96 + 2 * 4, 96, 16),
    Row("var", (X, True), 96 + 2, 96, 4),
    Row("std", (X, (1,), 1, True), 96 + 8, 96, 16, sfu=4),
    Row("var_mean", (X, (1,), 1, True), 96 + 8, 96, 32),
    Row("std_mean", (X, None, 1, False), 96 + 2, 96, 8, sfu=1),
    Row("aminmax", (X, 1, False), 48, 96, 32),
    # max, subtract, sum and exp; log and add a result
    Row("logsumexp", (X, (1,), False), 72 + 4, 96, 16, sfu=24 + 4),
    Row("norm", (X, 2), 48, 96, 4, sfu=1),
    Row("linalg_vector_norm", (X, 2, (1,), False, None), 48, 96, 16, sfu=4),
    Row("linalg_vector_norm", (X, 1, None, False, None), 48, 96, 4),
    Row("linalg_vector_norm", (X, "inf", None, False, None), 48, 96, 4),
    Row("linalg_vector_norm", (X, 3, None, False, None), 48, 96, 4, sfu=24 + 1),
    Row("_foreach_max", ((X, f(5)),), 29, 96 + 20, 8),
    Row("_foreach_norm", ((X, f(5)), 2, None), 48 + 10, 96 + 20, 8, sfu=2),
    Row("trace", (X,), 4, 16, 4),
    Row("equal", (X, X), 24, 192, 0),
    Row("allclose", (X, X), 120, 192, 0),
    # scans: all partial results are written
    Row("cumsum", (X, 1, None), 24, 96, 96),
    Row("cumsum_", (X, 1, None), 24, 96, 96),
    Row("cumsum", (b(4, 6), 1, None), 24, 24, 192),
    Row("cumprod", (X, 0, None), 24, 96, 96),
    Row("cumprod_", (X, 0, None), 24, 96, 96),
    Row("logcumsumexp", (X, 1), 96, 96, 96, sfu=48),
    Row("cummax", (X, 1), 24, 96, 96 + 192),
    Row("cummin", (X, 1), 24, 96, 96 + 192),
    # a reduction over an expanded dimension reads what is there: randn(4,1).expand(4,1024), 16 B
    Row("sum", (f(4, 1024, strides=(1, 0)), None), 4096, 16, 4),
]  # fmt: skip

SOFTMAX = [
    # max, subtract, sum, scale; exp on sfu
    *(Row(name, (X, 1, False), 96, 96, 96, sfu=24, words="left out")
      for name in ("_softmax", "_log_softmax")),
    *(Row(name, (X, 1, None), 96, 96, 96, sfu=24)
      for name in ("softmax", "log_softmax", "_safe_softmax")),
    Row("_softmax", (h(4, 6), 1, True), 96, 48, 96, sfu=24),  # half to float
    Row("softmax", (h(4, 6), 1, "fp32"), 96, 48, 96, sfu=24),
    Row("_masked_softmax", (X, b(4, 6), 1, 0), 96, 96 + 24, 96, sfu=24),
    Row("_masked_softmax_backward", (X, X, b(4, 6), 1), 96, 192 + 24, 96),
    # y (g - sum g y): 4
    Row("_softmax_backward_data", (X, X, 1, "fp32"), 96, 192, 96),
    # g - exp(y) sum g: 3 and exp
    Row("_log_softmax_backward_data", (X, X, 1, "fp32"), 72, 192, 96, sfu=24),
]  # fmt: skip

P = f(6)  # a parameter of 6, 24 B
NORMS = [
    # sum; subtract, square, sum; subtract, scale, gamma, beta: 8; mean and rstd a row, 4 B each
    Row("native_layer_norm", (X, (6,), P, P, 1e-5), 192, 96 + 48, 96 + 32),
    Row("native_layer_norm", (X, (6,), None, None, 1e-5), 144, 96, 96 + 32),
    Row("native_layer_norm", (h(4, 6), (6,), h(6), h(6), 1e-5), 192, 48 + 24, 48 + 16),
    # on CUDA statistics of half tensors are fp32
    Row("native_layer_norm", (h(4, 6), (6,), h(6), h(6), 1e-5), 192, 72, 48 + 32, device="cuda"),
    Row("layer_norm", (X, (6,), P, P, 1e-5, True), 192, 144, 96),
    # x^ 2, sums 3, dx 4, dgamma 2, dbeta 1, gamma 1: 13; reads g, x, mean, rstd, gamma
    Row("native_layer_norm_backward", (X, X, (6,), f(4, 1), f(4, 1), P, P, (True, True, True)),
        312, 192 + 32 + 24, 96 + 48),
    Row("native_layer_norm_backward", (X, X, (6,), f(4, 1), f(4, 1), None, None, (True, False, False)),
        216, 192 + 32, 96),
    # square, sum, scale, gamma: 4; rstd a row
    Row("_fused_rms_norm", (X, (6,), P, 1e-5), 96, 96 + 24, 96 + 16),
    Row("rms_norm", (X, (6,), P, None), 96, 120, 96),
    Row("rms_norm", (X, (6,), None, None), 72, 96, 96),
    # x^ 1, sum 2, dx 3, dgamma 2, gamma 1: 9
    Row("_fused_rms_norm_backward", (X, X, (6,), f(4, 1), P, (True, True)), 216, 192 + 16 + 24, 96 + 24),
    # two groups of a batch of 1, 4 channels of 6: statistics of 2 groups
    Row("native_group_norm", (f(1, 4, 6), f(4), f(4), 1, 4, 6, 2, 1e-5), 192, 96 + 32, 96 + 16),
    Row("group_norm", (f(1, 4, 6), 2, f(4), f(4), 1e-5, True), 192, 128, 96),
    Row("native_group_norm_backward", (f(1, 4, 6), f(1, 4, 6), f(1, 2), f(1, 2), f(4), 1, 4, 6, 2,
        (True, True, True)), 312, 192 + 16 + 16, 96 + 32),
    Row("instance_norm", (f(1, 4, 6), f(4), f(4), None, None, True, 0.1, 1e-5, True), 192, 128, 96),
    # training: running statistics of 4 channels cross twice, and saved ones are written
    *(Row(name, (f(1, 4, 6), f(4), f(4), f(4), f(4), True, 0.1, 1e-5), 192, 96 + 32 + 32, 96 + 32 + 32)
      for name in ("native_batch_norm", "_native_batch_norm_legit", "cudnn_batch_norm",
                   "miopen_batch_norm")),
    Row("_batch_norm_with_update", (f(1, 4, 6), f(4), f(4), f(4), f(4), 0.1, 1e-5), 192, 160, 160),
    Row("_native_batch_norm_legit_no_training", (f(1, 4, 6), f(4), f(4), f(4), f(4), 0.1, 1e-5), 96, 96 + 64, 96),
    # shared by devices: 4 for the statistics, 4 to normalise, 4 for the sums, 5 to apply them
    Row("batch_norm_stats", (f(1, 4, 6), 1e-5), 96, 96, 32),
    *(Row(name, (f(1, 4, 6), f(2, 4), f(2, 4), f(4), f(4), 0.1, 1e-5, f(2)), 64, 64 + 32, 32 + 32)
      for name in ("batch_norm_gather_stats", "batch_norm_gather_stats_with_counts")),
    Row("batch_norm_elemt", (f(1, 4, 6), f(4), f(4), f(4), f(4), 1e-5), 96, 96 + 64, 96),
    Row("batch_norm_backward_reduce", (f(1, 4, 6), f(1, 4, 6), f(4), f(4), f(4), True, True, True), 96, 192 + 32, 64),
    Row("batch_norm_backward_elemt", (f(1, 4, 6), f(1, 4, 6), f(4), f(4), f(4), f(4), f(4), Tensor((2,), "int32")),
        120, 192 + 80 + 8, 96),
    # square, add, scale; sum 2, gradient 3
    Row("_weight_norm_interface", (X, f(4, 1), 0), 72, 96 + 16, 96 + 16),
    Row("_weight_norm_interface_backward", (X, X, f(4, 1), f(4, 1), 0), 120, 192 + 32, 96 + 16),
    Row("_native_batch_norm_legit", (f(1, 4, 6), f(4), f(4), True, 0.1, 1e-5), 192, 128, 96 + 32),
    Row("batch_norm", (f(1, 4, 6), f(4), f(4), f(4), f(4), True, 0.1, 1e-5, True), 192, 160, 96 + 32),
    # evaluation: subtract, scale, gamma, beta
    Row("native_batch_norm", (f(1, 4, 6), f(4), f(4), f(4), f(4), False, 0.1, 1e-5), 96, 96 + 64, 96),
    # 13 an element; in evaluation dx is g rstd gamma 2, dgamma 4, dbeta 1: 7
    Row("native_batch_norm_backward", (f(1, 4, 6), f(1, 4, 6), f(4), f(4), f(4), f(4), f(4), True, 1e-5,
        (True, True, True)), 312, 192 + 32 + 16, 96 + 32),
    Row("native_batch_norm_backward", (f(1, 4, 6), f(1, 4, 6), f(4), f(4), f(4), None, None, False, 1e-5,
        (True, True, True)), 168, 192 + 32 + 16, 96 + 32),
    *(Row(name, (f(1, 4, 6), f(1, 4, 6), f(4), f(4), f(4), f(4), f(4), 1e-5, None), 312, 192 + 32 + 16, 96 + 32)
      for name in ("cudnn_batch_norm_backward", "miopen_batch_norm_backward")),
    Row("batch_norm_backward", (f(1, 4, 6), f(1, 4, 6), f(4), f(4), f(4), f(4), f(4), True, 1e-5, (True,) * 3, None),
        312, 240, 128),
]  # fmt: skip

T = i(4)  # targets, 32 B
LOSSES = [
    # negate and add a target, divide; reads targets and 4 elements of logp; loss and total weight
    Row("nll_loss_forward", (X, T, None, 1, -100), 8 + 1, 32 + 16, 8, words="per hit"),
    Row("nll_loss_forward", (X, T, P, 2, -100), 16, 32 + 16 + 16, 8),
    Row("nll_loss2d_forward", (f(1, 6, 2, 2), i(1, 2, 2), None, 0, -100), 4, 32 + 16, 16 + 4),
    # reads the gradient, targets and the total weight; writes all of dlogp
    Row("nll_loss_backward", (f(), X, T, None, 1, -100, f()), 8, 4 + 32 + 4, 96),
    Row("nll_loss2d_backward", (f(), f(1, 6, 2, 2), i(1, 2, 2), None, 1, -100, f()), 8, 40, 96),
    # max, subtract, sum 3 and exp an element; 3 a target
    Row("cross_entropy_loss", (X, T, None, 1, -100, 0.0), 72 + 12, 96 + 32, 4, sfu=24),
    Row("mse_loss", (X, X, 1), 72 + 1, 192, 4),  # subtract, square, add; divide
    Row("mse_loss", (X, X, 0), 48, 192, 96),
    Row("mse_loss_backward", (f(), X, X, 1), 48, 4 + 192, 96),
    Row("l1_loss", (X, X, 2), 72, 192, 4),
    Row("smooth_l1_loss", (X, X, 1, 1.0), 144 + 1, 192, 4),
    Row("smooth_l1_loss_backward", (f(), X, X, 1, 1.0), 120, 196, 96),
    Row("huber_loss", (X, X, 1, 1.0), 145, 192, 4),
    Row("huber_loss_backward", (f(), X, X, 1, 1.0), 120, 196, 96),
    # 6 and two logs; add; divide
    Row("binary_cross_entropy", (X, X, None, 1), 168 + 1, 192, 4, sfu=48),
    Row("binary_cross_entropy", (X, X, X, 0), 168, 288, 96, sfu=48),
    Row("binary_cross_entropy_backward", (f(), X, X, None, 1), 120, 196, 96),
    Row("binary_cross_entropy_with_logits", (X, X, None, P, 1), 24 * 9 + 1, 192 + 24, 4, sfu=48),
    Row("soft_margin_loss", (X, X, 1), 97, 192, 4, sfu=48),
    Row("soft_margin_loss_backward", (f(), X, X, 1), 144, 196, 96, sfu=24),
    # margin - x_y + x 2, compare, add: 4
    Row("multi_margin_loss", (X, T, 1, 1, None, 1), 96, 96 + 32, 4),
    Row("multi_margin_loss_backward", (f(), X, T, 1, 1, None, 1), 120, 4 + 96 + 32, 96),
    # at most 6*6/4 pairs a row: 4 * 24 * 6 / 4
    Row("multilabel_margin_loss_forward", (X, i(4, 6), 1), 144, 96 + 192, 4 + 96),
    Row("multilabel_margin_loss_backward", (f(), X, i(4, 6), 1, X), 144, 4 + 96 + 192 + 96, 96),
    # 5 steps, 2 sequences of 3 labels: 5 * (7 + 7) = 70 states, 8 and 4 each
    *(Row(name, (f(5, 2, 4), i(2, 3), (5, 5), (3, 3), 0, False), 560, 160 + 48, 8 + 280, sfu=280)
      for name in ("_ctc_loss", "_cudnn_ctc_loss")),
    Row("_ctc_loss_backward", (f(2), f(5, 2, 4), i(2, 3), (5, 5), (3, 3), f(2), f(2, 5, 7), 0, False),
        2 * 560 + 40, 160 + 48 + 280, 160, sfu=560),
]  # fmt: skip

DROPOUT = [
    # compare, mask, scale; a byte of mask an element
    Row("native_dropout", (X, 0.1, True), 72, 96, 96 + 24, words="random"),
    Row("_fused_dropout", (X, 0.9, None), 72, 96, 120),
    Row("dropout", (X, 0.1, True), 72, 96, 120),
    Row("dropout", (X, 0.1, False), 0, 0, 0),
    Row("feature_dropout", (X, 0.1, True), 72, 96, 120),
    Row("alpha_dropout", (X, 0.1, True), 72, 96, 120),
    Row("feature_alpha_dropout", (X, 0.1, False), 0, 0, 0),
    Row("multinomial", (X, 2, False, None), 48, 96, 4 * 2 * 8),
    Row("multinomial", (X, 2, True, None), 24, 96, 64),
]  # fmt: skip

ROWS = [*REDUCTIONS, *SOFTMAX, *NORMS, *LOSSES, *DROPOUT]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    """Amounts equal the row."""
    check(row)
