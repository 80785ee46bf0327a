"""The signatures of a run, recounted under today's rules and placed under the run's ceilings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

from roofline import ops
from roofline.call import Call, Tensor
from roofline.device import DRAM, Resource, Roof
from roofline.measurement import CacheState
from roofline.placement import Placement, place
from roofline.program.alike import MAY_BE_ONE, Settled, are_one, bounded, in_some
from roofline.program.counters.counted import Counted, counted
from roofline.runfile import Run, Signature
from roofline.work import Work, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Distinct calls and their placements, one for each boundary where their data was met."""

    signatures: tuple[Signature, ...]
    roof: Roof
    warm: bool  # caches were as the running program left them
    counted: Mapping[int, Counted] = field(default_factory=dict)  # what counters saw, by signature
    _known: dict[tuple[int, Resource], Placement] = field(default_factory=dict)

    def at(self, signature: int, boundary: Resource, perhaps: Resource | None = None) -> Placement:
        """One call of `signature` whose bytes cross `boundary`, or `perhaps` another instead."""
        if perhaps is not None and perhaps != boundary:
            return replace(self.at(signature, boundary), perhaps_at=perhaps)
        key = (signature, boundary)
        if key not in self._known:
            one = self.signatures[signature]
            seen = self.counted.get(signature, _UNSEEN)
            work = Work(
                algorithmic=one.ledger,
                executed=seen.executed or one.executed,
                achieved=seen.achieved,
            )
            self._known[key] = place(work, self.roof, at=boundary)
        return self._known[key]

    @property
    def open(self) -> tuple[int, ...]:
        """Signatures whose equal operands may be one."""
        return tuple(
            at
            for at, s in enumerate(self.signatures)
            if s.ledger is not None and MAY_BE_ONE in s.ledger.conventions
        )

    def settled(self, times_s: Mapping[int, Mapping[float, int]]) -> "Placed":
        """The same, with equal operands as one where the time of a call leaves no other way.

        `times_s` are how many calls took which time, by signature.
        """
        found = {
            at: settled
            for at in self.open
            if (s := self.signatures[at]).call is not None
            and s.ledger is not None
            and (times := times_s.get(at))
            and (settled := are_one(s.call, s.ledger, self.roof, self.level(at, None), times))
            is not None
        }
        return self.as_one(found)

    def as_one(self, signatures: Mapping[int, Settled]) -> "Placed":
        """The same, with equal operands of these signatures as one, as far as was settled."""
        changed = tuple(
            replace(s, ledger=in_some(s.call, s.ledger, signatures[at]))
            if at in signatures and s.call is not None and s.ledger is not None
            else s
            for at, s in enumerate(self.signatures)
        )
        return replace(self, signatures=changed, _known={}) if signatures else self

    def shapes(self, signature: int) -> str:
        """The tensors of one call in words, or how a kernel without a call was launched."""
        call = self.signatures[signature].call
        return self.counted.get(signature, _UNSEEN).shape if call is None else shapes(call)

    def free(self, signature: int) -> bool:
        """Whether such a call is known to touch nothing: a view."""
        ledger = self.signatures[signature].ledger
        return ledger is not None and not ledger.entries and not ledger.unaccounted

    def level(self, signature: int, reach: int | None) -> Resource:
        """The boundary that the data of a call crosses: the innermost that holds it.

        `reach` is what a cache must hold for the operands to be in it; where that was not
        recorded, the call's own footprint decides.  Where counters saw most of its bytes cross
        DRAM, no cache held them.
        """
        ledger = self.signatures[signature].ledger
        if not self.warm or ledger is None or ledger.footprint is None:
            return DRAM
        seen = self.counted.get(signature, _UNSEEN).achieved
        if seen is not None and 2 * seen.demand().get(DRAM, 0) > ledger.demand().get(DRAM, 0) > 0:
            return DRAM
        return self.roof.innermost(max(ledger.footprint, reach or 0))


_UNSEEN = Counted()


def recount(run: Run) -> Placed:
    """Count every signature of `run`."""
    return Placed(
        signatures=tuple(_recounted(signature) for signature in run.signatures),
        roof=_roof(run),
        warm=run.recorder.cache is CacheState.WARM,
        counted=counted(run),
    )


def _roof(run: Run) -> Roof:
    if run.device is None:
        return Roof(name="no device", kind="cpu", ceilings=())
    return run.device.in_force(run.recorder.threads)


def _recounted(signature: Signature) -> Signature:
    """The signature with its ledger as today's rules count it."""
    if signature.call is None:
        ledger = signature.ledger or unknown(signature.name)
        return Signature(name=signature.name, ledger=ledger, executed=signature.executed)
    # What no rule knows may have come with a count of its own, such as a compiled kernel's bytes.
    known = ops.known(signature.call.op) or signature.ledger is None
    return Signature(
        name=signature.name,
        call=signature.call,
        ledger=bounded(signature.call, ops.account(signature.call)) if known else signature.ledger,
        executed=ops.executed(signature.call) or signature.executed,
    )


def shapes(call: Call | None, limit: int = 4) -> str:
    """The tensors of a call in words: ``4096x4096 fp32, 3 of 4096 fp32``.

    Of a call that is given none (``randn``, ``arange``), those that it makes.
    """
    if call is None:
        return ""
    told = call.tensors or call.outputs
    groups = [(text, len([*equal])) for text, equal in groupby(map(_shape, told))]
    shown = [", ".join([text] * n) if n < 3 else f"{n} of {text}" for text, n in groups[:limit]]
    more = sum(count for _, count in groups[limit:])
    return ", ".join([*shown, f"{more} more"] if more else shown)


def _shape(tensor: Tensor) -> str:
    layout = "" if tensor.layout == "strided" else f" {tensor.layout}"
    return f"{'x'.join(map(str, tensor.shape)) or 'scalar'} {tensor.dtype}{layout}"
