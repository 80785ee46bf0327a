"""A group of processes among a call's arguments: its bytes depend on how many there are."""

from typing import Any

import torch


def kind(value: Any) -> str:
    """``group of 4`` for a group; for anything else what it is, and no more.

    >>> kind(slice(3))
    'slice'
    """
    if isinstance(value, torch.ScriptObject) and value._type().name() == "ProcessGroup":
        return f"group of {torch.distributed.ProcessGroup.unbox(value).size()}"
    return type(value).__name__.lower()
