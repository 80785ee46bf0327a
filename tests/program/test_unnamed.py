"""Recordings without addresses: data placed by what must have been touched since, or left open."""

import pytest

from roofline.call import Tensor
from roofline.device import DRAM, L2
from roofline.program import read
from roofline.program.batch.carried import strides_of
from roofline.program.boundary.residency import NEVER
from roofline.program.boundary.unnamed import Range, ranges
from roofline.runfile import Signature
from roofline.work import Entry, algorithmic
from tests.runs import Script, call, tensor

# The toy CPU's L2 holds 1 MB at 100 GB/s; DRAM gives 10 GB/s.
X = tensor(1, 300)
W = tensor(300, 300)  # 360 kB
WIDE = tensor(300, 400)  # 480 kB
TALL = tensor(400, 300)
UP = call("aten::mm", X, WIDE)
DOWN = call("aten::mm", tensor(1, 400), TALL)
LAYER = call("aten::mm", X, W)


def parts(script):
    program = read(script.end_step().run())
    return {part.name: part for part in program.parts}, program


def test_weights_of_different_layouts_that_do_not_fit_together_cross_dram():
    """960 kB and 360 kB of weights a token: each would fit the 1 MB L2, all of them do not."""
    script = Script()
    for _ in range(2):
        script.add(UP, 100).add(DOWN, 100).add(LAYER, 100)
    _, program = parts(script)

    assert [item.placed_at for item in program.by("call")] == [DRAM] * 3
    assert [item.placement.perhaps_at for item in program.by("call")] == [None] * 3


def test_a_transposed_view_is_the_same_memory():
    """The product of a backward pass reads the weight of the forward one: 480 kB, nothing else."""
    turned = Tensor((400, 300), strides=(1, 400))
    script = Script().add(UP, 100).add(call("aten::mm", tensor(1, 400), turned), 100)
    _, program = parts(script)

    assert [item.placed_at for item in program.by("call")] == [L2] * 2


def test_equal_layers_or_one_layer_again_is_left_open():
    """Eight products of one shape: one weight of 360 kB eight times, or eight of them, 2.9 MB."""
    script = Script()
    for _ in range(8):
        script.add(LAYER, 100)
    (item,) = parts(script)[1].by("call")

    assert (item.placed_at, item.placement.perhaps_at) == (L2, DRAM)
    assert item.placement.ambiguous_with == (DRAM,)


def test_a_time_that_dram_does_not_allow_settles_it():
    """360 kB take 36 us from DRAM and 3.6 us from the L2: in 10 us they came from the L2."""
    script = Script()
    for _ in range(8):
        script.add(LAYER, 10)
    (item,) = parts(script)[1].by("call")

    assert (item.placed_at, item.placement.perhaps_at) == (L2, None)


def test_a_result_of_the_call_before_is_near_however_large_the_step():
    """relu reads the 1200 B that the product wrote; the step touches 1.3 MB."""
    script = Script()
    for _ in range(2):
        script.add(UP, 100).add(DOWN, 100).add(LAYER, 100)
        script.add(call("aten::relu", X), 20)
    found, _ = parts(script)

    assert found["aten::relu"].once.placed_at == L2
    assert found["aten::relu"].once.perhaps_at is None


def signature(*sizes, result):
    """Reads tensors of so many fp32, writes one."""
    ledger = algorithmic(
        *(Entry(DRAM, 4 * size, "read", access="read") for size in sizes),
        Entry(DRAM, 4 * result, "write", access="write"),
    )
    return Signature(name="x", call=call("x", *map(tensor, sizes)), ledger=ledger)


def test_distances_by_hand():
    """Two calls, (1000 B, result 400 B) and (2000 B and that result), once a step.

    The step before was alike.  1000 B: itself, then 400, 2000 and 800: 4200 B.  2000 B: itself,
    then 400 and 800 of that step, 1000 and 400 of this one: 4600 B.
    """
    calls = [signature(250, result=100), signature(500, 100, result=200)]
    step = [0, 1]

    assert [*ranges([step], calls, (4600, 4200))] == [[Range(4200, 4200), Range(4600, 4600)]]
    assert [*ranges([step], calls, (4599, 4199))] == [[Range(4599, 4599), Range(NEVER, NEVER)]]


def test_nothing_is_said_of_no_calls():
    assert [*ranges([], [], (1,))] == []
    assert [*ranges([[0]], [Signature(name="kernel")], (1,))] == [[Range(None, None)]]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_contiguous_strides(shape):
    strides = strides_of(Tensor(shape))

    assert len(strides) == len(shape)
    assert strides[-1:] == (1,)[: len(shape)]
