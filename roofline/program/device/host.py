"""Between host and device: calls of the driver, copies over the link, and kernels too short to pay.

Only of recordings in which something ran on a device; a CPU waits for nobody.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.device import PCIE
from roofline.program.columns import batches, in_steps, is_kind
from roofline.runfile import Run

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCall:
    """Equal calls of the driver by one operator, in all measured steps."""

    name: str  # "cudaStreamSynchronize"
    caused_by: str  # the operator that called; "" is none
    calls: int
    seconds: float  # that the host spent in them, as far as it is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Equal copies between host and device, in all measured steps."""

    name: str  # "Memcpy HtoD (Pageable -> Device)"
    caused_by: str
    to_device: bool
    calls: int
    nbytes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """Everything that was started on the device, one by one, in all measured steps."""

    started: int  # kernels, copies and fills; what a captured graph holds is not among them
    short: int  # kernels of those, over sooner than the next can be started
    short_s: float
    shortest: tuple[str, ...]  # names of the short ones that took most time together


def host_calls(run: Run) -> tuple[HostCall, ...]:
    """Calls of the driver, most time first."""
    together: dict[tuple[str, str], tuple[int, int]] = {}
    for name, cause, _, calls, ns in _grouped(run, ("launch",)):
        before = together.get((name, cause), (0, 0))
        together[name, cause] = (before[0] + calls, before[1] + ns)
    made = [
        HostCall(name=name, caused_by=cause, calls=calls, seconds=ns / 1e9)
        for (name, cause), (calls, ns) in together.items()
    ]
    return tuple(sorted(made, key=lambda call: call.seconds, reverse=True))


def copies(run: Run) -> tuple[Copy, ...]:
    """Copies that cross the link to the host, most time first."""
    made = []
    for name, cause, signature, calls, ns in _grouped(run, ("memcpy",)):
        ledger = run.signatures[signature].ledger
        over = [e for e in ledger.entries if e.resource == PCIE] if ledger else []
        if over:
            made.append(
                Copy(
                    name=name,
                    caused_by=cause,
                    to_device=over[0].access == "read",
                    calls=calls,
                    nbytes=calls * sum(e.amount for e in over),
                    seconds=ns / 1e9,
                )
            )
    return tuple(sorted(made, key=lambda copy: copy.seconds, reverse=True))


def kernels(run: Run, launch_s: float | None) -> Kernels | None:
    """What was started on the device; `launch_s` is the time to start one, None is not known."""
    import pyarrow as pa
    import pyarrow.compute as pc

    events = run.events
    chosen = pc.and_(in_steps(run), one_by_one(run))
    started = pc.sum(chosen).as_py()
    if not started:
        return None
    limit = round((launch_s or 0.0) * 1e9)
    ours = pc.and_(chosen, is_kind(events, ("kernel",)))
    count, took = 0, Counter[int]()
    for at, batch in batches(events, ["signature", "duration_ns"]):
        below = pc.fill_null(pc.less(batch["duration_ns"], limit), False)
        short = batch.filter(pc.and_(ours.slice(at, len(batch)), below).combine_chunks())
        count += len(short)
        by = pa.table(short).group_by("signature").aggregate([("duration_ns", "sum")])
        for signature, ns in zip(*(column.to_pylist() for column in by.columns), strict=True):
            took[signature] += ns
    names = dict.fromkeys(run.signatures[at].name for at, _ in took.most_common())
    return Kernels(
        started=started,
        short=count,
        short_s=took.total() / 1e9,
        shortest=tuple(names)[:4],
    )


def one_by_one(run: Run) -> "pa.ChunkedArray":
    """For each event, whether it is a start: a kernel, copy or fill that no captured graph held."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Here, because it brings every format along, also where there is no trace to look into.
    from roofline.importers.kineto.join.names import launches_graph

    events = run.events
    graphs = pa.array([launches_graph(s.name) for s in run.signatures], pa.bool_())
    of_graph = graphs.take(events["signature"].combine_chunks())
    by_graph = pc.and_(is_kind(events, ("launch",)), of_graph).take(events["parent"])
    alone = pc.invert(pc.fill_null(by_graph, False))
    return pc.and_(is_kind(events, ("kernel", "memcpy")), alone)


def _grouped(run: Run, kinds: tuple[str, ...]) -> Iterator[tuple[str, str, int, int, int]]:
    """(name, operator that caused it, signature, how many, ns) of events in measured steps."""
    import pyarrow as pa
    import pyarrow.compute as pc

    events = run.events
    chosen = pc.and_(in_steps(run), is_kind(events, kinds))
    found: dict[tuple[int, int | None], list[int]] = {}
    for at, batch in batches(events, ["signature", "duration_ns", "parent"]):
        some = batch.filter(chosen.slice(at, len(batch)).combine_chunks())
        causes = events["signature"].take(some["parent"]).combine_chunks()
        table = pa.table({"at": some["signature"], "cause": causes, "ns": some["duration_ns"]})
        groups = table.group_by(["at", "cause"], use_threads=False)
        sums = groups.aggregate([([], "count_all"), ("ns", "sum")])
        columns = (sums[name].to_pylist() for name in ("at", "cause", "count_all", "ns_sum"))
        for signature, cause, count, ns in zip(*columns, strict=True):
            total = found.setdefault((signature, cause), [0, 0])
            total[0] += count
            total[1] += ns or 0
    names = [signature.name for signature in run.signatures]
    for (signature, cause), (count, ns) in found.items():
        yield names[signature], "" if cause is None else names[cause], signature, count, ns
