"""Which way PyTorch passes over the data of a call, by its shapes, strides and types."""

import pytest

from roofline.call import Call, Tensor
from roofline.ops.pace import compiled, pace
from roofline.ops.pace import way as ways
from roofline.ops.pace.way import PLAIN, Pace


def t(*shape, dtype="bf16", strides=None):
    return Tensor(shape, dtype, strides)


def call(op, *args, out=()):
    return Call(f"aten::{op}", args, (out,) if isinstance(out, Tensor) else out, device="cuda")


FOLLOWS = Pace()


def joined(sums, size=2):
    return (Pace(ways.SUMS_JOINED, sums, sums, size),)


ROWS = [
    # equal types and places: 16 B a thread
    ("alike", call("add", t(8, 6), t(8, 6), 1, out=t(8, 6)), PLAIN),
    ("by a number", call("mul", t(8, 6), 2.0, out=t(8, 6)), PLAIN),
    ("a row", call("add", t(8, 6), t(6), 1, out=t(8, 6)), Pace(ways.STRIDED, 48)),
    ("a type wider", call("add", t(8), t(8, dtype="fp32"), 1, out=t(8, dtype="fp32")), Pace(ways.CASTS, 8)),
    ("gelu", call("gelu", t(64), "none", out=t(64)), Pace(ways.GELU, 64)),
    ("gelu by tanh", call("gelu", t(64), "tanh", out=t(64)), PLAIN),
    # copies: 96 B are whole pieces of 16 B, 98 are not
    ("clone", call("clone", t(8, 6), None, out=t(8, 6)), PLAIN),
    ("clone, odd", call("clone", t(7, 7), None, out=t(7, 7)), Pace(ways.COPIED_ODD, 98, 98)),
    ("to a half type", call("_to_copy", t(8, dtype="fp32"), "bf16", out=t(8)), Pace(size=4)),
    ("from a half type", call("_to_copy", t(8), "fp32", out=t(8, dtype="fp32")), Pace(ways.CASTS, 8)),
    ("some columns", call("clone", t(8, 6, strides=(9, 1)), "contiguous_format", out=t(8, 6)), Pace(ways.STRIDED, 48)),
    # a source of 300 neighbours, each 400 results from the next
    ("transposed", call("clone", t(300, 400, strides=(1, 300)), "contiguous_format", out=t(300, 400)), Pace(ways.TRANSPOSED, 120_000, 400)),
    ("channels last", call("clone", t(2, 96, 5, 6), "channels_last", out=t(2, 96, 5, 6, strides=(2880, 1, 576, 96))), Pace(ways.TRANSPOSED, 5760, 96)),
    ("into another", call("copy_", t(8, 6), t(8, 6, strides=(1, 8)), out=t(8, 6)), Pace(ways.TRANSPOSED, 48, 6)),
    # 8 x 16 of 2 B are whole pieces of 16 B, 7 x 3 are not; along rows each part is a piece
    ("cat", call("cat", (t(8, 16), t(8, 16)), 0, out=t(16, 16)), PLAIN),
    ("cat, odd", call("cat", (t(7, 3), t(7, 3)), 0, out=t(14, 3)), Pace(ways.JOINED, 42)),
    ("cat of columns, odd", call("cat", (t(7, 3), t(7, 3)), 1, out=t(7, 6)), Pace(ways.STRIDED, 42)),
    # reductions, on 132 multiprocessors with 4 blocks each.  100,000 are 196 for each of 512 threads:
    # one block; 10 M are 19,532 each, so 528 blocks share them and 512 threads join 528 sums in two
    ("sum", call("sum", t(2000, 50), None, out=t()), Pace(ways.REDUCED, 100_000, blocks=1, together=4)),
    ("sum of much", call("sum", t(10_000_000), None, out=t()), Pace(ways.REDUCED, 10_000_000, blocks=528, together=4, then=joined(2))),
    # a warp has a row, a block 16 of them: 125; rows of 8191 are the last of which a warp takes 255
    ("sum of rows", call("sum", t(2000, 50), (1,), False, out=t(2000)), Pace(ways.ROWS_REDUCED, 100_000, 50, blocks=125, together=4)),
    ("sum of rows of 8191", call("sum", t(160, 8191), (1,), False, out=t(160)), Pace(ways.ROWS_REDUCED, 1_310_560, 8191, blocks=10, together=4)),
    # a block has a row of 9600: each of its 16 warps 600.  Of 64 x 1 M, a thread would have 1954
    # values: 9 blocks for each, whose warps have 6945
    ("largest of long rows", call("amax", t(160, 9600), (1,), False, out=t(160)), Pace(ways.ROWS_SEARCHED, 1_536_000, 600, blocks=160, together=4)),
    ("largest of long rows of fp32", call("amax", t(160, 9600, dtype="fp32"), (1,), False, out=t(160)), Pace(ways.ROWS_REDUCED, 1_536_000, 600, 4, blocks=160, together=4)),
    ("sum of few rows", call("sum", t(64, 1_000_000), (1,), False, out=t(64)), Pace(ways.ROWS_REDUCED, 64_000_000, 6945, blocks=576, together=4, then=joined(1))),
    # 128 columns a block, 4 a thread, 4 threads deep; 20,000 values are 5000 deep, shared by 66 blocks
    ("mean of columns", call("mean", t(200, 3840), (0,), False, out=t(3840)), Pace(ways.COLUMNS_REDUCED, 768_000, 50, blocks=30, together=9)),
    ("mean of long columns", call("mean", t(20_000, 4000), (0,), False, out=t(4000)), Pace(ways.COLUMNS_REDUCED, 80_000_000, 76, blocks=2112, together=9, then=joined(17))),
    # odd: a column a thread, 32 and 16 deep: 250 values, as a warp's row of 8000
    ("mean of odd columns", call("mean", t(4000, 4099), (0,), False, out=t(4099)), Pace(ways.ROWS_SEARCHED, 16_396_000, 8000, blocks=129, together=4)),
    ("var of rows", call("var", t(20, 5000, dtype="fp32"), (1,), 1, False, out=t(20)), Pace(ways.VARIANCE, 100_000, 5000, 4)),
    # rows
    ("softmax of short rows", call("_softmax", t(10, 515), -1, False, out=t(10, 515)), Pace(ways.SOFTMAX, 5150, 515)),
    ("softmax of a block's rows", call("_softmax", t(10, 2050), -1, False, out=t(10, 2050)), Pace(ways.SOFTMAX, 20_500, 2050, blocks=10, together=2)),
    ("softmax of rows in more registers", call("_softmax", t(10, 6145), -1, False, out=t(10, 6145)), Pace(ways.SOFTMAX_LONG, 61_450, 6145, blocks=10)),
    ("log softmax", call("_log_softmax", t(10, 515), -1, False, out=t(10, 515)), Pace(ways.LOG_SOFTMAX, 5150, 515)),
    ("log softmax of rows in more registers", call("_log_softmax", t(10, 9216), -1, False, out=t(10, 9216)), Pace(ways.LOG_SOFTMAX_LONG, 92_160, 9216, blocks=10)),
    # 9232 of 2 B are 577 times 16 B, 9217 are not; 12,288 of 4 B are all 48 KiB of shared memory
    ("softmax of held rows", call("_softmax", t(10, 9232), -1, False, out=t(10, 9232)), Pace(ways.SOFTMAX_SHARED, 92_320, 9232, blocks=10, together=2)),
    ("softmax of odd long rows", call("_softmax", t(10, 9217), -1, False, out=t(10, 9217)), Pace(ways.SOFTMAX_AGAIN, 92_170, 9217, blocks=10, together=2)),
    ("softmax of rows too long", call("_softmax", t(10, 12_288, dtype="fp32"), -1, False), Pace(ways.SOFTMAX_AGAIN, 122_880, 12_288, 4, blocks=10, together=2)),
    # 1000 rows are 62.5 for 16 each: 64 threads, 16 rows each; 32,768 are 32 each of 1024
    ("losses picked", call("nll_loss_forward", t(1000, 50), t(1000, dtype="int64"), None, 1, -100), Pace(ways.PICKED_LOSSES, 16)),
    ("many losses picked", call("nll_loss_forward", t(32_768, 50), t(32_768, dtype="int64"), None, 1, -100), Pace(ways.PICKED_LOSSES, 32)),
    ("losses picked, each kept", call("nll_loss_forward", t(1000, 50), t(1000, dtype="int64"), None, 0, -100), PLAIN),
    ("layer norm", call("native_layer_norm", t(10, 64), (64,), t(64), t(64), 1e-5), Pace(ways.NORMALISED, 640, 64, blocks=10, together=12)),
    # 10 x 66 of 2 B are read again: 1320 B
    ("layer norm of odd rows", call("native_layer_norm", t(10, 66), (66,), t(66), t(66), 1e-5), Pace(ways.NORMALISED_ODD, 660, 66, blocks=10, together=4, read=1320, then=(FOLLOWS,))),
    ("rms norm", call("_fused_rms_norm", t(10, 64), (64,), t(64), 1e-5), Pace(ways.RMS, 640, 64, blocks=10, together=12)),
    # 40 x 41 are 1640: three blocks of 512 and a part of one, 2048; 2 images of 3 channels
    ("batch norm", call("native_batch_norm", t(2, 3, 40, 41), None, None, None, None, False), Pace(ways.BATCH_NORM, 12_288, blocks=6, together=4, then=(FOLLOWS, FOLLOWS))),
    ("batch norm, training", call("native_batch_norm", t(2, 3, 40, 41), None, None, None, None, True), Pace(ways.BATCH_NORM, 12_288, blocks=6, together=4, then=(Pace(ways.BATCH_STATISTICS, 12_288, 4096, blocks=3, together=4, read=19_680), FOLLOWS))),
    ("statistics", call("batch_norm_stats", t(2, 3, 40, 41), 1e-5), Pace(ways.BATCH_STATISTICS, 12_288, 4096, blocks=3, together=4, read=19_680)),
    ("batch norm of fp32", call("native_batch_norm", t(2, 3, 4, 5, dtype="fp32"), None, None, None, None, False), Pace(ways.CUDNN_BATCH_NORM, 120, size=4, blocks=6, together=4)),
    ("batch norm of fp16, training", call("native_batch_norm", t(2, 3, 4, 5, dtype="fp16"), None, None, None, None, True), Pace(ways.CUDNN_BATCH_NORM_TRAINED, 120, 40, blocks=3, together=2, read=240)),
    # rows of 8 of 2 B are 16 B
    ("embedding", call("embedding", t(100, 8), t(7, dtype="int64"), out=t(7, 8)), Pace(ways.PICKED, 56, 8)),
    ("odd rows picked", call("index_select", t(100, 9), 0, t(7, dtype="int64"), out=t(7, 9)), Pace(ways.PICKED_ODD, 63, 9)),
    ("dropout", call("native_dropout", t(64), 0.1, True), Pace(ways.DROPOUT, 64)),
    ("dropout by twos", call("native_dropout", t(66), 0.1, True), Pace(ways.DROPOUT_PAIRS, 66)),
    ("dropout, odd", call("native_dropout", t(65), 0.1, True), Pace(ways.DROPOUT_ODD, 65)),
    # of 30 elements 20 lie in a tensor that 4 divides
    ("lists", call("_foreach_add_", (t(10), t(20)), (t(10), t(20)), 1), Pace(ways.MANY, 30)),
    ("lists, odd", call("_foreach_mul_", (t(11), t(8)), (t(11), t(8))), Pace(ways.MANY_ODD, 19)),
    ("adam", call("_fused_adamw_", (t(12), t(20)), (t(12), t(20))), Pace(ways.ADAM, 32)),
    ("adam, odd", call("_fused_adamw_", (t(13), t(21)), (t(13), t(21))), Pace(ways.ADAM_ODD, 34)),
    ("few rows", call("mm", t(4, 64), t(64, 32), out=t(4, 32)), Pace(ways.FEW_ROWS, 2048, 2048, then=(FOLLOWS,))),
    ("many rows", call("mm", t(64, 64), t(64, 32), out=t(64, 32)), PLAIN),
    ("one vector", call("mv", t(640, 64), t(64), out=t(640)), Pace(ways.VECTOR, 40_960, 40_960)),
    ("one query", call("_scaled_dot_product_flash_attention", t(2, 4, 1, 8), t(2, 4, 50, 8), t(2, 4, 50, 8)), Pace(ways.FEW_QUERIES, 6400)),
    ("many queries", call("_scaled_dot_product_flash_attention", t(2, 4, 50, 8), t(2, 4, 50, 8), t(2, 4, 50, 8)), PLAIN),
    # the losses of 64 elements of 2 B are written and read: 128 B each
    ("mean of losses", call("mse_loss", t(64), t(64), 1, out=t()), Pace(written=128, then=(Pace(ways.REDUCED, 64, blocks=1, together=4, read=128),))),
    ("losses", call("mse_loss", t(64), t(64), 0, out=t(64)), PLAIN),
    ("what is not known", call("cumsum", t(64), 0, out=t(64)), PLAIN),
]  # fmt: skip


@pytest.mark.parametrize(("made", "expected"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
def test_the_way(made, expected):
    assert pace(made) == expected


OWN = [
    (compiled.rows(10, 64), Pace(ways.OWN_ROWS, 640, 64)),
    (compiled.rows(10, 66), Pace(ways.OWN_ROWS_ODD, 660, 66)),
    # blocks of 4096: three for 10,001, with 3334 each
    (compiled.streamed(10, 64), Pace(ways.OWN_STREAMED, 640, 64)),
    (compiled.streamed(10, 10_001), Pace(ways.OWN_STREAMED_ODD, 100_010, 3334)),
    (compiled.gelu(10, 64), Pace(ways.COMPILED_GELU, 640)),
    (compiled.gelu(10, 65), Pace(ways.COMPILED_GELU_ODD, 650)),
    # rows of up to 1024 are held; longer ones go by 2048: 5000 are three times that
    (compiled.normalised(10, 1024), Pace(ways.OWN_ROWS, 10_240, 1024)),
    (compiled.normalised(10, 5000), Pace(ways.COMPILED_NORM, 61_440)),
    (compiled.normalised(10, 5001), Pace(ways.COMPILED_NORM_ODD, 61_440)),
    (compiled.softmax(10, 5000), Pace(ways.COMPILED_SOFTMAX, 61_440)),
    (compiled.softmax(10, 5001), Pace(ways.COMPILED_SOFTMAX_ODD, 61_440)),
]


@pytest.mark.parametrize(("made", "expected"), OWN)
def test_the_way_of_a_kernel_of_triton(made, expected):
    assert made == expected


def test_fewer_multiprocessors_share_a_sum_among_fewer_blocks():
    """10 of them hold 40 blocks; 1 M values are 1954 for each of 512 threads."""
    sum_ = call("sum", t(1_000_000), None, out=t())
    assert pace(sum_, 10).blocks == 40
    assert pace(sum_, 132).blocks == 123  # no fewer than 16 values a thread


def test_every_way_has_a_row():
    named = {
        value for name, value in vars(ways).items() if name.isupper() and isinstance(value, str)
    }
    made = [*(row[2] for row in ROWS), *(row[1] for row in OWN)]
    assert {one.way for row in made for one in row.chain} - {""} == named
