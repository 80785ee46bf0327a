"""The typed form of one trace event: only the fields that are used; the rest is skipped unread."""

from typing import Any

from msgspec import Raw, Struct, field

# Numbers come as numbers or, from some writers, as text; ids in hexadecimal.
Number = int | float | str | None
_NOTHING = Raw(b"")


class Args(Struct, gc=False):
    """``args`` of an event.  What describes a call is kept as text: equal text, equal call."""

    external: Number = field(name="External id", default=None)
    external_old: Number = field(name="external id", default=None)  # until 2021
    correlation: Number = None
    sequence: Number = field(name="Sequence number", default=None)
    dims: Raw = field(name="Input Dims", default=_NOTHING)
    dims_old: Raw = field(name="Input dims", default=_NOTHING)  # until 2022
    types: Raw = field(name="Input type", default=_NOTHING)
    strides: Raw = field(name="Input Strides", default=_NOTHING)
    values: Raw = field(name="Concrete Inputs", default=_NOTHING)
    backend: Raw = field(name="kernel_backend", default=_NOTHING)  # "triton"
    warps: Raw = field(name="num_warps", default=_NOTHING)
    stages: Raw = field(name="num_stages", default=_NOTHING)
    constants: Raw = field(name="kernel_kwargs", default=_NOTHING)  # "XBLOCK=2,R0_BLOCK=2048"
    device: Number = None
    stream: Number = None
    bytes: Number = None
    size: Number = None  # bytes of a copy, in some HIP launches
    grid: Raw = _NOTHING
    block: Raw = _NOTHING
    registers: Number = field(name="registers per thread", default=None)
    shared: Number = field(name="shared memory", default=None)
    blocks_per_sm: Number = field(name="blocks per SM", default=None)
    warps_per_sm: Number = field(name="warps per SM", default=None)
    occupancy: Number = field(name="est. achieved occupancy %", default=None)


class Event(Struct, gc=False):
    """One event.  Times are microseconds, whatever ``displayTimeUnit`` says."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: Number = None
    tid: Number = None
    ts: Number = None
    dur: Number = None
    args: Args | None = None


class ExactEvent(Event, gc=False):
    """The same with ``ts`` as its digits: above 2**43 us a float does not hold nanoseconds."""

    ts: Raw = _NOTHING  # type: ignore[assignment]


# A float holds a number of microseconds to the nanosecond below this.
EXACT_BELOW = 2.0**43


def number(value: Any) -> float | None:
    """A number however it was written; None for anything else.

    >>> number("12.5"), number("0x10"), number(None), number("stream 7")
    (12.5, 16.0, None, 7.0)
    """
    if isinstance(value, (int, float)):
        return float(value) if abs(value) < 2.0**63 else None  # NaN compares false
    if not isinstance(value, str):
        return None
    text = value.removeprefix("stream ")
    try:
        found = float(int(text, 16)) if text[:2] in ("0x", "0X") else float(text)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) < 2.0**63 else None


def whole(value: Any) -> int | None:
    """An identifier or a count; None for anything else."""
    if type(value) is int:
        return value if -(2**63) <= value < 2**63 else None
    found = number(value)
    return None if found is None else int(found)
