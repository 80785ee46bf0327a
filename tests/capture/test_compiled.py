"""Compiled code: regions, never eager operators; counted from their graphs."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional

from roofline.capture import profile
from roofline.device import DRAM


@pytest.fixture(autouse=True)
def _forget_compiled_code():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(1000, 16)
        self.up = nn.Linear(16, 32)

    def forward(self, i):
        return functional.relu(self.up(self.table(i)))


def regions(run):
    return [
        (run.signatures[row["signature"]].name, row["phase"], row["module"])
        for row in run.rows()
        if row["kind"] == "region"
    ]


def operators(run):
    return {run.signatures[r["signature"]].name for r in run.rows() if r["kind"] == "op"}


def signature(run, name):
    return next(s for s in run.signatures if s.name == name)


def test_forward_and_backward_are_regions_in_their_module():
    model = torch.compile(Net(), backend="aot_eager")
    with profile() as run:
        model(torch.arange(8)).sum().backward()
    assert regions(run.result) == [
        ("compiled Net.forward #1 (forward)", "forward", "Net"),
        ("compiled Net.forward #1 (backward)", "backward", "Net"),
    ]
    inside = {
        "aten::embedding",
        "aten::addmm",
        "aten::relu",
        "aten::mm",
        "aten::threshold_backward",
    }
    assert not inside & operators(run.result)
    assert run.result.gaps == ()


def test_a_module_of_pytorch_s_own_gives_its_name_to_its_region():
    model = torch.compile(nn.Linear(4, 4), backend="aot_eager")
    with profile() as run, torch.no_grad():
        model(torch.ones(2, 4))
    assert regions(run.result) == [("compiled Linear #1 (forward)", "forward", "Linear")]


def test_a_region_needs_the_arithmetic_of_its_operators_and_the_bytes_of_its_ends():
    model = torch.compile(Net(), backend="aot_eager")
    with profile() as run, torch.no_grad():
        model(torch.arange(8))
    ledger = signature(run.result, "compiled Net.forward #1 (forward)").ledger
    # addmm: 2*8*16*32 = 8192, bias 8*32 = 256; relu: 8*32 = 256 comparisons.
    assert ledger.flop == 8192 + 256 + 256
    # Read: 8 indices of 8 B, 8 of the table's 1000 rows (8*16*4 B), weight 16*32*4, bias 32*4.
    assert ledger.demand()[DRAM] == (64 + 512 + 2048 + 128) + 8 * 32 * 4
    assert not ledger.unaccounted
    assert any("once" in words for words in ledger.conventions)


def test_the_same_flop_as_eager():
    eager = Net()
    compiled = torch.compile(eager, backend="aot_eager")
    i = torch.arange(8)
    with profile() as plain, torch.no_grad():
        eager(i)
    with profile() as run, torch.no_grad():
        compiled(i)
    flop = [sum(s.ledger.flop for s in result.signatures) for result in (plain.result, run.result)]
    assert flop[0] == flop[1] == 8704


def test_sizes_that_are_symbols_get_their_values_call_by_call():
    compiled = torch.compile(lambda x: (x * 2).relu(), backend="aot_eager", dynamic=True)
    with profile() as run:
        for n in (10, 20, 10):
            compiled(torch.ones(n))
    found = [s for s in run.result.signatures if s.name.startswith("compiled")]
    assert [s.ledger.demand()[DRAM] for s in found] == [10 * 4 * 2, 20 * 4 * 2]
    assert len(regions(run.result)) == 3


def test_operators_between_graphs_are_recorded_one_by_one():
    def work(x):
        y = x.exp()
        torch._dynamo.graph_break()
        return y.sin()

    compiled = torch.compile(work, backend="aot_eager")
    x = torch.ones(4)
    with profile() as run:
        compiled(x)
        x.cos()
    assert len(regions(run.result)) == 2
    assert operators(run.result) == {"aten::cos"}


def test_a_change_of_an_input_is_written():
    compiled = torch.compile(lambda x: x.add_(1), backend="aot_eager")
    with profile() as run:
        compiled(torch.ones(100))
    (found,) = [s for s in run.result.signatures if s.name.startswith("compiled")]
    written = sum(e.amount for e in found.ledger.entries if e.access == "write")
    assert written == 400


def test_the_eager_backend_compiles_nothing_and_shows_its_operators():
    compiled = torch.compile(Net(), backend="eager")
    with profile() as run, torch.no_grad():
        compiled(torch.arange(8))
    assert regions(run.result) == []
    assert {"aten::embedding", "aten::addmm", "aten::relu"} <= operators(run.result)


def test_a_backend_that_hides_its_graph_is_a_named_gap():
    def backend(graph, inputs):
        return partial(torch.fx.Interpreter.run, torch.fx.Interpreter(graph))

    compiled = torch.compile(lambda x: x.exp().sin(), backend=backend)
    x = torch.ones(4)
    with profile() as run:
        compiled(x), compiled(x)
    names = [name for name, _, _ in regions(run.result)]
    assert len(names) == 2
    assert "aten::exp" not in operators(run.result)
    assert signature(run.result, names[0]).ledger.unaccounted == (names[0],)
    (gap,) = run.result.gaps
    assert gap.name == "compiled code without a graph"
    assert gap.count == 2
    assert gap.seconds > 0


def test_a_graph_that_cannot_be_counted_is_named_and_the_program_goes_on(monkeypatch):
    from roofline.capture.compiled.graph import Graph

    def broken(self, account, arguments):
        raise ZeroDivisionError("odd graph")

    monkeypatch.setattr(Graph, "ledger", broken)
    compiled = torch.compile(lambda x: x.exp(), backend="aot_eager")
    x = torch.ones(4)
    with profile() as run:
        assert torch.equal(compiled(x), x.exp())
    ((name, _, _),) = regions(run.result)
    assert signature(run.result, name).ledger.unaccounted == (name,)
    assert any("ZeroDivisionError: odd graph" in w for w in run.result.recorder.warnings)


def test_compiling_is_the_same_with_and_without_the_recorder():
    def graphs():
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch.compile(nn.Sequential(Net(), nn.Tanh()), backend="aot_eager")(torch.arange(8))
        return torch._dynamo.utils.counters["stats"]["unique_graphs"]

    plain = graphs()
    with profile():
        recorded = graphs()
    assert plain == recorded == 1


def test_the_time_of_compiling_is_said():
    compiled = torch.compile(lambda x: x.exp(), backend="aot_eager")
    with profile() as run:
        compiled(torch.ones(4))
    assert any(
        w.startswith("torch.compile compiled 1 graph in") for w in run.result.recorder.warnings
    )


@pytest.mark.long
def test_inductor():
    model = torch.compile(Net())
    with profile() as run:
        for _ in range(2):
            model(torch.arange(8)).sum().backward()
    forward, backward = "compiled Net.forward #1 (forward)", "compiled Net.forward #1 (backward)"
    assert [name for name, _, _ in regions(run.result)] == [forward, backward] * 2
    assert not {"aten::addmm", "aten::mm"} & operators(run.result)
    # Inductor's graph compares with 0 in forward, 8*32 times, what eager compares in backward.
    assert signature(run.result, forward).ledger.flop == 8704 + 256
    assert run.result.gaps == ()


@pytest.mark.long
def test_inductor_code_compiled_before_the_recording_is_a_region_and_a_gap():
    model = torch.compile(Net())
    with torch.no_grad():
        model(torch.arange(8))
    with profile() as run, torch.no_grad():
        model(torch.arange(8))
    assert [name for name, _, _ in regions(run.result)] == ["compiled code without a graph"]
    assert not {"aten::addmm", "aten::mm"} & operators(run.result)
    assert run.result.gaps[0].count == 1
