"""What each case needs, as the calls and ledgers of the kernels it starts."""

from dataclasses import dataclass
from typing import Any

import torch
from cases import Case
from torch.utils._pytree import tree_leaves

import roofline as rl
from roofline.call import Call
from roofline.work import Ledger


@dataclass(frozen=True, slots=True)
class Kernel:
    """One call, or one kernel of which only the bytes are stated."""

    call: Call | None
    ledger: Ledger
    executed: Ledger | None = None


def kernels(case: Case, operands: tuple[Any, ...]) -> list[Kernel]:
    """In the order of their first call; views and the like, which move nothing, are left out."""
    if case.fused is not None:
        return [Kernel(None, _once(case.fused, operands))]
    account = rl.account(case.run, *operands, device="cuda").account
    return [
        Kernel(signature.call, signature.ledger, signature.executed)
        for line in account.lines
        if (signature := account.signatures[line.signature]).ledger is not None
        and signature.ledger.entries
        for _ in range(line.calls)
    ]


def _once(run: Any, operands: tuple[Any, ...]) -> Ledger:
    """Operands read once, results written once."""
    shapes = [torch.empty(t.shape, dtype=t.dtype, device="meta") for t in operands]
    return rl.ledger(read=nbytes(operands), write=nbytes(run(*shapes)))


def nbytes(tensors: Any) -> int:
    """Bytes of all tensors together."""
    return sum(t.numel() * t.element_size() for t in tree_leaves(tensors))
