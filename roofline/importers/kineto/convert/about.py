"""What a trace says of itself: its device, versions and rank."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from roofline.device import Device
from roofline.devices import resolve
from roofline.errors import NotFound
from roofline.importers.chosen import Gpu, named
from roofline.importers.format import Options
from roofline.importers.kineto.join.names import one_line
from roofline.importers.kineto.read.columns import Columns
from roofline.importers.kineto.read.event import whole
from roofline.importers.kineto.read.stream import Reader
from roofline.importers.nameless import size
from roofline.importers.stated import stated

_VERSIONS = {
    "cuda_driver_version": "cuda driver", "cuda_runtime_version": "cuda runtime",
    "cupti_version": "cupti", "hip_driver_version": "hip driver",
    "hip_runtime_version": "hip runtime", "roctracer_version": "roctracer",
    "schemaVersion": "trace schema",
}  # fmt: skip
_PRIVATE = {"username": "user", "host_name": "host", "traceName": "trace file"}
_RANK = re.compile(r"rank[-_.]?(\d{1,6})", re.IGNORECASE)


def device(
    about: Mapping[str, Any],
    used: int | None,
    options: Options,
    warnings: list[str],
    file: str,
) -> Device | None:
    """The device that the trace ran on, or that the user names.

    `used` is the number, in the trace's own list, of the device that worked; None when none did:
    then the processor did, which a trace does not name.  BadInput where the two contradict.
    """
    properties = {} if used is None else _properties(about, used)
    name = properties.get("name")
    if not isinstance(name, str) or not name:
        name = None
    said = named(options.device)
    if said is not None:
        names = [] if name is None else [name]
        return stated(said, file, names, _generations(properties))
    if used is None and about.get("deviceProperties"):
        warnings.append(
            "the trace lists a GPU and nothing that ran on one, so times are those of the host"
        )
    if name is None:
        what = "processor" if used is None else "GPU"
        warnings.append(
            f"the trace does not name the {what} it ran on; --device NAME does{_size(properties)}"
        )
        return None
    try:
        return resolve(name)
    except NotFound as unknown:
        warnings.append(f"no ceilings for the device of the trace: {unknown}{_size(properties)}")
        return None


def gpus(about: Mapping[str, Any], devices: Iterable[int]) -> list[Gpu]:
    """What the trace says of each of `devices`, which are numbers in its own list."""
    found = []
    for device in devices:
        properties = _properties(about, device)
        name = properties.get("name")
        (generation,) = _generations(properties) or ("",)
        number = None if device < 0 else device
        found.append(Gpu(number, name if isinstance(name, str) else "", generation))
    return found


def _generations(properties: Mapping[str, Any]) -> list[str]:
    """The compute capability of an NVIDIA GPU, where the trace has it."""
    major, minor = (whole(properties.get(f"compute{at}")) for at in ("Major", "Minor"))
    return [] if major is None or minor is None else [f"{major}.{minor}"]


def _properties(about: Mapping[str, Any], used: int) -> Mapping[str, Any]:
    """What ``deviceProperties`` says of device `used`."""
    listed = about.get("deviceProperties")
    listed = [d for d in listed if isinstance(d, dict)] if isinstance(listed, list) else []
    by_id: dict[str, Mapping[str, Any]] = {str(d.get("id", n)): d for n, d in enumerate(listed)}
    alone = listed[0] if len(listed) == 1 else {}
    return by_id.get(str(used), alone)


def _size(properties: Mapping[str, Any]) -> str:
    return size(properties.get("numSms"), properties.get("totalGlobalMem"))


def versions(about: Mapping[str, Any], name: str, options: Options) -> dict[str, str]:
    """Versions of what recorded it, and the rank; who and where only when the user asks."""
    found = {
        word: str(about[key])
        for key, word in (_VERSIONS | (_PRIVATE if options.keep_private else {})).items()
        if isinstance(about.get(key), (int, float, str))
    }
    world = about.get("distributedInfo")
    world = world if isinstance(world, dict) else {}
    rank = world.get("rank")
    if rank is None and (named := _RANK.search(name)):
        rank = int(named[1])  # the trace itself does not know
    for word, value in (("rank", rank), ("world size", world.get("world_size"))):
        number = whole(value)
        if number is not None and number >= 0:
            found[word] = str(number)
    return found


def ranks(about: Mapping[str, Any]) -> int | None:
    """How many processes a collective is among, where all groups have as many; None is not told."""
    world = about.get("distributedInfo")
    groups = world.get("pg_config") if isinstance(world, dict) else None
    sizes = {
        whole(group.get("pg_size")) if isinstance(group, dict) else None
        for group in (groups if isinstance(groups, list) else ())
    }
    only = sizes.pop() if len(sizes) == 1 else None
    return only if only and only > 0 else None


def nothing(columns: Columns, reader: Reader, launches: int) -> str:
    """What a trace without operators and kernels looks like, to follow its name."""
    held = dict(columns.skipped) | ({"Python frames": columns.frames} if columns.frames else {})
    if launches:
        held["launches and annotations"] = launches
    if not held:
        lost = reader.lost and f", and {reader.lost} that cannot be read"
        return f"holds no trace event with a duration{lost or ''}"
    some = ", ".join(
        f"{count} of {one_line(kind) or 'no category'}" for kind, count in held.items()
    )
    return f"holds no operator and no kernel of a PyTorch profiler, only {some}"


def recorded_at(about: Mapping[str, Any], first_us: float | None) -> str:
    """When recording began, UTC; "" when the trace does not say."""
    base = about.get("baseTimeNanoseconds", 0)
    base = base if isinstance(base, int) else 0
    seconds = base / 1e9 + (first_us or 0.0) / 1e6
    if not 1.2e9 < seconds < 1e10:  # a counter since the machine started, not a date
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
