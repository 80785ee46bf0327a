"""A CUPTI that samples a device of ours: a steady 1000 B read and 10 B written each microsecond.

Time is the real one; a timestamp is a tick of half a nanosecond, so that it has to be converted.
"""

import ctypes
from time import perf_counter_ns
from types import SimpleNamespace

from roofline.capture.sampling.bindings import COUNTER_DATA_FULL, CuptiError

TICKS = 2  # a nanosecond
EXTRA = 5_000_000  # B that the device had moved before it was first sampled


class ToyCupti:
    """As far as a session calls it.  `fails` maps a function to the status that it answers."""

    def __init__(self, interval_ns=20_000):
        self.interval_ns = interval_ns
        self.fails = {}
        self.calls = []
        self.cards = []  # that were asked about, call by call
        self.room = 1 << 30  # samples that fit an image at most
        self._since = None  # ticks: since when what was moved is in no sample yet
        self._begun = None
        self._samples = []
        self._images = {}

    def timestamp(self):
        return TICKS * perf_counter_ns()

    def call(self, function, **given):
        self.calls.append(function)
        self.cards += [given["deviceIndex"]] if "deviceIndex" in given else []
        status = self.fails.get(function)
        if status:
            raise CuptiError(function, status, "CUPTI_ERROR_OF_A_TEST")
        return getattr(self, function, lambda **_: SimpleNamespace())(**given)

    def ready(self, function, **given):
        structure = SimpleNamespace(**given)
        return structure, lambda: getattr(self, function)(structure)

    def cuptiDeviceGetChipName(self, **_):
        return SimpleNamespace(pChipName=b"TOY")

    def cuptiPmSamplingGetCounterAvailability(self, **_):
        return SimpleNamespace(counterAvailabilityImageSize=8)

    def cuptiProfilerHostInitialize(self, **_):
        return SimpleNamespace(pHostObject=1)

    def cuptiProfilerHostGetConfigImageSize(self, **_):
        return SimpleNamespace(configImageSize=8)

    def cuptiPmSamplingEnable(self, **_):
        return SimpleNamespace(pPmSamplingObject=2)

    def cuptiPmSamplingStart(self, **_):
        self._begun = self.timestamp()

    def cuptiPmSamplingStop(self, **_):
        """The first sample reaches back to the last stop; the others are of the interval."""
        now, length = self.timestamp(), TICKS * self.interval_ns
        edges = [*range(self._begun, now, length)]
        first = edges[0] - length if self._since is None else self._since
        extra = EXTRA if self._since is None else 0
        for start, end in zip([first, *edges], edges, strict=False):
            us = (end - start) / TICKS / 1000
            self._samples.append((start, end, 1000 * us + extra, 10 * us))
            extra = 0
        self._since = edges[-1]

    def cuptiPmSamplingGetCounterDataSize(self, maxSamples, **_):
        return SimpleNamespace(counterDataSize=8 * maxSamples)

    def cuptiPmSamplingDecodeData(self, pCounterDataImage, counterDataImageSize, **_):
        room = min(counterDataImageSize // 8, self.room)
        held, self._samples = self._samples[:room], []
        full = len(held) == room
        self._images[pCounterDataImage] = held
        return SimpleNamespace(decodeStopReason=COUNTER_DATA_FULL if full else 2, overflow=0)

    def cuptiPmSamplingGetCounterDataInfo(self, pCounterDataImage, **_):
        return SimpleNamespace(numCompletedSamples=len(self._images[pCounterDataImage]))

    def cuptiPmSamplingCounterDataGetSampleInfo(self, structure):
        held = self._images[structure.pCounterDataImage][structure.sampleIndex]
        structure.startTimestamp, structure.endTimestamp = held[:2]

    def cuptiProfilerHostEvaluateToGpuValues(self, structure):
        held = self._images[structure.pCounterDataImage][structure.rangeIndex]
        row = (ctypes.c_double * structure.numMetrics).from_address(structure.pMetricValues)
        row[:2] = held[2:]
