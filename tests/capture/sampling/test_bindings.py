"""The C interface: structures of the size that every version of CUPTI takes, errors with names."""

import ctypes

import pytest

from roofline.capture.sampling import bindings
from roofline.capture.sampling.bindings import STRUCTURES, Cupti, CuptiError, load, size
from roofline.errors import Missing

# Bytes to the end of the last field, counted by hand: 8 for the size, 8 for the null, then fields;
# pointers and size_t 8, enumerations and uint32 4, uint8 1.
SIZES = {
    "cuptiProfilerInitialize": 16,
    "cuptiDeviceGetChipName": 32,
    "cuptiPmSamplingGetCounterAvailability": 40,
    # int, padding to 8, then three pointers: 16 + 8 + 3 * 8.
    "cuptiProfilerHostInitialize": 48,
    "cuptiProfilerHostConfigAddMetrics": 40,
    "cuptiProfilerHostGetConfigImageSize": 32,
    "cuptiProfilerHostGetConfigImage": 40,
    "cuptiProfilerHostEvaluateToGpuValues": 72,
    "cuptiProfilerHostDeinitialize": 24,
    "cuptiPmSamplingEnable": 32,
    # Five fields of 8 and an enumeration of 4 at the end: 16 + 40 + 4, not the padded 64.
    "cuptiPmSamplingSetConfig": 60,
    # Pointers 3 * 8, uint32, padding, size_t: 16 + 24 + 8 + 8.
    "cuptiPmSamplingGetCounterDataSize": 56,
    "cuptiPmSamplingCounterDataImageInitialize": 40,
    "cuptiPmSamplingStart": 24,
    "cuptiPmSamplingStop": 24,
    # 16 + 24, an enumeration, one byte.
    "cuptiPmSamplingDecodeData": 45,
    "cuptiPmSamplingGetCounterDataInfo": 56,
    "cuptiPmSamplingCounterDataGetSampleInfo": 64,
    "cuptiPmSamplingDisable": 24,
}


def test_structures_end_with_their_last_field():
    assert {name: size(structure) for name, structure in STRUCTURES.items()} == SIZES


class Library:
    """A libcupti whose functions answer with one status and remember what they were given."""

    def __init__(self, status=0, version=130001):
        self.status, self.version, self.given = status, version, {}

    def __getattr__(self, name):
        def function(reference):
            structure = reference._obj
            self.given[name] = structure
            if name == "cuptiDeviceGetChipName":
                structure.pChipName = b"GH100"
            return self.status

        return function

    def cuptiGetVersion(self, reference):
        reference._obj.value = self.version
        return 0

    def cuptiGetTimestamp(self, reference):
        reference._obj.value = 1_234
        return self.status

    def cuptiGetResultString(self, status, reference):
        reference._obj.value = b"CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
        return 0


def test_a_call_hands_over_a_sized_structure_and_brings_it_back():
    library = Library()
    found = Cupti(library).call("cuptiDeviceGetChipName", deviceIndex=2)
    assert found.pChipName == b"GH100"
    given = library.given["cuptiDeviceGetChipName"]
    assert (given.structSize, given.pPriv, given.deviceIndex) == (32, None, 2)
    assert Cupti(library).timestamp() == 1_234


def test_what_is_refused_is_named():
    cupti = Cupti(Library(status=35))
    with pytest.raises(CuptiError, match=r"cuptiPmSamplingEnable answered CUPTI_ERROR_INSUFF.*35"):
        cupti.call("cuptiPmSamplingEnable", deviceIndex=0)
    with pytest.raises(CuptiError, match="cuptiGetTimestamp"):
        cupti.timestamp()


def test_no_library_and_an_old_one_are_said(monkeypatch):
    def absent(soname):
        raise OSError(soname)

    monkeypatch.setattr(bindings.ctypes, "CDLL", absent)
    with pytest.raises(Missing, match=r"no CUPTI here \(libcupti.so.13 or libcupti.so.12\)"):
        load()
    monkeypatch.setattr(bindings.ctypes, "CDLL", lambda soname: Library(version=22))
    with pytest.raises(Missing, match=r"older than 12\.6"):
        load()
    monkeypatch.setattr(bindings.ctypes, "CDLL", lambda soname: Library(version=24))
    assert isinstance(load(), Cupti)


def test_the_oldest_library_that_is_there_is_not_preferred(monkeypatch):
    asked = []

    def only_twelve(soname):
        asked.append(soname)
        if soname.endswith("13"):
            raise OSError(soname)
        return Library()

    monkeypatch.setattr(ctypes, "CDLL", only_twelve)
    load()
    assert asked == ["libcupti.so.13", "libcupti.so.12"]
