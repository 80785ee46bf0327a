"""Runs written by hand: a few calls with round times on a device with round ceilings."""

from dataclasses import replace

from roofline.call import Call, Tensor
from roofline.device import DISPATCH, DRAM, L2, SFU, VECTOR_FP32, Ceiling, Device
from roofline.provenance import Basis, Provenance
from roofline.runfile import Event, Recorder, Run, Signature, Step, table
from tests.roofs import STATED

MEASURED = Provenance(basis=Basis.MEASURED, source="hand", as_of=STATED.as_of)
RATES = ((DRAM, 10e9, None), (L2, 100e9, 1_000_000), (VECTOR_FP32, 100e9, None), (SFU, 10e9, None))


def device(*extra: Ceiling, dispatch_per_s: float = 1e6) -> Device:
    """A CPU with 10 GB/s DRAM, a 1 MB L2 at 100 GB/s, 100 GFLOP/s, and 1 us to dispatch a call."""
    rates = (*RATES, (DISPATCH, dispatch_per_s, None))
    ceilings = tuple(
        Ceiling(resource=r, rate=rate, provenance=MEASURED, capacity=held)
        for r, rate, held in rates
    )
    return Device(id="toy", name="Toy CPU", kind="cpu", ceilings=(*ceilings, *extra))


RECORDER = Recorder(tool="hand", program="toy.py", recorded_at="2026-01-01T00:00:00Z", threads=1)


def tensor(*shape: int, dtype: str = "fp32") -> Tensor:
    """A contiguous tensor."""
    return Tensor(shape, dtype)


def call(op: str, *args, out: Tensor | tuple[Tensor, ...] = ()) -> Call:
    """One call with its outputs."""
    return Call(op, args, (out,) if isinstance(out, Tensor) else out)


class Script:
    """Calls one after the other, without gaps unless asked."""

    def __init__(self) -> None:
        self.signatures: list[Call] = []
        self.events: list[Event] = []
        self.steps: list[Step] = []
        self.now_ns = 0
        self._step_start_ns = 0

    def add(self, call: Call, us: float, reads=(), writes=(), **fields) -> "Script":
        """One call of `us` microseconds."""
        if call not in self.signatures:
            self.signatures.append(call)
        self.events.append(
            Event(
                signature=self.signatures.index(call), kind="op", step=len(self.steps),
                start_ns=self.now_ns, duration_ns=int(us * 1000),
                reads=tuple(reads), writes=tuple(writes), **fields,
            )
        )  # fmt: skip
        self.now_ns += int(us * 1000)
        return self

    def idle(self, us: float) -> "Script":
        """Time in which no operator runs."""
        self.now_ns += int(us * 1000)
        return self

    def end_step(self, warmup: bool = False) -> "Script":
        """The step ends now."""
        length = self.now_ns - self._step_start_ns
        self.steps.append(Step(start_ns=self._step_start_ns, duration_ns=length, warmup=warmup))
        self._step_start_ns = self.now_ns
        return self

    def run(self, on: Device | None = None, **recorder) -> Run:
        """The recording."""
        return Run(
            recorder=replace(RECORDER, **recorder),
            device=on or device(),
            signatures=tuple(Signature(name=c.op, call=c) for c in self.signatures),
            steps=tuple(self.steps),
            gaps=(),
            events=table(self.events),
        )
