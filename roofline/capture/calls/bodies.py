"""Operators that take functions (map, scan, cond, while_loop): what their functions do is recorded.

PyTorch runs such an operator with every mode out of the way, so the functions are given to it
wrapped: the mode is back while one of them runs.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode, _pop_mode, _push_mode

from roofline.capture.calls.operator import Operator
from roofline.capture.calls.signature import tensors

_BY_DATA = frozenset({"cond", "while_loop"})  # data say which function runs, or how often
_ALWAYS = frozenset({"map_impl", "map", "scan", "associative_scan", "invoke_subgraph", "wrap"})


def has_bodies(operator: Operator, args: Sequence[Any]) -> bool:
    """Whether the operator is what its functions do; without data some are not known to run."""
    name = operator.name.removeprefix("higher_order::")
    if name in _BY_DATA:
        return not any(type(tensor) is FakeTensor for tensor in tensors(args))
    return name in _ALWAYS


def run(
    func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *modes: TorchDispatchMode
) -> Any:
    """Call `func`, its functions under `modes`, the last of which sees operators first."""
    wrapped = [_under(modes, arg) if callable(arg) else arg for arg in args]
    return func(*wrapped, **kwargs)


def _under(modes: Sequence[TorchDispatchMode], body: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(body)
    def inside(*args: Any, **kwargs: Any) -> Any:
        for mode in modes:
            _push_mode(mode)
        try:
            return body(*args, **kwargs)
        finally:
            for _ in modes:
                _pop_mode()

    return inside
