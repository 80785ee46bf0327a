"""Distinct calls and kernels -> signatures of a run, each accounted for once."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Literal

from roofline import ops
from roofline.call import Math, worded
from roofline.called import readable
from roofline.importers import copies
from roofline.importers.kineto.account.arguments import Unreadable, among, call, squared
from roofline.importers.kineto.account.compiled import built, compiled_kernel
from roofline.importers.kineto.account.lists import types_by_shape
from roofline.importers.kineto.join.names import SAME, SQUARES
from roofline.importers.kineto.read.columns import Columns
from roofline.importers.kineto.read.event import whole
from roofline.importers.private import pathless
from roofline.runfile import Signature
from roofline.work import Ledger, unknown

Device = Literal["cpu", "cuda"]
IN_GRAPH = "not accounted for: a graph launch replays it, and its operators are not in the trace"


class Signatures:
    """The signatures that were asked for, numbered in that order."""

    def __init__(
        self,
        columns: Columns,
        device: Device,
        keep_private: bool = False,
        ranks: int | None = None,
    ):
        """With `keep_private` texts that were given to operators are kept as they are.

        `ranks` is how many processes collectives are among; None is not known.
        """
        self.made: list[Signature] = []
        self.listed = 0  # distinct calls with a list of tensors, whose types were looked up
        self.reduced: set[int] = set()  # calls of fp32 whose kernel multiplies a shorter type
        self.unreadable: dict[str, list[str]] = {}  # why -> operators that cannot be described
        self._calls = columns.calls.values()
        self._kernels = columns.kernels.values()
        self._names = columns.names.values()
        self._device = device
        self._keep_private = keep_private
        self._called: Callable[[str], str] = str if keep_private else pathless
        self._ranks = ranks
        self._index: dict[Hashable, int] = {}
        self._shown: dict[str, str] = {}  # kernel as recorded -> as shown
        self._in_lists: Mapping[tuple[int, ...], str] | None = None

    def of_call(self, key: int, math: Math = "ieee", optimizer: bool = False) -> int:
        """The signature of an operator call, perhaps one that an optimizer made."""
        square = optimizer and self._calls[key][0] in SQUARES
        if math in ("bf16", "fp16"):
            if b'"float"' in self._calls[key][2]:
                self.reduced.add(key)
            else:
                math = "ieee"  # the type of the operands themselves
        return self._number(("call", key, math, square), lambda: self._call(key, math, square))

    def of_kernel(self, key: int, in_graph: bool) -> int:
        """The signature of a kernel: its work is known only through its operator."""
        name = self._kernels[key][0]
        shown = self._shown.get(name)
        if shown is None:
            shown = self._shown[name] = readable(self._called(name))
        return self._number(("kernel", shown, in_graph), lambda: _kernel(shown, in_graph))

    def of_copy(self, key: int) -> int:
        """The signature of a copy or memset."""
        name, nbytes = self._kernels[key][0], whole(self._kernels[key][-1])
        return self._number(
            ("copy", name, nbytes),
            lambda: Signature(name=name, ledger=copies.ledger(name, nbytes)),
        )

    def of_launch(self, key: int) -> int:
        """The signature of a launch, which has no work of its own."""
        return self._number(("launch", key), lambda: Signature(name=self._called(self._names[key])))

    def free(self, at: int) -> bool:
        """Whether signature `at` is known to need nothing (a view)."""
        ledger = self.made[at].ledger
        return ledger is not None and not ledger.entries and not ledger.unaccounted

    def _number(self, where: Hashable, make: Callable[[], Signature]) -> int:
        at = self._index.get(where)
        if at is None:
            at = self._index[where] = len(self.made)
            self.made.append(make())
        return at

    def _call(self, key: int, math: Math, square: bool) -> Signature:
        recorded, dims, types, strides, values, compiled = self._calls[key]
        name = self._called(recorded)
        if b"TensorList" in types:
            self.listed += 1
            if self._in_lists is None:
                self._in_lists = types_by_shape(self._calls)
        try:
            described = call(
                SAME.get(name, name), dims, types, strides, values,
                self._device, math, self._in_lists or {},
            )  # fmt: skip
        except Unreadable as why:
            self.unreadable.setdefault(str(why), []).append(name)
            return Signature(name=name, ledger=_unknown(name, f"not accounted for: {why}"))
        if not self._keep_private:
            described = replace(described, args=worded(described.op, described.args))
        if self._ranks is not None:
            described = among(described, self._ranks)
        if square:
            described = squared(described)
        if compiled:
            how = compiled.decode("utf-8", "replace")
            return compiled_kernel(described, how if self._keep_private else built(how))
        return Signature(name=name, call=described, ledger=ops.account(described))


def _kernel(name: str, in_graph: bool) -> Signature:
    return Signature(name=name, ledger=_unknown(name, IN_GRAPH) if in_graph else unknown(name))


def _unknown(name: str, why: str) -> Ledger:
    return replace(unknown(name), conventions=(why,))
