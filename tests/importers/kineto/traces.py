"""Traces written by hand, in the layout of Kineto: a few events with round times."""

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

H200 = {"id": 0, "name": "NVIDIA H200", "numSms": 132}
KINDS = {"fp32": "float", "fp16": "c10::Half", "bf16": "c10::BFloat16", "int64": "long int"}


class Trace:
    """Events in order; times are microseconds after `base`."""

    def __init__(self, base: float = 1000.0, **about: Any):
        self.base = base
        self.about = {"schemaVersion": 1, "deviceProperties": [H200], **about}
        self.events: list[dict[str, Any]] = []
        self._ids = itertools.count(1)

    def add(self, cat: str, name: str, at: float, us: Any, **more: Any) -> dict[str, Any]:
        """Any event of one thread."""
        args = more.pop("args", {})
        event = {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1,
                 "ts": self.base + at, "dur": us, **more, "args": args}  # fmt: skip
        self.events.append(event)
        return event

    def op(self, name: str, at: float, us: Any, *tensors: Any, values=None, **more: Any) -> dict:
        """An operator; tensors as ``((4, 8), "fp32")``, other arguments as text."""
        number = next(self._ids)
        args = {"External id": number, "Ev Idx": number, **more.pop("args", {})}
        if tensors:
            args |= arguments(*tensors)
        return self.add("cpu_op", name, at, us, args=args, **more)

    def kernel(
        self, name: str, at: float, us: Any, *, launch: float | None = None, stream: int = 7,
        correlation: int | None = None, by: str = "cudaLaunchKernel", cat: str = "kernel", **args: Any,
    ) -> dict:  # fmt: skip
        """A kernel, and its launch on the host at `launch` (none when None)."""
        correlation = next(self._ids) + 10_000 if correlation is None else correlation
        if launch is not None:
            self.add("cuda_runtime", by, launch, 1.0, args={"correlation": correlation})
        held = {"device": 0, "stream": stream, "correlation": correlation, **args}
        return self.add(cat, name, at, us, pid=0, tid=stream, args=held)

    def text(self, after: dict[str, Any] | None = None, events_first: bool = False) -> str:
        """As Kineto writes it: one event after the other, split by lines of two spaces."""
        events = ",\n".join(
            "  {\n    " + json.dumps(event)[1:-1] + "\n  }" for event in self.events
        )
        about = json.dumps(self.about)[1:-1]
        tail = json.dumps({"traceName": "/home/somebody/trace.json", **(after or {})})[1:-1]
        if events_first:
            return f'{{\n"traceEvents": [\n{events}\n],\n{about},{tail}}}\n'
        return f'{{\n{about},\n"traceEvents": [\n{events}\n  ],\n  {tail}\n}}\n'

    def write(self, path: Path, **how: Any) -> Path:
        """As a file; gzipped when its name says so, for the eye only."""
        data = self.text(**how).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path


def arguments(*given: Any) -> dict[str, Any]:
    """The four parallel lists of an operator's arguments."""
    dims, strides, kinds, values = [], [], [], []
    for one in given:
        if isinstance(one, str):
            text, kind = one, "ScalarList" if one.startswith("[") else "Scalar" if one else ""
            dims.append([]), strides.append([]), kinds.append(kind), values.append(text)
            continue
        shape, dtype = one
        steps = [1] * len(shape)
        for at in range(len(shape) - 2, -1, -1):
            steps[at] = steps[at + 1] * shape[at + 1]
        dims.append(list(shape)), strides.append(steps), kinds.append(KINDS.get(dtype, dtype))
        values.append("")
    return {"Input Dims": dims, "Input Strides": strides, "Input type": kinds,
            "Concrete Inputs": values}  # fmt: skip


def matmul(trace: Trace, at: float, kernel_us: Any = 100.0, m=64, k=32, n=16, **more: Any) -> None:
    """``aten::mm`` of fp32 with one kernel, 5 us on the host."""
    trace.op("aten::mm", at, 5.0, ((m, k), "fp32"), ((k, n), "fp32"))
    trace.kernel("sgemm", at + 10, kernel_us, launch=at + 1, **more)
