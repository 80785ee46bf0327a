"""Run a module or a function, forward and backward, and count what it calls."""

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map_only

from roofline.accounting.account import Account
from roofline.accounting.counting import Counting
from roofline.accounting.theirs import told
from roofline.capture.calls import layouts
from roofline.capture.columns import FORWARD, OTHER
from roofline.capture.imports import WhenImported
from roofline.errors import BadInput

if TYPE_CHECKING:
    from roofline.accounting.against import Beside

FAKE = "counted on fake tensors of a CPU: shapes and types without data"
REAL = "counted while it ran on real tensors"
AS_EAGER = (
    "compiled code is counted operator by operator, as it runs eagerly: its arithmetic is the "
    "same, its bytes are at most these"
)


def account(
    subject: Callable[..., Any],
    inputs: Sequence[Any],
    *,
    backward: bool = False,
    fake: bool = False,
    device: Literal["cpu", "cuda"] | None = None,
    beside: "Beside | None" = None,
) -> Account:
    """Call `subject` with `inputs` and count; `backward` differentiates its results as well.

    Gradients are left as they were.  With `beside` torch's own counter sees the same calls.
    """
    if not callable(subject):
        raise BadInput(f"cannot count {_name(subject)}: it is not callable")
    _can_be_called(subject, inputs)
    mode = _fake_mode(subject, inputs) or (
        FakeTensorMode(allow_non_fake_inputs=True) if fake else None
    )
    call = subject
    if fake and mode is not None:
        call, inputs = _faked(subject, inputs, mode)
    outside = FORWARD if backward or isinstance(subject, torch.nn.Module) else OTHER
    counting = Counting(outside, device, beside)
    compiled = _compiled(subject)
    with ExitStack() as stack:
        stack.enter_context(_gradients_kept(subject, inputs))
        stack.enter_context(_as_eager())
        if mode is not None:
            stack.enter_context(mode)
        _run(call, inputs, counting, backward)
    signatures = counting.signatures()
    how = [REAL if mode is None else FAKE, *([AS_EAGER] if compiled else []), *counting.broken()]
    if device == "cuda":
        how.append("counted as if each call ran on a GPU, which may have other kernels for some")
    return Account(
        subject=_name(subject),
        signatures=signatures,
        lines=counting.lines(),
        how=tuple(how),
    )


def _can_be_called(subject: Callable[..., Any], inputs: Sequence[Any]) -> None:
    takes = subject.forward if isinstance(subject, torch.nn.Module) else subject
    try:
        inspect.signature(takes).bind(*inputs)
    except TypeError as error:
        raise BadInput(
            f"{_name(subject)} cannot be called with {len(inputs)} inputs: {error}"
        ) from None
    except ValueError:
        return  # built in: it says itself what it takes


def _run(
    call: Callable[..., Any], inputs: Sequence[Any], counting: Counting, backward: bool
) -> None:
    with told(_name(call), doing=f" with inputs {_shapes(inputs)}"), counting:
        result = call(*inputs)
    if not backward:
        return
    roots = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not roots:
        raise BadInput("there is no backward: no result requires a gradient")
    gradients = [torch.ones_like(t) for t in roots]
    with told(f"the backward of {_name(call)}"), counting:
        torch.autograd.backward(roots, gradients)


def _shapes(inputs: Sequence[Any]) -> str:
    leaves = [leaf for leaf in tree_leaves(list(inputs)) if isinstance(leaf, torch.Tensor)]
    return ", ".join(map(_shape, leaves)) or "none"


def _shape(tensor: Any) -> str:
    if tensor.is_nested:
        return "nested"
    return "x".join(map(str, tensor.shape)) or "scalar"


def _fake_mode(subject: Any, inputs: Sequence[Any]) -> FakeTensorMode | None:
    """The mode that some tensor of the subject belongs to."""
    given = [*tree_leaves(list(inputs)), *_own(subject)]
    return next((t.fake_mode for t in given if isinstance(t, FakeTensor)), None)


def _own(subject: Any) -> Iterator[Any]:
    if isinstance(subject, torch.nn.Module):
        yield from subject.parameters()
        yield from subject.buffers()


def _faked(
    subject: Any, inputs: Sequence[Any], mode: FakeTensorMode
) -> tuple[Callable[..., Any], Sequence[Any]]:
    """The subject and its inputs with fake tensors of a CPU in the place of the real ones."""
    memory: dict[int, Any] = {}

    def fake(tensor: Any) -> Any:
        if isinstance(tensor, FakeTensor) or layouts.numbers(tensor) is not None:
            return tensor  # a short row of integers may say how long sequences are
        if id(tensor) not in memory:
            with mode:
                memory[id(tensor)] = torch.empty_strided(
                    tensor.shape,
                    tensor.stride(),
                    dtype=tensor.dtype,
                    requires_grad=tensor.requires_grad,
                )
        return memory[id(tensor)]

    given = tree_map_only(torch.Tensor, fake, list(inputs))
    if not isinstance(subject, torch.nn.Module):
        return subject, given
    own = {name: fake(t) for name, t in (*subject.named_parameters(), *subject.named_buffers())}
    return lambda *args: torch.func.functional_call(subject, own, args), given


@contextmanager
def _as_eager() -> Iterator[None]:
    """Let compiled code run eagerly: also what is compiled while it is counted."""
    before: list[Any] = []

    def set_stance(dynamo: ModuleType) -> None:
        before.append((dynamo, dynamo._set_stance(dynamo.DynamoStance("force_eager"))))

    try:
        with WhenImported("torch._dynamo.eval_frame", set_stance):
            yield
    finally:
        for dynamo, stance in before:
            dynamo._set_stance(stance)


@contextmanager
def _gradients_kept(subject: Any, inputs: Sequence[Any]) -> Iterator[None]:
    """Take gradients away, so that none is added to another, and put them back."""
    leaves = [t for t in (*_own(subject), *tree_leaves(list(inputs)))
              if isinstance(t, torch.Tensor) and t.is_leaf and t.requires_grad]  # fmt: skip
    kept = [(t, t.grad) for t in leaves]
    for tensor in leaves:
        tensor.grad = None
    try:
        yield
    finally:
        for tensor, gradient in kept:
            tensor.grad = gradient


def _compiled(subject: Any) -> bool:
    if "torch._dynamo" not in sys.modules:
        return False
    parts = subject.modules() if isinstance(subject, torch.nn.Module) else [subject]
    return any(
        hasattr(p, "_torchdynamo_orig_callable")
        or hasattr(p, "_orig_mod")
        or getattr(p, "_compiled_call_impl", None) is not None
        for p in parts
    )


def _name(subject: Any) -> str:
    own = getattr(subject, "_orig_mod", subject)
    return str(getattr(own, "__name__", None) or type(own).__name__)
