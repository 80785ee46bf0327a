"""Device kernels of a CUDA program: timed by PyTorch's profiler, joined to what launched them.

An operator on a CUDA device returns when its kernels are queued, so its own duration says nothing
about them.  CUPTI times the kernels; each belongs to the operator or region during which the host
launched it.  The profiler starts with the first call that has to do with a CUDA device.
"""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from roofline.capture.columns import KERNEL, MEMCPY, Columns
from roofline.capture.device.clock import Clock
from roofline.capture.device.launched import configuration
from roofline.capture.sampling.sampler import Sampler
from roofline.runfile import Gap

_COPIES = ("Memcpy", "Memset")


@dataclass(frozen=True, slots=True)
class Kernel:
    """One thing that ran on a device; times are nanoseconds of `time.perf_counter_ns`."""

    name: str
    start: int
    duration: int
    stream: int
    launched: int | None  # when the host asked for it; None is not recorded
    device: int = 0  # among the CUDA devices of the process
    configuration: dict[str, float] = field(default_factory=dict)  # grid, block, registers, ...


class Kernels:
    """The profiler of one recording, and its sampler; does nothing unless a CUDA device is used."""

    def __init__(self, sampler: Sampler | None = None) -> None:
        self.kernels: tuple[Kernel, ...] = ()
        self.sampler = sampler
        self._profile: Any = None
        self._clock: Clock | None = None
        self._failure = ""
        self._cards: set[int | None] = set()  # that were used; None is the current one

    def start(self, card: int | None = None) -> None:
        """Start the profiler, once; `card` is the CUDA device about to be used."""
        self._cards.add(card)
        if self._clock is not None:
            return
        self._clock = Clock()
        self._profile = profile(
            activities=[ProfilerActivity.CUDA], experimental_config=with_launches()
        )
        try:
            with warnings.catch_warnings():  # there is one cycle, and its events are all of them
                warnings.filterwarnings("ignore", ".*Profiler clears events")
                self._profile.start()
        except RuntimeError as error:
            self._failure, self._profile = str(error).splitlines()[0], None
        if self.sampler is not None:
            self.sampler.start(card)

    def stop(self) -> None:
        """Wait for the device, stop the profiler and read what it saw."""
        if self.sampler is not None:
            self.sampler.stop()
        if self._profile is None or self._clock is None:
            return
        for card in self._cards:
            torch.cuda.synchronize(card)
        self._profile.stop()
        self._clock.read()
        self.kernels = read(self._profile.profiler.kineto_results.events(), self._clock)
        self._profile = None

    def gaps(self) -> tuple[Gap, ...]:
        """Said when there should be device times, or counters, and are none."""
        found = [] if self.sampler is None else [*self.sampler.gaps()]
        if self._failure:
            what = f"the program used a CUDA device and its kernels were not timed: {self._failure}"
            found.append(Gap(name="device times", what=what))
        return tuple(found)


def with_launches() -> Any:
    """The profiler's configuration that keeps how kernels were launched; None where it has none."""
    from torch._C._profiler import _ExperimentalConfig

    try:
        return _ExperimentalConfig(expose_kineto_event_metadata=True)
    except TypeError:
        return None


def read(events: Iterable[Any], clock: Clock) -> tuple[Kernel, ...]:
    """Kernels, copies and fills in the profiler's raw events, in order of their start."""
    events = list(events)
    launches = {
        e.correlation_id(): clock.host(e.start_ns())
        for e in events
        if e.device_type() == torch.autograd.DeviceType.CPU and e.correlation_id()
    }
    found = [
        Kernel(
            name=e.name(),
            start=clock.host(e.start_ns()),
            duration=e.duration_ns(),
            stream=e.device_resource_id(),
            launched=launches.get(e.correlation_id()),
            device=e.device_index(),
            configuration=configuration(e.metadata_json() if hasattr(e, "metadata_json") else ""),
        )
        for e in events
        if e.device_type() == torch.autograd.DeviceType.CUDA and not e.is_user_annotation()
    ]
    return tuple(sorted(found, key=lambda kernel: kernel.start))


def parents(kernels: Sequence[Kernel], columns: Columns) -> list[tuple[int | None, bool]]:
    """The last row that began before each kernel was launched, and whether it ran still.

    What was launched while no recorded row ran (a kernel called directly) has no parent.
    """
    starts = columns.start
    ends = starts + columns.duration
    order = np.argsort(starts, kind="stable")
    ordered = starts[order]
    found: list[tuple[int | None, bool]] = []
    for kernel in kernels:
        moment = kernel.start if kernel.launched is None else kernel.launched
        place = int(np.searchsorted(ordered, moment, side="right")) - 1
        row = int(order[place]) if place >= 0 else None
        inside = row is not None and kernel.launched is not None and moment <= ends[row]
        found.append((row, bool(inside)))
    return found


def kind(kernel: Kernel) -> int:
    """Whether it computes or only copies or fills."""
    return MEMCPY if kernel.name.startswith(_COPIES) else KERNEL
