"""Corners of PyTorch that have modes, tensors or engines of their own work as without a recorder."""

import copy
import functools
import io

import pytest
import torch
from torch import nn

from roofline.capture import profile

CASES = []


def case(function):
    CASES.append(function)
    return function


def model():
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU())


def leaf():
    return torch.ones(3, requires_grad=True)


X = torch.ones(2, 8)


@case
def exported():
    program = torch.export.export(model(), (X,))
    return len(program.graph.nodes), tuple(program.module()(X).shape)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_traced_by_make_fx(mode):
    from torch.fx.experimental.proxy_tensor import make_fx

    def nodes():
        return [
            str(n.target) for n in make_fx(lambda a: a @ a.t(), tracing_mode=mode)(X).graph.nodes
        ]

    plain = nodes()
    with profile():
        assert nodes() == plain


@case
def traced_by_torchscript():
    return tuple(torch.jit.trace(model(), X)(X).shape)


@case
def traced_by_fx():
    return [n.op for n in torch.fx.symbolic_trace(model()).graph.nodes]


@case
def function_transforms():
    from torch.func import functional_call, hessian, jacrev, jvp, vmap

    layer = model()

    def f(a):
        return functional_call(layer, dict(layer.named_parameters()), (a,)).sum()

    shapes = [jacrev(f)(X).shape, hessian(f)(X).shape, vmap(torch.sin)(X).shape]
    return shapes, jvp(f, (X,), (X,))[0].shape


@case
def saved_and_loaded():
    layer, file = model(), io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    return all(
        torch.equal(a, b)
        for a, b in zip(torch.load(file).values(), layer.state_dict().values(), strict=True)
    )


@case
def copied():
    return tuple(copy.deepcopy(model())(X).shape)


@case
def autograd_function():
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a.exp()

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.saved_tensors[0].exp()

    x = leaf()
    Exp.apply(x).sum().backward()
    return x.grad.tolist()


@case
def tensor_hooks():
    x = leaf()
    y = x * 2
    y.register_hook(lambda gradient: gradient * 3)
    y.sum().backward()
    return x.grad.tolist()


@case
def saved_on_cpu():
    x = leaf()
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    return x.grad.tolist()


@case
def anomalies_detected():
    x = leaf()
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        (x * x).sum().backward()
    return x.grad.tolist()


@case
def gradients_of_gradients():
    x = leaf()
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    first.sum().backward()
    return x.grad.tolist()


@case
def profiled_by_torch():
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as torch_profile

    with torch_profile(activities=[ProfilerActivity.CPU]) as profiler:
        model()(X)
    return "aten::addmm" in {event.key for event in profiler.key_averages()}


@case
def counted_by_torch():
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        model()(X)
    return counter.get_total_flops()  # 2*2*8*8


@case
def selective_checkpoint():
    from torch.utils.checkpoint import (
        CheckpointPolicy,
        checkpoint,
        create_selective_checkpoint_contexts,
    )

    def policy(context, op, *args, **kwargs):
        keep = op == torch.ops.aten.addmm.default
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    x = torch.ones(2, 8, requires_grad=True)
    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    checkpoint(model(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    return tuple(x.grad.shape)


@case
def optimizer_with_a_closure():
    p = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.LBFGS([p])

    def closure():
        optimizer.zero_grad()
        loss = (p**2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return p.abs().max().item() < 1e-3


@case
def fourier_linear_algebra_complex():
    spectrum = torch.fft.rfft(torch.ones(4, 8))
    values = torch.linalg.svd(torch.eye(4))[1]
    conjugate = (torch.ones(2, dtype=torch.complex64) * (1 + 2j)).conj().sum().item()
    return tuple(spectrum.shape), values.tolist(), conjugate


@case
def numpy_and_back():
    import numpy as np

    return torch.from_numpy(np.ones(3)).sum().item(), float(np.sum(torch.ones(3).numpy()))


@case
def printed():
    return str(torch.ones(3, 4).mean(0)), f"{torch.ones(2)}"


@case
def made_on_meta_first():
    with torch.device("meta"):
        layer = nn.Linear(4, 4)
    return tuple(layer.to_empty(device="cpu")(torch.ones(1, 4)).shape)


@case
def weight_norm_and_parametrization():
    layer = torch.nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
    return tuple(layer(torch.ones(1, 4)).shape)


@pytest.mark.filterwarnings("ignore:`torch.jit")
@pytest.mark.parametrize("work", CASES, ids=lambda work: work.__name__)
def test_as_without_a_recorder(work):
    torch.manual_seed(0)
    plain = work()
    torch.manual_seed(0)
    with profile():
        recorded = work()
    assert recorded == plain
    assert torch._C._len_torch_dispatch_stack() == 0
