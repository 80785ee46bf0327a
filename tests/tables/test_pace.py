"""Which way PyTorch passes over the data of a call, by its shapes, strides and types."""

import pytest

from roofline.call import Call, Tensor
from roofline.ops import pace as ways
from roofline.ops.pace import PLAIN, Pace, pace


def t(*shape, dtype="bf16", strides=None):
    return Tensor(shape, dtype, strides)


def call(op, *args, out=()):
    return Call(f"aten::{op}", args, (out,) if isinstance(out, Tensor) else out, device="cuda")


ROWS = [
    # equal types and places: 16 B a thread
    ("alike", call("add", t(8, 6), t(8, 6), 1, out=t(8, 6)), PLAIN),
    ("by a number", call("mul", t(8, 6), 2.0, out=t(8, 6)), PLAIN),
    ("a row", call("add", t(8, 6), t(6), 1, out=t(8, 6)), Pace(ways.STRIDED, 48)),
    ("a type wider", call("add", t(8), t(8, dtype="fp32"), 1, out=t(8, dtype="fp32")), Pace(ways.CASTS, 8)),
    ("gelu", call("gelu", t(64), "none", out=t(64)), Pace(ways.GELU, 64)),
    ("gelu by tanh", call("gelu", t(64), "tanh", out=t(64)), PLAIN),
    # copies
    ("clone", call("clone", t(8, 6), None, out=t(8, 6)), PLAIN),
    ("to a half type", call("_to_copy", t(8, dtype="fp32"), "bf16", out=t(8)), Pace(size=4)),
    ("from a half type", call("_to_copy", t(8), "fp32", out=t(8, dtype="fp32")), Pace(ways.CASTS, 8)),
    ("some columns", call("clone", t(8, 6, strides=(9, 1)), "contiguous_format", out=t(8, 6)), Pace(ways.STRIDED, 48)),
    # 300 x 400 and its transposition: a sector is used again after 400 results, within a block of
    # 512 not twice; of 100 columns it is
    ("transposed", call("clone", t(300, 400, strides=(1, 300)), "contiguous_format", out=t(300, 400)), Pace(ways.TRANSPOSED, 120_000)),
    ("transposed, narrow", call("clone", t(300, 100, strides=(1, 300)), "contiguous_format", out=t(300, 100)), Pace(ways.STRIDED, 30_000)),
    ("into another", call("copy_", t(8, 6), t(8, 6, strides=(1, 8)), out=t(8, 6)), Pace(ways.STRIDED, 48)),
    # 8 x 16 of 2 B are whole pieces of 16 B, 7 x 3 are not; along rows each part is a piece
    ("cat", call("cat", (t(8, 16), t(8, 16)), 0, out=t(16, 16)), PLAIN),
    ("cat, odd", call("cat", (t(7, 3), t(7, 3)), 0, out=t(14, 3)), Pace(ways.JOINED, 42)),
    ("cat of columns, odd", call("cat", (t(7, 3), t(7, 3)), 1, out=t(7, 6)), Pace(ways.STRIDED, 42)),
    # reductions
    ("sum", call("sum", t(2000, 50), None, out=t()), Pace(ways.REDUCED, 100_000)),
    ("sum of rows", call("sum", t(2000, 50), (1,), False, out=t(2000)), Pace(ways.ROWS_REDUCED, 100_000, 50)),
    ("sum of few rows", call("sum", t(20, 5000), (1,), False, out=t(20)), Pace(ways.REDUCED, 100_000)),
    ("sum of columns", call("sum", t(2000, 50), (0,), False, out=t(50)), Pace(ways.COLUMNS_REDUCED, 100_000)),
    ("var of rows", call("var", t(20, 5000, dtype="fp32"), (1,), 1, False, out=t(20)), Pace(ways.VARIANCE, 100_000, 5000, 4)),
    # rows: 515 are 1024 in a warp's registers; 2050 of 2 B are 4100 B, no whole pieces of 16
    ("softmax of short rows", call("_softmax", t(10, 515), -1, False, out=t(10, 515)), Pace(ways.SOFTMAX, 10_240, 1024)),
    ("softmax of long rows", call("_softmax", t(10, 2048), -1, False, out=t(10, 2048)), Pace(ways.SOFTMAX, 20_480, 2048)),
    ("softmax of odd rows", call("_softmax", t(10, 2050), -1, False, out=t(10, 2050)), Pace(ways.SOFTMAX_ODD, 20_500, 2050)),
    ("layer norm", call("native_layer_norm", t(10, 64), (64,), t(64), t(64), 1e-5), Pace(ways.NORMALISED, 640, 64)),
    # 10 x 66 of 2 B are read again: 1320 B
    ("layer norm of odd rows", call("native_layer_norm", t(10, 66), (66,), t(66), t(66), 1e-5), Pace(ways.NORMALISED_ODD, 660, 66, kernels=2, read=1320)),
    ("rms norm", call("_fused_rms_norm", t(10, 64), (64,), t(64), 1e-5), Pace(ways.RMS, 640, 64)),
    ("batch norm", call("native_batch_norm", t(2, 3, 4, 5), None, None, None, None, False), Pace(ways.BATCH_NORM, 120)),
    ("batch norm, training", call("native_batch_norm", t(2, 3, 4, 5), None, None, None, None, True), Pace(ways.BATCH_NORM_TRAINED, 120, kernels=2, read=240)),
    # rows of 8 of 2 B are 16 B
    ("embedding", call("embedding", t(100, 8), t(7, dtype="int64"), out=t(7, 8)), Pace(ways.PICKED, 56, 8)),
    ("odd rows picked", call("index_select", t(100, 9), 0, t(7, dtype="int64"), out=t(7, 9)), Pace(ways.PICKED_ODD, 63, 9)),
    ("dropout", call("native_dropout", t(64), 0.1, True), Pace(ways.DROPOUT, 64)),
    ("dropout, odd", call("native_dropout", t(65), 0.1, True), Pace(ways.DROPOUT_ODD, 65)),
    ("lists", call("_foreach_add_", (t(10), t(20)), (t(10), t(20)), 1), Pace(ways.MANY, 30)),
    ("adam", call("_fused_adamw_", (t(10), t(20)), (t(10), t(20))), Pace(ways.ADAM, 30)),
    ("few rows", call("mm", t(4, 64), t(64, 32), out=t(4, 32)), Pace(ways.FEW_ROWS, 2048)),
    ("many rows", call("mm", t(64, 64), t(64, 32), out=t(64, 32)), PLAIN),
    ("one vector", call("mv", t(640, 64), t(64), out=t(640)), Pace(ways.FEW_ROWS, 40_960)),
    ("one query", call("_scaled_dot_product_flash_attention", t(2, 4, 1, 8), t(2, 4, 50, 8), t(2, 4, 50, 8)), Pace(ways.FEW_QUERIES, 6400)),
    ("many queries", call("_scaled_dot_product_flash_attention", t(2, 4, 50, 8), t(2, 4, 50, 8), t(2, 4, 50, 8)), PLAIN),
    # the losses of 64 elements of 2 B are written and read: 128 B each
    ("mean of losses", call("mse_loss", t(64), t(64), 1, out=t()), Pace(kernels=2, read=128, written=128)),
    ("losses", call("mse_loss", t(64), t(64), 0, out=t(64)), PLAIN),
    ("what is not known", call("cumsum", t(64), 0, out=t(64)), PLAIN),
]  # fmt: skip


@pytest.mark.parametrize(("made", "expected"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
def test_the_way(made, expected):
    assert pace(made) == expected


def test_every_way_has_a_row():
    named = {
        value for name, value in vars(ways).items() if name.isupper() and isinstance(value, str)
    }
    own = {ways.OWN_ROWS, ways.OWN_ROWS_ODD, ways.OWN_ODD}  # no operator's
    assert {row[2].way for row in ROWS} - {""} == named - own
