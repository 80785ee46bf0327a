"""RF101: what one fused kernel takes at least is its bytes, its arithmetic or its start."""

from dataclasses import replace

import pytest

from roofline.device import (
    DISPATCH,
    DRAM,
    SFU,
    VECTOR_BF16,
    VECTOR_FP32,
    Ceiling,
    Mapped,
    Variant,
)
from roofline.diagnosis import diagnose
from roofline.program import read
from roofline.provenance import spread
from tests.runs import MEASURED, Script, call, device, tensor

SMALL = tensor(64, 64)
WIDE = tensor(1000, 1000)  # 4 MB


def rf101(script, on=None):
    (found,) = (f for f in diagnose(read(script.end_step().run(on=on))) if f.code == "RF101")
    return found


def prediction(finding):
    return next(line for line in finding.evidence if line.startswith("fused:"))


def in_turns(times, us=20.0):
    """x = tanh(x * a + b), `times` times: 64x64 fp32 stay in the L2."""
    mul, add, tanh = (call(f"aten::{n}", SMALL, out=SMALL) for n in ("mul", "add", "tanh"))
    script = Script()
    for at in range(1, 3 * times, 3):
        script.add(mul, us, reads=(at,), writes=(at + 1,))
        script.add(add, us, reads=(at + 1,), writes=(at + 2,))
        script.add(tanh, us, reads=(at + 2,), writes=(at + 3,))
    return script


def with_sfu(rates):
    """The toy CPU with special functions at the median of `rates`, and their interval."""
    found = spread(rates)
    sfu = Ceiling(
        resource=SFU, rate=found.median, variant=Variant(way="tanh"),
        provenance=replace(MEASURED, spread=found),
    )  # fmt: skip
    return replace(device(), ceilings=(*(c for c in device().ceilings if c.resource != SFU), sfu))


def test_arithmetic_bounds_a_fused_chain_as_well_as_bytes():
    """20 times 4096 tanh are 81,920; at 1 G/s 81.9 us, at 0.5 to 2 G/s 41.0 to 163.8 us.

    32,768 B in and out take 0.33 us at 100 GB/s, a start 1 us, 163,840 flop of mul and add 1.6 us.
    """
    rates = [0.5e9, 0.5e9, 0.9e9, 1e9, 1.1e9, 2e9, 2e9]
    finding = rf101(in_turns(20), on=with_sfu(rates))

    assert finding.then_s == (pytest.approx(40.96e-6), pytest.approx(163.84e-6))
    assert finding.saves_s == pytest.approx(1200e-6 - 81.92e-6)
    assert prediction(finding) == (
        "fused: 1.20 ms -> 81.9 us a step at the ceiling of sfu (41.0 us to 164 us within its "
        "interval), at most 14.6 times as fast"
    )


def test_no_fused_chain_is_faster_than_the_arithmetic_of_its_parts():
    program = read(in_turns(20).end_step().run(on=with_sfu([1e9] * 7)))
    (chain,) = program.chains
    pipes = [
        b.least_s * part.calls
        for part in program.parts
        for b in part.once.bounds
        if b.demanded == SFU
    ]

    assert chain.least_s >= sum(pipes) > 0


def test_a_pipe_that_does_another_s_work_is_one_pipe():
    """512 neg of 4096 bf16 and 512 of fp32 in turns, one memory: 4.2 Mflop at 100 GFLOP/s, 41.9 us."""
    half = tensor(64, 64, dtype="bf16")
    down = call("aten::neg", half, out=half)
    up = call("aten::neg", SMALL, out=SMALL)
    script, at = Script(), 1
    for _ in range(512):
        for one in (up, down):
            script.add(one, 20, reads=(at,), writes=(at + 1,))
            at += 1
    lacks = Mapped(lacks=VECTOR_BF16, uses=VECTOR_FP32, why="widened")
    (chain,) = read(script.end_step().run(on=replace(device(), mapped=(lacks,)))).chains

    assert chain.limit == "vector-fp32"
    assert chain.least_s == pytest.approx(2 * 512 * 4096 / 100e9)


def test_more_operators_than_a_compiler_fuses_are_several_kernels():
    """300 operators: 1 kernel at 1.638 ms of tanh by the bound; 64 each are 5, 5 us of starts."""
    finding = rf101(in_turns(100), on=with_sfu([2.5e11] * 7))

    # 409,600 tanh at 250 G/s 1.64 us; 819,200 flop at 100 GFLOP/s 8.19 us; 5 x 32,768 B 1.64 us
    assert finding.then_s == (pytest.approx(8.192e-6), pytest.approx(8.192e-6))
    assert prediction(finding).startswith("fused: 6.00 ms -> 8.19 us a step at the ceiling of vec")
    assert finding.evidence[-1] == (
        "that is one kernel of 300 operators; a compiler puts 64 into one and makes 5 kernels of "
        "them: up to 8.19 us"
    )


def test_starts_of_several_kernels_may_be_what_takes_longest():
    """neg 300 times on 64 fp32: 5 starts of 1 us; one start by the bound."""
    neg = call("aten::neg", tensor(64), out=tensor(64))
    script = Script()
    for at in range(300):
        script.add(neg, 5, reads=(at,), writes=(at + 1,))

    assert rf101(script).then_s == (pytest.approx(1e-6), pytest.approx(5e-6))


def without_start():
    toy = device()
    return replace(toy, ceilings=tuple(c for c in toy.ceilings if c.resource != DISPATCH))


def test_where_a_start_was_not_measured_nothing_takes_nanoseconds():
    """32,768 B at 100 GB/s would be 328 ns: less than any start, which nobody measured here."""
    x = call("aten::neg", SMALL, out=SMALL)
    script = Script().add(x, 20, reads=(1,), writes=(2,)).add(x, 20, reads=(2,), writes=(3,))
    finding = rf101(script, on=without_start())

    assert finding.then_s is None
    assert prediction(finding) == (
        "fused: its bytes and its arithmetic need less than starting a kernel may take, which is "
        "not measured here"
    )
    assert not any("times as fast" in line for line in finding.evidence)


def test_beside_milliseconds_a_start_is_not_felt():
    """8 MB at 10 GB/s: 0.8 ms, said to be without the start."""
    x = call("aten::neg", WIDE, out=WIDE)
    script = Script().add(x, 900, reads=(1,), writes=(2,)).add(x, 900, reads=(2,), writes=(3,))
    finding = rf101(script, on=without_start())

    assert finding.then_s == (pytest.approx(0.8e-3), pytest.approx(0.8e-3))
    assert prediction(finding) == (
        f"fused: 1.80 ms -> 800 us a step at the ceiling of {DRAM.name}, without what starting a "
        "kernel takes, which is not measured here"
    )


def test_near_the_roof_is_a_mean_as_in_the_table():
    """neg of 4 MB needs 0.8 ms; 0.85 six times and 20 twice: 5.6 ms in the mean, 14 % of the roof."""
    neg = call("aten::neg", WIDE, out=WIDE)
    script = Script()
    for at, us in enumerate((850, 850, 850, 20_000, 850, 850, 850, 20_000)):
        script.add(neg, us, reads=(at,), writes=(at + 1,))
    finding = rf101(script)

    assert any("none of its 8 operators is near its roof" in line for line in finding.evidence)
