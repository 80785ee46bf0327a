"""Useful, recomputed and executed flop of a recorded program."""

from io import StringIO

import pytest
from rich.console import Console

from roofline.program import flop, hfu, mfu, read
from roofline.report.document import document
from roofline.report.text import print_document
from tests.runs import Script, call, tensor

torch = pytest.importorskip("torch")

X = tensor(1000, 1000)
MM = call("aten::mm", X, X, out=X)  # 2 Gflop; 20 ms on the toy CPU of 100 Gflop/s


def names(amounts):
    return {resource.name: amount for resource, amount in amounts.items()}


def printed(program):
    console = Console(width=300, file=StringIO())
    print_document(document(program), console)
    return console.file.getvalue()


def stepped(*phases):
    """One step of 100 ms: a product of 25 ms in each phase, then waiting."""
    script = Script()
    for phase in phases:
        script.add(MM, 25_000, phase=phase)
    return read(script.idle(100_000 - 25_000 * len(phases)).end_step().run())


def test_what_is_computed_again_is_not_useful():
    """2 of 6 Gflop a second time: MFU 4 / (0.1 s x 100 Gflop/s) = 40 %, HFU 60 %."""
    program = stepped("forward", "backward", "recomputed")
    found = flop(program)
    assert names(found.useful) == {"vector-fp32": 4e9}
    assert names(found.recomputed) == {"vector-fp32": 2e9}
    assert names(found.executed) == {"vector-fp32": 6e9}
    assert found.again == pytest.approx(1 / 3)
    assert mfu(program).share == pytest.approx(0.4)
    assert hfu(program).share == pytest.approx(0.6)
    assert (
        hfu(program).formula
        == "6.00 Gflop executed on vector-fp32 / (100 ms x 100 Gflop/s measured)"
    )


def test_it_has_a_line_of_its_own_and_is_said():
    made = document(stepped("forward", "recomputed"))
    assert [(i["phase"], i["calls"]) for i in made["items"]] == [("forward", 1), ("recomputed", 1)]
    assert made["program"]["flop"]["recomputed"] == {"vector-fp32": 2e9}
    text = printed(stepped("forward", "recomputed"))
    assert "2.00 Gflop of a step, 50% of what runs, are computed a second time" in text
    assert "MFU 20%" in text
    assert "HFU 40%" in text


def test_nothing_is_said_where_nothing_is_computed_again():
    program = stepped("forward", "backward")
    assert flop(program).again == 0
    assert mfu(program).share == hfu(program).share
    text = printed(program)
    assert "HFU" not in text
    assert "second time" not in text


def test_a_step_of_checkpointed_layers():
    """Linear, ReLU, Linear on (32,64), base 2*32*64*64: 6 base useful, 7 executed (early stop)."""
    import roofline as rl

    base = 262_144
    layers = torch.nn.Sequential(
        torch.nn.Linear(64, 64, bias=False), torch.nn.ReLU(), torch.nn.Linear(64, 64, bias=False)
    )
    x = torch.randn(32, 64, requires_grad=True)
    with rl.profile(warmup=1) as recording:
        for _ in range(3):
            y = torch.utils.checkpoint.checkpoint(layers, x, use_reentrant=False)
            torch.autograd.backward(y, torch.ones_like(y))
            recording.step()
    program = read(recording.run)
    products = [part for part in program.parts if part.name == "aten::mm"]
    by_phase = {phase: sum(p.calls for p in products if p.phase == phase) / 2
                for phase in ("forward", "recomputed", "backward")}  # fmt: skip
    assert by_phase == {"forward": 2, "recomputed": 1, "backward": 4}
    pointwise = 32 * 64
    # Beside products: relu, its gradient, the sum of two gradients of x; relu again.
    useful = sum(flop(program).useful.values())
    assert 6 * base < useful < 6 * base + 10 * pointwise
    assert sum(flop(program).executed.values()) == useful + base + pointwise
    counted = rl.account(recording)
    mm = next(group for group in counted.by("operator") if group.name == "aten::mm")
    assert (mm.algorithmic.flop, mm.executed.flop) == (2 * 6 * base, 2 * 7 * base)


def test_a_graph_that_is_kept_to_be_differentiated_again_is_no_recomputation():
    import roofline as rl

    x = torch.randn(8, 8, requires_grad=True)
    with rl.profile(warmup=1) as recording:
        for _ in range(2):
            y = (x @ x).pow(2).sum()
            (g,) = torch.autograd.grad(y, x, create_graph=True)
            g.sum().backward()
            recording.step()
    assert {part.phase for part in read(recording.run).parts} <= {"other", "backward"}
