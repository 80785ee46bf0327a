"""The shape of an accounting rule.  A rule is a value, not a side effect."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from roofline.call import Call
from roofline.work import Ledger


@dataclass(frozen=True, slots=True)
class Rule:
    """How to account for every call of one operator."""

    op: str  # "aten::mm", as in Call.op
    account: Callable[[Call], Ledger]  # algorithmic
    executed: Callable[[Call], Ledger | None] | None = None  # where hardware is known to run more


def index(rules: Iterable[Rule]) -> Mapping[str, Rule]:
    """Rules by operator name; two rules for one operator is a programming error."""
    table: dict[str, Rule] = {}
    for rule in rules:
        if rule.op in table:
            raise ValueError(f"two accounting rules for {rule.op!r}")
        table[rule.op] = rule
    return table
