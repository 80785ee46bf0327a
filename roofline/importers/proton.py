"""Proton, Triton's profiler: hatchet JSON, a tree of scopes whose leaves are kernels.

Reads    ``time (ns)`` and ``count`` of every node that has a time; the scopes around it as its
         module; flop and bytes that the kernel's launch metadata declares, as its ledger.
Skips    instruction samples and cycles.
Units    the unit in brackets in a metric's name; flop and bytes are totals over ``count`` launches.
Means    declared work is what the kernel's author says it needs: algorithmic, and no more certain.
         ``flops32`` may have run on tensor cores as tf32 or not: the name does not say.
Samples cannot be recorded here: written by hand.
Spec     triton-lang/triton, ``third_party/proton``, README and ``proton/hooks``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from roofline.called import readable
from roofline.device import (
    DRAM,
    TENSOR_FP8,
    TENSOR_FP16,
    TENSOR_INT8,
    VECTOR_FP32,
    VECTOR_FP64,
    Resource,
)
from roofline.devices import resolve
from roofline.errors import BadInput
from roofline.importers import torn
from roofline.importers.format import Format, Options, Source, one
from roofline.importers.limits import duration_ns
from roofline.importers.nameless import size
from roofline.importers.private import pathless
from roofline.runfile import Event, Gap, Recorder, Run, Signature, Step, table
from roofline.work import Count, Entry, Ledger, unknown

REPEATED_AT_MOST = 100_000  # launches that one node is written out as
DECLARED = "declared by the kernel's launch metadata"
UNSURE = "flops32 are taken as CUDA-core flop; as tf32 they would be on the tensor pipe"
_TIME = re.compile(r"time \((?P<unit>ns|us|ms|s)\)", re.IGNORECASE)
_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_FLOP: Mapping[str, Resource] = {
    "flops8": TENSOR_FP8, "flops16": TENSOR_FP16, "flops32": VECTOR_FP32, "flops64": VECTOR_FP64,
    "ops8": TENSOR_INT8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Node:
    """One timed node of the tree."""

    name: str
    scopes: tuple[str, ...]
    time_ns: float
    count: int
    device: str  # as the leaf says: "CUDA 0"; "" is not said
    declared: tuple[tuple[str, float], ...]  # metric and total, of those in _FLOP and "bytes"


def recognises(head: bytes) -> bool:
    """A list whose nodes have a frame, metrics and children, and a time or a count."""
    return (
        head.lstrip()[:1] == b"["
        and all(word in head for word in (b'"frame"', b'"metrics"', b'"children"'))
        and b'"traceEvents"' not in head
    )


def load(sources: Sequence[Source], options: Options) -> Run:
    """One tree -> one run; nothing is known of the time between kernels."""
    source = one(sources, "Proton profile")
    trees, warnings = torn.document(source)
    every = list(_nodes(trees if isinstance(trees, list) else [], options.keep_private))
    named = {node.device for node in every if node.device}
    by_device: dict[str, list[Node]] = {}
    for node in every:
        by_device.setdefault(node.device if len(named) > 1 else "", []).append(node)
    if not by_device:
        raise BadInput(f"{source.name} holds no kernel with a time")
    spent = {device: sum(node.time_ns for node in found) for device, found in by_device.items()}
    nodes = by_device.pop(max(spent, key=lambda device: spent[device]))
    signatures: dict[tuple[str, Ledger], int] = {}
    events: list[Event] = []
    now = 0
    for node in nodes:
        name = readable(node.name)
        signature = signatures.setdefault((name, _ledger(name, node)), len(signatures))
        mean = duration_ns(node.time_ns / node.count) or 0
        for _ in range(node.count if node.count <= REPEATED_AT_MOST else 1):
            events.append(
                Event(
                    signature=signature, kind="kernel", step=0, start_ns=now,
                    duration_ns=mean or None, module=".".join(node.scopes),
                )
            )  # fmt: skip
            now += mean
    warnings.append("launches of a node stand as launches of their average duration")
    if options.device is None:
        warnings.append(f"the profile does not name the GPU; --device NAME does{_size(trees)}")
    return Run(
        recorder=Recorder(
            tool="Proton",
            program=source.name,
            recorded_at="",
            timer="kernels as the profiler timed them, summed by scope",
            warnings=tuple(warnings),
        ),
        device=None if options.device is None else resolve(options.device),
        signatures=tuple(Signature(name=name, ledger=ledger) for name, ledger in signatures),
        steps=(Step(start_ns=0, duration_ns=0, name="profiled kernels"),),
        gaps=tuple(
            Gap(
                name=f"device {device}" if device else "no stated device",
                what="a run is of one device: what ran on this one is not in it",
                seconds=spent[device] / 1e9,
                count=sum(node.count for node in found),
            )
            for device, found in by_device.items()
        ),
        events=table(events),
    )


def _nodes(trees: Sequence[Any], keep_private: bool) -> Iterator[Node]:
    """Every timed node, without recursion: a tree may be as deep as a program's stack."""
    waiting: list[tuple[Any, tuple[str, ...], Mapping[str, Any]]] = [
        (tree, (), {}) for tree in reversed(trees)
    ]
    while waiting:
        node, scopes, above = waiting.pop()
        if not isinstance(node, dict) or not isinstance(node.get("frame"), dict):
            continue
        name = str(node["frame"].get("name", "unnamed"))
        name = name if keep_private else pathless(name)
        found = node.get("metrics")
        metrics = found if isinstance(found, dict) else {}
        children = node.get("children")
        children = children if isinstance(children, list) else []
        timed = _time_ns(metrics)
        if timed:
            # What was declared around a single kernel was declared of it.
            declared = _declared(metrics) or _declared(above)
            yield Node(name, scopes, timed, _count(metrics), _device(metrics), declared)
        inside = scopes if name == "ROOT" else (*scopes, name)
        alone = metrics if len(children) == 1 and not timed else {}
        waiting += [(child, inside, alone) for child in reversed(children)]


def _size(trees: Sequence[Any]) -> str:
    """What the profile says of its only device: ``{"CUDA": {"0": {"num_sms": 132, ...}}}``."""
    listed = [
        device
        for tree in trees
        if isinstance(tree, dict) and "frame" not in tree
        for vendor in tree.values()
        if isinstance(vendor, dict)
        for device in vendor.values()
        if isinstance(device, dict)
    ]
    return size(listed[0].get("num_sms")) if len(listed) == 1 else ""


def _device(metrics: Mapping[str, Any]) -> str:
    said = (metrics.get(key) for key in ("device_type", "device_id"))
    return " ".join(str(each) for each in said if isinstance(each, str | int))


def _time_ns(metrics: Mapping[str, Any]) -> float | None:
    for name, value in metrics.items():
        match = _TIME.fullmatch(name)
        if match is not None and _positive(value):
            return float(value) * _NS[match["unit"].lower()]
    return None


def _count(metrics: Mapping[str, Any]) -> int:
    value = next((v for k, v in metrics.items() if k.lower() == "count"), 1)
    return int(value) if _positive(value) and value >= 1 else 1


def _declared(metrics: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    return tuple(
        (name, float(value))
        for name, value in metrics.items()
        if name in (*_FLOP, "bytes", "flops") and _positive(value)
    )


def _positive(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < value < 1e18


def _ledger(name: str, node: Node) -> Ledger:
    """The declared work of one launch; unknown where nothing was declared."""
    if not node.declared:
        return unknown(name)
    entries: list[Entry] = []
    missing: list[str] = []
    for metric, total in node.declared:
        amount = round(total / node.count)
        if metric == "flops":
            missing.append(f"{amount} flop of no stated type")
        else:
            entries.append(Entry(_FLOP.get(metric, DRAM), amount, f"{metric}, {DECLARED}"))
    if not any(metric == "bytes" for metric, _ in node.declared):
        missing.append("bytes: not declared")
    unsure = any(metric == "flops32" for metric, _ in node.declared)
    return Ledger(
        Count.ALGORITHMIC,
        tuple(entries),
        tuple(missing),
        (DECLARED, *((UNSURE,) if unsure else ())),
    )


FORMAT = Format(name="proton", title="Proton profile", recognises=recognises, load=load)
