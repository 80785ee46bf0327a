"""What work needs, counted without timing anything.

account     the noun: distinct calls, how often each, and what that comes to
counting    sees every operator below autograd and counts it
running     runs a module or a function under it: real or fake tensors, forward and backward
exported    a graph that torch.export made
against     the same beside torch's FlopCounterMode, each difference in words
launches    Triton kernels: declared ledgers, launches that no mode sees
interpreted, interpreter   a Triton kernel that nobody declared, counted in Triton's interpreter
placed      the least time of an account under a roof
recorded    a saved run, or a profiler's trace
subject     ``script.py:name`` -> what is to be counted
theirs      what the counted program raises, in one sentence

Only this file and `account`, `recorded`, `subject` and `theirs` may be imported without PyTorch.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roofline.accounting.account import GROUPINGS, Account, Group, Line
from roofline.capture import INSTALL
from roofline.errors import Missing
from roofline.runfile import Run

if TYPE_CHECKING:
    from roofline.accounting.against import Difference

__all__ = ["GROUPINGS", "Account", "Group", "Line", "account", "cross_check"]


def account(
    subject: Any,
    inputs: Sequence[Any] = (),
    *,
    backward: bool = False,
    fake: bool = False,
    device: Literal["cpu", "cuda"] | None = None,
) -> Account:
    """Count `subject`: a module, a function, an exported program, a run, a trace or run file.

    See `roofline.account`, which is this with its inputs spread out.
    """
    if isinstance(subject, (Run, str, Path)):
        from roofline.accounting import recorded

        return recorded.account(subject)
    if "torch" not in sys.modules:
        try:
            import torch  # noqa: F401
        except ModuleNotFoundError:
            raise Missing(INSTALL) from None
    from roofline.accounting import exported, running

    if exported.is_exported(subject):
        return exported.account(subject, inputs, device=device)
    return running.account(subject, inputs, backward=backward, fake=fake, device=device)


def cross_check(
    subject: Any,
    inputs: Sequence[Any] = (),
    *,
    backward: bool = False,
    fake: bool = False,
    device: Literal["cpu", "cuda"] | None = None,
) -> "tuple[Account, tuple[Difference, ...]]":
    """Count a module or a function, and hold the count against torch's FlopCounterMode."""
    from roofline.accounting import running
    from roofline.accounting.against import Beside, differences

    beside = Beside()
    counted = running.account(
        subject, inputs, backward=backward, fake=fake, device=device, beside=beside
    )
    return counted, differences(counted, beside.counted)
