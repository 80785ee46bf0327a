"""A timeline and the replays of its kernels, of one program: two recordings as one run.

The run keeps the timeline's events and times.  Every launch that the profiler of kernels replayed
becomes an event of kind "replay" with its counters and its own duration; its parent is the kernel
event that it stands for.  Its state (flushed caches, locked clocks) is another than the timeline's
and is kept apart, in `Run.replays`; nothing here or later divides the one by the time of the other.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from roofline.called import readable
from roofline.counters import arch
from roofline.errors import BadInput
from roofline.importers.matching import Matched, match
from roofline.importers.stated import contradicts
from roofline.runfile import LAUNCH_NUMBER, Event, Gap, Run, table
from roofline.units import number_of

NAMED = 6  # gaps that are told one by one
# Caches and clocks of a replay are others, but it is no other kernel: so many times as long, and so
# much longer [ns], it cannot take.
TIMES, APART_NS = 4.0, 5_000
_ANONYMOUS = re.compile(r"<?unnamed>::|\(anonymous namespace\)::|\(anonymous\)::")
# A return type that depends on a template's arguments; any other kernel's is void.
_RETURNED = re.compile(r"^[\w:]+<.*?>::type (?=[\w:]+[<(])")
_BRACKET = re.compile(r"[<(]")
Row = dict[str, Any]


def joined(timeline: Run, replayed: Run, stands_for: Sequence[int | None] | None = None) -> Run:
    """One run of both.

    `stands_for` are the rows of the kernels in the timeline that the launches are, in order, where
    whoever started the profiler chose them; else they are matched by name, configuration and order.
    """
    _same_device(timeline, replayed)
    rows, launches = _kernels(timeline), _launches(replayed)
    if stands_for is None:
        found = _matched(timeline, rows, replayed, launches)
    else:
        found = _chosen(rows, launches, stands_for)
    if not any(at is not None for at in found.kernels):
        raise BadInput(_strangers(timeline, rows, replayed, launches))
    events = [
        _event(rows[at], launch, number)
        for number, (launch, at) in enumerate(zip(launches, found.kernels, strict=True))
        if at is not None
    ]
    return replace(
        timeline,
        device=timeline.device or replayed.device,
        events=_appended(timeline, events),
        gaps=(*timeline.gaps, *replayed.gaps, *_unmatched(replayed, launches, found)),
        replays=replayed.recorder,
    )


def base(name: str) -> str:
    """A kernel's function, without return type, namespaces, template arguments and parameters.

    That is what all profilers print alike, and print whole: inside a template's brackets some
    shorten what they find, and leave brackets open.

    >>> base("at::native::(anonymous namespace)::norm_kernel<c10::BFloat16, float>")
    'norm_kernel'
    >>> base("at::<unnamed>::norm_kernel<c10::BFloat16, float>")
    'norm_kernel'
    >>> base("void relu<4, unnamed>::clamp(int)::[lambda() (instance 1)]::operator ()(), 2>>(T2)")
    'relu'
    >>> base("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, 4>(float *)")
    'kernel'
    """
    plain = readable(name) if name.startswith("_Z") else name
    plain = _RETURNED.sub("", _ANONYMOUS.sub("", plain))
    head = _BRACKET.split(plain, maxsplit=1)[0].strip()
    return head.rpartition(" ")[2].rpartition("::")[2] or name


def _kernels(timeline: Run) -> list[Row]:
    """The kernels of the timeline, in order: those columns, and row, grid, block."""
    import pyarrow as pa
    import pyarrow.compute as pc

    events = timeline.events
    columns = ["signature", "start_ns", "duration_ns", "parent"]
    numbered = events.select(columns).append_column("row", pa.array(range(len(events)), pa.int64()))
    for name in ("grid", "block"):
        found = pc.map_lookup(events["counters"], pa.scalar(name), "first")
        numbered = numbered.append_column(name, found)
    rows: list[Row] = numbered.filter(
        pc.equal(events["kind"].cast(pa.string()), "kernel")
    ).to_pylist()
    return rows


def _launches(replayed: Run) -> list[Row]:
    return [row for row in replayed.rows() if row["kind"] == "kernel"]


def _matched(timeline: Run, rows: Sequence[Row], replayed: Run, launches: Sequence[Row]) -> Matched:
    # A timeline that lacks the configuration of any kernel is matched by names and order alone.
    shaped = all(row["grid"] and row["block"] for row in rows)

    def ours(row: Row) -> Hashable:
        name = base(timeline.signatures[row["signature"]].name)
        return (name, row["grid"], row["block"]) if shaped else name

    def theirs(launch: Row) -> Hashable:
        name, known = base(replayed.signatures[launch["signature"]].name), launch["counters"]
        shape = known.get("launch__grid_size"), known.get("launch__block_size")
        return (name, *shape) if shaped else name

    kernels, meanings = [ours(row) for row in rows], [*_meanings(timeline, rows)]
    return match(
        kernels,
        meanings,
        [theirs(launch) for launch in launches],
        lambda at, kernel: _as_long(launches[at]["duration_ns"], rows[kernel]["duration_ns"]),
    )


def _as_long(replayed_ns: int | None, ran_ns: int | None) -> bool:
    """Whether both can be the same kernel by their times, as far as these are known."""
    if not replayed_ns or not ran_ns or abs(replayed_ns - ran_ns) <= APART_NS:
        return True
    return 1 / TIMES <= replayed_ns / ran_ns <= TIMES


def _chosen(
    rows: Sequence[Row], launches: Sequence[Row], stands_for: Sequence[int | None]
) -> Matched:
    """As whoever started the profiler says, where the durations do not speak against it."""
    place = {row["row"]: at for at, row in enumerate(rows)}
    kernels = [None if row is None else place[row] for row in stands_for]
    found = tuple(
        None if at is None or not _as_long(launch["duration_ns"], rows[at]["duration_ns"]) else at
        for launch, at in zip(launches, kernels, strict=True)
    )
    return Matched(found, frozenset(at for at, kernel in enumerate(kernels) if kernel is None))


def _meanings(timeline: Run, rows: Sequence[Row]) -> Iterator[Hashable]:
    """What each kernel is for: which kernel of which call it is."""
    causes = timeline.events["signature"].to_pylist()
    seen: dict[int, int] = {}
    for row in rows:
        parent = row["parent"]
        if parent is None:
            yield row["signature"]
            continue
        seen[parent] = seen.get(parent, -1) + 1
        yield causes[parent], seen[parent], row["signature"]


def _event(kernel: Row, launch: Row, number: int) -> Event:
    return Event(
        signature=kernel["signature"],
        kind="replay",
        step=-1,
        start_ns=kernel["start_ns"],
        duration_ns=launch["duration_ns"],
        stream=launch["stream"],
        parent=kernel["row"],
        counters={LAUNCH_NUMBER: float(number), **launch["counters"]},
    )


def _appended(timeline: Run, events: Iterable[Event]) -> Any:
    import pyarrow as pa

    return pa.concat_tables([timeline.events, table(events)]).unify_dictionaries()


def _same_device(timeline: Run, replayed: Run) -> None:
    ours, theirs = timeline.device, replayed.device
    if ours is None:
        return
    if theirs is not None:
        other = "" if ours.id == theirs.id else theirs.name
    else:
        ran = {arch(launch["counters"]) for launch in _launches(replayed)}
        other = contradicts(ours, (), [f"{on[0]}.{on[1]}" for on in ran if on is not None])
    if other:
        raise BadInput(
            f"{timeline.recorder.program} ran on {ours.name} and the kernels of "
            f"{replayed.recorder.program} on {other}: they are not of one run"
        )


def _unmatched(replayed: Run, launches: Sequence[Row], found: Matched) -> Iterator[Gap]:
    """Launches that stand for no kernel of the timeline, by name and by why."""
    counts: dict[tuple[str, bool], int] = {}
    for at, (launch, kernel) in enumerate(zip(launches, found.kernels, strict=True)):
        if kernel is None:
            key = (replayed.signatures[launch["signature"]].name, at in found.absent)
            counts[key] = counts.get(key, 0) + 1
    told = sorted(counts.items(), key=lambda item: item[1], reverse=True)
    for (name, absent), count in told[:NAMED]:
        why = (
            "the timeline has no kernel of this name and configuration"
            if absent
            else "they fit no kernel of the timeline alone, by order and by duration"
        )
        yield Gap(
            name=name, what=f"left out: {number_of(count, 'replayed launch')}; {why}", count=count
        )
    if len(told) > NAMED:
        rest = sum(count for _, count in told[NAMED:])
        launches_of = f"{number_of(rest, 'replayed launch')} of"
        what = f"left out likewise: {launches_of} {number_of(len(told) - NAMED, 'more kernel')}"
        yield Gap(name="replays", what=what, count=rest)


def _strangers(timeline: Run, rows: Sequence[Row], replayed: Run, launches: Sequence[Row]) -> str:
    def names(run: Run, each: Sequence[Row]) -> list[str]:
        return [*dict.fromkeys(base(run.signatures[one["signature"]].name) for one in each)]

    there, counted = names(timeline, rows), names(replayed, launches)
    alike = "; those of one name are of other types or sizes" if {*there} & {*counted} else ""
    return (
        f"no launch that {replayed.recorder.tool} counted in {replayed.recorder.program} can be "
        f"told in the timeline of {timeline.recorder.program}: "
        f"there is {', '.join(there[:3]) or 'no kernel'}; "
        f"counted were {', '.join(counted[:3]) or 'no kernels'}{alike}"
    )
