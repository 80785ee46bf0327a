"""The recorded events, packed so that a million of them stay small and quick to add."""

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from roofline.runfile import arrow_schema

PHASES = ("forward", "backward", "optimizer", "other", "recomputed")
FORWARD, BACKWARD, OPTIMIZER, OTHER, RECOMPUTED = range(5)
OP, REGION, KERNEL, MEMCPY = range(4)
_KINDS = ("op", "region", "kernel", "memcpy")
NO_FAULTS = -1  # not counted

# One row of an event; the last three say how many storages it read and wrote, and from where on
# they stand: a signal may end the program between the two, and leave some that are nobody's.
_SIGNATURE, _CONTEXT, _START, _DURATION, _FAULTS, _READS, _WRITES, _AT = range(8)
_WIDTH = 8
# What a context is made of.
_KIND, _PHASE, _MODULE, _THREAD = range(4)


class Names:
    """Text as small numbers, in order of first appearance."""

    def __init__(self, *first: str):
        self._index = {name: index for index, name in enumerate(first)}

    def number(self, name: str) -> int:
        """The number of `name`."""
        return self._index.setdefault(name, len(self._index))

    @property
    def names(self) -> list[str]:
        """Every name, at the place its number says."""
        return list(self._index)


class Columns:
    """Events in the order they ended.  Times are nanoseconds of `time.perf_counter_ns`."""

    def __init__(self) -> None:
        self.modules = Names("")
        self.threads = Names("")
        self.launched: dict[int, tuple[int, int | None]] = {}  # row -> stream, row that launched it
        self.counters: dict[int, dict[str, float]] = {}  # row -> what was sampled of it
        self._rows = array("q")
        self._storages = array("q")  # of every event in turn: those it read, those it wrote
        self._contexts: dict[tuple[int, int, int, int], int] = {}

    def __len__(self) -> int:
        return len(self._rows) // _WIDTH

    def add(
        self,
        signature: int,
        start: int,
        duration: int,
        context: tuple[int, int, int, int],
        faults: int = NO_FAULTS,
        reads: Sequence[int] = (),
        writes: Sequence[int] = (),
    ) -> None:
        """Append one event; `context` is its kind, phase, and numbers of its module and thread."""
        where = self._contexts.setdefault(context, len(self._contexts))
        at = len(self._storages)
        self._storages.extend((*reads, *writes))
        # In one piece: a row in part would spoil every row after it.
        self._rows.extend((signature, where, start, duration, faults, len(reads), len(writes), at))

    @property
    def signature(self) -> np.ndarray:
        """Index of the signature of each event."""
        return self._column(_SIGNATURE)

    @property
    def start(self) -> np.ndarray:
        """When each event began."""
        return self._column(_START)

    @property
    def duration(self) -> np.ndarray:
        """How long each event took."""
        return self._column(_DURATION)

    @property
    def phase(self) -> np.ndarray:
        """The phase of each event, as an index into PHASES."""
        return self._context(_PHASE)

    @property
    def module(self) -> np.ndarray:
        """The number of each event's module."""
        return self._context(_MODULE)

    def table(self, *, steps: np.ndarray, origin: int) -> pa.Table:
        """The events of a run: `steps` is the step of each, times count from `origin`."""
        streams: list[int | None] = [None] * len(self)
        parents: list[int | None] = [None] * len(self)
        for row, (stream, parent) in self.launched.items():
            streams[row], parents[row] = stream, parent
        faults = self._column(_FAULTS)
        reads, writes = self._storage_lists()
        schema = arrow_schema()
        columns = {
            "signature": self.signature,
            "kind": _text(self._context(_KIND), _KINDS),
            "step": steps,
            "start_ns": self.start - origin,
            "duration_ns": self.duration,
            "phase": _text(self.phase, PHASES),
            "module": _text(self.module, self.modules.names),
            "thread": _text(self._context(_THREAD), self.threads.names),
            "stream": streams,
            "parent": parents,
            "page_faults": pa.array(faults, mask=faults == NO_FAULTS),
            "reads": reads,
            "writes": writes,
            "counters": self._counted(),
        }
        return pa.table(columns, schema=schema)

    def _counted(self) -> list[list[tuple[str, float]]]:
        if not self.counters:
            return [[]] * len(self)
        return [[*self.counters.get(row, {}).items()] for row in range(len(self))]

    def _column(self, index: int) -> np.ndarray:
        # A copy: an array that somebody looks into cannot grow.
        rows = np.frombuffer(self._rows, dtype=np.int64).reshape(-1, _WIDTH)
        return rows[:, index].copy()

    def _context(self, part: int) -> np.ndarray:
        parts = np.array([context[part] for context in self._contexts], dtype=np.int64)
        return parts.take(self._column(_CONTEXT))

    def _storage_lists(self) -> tuple[pa.Array, pa.Array]:
        storages = np.frombuffer(self._storages, dtype=np.int64).copy()
        reads, writes, at = map(self._column, (_READS, _WRITES, _AT))
        return _lists(storages, at, reads), _lists(storages, at + reads, writes)


def _lists(storages: np.ndarray, begins: np.ndarray, counts: np.ndarray) -> pa.Array:
    """For each event the `counts` storages from place `begins` on."""
    ends = np.r_[0, counts.cumsum()]
    places = np.arange(ends[-1]) + np.repeat(begins - ends[:-1], counts)
    return pa.ListArray.from_arrays(ends.astype(np.int32), storages[places])


def _text(numbers: np.ndarray, names: Sequence[str]) -> Any:
    indices = pa.array(numbers.astype(np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(names), pa.string()))
