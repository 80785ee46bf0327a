"""The whole measurement: once for real, and its edges with parts that are made up."""

import os
import signal
import subprocess
import sys
from datetime import UTC, date, datetime

import pytest

from roofline.bench import cpu
from roofline.bench.cpu import ceilings, host, lacking
from roofline.bench.cpu.crew import Crew
from roofline.bench.cpu.matrix import Effort, _fallback, product, products, without_fallbacks
from roofline.bench.record import Absent
from roofline.device import (
    DISPATCH,
    DRAM,
    L1,
    L2,
    L3,
    SFU,
    TENSOR_BF16,
    TENSOR_FP16,
    TENSOR_FP16_ACC16,
    TENSOR_FP64,
    TENSOR_INT8,
    TENSOR_TF32,
    VECTOR_FP32,
    VECTOR_FP64,
    VECTOR_INT32,
    Ceiling,
    Fact,
    Reach,
    Resource,
    Variant,
)
from roofline.devices import kept
from roofline.provenance import Basis, Provenance

TOY = Provenance(basis=Basis.MEASURED, source="toy", as_of=date(2026, 1, 1))


def ceiling(resource: Resource, rate: float, **variant) -> Ceiling:
    return Ceiling(resource=resource, rate=rate, variant=Variant(**variant), provenance=TOY)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """One real measurement, quick; how fast this machine is does not matter below."""
    import torch

    patch = pytest.MonkeyPatch()
    patch.setenv("ROOFLINE_HOME", str(tmp_path_factory.mktemp("home")))
    before = torch.get_num_threads(), os.sched_getaffinity(0)
    heard: list[tuple[str, float]] = []
    device = cpu.measure(quick=True, progress=lambda what, share: heard.append((what, share)))
    assert (torch.get_num_threads(), os.sched_getaffinity(0)) == before
    yield device, heard
    patch.undo()


def test_every_ceiling_says_how_it_was_measured(measured):
    device, _ = measured
    assert device.id == cpu.device_id()
    assert device.kind == "cpu"
    for c in device.ceilings:
        provenance, spread = c.provenance, c.provenance.spread
        assert provenance.basis is Basis.MEASURED
        assert abs((provenance.as_of - datetime.now(UTC).date()).days) <= 1
        assert device.name in provenance.conditions
        assert "pinned to CPU" in provenance.conditions
        assert (
            f"{spread.n} of {spread.n + spread.dropped} samples undisturbed"
            in provenance.conditions
        )
        assert c.rate == spread.median
        assert spread.q1 <= spread.median <= spread.q3 <= spread.best
        assert c.variant.threads is not None


def test_levels_get_slower_and_larger_outwards(measured):
    device, _ = measured
    for access in ("read", "copy", "triad", "update", "write"):
        for threads in {c.variant.threads for c in device.ceilings}:
            of = {
                c.resource: c
                for c in device.ceilings
                if c.variant.access == access and c.variant.threads == threads
            }
            path = [of[level] for level in (L1, L2, L3, DRAM) if level in of]
            held = [c.capacity for c in path if c.capacity]
            assert held == sorted(held)
            best = [c.provenance.spread.best for c in path]
            assert best == sorted(best, reverse=True)


def test_what_was_looked_for_is_there_or_named(measured):
    """Every level and access, registers and products: a ceiling, or a sentence in the note."""
    device, _ = measured
    have = {(c.resource.name, str(c.variant)) for c in device.ceilings}
    for name, variant in (
        ("l1", "read, 1 thread"),
        ("l2", "copy, 1 thread"),
        ("dram", "read, 1 thread"),
        ("dram", "copy, 1 thread"),
        ("dram", "triad, 1 thread"),
        ("vector-fp32", "1 thread, register"),
        ("vector-fp64", "1 thread, register"),
        ("vector-fp32", "1 thread, library"),
        ("vector-fp64", "1 thread, library"),
        ("tensor-bf16", "1 thread, library"),
        ("tensor-int8", "1 thread, library"),
        ("dispatch", "1 thread"),
    ):
        assert (name, variant) in have or f"{name} {variant}" in device.note, (name, variant)


def test_progress_never_goes_back_and_ends(measured):
    shares = [share for _, share in measured[1]]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_measurement_can_be_kept_and_read_again(measured, monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))
    kept.keep(measured[0])
    assert kept.newest(cpu.device_id()) == measured[0]


# What large caches cost.


@pytest.mark.parametrize(
    ("l3", "free", "quick", "full"),
    [(32, 64, 512, 1024), (300, 64, 1200, 2400), (300, 2, 512, 512), (None, 64, 512, 1024)],
)  # MiB, GiB, MiB, MiB: 16 and 32 times 32 MiB; 4 and 8 times 300; a quarter of what is free
def test_the_largest_set_lies_beyond_the_caches_and_no_further_than_needed(
    l3, free, quick, full, monkeypatch
):
    monkeypatch.setattr(host, "caches", lambda _: {L3: l3 << 20} if l3 else {})
    monkeypatch.setattr(host, "free_memory", lambda: free << 30)
    for depth, largest in ((ceilings._QUICK, quick), (ceilings._FULL, full)):
        assert ceilings._plan(depth, (0,)).largest == largest << 20


# Interruption.


def part(*found, error: type[BaseException] | None = None):
    def run(_):
        yield from found
        if error is not None:
            raise error

    return ceilings._Part("toy", 1.0, run)


def parts(monkeypatch, *chosen) -> None:
    """A measurement of these parts, on a machine whose page faults cost 2 us."""
    fault = Fact(name="page_fault", value=2e-6, unit="s", provenance=TOY)
    monkeypatch.setattr(ceilings, "_parts", lambda *_: iter(chosen))
    monkeypatch.setattr(ceilings, "page_fault", lambda *_: fault)


ONE = ceiling(DRAM, 1e10, access="read", threads=1)
TWO = ceiling(VECTOR_FP32, 1e11, threads=1, reach=Reach.REGISTER)
GONE = Absent(L3, Variant(access="copy", threads=1), "no plateau in working sets of 1 B to 2 B")


def test_ctrl_c_gives_what_is_there_and_says_that_it_is_partial(monkeypatch):
    parts(monkeypatch, part(ONE), part(TWO, error=KeyboardInterrupt), part(GONE))
    with pytest.raises(cpu.Stopped) as stopped:
        cpu.measure()
    assert stopped.value.device.ceilings == (ONE, TWO)
    assert stopped.value.device.note == "partial: interrupted before everything was measured"


def test_ctrl_c_before_the_first_ceiling_gives_nothing(monkeypatch):
    parts(monkeypatch, part(error=KeyboardInterrupt))
    with pytest.raises(cpu.Stopped) as stopped:
        cpu.measure()
    assert stopped.value.device is None


def test_what_is_absent_is_named_in_the_note(monkeypatch):
    parts(monkeypatch, part(ONE, GONE))
    device = cpu.measure(quick=True)
    assert device.note == (
        "a quick measurement\nno plateau in working sets of 1 B to 2 B: l3 copy, 1 thread"
    )


INTERRUPTED = """
import os, signal, sys
from roofline.bench import cpu
from roofline.devices import kept
sent = []
def progress(what, share):
    if what == "memory, 1 thread" and share > 0.15 and not sent:
        sent.append(os.kill(os.getpid(), signal.SIGINT))
try:
    cpu.measure(quick=True, progress=progress)
except cpu.Stopped as stopped:
    kept.keep(stopped.device)
    sys.exit(7)
"""


def test_a_real_signal_in_the_middle_of_a_sweep(monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (7, b"")
    device = kept.newest(cpu.device_id())
    assert device.note.startswith("partial: ")
    assert {c.variant.threads for c in device.ceilings} == {1}
    assert DISPATCH in {c.resource for c in device.ceilings} or "dispatch" in device.note


# Pipes that a CPU lacks.


def stands_in(present, lacking_here) -> dict:
    return {m.lacks: (m.uses, m.why) for m in lacking.mapped(present, lacking_here)}


def test_a_lacking_pipe_is_taken_as_what_does_its_work_and_says_why():
    table = stands_in({VECTOR_FP32, VECTOR_FP64, TENSOR_BF16}, {TENSOR_FP16: "a slow fallback"})
    assert table[TENSOR_FP64][0] == VECTOR_FP64
    assert table[TENSOR_TF32][0] == VECTOR_FP32
    assert table[TENSOR_FP16] == (VECTOR_FP32, "a slow fallback")
    assert table[TENSOR_FP16_ACC16][0] == VECTOR_FP32
    assert TENSOR_BF16 not in table  # it was measured


def test_a_pipe_that_was_only_disturbed_is_unknown_and_not_lacking():
    table = stands_in({VECTOR_FP32, VECTOR_INT32}, {})
    for unknown in (TENSOR_BF16, TENSOR_FP16, TENSOR_FP16_ACC16, TENSOR_INT8, TENSOR_FP64):
        assert unknown not in table


def test_fp16_with_a_pipe_of_its_own_serves_both_accumulators():
    table = stands_in({VECTOR_FP32, TENSOR_FP16}, {})
    assert table[TENSOR_FP16_ACC16][0] == TENSOR_FP16
    assert TENSOR_FP16 not in table


EFFORT = Effort(largest=128, count=2, sample_s=1e-4, slowest_s=1.0, search_s=1.0, least_s=0.0)


def one_product(effort: Effort, dtype: str = "float32", way: str = "torch.mm"):
    import torch

    before = torch.get_num_threads()
    try:
        with Crew([host.cores()[:1]]) as leader:
            return product(leader, VECTOR_FP32, dtype, (way,), 1, effort, ("toy CPU",))
    finally:
        torch.set_num_threads(before)


def library(resource: Resource, rate: float) -> Ceiling:
    return ceiling(resource, rate, threads=1, reach=Reach.LIBRARY)


def test_a_half_type_slower_than_half_of_fp32_is_a_fallback():
    fp32 = library(VECTOR_FP32, 100e9)
    slow = _fallback(library(TENSOR_FP16, 49e9), fp32)
    assert slow == Absent(
        TENSOR_FP16,
        fp32.variant,
        "torch only has a slow fallback, 49.0 Gflop/s on one thread",
        lasting=True,
    )
    assert _fallback(library(TENSOR_FP16, 50e9), fp32) is None
    assert _fallback(library(VECTOR_FP64, 1e9), fp32) is None
    assert _fallback(library(TENSOR_FP16, 1e9), GONE) is None


def test_fallbacks_are_told_when_everything_is_sampled():
    """133 of fp16 stand beside 100 of fp32; 4 of bf16 do not, whatever the other rates are."""
    found = [
        ceiling(SFU, 1e9, threads=1, reach=Reach.LIBRARY, way="exp"),
        library(VECTOR_FP32, 100e9),
        library(TENSOR_BF16, 4e9),
        library(TENSOR_FP16, 133e9),
        GONE,
    ]
    after = without_fallbacks(found)
    assert [after[i] for i in (0, 1, 3, 4)] == [found[i] for i in (0, 1, 3, 4)]
    assert isinstance(after[2], Absent)
    assert without_fallbacks([GONE, found[2]]) == [GONE, found[2]]  # nothing to compare with


def test_what_one_thread_found_lacking_is_not_tried_with_more():
    every = (VECTOR_FP32, VECTOR_FP64, TENSOR_BF16, TENSOR_FP16, TENSOR_INT8)
    found = list(products(None, 2, EFFORT, (), dict.fromkeys(every, "torch refuses")))
    variant = Variant(threads=2, reach=Reach.LIBRARY)
    assert found == [Absent(r, variant, "torch refuses", lasting=True) for r in every]


def test_a_product_torch_does_not_know_is_named_with_torchs_reason():
    found = one_product(EFFORT, "float32", "torch._int_mm")
    assert isinstance(found, Absent)
    assert found.why.startswith("torch refuses: ")
    assert found.lasting


def test_signal_is_the_default_one_afterwards():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
