"""What a backward pass does a second time is told from backward proper, in traces as live."""

import pytest

torch = pytest.importorskip("torch")

import roofline as rl  # noqa: E402
from roofline import importers  # noqa: E402

nn = torch.nn
BASE = 2 * 32 * 64 * 64


def step(kind):
    layers = nn.Sequential(nn.Linear(64, 64, bias=False), nn.ReLU(), nn.Linear(64, 64, bias=False))

    def checkpointed():
        x = torch.randn(32, 64, requires_grad=True)
        options = {"use_reentrant": kind == "reentrant"}
        if kind == "whole":
            options["early_stop"] = False
        y = torch.utils.checkpoint.checkpoint(layers, x, **options)
        torch.autograd.backward(y, torch.ones_like(y))

    def differentiated_twice():
        x = torch.randn(32, 64, requires_grad=True)
        (g,) = torch.autograd.grad(layers(x).pow(2).sum(), x, create_graph=True)
        g.pow(2).sum().backward()

    return differentiated_twice if kind == "twice" else checkpointed


def traced(kind, tmp_path):
    work = step(kind)
    work()
    with torch.profiler.profile(record_shapes=True) as profiler:
        work()
    path = tmp_path / f"{kind}.json"
    profiler.export_chrome_trace(str(path))
    return importers.load([path])


def phases(run, name="aten::mm"):
    found = {}
    for row in run.rows():
        if row["kind"] == "op" and run.signatures[row["signature"]].name == name:
            found[row["phase"]] = found.get(row["phase"], 0) + 1
    return found


@pytest.mark.parametrize("kind", ["reentrant", "whole"])
def test_recomputed_products_are_executed_and_not_useful(kind, tmp_path):
    """Two forward, the same two again, four backward: 6 base useful, 8 executed."""
    run = traced(kind, tmp_path)
    assert phases(run) == {"forward": 2, "recomputed": 2, "backward": 4}
    assert phases(run, "aten::relu") == {"forward": 1, "recomputed": 1}
    (mm,) = [group for group in rl.account(run).by() if group.name == "aten::mm"]
    assert (mm.algorithmic.flop, mm.executed.flop) == (6 * BASE, 8 * BASE)


def test_a_graph_of_backward_is_no_recomputation(tmp_path):
    """What is differentiated again records as well; nothing is done a second time."""
    found = phases(traced("twice", tmp_path))
    assert "recomputed" not in found
    assert found["forward"] == 2
