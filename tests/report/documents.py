"""Placement documents as `roofline.report.html` gets them, made up but consistent with themselves.

`layernorm()` is what the layer-norm example gives on a two-core machine; `many(n)` has n items
spread over the whole chart; `empty()` has none.
"""

import random
from typing import Any

Document = dict[str, Any]

KIND_UNIT = {"l1": "B", "l2": "B", "l3": "B", "dram": "B", "dispatch": "launch"}

# (resource, variant, rate per second, capacity in B).  Two threads, as two cores would give.
CEILINGS = [
    ("l1", {"access": "read"}, 662e9, 98_304),
    ("l1", {"access": "copy"}, 655e9, 98_304),
    ("l1", {"access": "triad"}, 897e9, 98_304),
    ("l2", {"access": "read"}, 271e9, 4_194_304),
    ("l2", {"access": "copy"}, 141e9, 4_194_304),
    ("l2", {"access": "triad"}, 186e9, 4_194_304),
    ("l3", {"access": "read"}, 52.4e9, 33_554_432),
    ("l3", {"access": "copy"}, 47.8e9, 33_554_432),
    ("l3", {"access": "triad"}, 41.0e9, 33_554_432),
    ("dram", {"access": "read"}, 21.3e9, None),
    ("dram", {"access": "copy"}, 12.1e9, None),
    ("dram", {"access": "triad"}, 14.6e9, None),
    ("vector-fp32", {"reach": "library"}, 318e9, None),
    ("vector-fp32", {"reach": "register"}, 354e9, None),
    ("vector-fp64", {"reach": "library"}, 158e9, None),
    ("vector-fp64", {"reach": "register"}, 176e9, None),
    ("tensor-bf16", {"reach": "library"}, 2.21e12, None),
    ("tensor-int8", {"reach": "library"}, 2.64e12, None),
    ("dispatch", {}, 412e3, None),
]


def unit(resource: str) -> str:
    if resource in KIND_UNIT:
        return KIND_UNIT[resource]
    return "op" if resource.endswith("int8") else "flop"


def ceiling(resource: str, variant: dict[str, str], rate: float, capacity: int | None) -> Document:
    threads = 1 if resource == "dispatch" else 2
    words = [*variant.values(), f"{threads} thread{'s' if threads > 1 else ''}"]
    return {
        "resource": resource,
        "unit": unit(resource),
        "rate": rate,
        "basis": "measured",
        "variant": ", ".join(words),
        "access": variant.get("access"),
        "threads": threads,
        "reach": variant.get("reach"),
        "capacity": capacity,
        "source": "roofline measure, C kernels",
        "conditions": "gcc 12.2 -O3 -march=native, pinned, clean share 0.94",
        "n": 41,
        "dropped": 0 if threads == 1 else 7,
        "unstable": "",
        "median": rate,
        "q1": rate * 0.985,
        "q3": rate * 1.007,
        "best": rate * 1.021,
        "low": rate * 0.991,
        "high": rate * 1.004,
        "as_of": "2026-07-14",
        "sustained": False,
        "confidence": None,
    }


def roof() -> list[Document]:
    return [ceiling(*row) for row in CEILINGS]


def _rate(resource: str, access: str | None) -> tuple[float, str]:
    rows = [c for c in roof() if c["resource"] == resource]
    chosen = next((c for c in rows if access is not None and c["access"] == access), rows[0])
    return chosen["rate"], chosen["variant"]


def item(
    name: str,
    shapes: str,
    demand: dict[str, int],
    measured_s: float | None,
    *,
    access: str = "copy",
    calls: int = 1,
    module: str = "",
    phase: str = "forward",
    placed_at: str = "dram",
    unaccounted: tuple[str, ...] = (),
    no_ceiling: tuple[str, ...] = (),
) -> Document:
    """One item; `demand` is per step.  Times follow: amount / rate, the largest binds."""
    known = bool(demand) or not unaccounted
    bounds = []
    for resource, amount in demand.items():
        if resource in no_ceiling:
            continue
        rate, variant = _rate(resource, access if unit(resource) == "B" else None)
        bounds.append({"resource": resource, "amount": amount, "rate": rate, "basis": "measured",
                       "least_s": amount / rate, "served_by": resource, "variant": variant})  # fmt: skip
    bounds.sort(key=lambda b: b["least_s"], reverse=True)
    flop = sum(a for r, a in demand.items() if unit(r) == "flop") if known else None
    roof_s = bounds[0]["least_s"] if bounds else None if demand or unaccounted else 0.0
    byte_bounds = [b for b in bounds if unit(b["resource"]) == "B"]
    pipe = next((b for b in bounds if unit(b["resource"]) == "flop"), None)
    return {
        "name": f"aten::{name}",
        "shapes": shapes,
        "module": module,
        "phase": phase,
        "kind": "op",
        "count": "algorithmic",
        "calls": calls,
        "demand": demand if known else None,
        "unaccounted": list(unaccounted),
        "intensity": {r: flop / a for r, a in demand.items() if unit(r) == "B"} if flop is not None else {},
        "ridge_point": {b["resource"]: pipe["rate"] / b["rate"] for b in byte_bounds} if pipe else {},
        "bounds": bounds,
        "binding": bounds[0]["resource"] if bounds else None,
        "roof_s": roof_s,
        "serial_s": sum(b["least_s"] for b in bounds) if roof_s is not None else None,
        "attainable_flop_per_s": flop / roof_s if flop and roof_s else None,
        "measured_s": measured_s,
        "roof_fraction": roof_s / measured_s if roof_s and measured_s else None,
        "lost_s": measured_s - roof_s if roof_s is not None and measured_s is not None else None,
        "overhead_s": 2.4e-6 * calls if measured_s is not None else None,
        "placed_at": placed_at if any(unit(r) == "B" for r in demand) else None,
        "no_ceiling": list(no_ceiling),
        "executed": {r: None for r in demand if unit(r) == "flop"},
        "achieved": {r: {"read": None, "write": None, "source": None} for r in demand if unit(r) == "B"},
        "excess": {r: None for r in demand if unit(r) == "B"},
        "spread": None if measured_s is None else {
            "n": 10, "dropped": 0, "unstable": "", "median": measured_s, "q1": measured_s * 0.97, "q3": measured_s * 1.04,
            "best": measured_s * 0.94, "low": measured_s * 0.96, "high": measured_s * 1.05},
        "too_short": measured_s is not None and measured_s / calls < 1e-5,
        "share": None,
        "flop": flop,
        "loose_roof_s": roof_s,
        "spread_of": "call",
        "page_faults": None,
        "exactness": "exact" if known else "unknown",
        "conventions": [],
        "ledger": [{"resource": r, "amount": a, "unit": unit(r), "why": "each operand once", "access": None,
                    "exactness": "exact", "low": None, "high": None} for r, a in demand.items()],
    }  # fmt: skip


def layernorm() -> Document:
    """A pass over 16384 x 1024 fp32 is 67,108,864 B; a row result is 65,536 B."""
    full, row = 67_108_864, 65_536
    n = 16_777_216
    shape, rows = "16384x1024 fp32", "16384x1 fp32"
    hand = "HandLayerNorm"
    items = [
        item("mean", shape, {"vector-fp32": n, "dram": full + row}, 4.31e-3, access="read", module=hand),
        item("sub", f"{shape}, {rows}", {"vector-fp32": n, "dram": 2 * full + row}, 14.9e-3, module=hand),
        item("pow", shape, {"vector-fp32": n, "dram": 2 * full}, 14.2e-3, module=hand),
        item("mean", shape, {"vector-fp32": n, "dram": full + row}, 4.02e-3, access="read", module=hand),
        item("add", rows, {"vector-fp32": 16_384, "l2": 2 * row}, 7.9e-6, module=hand, placed_at="l2"),
        item("rsqrt", rows, {"sfu": 16_384, "l2": 2 * row}, 21.4e-6, module=hand, placed_at="l2", no_ceiling=("sfu",)),
        item("mul", f"{shape}, {rows}", {"vector-fp32": n, "dram": 2 * full + row}, 13.8e-3, module=hand),
        item("mul", f"{shape}, 1024 fp32", {"vector-fp32": n, "dram": 2 * full + 4096}, 13.1e-3, module=hand),
        item("add", f"{shape}, 1024 fp32", {"vector-fp32": n, "dram": 2 * full + 4096}, 12.7e-3, module=hand),
        item("native_layer_norm", shape, {"vector-fp32": 8 * n, "dram": 2 * full + 8192}, 13.6e-3, module="LayerNorm"),
        item("addmm", "16384x1024, 1024x1024 fp32", {"vector-fp32": 34_376_515_584, "dram": 138_416_128}, 131e-3, module="Linear"),
        item("copy_", shape, {"dram": 2 * full}, 11.3e-3, phase="other"),
        item("clone", "128x1024 fp32", {"l2": 1_048_576}, 9.8e-6, phase="other", placed_at="l2"),
        item("softmax", "512x1024 fp32", {"vector-fp32": 2_097_152, "sfu": 524_288, "l2": 4_194_304}, 61e-6,
             calls=2, placed_at="l2", no_ceiling=("sfu",)),
        item("sum", "65536 fp32", {"vector-fp32": 65_535, "l2": 262_148}, 0.91e-6, access="read", placed_at="l2"),
        item("mm", "256x256, 256x256 bf16", {"tensor-bf16": 33_554_432, "l2": 393_216}, 29e-6, placed_at="l2"),
        item("gelu", shape, {"vector-fp32": 9 * n, "sfu": n, "dram": 2 * full}, None, no_ceiling=("sfu",)),
        item("histc", shape, {}, 1.7e-3, unaccounted=("aten::histc",)),
        item("view", shape, {}, 1.1e-6),
    ]  # fmt: skip
    items[14]["spread"]["unstable"] = "two clusters, 900 ns and 1.10 us"
    timed = [i for i in items if i["measured_s"] is not None]
    measured = sum(i["measured_s"] for i in timed)
    for i in timed:
        i["share"] = i["measured_s"] / measured
    roof_s = sum(i["roof_s"] for i in timed if i["roof_s"] is not None)
    return {
        "schema": "roofline.placement/1",
        "device": {"id": "intel-xeon-2-cores", "name": "Intel Xeon Processor (2 cores)", "kind": "cpu",
                   "basis": "measured", "threads": 2},
        "roof": roof(),
        "recorder": {
            "program": "layernorm.py",
            "tool": "roofline 0.1.0",
            "recorded_at": "2026-07-14T09:12:44Z",
            "versions": {"python": "3.11.2", "torch": "2.13.0+cpu"},
            "threads": 2,
            "timer": "perf_counter_ns around each outermost operator; median of 10 steps",
            "overhead_s": 2.4e-6,
            "shortest_s": 1e-5,
            "cache": "warm",
            "clock": "free",
            "exit_code": 0,
            "warnings": [],
        },
        "program": {"steps": 10, "calls": 19, "step_s": 0.2391, "busy_s": measured, "gap_s": 1.9e-3,
                    "roof_s": roof_s, "loose_roof_s": roof_s * 0.93, "lost_s": measured - roof_s, "overhead_s": 4.3e-5, "bookkeeping_s": 8.1e-4},
        "coverage": 1 - 1.7e-3 / measured,
        "by": "call",
        "answer": [
            "Most of the time goes to arithmetic: addmm takes 56 % of the step and runs at 83 % of its roof.",
            "The handwritten layer norm passes over the same 67.1 MB twelve times where two passes would do; "
            "fused it would save at most 66.0 ms.",
        ],
        "items": items,
        "findings": [
            {"code": "RF001", "item": "sum 65536 fp32", "claim": "sum runs at 106 % of its roof.",
             "evidence": ["262 kB from l2 at 271 GB/s need 967 ns", "measured 910 ns in 1 call"],
             "next_step": "Measure the call again with more repetitions: it is shorter than the recorder can time.",
             "saves_s": None, "wrong_if": "The operands were in l1 before the call."},
            {"code": "RF101", "item": "", "claim": "The same tensor is passed over again and again.",
             "evidence": ["7 operators of HandLayerNorm move 805 MB over dram", "the fused form moves 134 MB: 6.0 times less"],
             "next_step": "Use torch.nn.functional.layer_norm, or compile the function.",
             "saves_s": 66.0e-3, "now_s": 80.0e-3, "then_s": [14.0e-3, 14.4e-3], "wrong_if": "An intermediate is used outside the function."},
            {"code": "RF202", "item": "histc 16384x1024 fp32", "claim": "Nobody accounts for aten::histc.",
             "evidence": ["1.70 ms, 0.7 % of the step"],
             "next_step": "Add a rule for it; until then its time counts against coverage.",
             "saves_s": None, "wrong_if": "It is a composite of operators that have rules."},
        ],
        "gaps": [
            {"name": "thread loader-0", "what": "Operators on this thread were seen by nobody.", "seconds": 3.1e-3, "count": None},
            {"name": "compiled region", "what": "One region ran outside the recorder.", "seconds": None, "count": 1},
        ],
    }  # fmt: skip


def empty() -> Document:
    """A run in which nothing was recorded: everything that can be unknown is."""
    return layernorm() | {
        "items": [], "findings": [], "gaps": [], "answer": [], "coverage": None, "program": None,
        "recorder": None,
    }  # fmt: skip


def many(count: int) -> Document:
    """`count` items, with arithmetic and without, placed at every level, some of them unmeasured."""
    chance = random.Random(7)
    items = []
    for index in range(count):
        level = chance.choice(["l1", "l2", "l3", "dram", "dram"])
        moved = int(10 ** chance.uniform(4, 8.5))
        flop = 0 if index % 9 == 0 else int(moved * 10 ** chance.uniform(-1.5, 2.2)) + 1
        demand = {"vector-fp32": flop, level: moved} if flop else {level: moved}
        least = max(moved / _rate(level, "copy")[0], flop / 318e9)
        measured = None if index % 17 == 0 else least * 10 ** abs(chance.gauss(0, 0.5))
        items.append(
            item(f"op_{index:04d}", f"{moved} B", demand, measured, placed_at=level,
                 module=f"layers.{index % 24}", calls=1 + index % 5)
        )  # fmt: skip
    return layernorm() | {"items": items}
