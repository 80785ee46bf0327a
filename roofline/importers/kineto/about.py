"""What a trace says of itself: its device, versions and rank."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from roofline.device import Device
from roofline.devices import resolve
from roofline.errors import NotFound
from roofline.importers.format import Options

_VERSIONS = {
    "cuda_driver_version": "cuda driver", "cuda_runtime_version": "cuda runtime",
    "cupti_version": "cupti", "hip_driver_version": "hip driver",
    "hip_runtime_version": "hip runtime", "roctracer_version": "roctracer",
    "schemaVersion": "trace schema",
}  # fmt: skip


def device(
    about: Mapping[str, Any], used: int, options: Options, warnings: list[str]
) -> Device | None:
    """The device that the trace ran on, number `used` of those it lists, or that the user names."""
    if options.device is not None:
        return resolve(options.device)
    name = device_name(about, used)
    if not name:
        where = "the GPU" if about.get("deviceProperties") else "the processor"
        warnings.append(f"the trace does not name {where} it ran on; --device NAME does")
        return None
    try:
        return resolve(name)
    except NotFound as unknown:
        warnings.append(f"no ceilings for the device of the trace: {unknown}")
        return None


def device_name(about: Mapping[str, Any], used: int) -> str:
    """The name of device `used` in ``deviceProperties``; "" when there is none."""
    listed = about.get("deviceProperties")
    listed = [d for d in listed if isinstance(d, dict)] if isinstance(listed, list) else []
    named = {str(d.get("id", at)): d.get("name") for at, d in enumerate(listed)}
    found = named.get(str(used)) or (next(iter(named.values())) if len(named) == 1 else "")
    return found if isinstance(found, str) else ""


def versions(about: Mapping[str, Any]) -> dict[str, str]:
    """Versions of what recorded it, and the rank where the trace knows one."""
    found = {
        name: str(about[key])
        for key, name in _VERSIONS.items()
        if isinstance(about.get(key), (int, float, str))
    }
    world = about.get("distributedInfo")
    if isinstance(world, dict) and isinstance(world.get("rank"), int):
        found["rank"] = str(world["rank"])
        if isinstance(world.get("world_size"), int):
            found["world size"] = str(world["world_size"])
    return found


def recorded_at(about: Mapping[str, Any], first_us: float | None) -> str:
    """When recording began, UTC; "" when the trace does not say."""
    base = about.get("baseTimeNanoseconds", 0)
    base = base if isinstance(base, int) else 0
    seconds = base / 1e9 + (first_us or 0.0) / 1e6
    if not 1.2e9 < seconds < 1e10:  # a counter since the machine started, not a date
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def flags(about: Mapping[str, Any]) -> Sequence[str]:
    """The recorder's switches that were on."""
    names = ("record_shapes", "with_flops", "with_modules", "with_stack", "profile_memory")
    return [name for name in names if about.get(name)]
