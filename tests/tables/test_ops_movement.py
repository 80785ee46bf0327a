"""Copies, indexing, sorting, pooling, resampling, optimizers, transforms, collectives, by hand."""

import pytest

from roofline import ops
from roofline.call import Call, Tensor
from roofline.device import DRAM
from roofline.ops import collective, free
from roofline.work import Exactness
from tests.tables.ops_golden import Row, b, check, f, h, i

X = f(4, 6)  # 24 elements, 96 B
SAME = f(4, 6, strides=(6, 1), storage=1)

COPIES = [
    *(Row(name, (X, *args), 0, 96, 96) for name, args in (
        ("clone", (None,)), ("flip", ((0,),)), ("roll", ((1,), (0,))), ("rot90", (1, (0, 1))),
        ("pixel_shuffle", (2,)), ("pixel_unshuffle", (2,)), ("channel_shuffle", (2,)),
        ("native_channel_shuffle", (2,)), ("view_copy", ((24,),)), ("_reshape_copy", ((24,),)),
        ("permute_copy", ((1, 0),)), ("transpose_copy", (0, 1)), ("t_copy", ()), ("detach_copy", ()),
        ("alias_copy", ()), ("lift_fresh_copy", ()), ("squeeze_copy", ()), ("unsqueeze_copy", (0,)), ("_conj_physical", ()),
        ("conj_physical", ()), ("to_mkldnn", (None,)), ("_mkldnn_transpose", (0, 1)))),
    *(Row(f"mkldnn_reorder_conv{n}d_weight", (X,), 0, 96, 96) for n in (2, 3)),
    # at most: in plain order nothing is copied
    Row("_mkldnn_reshape", (X, (24,)), 0, 96, 96, words="from nothing to all"),
    # what is expanded is read once and written in full
    Row("clone", (f(4, 6, strides=(1, 0)), None), 0, 16, 96),
    Row("_to_copy", (X, "bf16"), 0, 96, 48),
    Row("_to_copy", (X, 5), 0, 96, 48),  # ScalarType 5 is half
    Row("_to_copy", (X, None, None, None, None, False, None), 0, 96, 96),
    Row("copy_", (X, f(6)), 0, 24, 96),
    *(Row(name, (X, X), 0, 96, 96) for name in ("copy", "set_data")),
    # T 5 rows of 2, in two sequences padded to 4
    Row("_jagged_to_padded_dense_forward", (f(5, 2), (i(3),), (4,), 0.0), 0, 40 + 24, 64),
    Row("_padded_dense_to_jagged_forward", (f(2, 4, 2), (i(3),), 5), 0, 40 + 24, 40),
    Row("to", (X, "torch.float16", False, False, None), 0, 96, 48),
    # the output shares its input's storage, or not
    Row("to", (SAME, "fp32"), 0, 0, 0, outputs=(SAME,)),
    Row("reshape", (SAME, (24,)), 0, 0, 0, outputs=(f(24, strides=(1,), storage=1),)),
    Row("reshape", (SAME, (24,)), 0, 96, 96, outputs=(f(24, strides=(1,), storage=2),)),
    Row("reshape_as", (SAME, SAME), 0, 0, 0),  # contiguous: returned as it is
    Row("flatten", (SAME, 0, -1), 0, 0, 0),
    # without a recorded result the strides decide: across memory no view spans two dimensions
    Row("flatten", (f(6, 4, strides=(1, 6)), 0, -1), 0, 96, 96),
    Row("reshape", (f(6, 4, strides=(1, 6)), (-1,)), 0, 96, 96),
    Row("reshape", (f(6, 4, strides=(1, 6)), (2, 3, 4)), 0, 0, 0),
    Row("ravel", (SAME,), 0, 0, 0),
    Row("contiguous", (SAME,), 0, 0, 0),
    Row("contiguous", (f(6, 4, strides=(1, 6)),), 0, 96, 96),
    *(Row(name, (X, times), 0, 96, 192) for name, times in
      (("repeat", (2, 1)), ("tile", (2, 1)), ("repeat_interleave", (2,)))),
    Row("cat", ((X, f(1, 6)), 0), 0, 96 + 24, 120),
    Row("concat", ((X, f(4, 1)), 1), 0, 96 + 16, 112),
    Row("stack", ((X, X), 0), 0, 192, 192),
    Row("flatten_dense_tensors", ((X, f(5)),), 0, 96 + 20, 116),
    Row("resolve_conj", (SAME,), 0, 0, 0),
    Row("resolve_neg", (SAME,), 0, 0, 0),
    Row("block_diag", ((f(2, 2), f(1, 3)),), 0, 16 + 12, 3 * 5 * 4),
    # 4x6, on or below the diagonal: 1 + 2 + 3 + 4 = 10 kept; above it and on it: 24 - 6 = 18
    Row("tril", (X, 0), 0, 40, 96),
    Row("triu", (X, 0), 0, 72, 96),
    Row("tril_", (X, 0), 0, 0, 4 * 14),
    Row("triu_", (X, 0), 0, 0, 4 * 6),
    Row("diagonal_copy", (X, 0, 0, 1), 0, 16, 16),
    Row("diag_embed", (f(3), 0, -2, -1), 0, 12, 36),
    Row("_pack_padded_sequence", (f(2, 3, 4), i(2), True), 0, 96, 80, outputs=(f(5, 4), i(3))),
    Row("_pack_padded_sequence_backward", (f(5, 4), (2, 3, 4), i(3), True), 0, 80, 96, outputs=(f(2, 3, 4),)),
    Row("_pad_packed_sequence", (f(5, 4), i(3), True, 0.0, 3), 0, 80, 96, outputs=(f(2, 3, 4), i(2))),
    Row("_convert_weight_to_int4pack", (Tensor((8, 8), "uint8"), 2), 0, 64, 64),
    Row("_convert_weight_to_int4pack_for_cpu", (Tensor((8, 8), "int32"), 2), 0, 256, 32),
]  # fmt: skip

CREATION = [
    *(Row(name, (X, 1.0), 0, 0, 96) for name in (
        "fill_", "zero_", "bernoulli_", "normal_", "uniform_", "random_", "exponential_",
        "geometric_", "cauchy_", "log_normal_", "zeros_like", "ones_like", "rand_like", "randn_like",
        "fill", "uniform", "exponential", "geometric", "random", "log_normal", "cauchy", "normal_functional")),
    Row("full_like", (X, 1.0, "fp16"), 0, 0, 48),
    Row("_foreach_zero_", ((X, f(6)),), 0, 0, 120),
    *(Row(name, ((4, 6), None), 0, 0, 96) for name in ("zeros", "ones", "rand", "randn")),
    Row("full", ((4, 6), 1.0, None), 0, 0, 96),
    Row("full", ((4, 6), 1, None), 0, 0, 192),
    Row("scalar_tensor", (1.0, "fp32"), 0, 0, 4),
    *(Row(name, (h(2), (4, 6), None), 0, 0, 48) for name in ("new_zeros", "new_ones")),
    Row("new_full", (h(2), (4, 6), 1.0, None), 0, 0, 48),
    Row("bernoulli", (X, None), 0, 96, 96, words="random"),
    # a multiply and an add; a power more; 0.5 - 0.5 cos(t)
    Row("linspace", (0, 1, 5, None, None, None, None), 10, 0, 20),
    Row("logspace", (0, 1, 5, 10.0, None, None, None, None), 10, 0, 20, sfu=5),
    Row("randperm", (5, 4, None, None, None), 0, 0, 40),
    *(Row(name, (8,), 24, 0, 32, sfu=8) for name in
      ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")),
    Row("eye", (3, None, None, None, None), 0, 0, 36),
    Row("eye", (3, 2, None, None, None, None), 0, 0, 24),
    Row("tril_indices", (4, 6, 0), 0, 0, 2 * 10 * 8),
    Row("triu_indices", (4, 6, 0), 0, 0, 2 * 18 * 8),
    Row("normal", (X, 1.0, None), 48, 96, 96),
    Row("normal", (0.0, 1.0, (4, 6), None), 48, 0, 96),
    Row("poisson", (X, None), 0, 96, 96),
    Row("_standard_gamma", (X, None), 0, 96, 96),
    Row("_sample_dirichlet", (X, None), 0, 96, 96),
    Row("fft_fftfreq", (8, 1.0), 16, 0, 32),
    Row("fft_rfftfreq", (8, 1.0), 10, 0, 20),
    Row("narrow_copy", (X, 1, 0, 2), 0, 32, 32),
    Row("binomial", (X, X, None), 0, 192, 96),
    Row("randint", (10, (4, 6), None, None, None, None), 0, 0, 192),
    Row("randint", (0, 10, (4, 6), "int32", None, None, None), 0, 0, 96),
    Row("randint_like", (i(4, 6), 10), 0, 0, 192),
    Row("arange", (5, None, None, None, None), 0, 0, 40),
    Row("arange", (0, 5, 2, None, None, None, None), 0, 0, 24),
    Row("arange", (0.0, 1.0, 0.25, None, None, None, None), 0, 0, 16),
]  # fmt: skip

INDEXING = [
    # 64 indices in a 100x32 table: 512 B of indices, 64 rows of 128 B
    Row("embedding", (f(100, 32), i(4, 16), -1, False, False), 0, 512 + 8192, 8192, words="per hit"),
    # more hits than rows: at most the table
    Row("embedding", (f(10, 32), i(4, 16), -1, False, False), 0, 512 + 1280, 8192),
    # an add an element; all of the gradient is written
    Row("embedding_dense_backward", (f(4, 16, 32), i(4, 16), 100, -1, False), 2048, 8192 + 512, 12800),
    Row("index_select", (X, 0, i(3)), 0, 24 + 72, 72),
    Row("gather", (X, 1, i(4, 2)), 0, 64 + 32, 32),
    Row("take", (X, i(5)), 0, 40 + 20, 20),
    Row("take_along_dim", (X, i(4, 2), 1), 0, 64 + 32, 32),
    *(Row(name, (X, (i(3),)), 0, 24 + 72, 72) for name in ("index", "_unsafe_index")),
    Row("index", (X, (None, i(3))), 0, 24 + 48, 48),
    Row("index", (X, (i(3), i(3))), 0, 48 + 12, 12),
    # a mask: at most everything is read and written
    Row("index", (X, (b(4, 6),)), 0, 24 + 96, 96, words="none to all"),
    Row("index_put_", (X, (i(3),), f(3, 6), False), 0, 24 + 72, 72),
    Row("index_put_", (X, (i(3),), f(3, 6), True), 18, 24 + 72 + 72, 72),
    Row("_index_put_impl_", (X, (i(3),), f(3, 6), True, False), 18, 168, 72),
    *(Row(name, (X, (i(3),), f(3, 6), True), 18, 96 + 24 + 72, 96)
      for name in ("index_put", "_unsafe_index_put")),
    Row("index_add", (X, 0, i(3), f(3, 6), 1), 18, 96 + 24 + 72, 96),
    Row("index_add_", (X, 0, i(3), f(3, 6), 1), 18, 24 + 72 + 72, 72),
    Row("index_add_", (X, 0, i(3), f(3, 6), 2), 36, 168, 72),
    Row("index_copy", (X, 0, i(3), f(3, 6)), 0, 96 + 24 + 72, 96),
    Row("index_copy_", (X, 0, i(3), f(3, 6)), 0, 24 + 72, 72),
    Row("index_reduce", (X, 0, i(3), f(3, 6), "amax", True), 18, 192, 96),
    Row("index_reduce_", (X, 0, i(3), f(3, 6), "amax", True), 18, 168, 72),
    Row("index_fill", (X, 0, i(3), 1.0), 0, 96 + 24, 96),
    Row("index_fill_", (X, 0, i(3), 1.0), 0, 24, 72),
    # an element an index: 8 indices of 8 B, elements of 4 B
    Row("scatter", (X, 1, i(4, 2), f(4, 6)), 0, 96 + 64 + 32, 96),
    Row("scatter_", (X, 1, i(4, 2), 1.0), 0, 64, 32),
    Row("scatter_", (X, 1, i(4, 2), f(4, 2), "add"), 8, 64 + 32 + 32, 32),
    Row("scatter_add", (X, 1, i(4, 2), f(4, 2)), 8, 96 + 64 + 32, 96),
    Row("scatter_add_", (X, 1, i(4, 2), f(4, 2)), 8, 64 + 32 + 32, 32),
    Row("scatter_reduce", (X, 1, i(4, 2), f(4, 2), "amax", True), 8, 192, 96),
    Row("scatter_reduce_", (X, 1, i(4, 2), f(4, 2), "amax", True), 8, 128, 32),
    Row("put_", (X, i(5), f(5), False), 0, 60, 20),
    Row("put_", (X, i(5), f(5), True), 5, 80, 20),
    Row("put", (X, i(5), f(5), True), 5, 96 + 60, 96),
    Row("masked_scatter_backward", (X, b(4, 6), (5,)), 0, 24 + 96, 20, words="none to all"),
    Row("masked_select", (X, b(4, 6)), 0, 24 + 96, 96),
    Row("masked_scatter", (X, b(4, 6), f(24)), 0, 96 + 24 + 96, 96),
    Row("masked_scatter_", (X, b(4, 6), f(24)), 0, 24 + 96, 96),
    *(Row(name, (X,), 24, 96, 24 * 16) for name in ("nonzero", "argwhere")),
    # bags: 12 indices of rows of 8, 3 bags; a mean divides
    *(Row(name, (f(100, 8), i(12), i(3), False, mode, False, None, False, -1), 96 + 24 * (mode == 1),
          96 + 24 + 384, 96) for name in ("_embedding_bag", "_embedding_bag_forward_only") for mode in (0, 1)),
    Row("_embedding_bag_backward", (f(3, 8), i(12), i(3), i(12), i(3), i(3), 100, False, 0, False, None, -1),
        96, 96 + 96 + 96, 3200),
    Row("_embedding_bag_dense_backward", (f(3, 8), i(12), i(12), i(3), i(3), 100, False, 1, None, -1),
        96 + 24, 96 + 96 + 96, 3200),
    Row("_embedding_bag_per_sample_weights_backward", (f(3, 8), f(100, 8), i(12), i(3), i(12), 0, -1),
        192, 96 + 192 + 384, 48),
    Row("embedding_renorm_", (f(100, 8), i(2), 1.0, 2.0), 48, 16 + 64, 64),
]  # fmt: skip

SORTING = [
    # rows of 6: 3 comparisons an element
    Row("sort", (X, 1, False), 72, 96, 96 + 192, words="estimate"),
    Row("sort", (X, True, 1, False), 72, 96, 288),  # stable
    Row("argsort", (X, 1, False), 72, 96, 192),
    Row("msort", (X,), 48, 96, 96),  # columns of 4: 2 each
    Row("topk", (X, 2, -1, True, True), 24, 96, 32 + 64),
    Row("kthvalue", (X, 2, 1, False), 24, 96, 16 + 32),
    Row("median", (X,), 24, 96, 4),
    Row("median", (X, 1, False), 24, 96, 16 + 32),
    Row("nanmedian", (X, 1, True), 24, 96, 48),
    Row("mode", (X, -1, False), 24, 96, 48),
    # among 7: 3 comparisons, each of an element; at most the 7 are read
    Row("searchsorted", (f(7), f(5), False, False, None, None), 15, 20 + 28, 40),
    Row("bucketize", (f(5), f(7), True, False), 15, 20 + 28, 20),
    # 24 elements: 5 comparisons each
    *(Row(name, (X, True, True, True), 120, 96, 24 * 12 + 192) for name in ("_unique2",)),
    Row("_unique", (X, True, False), 120, 96, 96),
    Row("unique_dim", (X, 0, True, False, False), 120, 96, 96),
    Row("unique_consecutive", (X, False, False, None), 24, 96, 96),
    # 5 and 3 elements, 2 comparisons each
    Row("isin", (f(5), f(3), False, False), 16, 32, 5),
    Row("bincount", (i(24), None, 0), 24, 192, 80, outputs=(i(10),)),
    Row("histc", (X, 10, 0, 0), 120, 96, 40),
    # 10 bins: 4 comparisons and a count each of 24; counts and 11 edges
    Row("histogram", (X, 10, None, None, False), 120, 96, 40 + 44, words="an estimate"),
    Row("histogram", (X, f(11), None, False), 120, 96 + 44, 40 + 44),
    # 4 points of 6 dimensions, 2 bins each: a comparison and a count
    Row("_histogramdd_from_bin_cts", (X, (2,) * 6, None, None, False), 48, 96, 256),
    # 18 edges: least and greatest of 24, 2 an edge
    Row("_histogramdd_bin_edges", (X, (2,) * 6, None, None, False), 48 + 36, 96, 72),
    Row("dist", (X, X, 2), 72, 192, 4),
    # 2 segments of 4 rows of 6
    Row("segment_reduce", (X, "sum", i(2), None, None, 0, False, None), 24, 96 + 16, 48, outputs=(f(2, 6),)),
    Row("segment_reduce", (X, "mean", i(2), None, None, 0, False, None), 36, 112, 48, outputs=(f(2, 6),)),
    Row("_segment_reduce_backward", (f(2, 6), f(2, 6), X, "sum", i(2), None, 0, None), 24, 48 + 16, 96),
    Row("_segment_reduce_backward", (f(2, 6), f(2, 6), X, "max", i(2), None, 0, None), 24, 96 + 96 + 16, 96),
]  # fmt: skip

IMAGE = f(1, 2, 4, 4)  # 32 elements, 128 B
OUT = f(1, 2, 2, 2)  # 8 elements, 32 B
POOLING = [
    Row("max_pool1d", (f(1, 2, 4), (2,), (2,), (0,), (1,), False), 8, 32, 16),
    Row("max_pool2d", (IMAGE, (2, 2), (), (0, 0), (1, 1), False), 32, 128, 32),
    Row("max_pool3d", (f(1, 1, 2, 2, 2), (2, 2, 2), (), (0,) * 3, (1,) * 3, False), 8, 32, 4),
    Row("mkldnn_max_pool2d", (IMAGE, (2, 2), (), (0, 0), (1, 1), False), 32, 128, 32),
    Row("mkldnn_max_pool3d", (f(1, 1, 2, 2, 2), (2, 2, 2), (), (0,) * 3, (1,) * 3, False), 8, 32, 4),
    # 3x3 windows, stride 2, padding 1: 2x2 outputs of 9, padding included; places are int64
    Row("max_pool2d_with_indices", (IMAGE, (3, 3), (2, 2), (1, 1), (1, 1), False), 72, 128, 32 + 64, words="padding"),
    Row("max_pool1d_with_indices", (f(1, 2, 4), (2,), (), (0,), (1,), False), 8, 32, 16 + 32),
    Row("max_pool3d_with_indices", (f(1, 1, 2, 2, 2), (2,), (), (0,), (1,), False), 8, 32, 4 + 8),
    # an add a window element, a divide
    Row("avg_pool1d", (f(1, 2, 4), (2,), (), (0,), False, True), 8 + 4, 32, 16),
    Row("avg_pool2d", (IMAGE, (2, 2), (), (0, 0), False, True, None), 32 + 8, 128, 32),
    Row("avg_pool3d", (f(1, 1, 2, 2, 2), (2,) * 3, (), (0,) * 3, False, True, None), 9, 32, 4),
    # ceil_mode: 5 -> 3 windows of 2
    Row("avg_pool1d", (f(1, 1, 5), (2,), (), (0,), True, True), 6 + 3, 20, 12),
    # windows of 4 -> 3: 0..2, 1..3, 2..4: 6 a dimension, 36 together, 2 channels; 18 divides
    *(Row(name, (IMAGE, (3, 3)), 72 + 18, 128, 72) for name in (
        "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "mkldnn_adaptive_avg_pool2d")),
    Row("adaptive_avg_pool1d", (f(1, 2, 4), (2,)), 8 + 4, 32, 16),
    *(Row(name, (f(1, 1, 2, 2, 2), (1, 1, 1)), 8 + 1, 32, 4) for name in ("adaptive_avg_pool3d", "_adaptive_avg_pool3d")),
    Row("adaptive_max_pool1d", (f(1, 2, 4), (2,)), 8, 32, 16 + 32),
    Row("adaptive_max_pool2d", (IMAGE, (2, 2)), 32, 128, 32 + 64),
    Row("adaptive_max_pool3d", (f(1, 1, 2, 2, 2), (1, 1, 1)), 8, 32, 12),
    Row("fractional_max_pool2d", (IMAGE, (2, 2), (3, 3), f(1, 2, 2)), 72, 128 + 16, 72 + 144),
    Row("fractional_max_pool3d", (f(1, 1, 4, 4, 4), (2,) * 3, (2,) * 3, f(1, 1, 3)), 64, 256 + 12, 32 + 64),
    # an add a gradient; reads it and its place
    *(Row(name, (OUT, IMAGE, *args, i(1, 2, 2, 2)), 8, 32 + 64, 128) for name, args in (
        ("max_pool2d_with_indices_backward", ((2, 2), (2, 2), (0, 0), (1, 1), False)),
        ("max_pool3d_with_indices_backward", ((2, 2), (2, 2), (0, 0), (1, 1), False)),
        ("adaptive_max_pool2d_backward", ()), ("adaptive_max_pool3d_backward", ()),
        ("fractional_max_pool2d_backward", ((2, 2), (2, 2))), ("fractional_max_pool3d_backward", ((2, 2), (2, 2))))),
    # a divide, and an add a window element
    Row("avg_pool2d_backward", (OUT, IMAGE, (2, 2), (2, 2), (0, 0), False, True, None), 8 + 32, 32, 128),
    Row("avg_pool3d_backward", (f(1, 1, 1, 1, 1), f(1, 1, 2, 2, 2), (2,) * 3, (2,) * 3, (0,) * 3, False, True, None), 9, 4, 32),
    *(Row(name, (f(1, 2, 3, 3), IMAGE), 18 + 72, 72, 128) for name in (
        "_adaptive_avg_pool2d_backward", "mkldnn_adaptive_avg_pool2d_backward")),
    Row("_adaptive_avg_pool3d_backward", (f(1, 1, 1, 1, 1), f(1, 1, 2, 2, 2)), 9, 4, 32),
    Row("max_unpool2d", (OUT, i(1, 2, 2, 2), (4, 4)), 0, 32 + 64, 128),
    Row("max_unpool3d", (f(1, 1, 1, 1, 1), i(1, 1, 1, 1, 1), (2, 2, 2), (2,) * 3, (0,) * 3), 0, 12, 32),
]  # fmt: skip

BIG = f(1, 2, 8, 8)  # 128 elements, 512 B
LINE, CUBE = f(1, 2, 4), f(1, 1, 2, 2, 2)
RESAMPLING = [
    *(Row(name, (x, size, *more), 0, read, 8 * read // 2 ** (3 - dims)) for name, x, size, more, read, dims in (
        ("upsample_nearest1d", LINE, (8,), (None,), 32, 1), ("_upsample_nearest_exact1d", LINE, (8,), (None,), 32, 1),
        ("upsample_nearest2d", IMAGE, (8, 8), (None, None), 128, 2), ("_upsample_nearest_exact2d", IMAGE, (8, 8), (None, None), 128, 2),
        ("upsample_nearest3d", CUBE, (4, 4, 4), (None,) * 3, 32, 3), ("_upsample_nearest_exact3d", CUBE, (4, 4, 4), (None,) * 3, 32, 3))),
    # by the factor instead of the size; shrinking reads what it picks
    Row("upsample_nearest2d", (IMAGE, None, (2.0, 2.0)), 0, 128, 512),
    Row("upsample_nearest2d", (IMAGE, (2, 2), None, None), 0, 32, 32),
    # taps: 2 is 3 flop, 4 is 7, 8 is 15, 16 is 31
    Row("upsample_linear1d", (LINE, (8,), False, None), 3 * 16, 32, 64),
    Row("upsample_bilinear2d", (IMAGE, (8, 8), False, None, None), 7 * 128, 128, 512, words="weights"),
    Row("upsample_bilinear2d", (IMAGE, None, False, (2.0, 2.0)), 7 * 128, 128, 512),
    Row("upsample_trilinear3d", (CUBE, (4, 4, 4), False, None, None, None), 15 * 64, 32, 256),
    Row("upsample_bicubic2d", (IMAGE, (8, 8), False, None, None), 31 * 128, 128, 512),
    Row("_upsample_bilinear2d_aa", (IMAGE, (2, 2), False, None, None), 31 * 8, 128, 32),  # twice as wide: 4 taps
    Row("_upsample_bicubic2d_aa", (IMAGE, (8, 8), False, None, None), 31 * 128, 128, 512),
    # a multiply and an add a tap
    *(Row(f"{name}_backward", (g, size, shape, *more), flop, read, write) for name, g, size, shape, more, flop, read, write in (
        ("upsample_nearest1d", f(1, 2, 8), (8,), (1, 2, 4), (None,), 16, 64, 32),
        ("_upsample_nearest_exact1d", f(1, 2, 8), (8,), (1, 2, 4), (None,), 16, 64, 32),
        ("upsample_nearest2d", BIG, (8, 8), (1, 2, 4, 4), (None, None), 128, 512, 128),
        ("_upsample_nearest_exact2d", BIG, (8, 8), (1, 2, 4, 4), (None, None), 128, 512, 128),
        ("upsample_nearest3d", f(1, 1, 4, 4, 4), (4,) * 3, (1, 1, 2, 2, 2), (None,) * 3, 64, 256, 32),
        ("_upsample_nearest_exact3d", f(1, 1, 4, 4, 4), (4,) * 3, (1, 1, 2, 2, 2), (None,) * 3, 64, 256, 32),
        ("upsample_linear1d", f(1, 2, 8), (8,), (1, 2, 4), (False, None), 4 * 16, 64, 32),
        ("upsample_bilinear2d", BIG, (8, 8), (1, 2, 4, 4), (False, None, None), 8 * 128, 512, 128),
        ("upsample_trilinear3d", f(1, 1, 4, 4, 4), (4,) * 3, (1, 1, 2, 2, 2), (False,), 16 * 64, 256, 32),
        ("upsample_bicubic2d", BIG, (8, 8), (1, 2, 4, 4), (False, None, None), 32 * 128, 512, 128),
        ("_upsample_bilinear2d_aa", BIG, (8, 8), (1, 2, 4, 4), (False, None, None), 8 * 128, 512, 128),
        ("_upsample_bicubic2d_aa", BIG, (8, 8), (1, 2, 4, 4), (False, None, None), 32 * 128, 512, 128))),
    # 9 places, 2 channels: coordinates 6 and weights 8 a place, 7 an output; 72 B of grid, at most all of x
    Row("grid_sampler_2d", (IMAGE, f(1, 3, 3, 2), 0, 0, False), 9 * 14 + 18 * 7, 72 + 128, 72),
    Row("grid_sampler_3d", (CUBE, f(1, 1, 1, 1, 3), 0, 0, False), (9 + 24) + 15, 12 + 32, 4),
    # dx 8 a gradient; dgrid 3*2*4 = 24
    Row("grid_sampler_2d_backward", (f(1, 2, 3, 3), IMAGE, f(1, 3, 3, 2), 0, 0, False, (True, True)),
        126 + 18 * 8 + 18 * 24, 72 + 72 + 128, 128 + 72),
    Row("grid_sampler_3d_backward", (f(1, 1, 1, 1, 1), CUBE, f(1, 1, 1, 1, 3), 0, 0, False, (True, True)),
        33 + 16 + 72, 4 + 12 + 32, 32 + 12),
    Row("affine_grid_generator", (f(1, 2, 3), (1, 1, 4, 4), False), 2 * 3 * 16 * 2, 24, 128),
    # windows of 3x3 on 4x4: 4 columns of 9, 2 channels
    Row("im2col", (IMAGE, (3, 3), (1, 1), (0, 0), (1, 1)), 0, 128, 288),
    Row("col2im", (f(1, 18, 4), (4, 4), (3, 3), (1, 1), (0, 0), (1, 1)), 72, 288, 128),
    # padding: a copy with a border; what a negative pad cuts is not read
    Row("constant_pad_nd", (X, (1, 1, 0, 2), 0), 0, 96, 6 * 8 * 4),
    Row("constant_pad_nd", (X, (-1, -1), 0), 0, 64, 64),
    *(Row(name, (X, (1, 1)), 0, 96, 128) for name in (
        "pad", "_pad_circular", "reflection_pad1d", "replication_pad1d")),
    *(Row(name, (IMAGE, (1, 1, 1, 1)), 0, 128, 288) for name in ("reflection_pad2d", "replication_pad2d")),
    *(Row(name, (CUBE, (1,) * 6), 0, 32, 256) for name in ("reflection_pad3d", "replication_pad3d")),
    *(Row(f"{name}_backward", (f(4, 8), X, (1, 1)), 32, 128, 96) for name in (
        "reflection_pad1d", "replication_pad1d", "reflection_pad2d", "replication_pad2d", "reflection_pad3d",
        "replication_pad3d")),
    Row("slice_backward", (f(2, 6), (4, 6), 0, 0, 2, 1), 0, 48, 96),
    Row("select_backward", (f(6), (4, 6), 0, 1), 0, 24, 96),
    Row("diagonal_backward", (f(4), (4, 6), 0, 0, 1), 0, 16, 96),
    Row("unfold_backward", (f(4, 5, 2), (4, 6), 1, 2, 1), 40, 160, 96),
    Row("slice_scatter", (X, f(2, 6), 0, 0, 2, 1), 0, 96 + 48, 96),
    Row("select_scatter", (X, f(6), 0, 1), 0, 96 + 24, 96),
    Row("diagonal_scatter", (X, f(4), 0, 0, 1), 0, 96 + 16, 96),
]  # fmt: skip

P = (f(10), f(5))  # two parameters, 60 B
ADAM = (P, P, P, P, (), (f(), f()), 1e-3, 0.9, 0.999, 0.1, 1e-8, False, False, None, None)
FOREACH = {
    # name: (lists, flop, sfu) an element
    "add": (2, 1, 0), "sub": (2, 1, 0), "mul": (2, 1, 0), "div": (2, 1, 0), "addcmul": (3, 2, 0),
    "addcdiv": (3, 2, 0), "lerp": (3, 3, 0), "maximum": (2, 1, 0), "minimum": (2, 1, 0),
    "clamp_min": (2, 1, 0), "clamp_max": (2, 1, 0), "pow": (2, 0, 1), "neg": (1, 1, 0), "abs": (1, 1, 0),
    "reciprocal": (1, 1, 0), "sign": (1, 1, 0), "floor": (1, 1, 0), "ceil": (1, 1, 0), "round": (1, 1, 0),
    "trunc": (1, 1, 0), "sigmoid": (1, 3, 1),
    **{name: (1, 0, 1) for name in ("sqrt", "rsqrt", "exp", "log", "tanh", "sin", "cos", "erf", "erfc",
                                    "log1p", "log2", "log10", "expm1", "acos", "asin", "atan", "cosh", "lgamma", "sinh", "tan")},
    "frac": (1, 1, 0),
}  # fmt: skip
OPTIMIZERS = [
    *(Row(f"_foreach_{name}", (P,) * n, 15 * flop, 60 * n, 60, 15 * sfu) for name, (n, flop, sfu) in FOREACH.items()),
    *(Row(f"_foreach_{name}_", (P,) * n, 15 * flop, 60 * n, 60, 15 * sfu) for name, (n, flop, sfu) in FOREACH.items()
      if f"aten::_foreach_{name}_" in ops.BY_OP),
    Row("_foreach_add_", (P, P, -0.1), 30, 120, 60),
    Row("_foreach_mul_", (P, 0.9), 15, 60, 60),
    Row("_foreach_mul_", (P, f()), 15, 60, 60),
    Row("_foreach_addcdiv_", (P, P, P, (0.1, 0.2)), 45, 180, 60),
    Row("_foreach_copy_", (P, P), 0, 60, 60),
    Row("_foreach_clone", (P, None), 0, 60, 60),
    # decay 1, m 3, v 4, p 5 = 13 and a root; reads p g m v, writes p m v
    Row("_fused_adamw_", ADAM, 15 * 13, 240, 180, 15),
    Row("_fused_adam_", ADAM, 15 * 14, 240, 180, 15),  # decay is added to g: 2
    Row("_fused_adamw_", (P, P, P, P, P, *ADAM[5:9], 0.0, 1e-8, True, False, None, None), 15 * 13, 300, 240, 15),  # no decay, amsgrad
    Row("_fused_sgd_", (P, P, P, 0.1, 0.9, 0.1, 0.0, False, False, False, None, None), 15 * 6, 180, 120),
    Row("_fused_sgd_", (P, P, (), 0.0, 0.0, 0.1, 0.0, False, False, False, None, None), 30, 120, 60),
    Row("_fused_adagrad_", (P, P, P, (f(), f()), 0.1, 0.0, 0.0, 1e-10, False, None, None), 15 * 6, 180, 120, 15),
    Row("_amp_foreach_non_finite_check_and_unscale_", (P, f(), f()), 30, 60, 60),
    Row("_amp_update_scale_", (f(), Tensor((), "int32"), f(), 2.0, 0.5, 2000), 3, 12, 8),
]  # fmt: skip

C = Tensor((4, 8), "complex64")  # 256 B
MATRIX = f(6, 6)  # 144 B
TRANSFORMS = [
    # 4 transforms of 8: 5 * 4 * 8 * 3; half for real numbers
    Row("_fft_c2c", (C, (1,), 0, True), 480, 256, 256, words="5 n log2 n"),
    Row("_fft_r2c", (f(4, 8), (1,), 0, True), 240, 128, 4 * 5 * 8),
    Row("_fft_c2r", (Tensor((4, 5), "complex64"), (1,), 0, 8), 240, 160, 128),
    Row("_fft_c2c", (C, (0, 1), 0, True), 5 * 32 * 5, 256, 256),
    # leading terms for n = 6: n^3 = 216
    Row("linalg_cholesky_ex", (MATRIX, False, False), 72, 144, 144, words="leading term"),
    Row("linalg_lu_factor_ex", (MATRIX, True, False), 144, 144, 144 + 24),
    Row("linalg_inv_ex", (MATRIX, False), 432, 144, 144),
    Row("_linalg_det", (MATRIX,), 144, 144, 4 + 144 + 24),
    Row("_linalg_slogdet", (MATRIX,), 144, 144, 8 + 144 + 24),
    Row("linalg_qr", (MATRIX, "reduced"), 576, 144, 288),  # 4 (n^3 - n^3/3)
    Row("_linalg_eigh", (MATRIX, "L", True), 1944, 144, 24 + 144),
    Row("linalg_eig", (MATRIX,), 5400, 144, 168),
    Row("_linalg_svd", (MATRIX, False, True, None), 21 * 216, 144, 144 + 24 + 144),
    Row("_linalg_solve_ex", (MATRIX, f(6, 2), True, False), 144 + 2 * 36 * 2, 144 + 48, 48),
    Row("linalg_solve_triangular", (MATRIX, f(6, 2), True, True, False), 72, 192, 48),
    Row("linalg_lu_solve", (MATRIX, Tensor((6,), "int32"), f(6, 2), True, False), 144, 192, 48),
    Row("cholesky_solve", (f(6, 2), MATRIX, False), 144, 192, 48),
    # 2 (n^3 - n^3/3); a factor and 6 scales
    Row("geqrf", (MATRIX,), 288, 144, 144 + 24),
    Row("linalg_householder_product", (MATRIX, f(6)), 288, 144, 144),
    Row("linalg_lu", (MATRIX, True), 144, 144, 3 * 144),
    Row("lu_unpack", (MATRIX, Tensor((6,), "int32"), True, True), 0, 144, 3 * 144),
    Row("linalg_ldl_factor_ex", (MATRIX, False, False), 72, 144, 144 + 24),
    Row("linalg_ldl_solve", (MATRIX, Tensor((6,), "int32"), f(6, 2), False), 144, 192, 48),
    Row("cholesky_inverse", (MATRIX, False), 144, 144, 144),
    Row("linalg_matrix_exp", (MATRIX,), 2160, 144, 144),
    # singular values 21 n^3, a product 2 n^3
    Row("linalg_pinv", (MATRIX, 1e-15, False), 23 * 216, 144, 144),
    Row("triangular_solve", (f(6, 2), MATRIX, True, False, False), 72, 192, 48),
    # QR 288, Q^T B 4*36*2, a triangular solve 36*2
    Row("linalg_lstsq", (MATRIX, f(6, 2), None, None), 288 + 288 + 72, 192, 48),
    # 6 reflections of 2 columns: 2 (4*36 - 2*36)
    Row("ormqr", (MATRIX, f(6), f(6, 2), True, False), 144, 144 + 24 + 48, 48),
    # 4 and 5 points of 3: 20 pairs
    Row("_cdist_forward", (f(4, 3), f(5, 3), 2.0, None), 180, 48 + 60, 80, sfu=20),
    Row("_cdist_forward", (f(4, 3), f(5, 3), 1.0, None), 180, 108, 80),
    Row("_cdist_backward", (f(4, 5), f(4, 3), f(5, 3), 2.0, f(4, 5)), 240, 80 + 108 + 80, 48),
    Row("_pdist_forward", (f(4, 3), 2.0), 54, 48, 24, sfu=6),
    Row("_pdist_backward", (f(6), f(4, 3), 2.0, f(6)), 90, 24 + 48 + 24, 48),
    Row("linalg_cross", (f(4, 3), f(4, 3), -1), 36, 96, 48),
    Row("renorm", (X, 2, 0, 1.0), 72, 96, 96),
]  # fmt: skip

S = f(100)  # 400 B


def link(op, args, sent, *, device="cuda"):
    """Bytes over one rank's link, none over DRAM."""
    return Row(
        op,
        args,
        0,
        0,
        0,
        device=device,
        more={"nvlink" if device == "cuda" else "network": sent} if sent else {},
    )


G = "group"
COLLECTIVES = [
    *(link(name, args, 800) for name, args in (
        ("c10d::allreduce_", ((S,), G)), ("c10d::allreduce_coalesced_", ((S,), G)),
        ("_c10d_functional::all_reduce", (S, "sum", G)), ("_c10d_functional::all_reduce_", (S, "sum", G)),
        ("_c10d_functional::all_reduce_coalesced", ((S,), "sum", G)),
        ("_c10d_functional::all_reduce_coalesced_", ((S,), "sum", G)))),
    link("c10d::allreduce_", ((S,), G), 800, device="cpu"),
    # of two ranks each sends S, of four 3/4 of S once or twice
    link("c10d::allreduce_", ((S,), "group of 2", "scriptobject"), 400),
    link("c10d::allreduce_", ((S,), "group of 4", "scriptobject"), 600),
    link("c10d::alltoall_base_", (S, S, (), (), "group of 4"), 300),
    link("c10d::allreduce_", ((S,), "group of 1", "scriptobject"), 0),
    *(link(name, args, 400) for name, args in (
        ("c10d::broadcast_", ((S,), G)), ("c10d::reduce_", ((S,), G)), ("c10d::alltoall_", ((S,), (S,), G)),
        ("c10d::alltoall_base_", (S, S, G)), ("c10d::send", ((S,), G)), ("c10d::recv_", ((S,), G)),
        ("c10d::recv_any_source_", ((S,), G)), ("_c10d_functional::broadcast", (S, 0, G)),
        ("_c10d_functional::broadcast_", (S, 0, G)), ("_c10d_functional::all_to_all_single", (S, (), (), G)),
        ("_c10d_functional::isend", (S, 0, 0, G)), ("_c10d_functional::irecv", (S, 0, 0, G)),
        ("c10d::gather_", (((S, S),), (S,), G)), ("c10d::scatter_", ((S,), ((S, S),), G)))),
    # four ranks: the whole less one part
    *(link(name, args, 1200) for name, args in (
        ("c10d::allgather_", (((S, S, S, S),), (S,), G)), ("c10d::_allgather_base_", (f(400), S, G)),
        ("c10d::allgather_into_tensor_coalesced_", ((f(400),), (S,), G)),
        ("c10d::allgather_coalesced_", (((S, S, S, S),), (S,), G)),
        ("c10d::reduce_scatter_", ((S,), ((S, S, S, S),), G)), ("c10d::_reduce_scatter_base_", (S, f(400), G)),
        ("c10d::reduce_scatter_tensor_coalesced_", ((S,), (f(400),), G)),
        ("_c10d_functional::all_gather_into_tensor", (S, 4, G)),
        ("_c10d_functional::all_gather_into_tensor_out", (S, 4, G, f(400))),
        ("_c10d_functional::all_gather_into_tensor_coalesced", ((S,), 4, G)),
        ("_c10d_functional::reduce_scatter_tensor", (f(400), "sum", 4, G)),
        ("_c10d_functional::reduce_scatter_tensor_out", (f(400), "sum", 4, G, S)),
        ("_c10d_functional::reduce_scatter_tensor_coalesced", ((f(400),), "sum", 4, G)))),
    *(link(name, (S,), 0) for name in (
        "c10d::barrier", "c10d::monitored_barrier_", "c10d::check_for_nan", "_c10d_functional::wait_tensor",
        "_c10d_functional::_wrap_tensor_autograd")),
]  # fmt: skip

FREE = [
    Row(name, (X,), 0, 0, 0)
    for name in (*free.VIEWS, *free.ALLOCATION, *free.BOOKKEEPING, *free.OUTSIDE)
]

ROWS = [
    *COPIES,
    *CREATION,
    *INDEXING,
    *SORTING,
    *POOLING,
    *RESAMPLING,
    *OPTIMIZERS,
    *TRANSFORMS,
    *COLLECTIVES,
    *FREE,
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    """Amounts equal the row."""
    check(row)


def test_gathered_rows_are_a_range():
    """64 hits of 128 B in a table of 100: from one row, all hits equal, to 64."""
    entries = ops.account(Call("aten::embedding", (f(100, 32), i(4, 16), -1, False, False))).entries
    (rows,) = (e for e in entries if e.exactness is Exactness.BOUNDED)

    assert (rows.resource, rows.low, rows.amount, rows.high) == (DRAM, 128, 8192, 8192)


def test_a_mask_may_select_nothing():
    """From 0 to all 24 elements."""
    entries = ops.account(Call("aten::masked_select", (X, b(4, 6)))).entries

    assert {(e.low, e.high) for e in entries if e.exactness is Exactness.BOUNDED} == {(0, 96)}


def test_an_all_reduce_is_a_range():
    """One rank sends nothing, two send S, many nearly 2 S."""
    (entry,) = ops.account(Call("c10d::allreduce_", ((S,), G))).entries

    assert (entry.low, entry.high, entry.access) == (0, 800, "write")
    (entry,) = ops.account(Call("c10d::allreduce_", ((S,), "group of 2"))).entries
    assert (entry.amount, entry.exactness) == (400, Exactness.EXACT)
    assert {rule.op for rule in collective.RULES} <= {row.call.op for row in COLLECTIVES}


def test_a_sort_is_an_estimate():
    """Bytes stay exact."""
    labels = {
        e.resource.name: e.exactness for e in ops.account(Call("aten::sort", (X, 1, False))).entries
    }

    assert labels == {"vector-fp32": Exactness.ESTIMATE, "dram": Exactness.EXACT}
