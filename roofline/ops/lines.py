"""From operands to a ledger: every operand crosses DRAM once, and says which way."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from roofline.call import DTYPE_BYTES, Call, Tensor
from roofline.device import DRAM
from roofline.ops.memory import Share, shares
from roofline.work import Access, Entry, Exactness, Ledger, algorithmic

Operands = Sequence[tuple[str, Tensor]]


@dataclass(frozen=True, slots=True)
class Rows:
    """Part of a table that is picked by data nobody sees here: so many hits of so many bytes."""

    what: str
    hits: int
    row_nbytes: int
    rows: int  # in the whole table
    least: int = 1  # rows hit at the very least: 0 where a mask may select nothing

    @property
    def amount(self) -> int:
        """Bytes when every hit is a row of its own, and at most the table once."""
        return min(self.hits, self.rows) * self.row_nbytes

    def entry(self, access: Access) -> Entry:
        """The line: between the fewest rows (all hits equal) and every hit apart."""
        why = f"{access} {self.what}, {self.hits} hits of {self.row_nbytes} B"
        low = min(self.least, self.hits, self.rows) * self.row_nbytes
        return Entry(DRAM, self.amount, why, access, Exactness.BOUNDED, low, self.amount)


ROWS_ARE_COUNTED = (
    "rows are counted once per hit and at most the table once; repeated rows cost less"
)


def ledger(
    compute: Iterable[Entry] = (),
    *,
    reads: Operands = (),
    updates: Operands = (),
    writes: Operands = (),
    gathered: Sequence[Rows] = (),
    scattered: Sequence[Rows] = (),
    rows_updated: Sequence[Rows] = (),
    conventions: Iterable[str] = (),
) -> Ledger:
    """`compute`, and every operand across DRAM once.

    `updates` are read and written in place.  Rows picked by an index are `gathered` (read),
    `scattered` (written) or `rows_updated` (both).  Memory that two operands share is counted once
    a direction.  The footprint is the bytes of different memory.
    """
    incoming, outgoing = [*updates, *reads], [*updates, *writes]
    lines = [
        *compute,
        *_moved(incoming, "read"),
        *(rows.entry("read") for rows in (*gathered, *rows_updated)),
        *_moved(outgoing, "write"),
        *(rows.entry("write") for rows in (*scattered, *rows_updated)),
    ]
    touched = shares(t for _, t in (*incoming, *writes))
    picked = sum(rows.amount for rows in (*gathered, *scattered, *rows_updated))
    return replace(
        algorithmic(*lines, conventions=conventions),
        footprint=sum(share.amount for share in touched) + picked,
    )


def _moved(operands: Operands, access: Access) -> Iterable[Entry]:
    counted = shares(t for _, t in operands)
    return (_line(what, share, access) for (what, _), share in zip(operands, counted, strict=True))


def _line(what: str, share: Share, access: Access) -> Entry:
    why = f"{access} {what} once"
    if share.exact:
        return Entry(DRAM, share.amount, why, access)
    why += ", which may overlap another operand"
    return Entry(DRAM, share.amount, why, access, Exactness.BOUNDED, share.low, share.high)


def result(call: Call, shape: tuple[int, ...], dtype: str, index: int = 0) -> Tensor:
    """The output as it was recorded, else as the inputs say it must be."""
    recorded = call.outputs[index] if index < len(call.outputs) else None
    known = recorded is not None and recorded.dtype in DTYPE_BYTES
    # A fresh output: its strides and storage say nothing about traffic.
    return Tensor(shape, recorded.dtype if known and recorded else dtype)
