"""The hardware counters of one recording: sampled while the program runs, or why they were not.

Decoding takes three to five microseconds a sample, more than a sample lasts at the finest interval:
the device is sampled in windows, with pauses in which the last window is decoded by a thread of its
own.  The counters themselves never pause: the first sample of a window holds everything since the
end of the window before.
"""

import threading
from collections.abc import Callable, Iterator
from time import perf_counter_ns, sleep

import numpy as np
import torch

from roofline.capture.device.clock import Clock
from roofline.capture.sampling.bindings import NO_PRIVILEGE, Cupti, CuptiError, load
from roofline.capture.sampling.join import Samples
from roofline.capture.sampling.session import Image, Session
from roofline.errors import Missing
from roofline.runfile import Gap

DRAM_BYTES = ("dram__bytes_read.sum", "dram__bytes_write.sum")
L2_SECTORS = ("lts__t_sectors_srcunit_tex.sum",)  # 32 B that the SMs asked the L2 for
BUFFER_BYTES = 256 << 20
# Bytes of the buffer that a sample takes, at most; with sectors of the L2 every slice has its own.
RAW_BYTES, RAW_BYTES_L2 = 2304, 8192
SHORT_S = 0.015  # the first window; each is twice as long as the one before, until it is full
WINDOWS = 2  # how many full windows are kept, the latest
SLACK_NS = 500  # seen between the edges of kernels and of what they moved
_PATIENCE_S = 10.0
_GLANCE_S = 0.001

_OTHER_WAY = "`roofline ncu` counts by running kernels again"
_PERMISSION = (
    "this user may not read the GPU's counters: load the driver with "
    "NVreg_RestrictProfilingToAdminUsers=0, or give the process CAP_SYS_ADMIN; "
    "`roofline ncu` needs the same"
)


class Sampler:
    """Samples one device from its first use to the end of a recording.

    It never raises: a program runs and is recorded with counters or without.  `failure` says why
    there are none, or why there are no more.
    """

    def __init__(
        self,
        *,
        levels: bool = False,
        interval_us: float = 1.0,
        library: Callable[[], Cupti] = load,
    ):
        self.samples: Samples | None = None
        self.device = 0  # the CUDA device that is sampled
        self.failure = ""
        self.interval_ns = round(1000 * interval_us)
        self.metrics = (*DRAM_BYTES, *L2_SECTORS) if levels else DRAM_BYTES
        self._full = BUFFER_BYTES // (RAW_BYTES_L2 if levels else RAW_BYTES)  # samples of a window
        self._library = library
        self._session: Session | None = None
        self._clock: Clock | None = None
        self._images: list[Image] = []
        self._tried = False
        self._thread: threading.Thread | None = None
        self._wake, self._sampling = threading.Event(), threading.Event()
        self._over = False  # asked for by `stop`
        self._forget = False  # asked for by `afresh`, until it is done

    @property
    def window_s(self) -> float:
        """How long the device is sampled without a pause."""
        return self._full * self.interval_ns * 1e-9

    def start(self, card: int | None = None) -> None:
        """Start, once, on the CUDA device `card`, the current one if None.

        After the profiler, which may set the clock.
        """
        if self._tried or not torch.cuda.is_available():
            return
        self._tried = True
        try:
            self.device = torch.cuda.current_device() if card is None else card
            torch.cuda.synchronize(self.device)  # there must be a context
            cupti = self._library()
            self._session = Session(
                cupti, self.device, self.metrics, self.interval_ns, BUFFER_BYTES
            )
            self._clock = Clock(cupti.timestamp)
        except (CuptiError, Missing) as error:
            self.failure = _why(error)
            return
        self._thread = threading.Thread(target=self._roll, args=(self._session,), daemon=True)
        self._thread.start()
        self._sampling.wait(_PATIENCE_S)

    def afresh(self) -> None:
        """Drop what was sampled; a full window begins before this returns."""
        if self._thread is None:
            return
        self._forget = True
        self._wake.set()
        while self._forget and self._thread.is_alive():
            sleep(_GLANCE_S)

    def stop(self) -> None:
        """Stop, read what was kept, and give the device back; before the profiler stops."""
        session, self._session = self._session, None
        if session is None or self._clock is None or self._thread is None:
            return
        torch.cuda.synchronize(self.device)
        self._over = True
        self._wake.set()
        self._thread.join()
        try:
            self._clock.read()
            self.samples = self._read(session, self._clock)
            session.close()
        except CuptiError as error:
            self.failure = self.failure or _why(error)
        self._images = []

    def gaps(self) -> Iterator[Gap]:
        """Said when counters were asked for and are not there."""
        if self.failure:
            yield Gap(name="counters", what=self.failure)
        elif not self._tried:
            what = "counters were asked for, and nothing ran on an NVIDIA GPU"
            yield Gap(name="counters", what=what)

    def _roll(self, session: Session) -> None:
        """Window after window, in a thread of its own."""
        window_s, dropped = SHORT_S, False
        try:
            while not self._over:
                began = perf_counter_ns()
                session.start()
                if dropped:
                    window_s, dropped, self._forget = self.window_s, False, False
                self._sampling.set()
                self._wake.clear()
                if not (self._over or self._forget):
                    self._wake.wait(window_s)
                session.stop()
                lasted_ns = perf_counter_ns() - began
                image = session.decode(room=round(1.1 * lasted_ns / self.interval_ns) + 1000)
                if self._forget:
                    self._images.clear()
                    dropped = True
                else:
                    self._keep(image)
                window_s = min(2 * window_s, self.window_s)
        except CuptiError as error:
            self.failure = _why(error)
        finally:
            self._sampling.set()

    def _keep(self, image: Image) -> None:
        """Beside it, the windows before it as far as there is room for them."""
        if image.lost:
            self.failure = "some samples were lost: more came than there was room for"
        self._images.append(image)
        while sum(kept.samples for kept in self._images[1:]) > (WINDOWS - 1) * self._full:
            del self._images[0]

    def _read(self, session: Session, clock: Clock) -> Samples | None:
        portions = [session.read(image) for image in self._images]
        if not portions:
            return None
        # The first sample reaches back to whatever was sampled last, perhaps by another program.
        starts, ends, values = (np.concatenate(each)[1:] for each in zip(*portions, strict=True))
        return Samples(
            metrics=self.metrics,
            starts=clock.hosts(starts),
            ends=clock.hosts(ends),
            values=values,
            slack_ns=SLACK_NS,
        )


def _why(error: CuptiError | Missing) -> str:
    """One sentence: what is wrong, and what there is instead."""
    if isinstance(error, CuptiError) and error.code in NO_PRIVILEGE:
        return _PERMISSION
    return f"the GPU's counters could not be sampled: {error}; {_OTHER_WAY}"
