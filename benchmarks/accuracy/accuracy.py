"""Predicted against measured times of forty memory-bound kernels on one GPU, in one run.

    python benchmarks/accuracy/accuracy.py OUT.json [--development]
    python benchmarks/accuracy/page.py OUT.json > docs/accuracy.md

Measures the card's memory and PyTorch's paces; then counts and predicts every case, all of them
before the first is timed; then times each.  --development takes the sixty that the model was
developed on instead.
"""

import argparse
import platform
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import msgspec
import torch
import work
from cases import Case, eager, fused
from drawn import SEED, drawn
from timing import CACHES, SAMPLES, forget, rotation, times_s

from roofline.accounting.expected import Roofs, of_call, roofs, together
from roofline.bench.gpu import ceilings, memory, pace
from roofline.bench.gpu.card import Driver, card, working_on
from roofline.bench.gpu.record import recorder
from roofline.bench.gpu.timing import timer
from roofline.device import DRAM, ELEMENTS, LAUNCH, Ceiling, Device
from roofline.devices import kept

COMMITTED = Path(__file__).parents[2] / "tests" / "data" / "h200-measured.json"
HERE = (DRAM, LAUNCH, ELEMENTS)
Done = TypeVar("Done")


def measured_here(rest: Device) -> Device:
    """The device of the file with memory, starts and paces measured now; pipes stay the file's."""
    unit = card(0)
    with working_on(unit):
        driver = Driver(unit)
        made = recorder(timer(unit, driver, ceilings.FULL), driver.settings())
        arrays = memory.pool(torch.cuda.mem_get_info(0)[0], quick=True)
        found = [*memory.dram(made, arrays, True), *pace.paces(made, arrays, False)]
    for one in found:
        if not isinstance(one, Ceiling):
            print(one, file=sys.stderr)
    others = [c for c in rest.ceilings if c.resource not in HERE]
    return replace(
        rest, ceilings=(*(c for c in found if isinstance(c, Ceiling)), *others), traces=()
    )


def predicted(case: Case, under: Roofs) -> dict[str, Any]:
    """What the case needs and what it should take."""
    kernels = work.kernels(case, case.operands("cuda"))
    whole = together([
        part
        for k in kernels
        if (part := of_call(k.call, k.ledger, k.executed, under, case.own)) is not None
    ])  # fmt: skip
    if whole is None:
        raise ValueError(f"{case.name}: nothing accounted for")
    return {"name": case.name, "kind": case.kind, "kernels": kernels, "own": case.own,
            "expected": whole}  # fmt: skip


def timed(case: Case, row: dict[str, Any], l2: int) -> None:
    """Add its times."""
    moved = sum(k.ledger.demand().get(DRAM, 0) for k in row["kernels"])
    around = rotation(case, moved, l2)
    row["sets"] = len(around.sets)
    row["times_s"] = times_s(case, around)
    print(f"{row['expected'].seconds * 1e6:9.1f} us expected, {median(row['times_s']) * 1e6:9.1f} "
          f"measured  {case.name} ({row['expected'].by})", file=sys.stderr)  # fmt: skip


def attempted(run: Callable[[], Done], case: Case) -> Done | None:
    """The result, or None with the reason on standard error: one case must not cost the others."""
    try:
        return run()
    except Exception:
        print(f"{case.name} failed", file=sys.stderr)
        traceback.print_exc()
        return None
    finally:
        forget()


def main() -> None:
    """Measure, predict, time, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=Path)
    parser.add_argument("--development", action="store_true")
    asked = parser.parse_args()
    device = measured_here(kept.read_file(COMMITTED))
    under = roofs(device.in_force())
    cases = [*eager(), *fused("cuda")] if asked.development else drawn("cuda")
    rows: list[tuple[Case, dict[str, Any]]] = []
    with torch.no_grad():
        for case in cases:
            row = attempted(lambda c=case: predicted(c, under), case)
            rows += [(case, row)] if row is not None else []
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        for case, row in rows:
            attempted(lambda c=case, r=row: timed(c, r, l2), case)
    document = {
        "schema": "roofline.accuracy/1",
        "taken": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "seed": None if asked.development else SEED,
        "software": {"torch": str(torch.__version__), "python": platform.python_version()},
        "samples": SAMPLES,
        "caches": CACHES,
        "device": device,
        "rows": [row for _, row in rows if "times_s" in row],
    }
    asked.output.write_bytes(msgspec.json.encode(document))


if __name__ == "__main__":
    main()
