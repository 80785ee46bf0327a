"""Where an operator was called: module, phase, and both for backward."""

import pytest
import torch
from torch import nn

from roofline.capture import profile


def record(work):
    with profile() as run:
        work()
    return run.result


def placed(run, name):
    """(phase, module) of every call of `name`, in order."""
    return [
        (row["phase"], row["module"])
        for row in run.rows()
        if run.signatures[row["signature"]].name == name
    ]


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x)


class Outer(nn.Module):
    """A nested module, one in a container, and one module under two names."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU())])
        self.tied = self.blocks[0]

    def forward(self, x):
        x = self.inner(x)
        for block in self.blocks:
            x = block(x)
        return self.tied(x).sum()


FORWARD = ["Outer.inner.linear", "Outer.blocks.0", "Outer.blocks.1.0", "Outer.blocks.0"]


def test_modules_go_by_their_names_from_the_outermost_down():
    model, x = Outer(), torch.ones(2, 4)
    run = record(lambda: model(x))
    assert placed(run, "aten::addmm") == [("forward", name) for name in FORWARD]
    assert placed(run, "aten::relu") == [("forward", "Outer.blocks.1.1")]
    assert placed(run, "aten::sum") == [("forward", "Outer")]


def test_two_names_of_a_shared_module_are_told_apart_by_their_parents():
    shared = nn.Linear(4, 4)

    class Left(nn.Module):
        def __init__(self):
            super().__init__()
            self.mine = shared

        def forward(self, x):
            return self.mine(x)

    class Right(Left):
        def __init__(self):
            super().__init__()
            del self.mine
            self.yours = shared

        def forward(self, x):
            return self.yours(x)

    model, x = nn.Sequential(Left(), Right()), torch.ones(2, 4)
    run = record(lambda: model(x))
    modules = [module for _, module in placed(run, "aten::addmm")]
    assert modules == ["Sequential.0.mine", "Sequential.1.yours"]


def test_backward_operators_belong_to_the_module_that_made_their_node():
    model, x = Outer(), torch.ones(2, 4, requires_grad=True)
    run = record(lambda: model(x).backward())
    products = placed(run, "aten::mm")
    # Two products a linear layer (of the input and of the weight), last layer first.
    expected = [name for name in reversed(FORWARD) for _ in range(2)]
    assert products == [("backward", name) for name in expected]
    assert placed(run, "aten::threshold_backward") == [("backward", "Outer.blocks.1.1")]
    # Adding to a gradient is nobody's module in particular.
    assert set(placed(run, "aten::detach")) <= {
        ("forward", "Outer.blocks.1.1"),
        ("backward", ""),
        ("backward", "Outer.blocks.1.1"),
    }


@pytest.mark.parametrize("reentrant", [True, False])
def test_recomputation_is_in_the_module_that_is_recomputed(reentrant):
    from torch.utils.checkpoint import checkpoint

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
            self.head = nn.Linear(4, 1)

        def forward(self, x):
            return self.head(checkpoint(self.body, x, use_reentrant=reentrant)).sum()

    model, x = Net(), torch.ones(2, 4, requires_grad=True)
    run = record(lambda: model(x).backward())
    assert placed(run, "aten::tanh") == [("forward", "Net.body.1"), ("recomputed", "Net.body.1")]


def test_phases_of_a_training_step():
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    x = torch.ones(2, 4)

    def work():
        loss = model(x).sum()  # the sum is outside of any module
        loss.backward()
        optimizer.step()
        torch.exp(x)

    run = record(work)
    assert placed(run, "aten::addmm") == [("forward", "Linear")]
    assert placed(run, "aten::mm") == [("backward", "Linear")]
    assert placed(run, "aten::add_") == [("optimizer", "")] * 2  # weight and bias
    assert placed(run, "aten::exp") == [("other", "")]


def test_an_exception_inside_forward_leaves_its_module():
    class Fails(nn.Module):
        def forward(self, x):
            raise LookupError("on purpose")

    model, x = nn.Sequential(nn.Linear(4, 4), Fails()), torch.ones(2, 4)

    def work():
        for _ in range(2):
            with pytest.raises(LookupError, match="on purpose"):
                model(x)
        torch.exp(x)

    run = record(work)
    assert placed(run, "aten::addmm") == [("forward", "Sequential.0")] * 2
    assert placed(run, "aten::exp") == [("other", "")]


def test_modules_under_inference_mode():
    model, x = Outer(), torch.ones(2, 4, requires_grad=True)

    def work():
        with torch.inference_mode():
            model(x)

    assert [m for _, m in placed(record(work), "aten::addmm")] == FORWARD


def test_a_module_made_in_forward_goes_by_its_class():
    class Makes(nn.Module):
        def forward(self, x):
            return nn.Softplus()(x)

    model, x = Makes(), torch.ones(2)
    assert placed(record(lambda: model(x)), "aten::softplus") == [("forward", "Makes.Softplus")]


def test_nothing_is_left_behind():
    before = nn.Module._call_impl
    record(lambda: nn.Linear(2, 2)(torch.ones(2)))
    assert nn.Module._call_impl is before
    assert torch._C._len_torch_dispatch_stack() == 0
