"""Forward is what backward answers to, by autograd's sequence numbers, or what a module ran.

A backward operator gets the module of the forward operator with its number.  The last operator
that bears a number made the node; earlier ones bear it because none was made since.  Every process
counts for itself.
"""

from array import array

from roofline.importers.kineto.join.nesting import Nested
from roofline.importers.kineto.join.phases import BACKWARD, FORWARD, OTHER
from roofline.importers.kineto.read.columns import NONE, OP, Columns

_PAGE = 6  # bits of a number within its page: numbers follow one another, so that pages fill up


class Numbered:
    """A small number for each sequence number of each process; 0 where none was set."""

    def __init__(self) -> None:
        self._pages: dict[tuple[int, int], array[int]] = {}

    def set(self, process: int, number: int, value: int) -> None:
        """Set it."""
        page = self._pages.get((process, number >> _PAGE))
        if page is None:
            page = self._pages[process, number >> _PAGE] = array("i", bytes(4 << _PAGE))
        page[number & (1 << _PAGE) - 1] = value

    def get(self, process: int, number: int) -> int:
        """What was set last."""
        page = self._pages.get((process, number >> _PAGE))
        return 0 if page is None else page[number & (1 << _PAGE) - 1]


class Answers:
    """What forward and backward operators say of each other: first all `note`, then `settle`."""

    def __init__(self) -> None:
        self._answered = Numbered()  # 1 where a backward operator bears the number
        self._module = Numbered()  # of the forward operator

    def note(self, columns: Columns, nested: Nested) -> None:
        """Remember who bears which number."""
        spans, process_of = columns.spans, columns.process_of
        for row, number in enumerate(spans.link):
            if number == NONE or spans.kind[row] != OP:
                continue
            process = process_of[spans.thread[row]]
            if nested.phase[row] == BACKWARD:
                self._answered.set(process, number, 1)
            elif nested.module[row]:
                self._module.set(process, number, nested.module[row])

    def settle(self, columns: Columns, nested: Nested) -> None:
        """Set phase and module of what the numbers decide."""
        spans, process_of = columns.spans, columns.process_of
        answered, module = self._answered.get, self._module.get
        for row, phase in enumerate(nested.phase):
            number = nested.sequence[row]
            if phase == OTHER:
                if nested.module[row] or (
                    number != NONE and answered(process_of[spans.thread[row]], number)
                ):
                    nested.phase[row] = FORWARD
            elif phase == BACKWARD and number != NONE and not nested.module[row]:
                nested.module[row] = module(process_of[spans.thread[row]], number)
