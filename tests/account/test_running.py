"""The same count whichever way a program runs: real or fake, eager or compiled, in any mode."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

from torch import library  # noqa: E402

import roofline as rl  # noqa: E402
from roofline.errors import BadInput  # noqa: E402
from tests.account.programs import Block, Language, Pictures  # noqa: E402


def by_operator(counted):
    return {g.name: (g.calls, g.algorithmic.demand()) for g in counted.by()}


def by_call(counted):
    """Every distinct call with how often it was made."""
    found = {}
    for line in counted.account.lines:
        call = counted.account.signatures[line.signature].call
        found[call, line.phase, line.module] = line.calls
    return found


@pytest.mark.parametrize(
    ("model", "x"),
    [(Language, lambda: torch.zeros(2, 8, dtype=torch.int64)),
     (Pictures, lambda: torch.zeros(4, 3, 16, 16))],
)  # fmt: skip
def test_fake_tensors_are_counted_as_real_ones(model, x):
    made, given = model(), x()
    real = rl.account(made, given, backward=True)
    assert by_call(rl.account(made, given, backward=True, fake=True)) == by_call(real)
    with torch.device("meta"):
        nowhere = model()
        given = given.to("meta")
    assert by_operator(rl.account(nowhere, given, backward=True, fake=True)) == by_operator(real)


def test_a_module_made_of_fake_tensors_needs_no_option():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        model, tokens = Language(), torch.zeros(2, 8, dtype=torch.int64)
    real = rl.account(Language(), torch.zeros(2, 8, dtype=torch.int64), backward=True)
    assert by_call(rl.account(model, tokens, backward=True)) == by_call(real)


def test_nothing_is_left_behind():
    model, x = Pictures(), torch.zeros(4, 3, 16, 16)
    model(x).sum().backward()
    before = [p.grad.clone() for p in model.parameters()]
    call = nn.Module._call_impl
    rl.account(model, x, backward=True)
    assert all(torch.equal(p.grad, b) for p, b in zip(model.parameters(), before, strict=True))
    assert nn.Module._call_impl is call
    state = {name: t.clone() for name, t in model.state_dict().items()}
    rl.account(model, x, backward=True, fake=True)
    assert all(torch.equal(t, state[name]) for name, t in model.state_dict().items())


def test_backward_of_products_is_twice_their_forward():
    model, x = nn.Linear(64, 64, bias=False), torch.zeros(32, 64, requires_grad=True)
    phases = {g.name: g.algorithmic.flop for g in rl.account(model, x, backward=True).by("phase")}
    assert phases == {"forward": 2 * 32 * 64 * 64, "backward": 4 * 32 * 64 * 64}


def test_modules_are_named_by_their_path_also_in_the_backward():
    counted = rl.account(Language(1), torch.zeros(2, 8, dtype=torch.int64), backward=True)
    flop = {g.name: g.algorithmic.flop for g in counted.by("module")}
    # 16 tokens, 32 to 128: forward with bias, then two products, and the sum for the bias.
    assert flop["Language.blocks.0.up"] == 3 * 2 * 16 * 32 * 128 + 2 * 16 * 128
    assert "outside modules" not in flop or flop["outside modules"] == 0


def test_a_shared_module_is_counted_each_time_it_is_called():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(16, 16, bias=False)
            self.b = self.a

        def forward(self, x):
            return self.b(self.a(x))

    counted = rl.account(Twice(), torch.zeros(4, 16))
    assert counted.flop == 2 * (2 * 4 * 16 * 16)
    assert rl.account(Twice(), torch.zeros(4, 16), fake=True).flop == counted.flop


def test_inference_mode_splits_what_has_no_kernel():
    model, tokens = Language().eval(), torch.zeros(2, 8, dtype=torch.int64)

    def infer():
        with torch.inference_mode():
            return model(tokens)

    def plain():
        with torch.no_grad():
            return model(tokens)

    assert rl.account(infer).flop == rl.account(plain).flop
    assert not rl.account(infer).unaccounted


def test_autocast_counts_its_casts_and_the_other_pipe():
    model, x = nn.Linear(64, 64, bias=False), torch.zeros(32, 64)

    def cast(x):
        with torch.autocast("cpu", torch.bfloat16):
            return model(x)

    counted = rl.account(cast, x)
    demand = {r.name: n for r, n in counted.algorithmic.demand().items()}
    assert demand["tensor-bf16"] == 2 * 32 * 64 * 64
    assert by_operator(counted)["aten::_to_copy"][0] == 2


def test_vmap_is_counted_as_the_batched_operators_it_becomes():
    matrix, vectors = torch.zeros(16, 8), torch.zeros(4, 8)
    counted = rl.account(torch.func.vmap(lambda v: matrix @ v), vectors)
    assert counted.flop == 2 * 4 * 16 * 8


def test_a_compiled_module_is_counted_as_the_eager_one():
    """In a process of its own: compiling changes what PyTorch does afterwards."""
    script = """
import torch, roofline as rl
model, x = torch.nn.Linear(1000, 1000, bias=False), torch.zeros(1, 1000)
compiled = torch.compile(model, backend="eager")
compiled(x)
print(rl.account(model, x).flop, rl.account(compiled, x).flop, rl.account(compiled, x, fake=True).flop)
print(any("compiled" in text for text in rl.account(compiled, x).conventions))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == ["2000000", "2000000", "2000000", "True"], done.stderr


def test_an_operator_nobody_knows_is_named_and_not_nothing():
    @library.custom_op("roofline_tests::mystery", mutates_args=())
    def mystery(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    mystery.register_fake(torch.empty_like)
    x = torch.zeros(4)
    counted = rl.account(lambda: mystery(mystery(x)) + x)
    assert counted.unaccounted == {"roofline_tests::mystery": 2}
    assert counted.flop == 4
    assert counted.algorithmic.unaccounted == ("roofline_tests::mystery",)
    document = counted.document()
    assert document["complete"] is False
    (item,) = [i for i in document["items"] if i["name"] == "roofline_tests::mystery"]
    assert (item["flop"], item["read"]) == (None, None)


def test_data_that_fake_tensors_do_not_have_is_said_in_a_sentence():
    x = torch.tensor([0, 1, 2])
    assert not rl.account(lambda x: x.nonzero(), x).unaccounted
    with pytest.raises(BadInput, match=r"nonzero.*depends on data.*real tensors"):
        rl.account(lambda x: x.nonzero() + 1, x, fake=True)
    with pytest.raises(BadInput, match="depends on data"):
        rl.account(lambda x: x * x.sum().item(), x, fake=True)


def test_mistakes_are_one_sentence():
    with pytest.raises(BadInput, match="not callable"):
        rl.account(3)
    with pytest.raises(BadInput, match="no result requires a gradient"):
        rl.account(torch.relu, torch.zeros(3), backward=True)
    with pytest.raises(BadInput, match=r"Linear cannot be called with 0 inputs.*'input'"):
        rl.account(nn.Linear(2, 2))


def test_a_gpu_has_other_sectors_and_tiles():
    x = torch.zeros(1, 100, dtype=torch.bfloat16)
    model = nn.Linear(100, 100, bias=False, dtype=torch.bfloat16)
    here, there = rl.account(model, x), rl.account(model, x, device="cuda")
    assert here.flop == there.flop == 2 * 100 * 100
    ran = {r.name: n for r, n in there.executed.demand().items()}
    # One row is padded to 8, 100 columns to 112 (of 16), the inner size to 112.
    assert ran["tensor-bf16"] == 2 * 8 * 112 * 112


def test_groups_add_up_to_the_whole():
    counted = rl.account(Block(), torch.zeros(2, 8, 32), backward=True)
    for grouping in ("call", "operator", "module", "phase"):
        groups = counted.by(grouping)
        assert sum(g.algorithmic.flop for g in groups) == counted.flop
        assert sum(g.calls for g in groups) == counted.account.calls
        moved = sum(n for g in groups for r, n in g.algorithmic.demand().items() if r.is_boundary)
        assert moved == counted.account.read + counted.account.written


def test_flex_attention_is_counted_by_the_blocks_that_its_mask_keeps():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q = torch.zeros(2, 3, 512, 16)
    dense = 4 * 2 * 3 * 512 * 512 * 16
    for fake in (False, True):
        counted = rl.account(lambda q: flex_attention(q, q, q), q, fake=fake)
        of = {g.name: g for g in counted.by()}["higher_order::flex_attention"]
        assert (of.algorithmic.flop, of.algorithmic.exactness) == (dense, "exact")

    # Causal in blocks of 128: of 4 x 4 blocks 6 are whole, and 4 on the diagonal hold a part.
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 512, 512, device="cpu")
    counted = rl.account(lambda q: flex_attention(q, q, q, block_mask=mask), q)
    of = {g.name: g for g in counted.by()}["higher_order::flex_attention"]
    (products,) = [e for e in of.algorithmic.entries if e.resource.unit == "flop"]
    block = 4 * 2 * 3 * 16 * 128 * 128
    assert (products.amount, products.high) == (10 * block, 10 * block)
    assert products.low == 6 * block + 4 * (4 * 2 * 3 * 16)
    exact = 4 * 2 * 3 * 16 * (512 * 513 // 2)
    assert products.low < exact < products.high


def test_scaled_fp8_is_counted_against_its_own_pipe():
    # fp8 exists on fake tensors: 64 cubed, and the scales are of tensors.
    a, b = (torch.empty(64, 64, dtype=torch.float8_e4m3fn, device="meta") for _ in "ab")
    one = torch.empty((), device="meta")
    counted = rl.account(
        lambda a, b, one: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16),
        a, b, one, fake=True,
    )  # fmt: skip
    demand = {r.name: n for r, n in counted.algorithmic.demand().items()}
    assert demand["tensor-fp8"] == 2 * 64**3 == 524_288


def test_what_a_module_refuses_is_one_sentence():
    with pytest.raises(BadInput, match=r"Conv2d raised \w+ with inputs 2x5x8x8: .*channels"):
        rl.account(torch.nn.Conv2d(3, 8, 3), torch.randn(2, 5, 8, 8))


def test_what_functions_inside_an_operator_do_is_counted():
    """map over 3 rows of 2, a scan of 4 rows of 3, the branch that runs, a loop of 3 turns."""
    from torch._higher_order_ops import associative_scan, scan, while_loop
    from torch._higher_order_ops.map import map as map_

    def flop(work):
        counted = rl.account(work)
        assert not counted.unaccounted
        return counted.flop

    ones = torch.ones(4, 3)
    assert flop(lambda: map_(lambda x: x * 2, torch.ones(3, 2))) == 6
    assert flop(lambda: scan(lambda c, x: (c + x, c * 1.0), torch.zeros(3), ones)) >= 2 * 12
    assert flop(lambda: associative_scan(lambda a, b: a + b, ones, 0, combine_mode="generic")) >= 9
    branch = rl.account(lambda: torch.cond(torch.tensor(True), torch.exp, torch.abs, (ones,)))
    assert [s.name for s in branch.account.signatures if s.ledger.flop] == ["aten::exp"]
    turns = flop(
        lambda: while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), (torch.tensor(0), ones)
        )
    )
    assert turns >= 3 * 12


def test_a_branch_that_data_decide_is_named_without_data():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x, flag = torch.ones(3), torch.ones((), dtype=torch.bool)
    counted = rl.account(lambda: torch.cond(flag, torch.exp, torch.abs, (x,)))
    assert list(counted.unaccounted) == ["higher_order::cond"]


def test_packed_sequences_count_by_their_real_lengths():
    """4*H*D a score, 3*3 + 5*5 of them; as many causal as S(S+1)/2; twice that backward."""
    from torch.nn.attention.varlen import varlen_attn

    rows = torch.ones(8, 2, 16, dtype=torch.bfloat16, requires_grad=True)
    starts = torch.tensor([0, 3, 8], dtype=torch.int32)

    def work(rows, starts):
        return varlen_attn(rows, rows, rows, starts, starts, 5, 5)

    counted = rl.account(work, rows, starts, fake=True, device="cuda", backward=True)
    assert not counted.unaccounted
    pipes = {r.name: n for r, n in counted.algorithmic.demand().items() if r.is_pipe}
    assert pipes["tensor-bf16"] == 3 * 4 * 2 * 16 * 34
    assert counted.algorithmic.exactness == "exact"
    other = torch.tensor([0, 4, 8], dtype=torch.int32)
    again = rl.account(work, rows.detach(), other, fake=True, device="cuda")
    assert again.flop == 4 * 2 * 16 * 32
