"""Counters sampled in the process: bytes of kernels whose traffic is known, and of steps."""

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu
if not torch.cuda.is_available():
    pytest.skip("no GPU that torch can use", allow_module_level=True)

import roofline as rl  # noqa: E402
from roofline.device import DRAM, L2  # noqa: E402
from roofline.program import read  # noqa: E402

N = 1 << 26  # fp32 elements: 268 MB, several times the L2


def recorded(levels: bool = False, card: str = "cuda"):
    x, y = torch.rand(N, device=card), torch.empty(N, device=card)
    with rl.profile(warmup=1, counters=True, levels=levels) as recording:
        for _ in range(4):
            for _ in range(5):
                torch.add(x, 1.0, out=y)
            torch.cuda.synchronize(card)
            recording.step()
    return recording


@pytest.fixture(scope="module")
def recording():
    return recorded()


def test_a_call_reads_and_writes_what_its_formula_says(recording):
    (item,) = [i for i in read(recording.run).by("call") if i.name == "aten::add"]
    achieved = item.placement.work.achieved
    # One operand of 4 N bytes in, one out.
    assert achieved.traffic(DRAM, "read") / item.calls == pytest.approx(4 * N, rel=0.01)
    assert achieved.traffic(DRAM, "write") / item.calls == pytest.approx(4 * N, rel=0.01)
    assert all("CUPTI PM sampling, this run" in entry.why for entry in achieved.entries)


def test_a_step_is_its_five_calls(recording):
    for step in recording.run.steps[1:]:
        assert step.counters["dram__bytes_read.sum"] == pytest.approx(5 * 4 * N, rel=0.01)
    document = recording.document()
    assert document["program"]["excess"]["dram"] == pytest.approx(1, rel=0.02)
    assert document["items"][0]["excess"]["dram"] == pytest.approx(1, rel=0.02)


def test_it_is_said_how_counters_were_taken(recording):
    assert "every 1 us while the program ran" in recording.run.recorder.counters
    assert not [gap for gap in recording.run.gaps if gap.name == "counters"]


def test_levels_add_what_the_sms_ask_of_the_l2():
    (item,) = [i for i in read(recorded(levels=True).run).by("call") if i.name == "aten::add"]
    crossed = item.placement.work.achieved.demand()
    assert crossed[L2] / item.calls == pytest.approx(8 * N, rel=0.01)
    assert crossed[DRAM] / item.calls == pytest.approx(8 * N, rel=0.01)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one card has no second")
def test_the_card_that_is_used_is_sampled_and_not_the_current_one():
    run = recorded(card="cuda:1").run

    assert torch.cuda.current_device() == 0
    assert [step.counters["dram__bytes_read.sum"] for step in run.steps[1:]] == [
        pytest.approx(5 * 4 * N, rel=0.01)
    ] * 3
