"""Every advice says what it would bring, as an interval, or its page says why that is not known."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from roofline import ops
from roofline.call import Call
from roofline.device import TENSOR_BF16, TENSOR_TF32, Ceiling, Fact
from roofline.diagnosis import diagnose
from roofline.diagnosis.prediction import added, at_roof_s, down_to
from roofline.program import read
from roofline.provenance import spread
from tests.diagnosis import (
    test_kernels,
    test_links,
    test_operator_kernels,
    test_overhead,
    test_pipes,
    test_sizes,
    test_traffic,
)
from tests.diagnosis.test_findings import MM, RELU, layer_norm
from tests.runs import MEASURED, Script, call, device, tensor

ROOT = Path(__file__).parents[2]
# Advice whose worth the model cannot know; its page says why.
NOT_PREDICTED = ("RF102", "RF107", "RF204", "RF206", "RF306", "RF308", "RF410", "RF414")


def of(script, code, on=None):
    found = diagnose(read(script.end_step().run(on=on)))
    return next(finding for finding in found if finding.code == code)


def fresh():
    cost = Fact(name="page_fault", value=1e-6, unit="s", provenance=MEASURED)
    return of(
        Script().add(RELU, 2_000, page_faults=977), "RF103", replace(device(), facts=(cost,))
    )  # fmt: skip


def copied():
    clone = call("aten::clone", tensor(1000, 1000), out=tensor(1000, 1000))
    return of(Script().add(MM, 20_500).add(clone, 2_000), "RF105")


def picked():
    script = Script().add(test_traffic.gather(1_000_000, 1), 100)
    return of(script, "RF106", test_traffic.GPU)


def padded():
    """One row of a tile of 8, bound by its pipe of 10 GFLOP/s."""
    row = Call(
        "aten::mm",
        (tensor(1, 4096, dtype="bf16"), tensor(4096, 4096, dtype="bf16")),
        (tensor(1, 4096, dtype="bf16"),),
        "cuda",
    )
    slow = Ceiling(resource=TENSOR_BF16, rate=10e9, provenance=MEASURED)
    assert ops.executed(row).demand()[TENSOR_BF16] == 8 * 2 * 4096**2
    return of(Script().add(row, 10_000), "RF202", device(slow))


def tf32():
    pipe = Ceiling(resource=TENSOR_TF32, rate=800e9, provenance=MEASURED)
    return of(Script().add(MM, 22_000), "RF203", device(pipe))


def many_starts():
    return test_overhead.Stream().kernels(10, 10, 30).findings(300)["RF301"]


def waits():
    stream = test_overhead.Stream().kernels(10, 10, 30)
    for at in range(4):
        by = stream.add("aten::_local_scalar_dense", "range", at * 30, 5)
        stream.add("cudaStreamSynchronize", "launch", at * 30, 5, by)
    return stream.findings(300)["RF303"]


def uploads():
    stream = test_overhead.Stream().kernels(2, 10, 150)
    stream.add(test_overhead.NAME, "memcpy", 50, 50, ledger=test_overhead.H2D)
    stream.add(test_overhead.NAME, "memcpy", 200, 50, ledger=test_overhead.H2D)
    return stream.findings(300)["RF304"]


def kernel(code):
    counters = {row[0]: row[1] for row in test_kernels.FIRES}[code]
    return lambda: test_kernels.found(counters)[code]


def banks():
    sick = {
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": 1e7,
        "sm__sass_data_bytes_mem_shared.sum": 0.25e9,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 2e9 / 128,
    }
    return test_kernels.found(sick)["RF406"]


FIRES = {
    "RF101": lambda: of(layer_norm(Script()), "RF101"),
    "RF103": fresh,
    "RF104": lambda: test_traffic.product(200, 50, us=500.0)["RF104"],
    "RF105": copied,
    "RF106": picked,
    "RF201": lambda: of(Script().add(MM, 100_000), "RF201"),
    "RF202": padded,
    "RF203": tf32,
    "RF205": lambda: test_pipes.found(
        Script().add(test_pipes.HALF, 3_000), test_pipes.card(fp16=50e12, acc16=100e12)
    )["RF205"],
    "RF207": lambda: test_pipes.found(Script().add(test_pipes.NARROW, 60), test_pipes.card())[
        "RF207"
    ],
    "RF208": lambda: test_pipes.found(
        Script().add(test_pipes.product(1024, 50257, 768), 1_600), test_pipes.card(bf16=100e12)
    )["RF208"],
    "RF301": many_starts,
    "RF302": lambda: of(Script().add(RELU, 900).idle(10_000), "RF302"),
    "RF303": waits,
    "RF304": uploads,
    "RF305": lambda: test_overhead.Stream().kernels(10, 2, 2).findings()["RF305"],
    "RF307": lambda: test_sizes.relus((1_000, 50), (16_000, 55))["RF307"],
    "RF501": lambda: test_links.found(test_links.step(80, 20))["RF501"],
    "RF502": lambda: test_links.found(test_links.step(60, 35))["RF502"],
    **{row[0]: kernel(row[0]) for row in test_kernels.FIRES},
    "RF406": banks,
    "RF411": lambda: test_operator_kernels.found(test_operator_kernels.joined({}))["RF411"],
}


def codes():
    """Of every finding in the code that is no doubt about the model."""
    text = "\n".join(p.read_text() for p in (ROOT / "roofline" / "diagnosis").rglob("*.py"))
    return {code for code in re.findall(r'"(RF\d{3})"', text) if not code.startswith("RF0")}


def test_every_advice_is_predicted_or_says_why_not():
    assert codes() <= {*FIRES, *NOT_PREDICTED}
    for code in codes() & {*NOT_PREDICTED}:
        assert "**No time is predicted**" in (ROOT / f"docs/findings/{code}.md").read_text()


@pytest.mark.parametrize("code", sorted(FIRES))
def test_it_predicts_an_interval_below_todays_time(code):
    finding = FIRES[code]()
    least_s, most_s = finding.then_s

    assert 0 <= least_s <= most_s <= finding.now_s * (1 + 1e-9)
    assert least_s <= finding.now_s - finding.saves_s + 1e-12


def test_the_interval_is_that_of_the_ceiling():
    """8 MB at 9 to 12 GB/s: 0.67 to 0.89 ms, 0.8 ms at the ceiling itself."""
    wide = replace(MEASURED, spread=spread([9e9, 9e9, 9.5e9, 1e10, 1.1e10, 1.2e10, 1.2e10]))
    ceilings = (replace(c, provenance=wide) if c.resource.name == "dram" else c
                for c in device().ceilings)  # fmt: skip
    toy = replace(device(), ceilings=tuple(ceilings))
    (item,) = read(Script().add(RELU, 5_000).end_step().run(on=toy)).by("call")

    assert at_roof_s(item) == (pytest.approx(8e6 / 12e9), pytest.approx(8e6 / 9e9))
    finding = of(Script().add(RELU, 5_000), "RF201", toy)
    assert finding.then_s == (pytest.approx(8e6 / 12e9), pytest.approx(5e-3))
    assert finding.saves_s == pytest.approx(4.2e-3)


def test_predictions_of_one_cause_add_up():
    """Three launches of 1 ms, each at its roof of 0.5 ms at best."""
    sick = {"launch__waves_per_multiprocessor": 0.5}
    finding = test_kernels.found(sick, names=("a<int>", "b<int>", "c<int>"))["RF402"]

    assert finding.now_s == pytest.approx(3e-3)
    assert finding.then_s == (pytest.approx(1.5e-3), pytest.approx(3e-3))
    assert added([(1.0, 2.0), None]) is None
    assert added([]) is None


def test_nothing_is_predicted_of_what_is_not_known():
    assert down_to(None, 1.0) is None
    assert down_to(1.0, None) is None
    assert down_to(2.0, 1.0) == (1.0, 1.0)  # a cure that would be slower brings nothing
