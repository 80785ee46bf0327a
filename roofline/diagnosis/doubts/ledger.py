"""RF0xx: can the model be believed?  These come first and silence advice built on what is not."""

from collections.abc import Iterator, Sequence

from roofline.diagnosis.doubts.profilers import counters_by
from roofline.diagnosis.doubts.recording import GRAPHS
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import number_of, show

SHOWN = 3
MOSTLY = 0.8  # share of what is unaccounted that one cause must explain to stand for it


def incomplete_ledger(program: Program) -> Iterator[Finding]:
    """RF002: some calls have no accounting, so the roof time is too low."""
    unaccounted = [item for item in program.by("operator") if not item.complete]
    if not unaccounted:
        return
    timed = [item.measured_s for item in unaccounted if item.measured_s is not None]
    doubt_s = sum(timed) / program.conditions.steps if timed else None
    if doubt_s and _under_graphs_s(program) >= MOSTLY * doubt_s:
        return  # one cause, one finding: RF007 says it
    yield Finding(
        code="RF002",
        item="",
        claim=_claim(program, unaccounted),
        evidence=tuple(_unaccounted(item) for item in unaccounted[:8])
        + ((f"and {len(unaccounted) - 8} more",) if len(unaccounted) > 8 else ()),
        next_step=_how_to_count(unaccounted, program),
        wrong_if=(
            "what was not counted of them takes less time than what was"
            if all(map(_in_part, unaccounted))
            else "those operators move no bytes and do no arithmetic"
        ),
        doubt_s=doubt_s,
    )


def _claim(program: Program, unaccounted: Sequence[Item]) -> str:
    """Of nothing known another thing is said than of bytes without their flop."""
    share, many = program.whole.coverage, len(unaccounted) > 1
    known = "an unknown share of time" if share is None else f"{1 - share:.1%} of operator time"
    who = f"{number_of(len(unaccounted), 'operator')} {'have' if many else 'has'}"
    partly = [item for item in unaccounted if _in_part(item)]
    if len(partly) < len(unaccounted):
        some = f", {len(partly)} of them in part" if partly else ""
        return (
            f"{who} no complete accounting ({known}{some}), "
            if partly
            else f"{who} no accounting ({known}), "
        ) + "so the program's roof time is too low by an unknown amount"
    lacking = dict.fromkeys(text for item in partly for text in item.placement.unaccounted)
    what = (
        "bytes are known, flop are not"
        if all("flop" in text for text in lacking)
        else f"not known are {', '.join([*lacking][:SHOWN])}"
    )
    return (
        f"{number_of(len(unaccounted), 'operator')} {'are' if many else 'is'} accounted for in "
        f"part ({known}; {what}), so the program's roof time is that of what is known: too low "
        "where the rest needs longer"
    )


def _in_part(item: Item) -> bool:
    """Whether something that it needs is known, though not all."""
    return bool(item.placement.demand)


def _under_graphs_s(program: Program) -> float:
    """A step's device time of kernels that captured graphs launched."""
    found = (gap.seconds or 0.0 for gap in program.gaps if gap.name == GRAPHS)
    return sum(found) / program.conditions.steps


NO_RULE = "no rule"
_UNREAD = "not accounted for: "
# Whose operators the library means to know all of; others are their author's to say.
LIBRARY = frozenset({"aten", "prims", "quantized", "c10d"})
ASK = "add an accounting rule for each operator of PyTorch (CONTRIBUTING, 'Add an operator')"
DECLARE = (
    "say what your own operators and kernels need: `roofline.rule` for an operator, "
    "`roofline.declare` for a Triton kernel"
)


RECORD = "record again with shapes: torch.profiler.profile(record_shapes=True)"
TYPES = (
    "record again with a newer PyTorch, which writes types beside shapes: "
    "torch.profiler.profile(record_shapes=True)"
)
REASONS = (
    "what the reasons name was not recorded: count the program as it runs (`roofline run`), "
    "or record it"
)


def _how_to_count(items: Sequence[Item], program: Program) -> str:
    """What each reason asks for, of most time first."""
    took: dict[str, float] = {}
    for item in items:
        step = _one(item, program)
        took[step] = took.get(step, 0.0) + (item.measured_s or 0.0)
    return "; ".join(sorted(took, key=took.__getitem__, reverse=True))


def _one(item: Item, program: Program) -> str:
    """The next step for one of them."""
    why = _why(item)
    if "record_shapes" in why:
        return RECORD
    if "types of its tensors" in why:
        return TYPES
    if item.kind == "kernel" or _in_part(item):
        what = "what is missing" if _in_part(item) else "flop and bytes"
        return (
            f"collect {what} of these kernels ({counters_by(program)}), or declare what they need"
        )
    if why != NO_RULE:
        return REASONS
    return ASK if item.name.partition("::")[0] in LIBRARY else DECLARE


def _unaccounted(item: Item) -> str:
    took = "not timed" if item.measured_s is None else show(item.measured_s / item.steps, "s")
    calls = number_of(item.calls / item.steps, "call")
    return f"{item.name}: {took} a step, {calls}; {_why(item)}"


def _why(item: Item) -> str:
    """What is missing, or why the call could not be read; else nobody wrote a rule."""
    named = next((text for text in item.placement.unaccounted if text != item.name), None)
    conventions = item.ledger.conventions if item.ledger else ()
    unread = (c.removeprefix(_UNREAD) for c in conventions if c.startswith(_UNREAD))
    return named or next(unread, NO_RULE)
