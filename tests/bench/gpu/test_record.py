"""Samples of a GPU become ceilings that say what happened."""

import json
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

import pytest

from roofline.bench.gpu import record
from roofline.bench.gpu.card import Card, State
from roofline.bench.gpu.record import Recorder, clocks
from roofline.bench.gpu.timing import BURST_S, Effort, Load, Taken, Timer
from roofline.device import TENSOR_BF16, Reach, Variant
from roofline.provenance import Basis

CARD = Card(
    index=0, name="Toy", units=10, l2=1 << 20, memory=1 << 30, capability=90, uuid="a-b"
)  # fmt: skip
WARM = State(clock_hz=1.9e9, power_w=650.0, temperature_c=61.0, held_back="sw power cap")


def taken(rates, clocks=(), inside_hz=None):
    return Taken(
        rates=tuple(rates),
        clocks=tuple(clocks),
        inside_hz=inside_hz,
        before=State(clock_hz=1.98e9),
        after=WARM,
    )


def judged(taken):
    return record.judged(taken, TENSOR_BF16)


FALLING = [900e12 * (1 - 0.1 * i / 29) for i in range(30)]


def test_a_fall_with_the_clock_says_so():
    """Rate and clock both fall by 10 %: at equal clocks nothing happened.

    The middles of the outer thirds are 20 of 29 steps apart: 6.9 % of 900, 7.3 % of 855.
    """
    clock = [1.98e9 * (1 - 0.1 * i / 29) for i in range(30)]
    why = judged(taken(FALLING, clock))
    assert why.startswith("drifting: -7.3%")
    # 1980 MHz and 90 % of it
    assert why.endswith(
        "it follows the clock, 1980 MHz at first, 1782 at last, between 1782 and 1980"
    )


def test_a_fall_at_one_clock_is_only_a_fall():
    assert judged(taken(FALLING, [1.98e9] * 30)) == judged(taken(FALLING))
    assert "clock" not in judged(taken(FALLING))


def test_steady_samples_are_not_doubted_whatever_the_clock_did():
    assert judged(taken([1e12] * 30, [1e9] * 15 + [2e9] * 15)) == ""


def test_the_clock_inside_kernels_comes_before_the_one_between_them():
    assert taken([1.0], [2e9, 1e9, 3e9]).clock_hz == 2e9  # median
    assert taken([1.0], [2e9], inside_hz=1.7e9).clock_hz == 1.7e9
    assert taken([1.0]).clock_hz == 1.9e9  # the driver's, afterwards


def test_state_is_told_in_words():
    told = clocks(taken([1.0], [1.95e9, 1.97e9, 1.96e9], inside_hz=1.7e9))
    assert told == [
        "clock inside the kernel 1700 MHz",
        "clock between samples 1960 MHz (1950 to 1970)",
        "before 1980 MHz",
        "after 1900 MHz, 650 W, 61 C, sw power cap",
    ]


def test_a_ceiling_records_everything_it_rests_on(monkeypatch):
    monkeypatch.setattr(
        record, "versions", lambda: {"torch": "2.11", "CUDA": "13.0", "triton": "3.6"}
    )
    common = record.common(
        CARD, {"driver": "580.1", "power cap": "700 W", "ECC": "on", "MIG": "off"}
    )
    recorder = Recorder(Timer(CARD, None, Effort(count=30, sample_s=1e-3, pause_s=0.0)), common)  # type: ignore[arg-type]
    found = recorder.of(
        TENSOR_BF16, taken(FALLING), "torch.mm", ("fp32 accumulate",), Variant(reach=Reach.LIBRARY)
    )
    assert found.rate == pytest.approx(855e12)  # the middle of 900 and 810
    assert found.clock_hz == 1.9e9
    where = found.provenance
    assert (where.basis, where.source) == (Basis.MEASURED, "torch.mm")
    assert where.spread is not None
    assert where.spread.n == 30
    assert where.spread.unstable.startswith("drifting")
    for part in ("fp32 accumulate", "before 1980 MHz", "driver 580.1", "power cap 700 W", "ECC on",
                 "MIG off", "torch 2.11", "CUDA 13.0", "triton 3.6", "code "):  # fmt: skip
        assert part in where.conditions
    # The card's number is hashed: eight digits of sha256("a-b").
    assert "GPU d44362d6" in where.conditions
    assert "a-b" not in where.conditions
    assert f"{datetime.now(UTC):%Y-%m-%d}" in where.conditions


def test_unstable_samples_are_taken_once_more(monkeypatch):
    answers = [taken(FALLING), taken([1e12] * 30)]
    timer = Timer(CARD, None, Effort(count=30, sample_s=1e-3, pause_s=0.0))  # type: ignore[arg-type]
    monkeypatch.setattr(Timer, "take", lambda *_args, **_kw: answers.pop(0))
    found = Recorder(timer, ()).ceiling(TENSOR_BF16, Load(lambda _: None, 1.0), "torch.mm", ())
    assert found.rate == 1e12
    assert answers == []
    answers += [taken(FALLING), taken(FALLING)]
    still = Recorder(timer, ()).ceiling(TENSOR_BF16, Load(lambda _: None, 1.0), "torch.mm", ())
    assert still.provenance.spread is not None
    assert still.provenance.spread.unstable.startswith("drifting")


def test_the_code_hash_is_of_what_is_timed(monkeypatch, tmp_path):
    """Every source, in folders too; not what Python or a person keeps beside them."""
    monkeypatch.setattr(record, "files", lambda _: tmp_path)
    (tmp_path / "ways" / "deep").mkdir(parents=True)

    def code():
        record.code.cache_clear()
        return record.code()

    hashes = [code()]
    for name in ("a.py", "ways/a.py", "ways/deep/a.cu"):
        (tmp_path / name).write_text("timed")
        hashes.append(code())
    assert len(set(hashes)) == len(hashes)
    (tmp_path / "ways" / "a.pyc").write_bytes(b"compiled")
    (tmp_path / "notes.md").write_text("a note")
    assert code() == hashes[-1]
    record.code.cache_clear()
    assert len(hashes[-1]) == 12


POWER_CAP = json.loads(Path(__file__).with_name("power_cap.json").read_text())["loads"]


def within(load, seconds):
    """Rates and clocks of the samples that ended within so many seconds of work."""
    ends = list(accumulate(load["ms"]))
    some = [i for i, end in enumerate(ends) if end <= 1e3 * seconds]
    return [load["rate"][i] for i in some], [1e6 * load["clock"][i] for i in some]


@pytest.mark.parametrize("name", POWER_CAP)
def test_a_card_without_a_pause_meets_its_power_cap(name):
    """Recorded from rest for 90 to 110 ms: no one number, and it is the clock that moved."""
    why = judged(taken(*within(POWER_CAP[name], 1.0)))
    assert why.startswith(("drifting: -", "bimodal: "))
    assert "it follows the clock, 19" in why


@pytest.mark.parametrize("name", POWER_CAP)
def test_a_burst_ends_before_it_does(name):
    """What is taken between two pauses: the warm-up, then `BURST_S` of samples."""
    rates, clocks = within(POWER_CAP[name], 4e-3 + BURST_S)
    assert max(rates) / min(rates) < 1.02
    assert min(clocks) > 1970e6


def test_circumstances_stand_behind_the_method_and_lost_samples_are_counted():
    """What comes before the clocks is what was timed: two cards of one kind differ behind it."""
    timer = Timer(CARD, None, Effort(count=20, sample_s=1e-3, pause_s=0.0))
    found = Recorder(timer, ("torch 2.11",)).of(
        TENSOR_BF16, taken([1e12] * 18, [1.9e9] * 18), "a loop", ("fp32 accumulate",),
        circumstances=("2 other processes on cuda:1",), dropped=2,
    )  # fmt: skip
    parts = found.provenance.conditions.split("; ")
    assert parts[0] == "fp32 accumulate"
    assert parts[1].startswith("clock between samples")
    assert parts[-3:-1] == ["torch 2.11", "2 other processes on cuda:1"]
    assert (found.provenance.spread.n, found.provenance.spread.dropped) == (18, 2)


def test_a_wide_interval_is_taken_once_more_and_marked(monkeypatch):
    """15 rates of 1 to 1.7 in no order, as pageable copies are: retaken once, and it is bounded."""
    wide = taken([1e9 * (1 + 0.05 * (7 * i % 15)) for i in range(15)])
    answers = [wide, wide]
    timer = Timer(CARD, None, Effort(count=15, sample_s=1e-3, pause_s=0.0))  # type: ignore[arg-type]
    monkeypatch.setattr(Timer, "take", lambda *_args, **_kw: answers.pop(0))
    found = Recorder(timer, ()).ceiling(TENSOR_BF16, Load(lambda _: None, 1.0), "copy", ())
    assert answers == []
    assert found.provenance.spread.unstable.startswith("wide: 95 % of the median between ")
