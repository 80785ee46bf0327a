"""What a profiler saw of calls whose kernels it ran again: counters in a state of their own.

A replay's caches were flushed and its clocks perhaps locked, so its bytes and its duration belong
to each other and to nothing else: they are placed together, under the ceilings at the replay's own
clock, and stand beside the time of the running program.  Of several replays of one kernel the one
of median duration speaks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

from roofline import counters
from roofline.counters import Reading
from roofline.device import L1, L2, SHARED, Ceiling, Roof
from roofline.measurement import ClockState
from roofline.placement import Placement, place
from roofline.program.columns import is_kind
from roofline.program.item import total
from roofline.runfile import LAUNCH_NUMBER, Run
from roofline.work import Ledger, Work

ON_CLOCK = (L1, L2, SHARED)  # boundaries whose speed goes with the compute clock, as pipes' does
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedKernel:
    """One launch that was replayed, placed by its own counters and its own duration."""

    name: str
    launch: int  # its place in the profiler's export
    of: int  # launches that were replayed of this kernel; this one has the median duration
    placement: Placement
    facts: Mapping[str, Reading]
    clock_hz: float | None  # of the compute clock meanwhile, to which its ceilings were brought

    @property
    def time_s(self) -> float | None:
        """Of one replay; None where the profiler did not say, or was not believed."""
        return self.placement.measured_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One call of a signature, kernel by kernel, as far as its kernels were replayed."""

    kernels: tuple[ReplayedKernel, ...]  # in order of launch, at least one
    missing: tuple[str, ...]  # kernels of the call that were not replayed
    state: str  # "caches flushed, clocks free"
    refused: str = ""  # why its duration is not held against ceilings; "" is that it is

    @property
    def executed(self) -> Ledger | None:
        """Flop that ran; kernels that were not counted are named in it."""
        return self._together([k.placement.work.executed for k in self.kernels])

    @property
    def achieved(self) -> Ledger | None:
        """Bytes that crossed each boundary; kernels that were not counted are named in it."""
        return self._together([k.placement.work.achieved for k in self.kernels])

    def _together(self, ledgers: Sequence[Ledger | None]) -> Ledger | None:
        known = [ledger for ledger in ledgers if ledger is not None]
        if not known:
            return None
        without = [k.name for k, x in zip(self.kernels, ledgers, strict=True) if x is None]
        whole = reduce(add, known)
        missing = (f"{name}: not counted" for name in (*self.missing, *without))
        return replace(whole, unaccounted=(*whole.unaccounted, *missing))

    @property
    def time_s(self) -> float | None:
        """Of the replays, one after the other; None where one of them is not known."""
        times = [kernel.time_s for kernel in self.kernels]
        return None if None in times else total(times)

    @property
    def roof_s(self) -> float | None:
        """Least time of the kernels one after the other, at their own clock; None is refused."""
        if self.refused:
            return None
        return total(kernel.placement.roof_s for kernel in self.kernels)

    @property
    def roof_fraction(self) -> float | None:
        """Of the replays in their own state: nothing of the running program is in it."""
        time_s, roof_s = self.time_s, self.roof_s
        return roof_s / time_s if time_s and roof_s else None

    @property
    def main(self) -> ReplayedKernel:
        """The kernel that takes most of the time: facts of one kernel are its."""
        return max(self.kernels, key=lambda kernel: kernel.time_s or 0.0)

    def source(self) -> str:
        """Where its numbers come from, as one label."""
        numbers = [str(kernel.launch) for kernel in self.kernels]
        word = "launch" if len(numbers) == 1 else "launches"
        return f"ncu, {self.state}, {word} {', '.join(numbers)}"


OTHER_CLOCK = (
    "clocks were locked to base, and the ceilings are those of a clock that they do not name: "
    "measure the device (`roofline measure`), or profile with --clock-control none"
)


def replays(run: Run, roof: Roof) -> dict[int, Replay]:
    """By position in Run.signatures: of the calls that caused the kernels, else of the kernels."""
    if run.replays is None:
        return {}
    rows = run.events.filter(is_kind(run.events, ("replay",))).to_pylist()
    return dict(_replays(run, rows, roof))


def _replays(run: Run, rows: Sequence[Row], roof: Roof) -> Iterator[tuple[int, Replay]]:
    recorder = run.replays
    assert recorder is not None
    state = f"caches {recorder.cache}, clocks {recorder.clock}"
    calls = _calls(run, {row["parent"] for row in rows})
    by: dict[int, dict[tuple[int, int], list[Row]]] = {}
    whole: dict[int, list[int]] = {}  # the kernels of one call, by their signatures
    for row in rows:
        call, kernels, which = calls[row["parent"]]
        whole[call] = max(whole.get(call, []), kernels, key=len)
        by.setdefault(call, {}).setdefault((which, row["signature"]), []).append(row)
    for call, slots in by.items():
        order = sorted(slots.items(), key=lambda slot: slot[0])
        there = {which for which, _ in slots}
        locked = recorder.clock is ClockState.BASE and not _clocked(roof)
        yield (
            call,
            Replay(
                kernels=tuple(
                    _placed(run, signature, rows, roof) for (_, signature), rows in order
                ),
                missing=tuple(
                    run.signatures[signature].name
                    for which, signature in enumerate(whole[call])
                    if which not in there
                ),
                state=state,
                refused=OTHER_CLOCK if locked else "",
            ),
        )


def _calls(run: Run, kernels: set[int]) -> dict[int, tuple[int, list[int], int]]:
    """Per row of a kernel: its call's signature, that call's kernels, and which of them it is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    events = run.events
    chosen = pa.array(sorted(kernels), pa.int64())
    parents = events["parent"].take(chosen)
    called = pc.fill_null(is_kind(events, ("op", "region")).take(parents), False)
    causes = pc.if_else(called, parents, pa.scalar(None, pa.int64())).to_pylist()
    own = events["signature"].take(chosen).to_pylist()
    beside: dict[int, list[tuple[int, int]]] = {}
    members = pc.is_in(events["parent"], value_set=pa.array({c for c in causes if c is not None}))
    rows = pc.indices_nonzero(pc.and_(members, is_kind(events, ("kernel",)))).cast(pa.int64())
    columns = (rows, events["parent"].take(rows), events["signature"].take(rows))
    for row, parent, signature in zip(*(column.to_pylist() for column in columns), strict=True):
        beside.setdefault(parent, []).append((row, signature))
    names = events["signature"].to_pylist() if beside else []
    found: dict[int, tuple[int, list[int], int]] = {}
    for row, cause, signature in zip(chosen.to_pylist(), causes, own, strict=True):
        if cause is None:
            found[row] = (signature, [signature], 0)
        else:
            order = [at for at, _ in beside[cause]]
            found[row] = (names[cause], [s for _, s in beside[cause]], order.index(row))
    return found


def _placed(run: Run, signature: int, launches: Sequence[Row], roof: Roof) -> ReplayedKernel:
    """The launch of median duration, under the ceilings at its clock."""
    timed = [row for row in launches if row["duration_ns"] is not None]
    ordered = sorted(timed, key=lambda row: int(row["duration_ns"])) or launches
    chosen = ordered[(len(ordered) - 1) // 2]
    values, ns = dict(chosen["counters"]), chosen["duration_ns"]
    facts = counters.facts(values)
    clock = facts.get("sm_clock")
    clock_hz = None if clock is None else clock.value
    work = Work(executed=counters.executed(values), achieved=counters.achieved(values))
    return ReplayedKernel(
        name=run.signatures[signature].name,
        launch=int(values.get(LAUNCH_NUMBER, -1)),
        of=len(launches),
        placement=place(work, _at_clock(roof, clock_hz), ns / 1e9 if ns else None),
        facts=facts,
        clock_hz=clock_hz,
    )


def _at_clock(roof: Roof, clock_hz: float | None) -> Roof:
    """The ceilings as they are at another clock, where they name their own."""
    if not clock_hz:
        return roof
    return replace(roof, ceilings=tuple(_scaled(c, clock_hz) for c in roof.ceilings))


def _scaled(ceiling: Ceiling, clock_hz: float) -> Ceiling:
    if not _on_clock(ceiling) or not ceiling.clock_hz:
        return ceiling
    return replace(ceiling, rate=ceiling.rate * clock_hz / ceiling.clock_hz, clock_hz=clock_hz)


def _clocked(roof: Roof) -> bool:
    return any(ceiling.clock_hz for ceiling in roof.ceilings if _on_clock(ceiling))


def _on_clock(ceiling: Ceiling) -> bool:
    return ceiling.resource.is_pipe or ceiling.resource in ON_CLOCK
