"""CUPTI's C interface to PM sampling, as far as it is needed, through ctypes.

Facts about the interface come from the headers ``cupti_pmsampling.h``, ``cupti_profiler_host.h``,
``cupti_profiler_target.h`` and ``cupti_target.h`` of CUPTI 12.6 to 13.5.  Every function takes one
structure, whose first field is its own size and whose second is null.  Newer versions append fields
and know older callers by that size, so the layouts here are those of 12.6, the first version that
samples: every later one takes them.

The library is the one that PyTorch has loaded already; a second one in the process would fight it
for the device.
"""

import ctypes
from collections.abc import Callable
from ctypes import (
    POINTER,
    c_char_p,
    c_int,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

from roofline.errors import Missing

SONAMES = ("libcupti.so.13", "libcupti.so.12")
OLDEST = 24  # what cuptiGetVersion answers for 12.6
PM_SAMPLING = 1  # CUpti_ProfilerType
TIME_INTERVAL = 1  # CUpti_PmSampling_TriggerMode: a fixed clock, in nanoseconds
COUNTER_DATA_FULL = 1  # CUpti_PmSampling_DecodeStopReason
NO_PRIVILEGE = frozenset({35, 40})  # CUptiResult: insufficient privileges, also when virtualised

_OBJECT = c_void_p
_IMAGE = c_void_p
_NAMES = POINTER(c_char_p)

# Function -> the fields of its structure after the size and the null, in order.
FIELDS: dict[str, tuple[tuple[str, Any], ...]] = {
    "cuptiProfilerInitialize": (),
    "cuptiDeviceGetChipName": (("deviceIndex", c_size_t), ("pChipName", c_char_p)),
    "cuptiPmSamplingGetCounterAvailability": (
        ("deviceIndex", c_size_t),
        ("counterAvailabilityImageSize", c_size_t),
        ("pCounterAvailabilityImage", _IMAGE),
    ),
    "cuptiProfilerHostInitialize": (
        ("profilerType", c_int),
        ("pChipName", c_char_p),
        ("pCounterAvailabilityImage", _IMAGE),
        ("pHostObject", _OBJECT),
    ),
    "cuptiProfilerHostConfigAddMetrics": (
        ("pHostObject", _OBJECT),
        ("ppMetricNames", _NAMES),
        ("numMetrics", c_size_t),
    ),
    "cuptiProfilerHostGetConfigImageSize": (
        ("pHostObject", _OBJECT),
        ("configImageSize", c_size_t),
    ),
    "cuptiProfilerHostGetConfigImage": (
        ("pHostObject", _OBJECT),
        ("configImageSize", c_size_t),
        ("pConfigImage", _IMAGE),
    ),
    "cuptiProfilerHostEvaluateToGpuValues": (
        ("pHostObject", _OBJECT),
        ("pCounterDataImage", _IMAGE),
        ("counterDataImageSize", c_size_t),
        ("rangeIndex", c_size_t),
        ("ppMetricNames", _NAMES),
        ("numMetrics", c_size_t),
        ("pMetricValues", c_void_p),
    ),
    "cuptiProfilerHostDeinitialize": (("pHostObject", _OBJECT),),
    "cuptiPmSamplingEnable": (("deviceIndex", c_size_t), ("pPmSamplingObject", _OBJECT)),
    "cuptiPmSamplingSetConfig": (
        ("pPmSamplingObject", _OBJECT),
        ("configSize", c_size_t),
        ("pConfig", _IMAGE),
        ("hardwareBufferSize", c_size_t),
        ("samplingInterval", c_uint64),
        ("triggerMode", c_int),
    ),
    "cuptiPmSamplingGetCounterDataSize": (
        ("pPmSamplingObject", _OBJECT),
        ("pMetricNames", _NAMES),
        ("numMetrics", c_size_t),
        ("maxSamples", c_uint32),
        ("counterDataSize", c_size_t),
    ),
    "cuptiPmSamplingCounterDataImageInitialize": (
        ("pPmSamplingObject", _OBJECT),
        ("counterDataSize", c_size_t),
        ("pCounterData", _IMAGE),
    ),
    "cuptiPmSamplingStart": (("pPmSamplingObject", _OBJECT),),
    "cuptiPmSamplingStop": (("pPmSamplingObject", _OBJECT),),
    "cuptiPmSamplingDecodeData": (
        ("pPmSamplingObject", _OBJECT),
        ("pCounterDataImage", _IMAGE),
        ("counterDataImageSize", c_size_t),
        ("decodeStopReason", c_int),
        ("overflow", c_uint8),
    ),
    "cuptiPmSamplingGetCounterDataInfo": (
        ("pCounterDataImage", _IMAGE),
        ("counterDataImageSize", c_size_t),
        ("numTotalSamples", c_size_t),
        ("numPopulatedSamples", c_size_t),
        ("numCompletedSamples", c_size_t),
    ),
    "cuptiPmSamplingCounterDataGetSampleInfo": (
        ("pPmSamplingObject", _OBJECT),
        ("pCounterDataImage", _IMAGE),
        ("counterDataImageSize", c_size_t),
        ("sampleIndex", c_size_t),
        ("startTimestamp", c_uint64),
        ("endTimestamp", c_uint64),
    ),
    "cuptiPmSamplingDisable": (("pPmSamplingObject", _OBJECT),),
}


class CuptiError(RuntimeError):
    """A function of CUPTI refused; `code` is its CUptiResult."""

    def __init__(self, function: str, code: int, name: str):
        super().__init__(f"{function} answered {name} ({code})")
        self.code = code


def _structure(function: str) -> type[ctypes.Structure]:
    fields = [("structSize", c_size_t), ("pPriv", c_void_p), *FIELDS[function]]
    return type(f"{function}_Params", (ctypes.Structure,), {"_fields_": fields})


STRUCTURES: dict[str, type[ctypes.Structure]] = {name: _structure(name) for name in FIELDS}


def size(structure: type[ctypes.Structure]) -> int:
    """The size that CUPTI expects: to the end of the last field, without what aligns the whole."""
    last = getattr(structure, structure._fields_[-1][0])
    return int(last.offset + last.size)


class Cupti:
    """One loaded library."""

    def __init__(self, library: Any):
        self._library = library
        self._functions = {name: getattr(library, name) for name in FIELDS}

    def ready(self, function: str, **given: Any) -> tuple[Any, Callable[[], None]]:
        """A structure with `given` in its fields, and the call that hands it over, for many uses.

        Raises CuptiError, when called, for any status but success.
        """
        structure = STRUCTURES[function](structSize=size(STRUCTURES[function]), **given)
        target, reference = self._functions[function], ctypes.byref(structure)

        def call() -> None:
            status = target(reference)
            if status:
                raise CuptiError(function, status, self._name(status))

        return structure, call

    def call(self, function: str, **given: Any) -> Any:
        """Call once; the structure comes back with what was written into it."""
        structure, call = self.ready(function, **given)
        call()
        return structure

    def timestamp(self) -> int:
        """Now, on the clock of the samples: of CUPTI, or of whoever gave it one of their own."""
        now = c_uint64()
        status = self._library.cuptiGetTimestamp(ctypes.byref(now))
        if status:
            raise CuptiError("cuptiGetTimestamp", status, self._name(status))
        return now.value

    def _name(self, status: int) -> str:
        text = c_char_p()
        self._library.cuptiGetResultString(c_int(status), ctypes.byref(text))
        return text.value.decode() if text.value else "an unnamed status"


def load() -> Cupti:
    """The CUPTI in this process.  Raises Missing, in a sentence, without one that can sample."""
    for soname in SONAMES:
        try:
            library = ctypes.CDLL(soname)
            break
        except OSError:
            continue
    else:
        raise Missing(f"there is no CUPTI here ({' or '.join(SONAMES)})")
    version = c_uint32()
    library.cuptiGetVersion(ctypes.byref(version))
    if version.value < OLDEST:
        raise Missing("the CUPTI here is older than 12.6, the first that can sample")
    return Cupti(library)
