"""What a document says of a step's use of the device: MFU, HFU, MBU, and the flop behind them."""

from typing import Any

from roofline.program import Program, flop, hfu, mbu, mfu

Document = dict[str, Any]


def shares(program: Program) -> Document:
    """MFU and MBU with the formula that each number comes from; null where one is missing."""
    return {
        name: None
        if use is None
        else {
            "share": use.share, "formula": use.formula, "resource": use.resource.name,
            "amount": use.amount, "time_s": use.time_s, "rate": use.ceiling.rate,
            "basis": use.ceiling.provenance.basis.value, "complete": use.complete,
        }
        for name, use in (("mfu", mfu(program)), ("hfu", hfu(program)), ("mbu", mbu(program)))
    }  # fmt: skip


def arithmetic(program: Program) -> Document:
    """Arithmetic of one step by pipe: asked for, done a second time, and known to have run."""
    found = flop(program)
    return {
        "flop": {
            name: {r.name: amount for r, amount in amounts.items()}
            for name, amounts in (
                ("useful", found.useful),
                ("recomputed", found.recomputed),
                ("executed", found.executed),
            )
        },
        "recomputed_share": found.again,
    }
