"""A saved run or a profiler's trace -> an account, by the same rules."""

from dataclasses import replace
from pathlib import Path

from roofline import importers, ops, runfile
from roofline.accounting.account import Account, Line
from roofline.errors import BadInput
from roofline.runfile import Run, Signature

CALLS = ("op", "region")  # kernels are what operators caused, and have no work of their own
MEASURED = "counted from a recording: all of its steps but warm-up together"


def account(run: Run | str | Path) -> Account:
    """Count the operators of a run, of a run file, or of a trace that can be imported."""
    if not isinstance(run, Run):
        path = Path(run)
        run = runfile.load(path) if path.suffix == ".roof" else importers.load([path])
    import pyarrow.compute as pc

    kept = [at for at, step in enumerate(run.steps) if not step.warmup]
    events = run.events.select(["signature", "kind", "step", "phase", "module"])
    chosen = [pc.equal(events["step"], at) for at in kept]
    if not chosen:
        raise BadInput("the run holds no step but warm-up")
    lines = []
    keys = ["signature", "phase", "module", "kind"]
    mask = chosen[0]
    for other in chosen[1:]:
        mask = pc.or_(mask, other)
    numbered = events.filter(mask)
    groups = numbered.group_by(keys, use_threads=False).aggregate([("step", "count")])
    for signature, phase, module, kind, calls in zip(
        *(groups[name].to_pylist() for name in (*keys, "step_count")), strict=True
    ):
        if kind in CALLS:
            lines.append(Line(signature=signature, calls=calls, phase=phase, module=module))
    return Account(
        subject=run.recorder.program or "a recording",
        signatures=tuple(_recounted(signature) for signature in run.signatures),
        lines=tuple(lines),
        how=(MEASURED, *run.recorder.warnings),
    )


def _recounted(signature: Signature) -> Signature:
    if signature.call is None:
        return signature
    return replace(
        signature, ledger=ops.account(signature.call), executed=ops.executed(signature.call)
    )
