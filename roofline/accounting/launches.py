"""Launches of Triton kernels, which no dispatch mode sees: counted by what was declared for them.

A launch is the call ``triton::NAME`` with the kernel's arguments in order and the grid after them.
On fake tensors a kernel is counted and not launched.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from roofline import ops
from roofline.call import Argument, Call, Tensor
from roofline.capture.calls.signature import dtype, scalar
from roofline.capture.patches import Patches
from roofline.work import Ledger

Declared = Ledger | Callable[[Call], Ledger]


def declare(kernel: Any, ledger: Declared) -> None:
    """Account for launches of a Triton kernel, in this process.

    `ledger` is that of every launch, or a function of the launch as a `Call`: its arguments stand
    in the order of the kernel's parameters, and its last is the grid.
    """
    ops.add_rule(name(kernel))(partial(_same, ledger) if isinstance(ledger, Ledger) else ledger)


def _same(ledger: Ledger, call: Call) -> Ledger:
    return ledger


def name(kernel: Any) -> str:
    """The operator name of a kernel's launches."""
    return f"triton::{function(kernel).__name__}"


def function(kernel: Any) -> Any:
    """The Python function inside ``@triton.jit``, autotuners and heuristics."""
    while hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


class Launches:
    """Watches launches while it is installed; hands each to `seen` as a call."""

    def __init__(self, seen: Callable[[Call], None]):
        self._seen = seen
        self._tuning = False
        self._patches = Patches({
            "triton.runtime.jit": self._watch_runs,
            "triton.runtime.autotuner": self._watch_tuning,
        })  # fmt: skip

    def install(self) -> None:
        """Begin to watch; costs nothing until Triton is imported."""
        self._patches.install()

    def remove(self) -> None:
        """Put things back as they were."""
        self._patches.remove()

    def _watch_runs(self, module: ModuleType) -> None:
        original, launches = module.JITFunction.run, self

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if not warmup and not launches._tuning:
                launches._seen(describe(kernel, args, kwargs, grid))
            if _any_fake([*args, *kwargs.values()]):
                return None
            return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)

        self._patches.replace(module.JITFunction, "run", run)

    def _watch_tuning(self, module: ModuleType) -> None:
        """Trials of an autotuner are no work of the program; without data the first will do."""
        original, launches = module.Autotuner._bench, self

        def _bench(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            if _any_fake([*args, *kwargs.values()]):
                return [0.0]
            before, launches._tuning = launches._tuning, True
            try:
                return original(tuner, *args, **kwargs)
            finally:
                launches._tuning = before

        self._patches.replace(module.Autotuner, "_bench", _bench)


def describe(kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any) -> Call:
    """A launch as a call."""
    parameters = inspect.signature(function(kernel)).parameters
    own = {key: value for key, value in kwargs.items() if key in parameters}
    given = dict(zip(parameters, args, strict=False)) | own
    values = [given.get(key, _default(p)) for key, p in parameters.items()]
    shape = grid(given) if callable(grid) else grid
    storages: dict[int, int] = {}
    return Call(
        op=name(kernel),
        args=(*(_argument(v, storages) for v in values), (*shape, 1, 1)[:3]),
        device="cuda",
    )


def _default(parameter: inspect.Parameter) -> Any:
    return None if parameter.default is parameter.empty else parameter.default


def _argument(value: Any, storages: dict[int, int]) -> Argument:
    if isinstance(value, torch.Tensor):
        address = value.untyped_storage()._cdata
        return Tensor(
            tuple(value.shape),
            dtype(value.dtype),
            tuple(value.stride()),
            storages.setdefault(address, len(storages)),
            value.storage_offset(),
        )
    value = getattr(value, "value", value)  # a constexpr
    return scalar(value)


def _any_fake(values: Sequence[Any]) -> bool:
    return any(isinstance(value, FakeTensor) for value in values)
