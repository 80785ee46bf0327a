"""Rooflines: what a device allows, what work needs, what was measured, and what to do next.

Accounting and placing::

    import roofline as rl

    ledger = rl.ops.gemm(m=1, n=4096, k=4096, dtype="fp16")
    print(rl.place(ledger, rl.device("h100-sxm"), time_s=17e-6).roof_fraction)

Counting a whole model, without running it::

    print(rl.account(model, x, backward=True, fake=True).flop)

Recording::

    with rl.profile() as run:
        train_one_step()
    run.report("out.html")

Everything is loaded on first use: importing this package imports no torch.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from roofline.version import __version__ as __version__

if TYPE_CHECKING:
    from roofline import ops
    from roofline.facade import (
        account,
        count_triton,
        declare,
        deep,
        device,
        ledger,
        load,
        measure,
        place,
        profile,
        rule,
    )

__all__ = [
    "account", "count_triton", "declare", "deep", "device", "ledger", "load", "measure", "ops",
    "place", "profile", "rule",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "ops":
        return importlib.import_module("roofline.ops")
    if name in __all__:
        return getattr(importlib.import_module("roofline.facade"), name)
    raise AttributeError(f"module 'roofline' has no attribute {name!r}")


class _Package(ModuleType):
    """This package, in which `device` stays the function.

    Importing the submodule of that name would put the module in its place: Python sets every
    submodule as an attribute of its package.
    """

    @property
    def device(self) -> Any:
        """`roofline.facade.device`."""
        return importlib.import_module("roofline.facade").device

    @device.setter
    def device(self, module: ModuleType) -> None:
        """Python's own assignment; the module stays in ``sys.modules``."""


sys.modules[__name__].__class__ = _Package
