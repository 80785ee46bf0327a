"""A saved run or a profiler's trace -> an account, by the same rules."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from roofline import importers, ops, runfile
from roofline.accounting.account import Account, Line
from roofline.errors import BadInput
from roofline.runfile import Phase, Run, Signature, Step
from roofline.units import number_of

CALLS = ("op", "region")  # kernels are what operators caused, and have no work of their own


def account(run: Run | str | Path) -> Account:
    """Count the operators of a run, of a run file, or of a trace that can be imported.

    All measured steps together; warm-up is left out.
    """
    if not isinstance(run, Run):
        path = Path(run)
        run = importers.load([path]) if importers.foreign_file(path) else runfile.load(path)
    steps = _steps(run.steps)
    if not steps:
        raise BadInput("the run holds no step but warm-up")
    measured = sum(not run.steps[at].warmup for at in steps)
    together = f", {number_of(measured, 'measured step')} together" if measured > 1 else ""
    return Account(
        subject=f"{run.recorder.program or 'a recording'}{together}",
        signatures=tuple(_recounted(signature) for signature in run.signatures),
        lines=tuple(_lines(run, steps)),
        how=(
            f"counted from a recording of {number_of(measured, 'measured step')}",
            *run.recorder.warnings,
        ),
    )


def _steps(steps: Sequence[Step]) -> list[int]:
    """Measured steps, and first calls that were set apart from one of them: those begin with it."""
    begun = {step.start_ns for step in steps if not step.warmup}
    return [at for at, step in enumerate(steps) if not step.warmup or step.start_ns in begun]


def _lines(run: Run, steps: Sequence[int]) -> Iterator[Line]:
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = ["signature", "phase", "module", "kind"]
    events = run.events.select([*keys, "step"])
    inside = pc.is_in(events["step"], value_set=pa.array(steps, pa.int32()))
    groups = events.filter(inside).group_by(keys, use_threads=False).aggregate([("step", "count")])
    columns = (groups[name].to_pylist() for name in (*keys, "step_count"))
    for signature, phase, module, kind, calls in zip(*columns, strict=True):
        if kind in CALLS:
            again = phase == "recomputed"
            where: Phase = "backward" if again else phase
            yield Line(
                signature=signature, calls=calls, phase=where, module=module, recomputed=again
            )


def _recounted(signature: Signature) -> Signature:
    # What no rule knows may have come with a count of its own.
    if signature.call is None or (signature.ledger is not None and not ops.known(signature.name)):
        return signature
    return replace(
        signature, ledger=ops.account(signature.call), executed=ops.executed(signature.call)
    )
