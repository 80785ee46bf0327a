"""Keeps torch.compile from compiling the recorder along with the program.

Dynamo looks at every Python frame that starts under a compiled function.  It is told by code
object what not to look at, without importing it.
"""

from collections.abc import Callable
from typing import Any

import torch


def pass_over(function: Callable[..., Any]) -> None:
    """Never compile `function`; what it calls may be compiled."""
    _set(function, "DEFAULT")


def leave_alone(function: Callable[..., Any]) -> None:
    """Never compile `function` nor anything it calls."""
    _set(function, "SKIP")


def _set(function: Callable[..., Any], callees: str) -> None:
    frames = torch._C._dynamo.eval_frame
    action = frames._FrameAction
    strategy = frames._FrameExecStrategy(action.SKIP, getattr(action, callees))
    frames.set_code_exec_strategy(function.__code__, strategy)
