"""Forward work that a backward pass does a second time: activation checkpointing.

While it is recomputed autograd records, so its operators bear numbers; the operators of backward
proper bear none.  Where a node of backward holds both, those with numbers are recomputed.  Where
all bear numbers a graph is made of backward itself, to be differentiated again.

Recomputation that stops early (the default of `use_reentrant=False`) is recorded with the operator
at which it stopped, although that did nothing: a trace has one more than ran.
"""

from roofline.importers.kineto.join.phases import RECOMPUTED


class Repeated:
    """Told of operators while spans are walked; knows in the end which were recomputed."""

    def __init__(self) -> None:
        self._node_of: dict[int, int] = {}  # outermost operator with a number -> its node
        self._proper: set[int] = set()  # nodes that hold an operator without one
        self._inside: list[tuple[int, int]] = []  # row, the outermost operator around it

    def outermost(self, row: int, node: int, numbered: bool) -> None:
        """An operator that no other is around, within a node of backward."""
        if numbered:
            self._node_of[row] = node
        else:
            self._proper.add(node)

    def inside(self, row: int, outer: int) -> None:
        """A span at or within an outermost operator; others are passed over."""
        if outer in self._node_of:
            self._inside.append((row, outer))

    def settle(self, phase: bytearray) -> None:
        """Set the phase of what was recomputed."""
        for row, outer in self._inside:
            if self._node_of[outer] in self._proper:
                phase[row] = RECOMPUTED
