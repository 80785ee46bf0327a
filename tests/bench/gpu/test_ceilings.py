"""What was measured on a GPU becomes one device; a recorded measurement hangs together."""

import os
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

from roofline.bench.gpu import ceilings
from roofline.bench.gpu.card import Card
from roofline.bench.gpu.record import code
from roofline.bench.gpu.timing import Timer
from roofline.bench.record import Absent
from roofline.device import (
    DISPATCH,
    DRAM,
    ELEMENTS,
    L1,
    L2,
    LAUNCH,
    NVLINK,
    PCIE,
    SFU,
    SHARED,
    TENSOR_BF16,
    TENSOR_FP8,
    VECTOR_FP32,
    Ceiling,
    Reach,
    Variant,
)
from roofline.devices import kept
from roofline.provenance import Basis, Provenance, spread

DATA = Path(__file__).parents[2] / "data"
RECORDED = {  # the mark of the card, the code that timed it, its ceilings and its last clock
    "h200-measured.json": ("28a781a0", "064f87b420ab", 55, 1395e6),
    "h200-measured-648ac89b.json": ("648ac89b", "9bdb999c0f3f", 317, 1425e6),
}
RESTED = "h200-measured-648ac89b.json"  # with pauses in which the card forgets its power cap
H200 = Card(
    index=0, name="NVIDIA H200", units=132, l2=62914560, memory=150109880320, capability=90, uuid="x"
)  # fmt: skip


def measured(resource, rate, clock_hz=None, **variant):
    where = Provenance(
        basis=Basis.MEASURED, source="a loop", as_of=date(2026, 11, 29), spread=spread([rate] * 10)
    )
    return Ceiling(
        resource=resource, rate=rate, provenance=where, clock_hz=clock_hz, variant=Variant(**variant)
    )  # fmt: skip


@pytest.fixture(autouse=True)
def software(monkeypatch):
    monkeypatch.setattr(ceilings, "versions", lambda: {"torch": "2.11"})


def test_a_known_card_keeps_its_sheet_and_overrules_it():
    found = ceilings.Measured(H200)
    found.found = [measured(DRAM, 4.6e12), Absent(NVLINK, Variant(), "one card only")]
    found.notes = ["a quick measurement"]
    device = ceilings.device(found)
    assert device.id == "nvidia-h200-sxm-141gb"
    assert [c.rate for c in device.ceilings] == [4.6e12]
    assert device.note == "a quick measurement. nvlink: one card only"
    # Printed 50 MiB; the card itself says 60.
    assert device.fact("l2_capacity").value == 60 * 2**20
    assert device.fact("warps_per_sm_max").value == 64  # from the sheet
    assert device.fact("torch").value == "2.11"
    assert device.fact("code").value == code()
    assert len({fact.name for fact in device.facts}) == len(device.facts)


def test_a_pipe_that_beats_its_maker_is_broken():
    """Printed: 989 Tflop/s at 1830 MHz, 1070 at 1980; 3.2 Pflop/s is a compiler that drops work."""
    found = ceilings.Measured(H200)
    found.found = [
        measured(TENSOR_BF16, 3.2e15, 1.98e9, reach=Reach.REGISTER),
        measured(VECTOR_FP32, 66e12, 1.98e9, reach=Reach.REGISTER),
    ]
    # 3200 / (989 * 1980/1830) = 2.99
    assert ceilings.device(found).note == (
        "tensor-bf16 register: 2.99 times the printed peak at 1980 MHz, "
        "so this measurement is broken"
    )


def test_an_unknown_card_is_named_after_itself():
    card = Card(index=0, name="Toy GPU 9", units=4, l2=0, memory=1, capability=None, uuid="")
    device = ceilings.device(ceilings.Measured(card))
    assert (device.id, device.name, device.mapped) == ("gpu-toy-gpu-9", "Toy GPU 9", ())
    assert device.fact("l2_capacity") is None  # not told is not 0


def test_a_part_that_fails_does_not_take_the_rest_along(monkeypatch):
    """Another process took the memory: what was measured before and after it stays."""

    def out_of_memory(_tick):
        yield measured(DRAM, 4.6e12)
        raise RuntimeError("CUDA out of memory. Tried to allocate 12 GiB\nmore")

    parts = [
        ceilings._Part("memory", 1, out_of_memory),
        ceilings._Part("launches", 1, lambda _: [measured(LAUNCH, 1e5)]),
    ]
    monkeypatch.setattr(ceilings, "_parts", lambda *_: parts)
    monkeypatch.setattr(ceilings, "Driver", lambda _card: Silent())
    monkeypatch.setattr(ceilings, "timer", Timer)
    monkeypatch.setattr(ceilings, "recorder", lambda *_: None)
    found = ceilings.Measured(H200)
    ceilings._all(found, quick=False, tell=lambda *_: None)
    assert [c.resource for c in found.found] == [DRAM, LAUNCH]
    assert "memory: CUDA out of memory. Tried to allocate 12 GiB" in found.notes


def test_other_processes_are_asked_for_at_each_part(monkeypatch):
    """One comes with the second part and goes before the end; its use is asked before own work."""
    asked, mine = [], SimpleNamespace(pid=os.getpid())
    there = iter([[mine], [mine, SimpleNamespace(pid=-1)], [mine]])

    class Driven(Silent):
        why_not = ""

        def ask(self, question):
            asked.append(question.removeprefix("nvmlDeviceGet"))
            return next(there) if asked[-1] == "ComputeRunningProcesses" else None

    def part(what):
        return ceilings._Part(what, 1, lambda _: asked.append(what) or [])

    monkeypatch.setattr(ceilings, "_parts", lambda *_: [part("memory"), part("launches")])
    monkeypatch.setattr(ceilings, "Driver", lambda _card: Driven())
    monkeypatch.setattr(ceilings, "timer", lambda *_: asked.append("timer") or Timer(*_))
    monkeypatch.setattr(ceilings, "recorder", lambda *_: None)
    found = ceilings.Measured(H200)
    ceilings._all(found, quick=False, tell=lambda *_: None)
    running = "ComputeRunningProcesses"
    assert asked == ["UtilizationRates", "timer", running, "memory", running, "launches", running]
    assert ceilings.device(found).note == (
        "beside this one on this GPU: no other process at first, "
        "1 other process from launches on, no other process at the end"
    )


def test_that_others_are_not_known_is_noted(monkeypatch):
    monkeypatch.setattr(ceilings, "_parts", lambda *_: [ceilings._Part("x", 1, lambda _: [])])
    monkeypatch.setattr(ceilings, "Driver", lambda _card: Silent())
    monkeypatch.setattr(ceilings, "timer", Timer)
    monkeypatch.setattr(ceilings, "recorder", lambda *_: None)
    found = ceilings.Measured(H200)
    ceilings._all(found, quick=False, tell=lambda *_: None)
    told = "whether other processes use this GPU is not known (no driver here)"
    assert ceilings.device(found).note == f"no driver here. {told}"


@pytest.mark.parametrize("quick", [False, True])
def test_work_on_sparse_operands_comes_last(monkeypatch, quick):
    """What follows it may be slower."""
    asked = []
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda _index: (1 << 40, 1 << 40))
    monkeypatch.setattr(ceilings.memory, "pool", lambda *_: None)
    monkeypatch.setattr(ceilings.ahead, "compiled", lambda *_: None)
    monkeypatch.setattr(ceilings, "count", lambda: 1)
    monkeypatch.setattr(ceilings.gemm, "gemms", lambda _, some, __: [p.resource for p in some])
    monkeypatch.setattr(ceilings.tensor, "pipes", lambda _, some: some)
    for part in ceilings._parts(ceilings.Measured(H200), None, quick):
        of_matrices = part.what.endswith(("matrix products", "matrix pipes"))
        asked.append([r.name for r in part.run(None)] if of_matrices else [part.what])
    sparse = [any("sparse" in name for name in part) for part in asked]
    whole = [name for part in asked for name in part if name.startswith("tensor-")]
    if quick:
        assert not any(sparse)
        assert sorted(whole) == sorted(2 * ["tensor-bf16", "tensor-fp16", "tensor-fp8"])
    else:
        assert sparse == [False] * (len(sparse) - 2) + [True, True]
        assert {r.name for r in ceilings.tensor.PIPES} <= set(whole)


class Silent:
    """A driver that tells nothing."""

    why_not = "no driver here"

    def settings(self):
        return {}

    def ask(self, _question):
        return None


@pytest.fixture(scope="module", params=RECORDED)
def recorded(request):
    """A recording with what is known of it."""
    return kept.read_file(DATA / request.param), *RECORDED[request.param]


@pytest.fixture(scope="module")
def h200(recorded):
    return recorded[0]


def test_the_recording_is_kept_and_read_back(h200, monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))
    assert kept.read(kept.keep(h200)) == h200


def test_the_recording_has_every_ceiling(recorded):
    h200, _, _, count, _ = recorded
    there = {c.resource for c in h200.ceilings}
    assert {DRAM, L2, L1, SHARED, PCIE, LAUNCH, DISPATCH, SFU} <= there
    assert len([r for r in there if r.name.startswith("tensor-")]) == 12
    assert len([r for r in there if r.name.startswith("vector-")]) == 5
    assert len(h200.ceilings) == len({(c.resource, c.variant) for c in h200.ceilings}) == count
    assert [t.resource for t in h200.traces] == [DRAM, TENSOR_BF16, VECTOR_FP32]


def test_every_record_says_what_it_rests_on(recorded):
    h200, mark, code, _, _ = recorded
    for c in h200.ceilings:
        conditions = c.provenance.conditions
        for part in ("driver 580", "power cap 700 W", "ECC on", "MIG off", "torch 2.11", "CUDA 13.0",
                     "triton 3.6", f"GPU {mark}", f"code {code}", "before ", "after "):  # fmt: skip
            assert part in conditions, (c.resource.name, part)
        assert c.provenance.spread.n >= 20
        assert c.provenance.spread.low <= c.rate <= c.provenance.spread.high


def test_levels_and_pipes_are_in_order(h200):
    roof = h200.in_force()
    read = [roof.ceiling(level, 1.0).rate for level in (L1, L2, DRAM)]
    assert read == sorted(read, reverse=True)
    assert roof.ceiling(TENSOR_FP8).rate > roof.ceiling(TENSOR_BF16).rate


def test_a_placement_takes_the_nearest_mix_the_library_and_the_plain_way(h200):
    roof = h200.in_force()
    assert str(roof.ceiling(DRAM, 0.5).variant) == "copy"
    assert str(roof.ceiling(DRAM, 0.6).variant) == "triad"  # 2/3 is nearer than 1/2
    assert str(roof.ceiling(TENSOR_FP8).variant) == "library"  # not "exact accumulate"
    assert str(roof.ceiling(VECTOR_FP32).variant) == "register"  # not what sgemm makes of it
    assert str(roof.ceiling(LAUNCH).variant) == "back to back"
    assert str(roof.ceiling(PCIE).variant) == "h2d, pinned"
    assert not any(c.variant.sustained for c in roof.ceilings)
    # What is measured as resident in 60 MiB of L2 is placed there, more is not.
    assert roof.innermost(50_000_000) == L2
    assert roof.innermost(70_000_000) == DRAM


def test_a_card_that_rests_between_bursts_gives_one_number():
    """Of PyTorch's own kernels two of 260 were two numbers, or still rising."""
    device = kept.read_file(DATA / RESTED)
    odd = {str(c.variant): c for c in device.ceilings if c.provenance.spread.unstable}
    assert {c.resource for c in odd.values()} == {ELEMENTS}
    assert [c.provenance.spread.unstable.split()[0].rstrip(":") for c in odd.values()] == [
        "bimodal",
        "drifting",
    ]


def test_ten_seconds_of_products_pull_the_clock_down(recorded):
    h200, _, _, _, last = recorded
    trace = next(t for t in h200.traces if t.resource == TENSOR_BF16)
    columns = (trace.clock_hz, trace.memory_clock_hz, trace.power_w, trace.temperature_c)
    assert {len(column) for column in (*columns, trace.held_back)} == {len(trace.at_s)}
    assert trace.clock_hz[-1] == last
    assert trace.held_back[-1] == "sw power cap"
    burst, sustained = (
        next(
            c.rate
            for c in h200.ceilings
            if c.resource == TENSOR_BF16 and c.variant == Variant(reach=Reach.LIBRARY, sustained=s)
        )
        for s in (False, True)
    )
    assert sustained < 0.9 * burst
