"""The placement document: one plain dictionary that text, page and scripts all read.

Schema ``roofline.placement/1``.  Amounts and times of an item are totals over its calls in one
step (mean over the measured steps).  null is unknown.  `share` is an item's part of the time of
all operators together, so that shares sum to 1 also where streams overlap; `busy_s` of the program
counts such time once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from roofline.called import readable
from roofline.counters import busiest
from roofline.device import BOUNDARIES, DRAM, HIERARCHY, PIPES, Ceiling, Resource, Roof
from roofline.diagnosis import Finding, diagnose
from roofline.diagnosis.answer import answer
from roofline.placement import Bound, Placement
from roofline.program import Item, Program, read
from roofline.program.item import total
from roofline.provenance import Spread
from roofline.report import beside, crossed, device_time, use
from roofline.runfile import Run
from roofline.work import Count, Exactness, Ledger, Work

SCHEMA = "roofline.placement/1"
Document = dict[str, Any]
_UNMEASURED: Document = dict.fromkeys(field.name for field in fields(Spread))


def of_run(run: Run, by: str = "call") -> Document:
    """Everything that can be said of a run, as plain data; `by` is one of program.GROUPINGS."""
    return document(read(run), by)


def document(program: Program, by: str = "call") -> Document:
    """The same, of a program that has been read."""
    findings = diagnose(program)
    recorder = program.recorder
    whole = asdict(program.whole)
    coverage = whole.pop("coverage")
    return {
        "schema": SCHEMA,
        "device": _device(program),
        "roof": [_ceiling(ceiling) for ceiling in program.roof.ceilings],
        "recorder": None if recorder is None else asdict(recorder),
        "program": None
        if recorder is None
        else {
            **whole,
            **use.shares(program),
            **use.arithmetic(program),
            **crossed.of_program(program),
            **device_time.of_program(program),
        },
        "coverage": coverage,
        "answer": [] if recorder is None else list(answer(program, findings)),
        "by": by,
        "items": [_item(item, program) for item in program.by(by)],
        "findings": [_finding(finding) for finding in findings],
        **beside.of_program(program),
        "gaps": [asdict(gap) for gap in program.gaps],
    }


def _item(item: Item, program: Program) -> Document:
    n = item.steps
    measured_s = _per(item.measured_s, n)
    all_ns = total(part.time_ns for part in program.parts)
    return {
        "name": item.name,
        "shapes": item.shapes,
        "module": item.module,
        "phase": item.phase,
        "kind": item.kind,
        "calls": _per(item.calls, n),
        **_placed(item, n, program.roof),
        "roof_s": _per(item.roof_s, n),
        "serial_s": _per(item.serial_s, n),
        "loose_roof_s": _per(item.placement.roof_s, n),
        "axes_s": {axis: least_s / n for axis, least_s in item.axes_s.items()},
        "measured_s": measured_s,
        "degree": item.degree,
        "roof_fraction": item.roof_fraction,
        "lost_s": _per(item.lost_s, n),
        "without_roof_s": _per(item.without_roof_s, n),
        "starts": _per(item.starts, n),
        "overhead_s": _per(item.overhead_s, n),
        # Of the time of all operators together: where streams overlap they take longer than the
        # device was busy, and shares of the busy time would exceed 1.
        "share": item.measured_s * 1e9 / all_ns if item.measured_s is not None and all_ns else None,
        "spread": None if item.spread is None else asdict(item.spread),
        "spread_of": "call" if len(item.signatures) == 1 else "step",
        "too_short": item.too_short,
        "page_faults": _per(item.page_faults, n),
        "exactness": _exactness(item.placement.counted),
        "conventions": list(dict.fromkeys(text for x in _told(item) for text in x.conventions)),
        "ledger": _lines(item.placement.counted, n) if len(item.signatures) == 1 else None,
        "executed_ledger": _ran(item, n) if len(item.signatures) == 1 else None,
        "facts": _facts(program, item),
        "main_kernel": _main_kernel(program, item),
        "busiest": _busiest(program, item),
        "replay": beside.of_item(item, program),
    }


def _placed(item: Item, n: int, roof: Roof) -> Document:
    placement = item.placement
    ledger, work = placement.ledger, placement.work
    demand = {} if ledger is None else ledger.demand()
    by_formula = placement.count is Count.ALGORITHMIC
    pipes = [r for r in PIPES if r in demand or r in placement.demand]
    boundaries = [r for r in BOUNDARIES if r in demand or r in placement.demand]
    binding = placement.binding
    return {
        "count": placement.count.value,
        "demand": _demand(demand, placement.placed_at, roof, n)
        if ledger and by_formula and not _empty(ledger)
        else None,
        "flop": _per(placement.flop, n),
        "unaccounted": list(placement.unaccounted),
        "intensity": {r.name: v for r, v in item.intensity.items()},
        "ridge_point": {r.name: v for r, v in item.ridge_point.items()},
        "bounds": [_bound(bound, n, roof) for bound in placement.bounds],
        "binding": binding.demanded.name if binding else None,
        "next_bound": _next(placement.bounds),
        "ambiguous_with": [r.name for r in placement.ambiguous_with],
        "attainable_flop_per_s": item.attainable_flop_per_s,
        "placed_at": placement.placed_at.name if boundaries else None,
        "perhaps_at": placement.perhaps_at.name if placement.perhaps_at else None,
        "no_ceiling": [r.name for r in placement.no_ceiling],
        "executed": _executed(pipes, placement, n),
        "achieved": crossed.of_item(item, boundaries),
        "excess": {
            r.name: excess
            for r in (*pipes, *boundaries)
            if (excess := _excess(work, r)) is not None or r.is_boundary
        },
    }


def _next(bounds: Sequence[Bound]) -> Document | None:
    """The resource that would bind next, and its least time as a share of the one that does."""
    if len(bounds) < 2 or not bounds[0].least_s:
        return None
    return {"resource": bounds[1].demanded.name, "share": bounds[1].least_s / bounds[0].least_s}


def _empty(ledger: Ledger) -> bool:
    """Nothing at all is known: an unaccounted call alone, whose demand is null and not zero."""
    return not ledger.entries and bool(ledger.unaccounted)


def _demand(demand: Mapping[Resource, int], placed_at: Resource, roof: Roof, n: int) -> Document:
    """Amounts by resource; boundaries beyond the one that holds the data are null: resident."""
    amounts: Document = {r.name: _per(amount, n) for r, amount in demand.items()}
    if placed_at in demand and placed_at in HIERARCHY:
        known = {ceiling.resource for ceiling in roof.ceilings} | {DRAM}
        beyond = HIERARCHY[HIERARCHY.index(placed_at) + 1 :]
        amounts |= {r.name: None for r in beyond if r in known and r not in demand}
    return amounts


def _executed(pipes: Iterable[Resource], placement: Placement, n: int) -> Document:
    """By pipe, null where nothing is known; and by boundary where more moves than is asked for."""
    ledger = placement.work.executed
    known = {} if ledger is None else ledger.demand()
    crossed = [DRAM] if DRAM in known and placement.placed_at == DRAM else []
    return {r.name: _per(known.get(r), n) for r in (*pipes, *crossed)}


def _excess(work: Work, resource: Resource) -> float | None:
    """Achieved over algorithmic bytes, executed over algorithmic flop."""
    done = work.executed if resource.is_pipe else work.achieved
    if done is None or work.algorithmic is None:
        return None
    counted = done.demand().get(resource) if resource.is_pipe else done.crossed(resource)
    least = work.algorithmic.demand().get(resource)
    return counted / least if counted is not None and least else None


def _bound(bound: Bound, n: int, roof: Roof) -> Document:
    ceiling, mapped = bound.ceiling, roof.mapped.get(bound.demanded)
    return {
        "count": bound.count.value,
        "resource": bound.demanded.name,
        "amount": _per(bound.amount, n),
        "rate": ceiling.rate,
        "clock_hz": ceiling.clock_hz,
        "basis": ceiling.provenance.basis.value,
        "least_s": bound.least_s / n,
        "served_by": ceiling.resource.name,
        "served_why": mapped.why if mapped and ceiling.resource != bound.demanded else None,
        "variant": str(ceiling.variant),
    }


def _ceiling(ceiling: Ceiling) -> Document:
    where, variant = ceiling.provenance, ceiling.variant
    return {
        "resource": ceiling.resource.name,
        "unit": ceiling.resource.unit,
        "rate": ceiling.rate,
        "basis": where.basis.value,
        "variant": str(variant),
        "access": variant.access,
        "threads": variant.threads,
        "reach": variant.reach.value if variant.reach else None,
        "sustained": variant.sustained,
        "way": variant.way,
        "capacity": ceiling.capacity,
        "clock_hz": ceiling.clock_hz,
        "source": where.source,
        "conditions": where.conditions,
        "confidence": where.confidence or None,
        "as_of": where.as_of.isoformat(),
        **(asdict(where.spread) if where.spread else _UNMEASURED),
    }


def _device(program: Program) -> Document | None:
    if program.device is None and not program.roof.ceilings:
        return None
    return {
        "id": program.device.id if program.device else None,
        "name": program.roof.name,
        "kind": program.roof.kind,
        "basis": " and ".join(basis.value for basis in program.roof.bases) or None,
        "threads": program.recorder.threads if program.recorder else None,
    }


def _finding(finding: Finding) -> Document:
    plain = asdict(finding)
    plain["evidence"] = list(finding.evidence)
    del plain["timed"]  # they stand among the evidence
    return plain


def _lines(ledgers: Sequence[Ledger], n: int) -> list[Document]:
    return [
        {
            "resource": e.resource.name, "amount": _per(e.amount, n), "unit": e.resource.unit,
            "why": e.why, "access": e.access, "exactness": e.exactness.value,
            "low": _per(e.low, n), "high": _per(e.high, n),
        }
        for ledger in ledgers
        for e in ledger.entries
    ]  # fmt: skip


def _told(item: Item) -> Iterator[Ledger]:
    yield from item.placement.counted
    executed = item.placement.work.executed
    if executed is not None and executed not in item.placement.counted:
        yield executed


def _ran(item: Item, n: int) -> list[Document]:
    """What is known to run and move instead of the lines of the ledger."""
    ledger = item.placement.work.executed
    return [] if ledger is None else _lines([ledger], n)


def _facts(program: Program, item: Item) -> Document:
    """What counters say beside flop and bytes, of one launch: of a kernel, else of a call's main
    kernel.
    """
    if len(item.signatures) != 1:
        return {}
    own, main = program.facts.get(item.signatures[0]), program.main_kernels.get(item.signatures[0])
    return beside.readings(own or (main.facts if main else {}))


def _main_kernel(program: Program, item: Item) -> Document | None:
    """The kernel that most of a call's device time goes into; null where it started none."""
    main = program.main_kernels.get(item.signatures[0]) if len(item.signatures) == 1 else None
    return None if main is None else {"name": readable(main.name), "share": main.share}


def _busiest(program: Program, item: Item) -> Document | None:
    """The part of the chip nearest its own peak, as the profiler saw it; null is not known."""
    found = (
        busiest(program.facts.get(item.signatures[0], {})) if len(item.signatures) == 1 else None
    )
    return None if found is None else {"fact": found[0], "value": found[1].value, "unit": "%"}


def _exactness(ledgers: Sequence[Ledger]) -> str:
    labels = [ledger.exactness for ledger in ledgers]
    if not labels or None in labels:
        return "unknown"
    order = list(Exactness)
    return max((label for label in labels if label), key=order.index).value


def _per(total: float | None, n: int) -> float | int | None:
    """A total over `n` steps as one step's mean; whole numbers stay whole."""
    if total is None:
        return None
    return total // n if isinstance(total, int) and total % n == 0 else total / n
