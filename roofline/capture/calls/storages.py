"""Numbers for blocks of memory that are never used again, so that data can be followed.

PyTorch reuses the address of a freed storage.  A weak reference keeps the address (not the memory)
from being reused while its number is remembered here.
"""

from typing import Any

import torch

_SWEEP = 100_000  # new storages between two sweeps of the dead ones


class Storages:
    """Storage address -> number, for storages that were alive at the last sweep."""

    def __init__(self) -> None:
        self.known: dict[int, int] = {}
        self._next = 0
        self._left = _SWEEP

    def number(self, storage: Any) -> int:
        """The number of an untyped storage, a new one at first sight."""
        address = storage._cdata
        number = self.known.get(address)
        if number is None:
            if not self._left:
                self._sweep()
            storage._weak_ref()
            number = self.known[address] = self._next
            self._next += 1
            self._left -= 1
        return number

    def close(self) -> None:
        """Let go of every storage."""
        for address in self.known:
            torch.UntypedStorage._free_weak_ref(address)
        self.known.clear()

    def _sweep(self) -> None:
        for address in [a for a in self.known if torch.UntypedStorage._expired(a)]:
            torch.UntypedStorage._free_weak_ref(address)
            del self.known[address]
        self._left = _SWEEP
