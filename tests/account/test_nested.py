"""Nested tensors of a running program: rows of different lengths, counted by their real lengths."""

import pytest

torch = pytest.importorskip("torch")

import roofline as rl  # noqa: E402

nn, functional = torch.nn, torch.nn.functional
pytestmark = pytest.mark.filterwarnings("ignore")

LENGTHS = (3, 5)


def nested(*rest, layout=torch.strided, **options):
    parts = [torch.ones(length, *rest) for length in LENGTHS]
    return torch.nested.nested_tensor(parts, layout=layout, **options)


def of(counted, name):
    (found,) = [s for s in counted.account.signatures if s.name.startswith(f"aten::{name}")]
    return found.ledger


def amounts(ledger):
    pipes = sum(e.amount for e in ledger.entries if e.resource.is_pipe)
    ways = {
        way: sum(e.amount for e in ledger.entries if e.access == way) for way in ("read", "write")
    }
    return pipes, ways["read"], ways["write"]


def test_a_layer_meets_all_rows_at_once():
    """8 rows of 8 by 8x16 and a bias: the weights are read once, not once a component."""
    layer, rows = nn.Linear(8, 16), nested(8)
    counted = rl.account(layer, rows)
    assert not counted.unaccounted
    ledger = of(counted, "linear (nested)")
    assert amounts(ledger) == (2 * 8 * 8 * 16 + 8 * 16, 8 * 8 * 4 + 16 * 8 * 4 + 16 * 4, 8 * 16 * 4)
    assert "component by component" in ledger.conventions[-1]


def test_pointwise_and_padding():
    rows = nested(8)
    counted = rl.account(lambda: (functional.relu(rows), rows + rows, rows.to_padded_tensor(0.0)))
    assert not counted.unaccounted
    assert amounts(of(counted, "relu")) == (64, 256, 256)
    assert amounts(of(counted, "add")) == (64, 256, 256)
    assert amounts(of(counted, "to_padded_tensor")) == (0, 256, 2 * 5 * 8 * 4)


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)
def test_attention_sees_each_sequence_alone(layout):
    """4*H*D*(3*3 + 5*5), not 8*8."""
    heads = nested(2, 8, layout=layout).transpose(1, 2)
    heads = heads if layout is torch.jagged else heads.contiguous()
    counted = rl.account(functional.scaled_dot_product_attention, heads, heads, heads)
    assert not counted.unaccounted
    products = [s.ledger for s in counted.account.signatures
                if "attention" in s.name or "matmul" in s.name or "bmm" in s.name]  # fmt: skip
    flop = sum(
        e.amount
        for ledger in products
        for e in ledger.entries
        if "score" in e.why or "multiply" in e.why
    )
    assert flop == 4 * 2 * 8 * (3 * 3 + 5 * 5)


def test_jagged_rows_forward_and_backward():
    rows = nested(8, layout=torch.jagged, requires_grad=True)
    layer = nn.Linear(8, 8)

    def work():
        y = functional.layer_norm(functional.relu(layer(rows)) * 2, (8,)).softmax(-1)
        heads = y.unflatten(-1, [2, 4]).transpose(1, 2)
        functional.scaled_dot_product_attention(heads, heads, heads).values().sum().backward()

    counted = rl.account(work)
    assert not counted.unaccounted


def test_an_encoder_that_drops_padding():
    """The fast path of inference; scores of 3 and 5 keys, and every row once through the products."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dtype=torch.float32)
    encoder = nn.TransformerEncoder(layer, 1).eval()
    padding = torch.ones(2, 5, dtype=torch.bool).triu(3)
    padding[1] = False

    def work():
        with torch.no_grad():
            return encoder(torch.ones(2, 5, 16), src_key_padding_mask=padding)

    expected = work()
    with rl.profile() as recording:
        assert torch.equal(work(), expected)
    for counted in (rl.account(work), rl.account(recording)):
        assert not counted.unaccounted
        ledger = of(counted, "_transformer_encoder_layer_fwd")
        flop = {why: sum(e.amount for e in ledger.entries if e.why.startswith(why))
                for why in ("projections", "feed-forward", "Q K^T")}  # fmt: skip
        # q, k, v, out: 4 of 16x16; up and down 2 of 16x32; 8 rows.  4*16 a score, 9 and 25 of them.
        assert flop == {
            "projections": 2 * 8 * 4 * 256,
            "feed-forward": 2 * 8 * 2 * 512,
            "Q K^T": 64 * 34,
        }
        # Every row of 16 fp32 once, and the weights once.
        weights = sum(p.numel() for p in layer.parameters()) * 4
        assert sum(e.amount for e in ledger.entries if e.access == "read") == 8 * 64 + weights


def test_a_weight_that_has_no_shape_yet():
    """Lazy modules make their weights at the first call."""
    counted = rl.account(nn.LazyLinear(4), torch.ones(2, 8))
    assert not counted.unaccounted
    assert counted.flop >= 2 * 2 * 8 * 4
    with rl.profile() as recording:
        nn.LazyLinear(4)(torch.ones(2, 8))
    assert not rl.account(recording).unaccounted
