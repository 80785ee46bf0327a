"""Rules that users add for operators of their own, apart from the library's table.

They hold for this process: a run keeps the ledgers that they gave, not the rules.
"""

from collections.abc import Callable, Iterable, Mapping

from roofline.call import Call
from roofline.device import DRAM, RESOURCES
from roofline.errors import BadInput, NotFound, near
from roofline.ops.rule import Rule
from roofline.work import Entry, Exactness, Ledger, algorithmic

Account = Callable[[Call], Ledger]

RULES: dict[str, Rule] = {}


def add(op: str, account: Account, taken: Iterable[str]) -> None:
    """Account for `op` by `account`; an operator that has a rule keeps it, and this is an error."""
    namespace, separator, name = op.partition("::")
    if not (namespace and separator and name):
        raise BadInput(f"an operator's name is namespace::name, such as mylib::swiglu; got {op!r}")
    if op in taken:
        raise BadInput(f"{op} has a rule in the library; there cannot be two")
    if op in RULES and not _same(RULES[op].account, account):
        raise BadInput(f"{op} has a rule already, {_name(RULES[op].account)}; there cannot be two")
    RULES[op] = Rule(op, account)


def ledger(
    arithmetic: Mapping[str, int] | None = None,
    *,
    read: int = 0,
    write: int = 0,
    estimate: bool = False,
    conventions: Iterable[str] = (),
) -> Ledger:
    """A ledger from plain numbers, for rules of one's own.

    `arithmetic` is flop (or integer operations) by pipe: ``{"tensor-bf16": 2 * m * n * k}``;
    `read` and `write` are bytes across dram.

    >>> ledger({"vector-fp32": 4096}, read=32768, write=16384).flop
    4096
    """
    label = Exactness.ESTIMATE if estimate else Exactness.EXACT
    lines = []
    for name, amount in (arithmetic or {}).items():
        pipe = RESOURCES.get(name)
        if pipe is None or not pipe.is_pipe:
            pipes = [n for n, resource in RESOURCES.items() if resource.is_pipe]
            there = near(name, pipes) or pipes
            raise NotFound(f"no pipe {name!r}; there is {', '.join(there)}")
        lines.append(Entry(pipe, amount, "as its rule states", exactness=label))
    return algorithmic(
        *lines,
        Entry(DRAM, read, "read, as its rule states", "read", label),
        Entry(DRAM, write, "written, as its rule states", "write", label),
        conventions=conventions,
    )


def _same(one: Account, other: Account) -> bool:
    """The same function, perhaps defined again by running a notebook's cell again."""
    where = [
        (getattr(f, "__module__", None), getattr(f, "__qualname__", "<")) for f in (one, other)
    ]
    return where[0] == where[1] and "<" not in where[0][1]


def _name(account: Account) -> str:
    return getattr(account, "__qualname__", repr(account))
