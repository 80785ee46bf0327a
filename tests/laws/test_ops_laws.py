"""What holds for every operator: nothing crashes, nothing unread is zero, memory is counted once."""

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline import ops
from roofline.call import DTYPE_BYTES, Call, Tensor
from roofline.device import DRAM
from roofline.ops import free
from roofline.ops.hardware import sectors
from roofline.ops.memory import region, shares
from roofline.ops.shapes import below
from roofline.work import Exactness, Ledger
from tests.tables import test_ops_matmul, test_ops_movement, test_ops_pointwise, test_ops_reduce

TABLES = (test_ops_matmul, test_ops_movement, test_ops_pointwise, test_ops_reduce)

FREE = {rule.op for rule in free.RULES}
NAMES = sorted({rule.op for rule in ops.RULES})
SIZES = st.integers(1, 5)


# -- any argument at all --------------------------------------------------------------------------

tensors = st.builds(
    Tensor,
    st.lists(st.integers(0, 4), max_size=4).map(tuple),
    st.sampled_from([*DTYPE_BYTES, "fp6"]),
)
scalars = st.one_of(tensors, st.none(), st.booleans(), st.integers(-3, 8), st.floats(-2, 2),
                    st.sampled_from(["", "mean", "tanh", "inf", "ij,jk->ik", "cuda:0"]))  # fmt: skip
arguments = st.one_of(scalars, st.lists(st.one_of(tensors, st.integers(-1, 4), st.none()),
                                        max_size=4).map(tuple))  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@given(op=st.sampled_from(NAMES), args=st.lists(arguments, max_size=8).map(tuple))
@settings(max_examples=1000)
def test_whatever_the_arguments_there_is_a_ledger(device, op, args):
    """A call that its rule cannot read is named with the reason: no exception, and no entries."""
    call = Call(op, args, device=device)

    ledger = ops.account(call)

    assert isinstance(ledger, Ledger)
    ops.executed(call)
    if ledger.unaccounted:
        assert ledger.unaccounted == (op,)
        assert ledger.entries == ()
        assert ledger.conventions[0].startswith("not accounted for: ")
    else:
        assert ledger.footprint is not None


def mutated(rng, call):
    """A golden call with some of its arguments replaced, cut short, or given strange results."""

    def tensor():
        shape = tuple(rng.randint(0, 4) for _ in range(rng.choice((0, 1, 2, 2, 3, 4, 5))))
        return Tensor(shape, rng.choice(("fp32", "fp16", "int64", "bool", "fp4", "complex64")))

    def number():
        return rng.choice(
            (None, True, False, 0, 1, 2, 3, -1, -2, 0.5, "", "mean", "tanh", "inf", 100)
        )

    def argument():
        kind = rng.random()
        if kind < 0.6:
            return tensor() if kind < 0.35 else number()
        many = rng.randint(0, 4)
        return tuple(tensor() if kind < 0.75 else rng.randint(-2, 4) for _ in range(many))

    args = list(call.args)
    for _ in range(rng.randint(1, 3)):
        if args:
            args[rng.randrange(len(args))] = argument()
    if rng.random() < 0.2:
        args = args[: rng.randint(0, len(args))]
    results = tuple(tensor() for _ in range(rng.choice((0, 0, 1, 2))))
    return Call(call.op, tuple(args), results, rng.choice(("cpu", "cuda")))


def accounted(seed, cases):
    """Every case has a ledger; the message of a failure shows the call."""
    rng = random.Random(seed)
    golden = [row.call for table in TABLES for row in table.ROWS]
    for _ in range(cases):
        call = mutated(rng, rng.choice(golden))
        ledger = ops.account(call)
        ops.executed(call)
        assert bool(ledger.unaccounted) == bool(ledger.footprint is None), call


@pytest.mark.parametrize("seed", range(4))
def test_golden_calls_spoilt_at_random_have_a_ledger(seed):
    """Near misses reach further into a rule than arguments drawn blindly."""
    accounted(seed, 5_000)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_golden_calls_spoilt_at_random_have_a_ledger_long(seed):
    """The same, on many more."""
    accounted(seed, 50_000)


@pytest.mark.parametrize("op", [name for name in NAMES if name not in FREE])
def test_a_call_without_arguments_is_a_gap(op):
    """A trace without shapes says nothing, so nothing is counted."""
    ledger = ops.account(Call(op))
    waits = {"c10d::barrier", "c10d::monitored_barrier_", "c10d::check_for_nan",
             "_c10d_functional::wait_tensor", "_c10d_functional::_wrap_tensor_autograd",
             "aten::scalar_tensor"}  # fmt: skip

    assert ledger.unaccounted == (op,) or op in waits


def test_an_unknown_size_or_dtype_is_a_gap():
    """Symbolic sizes, negative sizes and types without a size."""
    for t in (
        Tensor((-1, 4)),
        Tensor((2, "s0")),
        Tensor((2,), "fp6"),
        Tensor((2, 3), "fp32", (1,)),
    ):
        ledger = ops.account(Call("aten::relu", (t,)))
        assert ledger.unaccounted == ("aten::relu",)
        assert "not accounted for: aten::relu: " in ledger.conventions[0]


# -- memory ---------------------------------------------------------------------------------------


def addresses(t):
    """Every byte a strided tensor covers, by walking it."""
    size = int(DTYPE_BYTES[t.dtype])
    found = set()
    for place in itertools.product(*(range(n) for n in t.shape)):
        element = t.offset + sum(p * s for p, s in zip(place, t.strides, strict=True))
        found.update(range(element * size, element * size + size))
    return found


strided = st.integers(0, 3).flatmap(
    lambda rank: st.builds(
        Tensor,
        st.tuples(*[st.integers(1, 4)] * rank),
        st.sampled_from(["fp32", "fp16", "int64", "bool"]),
        st.tuples(*[st.sampled_from([0, 1, 2, 3, 4, 5, 8, 12, 16, 20])] * rank),
        st.just(1),
        st.integers(0, 24),
    )
)


@given(strided)
@settings(max_examples=500)
def test_a_region_is_what_walking_finds(t):
    """Start and end are exact; the bytes are, unless steps overlap in a way that is not a window."""
    walked, found = addresses(t), region(t)

    assert (found.start, found.end) == (min(walked), max(walked) + 1)
    assert found.nbytes >= len(walked)
    if found.dense:
        assert found.nbytes == len(walked)


@given(st.lists(strided, min_size=1, max_size=4))
@settings(max_examples=500)
def test_memory_that_is_shared_counts_once(several):
    """Exact shares add up to the bytes walked; otherwise the truth is within the bounds."""
    walked, before = [], set()
    for t in several:
        new = addresses(t)
        walked.append(len(new - before))
        before |= new
    if any(region(t).nbytes != len(addresses(t)) for t in several):
        return  # steps that overlap: the region itself is an upper bound
    for share, truth in zip(shares(several), walked, strict=True):
        assert share.low <= truth <= share.high
        if share.exact:
            assert share.amount == truth


@given(strided, st.sampled_from([32, 64]))
@settings(max_examples=500)
def test_sectors_are_what_walking_finds(t, size):
    """Every sector with a touched byte, once; two far runs may meet in one at most at their ends."""
    touched = {byte // size for byte in addresses(t)}

    assert sectors(t, size) >= size * len(touched)
    if len(region(t).dims) <= 2:
        assert sectors(t, size) == size * len(touched)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(-12, 12))
def test_below_is_what_counting_finds(rows, cols, ahead):
    """Pairs with j <= i + ahead."""
    assert below(rows, cols, ahead) == sum(j <= i + ahead for i in range(rows) for j in range(cols))


# -- laws of ledgers ------------------------------------------------------------------------------

BATCHED = {
    "bmm": lambda n: (Tensor((n, 3, 4)), Tensor((n, 4, 5))),
    "relu": lambda n: (Tensor((n, 7)),),
    "_softmax": lambda n: (Tensor((n, 7)), 1, False),
    "silu_backward": lambda n: (Tensor((n, 7)), Tensor((n, 7))),
    "scaled_dot_product_attention": lambda n: (Tensor((n, 2, 3, 4)),) * 3 + (None, 0.0, True),
    "max_pool2d": lambda n: (Tensor((n, 2, 4, 4)), (2, 2)),
    "clone": lambda n: (Tensor((n, 7)),),
    "sum": lambda n: (Tensor((n, 7)), (1,), False, None),
}


@pytest.mark.parametrize("op", BATCHED)
@given(n=SIZES, m=SIZES)
def test_work_adds_up_over_the_batch(op, n, m):
    """Two batches are as much work as one batch of both sizes."""

    def demand(size):
        return ops.account(Call(f"aten::{op}", BATCHED[op](size))).demand()

    apart, together = (demand(n), demand(m)), demand(n + m)
    assert together == {r: apart[0].get(r, 0) + apart[1].get(r, 0) for r in together}


@given(st.tuples(*[st.integers(1, 9)] * 3), st.booleans())
def test_training_a_product_is_three_forwards(sizes, conv):
    """dX and dW are as many multiply-adds as the forward, for products and for convolutions."""
    m, n, k = sizes
    if conv:
        x, w, y = Tensor((m, k, 6, 6)), Tensor((n, k, 3, 3)), Tensor((m, n, 6, 6))
        rest = ((1, 1), (1, 1), (1, 1), False, (0, 0), 1)
        forward = ops.account(Call("aten::convolution", (x, w, None, *rest)))
        backward = ops.account(
            Call("aten::convolution_backward", (y, x, w, None, *rest, (True, True, False)))
        )
    else:
        x, w, g = Tensor((m, k)), Tensor((n, k)), Tensor((m, n))
        forward = ops.account(Call("aten::linear", (x, w, None)))
        backward = ops.account(Call("aten::linear_backward", (x, g, w, (True, True, False))))

    assert forward.flop + backward.flop == 3 * forward.flop


@given(tensors.filter(lambda t: t.dtype != "fp6" and DTYPE_BYTES[t.dtype] >= 1), st.integers(0, 3))
def test_bytes_are_at_least_what_is_touched(t, pick):
    """A pass over data reads every touched byte and writes its result."""
    op = ("clone", "relu", "_softmax", "neg")[pick]
    args = {"_softmax": (t, 0, False)}.get(op, (t,))
    ledger = ops.account(Call(f"aten::{op}", args))
    if ledger.unaccounted:
        return  # no count for complex numbers

    assert ledger.traffic(DRAM, "read") >= t.nbytes
    assert ledger.demand().get(DRAM, 0) >= 2 * t.nbytes


@given(st.lists(SIZES, min_size=1, max_size=3).map(tuple))
def test_in_place_touches_less_memory(shape):
    """The same flop; as many bytes read; a smaller footprint."""
    t = Tensor(shape)
    out, inside = (ops.account(Call(f"aten::add{u}", (t, Tensor(shape), 1))) for u in ("", "_"))

    assert out.flop == inside.flop
    assert out.demand()[DRAM] == inside.demand()[DRAM]
    assert out.footprint == 3 * t.nbytes
    assert inside.footprint == 2 * t.nbytes


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40))
def test_hardware_runs_no_less_than_the_formula(m, n, k):
    """Tiles are filled up, never cut."""
    call = Call("aten::mm", (Tensor((m, k), "fp16"), Tensor((k, n), "fp16")), device="cuda")
    executed = ops.executed(call)

    assert executed is not None
    assert executed.flop >= ops.account(call).flop
    assert executed.flop % (2 * 16 * 8 * 16) == 0


def test_bounds_contain_the_amount():
    """On every line of every label."""
    index, table = Tensor((math.prod((2, 3)),), "int64"), Tensor((4, 5))
    for op, args in (("embedding", (table, index)), ("index_add_", (table, 0, index, Tensor((6, 5)), 1)),
                     ("masked_select", (table, Tensor((4, 5), "bool"))), ("nonzero", (table,))):  # fmt: skip
        lines = [e for e in ops.account(Call(f"aten::{op}", args)).entries
                 if e.exactness is Exactness.BOUNDED]  # fmt: skip
        assert lines
        assert all(e.low <= e.amount <= e.high for e in lines)
