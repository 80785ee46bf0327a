"""Inputs that other counters get wrong, counted as they run."""

import pytest

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

import roofline as rl  # noqa: E402
from roofline.device import DRAM  # noqa: E402


def operator(counted, *names):
    """Algorithmic flop of the operators of these names."""
    wanted = {f"aten::{name}" for name in names}
    return sum(g.algorithmic.flop for g in counted.by() if g.name in wanted)


def executed(counted, *names):
    wanted = {f"aten::{name}" for name in names}
    return sum(g.executed.flop for g in counted.by() if g.name in wanted)


def moved(counted):
    return counted.account.read + counted.account.written


MATMULS = ("mm", "addmm", "bmm", "baddbmm")


def test_attention_on_the_cpu_is_not_nothing():
    q = torch.zeros(1, 12, 64, 64)
    counted = rl.account(functional.scaled_dot_product_attention, q, q, q)
    assert counted.flop == 4 * 12 * 64 * 64 * 64 == 12_582_912


def test_grouped_queries_read_few_keys_and_a_repeat_is_a_copy_of_its_own():
    q, k = torch.zeros(1, 8, 128, 64).half(), torch.zeros(1, 2, 128, 64).half()
    attention = functional.scaled_dot_product_attention

    grouped = rl.account(lambda: attention(q, k, k.clone(), enable_gqa=True))
    of = {g.name: g for g in grouped.by()}["aten::_scaled_dot_product_flash_attention_for_cpu"]
    assert of.algorithmic.flop == 4 * 8 * 128 * 128 * 64 == 33_554_432
    # Q and O of 1*8*128*64 elements, K and V of 1*2*128*64, 2 B each.
    assert of.algorithmic.demand()[DRAM] == 2 * 131_072 + 2 * 32_768 == 327_680

    def repeat():
        return attention(q, k.repeat_interleave(4, 1), k.repeat_interleave(4, 1))

    repeated = {g.name: g for g in rl.account(repeat).by()}
    of = repeated["aten::_scaled_dot_product_flash_attention_for_cpu"]
    assert of.algorithmic.flop == 33_554_432
    assert of.algorithmic.demand()[DRAM] == 4 * 131_072 == 524_288
    copies = {n: g for n, g in repeated.items() if n in ("aten::clone", "aten::index_select")}
    # Each repeat reads 32,768 B of K (or V) and writes 131,072 B.
    written = sum(g.algorithmic.traffic(DRAM, "write") for g in copies.values())
    assert written == 2 * 131_072


def test_nested_calls_are_counted_once():
    q = torch.zeros(2, 5, 9, 4)
    counted = rl.account(functional.scaled_dot_product_attention, q, q, q)
    assert counted.flop == 4 * 2 * 5 * 9 * 9 * 4 == 12_960
    linear = rl.account(nn.Linear(8, 16, bias=False), torch.zeros(4, 8))
    assert linear.flop == 2 * 4 * 8 * 16


def test_causal_attention_is_counted_exactly_and_says_so():
    with torch.device("meta"):
        q = torch.zeros(1, 8, 4096, 128)
    attention = functional.scaled_dot_product_attention
    dense = rl.account(lambda q: attention(q, q, q), q, fake=True)
    causal = rl.account(lambda q: attention(q, q, q, is_causal=True), q, fake=True)
    assert dense.flop == 4 * 8 * 128 * 4096 * 4096 == 68_719_476_736
    assert causal.flop == 4 * 8 * 128 * (4096 * 4097 // 2) == 34_368_126_976
    assert any("S(S+1)/2" in text for text in causal.conventions)


def test_attention_backward_is_twice_the_forward_and_runs_half_as_much_again():
    q = torch.zeros(1, 8, 128, 64, dtype=torch.bfloat16, requires_grad=True)
    k, v = (torch.zeros(1, 8, 128, 64, dtype=torch.bfloat16, requires_grad=True) for _ in "kv")
    counted = rl.account(functional.scaled_dot_product_attention, q, k, v, backward=True)
    name = "_scaled_dot_product_flash_attention_for_cpu_backward"
    assert operator(counted, name) == 2 * 33_554_432 == 67_108_864
    of = {g.name: g for g in counted.by()}[f"aten::{name}"]
    products = [e.amount for e in of.executed.entries if e.resource.name == "tensor-bf16"]
    assert products == [5 * 33_554_432 // 2] == [83_886_080]


@pytest.mark.parametrize(
    ("layer", "x", "flop", "bias"),
    [
        # N*Cin*(Cout/g)*prod(k)*prod(input spatial) multiply-adds; the bias once an output.
        ((32, 1, 3), (1, 32, 1, 1), 576, 9),
        ((3, 1, 2, 2), (1, 3, 2, 2), 96, 16),
        ((4, 6, 4, 2, 1), (2, 4, 8, 8), 98_304, 3_072),
        ((4, 4, 3, 2, 1, 1, 4), (2, 4, 8, 8), 9_216, 2_048),
        ((6, 6, 2, 2, 0, 0, 3), (2, 6, 8, 8), 12_288, 3_072),
    ],
)
def test_transposed_convolution_counts_its_input(layer, x, flop, bias):
    without = rl.account(nn.ConvTranspose2d(*layer, bias=False), torch.zeros(x))
    assert without.flop == flop
    assert rl.account(nn.ConvTranspose2d(*layer), torch.zeros(x)).flop == flop + bias


@pytest.mark.parametrize(
    ("channels", "groups", "forward", "both"),
    # 2*N*Cout*(Cin/g)*9*H*W, and three times that with both gradients.
    [(8, 8, 73_728, 221_184), (64, 4, 9_437_184, 28_311_552)],
)
def test_grouped_convolution_backward_is_twice_its_forward(channels, groups, forward, both):
    layer = nn.Conv2d(channels, channels, 3, padding=1, groups=groups, bias=False)
    x = torch.zeros(2, channels, 16, 16, requires_grad=True)
    assert rl.account(layer, x).flop == forward
    assert rl.account(layer, x, backward=True).flop == both


def test_checkpointing_runs_the_forward_again_but_does_not_make_the_model_larger():
    from torch.utils.checkpoint import checkpoint

    layers = nn.Sequential(nn.Linear(64, 64, bias=False), nn.ReLU(), nn.Linear(64, 64, bias=False))

    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def forward(self, x):
            return checkpoint(self.layers, x, use_reentrant=False)

    base = 2 * 32 * 64 * 64
    assert base == 262_144
    for fake in (False, True):
        x = torch.zeros(32, 64, requires_grad=True)
        plain = rl.account(layers, x, backward=True, fake=fake)
        counted = rl.account(Checkpointed(), x, backward=True, fake=fake)
        # Two products forward, four backward; the second forward stops before its last product.
        assert operator(plain, "mm") == executed(plain, "mm") == 6 * base == 1_572_864
        assert operator(counted, "mm") == 6 * base
        assert executed(counted, "mm") == 7 * base == 1_835_008


def test_a_second_derivative_is_no_recomputation():
    w, x = torch.ones(8, 8, requires_grad=True), torch.ones(4, 8)

    def penalty(x):
        y = (x @ w).pow(2).sum()
        (slope,) = torch.autograd.grad(y, w, create_graph=True)
        slope.pow(2).sum().backward()

    counted = rl.account(penalty, x)
    assert operator(counted, "mm") == executed(counted, "mm")
    assert not [g for g in counted.by("phase") if g.name == "recomputed"]


def test_vectors_and_broadcast_products():
    ones = torch.ones
    assert rl.account(torch.matmul, ones(8), ones(8)).flop == 16
    assert rl.account(torch.matmul, ones(4, 8), ones(8)).flop == 64
    # 2*3 matrices of 4*5 results, 8 multiply-adds each.
    products = rl.account(torch.matmul, ones(2, 1, 4, 8), ones(3, 8, 5))
    assert operator(products, *MATMULS) == 2 * 2 * 3 * 4 * 5 * 8 == 1_920


def test_a_bias_is_an_entry_of_its_own_and_broadcasting_reads_once():
    counted = rl.account(nn.Linear(8, 16), torch.zeros(4, 8))
    amounts = [e.amount for s in counted.account.signatures for e in s.ledger.entries
               if e.resource.unit == "flop"]  # fmt: skip
    assert amounts == [2 * 4 * 8 * 16, 4 * 16] == [1_024, 64]
    product = rl.account(torch.mul, torch.zeros(2, 3, 4), torch.zeros(4))
    assert product.flop == 24
    assert moved(product) == (24 + 4 + 24) * 4 == 208
    assert rl.account(torch.mul, torch.zeros(8), torch.zeros(2, 8)).flop == 16


def test_integers_are_operations_of_their_own_pipe():
    a, b = torch.zeros(32, 64, dtype=torch.int8), torch.zeros(64, 32, dtype=torch.int8)
    counted = rl.account(torch._int_mm, a, b)
    assert counted.flop == 0
    demand = {r.name: n for r, n in counted.algorithmic.demand().items()}
    assert demand["tensor-int8"] == 2 * 32 * 64 * 32 == 131_072


def test_an_embedding_reads_the_rows_that_are_hit():
    table = nn.Embedding(100, 32)
    counted = rl.account(table, torch.arange(64).view(4, 16))
    assert counted.flop == 0
    # 64 indices of 8 B, 64 rows of 128 B read and written.
    assert moved(counted) == 512 + 8_192 + 8_192 == 16_896


def test_padding_is_multiplied_too():
    counted = rl.account(functional.conv2d, torch.zeros(2, 3, 6, 6), torch.zeros(6, 3, 4, 4), None,
                         1, 1)  # fmt: skip
    # 2*6 planes of 5*5 results, 3*4*4 taps each, of which some lie on the padding.
    assert counted.flop == 2 * 2 * 6 * 5 * 5 * 3 * 4 * 4 == 28_800


def test_views_move_nothing_and_stride_zero_is_read_once():
    x = torch.zeros(4, 1024)
    assert moved(rl.account(lambda: (x.view(-1), x.t()))) == 0
    wide = torch.zeros(4, 1).expand(4, 1024)
    counted = rl.account(wide.sum)
    assert counted.account.read == 16


def test_in_place_moves_twice():
    x = torch.zeros(1_000_000)
    counted = rl.account(lambda: x.add_(1))
    assert moved(counted) == 8_000_000
