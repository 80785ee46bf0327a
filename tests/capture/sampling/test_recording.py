"""A recording that was asked for counters: what it has, and what it says without a GPU."""

import numpy as np
import torch

from roofline.capture.device.kernels import Kernel
from roofline.capture.recording import Recording
from roofline.capture.sampling.join import Samples
from roofline.capture.sampling.sampler import Sampler
from roofline.runfile import Gap

READ = "dram__bytes_read.sum"


def test_a_program_without_a_gpu_is_recorded_and_told():
    with Recording(sampler=Sampler()) as recording:
        torch.ones(4).exp()
    run = recording.result
    assert run.events.num_rows == 2
    assert run.recorder.counters == ""
    assert [gap for gap in run.gaps if gap.name == "counters"] == [
        Gap(name="counters", what="counters were asked for, and nothing ran on an NVIDIA GPU")
    ]


class Toy(Sampler):
    """Samples nothing, and was made afresh so often."""

    afresh_calls = 0

    def afresh(self):
        self.afresh_calls += 1

    def gaps(self):
        return iter(())


def test_counters_of_kernels_stand_in_their_rows(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda card: "NVIDIA H200")
    sampler = Toy()
    with Recording(sampler=sampler) as recording:
        for _ in range(3):
            torch.ones(4).exp()
            recording.step()
        # Two kernels of the last exp, as a profiler would have told, and samples around them.
        launch = recording._columns.start[-1] + 1
        kernels = recording._kernels
        kernels.kernels = tuple(
            Kernel(name="k", start=launch + at, duration=50_000, stream=7, launched=int(launch))
            for at in (100_000, 200_000)
        )
        starts = launch + 1000 * np.arange(400)
        sampler.samples = Samples(
            metrics=(READ,), starts=starts, ends=starts + 1000, values=np.full((400, 1), 4e6),
            slack_ns=100,
        )  # fmt: skip
    run = recording.result
    assert sampler.afresh_calls == 1  # when the warm-up ended
    rows = run.rows()
    first, second = (row for row in rows if row["kind"] == "kernel")
    # 50 us of samples of 4 MB, and what the clocks leave open at both ends.
    assert 50 * 4e6 <= first["counters"][READ] <= 52 * 4e6
    assert rows[first["parent"]]["kind"] == "op"
    assert second["counters"]
    assert not any(row["counters"] for row in rows if row["kind"] == "op")
    # From the start of the first to the end of the second: 150 us.
    assert 149 * 4e6 <= run.steps[2].counters[READ] <= 151 * 4e6
    assert run.recorder.counters.endswith("2 of 2 kernels and 1 of 2 measured steps counted")
