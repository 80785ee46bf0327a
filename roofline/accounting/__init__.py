"""What work needs, counted without timing anything.

account     the noun: distinct calls, how often each, and what that comes to
counting    sees every operator below autograd and counts it
running     runs a module or a function under it: real or fake tensors, forward and backward
exported    a graph that torch.export made
recorded    a saved run, or a profiler's trace
subject     ``script.py:name`` -> what is to be counted

Only this file and `account`, `recorded` and `subject` may be imported without PyTorch.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from roofline.accounting.account import GROUPINGS, Account, Group, Line
from roofline.capture import INSTALL
from roofline.errors import Missing
from roofline.runfile import Run

__all__ = ["GROUPINGS", "Account", "Group", "Line", "account"]


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
