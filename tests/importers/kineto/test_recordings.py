"""Recordings of one H200: counts from counters, from formulas, and from the trace are the same."""

from collections import Counter
from pathlib import Path

import pytest

from roofline import counters
from roofline.device import TENSOR_BF16
from roofline.importers import load
from roofline.program import read

HERE = Path(__file__).parent / "torch-2.11"
COUNTERS = Path(__file__).parents[1] / "ncu" / "2025.3"
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm")


@pytest.fixture(scope="module")
def train():
    return load([HERE / "train_eager.json.gz"])


def test_train_has_its_gemms_kernels_and_steps(train):
    """24 GEMMs a step, together 1,236,950,581,248 flop; 308 kernels and 20 copies and memsets."""
    program = read(train)
    products = [item for item in program.by("operator") if item.name in PRODUCTS]
    kinds = Counter((row["kind"], row["step"]) for row in train.rows())

    assert train.device.id == "nvidia-h200-sxm-141gb"
    assert [step.name for step in train.steps] == ["", ""]
    assert "2 steps, ending at each Optimizer.step" in train.recorder.timer
    assert sum(item.calls for item in products) == 2 * 24
    flop = sum(item.ledger.demand()[TENSOR_BF16] for item in products)
    assert flop == 2 * 1_236_950_581_248
    assert (kinds["kernel", 0], kinds["kernel", 1]) == (308, 308)
    assert (kinds["memcpy", 0], kinds["memcpy", 1]) == (20, 20)
    assert program.whole.coverage == 1.0
    assert set(row["phase"] for row in train.rows()) == {
        "forward", "backward", "optimizer", "other",
    }  # fmt: skip


def test_optimizer_counters_on_the_host_are_no_work_of_the_device(train):
    """One step counter a parameter: 24 parameters, a 0-dim tensor of the CPU each."""
    host = Counter(
        (train.signatures[row["signature"]].name, row["step"])
        for row in train.rows()
        if row["kind"] == "range"
    )
    assert host == {("aten::add_", 0): 24, ("aten::add_", 1): 24}


def test_flop_of_the_linears_are_the_counters_of_their_gemms(train):
    """The trace's shapes against another process's counters: 21 GEMMs, equal to the last digit.

    The counters stop in the backward pass, after 21 of the step's 24 GEMMs.
    """
    counted = load([COUNTERS / "train_eager.raw.csv.gz"])
    from_counters = [
        counters.executed(row["counters"]).demand()[TENSOR_BF16]
        for row in counted.rows()
        if counted.signatures[row["signature"]].name.startswith("nvjet")
    ]
    from_shapes = [
        train.signatures[row["signature"]].ledger.demand()[TENSOR_BF16]
        for row in train.rows()
        if (row["step"], row["kind"]) == (0, "op")
        and train.signatures[row["signature"]].name in PRODUCTS
    ]
    assert len(from_counters) == 21
    assert from_shapes[:21] == from_counters
    assert sum(from_counters) == 1_116_691_496_960
    assert sum(from_shapes) == 1_236_950_581_248


def test_layer_norm_by_hand():
    """Nine operators, twice: 12 passes over 268,435,456 B and the small ones.

    mean, sub, mul, mean: 1, 2, 2 and 1 passes of 268,435,456 B (16384 x 4096 fp32), the column of
    means 65,536 B; add and rsqrt on columns; mul, mul, add: 2 passes each.  The trace does not say
    that both operands of the square are one; its 126 us for 805 MB, 6.4 TB/s of 4.8, do.
    """
    run = load([HERE / "ln_hand.json.gz"])
    program = read(run)
    big, column, row = 16384 * 4096 * 4, 16384 * 4, 4096 * 4
    names = [run.signatures[r["signature"]].name for r in run.rows() if r["kind"] == "op"]
    moved = sum(
        entry.amount
        for part in program.parts
        for entry in part.once.ledger.entries
        if entry.resource.unit == "B"
        for _ in range(part.calls)
    )

    assert names == 2 * [
        f"aten::{n}" for n in ("mean", "sub", "mul", "mean", "add", "rsqrt", "mul", "mul", "add")
    ]
    # mean 2x (big + column), sub 2 big + column, mul of itself 2 big, add and rsqrt 2 columns each,
    # mul by a column, mul and add of a row.
    assert moved == 2 * (
        2 * (big + column) + (2 * big + column) + 2 * big + 2 * 2 * column
        + (2 * big + column) + 2 * (2 * big + row)
    )  # fmt: skip
    assert sum(row["kind"] == "kernel" for row in run.rows()) == 18


def test_profilers_own_work_is_set_apart():
    """2,172.069 us of "Activity Buffer Request" inside the first operator, the device being idle."""
    (step,) = load([HERE / "ln_hand.json.gz"]).steps

    assert step.bookkeeping_ns == 2_172_069
    assert step.duration_ns == 4_582_483


def test_decoding_one_token():
    """Useful tensor flop of one block, twice: products of 2048 x (6144 + 2048 + 8192 + 8192) and
    attention over 2048 keys and values, 16 heads of 128: 0.1174 G as the counters say.
    """
    program = read(load([HERE / "decode_1.json.gz"]))
    flop = sum(
        item.ledger.demand().get(TENSOR_BF16, 0) for item in program.by("call") if item.ledger
    )
    products = 2 * 2048 * (6144 + 2048 + 8192 + 8192)

    assert flop == 2 * (products + 2 * 2 * 16 * 128 * 2048)
    assert program.whole.coverage == 1.0
