"""The distinct calls of a recording, each accounted for once."""

from collections.abc import Hashable

from roofline import ops
from roofline.call import Call
from roofline.runfile import Signature
from roofline.work import Ledger, algorithmic, unknown

NOTHING = algorithmic()  # the ledger of what touches no data, whatever its tensors are


class Book:
    """The distinct calls of a recording, each accounted for once."""

    def __init__(self) -> None:
        self.signatures: list[Signature] = []
        self.broken: dict[str, str] = {}  # operator -> what its rule raised
        self._index: dict[Hashable, int] = {}

    def number(self, call: Call) -> int:
        """The number of a call; equal calls have the same."""
        if call not in self._index:
            self._index[call] = self.add(
                Signature(name=call.op, call=call, ledger=self.account(call))
            )
        return self._index[call]

    def named(self, name: str) -> int:
        """The number of something known by name only: unaccounted for."""
        if name not in self._index:
            self._index[name] = self.add(Signature(name=name, ledger=unknown(name)))
        return self._index[name]

    def counted(self, name: str, ledger: Ledger) -> int:
        """The number of something that is no single call and was counted all the same."""
        key = (name, ledger.entries)
        if key not in self._index:
            self._index[key] = self.add(Signature(name=name, ledger=ledger))
        return self._index[key]

    def add(self, signature: Signature) -> int:
        """The number of a signature that nobody else has."""
        self.signatures.append(signature)
        return len(self.signatures) - 1

    def account(self, call: Call) -> Ledger:
        """What one call needs."""
        try:
            return ops.account(call)
        except Exception as error:  # a broken rule must not end somebody else's program
            self.broken.setdefault(call.op, f"{type(error).__name__}: {error}")
            return unknown(call.op)
