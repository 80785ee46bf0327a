"""The seam between what is measured and who runs it: C, llvmlite, or PyTorch's own operators."""

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from roofline.device import VECTOR_FP32, VECTOR_FP64, VECTOR_INT32, Resource

ELEMENT = 4  # B: arrays hold fp32
ARRAYS = {"read": 1, "copy": 2, "triad": 3, "update": 1, "write": 1}  # arrays of each access mix
MOVED = {access: 2 if access == "update" else 1 for access in ARRAYS}  # times: read and written
SCALE = 1.25  # triad: a = b + SCALE * c

# (addresses of the three arrays, elements in each, passes).  A mix of fewer ignores the others.
Stream = Callable[[int, int, int, int, int], float]

CACHED, PAST = "cached stores", "non-temporal stores"
# access -> way of doing it -> name of the kernel
STREAMS: Mapping[str, Mapping[str, str]] = {
    "read": {"one stream": "read_plain", "four streams": "read_four_streams"},
    "copy": {CACHED: "copy_plain", PAST: "copy_bypass"},
    "triad": {CACHED: "triad_plain", PAST: "triad_bypass"},
    "update": {CACHED: "update_plain"},
    "write": {CACHED: "write_plain", PAST: "write_bypass"},
}
# resource -> name of the kernel, bytes of a lane, units of work a lane and pass, what a pass does
CHAINS: Mapping[Resource, tuple[str, int, int, str]] = {
    VECTOR_FP32: ("fma_fp32", 4, 2, "x = x * f + t"),
    VECTOR_FP64: ("fma_fp64", 8, 2, "x = x * f + t"),
    VECTOR_INT32: ("add_xor_int32", 4, 2, "x = (x + t) ^ m"),
}


@dataclass(frozen=True, slots=True)
class Chain:
    """Independent chains of arithmetic that stay in registers."""

    run: Callable[[int], float]  # passes
    work: int  # units of the resource in one pass
    what: str


@dataclass(frozen=True, slots=True)
class Kernels:
    """Everything one way of making kernels offers."""

    made_by: str  # "gcc 12.2.0 -O3 -march=native"
    instructions: str  # "AVX-512"
    code: str  # short hash of the kernels' source
    streams: Mapping[str, Mapping[str, Stream]]  # access -> way of doing it -> kernel
    grain: int  # elements of an array are a multiple of this
    chains: Mapping[Resource, Chain]
    smallest: int = 8192  # B: over smaller working sets the call itself would be timed
    passed_over: tuple[str, ...] = ()  # why each better way was not taken


def wrapped(
    address: Callable[[str], int | None],
    *,
    width: int,
    chains: int,
    grain: int,
    made_by: str,
    instructions: str,
    code: str,
) -> Kernels:
    """Kernels from the addresses of machine code; an absent one (None) is left out."""
    stream_type = ctypes.CFUNCTYPE(
        ctypes.c_float, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_int64
    )
    chain_type = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)
    return Kernels(
        streams={
            access: {way: stream_type(a) for way, name in ways.items() if (a := address(name))}
            for access, ways in STREAMS.items()
        },
        chains={
            resource: Chain(
                run=chain_type(a),
                work=chains * (width // lane) * per_lane,
                what=f"{chains} independent {width} B vectors of {what}",
            )
            for resource, (name, lane, per_lane, what) in CHAINS.items()
            if (a := address(name))
        },
        grain=grain,
        made_by=made_by,
        instructions=instructions,
        code=code,
    )
