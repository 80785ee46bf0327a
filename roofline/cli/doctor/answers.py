"""Questions whose answers are known, asked anew on this machine."""

import math
from dataclasses import dataclass
from datetime import date
from statistics import median
from typing import Literal

from roofline.device import DRAM, TENSOR_FP16, VECTOR_FP32, Ceiling, Roof
from roofline.provenance import Basis, Provenance
from roofline.units import show


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One question with the known answer and the one that was given here."""

    name: Literal["model", "rule", "ceiling"]
    question: str
    expected: dict[str, float]  # base units; empty where nothing is known
    got: dict[str, float]  # empty where nothing could be asked
    status: Literal["ok", "wrong", "unknown"]
    told: str  # the outcome in words


def model() -> Answer:
    """A 1 x 4096 x 4096 product of 2-byte elements at 120 Tflop/s and 2 TB/s.

    bytes   (1*4096 + 4096*4096 + 1*4096) * 2 = 33,570,816 B      / 2e12   = 16.785408 us
    flop    2 * 1 * 4096 * 4096               = 33,554,432 flop   / 1.2e14 =  0.279620 us
    """
    from roofline.ops.products.matmul import gemm
    from roofline.placement import place

    stated = Provenance(basis=Basis.STATED, source="a known answer", as_of=date.today())
    roof = Roof(
        name="stated",
        kind="gpu",
        ceilings=(
            Ceiling(resource=TENSOR_FP16, rate=120e12, provenance=stated),
            Ceiling(resource=DRAM, rate=2e12, provenance=stated),
        ),
    )
    roof_s = place(gemm(m=1, n=4096, k=4096, dtype="fp16"), roof).roof_s
    return _exact(
        "model",
        "roof time of an fp16 gemm m=1 n=k=4096 at 120 Tflop/s and 2 TB/s, s",
        {"roof_s": 16.785408e-6},
        {} if roof_s is None else {"roof_s": roof_s},
    )


def rule() -> Answer:
    """addmm of bias (16), A (4, 8) and B (8, 16), fp32.

    flop    2*4*16*8 + 4*16 for the bias      = 1,088
    bytes   (4*8 + 8*16 + 4*16 + 16) * 4      = 960
    """
    from roofline.call import Call, Tensor
    from roofline.ops import account

    operands = (Tensor((16,)), Tensor((4, 8)), Tensor((8, 16)))
    ledger = account(Call("aten::addmm", operands))
    return _exact(
        "rule",
        "flop and bytes of an fp32 addmm of (16), (4, 8), (8, 16)",
        {"flop": 1088, "bytes": 960},
        {"flop": ledger.flop, "bytes": ledger.demand().get(DRAM, 0)},
    )


def _exact(
    name: Literal["model", "rule"], question: str, expected: dict[str, float], got: dict[str, float]
) -> Answer:
    right = got.keys() == expected.keys() and all(
        math.isclose(got[key], expected[key], rel_tol=1e-12) for key in expected
    )
    told = ", ".join(f"{value:.9g}" for value in got.values()) or "no answer"
    if not right:
        told += f", and it is {', '.join(f'{value:.9g}' for value in expected.values())}"
    return Answer(
        name=name,
        question=question,
        expected=expected,
        got=got,
        status="ok" if right else "wrong",
        told=told,
    )


# A ceiling that is right may be missed by half while others use the machine, and overtaken by
# less than that; a wrong prefix or unit is further off.
LOW, HIGH = 0.5, 1.5
SAMPLES, SAMPLE_S = 25, 0.01


def ceiling() -> Answer:
    """The kept fp32 ceiling of one thread, against a quarter of a second of the same work."""
    from roofline.bench.cpu import host
    from roofline.devices import kept
    from roofline.errors import RooflineError

    question = "vector-fp32 ceiling of one thread, measured again"
    try:
        device = kept.newest(host.device_id())
        if device is None:
            return _unknown(question, "nothing is measured here yet: roofline measure --quick")
        rate = _one_thread(device.ceilings)
        if rate is None:
            return _unknown(question, "the newest measurement has none for one thread")
        now = _again()
    except RooflineError as error:
        return _unknown(question, str(error))
    if now is None:
        return _unknown(question, "the machine was too busy to measure it again")
    right = LOW * rate <= now <= HIGH * rate
    return Answer(
        name="ceiling",
        question=question,
        expected={"rate": rate},
        got={"rate": now},
        status="ok" if right else "wrong",
        told=f"kept {show(rate, 'flop/s')}, now {show(now, 'flop/s')}",
    )


def _one_thread(ceilings: tuple[Ceiling, ...]) -> float | None:
    rates = [
        c.rate for c in ceilings if c.resource == VECTOR_FP32 and c.variant.threads in (1, None)
    ]
    return max(rates, default=None)


def _again() -> float | None:
    """Rate of the fp32 chain on one thread, flop/s; None when no sample was undisturbed."""
    from roofline.bench.cpu import host, making
    from roofline.bench.cpu.crew import Crew, Load
    from roofline.errors import Missing

    made = making.make()
    chain = made.chains.get(VECTOR_FP32)
    if chain is None:
        raise Missing(f"kernels made by {made.made_by} have no fp32 arithmetic of their own")
    load = Load(lambda _, passes: chain.run(passes), amount=chain.work, seconds=SAMPLE_S)
    with Crew([host.cores()[:1]]) as crew:
        samples = crew.samples(load, SAMPLES)
    return median(samples.rates) if samples.rates else None


def _unknown(question: str, why: str) -> Answer:
    return Answer(
        name="ceiling", question=question, expected={}, got={}, status="unknown", told=why
    )
