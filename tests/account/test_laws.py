"""What holds for every program: counting once, adding up, and fusion that never costs bytes."""

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import roofline as rl  # noqa: E402
from roofline import ops  # noqa: E402
from roofline.accounting import running  # noqa: E402
from roofline.capture.compiled.graph import Graph  # noqa: E402
from roofline.device import DRAM  # noqa: E402
from tests.account.programs import Language  # noqa: E402

UNARY = (torch.relu, torch.exp, torch.neg, torch.sigmoid, torch.tanh, lambda x: x * x,
         lambda x: x.t().contiguous().t(), lambda x: x.softmax(-1))  # fmt: skip
BINARY = (torch.add, torch.mul, torch.maximum, lambda x, y: x @ y, lambda x, y: x - y[:1])
STEP = st.one_of(
    st.tuples(st.sampled_from(UNARY), st.integers(0, 9)),
    st.tuples(st.sampled_from(BINARY), st.integers(0, 9), st.integers(0, 9)),
)


def program(steps):
    """A function of two square matrices; every step takes earlier results."""

    def work(x, y):
        made = [x, y]
        for function, *places in steps:
            made.append(function(*(made[place % len(made)] for place in places)))
        return made[-1]

    return work


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEP, min_size=1, max_size=8))
def test_a_fused_region_moves_no_more_than_its_operators_and_computes_the_same(steps):
    from torch.fx.experimental.proxy_tensor import make_fx

    work, x, y = program(steps), torch.ones(16, 16), torch.ones(16, 16)
    apart = running.account(work, [x, y]).algorithmic
    graph = make_fx(work, tracing_mode="fake")(x, y)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    live = running.account(graph, [x, y]).algorithmic
    fused = Graph(graph).ledger(ops.account, [x, y])
    assert fused.demand().get(DRAM, 0) <= live.demand().get(DRAM, 0) <= apart.demand()[DRAM]
    assert fused.flop == live.flop <= apart.flop


@settings(max_examples=25, deadline=None)
@given(batch=st.integers(1, 8), times=st.integers(2, 4))
def test_a_batch_of_more_needs_as_many_times_the_flop(batch, times):
    layer = torch.nn.Linear(16, 32)

    def flop(n):
        return rl.account(layer, torch.zeros(n, 16)).flop

    assert flop(batch * times) == times * flop(batch)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 16), k=st.integers(1, 16), m=st.integers(1, 16))
def test_forward_and_backward_of_products_are_three_forwards(n, k, m):
    layer, x = torch.nn.Linear(k, m, bias=False), torch.zeros(n, k, requires_grad=True)
    assert rl.account(layer, x, backward=True).flop == 3 * rl.account(layer, x).flop


def test_a_signature_is_accounted_for_once(monkeypatch):
    """Every further equal call is a look-up."""
    counted = []
    account = ops.account
    monkeypatch.setattr(ops, "account", lambda call: counted.append(call) or account(call))
    few = rl.account(Language(1), torch.zeros(2, 8, dtype=torch.int64), backward=True)
    once = len(counted)
    counted.clear()
    many = rl.account(Language(6), torch.zeros(2, 8, dtype=torch.int64), backward=True)
    assert many.account.calls > 4 * few.account.calls
    # Every block makes the same calls; the sum of two blocks' gradients does not occur in one.
    assert once <= len(counted) <= once + 4
    assert len(counted) == len(set(counted)) == len(many.account.signatures)
