"""What a golden row is, and how one is checked.  The rows themselves stand beside their tests."""

from dataclasses import dataclass, field

from roofline import ops
from roofline.call import Call, Tensor
from roofline.device import DRAM, SFU


def f(*shape, **more):
    """An fp32 tensor: 4 B an element."""
    return Tensor(shape, **more)


def h(*shape, **more):
    """An fp16 tensor: 2 B an element."""
    return Tensor(shape, "fp16", **more)


def i(*shape, **more):
    """An int64 tensor: 8 B an element."""
    return Tensor(shape, "int64", **more)


def b(*shape, **more):
    """A bool tensor: 1 B an element."""
    return Tensor(shape, "bool", **more)


@dataclass(frozen=True)
class Row:
    """One call counted by hand: arithmetic on every pipe but sfu, sfu, bytes each way."""

    op: str  # without "aten::", which is added
    args: tuple
    flop: int
    read: int
    write: int
    sfu: int = 0
    outputs: tuple = ()
    device: str = "cpu"
    words: str = ""  # must stand in the conventions
    more: dict = field(default_factory=dict)  # other resources by name

    @property
    def call(self):
        """The call."""
        name = self.op if "::" in self.op else f"aten::{self.op}"
        return Call(name, self.args, self.outputs, self.device)

    def __str__(self):
        return self.op


def check(row):
    """The ledger has the row's amounts, a reason on every line, and a footprint."""
    ledger = ops.account(row.call)

    assert ledger.unaccounted == (), ledger.conventions
    demand = ledger.demand()
    pipes = sum(amount for r, amount in demand.items() if r.is_pipe and r != SFU)
    found = (pipes, ledger.traffic(DRAM, "read"), ledger.traffic(DRAM, "write"), demand.get(SFU, 0))
    assert found == (row.flop, row.read, row.write, row.sfu)
    others = {r.name: n for r, n in demand.items() if not r.is_pipe and r != DRAM}
    assert others == row.more
    assert all(entry.why for entry in ledger.entries)
    assert ledger.footprint is not None
    assert ledger.footprint <= row.read + row.write
    assert row.words in " ".join(ledger.conventions)
