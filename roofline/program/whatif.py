"""The same program under other conditions: another device, another element type, another batch.

Calls are rewritten and counted again under the rules, then placed under the other ceilings.  What
comes out are bounds, and beside them the time at today's fraction of the roof: a guess that the
same code would be as near to the other roof, said as that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from roofline.call import Argument, Tensor
from roofline.device import HIERARCHY, Device, Resource
from roofline.errors import BadInput, NotFound
from roofline.placement import Bound
from roofline.program.alike import Settled, settled_in
from roofline.program.batch import NOT_REWRITTEN, ONE, Batch, rebatched
from roofline.program.item import Item, Part, line, total
from roofline.program.parts import parts_of
from roofline.program.placed import recount
from roofline.program.reading import Program, grouped, read
from roofline.program.threads import other_threads
from roofline.program.timing import timed
from roofline.runfile import Gap, Run, Signature
from roofline.work import unknown

FLOATS = ("fp64", "fp32", "fp16", "bf16")
CHANGES = ("device", "dtype", "batch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Calls of one signature, phase and module, before and after: no line divides them."""

    before: Item
    after: Item  # its placement and roof are the new ones; its times still the old
    # The level that binds any of them today and has no ceiling there: their bytes are then placed
    # further out.
    no_level: Resource | None

    @property
    def same_fraction_s(self) -> float | None:
        """Time of a step afterwards if the code came as near to its new roof as to its present one.

        None where the new roof leaves out work that the present one bounds, or is that of another
        level: such roofs do not compare.
        """
        fraction = self.before.roof_fraction
        if self.after.roof_s is None or not fraction or self.left_out or self.no_level:
            return None
        return self.after.roof_s / self.after.steps / fraction

    @property
    def left_out(self) -> tuple[Resource, ...]:
        """What afterwards has no ceiling and today has one."""
        before = self.before.placement.no_ceiling
        return tuple(r for r in self.after.placement.no_ceiling if r not in before)

    @property
    def measured_s(self) -> float | None:
        """Their time in a step today; None is not known or nothing."""
        return (self.before.measured_s or 0.0) / self.before.steps or None

    @property
    def not_compared(self) -> bool:
        """Whether they have a new roof and no time as near to it."""
        return bool(self.after.roof_s) and self.same_fraction_s is None

    @property
    def unbounded(self) -> bool:
        """Whether they have no new roof."""
        return self.after.roof_s is None

    @property
    def needs_nothing(self) -> bool:
        """Whether they are known to need nothing afterwards, as a view does."""
        return self.after.roof_s == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One line before and after; times are those of one step."""

    before: Item
    after: Item
    calls: tuple[Calls, ...]  # what both are made of; what is said of them adds up in any grouping

    @property
    def roof_s(self) -> float | None:
        """Least time afterwards."""
        return None if self.after.roof_s is None else self.after.roof_s / self.after.steps

    @property
    def same_fraction_s(self) -> float | None:
        """Time afterwards as near to the roof as today, of the calls whose two roofs compare."""
        return total(calls.same_fraction_s for calls in self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A program as it was and as it would be placed."""

    words: str  # what was changed
    before: Program
    after: Program
    batch: Batch | None = None  # samples a step, before and after
    mixed: tuple[Gap, ...] = ()  # ceilings of other numbers of threads, on either side

    @property
    def not_rewritten(self) -> tuple[str, ...]:
        """Calls whose sizes under the change are not known, in words: no time stands for them."""
        shapes = {part.signature: part.shapes for part in self.before.parts}
        return tuple(
            dict.fromkeys(
                f"{part.name} ({shapes[part.signature]})" if shapes[part.signature] else part.name
                for part in self.after.parts
                if any(NOT_REWRITTEN in text for text in part.once.unaccounted)
            )
        )

    def by(self, grouping: str = "call") -> tuple[Change, ...]:
        """Every line before and after, most time measured today first."""
        after = grouped(self.after.parts, grouping)
        changes = [
            Change(
                before=line(name, parts, self.before.conditions),
                after=line(name, after[key][1], self.after.conditions),
                calls=tuple(self._calls(parts, after[key][1])),
            )
            for key, (name, parts) in grouped(self.before.parts, grouping).items()
        ]
        most = sorted(changes, key=lambda c: c.before.to_win_s, reverse=True)
        return tuple(sorted(most, key=lambda c: c.before.measured_s or 0.0, reverse=True))

    def _calls(self, before: Sequence[Part], after: Sequence[Part]) -> Iterator[Calls]:
        then = _alike(after)
        for key, parts in _alike(before).items():
            lacking = (self._lacking(part.once.binding) for part in parts)
            yield Calls(
                before=line(parts[0].name, parts, self.before.conditions),
                after=line(parts[0].name, then[key], self.after.conditions),
                no_level=next((level for level in lacking if level), None),
            )

    def _lacking(self, binding: Bound | None) -> Resource | None:
        """What binds, where it is a level of memory without a ceiling afterwards."""
        level = None if binding is None else binding.demanded
        if level not in HIERARCHY or self.after.roof.ceiling(level) is not None:
            return None
        return level


def _alike(parts: Sequence[Part]) -> dict[tuple[int, str, str], list[Part]]:
    """Parts that differ by where their data was alone, which is another on another device."""
    found: dict[tuple[int, str, str], list[Part]] = {}
    for part in parts:
        found.setdefault((part.signature, part.phase, part.module), []).append(part)
    return found


def parse_changes(text: str) -> dict[str, str]:
    """``device=h100-sxm,dtype=bf16`` as a dictionary; unknown changes are refused.

    >>> parse_changes("device=h100-sxm,dtype=bf16")
    {'device': 'h100-sxm', 'dtype': 'bf16'}
    """
    changes: dict[str, str] = {}
    for word in text.split(","):
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not value:
            raise BadInput(f"changes are written k=v, such as dtype=bf16; got {word!r}")
        if key not in CHANGES:
            raise NotFound(
                f"cannot change {key!r} of a recorded run; there is {', '.join(CHANGES)}"
            )
        if key in changes:
            raise BadInput(f"{key} is changed twice, to {changes[key]} and to {value}")
        changes[key] = value
    return changes


def parse_batch(text: str) -> int | tuple[int, int]:
    """``64``, or ``32:64`` where the recorded batch is stated too.

    >>> parse_batch("64"), parse_batch("32:64")
    (64, (32, 64))
    """
    sizes = [int(word) if word.isdecimal() else 0 for word in text.split(":")]
    if len(sizes) > 2 or min(sizes) < 1:
        raise BadInput(f"a batch is written 64, or 32:64 (recorded:asked for); got {text!r}")
    if len(sizes) == 2 and sizes[0] == 1:
        raise BadInput(f"of a recorded batch of 1 no other can be told: {ONE}")
    return sizes[0] if len(sizes) == 1 else (sizes[0], sizes[1])


def what_if(
    run: Run,
    *,
    device: Device | None = None,
    dtype: str | None = None,
    batch: int | tuple[int, int] | None = None,
) -> WhatIf:
    """Place `run` on another device, with its floating-point tensors in another type, or with
    another batch: so many samples, or (recorded, so many) where the recording leaves it open.

    On another device, and with other sizes, data is met where the bytes touched since fit.
    """
    if dtype is not None and dtype not in FLOATS:
        raise NotFound(f"no floating-point type {dtype!r}; there is {', '.join(FLOATS)}")
    if (dtype or batch) and all(s.call is None for s in run.signatures):
        raise BadInput(
            f"{run.recorder.program} holds no sizes of calls, only what counters saw of kernels: "
            "nothing but its device can be changed"
        )
    samples: Batch | None = None
    changed, said = run, {"device": device.name if device else None, "dtype": dtype}
    if batch is not None:
        now, then = batch if isinstance(batch, tuple) else (None, batch)
        pair = rebatched(run, then, now)
        run, changed, samples = pair.before, pair.after, pair.batch
        said["batch"] = f"{pair.batch.now} -> {pair.batch.then}"
    before = read(run)
    changed = replace(
        changed,
        device=device or run.device,
        signatures=tuple(_retyped(s, dtype) if dtype else s for s in changed.signatures),
        recorder=run.recorder if device is None else replace(run.recorder, threads=None),
    )
    placed = recount(changed).as_one(_known_as_one(before))
    if run.recorder.counters or dtype or batch:  # counters are of what ran, as it ran
        placed = replace(placed, counted={})
    parts = parts_of(timed(changed, placed, by_time=False), placed)
    mixed = other_threads(parts, changed.recorder.threads)
    after = replace(
        before,
        device=changed.device,
        conditions=replace(before.conditions, roof=placed.roof),
        parts=parts,
        gaps=(*run.gaps, *mixed),
        chains=(),
        achieved=None,
    )
    words = ", ".join(f"{key} {value}" for key, value in said.items() if value)
    both = dict.fromkeys((*other_threads(before.parts, run.recorder.threads), *mixed))
    return WhatIf(words=words, before=before, after=after, batch=samples, mixed=tuple(both))


def _known_as_one(program: Program) -> dict[int, Settled]:
    """Signatures whose equal operands were found to be one, and in how many calls."""
    return {
        part.signature: settled
        for part in program.parts
        if part.once.ledger is not None and (settled := settled_in(part.once.ledger)) is not None
    }


def _retyped(signature: Signature, dtype: str) -> Signature:
    """The signature with its floating-point tensors in `dtype`; what has no call stays unknown."""
    call, ledger = signature.call, signature.ledger
    if call is None:
        if ledger is not None and not ledger.entries and not ledger.unaccounted:
            return signature  # a view
        return Signature(name=signature.name, ledger=unknown(f"{signature.name}: {NOT_REWRITTEN}"))
    return replace(
        signature,
        call=replace(
            call,
            args=tuple(_argument(argument, dtype) for argument in call.args),
            outputs=tuple(_tensor(tensor, dtype) for tensor in call.outputs),
        ),
    )


def _argument(argument: Argument, dtype: str) -> Argument:
    if isinstance(argument, Tensor):
        return _tensor(argument, dtype)
    if isinstance(argument, tuple):
        return tuple(
            _tensor(part, dtype) if isinstance(part, Tensor) else part for part in argument
        )
    return argument


def _tensor(tensor: Tensor, dtype: str) -> Tensor:
    return replace(tensor, dtype=dtype) if tensor.dtype in FLOATS else tensor
