"""Accounting rules: from an operator call to a ledger.

Adding an operator: write its function beside its relatives, add one line to that file's RULES,
and one hand-counted row to tests/tables.
"""

from collections.abc import Callable, Mapping

from roofline.call import Call
from roofline.ops import matmul
from roofline.ops.rule import Rule, index
from roofline.work import Ledger, unknown

RULES: tuple[Rule, ...] = (*matmul.RULES,)

BY_OP = index(RULES)

# The same accounting by sizes instead of tensors, for people: `roofline op NAME k=v ...`.
FORMULAS: Mapping[str, Callable[..., Ledger]] = {f.__name__: f for f in (*matmul.FORMULAS,)}


def account(call: Call) -> Ledger:
    """Algorithmic ledger of one call.  An unknown operator is named, never counted as zero."""
    rule = BY_OP.get(call.op)
    return unknown(call.op) if rule is None else rule.account(call)
