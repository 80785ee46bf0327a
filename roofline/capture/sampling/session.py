"""One session of PM sampling on one device: set up, started, stopped, read.

The device writes samples into a buffer at a fixed interval, whatever runs on it.  Decoding takes
about three microseconds a sample and needs nobody's lock; reading takes twice that and Python's.
"""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_double
from dataclasses import dataclass
from typing import Any

import numpy as np

from roofline.capture.sampling.bindings import (
    COUNTER_DATA_FULL,
    PM_SAMPLING,
    TIME_INTERVAL,
    Cupti,
)


@dataclass(frozen=True, slots=True)
class Image:
    """Decoded samples in CUPTI's own form, some kilobytes each."""

    data: np.ndarray
    samples: int
    lost: bool  # there were more than fitted


Portion = tuple[np.ndarray, np.ndarray, np.ndarray]  # starts, ends, values [samples, metrics]


class Session:
    """Samples `metrics` of the CUDA device `device` between `start` and `stop`.

    Needs a CUDA context in the process.  Every method raises CuptiError where CUPTI refuses.
    """

    def __init__(
        self, cupti: Cupti, device: int, metrics: Sequence[str], interval_ns: int, buffer_bytes: int
    ):
        self._cupti = cupti
        self._metrics = len(metrics)
        self._names = (c_char_p * len(metrics))(*(name.encode() for name in metrics))
        self._named = {
            "ppMetricNames": ctypes.cast(self._names, POINTER(c_char_p)),
            "numMetrics": len(metrics),
        }
        cupti.call("cuptiProfilerInitialize")
        self._host = self._open_host(device)
        self._config = self._configuration()  # CUPTI reads it again whenever it decodes
        enabled = cupti.call("cuptiPmSamplingEnable", deviceIndex=device)
        self._pm = {"pPmSamplingObject": enabled.pPmSamplingObject}
        try:
            cupti.call(
                "cuptiPmSamplingSetConfig",
                **self._pm,
                configSize=len(self._config),
                pConfig=ctypes.addressof(self._config),
                hardwareBufferSize=buffer_bytes,
                samplingInterval=interval_ns,
                triggerMode=TIME_INTERVAL,
            )
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """From now on; what the device does before is in the first sample, which spans it."""
        self._cupti.call("cuptiPmSamplingStart", **self._pm)

    def stop(self) -> None:
        """Until now."""
        self._cupti.call("cuptiPmSamplingStop", **self._pm)

    def decode(self, room: int) -> Image:
        """What was sampled since the last time, for at most `room` samples; the rest is lost.

        May be called from another thread than the program's, which runs meanwhile.
        """
        size = self._cupti.call(
            "cuptiPmSamplingGetCounterDataSize",
            **self._pm,
            pMetricNames=self._named["ppMetricNames"],
            numMetrics=self._metrics,
            maxSamples=room,
        ).counterDataSize
        image = np.empty(size, dtype=np.uint8)
        where = {"pCounterDataImage": image.ctypes.data, "counterDataImageSize": size}
        self._cupti.call(
            "cuptiPmSamplingCounterDataImageInitialize",
            **self._pm,
            counterDataSize=size,
            pCounterData=image.ctypes.data,
        )
        decoded = self._cupti.call("cuptiPmSamplingDecodeData", **self._pm, **where)
        info = self._cupti.call("cuptiPmSamplingGetCounterDataInfo", **where)
        full = decoded.decodeStopReason == COUNTER_DATA_FULL
        return Image(
            data=image, samples=info.numCompletedSamples, lost=full or bool(decoded.overflow)
        )

    def close(self) -> None:
        """Give the device back."""
        self._cupti.call("cuptiPmSamplingDisable", **self._pm)
        self._cupti.call("cuptiProfilerHostDeinitialize", pHostObject=self._host)

    def _open_host(self, device: int) -> Any:
        """What turns raw counters of this chip into metrics."""
        cupti = self._cupti
        chip = cupti.call("cuptiDeviceGetChipName", deviceIndex=device).pChipName
        ask = "cuptiPmSamplingGetCounterAvailability"
        size = cupti.call(ask, deviceIndex=device).counterAvailabilityImageSize
        self._available = ctypes.create_string_buffer(size)  # the host object may keep its address
        address = ctypes.addressof(self._available)
        cupti.call(
            ask,
            deviceIndex=device,
            counterAvailabilityImageSize=size,
            pCounterAvailabilityImage=address,
        )
        made = cupti.call(
            "cuptiProfilerHostInitialize",
            profilerType=PM_SAMPLING,
            pChipName=chip,
            pCounterAvailabilityImage=address,
        )
        return made.pHostObject

    def _configuration(self) -> Any:
        """Which counters the device is to sample, as bytes that CUPTI understands."""
        cupti, host = self._cupti, self._host
        cupti.call("cuptiProfilerHostConfigAddMetrics", pHostObject=host, **self._named)
        size = cupti.call("cuptiProfilerHostGetConfigImageSize", pHostObject=host).configImageSize
        image = ctypes.create_string_buffer(size)
        cupti.call(
            "cuptiProfilerHostGetConfigImage",
            pHostObject=host,
            configImageSize=size,
            pConfigImage=ctypes.addressof(image),
        )
        return image

    def read(self, image: Image) -> Portion:
        """The samples of an image, in order; times are those of `Cupti.timestamp`."""
        count = image.samples
        where = {
            "pCounterDataImage": image.data.ctypes.data,
            "counterDataImageSize": image.data.size,
        }
        info, time = self._cupti.ready(
            "cuptiPmSamplingCounterDataGetSampleInfo", **self._pm, **where
        )
        evaluated, evaluate = self._cupti.ready(
            "cuptiProfilerHostEvaluateToGpuValues", pHostObject=self._host, **where, **self._named
        )
        values = np.empty((count, self._metrics))
        starts, ends = np.empty(count, np.int64), np.empty(count, np.int64)
        row, width = values.ctypes.data, self._metrics * ctypes.sizeof(c_double)
        for index in range(count):
            info.sampleIndex = evaluated.rangeIndex = index
            evaluated.pMetricValues = row + index * width
            time()
            evaluate()
            starts[index], ends[index] = info.startTimestamp, info.endTimestamp
        return starts, ends, values
