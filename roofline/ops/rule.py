"""The shape of an accounting rule.  A rule is a value, not a side effect."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from roofline.call import Call
from roofline.errors import BadInput
from roofline.work import Ledger


class Unaccountable(BadInput):
    """This call does not say enough, or says something the rule cannot read.

    Raised inside rules only.  `roofline.ops.account` turns it into a ledger that names the operator
    and keeps the sentence, so that what is not understood is never counted as zero.
    """


@dataclass(frozen=True, slots=True)
class Rule:
    """How to account for every call of one operator."""

    op: str  # "aten::mm", as in Call.op
    account: Callable[[Call], Ledger]  # algorithmic
    # Arithmetic that hardware is known to run, where that is more; bytes are `hardware`'s.
    executed: Callable[[Call], Ledger | None] | None = None


def index(rules: Iterable[Rule]) -> Mapping[str, Rule]:
    """Rules by operator name; two rules for one operator is a programming error."""
    table: dict[str, Rule] = {}
    for rule in rules:
        if rule.op in table:
            raise ValueError(f"two accounting rules for {rule.op!r}")
        table[rule.op] = rule
    return table


def named(
    account: Callable[[Call], Ledger],
    *names: str,
    executed: Callable[[Call], Ledger | None] | None = None,
) -> tuple[Rule, ...]:
    """One rule a name, all with the same functions: ``named(mm, "mm")`` is for aten::mm."""
    return tuple(Rule(f"aten::{name}", account, executed) for name in names)
