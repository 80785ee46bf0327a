"""rocprofv3's JSON: dispatches, copies, counters, agents, joined by their numbers.

Specification: ROCprofiler-SDK, "rocprofv3 output formats".
"""

from collections.abc import Iterator, Mapping
from typing import Any

from roofline.importers.rocprof.dispatch import Dispatch

ROOT = "rocprofiler-sdk-tool"
RECORDS = ("kernel_dispatch", "memory_copy", "counter_collection")  # lists of them, each whole
_GPU = 2


class Document:
    """The dispatches of a document, and what its agents are sold as."""

    def __init__(self, whole: Any) -> None:
        self.products: dict[str, str] = {}
        self.dispatches: list[Dispatch] = []
        for tool in _listed(whole, ROOT):
            self._tool(tool)

    def _tool(self, tool: Mapping[str, Any]) -> None:
        for agent in _listed(tool, "agents"):
            if agent.get("type") in (_GPU, "GPU"):
                name = agent.get("product_name") or agent.get("name")
                self.products[str(_handle(agent, "id"))] = str(name)
        kernels = {
            _handle(kernel, "kernel_id"): str(
                kernel.get("formatted_kernel_name") or kernel.get("kernel_name") or "unnamed"
            )
            for kernel in _listed(tool, "kernel_symbols")
        }
        counters = {_handle(c, "id"): str(c.get("name")) for c in _listed(tool, "counters")}
        known: dict[Any, Dispatch] = {}
        for record in _listed(_at(tool, "buffer_records"), "kernel_dispatch"):
            info = _at(record, "dispatch_info")
            known[_number_of(info)] = _dispatch(record, info, kernels)
        for record in _listed(_at(tool, "callback_records"), "counter_collection"):
            data = _at(record, "dispatch_data")
            info = _at(data, "dispatch_info")
            found = known.setdefault(_number_of(info), _dispatch(data, info, kernels))
            for name, value in _counted(record, counters):
                found.counters[name] = found.counters.get(name, 0.0) + value
        self.dispatches += [*known.values(), *_copies(tool)]


def _dispatch(
    record: Mapping[str, Any], info: Mapping[str, Any], kernels: Mapping[Any, str]
) -> Dispatch:
    kernel = _handle(info, "kernel_id")
    grid, block = (_product(info.get(key)) for key in ("grid_size", "workgroup_size"))
    launched = {"block": block, "shared memory": _number(info.get("group_segment_size"))}
    if grid is not None and block:
        launched["grid"] = float(-(-grid // block))
    return Dispatch(
        kernels.get(kernel, "unnamed" if kernel is None else f"kernel {kernel}"),
        agent=str(_handle(info, "agent_id")),
        start_ns=_whole(record.get("start_timestamp")),
        end_ns=_whole(record.get("end_timestamp")),
        counters={name: value for name, value in launched.items() if value is not None},
    )


def _number_of(info: Mapping[str, Any]) -> Any:
    """Of a dispatch; one without is like no other."""
    number = _handle(info, "dispatch_id")
    return object() if number is None else number


def _counted(record: Mapping[str, Any], names: Mapping[Any, str]) -> Iterator[tuple[str, float]]:
    for item in _listed(record, "records"):
        value = _number(item.get("value", item.get("counter_value")))
        name = names.get(_handle(item, "counter_id"))
        if name is not None and value is not None:
            yield name, value


def _copies(tool: Mapping[str, Any]) -> Iterator[Dispatch]:
    gpus = {_handle(a, "id") for a in _listed(tool, "agents") if a.get("type") in (_GPU, "GPU")}
    for record in _listed(_at(tool, "buffer_records"), "memory_copy"):
        ends = (_handle(record, key) for key in ("src_agent_id", "dst_agent_id"))
        way = "to".join("D" if end in gpus else "H" for end in ends)
        yield Dispatch(
            f"Memcpy {way}",
            agent=str(next((_handle(record, k) for k in ("dst_agent_id", "src_agent_id")
                            if _handle(record, k) in gpus), "")),
            start_ns=_whole(record.get("start_timestamp")),
            end_ns=_whole(record.get("end_timestamp")),
            copied=_whole(record.get("bytes")),
            is_copy=True,
        )  # fmt: skip


def _listed(parent: Any, key: str) -> list[dict[str, Any]]:
    """The objects in a list, or the one object that stands for it; [] for anything else."""
    value = parent.get(key) if isinstance(parent, dict) else None
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)]


def _at(parent: Any, key: str) -> dict[str, Any]:
    value = parent.get(key) if isinstance(parent, dict) else None
    return value if isinstance(value, dict) else {}


def _handle(parent: Mapping[str, Any], key: str) -> Any:
    """An identifier: ``{"handle": 7}`` or 7."""
    value = parent.get(key)
    value = value.get("handle") if isinstance(value, dict) else value
    return value if isinstance(value, int | str) else None


def _product(sizes: Any) -> float | None:
    axes = [_number(sizes.get(axis)) for axis in "xyz"] if isinstance(sizes, dict) else []
    known = [size for size in axes if size is not None]
    return known[0] * known[1] * known[2] if len(known) == 3 else None


def _number(value: Any) -> float | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return float(value) if fits else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 1 << 62 else None
