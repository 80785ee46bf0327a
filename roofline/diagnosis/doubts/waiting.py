"""RF009: other programs held the processors, so times are not those of the program."""

from collections.abc import Iterator

from roofline.diagnosis.rule import Finding
from roofline.program import Program

CODE = "RF009"
WITHOUT_TIMES = (
    "what it costs and would save is left out: the times hold what the program waited for a "
    "processor (RF009)"
)
WAITED = 0.25  # assumed: share of a step from which its times say more about other programs


def waited_for_processors(program: Program) -> Iterator[Finding]:
    """RF009: a large share of a step the program was ready to run, and did not."""
    share = waiting(program)
    if share < WAITED:
        return
    yield Finding(
        code=CODE,
        item="",
        claim=(
            f"the program waited for a processor during {share:.0%} of the measured time, so "
            "its times cannot be trusted"
        ),
        evidence=(
            "it was ready to run meanwhile, and other programs ran in its place, as the system "
            "counts it",
            "advice that claims a time is left out; flop, bytes and page faults are counted as "
            "they are, and advice from them says no seconds",
        ),
        next_step=(
            "measure again on a quieter machine: nothing else running, and no more threads than "
            "processors are free"
        ),
        wrong_if="alone on the machine it takes as long",
    )


def waiting(program: Program) -> float:
    """Share of a step that waiting for a processor may have made longer; 0 also where unknown.

    Beside a device only what the device waited as well: its own times go on without a host.
    """
    whole = program.whole
    share = whole.waited or 0.0
    if program.kernels is None or not whole.step_s or whole.gap_s is None:
        return share
    return min(share, whole.gap_s / whole.step_s)
