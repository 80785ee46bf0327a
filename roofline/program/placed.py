"""The signatures of a run, recounted under today's rules and placed under the run's ceilings."""

from dataclasses import dataclass

from roofline import ops
from roofline.call import Call, Tensor
from roofline.device import Roof
from roofline.placement import Placement, place
from roofline.runfile import Run, Signature
from roofline.work import Work, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Distinct calls, each with the placement of one of it."""

    signatures: tuple[Signature, ...]
    placements: tuple[Placement, ...]  # one a signature
    roof: Roof


def recount(run: Run) -> Placed:
    """Count and place every signature of `run`."""
    roof = _roof(run)
    warm = run.recorder.cache == "warm"
    signatures = tuple(_recounted(signature) for signature in run.signatures)
    placements = tuple(
        place(Work(algorithmic=s.ledger, executed=s.executed), roof, warm=warm) for s in signatures
    )
    return Placed(signatures=signatures, placements=placements, roof=roof)


def _roof(run: Run) -> Roof:
    if run.device is None:
        return Roof(name="no device", kind="cpu", ceilings=())
    return run.device.in_force(run.recorder.threads)


def _recounted(signature: Signature) -> Signature:
    """The signature with its ledger as today's rules count it."""
    if signature.call is None:
        ledger = signature.ledger or unknown(signature.name)
        return Signature(name=signature.name, ledger=ledger, executed=signature.executed)
    return Signature(
        name=signature.name,
        call=signature.call,
        ledger=ops.account(signature.call),
        executed=ops.executed(signature.call) or signature.executed,
    )


def shapes(call: Call | None) -> str:
    """The tensors of a call in words, such as ``4096x4096 fp32, 4096 fp32``."""
    if call is None:
        return ""
    return ", ".join(_shape(tensor) for tensor in call.tensors)


def _shape(tensor: Tensor) -> str:
    return f"{'x'.join(map(str, tensor.shape)) or 'scalar'} {tensor.dtype}"
