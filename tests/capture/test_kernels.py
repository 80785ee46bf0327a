"""Device kernels as the profiler reports them: joined to operators by when they were launched."""

import warnings
from dataclasses import dataclass

import pytest
import torch
from torch.autograd import DeviceType

from roofline.capture.columns import KERNEL, MEMCPY, OP, OTHER, Columns
from roofline.capture.device import kernels as module
from roofline.capture.device.clock import Clock
from roofline.capture.device.kernels import Kernel, Kernels, kind, parents, read, with_launches


@dataclass
class Event:
    """A raw event, as far as it is read."""

    label: str
    device: object
    start: int
    length: int = 1
    correlation: int = 0
    stream: int = 7
    annotation: bool = False
    said: str = ""

    def name(self):
        return self.label

    def device_type(self):
        return self.device

    def start_ns(self):
        return self.start

    def duration_ns(self):
        return self.length

    def correlation_id(self):
        return self.correlation

    def device_resource_id(self):
        return self.stream

    def device_index(self):
        return 0

    def metadata_json(self):
        return self.said

    def is_user_annotation(self):
        return self.annotation


class Shifted(Clock):
    """1000 ns on the profiler's clock is 0 on the recorder's."""

    def host(self, time):
        return time - 1000


def test_a_kernel_has_the_time_of_its_launch():
    events = [
        Event("cudaLaunchKernel", DeviceType.CPU, 1100, correlation=5),
        Event("gemm", DeviceType.CUDA, 1300, length=40, correlation=5),
        Event("cudaDeviceSynchronize", DeviceType.CPU, 1400, correlation=6),
        Event("a user's range", DeviceType.CUDA, 1300, annotation=True),
        Event("unlinked", DeviceType.CUDA, 1200, length=3, correlation=9),
    ]
    assert read(events, Shifted()) == (
        Kernel(name="unlinked", start=200, duration=3, stream=7, launched=None),
        Kernel(name="gemm", start=300, duration=40, stream=7, launched=100),
    )


def test_a_kernel_knows_how_it_was_launched():
    """4 x 2 blocks of 256 threads; with braces and without; what is no number says nothing."""
    text = '"stream": 7, "grid": [4, 2, 1], "block": [256, 1, 1], "shared memory": 0, "x": "y"'
    events = [
        Event("k", DeviceType.CUDA, 1000 + at, said=said)
        for at, said in enumerate(
            (text, f"{{{text}}}", '"grid": [0, 1]', "", "[1]", '"grid": "all"')
        )
    ]
    seen = [kernel.configuration for kernel in read(events, Shifted())]

    assert seen[0] == seen[1] == {"grid": 8.0, "block": 256.0, "shared memory": 0.0}
    assert seen[2:] == [{}, {}, {}, {}]


def test_the_profiler_is_told_to_keep_launches():
    """Its events then hold the fields of a trace, without braces."""
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], experimental_config=with_launches()
    ) as recorded:
        torch.ones(4)
    said = [event.metadata_json() for event in recorded.profiler.kineto_results.events()]

    assert any(text.startswith('"') for text in said)


def test_a_kernel_belongs_to_the_row_during_which_it_was_launched():
    columns = Columns()
    for start, duration in ((100, 50), (200, 50)):
        columns.add(0, start, duration, (OP, OTHER, 0, 0))

    def launched(moment):
        kernel = Kernel(name="k", start=900, duration=1, stream=0, launched=moment)
        return parents([kernel], columns)[0]

    assert launched(120) == (0, True)
    assert launched(250) == (1, True)
    assert launched(170) == (0, False)  # between the two: launched by nothing recorded
    assert launched(50) == (None, False)
    assert launched(None) == (1, False)


def test_the_profiler_is_started_before_the_first_call_on_a_cuda_device():
    from torch._subclasses.fake_tensor import FakeTensorMode

    from roofline.capture.book import Book
    from roofline.capture.mode import Mode
    from roofline.capture.modules import Modules

    columns, started = Columns(), []
    on_device = lambda card: started.append((len(columns), card))  # noqa: E731
    mode = Mode(columns, Book(), Modules(columns.modules), on_device=on_device)
    with mode:
        torch.ones(2).exp()
        assert started == []
        with FakeTensorMode():  # where there is no device, only a fake tensor can be on one
            torch.empty(2, device="cuda")
            torch.empty(2, device="cuda:1")
    mode.close()
    assert started == [(2, None), (2, 1)]


def test_copies_are_told_from_kernels():
    def of(name):
        return kind(Kernel(name=name, start=0, duration=1, stream=0, launched=None))

    assert of("Memcpy HtoD (Pageable -> Device)") == of("Memset (Device)") == MEMCPY
    assert of("ampere_sgemm_128x64_nn") == KERNEL


def test_clocks_are_joined_by_a_straight_line():
    clock = Clock()
    clock._readings = [(1_000, 10), (2_000, 1_020)]  # the second clock ran 1 % fast
    assert clock.host(1_000) == 10
    assert clock.host(1_500) == pytest.approx(515, abs=1)
    assert clock.host(3_000) == pytest.approx(2_030, abs=1)


def test_many_moments_are_joined_as_one_is():
    import numpy as np

    clock = Clock()
    clock._readings = [(2_100, 10), (4_200, 1_020)]  # ticks of 2.1 a nanosecond, nearly
    moments = [0, 2_100, 3_001, 4_200]
    assert clock.hosts(np.array(moments)).tolist() == [clock.host(m) for m in moments]
    # (3001 - 2100) * 1010 / 2100 = 433.3
    assert clock.host(3_001) == 443


def test_what_the_profiler_says_of_its_cycles_is_not_said_to_the_user(monkeypatch, recwarn):
    """Anything else that it has to say is."""

    class Profile:
        def start(self):
            warnings.warn("Warning: Profiler clears events at the end of each cycle.", stacklevel=1)
            warnings.warn("CUPTI is busy", stacklevel=1)

    monkeypatch.setattr(module, "profile", lambda **_: Profile())
    Kernels().start()

    assert [str(warning.message) for warning in recwarn] == ["CUPTI is busy"]
