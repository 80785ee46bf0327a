"""One kernel dispatch as any of the formats tells of it, and the run of many."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roofline.importers import believed, copies
from roofline.importers.limits import duration_ns
from roofline.importers.private import called
from roofline.runfile import Event, Gap, Signature, Step, table
from roofline.units import number_of
from roofline.work import unknown

if TYPE_CHECKING:
    import pyarrow as pa

REPEATED_AT_MOST = 100_000  # dispatches that one row of a summary is written out as


@dataclass(slots=True)
class Dispatch:
    """A kernel, or a copy, on one agent."""

    name: str
    agent: str = ""
    start_ns: int | None = None
    end_ns: int | None = None
    stream: int | None = None
    copied: int | None = None  # B, of a copy
    is_copy: bool = False
    times: int = 1  # dispatches that this one stands for, each as long as this
    counters: dict[str, float] = field(default_factory=dict)

    @property
    def duration_ns(self) -> int | None:
        """Its time; None where it is not recorded or not positive."""
        if self.start_ns is None or self.end_ns is None:
            return None
        return duration_ns(self.end_ns - self.start_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The parts of a run."""

    signatures: tuple[Signature, ...]
    steps: tuple[Step, ...]
    gaps: tuple[Gap, ...]
    events: "pa.Table"
    warnings: tuple[str, ...]
    agent: str


def convert(
    dispatches: Sequence[Dispatch], *, counted: bool = False, keep_private: bool = False
) -> Converted:
    """The run of the agent with most kernel time; times count from the first dispatch.

    Where the times between dispatches are not known (averages) or are the profiler's own, because
    it `counted`, they stand one after the other and the step has no length.
    """
    dispatches, contradicted, apart = _believed(dispatches)
    agent, gaps = _busiest(dispatches)
    # Tables of copies do not always say between which agents: those are the one agent's.
    mine = [d for d in dispatches if d.agent == agent or (d.is_copy and not d.agent)]
    dated = not counted and all(d.start_ns is not None and d.times == 1 for d in mine)
    mine.sort(key=lambda d: d.start_ns or 0)
    signatures: dict[tuple[str, int | None], int] = {}
    events = list(_events(mine, signatures, dated, keep_private))
    end = max((e.start_ns + (e.duration_ns or 0) for e in events), default=0)
    long = sum(id(d) in contradicted for d in mine)
    undated = sum(d.duration_ns is None for d in mine) - long
    warnings = believed.said(apart, long, "dispatch")
    if undated:
        warnings.append(f"{number_of(undated, 'dispatch')} without a duration: unknown")
    averaged = sum(d.times > 1 for d in mine)
    if averaged:
        warnings.append(
            f"dispatches of {number_of(averaged, 'kernel')} stand with their average duration"
        )
    return Converted(
        signatures=tuple(_signature(name, size) for name, size in signatures),
        steps=(Step(start_ns=0, duration_ns=end if dated else 0),),
        gaps=gaps,
        events=table(events),
        warnings=tuple(warnings),
        agent=agent,
    )


def _believed(dispatches: Sequence[Dispatch]) -> tuple[Sequence[Dispatch], frozenset[int], int]:
    """Those with a start that can be; durations that later ones contradict are unknown.

    And the identities of the latter, and how many the former are not.
    """
    dated = [d for d in dispatches if d.start_ns is not None and d.times == 1]
    apart, long = believed.doubtful(
        [d.start_ns or 0 for d in dated],
        [d.duration_ns for d in dated],
        [None if d.stream is None else (d.agent, d.stream) for d in dated],
    )
    for at in long:
        dated[at].end_ns = None
    out = {id(dated[at]) for at in apart}
    kept = [d for d in dispatches if id(d) not in out]
    return kept, frozenset(id(dated[at]) for at in long), len(apart)


def _busiest(dispatches: Sequence[Dispatch]) -> tuple[str, tuple[Gap, ...]]:
    spent: dict[str, int] = {}
    count: dict[str, int] = {}
    partly: set[str] = set()  # with dispatches of which nobody knows how long they took
    for dispatch in [d for d in dispatches if d.agent or not d.is_copy] or dispatches:
        spent[dispatch.agent] = spent.get(dispatch.agent, 0) + (dispatch.duration_ns or 0)
        count[dispatch.agent] = count.get(dispatch.agent, 0) + dispatch.times
        if dispatch.duration_ns is None:
            partly.add(dispatch.agent)
    agent = max(spent, key=lambda a: (spent[a], count[a]))
    what = "a run is of one device: what ran on this one is not in it"
    seconds = {each: None if each in partly else ns / 1e9 for each, ns in spent.items()}
    return agent, tuple(
        Gap(name=f"agent {other}", what=what, seconds=seconds[other], count=count[other])
        for other in spent
        if other != agent
    )


def _events(
    dispatches: Iterable[Dispatch],
    signatures: dict[tuple[str, int | None], int],
    dated: bool,
    keep_private: bool,
) -> Iterable[Event]:
    now, origin = 0, None
    for dispatch in dispatches:
        origin = (dispatch.start_ns or 0) if origin is None else origin
        name = dispatch.name if dispatch.is_copy else called(dispatch.name, keep_private)
        size = dispatch.copied if dispatch.is_copy else None
        signature = signatures.setdefault((name, size), len(signatures))
        for _ in range(dispatch.times if dispatch.times <= REPEATED_AT_MOST else 1):
            yield Event(
                signature=signature,
                kind="memcpy" if dispatch.is_copy else "kernel",
                step=0,
                start_ns=(dispatch.start_ns or 0) - origin if dated else now,
                duration_ns=dispatch.duration_ns,
                stream=dispatch.stream,
                counters=dispatch.counters,
            )
            now += dispatch.duration_ns or 0


def _signature(name: str, size: int | None) -> Signature:
    known = name.startswith(("Memcpy", "Memset"))
    return Signature(name=name, ledger=copies.ledger(name, size) if known else unknown(name))
