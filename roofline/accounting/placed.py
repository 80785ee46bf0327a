"""An account under a roof: the least time of each line, one call after the other."""

from collections.abc import Iterable
from dataclasses import dataclass

from roofline.accounting.account import Account, Line
from roofline.device import Resource, Roof
from roofline.placement import Placement, place


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """The least time of some calls, one after the other, with their data in memory."""

    roof_s: float | None  # None where no part could be bounded
    binding: Resource | None  # what most of that time is bound by
    complete: bool  # whether every call is accounted for and every resource has a ceiling


def least(account: Account, lines: Iterable[Line], roof: Roof) -> Least:
    """Sum over the calls that the formula asks for; recomputed ones are not among them."""
    known: dict[int, Placement] = {}
    total_s, complete, any_known = 0.0, True, False
    by_resource: dict[Resource, float] = {}
    for line in lines:
        signature = account.signatures[line.signature]
        if line.recomputed or signature.ledger is None:
            continue
        if line.signature not in known:
            known[line.signature] = place(signature.ledger, roof)
        once = known[line.signature]
        complete = complete and once.known
        if once.roof_s is None:
            continue
        any_known = True
        total_s += line.calls * once.roof_s
        if once.binding is not None:
            bound = once.binding.demanded
            by_resource[bound] = by_resource.get(bound, 0.0) + line.calls * once.binding.least_s
    return Least(
        roof_s=total_s if any_known else None,
        binding=max(by_resource, key=by_resource.__getitem__, default=None),
        complete=complete,
    )
