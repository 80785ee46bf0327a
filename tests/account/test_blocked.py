"""Tensors in oneDNN's own layout: counted as the same calls of tensors in plain order."""

import pytest

torch = pytest.importorskip("torch")

import roofline as rl  # noqa: E402

functional = torch.nn.functional
pytestmark = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this PyTorch was built without oneDNN"
)


def ledgers(counted):
    return {s.name.removeprefix("aten::"): s.ledger for s in counted.account.signatures}


def amounts(ledger):
    pipes = sum(e.amount for e in ledger.entries if e.resource.is_pipe)
    ways = (sum(e.amount for e in ledger.entries if e.access == w) for w in ("read", "write"))
    return (pipes, *ways)


def test_a_network_in_blocks_is_counted_by_its_shapes():
    """X 1x8x8x8 2048 B, W 8x8x3x3 2304 B; 2*64*8*8*9 flop; 64 windows of 4 a channel group."""

    def network(x, w):
        y = functional.conv2d(x.to_mkldnn(), w.to_mkldnn(), padding=1)
        return functional.max_pool2d(torch.relu_(y), 2).to_dense()

    counted = rl.account(network, torch.rand(1, 8, 8, 8), torch.rand(8, 8, 3, 3))
    found = ledgers(counted)

    assert not counted.unaccounted
    assert amounts(found["convolution (mkldnn)"]) == (73_728, 2048 + 2304, 2048)
    assert amounts(found["relu_ (mkldnn)"]) == (512, 2048, 2048)
    assert amounts(found["mkldnn_max_pool2d (mkldnn)"]) == (512, 2048, 512)
    assert amounts(found["_to_dense (mkldnn)"]) == (0, 512, 512)
    assert "oneDNN's own layout" in found["convolution (mkldnn)"].conventions[-1]


def test_a_tensor_given_twice_is_read_once():
    """6 elements of 4 B: one tensor or two."""
    x, y = torch.rand(2, 3).to_mkldnn(), torch.rand(2, 3).to_mkldnn()

    once, both = (rl.account(torch.add, x, z).account.signatures[0].ledger for z in (x, y))

    assert (amounts(once), amounts(both)) == ((6, 24, 24), (6, 48, 24))


def test_a_call_without_a_rule_is_named_with_its_layout():
    """What Inductor makes of a frozen layer: known by name only."""
    x, w = torch.rand(4, 8), torch.rand(16, 8).to_mkldnn()

    counted = rl.account(torch.ops.mkldnn._linear_pointwise, x, w, None, "none", [], "")

    assert counted.unaccounted == {"mkldnn::_linear_pointwise (mkldnn)": 1}
