"""Reading a run: recount, place, time, group."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from roofline.call import Call
from roofline.called import told_apart
from roofline.counters import Reading
from roofline.device import DISPATCH, LAUNCH, Device, Roof
from roofline.errors import BadInput, NotFound
from roofline.placement import Placement, place
from roofline.program.chains import Chain, chains
from roofline.program.columns import measured_steps
from roofline.program.counters import sampled
from roofline.program.counters.replays import Replay, replays
from roofline.program.device.critical import CriticalPath, critical_path
from roofline.program.device.host import Copy, HostCall, Kernels, copies, host_calls, kernels
from roofline.program.device.launches import MainKernel, main_kernels
from roofline.program.device.overlap import Overlap, overlap
from roofline.program.device.starting import Starting, starting
from roofline.program.item import Conditions, Item, Part, line, total
from roofline.program.parts import parts_of
from roofline.program.placed import recount
from roofline.program.threads import other_threads
from roofline.program.timing import busy_ns, others_ns, outside_ns, timed, times_s
from roofline.runfile import Gap, Recorder, Run, waited_share
from roofline.work import Ledger, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """One step of the whole program, mean over the measured steps; None is not known."""

    steps: int
    step_s: float | None  # wall time without the recorder's own work
    busy_s: float | None
    others_s: float | None  # wall time in which only work of no measured step ran
    gap_s: float | None  # wall time in which nothing ran
    roof_s: float | None  # the parts' roof times, one after the other
    loose_roof_s: float | None  # the most that one resource needs for all parts
    lost_s: float | None  # step_s - roof_s
    overhead_s: float | None  # of every start, dispatch or launch, at its ceiling
    bookkeeping_s: float | None
    coverage: float | None  # share of all operators' time with a complete ledger and a step
    in_part: float | None  # the same of those of which something is known, and not all
    waited: float | None  # share of the wall time in which other programs held the processors
    calls: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Everything that can be said of a run before anybody draws a conclusion."""

    recorder: Recorder | None  # None of work that was only stated
    device: Device | None
    conditions: Conditions
    parts: tuple[Part, ...]
    chains: tuple[Chain, ...]  # neighbours that pass over the same data, most bytes saved first
    whole: Totals
    gaps: tuple[Gap, ...]
    # What a profiler's counters say beside flop and bytes, by position in Run.signatures.
    facts: Mapping[int, Mapping[str, Reading]] = field(default_factory=dict)
    # Of calls that started kernels: the one that takes most of their time, and how it was launched.
    main_kernels: Mapping[int, MainKernel] = field(default_factory=dict)
    # What a profiler saw of their kernels in another state than that of the times here.
    replays: Mapping[int, Replay] = field(default_factory=dict)
    replayed: Recorder | None = None  # who took those counters; None: nobody did
    # Bytes that crossed in one step, everything that ran included; None where nobody counted.
    achieved: sampled.Crossed | None = None
    calls: Mapping[int, Call] = field(default_factory=dict)  # by position in Run.signatures
    host_calls: tuple[HostCall, ...] = ()
    copies: tuple[Copy, ...] = ()  # over the link to the host
    kernels: Kernels | None = None  # None: nothing was started on a device
    overlap: Overlap | None = None  # of streams; None: nothing ran on a device
    path: CriticalPath | None = None  # of the measured steps on the device
    starting: Starting | None = None  # what is paid once; None: nothing, as far as is known
    _short: dict[str, str] = field(init=False, repr=False, compare=False, default_factory=dict)
    _lines: dict[str, tuple[Item, ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    @property
    def roof(self) -> Roof:
        """The ceilings in force; without any when the run names no device."""
        return self.conditions.roof

    def short(self, name: str) -> str:
        """A short name of one of its kernels or lines, which no other has."""
        if not self._short:
            kernels = (main.name for main in self.main_kernels.values())
            self._short.update(told_apart((*(part.name for part in self.parts), *kernels)))
        return self._short.get(name, name)

    def by(self, grouping: str = "call") -> tuple[Item, ...]:
        """The program as lines, one per key of GROUPINGS, most time lost first."""
        if grouping not in self._lines:
            groups = grouped(self.parts, grouping)
            lines = [line(name, parts, self.conditions) for name, parts in groups.values()]
            self._lines[grouping] = tuple(sorted(lines, key=lambda i: i.to_win_s, reverse=True))
        return self._lines[grouping]


# name -> (what parts must share to stand on one line, how that line is called)
GROUPINGS: Mapping[str, tuple[Callable[[Part], Hashable], Callable[[Part], str]]] = (
    MappingProxyType({
        "call": (lambda p: (p.signature, p.recomputed), lambda p: p.name),
        "operator": (lambda p: p.name, lambda p: p.name),
        "kernel": (lambda p: p.name, lambda p: p.name),
        "module": (lambda p: p.module, lambda p: p.module or "outside modules"),
        "phase": (lambda p: p.phase, lambda p: p.phase),
    })
)  # fmt: skip


def grouped(parts: Sequence[Part], grouping: str) -> dict[Hashable, tuple[str, list[Part]]]:
    """By what the parts of a line share, how the line is called and its parts."""
    if grouping not in GROUPINGS:
        raise NotFound(f"no grouping {grouping!r}; there is {', '.join(GROUPINGS)}")
    key, label = GROUPINGS[grouping]
    groups: dict[Hashable, tuple[str, list[Part]]] = {}
    for part in parts:
        groups.setdefault(key(part), (label(part), []))[1].append(part)
    return groups


def read(run: Run) -> Program:
    """Recount every signature, place it under the run's ceilings, join it with its times."""
    steps = measured_steps(run)
    if not steps:
        raise BadInput("the run holds no measured step: every step was dropped as warm-up")
    beside_ns = others_ns(run)
    placed = recount(run)
    conditions = Conditions(
        roof=placed.roof,
        steps=len(steps),
        call_overhead_s=_call_overhead_s(placed.roof),
        shortest_s=run.recorder.shortest_s,
    )
    events = timed(run, placed)
    placed = placed.settled(times_s(events, placed.open))
    parts = parts_of(events, placed)
    return Program(
        recorder=run.recorder,
        device=run.device,
        conditions=conditions,
        parts=parts,
        chains=chains(run, events, placed),
        whole=_totals(run, parts, conditions, beside_ns),
        gaps=(*run.gaps, *other_threads(parts, run.recorder.threads)),
        facts={signature: seen.facts for signature, seen in placed.counted.items()},
        main_kernels=main_kernels(run),
        replays=replays(run, placed.roof),
        replayed=run.replays,
        achieved=sampled.of_step(run),
        calls={at: s.call for at, s in enumerate(placed.signatures) if s.call is not None},
        host_calls=host_calls(run),
        copies=copies(run),
        kernels=kernels(run, conditions.call_overhead_s),
        overlap=overlap(run),
        path=critical_path(run, beside_ns),
        starting=starting(run),
    )


def single(
    name: str,
    work: Ledger | Work,
    roof: Roof,
    time_s: float | None = None,
    device: Device | None = None,
) -> Program:
    """The program of one call that nobody recorded: stated by its sizes, perhaps timed by hand.

    Its caches are taken as cold: its bytes cross DRAM.
    """
    once = place(work, roof, time_s)
    times_ns = () if time_s is None else (time_s * 1e9,)
    part = Part(
        signature=0, name=name, shapes="", phase="other", module="", kind="op", once=once, calls=1,
        starts=1,
        times_ns=times_ns, step_ns=dict(enumerate(times_ns)), page_faults=None,
    )  # fmt: skip
    return Program(
        recorder=None,
        device=device,
        conditions=Conditions(roof=roof, steps=1, call_overhead_s=None, shortest_s=None),
        parts=(part,),
        chains=(),
        whole=_UNTIMED,
        gaps=(),
    )


_UNTIMED = Totals(
    steps=1, step_s=None, busy_s=None, others_s=None, gap_s=None, roof_s=None, loose_roof_s=None,
    lost_s=None, overhead_s=None, bookkeeping_s=None, coverage=None, in_part=None, waited=None,
    calls=1,
)  # fmt: skip


def _call_overhead_s(roof: Roof) -> float | None:
    ceiling = roof.ceiling(DISPATCH if roof.kind == "cpu" else LAUNCH)
    return None if ceiling is None else 1 / ceiling.rate


def _step_ns(without_recorder_ns: int, busy_ns: int | None, others_ns: int) -> int | None:
    """Time of all steps without the recorder's work: no less than something was busy.

    On a device the recorder's work on the host may hide behind kernels and then cost nothing.
    """
    if without_recorder_ns <= 0 and busy_ns is None:
        return None
    return max(without_recorder_ns, (busy_ns or 0) + others_ns)


def _totals(run: Run, parts: tuple[Part, ...], conditions: Conditions, beside_ns: int) -> Totals:
    n = conditions.steps
    steps = [run.steps[i] for i in measured_steps(run)]
    wall_ns = sum(s.duration_ns - s.bookkeeping_ns for s in steps)
    covered = busy_ns(run)
    # A profiler of single kernels records no time around them: its steps have no length.
    walled = any(s.duration_ns for s in steps)
    step_ns = _step_ns(wall_ns, covered, beside_ns) if walled else None
    # In whole ns: of two equal times nothing is left.
    gap_ns = None if step_ns is None or covered is None else step_ns - (covered + beside_ns)

    def each_s(all_ns: int | None) -> float | None:
        return None if all_ns is None else all_ns / n / 1e9

    step_s = each_s(step_ns)
    whole = line("program", parts, conditions) if parts else None
    roof_s = None if whole is None or whole.roof_s is None else whole.roof_s / n
    loose_s = None if whole is None else whole.placement.roof_s
    return Totals(
        steps=n,
        step_s=step_s,
        busy_s=each_s(covered),
        others_s=each_s(beside_ns) if walled else None,
        gap_s=each_s(gap_ns),
        roof_s=roof_s,
        loose_roof_s=None if loose_s is None else loose_s / n,
        lost_s=None if step_s is None or roof_s is None else step_s - roof_s,
        overhead_s=None if whole is None or whole.overhead_s is None else whole.overhead_s / n,
        bookkeeping_s=sum(s.bookkeeping_ns for s in steps) / n / 1e9,
        coverage=_covered(parts, outside_ns(run), lambda once: once.complete),
        in_part=_covered(parts, outside_ns(run), _in_part),
        waited=waited_share(run.steps),
        calls=sum(p.calls for p in parts) / n,
    )


def _in_part(once: Placement) -> bool:
    return bool(once.demand) and not once.complete


def _covered(
    parts: tuple[Part, ...], left_ns: int, chosen: Callable[[Placement], bool]
) -> float | None:
    """Share of the operators' time whose placement is `chosen`; None without times.

    What belongs to no step, `left_ns`, is time too, and accounted for by nobody.
    """
    timed_ns = (total(p.time_ns for p in parts) or 0) + left_ns
    if not timed_ns:
        return None
    return (total(p.time_ns for p in parts if chosen(p.once)) or 0) / timed_ns
