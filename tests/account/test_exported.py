"""Graphs of torch.export, whose operators are not taken apart."""

import pytest

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

import roofline as rl  # noqa: E402
from roofline.errors import BadInput  # noqa: E402
from tests.account.programs import Language, Pictures  # noqa: E402


def products(counted):
    """Flop of products, convolutions and attention, whatever the operator is called."""
    wanted = ("linear", "addmm", "mm", "conv", "attention")
    return sum(g.algorithmic.flop for g in counted.by() if any(word in g.name for word in wanted))


@pytest.mark.parametrize(
    ("model", "x"),
    [(Language, torch.zeros(2, 8, dtype=torch.int64)), (Pictures, torch.zeros(4, 3, 16, 16))],
)
def test_products_are_those_of_the_live_run(model, x):
    made = model().eval()
    exported = rl.account(torch.export.export(made, (x,)))
    live = rl.account(made, x)
    assert products(exported) == products(live) > 100_000
    assert not exported.unaccounted
    assert exported.account.subject == model.__name__


def test_a_norm_stays_whole_and_moves_less_than_its_parts():
    model, x = nn.RMSNorm(64), torch.zeros(8, 64)
    exported = rl.account(torch.export.export(model, (x,)))
    live = rl.account(model, x)
    assert [g.name for g in exported.by()] == ["aten::rms_norm"]
    assert len([g for g in live.by() if g.algorithmic.entries]) > 3
    # X, the weight and Y, once each.
    assert exported.account.read + exported.account.written == (512 + 64 + 512) * 4
    assert live.account.read + live.account.written > 2 * (512 + 64 + 512) * 4


def test_modules_are_named_as_in_a_live_run():
    model, x = Language(1).eval(), torch.zeros(2, 8, dtype=torch.int64)
    exported = {g.name for g in rl.account(torch.export.export(model, (x,))).by("module")}
    live = {g.name for g in rl.account(model, x).by("module")}
    assert {"Language.blocks.0.qkv", "Language.embed", "Language.head"} <= exported & live


def test_sizes_that_vary_take_those_of_the_inputs():
    model, batch = nn.Linear(8, 16, bias=False), torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(model, (torch.zeros(4, 8),), dynamic_shapes=({0: batch},))
    example = rl.account(program)
    assert example.flop == 2 * 4 * 8 * 16
    assert any("example it was exported with" in text for text in example.conventions)
    given = rl.account(program, torch.zeros(10, 8))
    assert given.flop == 2 * 10 * 8 * 16
    assert not any("example it was exported with" in text for text in given.conventions)
    with pytest.raises(BadInput, match="has 2 dimensions in the graph; given are 3"):
        rl.account(program, torch.zeros(1, 10, 8))


def test_what_has_no_rule_of_its_own_is_counted_by_its_parts(monkeypatch):
    from roofline import ops

    program = torch.export.export(nn.Linear(8, 16), (torch.zeros(4, 8),))
    whole = rl.account(program)
    monkeypatch.setattr(ops, "BY_OP", {k: v for k, v in ops.BY_OP.items() if k != "aten::linear"})
    parts = rl.account(program)
    assert [g.name for g in whole.by() if g.algorithmic.flop] == ["aten::linear"]
    assert [g.name for g in parts.by() if g.algorithmic.flop] == ["aten::addmm"]
    assert parts.flop == whole.flop == 2 * 4 * 8 * 16 + 4 * 16
