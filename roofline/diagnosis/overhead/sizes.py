"""RF307: an operator that takes as long for little as for much."""

from collections.abc import Iterator, Sequence

from roofline.diagnosis.prediction import to_roof_s
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import number_of, show

MORE = 8.0  # times the work
ALIKE = 1.5  # times the time, up to which it does not follow
WORTH = 0.05  # share of device time in such calls
FAR = 0.5  # of its roof, below which a size is not what its time is about


def flat(program: Program) -> Iterator[Finding]:
    """RF307: sizes of one operator, eight times apart, in the same time."""
    steps = program.conditions.steps
    for name, held in flat_sizes(program).items():
        spent_s = sum(item.measured_s or 0.0 for item in held) / steps
        small, large = held[0], held[-1]
        floor_s = min(_call_s(item) for item in held)
        roof_s = sum(item.roof_s or 0.0 for item in held) / steps
        calls = sum(item.calls for item in held) / steps
        yield Finding(
            code="RF307",
            item=name,
            claim=(
                f"the time of {name} does not follow its size: "
                f"{_work(large) / _work(small):.0f} times the work takes "
                f"{_call_s(large) / _call_s(small):.1f} times as long"
            ),
            evidence=(
                f"{small.shapes or name}: {show(_call_s(small), 's')} a call, "
                f"{show(_work(small), 's')} at its roof",
                f"{large.shapes or name}: {show(_call_s(large), 's')} a call, "
                f"{show(_work(large), 's')} at its roof",
                f"{number_of(calls, 'call')} a step in {number_of(len(held), 'size')}, "
                f"{show(spent_s, 's')}; about {show(floor_s, 's')} of each is there at any size",
            ),
            next_step=(
                "make fewer and larger calls: batch them, use foreach operators, or fuse them with "
                "their neighbours; a faster kernel changes nothing"
            ),
            saves_s=max(spent_s - roof_s, 0.0),
            now_s=spent_s,
            then_s=to_roof_s(held, spent_s),
            wrong_if="one call for all of the work takes as long as they do together",
        )


def flat_sizes(program: Program) -> dict[str, list[Item]]:
    """By operator the sizes that take the same time, where they are worth a word."""
    busy_s, steps = program.whole.busy_s, program.conditions.steps
    groups: dict[str, list[Item]] = {}
    for item in program.by("call"):
        if item.measured_s and item.roof_s and not item.too_short:
            groups.setdefault(item.name, []).append(item)
    found = {name: _held(items) for name, items in groups.items()}
    return {
        name: held
        for name, held in found.items()
        if len(held) > 1
        and busy_s
        and sum(item.measured_s or 0.0 for item in held) / steps >= WORTH * busy_s
    }


def _held(items: Sequence[Item]) -> list[Item]:
    """The sizes from the smallest up to the largest that takes no longer, by work."""
    ordered = sorted(items, key=_work)
    longest_s = ALIKE * _call_s(ordered[0])
    alike = [
        item for item in ordered if _call_s(item) <= longest_s and (item.roof_fraction or 0.0) < FAR
    ]
    return alike if alike and _work(alike[-1]) >= MORE * _work(alike[0]) else []


def _work(item: Item) -> float:
    """Least time of one call: its size, whatever it needs most."""
    return (item.roof_s or 0.0) / item.calls


def _call_s(item: Item) -> float:
    return (item.measured_s or 0.0) / item.calls
