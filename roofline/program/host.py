"""Between host and device: calls of the driver, copies over the link, and kernels too short to pay.

Only of recordings in which something ran on a device; a CPU waits for nobody.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.device import PCIE
from roofline.program.columns import in_steps, is_kind
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

    started: int  # what a captured graph holds is not among it
    short: int  # of those, over sooner than the next can be started
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
    import pyarrow.compute as pc

    by_graph = is_kind(run.events, ("launch",)).take(run.events["parent"])
    alone = pc.invert(pc.fill_null(by_graph, False))
    ran = pc.and_(in_steps(run), is_kind(run.events, ("kernel", "memcpy")))
    events = run.events.filter(pc.and_(ran, alone))
    if not events.num_rows:
        return None
    limit = round((launch_s or 0.0) * 1e9)
    ours = is_kind(events, ("kernel",))
    short = events.filter(pc.and_(ours, pc.less(events["duration_ns"], limit)))
    by = short.group_by("signature").aggregate([("duration_ns", "sum")])
    by = by.sort_by([("duration_ns_sum", "descending")])
    names = dict.fromkeys(run.signatures[at].name for at in by["signature"].to_pylist())
    return Kernels(
        started=events.num_rows,
        short=short.num_rows,
        short_s=(pc.sum(short["duration_ns"]).as_py() or 0) / 1e9,
        shortest=tuple(names)[:4],
    )


def _grouped(run: Run, kinds: tuple[str, ...]) -> Iterator[tuple[str, str, int, int, int]]:
    """(name, operator that caused it, signature, how many, ns) of events in measured steps."""
    import pyarrow.compute as pc

    events = run.events
    chosen = events.filter(pc.and_(in_steps(run), is_kind(events, kinds)))
    causes = events["signature"].take(chosen["parent"])
    table: pa.Table = chosen.select(["signature", "duration_ns"]).append_column("cause", causes)
    groups = table.group_by(["signature", "cause"], use_threads=False)
    sums = groups.aggregate([("duration_ns", "sum"), ([], "count_all")])
    names = [signature.name for signature in run.signatures]
    columns = ("signature", "cause", "count_all", "duration_ns_sum")
    for at, cause, count, ns in zip(*(sums[name].to_pylist() for name in columns), strict=True):
        yield names[at], "" if cause is None else names[cause], at, count, ns or 0
