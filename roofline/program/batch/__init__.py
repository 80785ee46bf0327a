"""A recorded run as it would be with another batch: the sizes that carry it, and no others.

Of a live recording the batch is followed through memory (`following`).  A profiler's trace names no
memory: there sizes are told apart by value (`by_size`), and what cannot be is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from roofline import ops
from roofline.call import Call
from roofline.errors import BadInput
from roofline.program.batch import by_size
from roofline.program.batch.carried import Batch
from roofline.program.batch.following import Following, Key
from roofline.program.batch.inputs import Row, candidates, inputs, sizes, weights
from roofline.program.columns import measured_steps, storages
from roofline.runfile import Run, Signature
from roofline.work import unknown

ONE = (  # why, and what to do
    "whichever way data is flattened, a batch of 1 leaves no mark on its sizes; record the program "
    "with 2 or more and ask again"
)
NOT_REWRITTEN = "its sizes under the change are not known"

__all__ = ["ONE", "Batch", "Rebatched", "rebatched"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebatched:
    """A run and its twin with another batch; equal positions in both are the same call."""

    before: Run  # the same recording; calls that carry the batch in several ways stand apart
    after: Run
    batch: Batch


def rebatched(run: Run, then: int, now: int | None = None) -> Rebatched:
    """`run` with `then` samples a step; `now`, those it was recorded with, is found or stated."""
    return _by_memory(run, then, now) if storages(run) else _by_size(run, then, now)


def _by_memory(run: Run, then: int, now: int | None) -> Rebatched:
    rows = _rows(run)
    known = weights(rows)
    entering = inputs(rows, known)
    if now is not None and entering and now not in sizes(entering):
        raise _false(now, [t.shape[0] for t in entering.values()])
    batch = Batch(_now(candidates(entering), now), then)
    following = Following(batch, known)
    keys = following.all(rows)
    places: dict[Key | int, int] = {}  # key, or signature alone -> position in the new run
    named = run.events["signature"].to_pylist()
    column = [places.setdefault(keys.get(at, one), len(places)) for at, one in enumerate(named)]
    before, after = [], []
    for key in places:
        if isinstance(key, int):
            before.append(run.signatures[key])
            after.append(_without(run.signatures[key]))
        else:
            before.append(run.signatures[key[0]])
            after.append(_with(run.signatures[key[0]], following.calls[key]))
    return _pair(_numbered(run, column), before, after, batch)


def _by_size(run: Run, then: int, now: int | None) -> Rebatched:
    calls = [s.call for s in run.signatures if s.call is not None]
    there = by_size.leading(calls)
    if now is not None and there and all(size % now for size in there):
        raise _false(now, there)
    batch = Batch(_now(by_size.samples(calls), now), then)
    scaled = by_size.carrying(calls, batch)
    after = [
        _with(s, None if s.call is None else by_size.rewritten(s.call, scaled, batch))
        for s in run.signatures
    ]
    return _pair(run, run.signatures, after, batch)


def _false(stated: int, there: Sequence[int]) -> BadInput:
    """No input comes in batches as stated: their beginnings say what there is."""
    found = sorted(set(there))
    if found == [1]:
        return BadInput(f"the recording was made with a batch of 1, not of {stated}: {ONE}")
    named = " and ".join(map(str, found[:4]))
    return BadInput(
        f"no input of the recording comes in batches of {stated}: they begin with {named}"
    )


def _now(found: Sequence[int], stated: int | None) -> int:
    """The batch that was recorded: stated, or the one size that every input begins with."""
    if stated is not None:
        return stated
    if len(found) == 1:
        return found[0]
    if not found:
        raise BadInput(f"no input of the recording begins with a batch of more than 1: {ONE}")
    named = " and ".join(map(str, found[:4]))
    raise BadInput(
        f"inputs of the recording begin with {named}: state which is the batch, "
        f"such as batch={found[0]}:64"
    )


def _rows(run: Run) -> list[Row]:
    """Every call whose memory was recorded, in order."""
    measured = set(measured_steps(run))
    names = ("signature", "phase", "step", "reads", "writes")
    columns = zip(*(run.events[name].to_pylist() for name in names), strict=True)
    return [
        Row(at, call, signature, phase, step in measured, reads or (), writes or ())
        for at, (signature, phase, step, reads, writes) in enumerate(columns)
        if (call := run.signatures[signature].call) is not None
        and len(reads or ()) == len(call.tensors)
        and len(writes or ()) == len(call.outputs)
    ]


def _with(signature: Signature, call: Call | None) -> Signature:
    """The signature of the rewritten call; what could not be rewritten is named, never counted."""
    if call is None or not ops.known(call.op):
        return _without(signature)
    return Signature(name=signature.name, call=call)


def _without(signature: Signature) -> Signature:
    """A signature whose sizes with the other batch are not known; a view stays one."""
    ledger = signature.ledger
    if ledger is not None and not ledger.entries and not ledger.unaccounted:
        return signature
    return Signature(name=signature.name, ledger=unknown(f"{signature.name}: {NOT_REWRITTEN}"))


def _pair(
    run: Run, before: Sequence[Signature], after: Sequence[Signature], batch: Batch
) -> Rebatched:
    scaled = any(b.call != a.call for b, a in zip(before, after, strict=True) if a.call)
    if batch.then != batch.now and not scaled:
        raise BadInput(f"nothing in the recording scales with a batch of {batch.now}")
    return Rebatched(
        before=replace(run, signatures=tuple(before)),
        after=replace(run, signatures=tuple(after)),
        batch=batch,
    )


def _numbered(run: Run, signatures: Sequence[int]) -> Run:
    """The run with other signature numbers in its events."""
    import pyarrow as pa

    at = run.events.schema.get_field_index("signature")
    column = pa.array(signatures, pa.int32())
    return replace(run, events=run.events.set_column(at, "signature", column))
