"""What findings say of each other: doubts silence, replays explain, and no step saves more than itself."""

from dataclasses import replace

import pytest

from roofline import diagnosis
from roofline.device import TENSOR_BF16, Ceiling, Reach, Variant
from roofline.diagnosis import Finding, _names_only, diagnose
from roofline.program import read
from roofline.runfile import Event, Run, Signature, Step, table
from tests.program.test_replays import CARD, MUL, PROFILER, SIGNATURES, launch
from tests.roofs import STATED
from tests.runs import RECORDER, call, tensor

X = tensor(1_000_000)
RELU = Signature(name="aten::relu", call=call("aten::relu", X, out=X))
A = tensor(1024, 1024, dtype="bf16")
MM = Signature(name="aten::mm", call=call("aten::mm", A, A, out=A))  # 2.147 Gflop


def replayed(written_b):
    """One mul whose kernel takes 11.8 us, and 12 us when it is replayed."""
    call, kernel = (
        Event(signature=at, kind=kind, step=0, start_ns=0, duration_ns=11_800, parent=parent)
        for at, kind, parent in ((0, "op", None), (1, "kernel", 0))
    )
    again = launch(1, 12.0, written_b=written_b)
    return Run(
        recorder=RECORDER, device=CARD, signatures=SIGNATURES, gaps=(), replays=PROFILER,
        steps=(Step(start_ns=0, duration_ns=12_000),), events=table([call, kernel, again]),
    )  # fmt: skip


def finding(program, code):
    (found,) = (f for f in diagnose(program) if f.code == code)
    return found


def test_a_replay_says_which_writes_never_crossed():
    """12 MB by formula in 11.8 us: 102 % of 1 TB/s.  10.8 MB crossed in the replay's 12 us: 90 %."""
    program, whole = (read(replayed(written_b)) for written_b in (2.8e6, 4e6))

    claim = (
        "is at 90% of its dram roof by what its replay counted, 102% by its formula, with no byte"
    )
    assert claim in finding(program, "RF102").claim
    assert any("writes were still dirty in the L2" in e for e in finding(program, "RF102").evidence)
    assert not any("dirty" in line for line in finding(whole, "RF102").evidence)


def test_calls_beside_each_other_save_no_more_than_the_step():
    """Eight relus of 90 us, all at once: 720 us of calls in a step of 100 us."""
    events = [
        Event(signature=0, kind="op", step=0, start_ns=0, duration_ns=1_000)
        for _ in range(8)
    ] + [
        Event(signature=1, kind="kernel", step=0, start_ns=10_000, duration_ns=90_000, parent=at,
              stream=at)
        for at in range(8)
    ]  # fmt: skip
    run = Run(
        recorder=RECORDER, device=CARD, signatures=(RELU, Signature(name="relu_kernel")),
        steps=(Step(start_ns=0, duration_ns=100_000),), gaps=(), events=table(events),
    )  # fmt: skip
    program = read(run)

    assert program.whole.step_s == pytest.approx(100e-6)
    assert all((f.saves_s or 0) <= 100e-6 * (1 + 1e-9) for f in diagnose(program))
    assert any("run beside each other" in line for f in diagnose(program) for line in f.evidence)


@pytest.mark.parametrize(("us", "said"), [(2.0, True), (2.8, False)])
def test_a_product_above_the_library_s_best_shows_that_this_is_low(us, said):
    """2.147 Gflop in 2 us are 1.07 Pflop/s, in 2.8 us 767 T: 1.34 and 0.96 of 800, below 1,200."""
    best, loop = (
        Ceiling(resource=TENSOR_BF16, rate=rate, provenance=STATED, variant=Variant(reach=reach))
        for rate, reach in ((800e12, Reach.LIBRARY), (1_200e12, Reach.REGISTER))
    )
    card = replace(CARD, ceilings=(best, loop))
    events = [Event(signature=0, kind="region", step=0, start_ns=0, duration_ns=int(us * 1000))]
    run = Run(recorder=RECORDER, device=card, signatures=(MM,),
              steps=(Step(start_ns=0, duration_ns=int(us * 1000)),), gaps=(), events=table(events))  # fmt: skip
    found = [f for f in diagnose(read(run)) if f.code == "RF001"]

    assert bool(found) is said
    if said:
        assert "1.34 times as fast as the library's best product" in found[0].claim
        assert "1.20 Pflop/s in registers" in found[0].evidence[1]
        assert found[0].doubt_s is None


def test_advice_on_lines_that_are_all_in_doubt_is_silent():
    advice = Finding(code="RF105", item="", claim="", evidence=(), next_step="", wrong_if="")

    assert not _names_only(advice, {"aten::cat"})
    assert _names_only(replace(advice, items=("aten::cat",)), {"aten::cat"})
    assert not _names_only(replace(advice, items=("aten::cat", "aten::clone")), {"aten::cat"})
    assert _names_only(replace(advice, item=MUL.name), {MUL.name})


def test_what_saves_nothing_that_is_printed_is_not_said(monkeypatch):
    """10 us of a step of 43.3 s: 43.3 -> 43.3 s is no advice; 10 of 100 us are."""
    told = Finding(code="RF105", item="", claim="", evidence=(), next_step="", wrong_if="",
                   saves_s=10e-6, now_s=43.3, then_s=(43.3 - 10e-6, 43.3))  # fmt: skip
    felt = replace(told, now_s=100e-6, then_s=(90e-6, 100e-6))
    nothing_to_win = replace(told, code="RF102", saves_s=0.0)
    monkeypatch.setattr(diagnosis, "ADVICE", (lambda _: iter((told, felt, nothing_to_win)),))
    assert diagnose(read(replayed(4e6))) == (felt, nothing_to_win)
