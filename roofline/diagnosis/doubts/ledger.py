"""RF0xx: can the model be believed?  These come first and silence advice built on what is not."""

from collections.abc import Iterator, Sequence

from roofline.diagnosis.doubts.recording import GRAPHS
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import number_of, show

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
    share = program.whole.coverage
    known = "an unknown share of time" if share is None else f"{1 - share:.1%} of operator time"
    yield Finding(
        code="RF002",
        item="",
        claim=(
            f"{len(unaccounted)} {'operator has' if len(unaccounted) == 1 else 'operators have'} "
            f"no accounting ({known}), "
            "so the program's roof time is too low by an unknown amount"
        ),
        evidence=tuple(_unaccounted(item) for item in unaccounted[:8])
        + ((f"and {len(unaccounted) - 8} more",) if len(unaccounted) > 8 else ()),
        next_step=_how_to_count(unaccounted),
        wrong_if="those operators move no bytes and do no arithmetic",
        doubt_s=doubt_s,
    )


def _under_graphs_s(program: Program) -> float:
    """A step's device time of kernels that captured graphs launched."""
    found = (gap.seconds or 0.0 for gap in program.gaps if gap.name == GRAPHS)
    return sum(found) / program.conditions.steps


_UNREAD = "not accounted for: "
# Whose operators the library means to know all of; others are their author's to say.
LIBRARY = frozenset({"aten", "prims", "quantized", "c10d"})
ASK = "add an accounting rule for each operator of PyTorch (CONTRIBUTING, 'Add an operator')"
DECLARE = (
    "say what your own operators and kernels need: `roofline.rule` for an operator, "
    "`roofline.declare` for a Triton kernel"
)


def _how_to_count(items: Sequence[Item]) -> str:
    if all(item.kind == "kernel" for item in items):
        return "collect flop and bytes of these kernels (`roofline ncu`), or declare what they need"
    if all("record_shapes" in _why(item) for item in items):
        return "record again with shapes: torch.profiler.profile(record_shapes=True)"
    own = [item.name.partition("::")[0] not in LIBRARY for item in items]
    return DECLARE if all(own) else f"{ASK}; {DECLARE}" if any(own) else ASK


def _unaccounted(item: Item) -> str:
    took = "not timed" if item.measured_s is None else show(item.measured_s / item.steps, "s")
    calls = number_of(item.calls / item.steps, "call")
    return f"{item.name}: {took} a step, {calls}; {_why(item)}"


def _why(item: Item) -> str:
    """What is missing, or why the call could not be read; else nobody wrote a rule."""
    named = next((text for text in item.placement.unaccounted if text != item.name), None)
    conventions = item.ledger.conventions if item.ledger else ()
    unread = (c.removeprefix(_UNREAD) for c in conventions if c.startswith(_UNREAD))
    return named or next(unread, "no rule")
