"""The recorded events, a column each, so that a million of them stay small and quick to add."""

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from roofline.runfile import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

PHASES = ("forward", "backward", "optimizer", "other")
FORWARD, BACKWARD, OPTIMIZER, OTHER = range(4)
OP, REGION, KERNEL, MEMCPY = range(4)
_KINDS = ("op", "region", "kernel", "memcpy")
_NO_FAULTS = -1


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
        self.signature = array("i")
        self.kind = array("b")
        self.start = array("q")
        self.duration = array("q")
        self.phase = array("b")
        self.module = array("i")
        self.thread = array("i")
        self.faults = array("i")
        self.reads = array("q")
        self.reads_end = array("q", [0])
        self.writes = array("q")
        self.writes_end = array("q", [0])
        self.launched: dict[int, tuple[int, int | None]] = {}  # row -> stream, row that launched it
        self.modules = Names("")
        self.threads = Names("")

    def __len__(self) -> int:
        return len(self.signature)

    def add(
        self,
        signature: int,
        start: int,
        duration: int,
        *,
        phase: int,
        module: int,
        thread: int = 0,
        faults: int | None = None,
        kind: int = OP,
        reads: Iterable[int] = (),
        writes: Iterable[int] = (),
    ) -> None:
        """Append one event."""
        self.signature.append(signature)
        self.kind.append(kind)
        self.start.append(start)
        self.duration.append(duration)
        self.phase.append(phase)
        self.module.append(module)
        self.thread.append(thread)
        self.faults.append(_NO_FAULTS if faults is None else faults)
        self.reads.extend(reads)
        self.reads_end.append(len(self.reads))
        self.writes.extend(writes)
        self.writes_end.append(len(self.writes))

    def table(self, *, steps: Any, origin: int) -> "pa.Table":
        """The events of a run: `steps` is the step of each, times count from `origin`."""
        import numpy as np
        import pyarrow as pa

        count = len(self)
        streams: list[int | None] = [None] * count
        parents: list[int | None] = [None] * count
        for row, (stream, parent) in self.launched.items():
            streams[row], parents[row] = stream, parent
        faults = np.frombuffer(self.faults, dtype=np.intc).astype(np.int64)
        columns = {
            "signature": _numbers(self.signature, np.intc, pa.int32()),
            "kind": _text(self.kind, np.int8, _KINDS),
            "step": pa.array(steps, pa.int32()),
            "start_ns": pa.array(np.frombuffer(self.start, dtype=np.int64) - origin),
            "duration_ns": _numbers(self.duration, np.int64, pa.int64()),
            "phase": _text(self.phase, np.int8, PHASES),
            "module": _text(self.module, np.intc, self.modules.names),
            "thread": _text(self.thread, np.intc, self.threads.names),
            "stream": pa.array(streams, pa.int64()),
            "parent": pa.array(parents, pa.int64()),
            "page_faults": pa.array(faults, pa.int64(), mask=faults == _NO_FAULTS),
            "reads": _lists(self.reads, self.reads_end),
            "writes": _lists(self.writes, self.writes_end),
            "counters": pa.array([[]] * count, arrow_schema().field("counters").type),
        }
        return pa.table(columns, schema=arrow_schema())


def _numbers(column: Any, kind: Any, to: Any) -> "pa.Array":
    import numpy as np
    import pyarrow as pa

    return pa.array(np.frombuffer(column, dtype=kind), to)


def _text(column: Any, kind: Any, names: Any) -> "pa.Array":
    import numpy as np
    import pyarrow as pa

    indices = pa.array(np.frombuffer(column, dtype=kind).astype(np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(names), pa.string()))


def _lists(column: Any, ends: Any) -> "pa.Array":
    import numpy as np
    import pyarrow as pa

    values = pa.array(np.frombuffer(column, dtype=np.int64))
    offsets = pa.array(np.frombuffer(ends, dtype=np.int64).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, values)
