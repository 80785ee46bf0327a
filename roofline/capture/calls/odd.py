"""Calls that are no single `Call`: on nested tensors, of functions, on other layouts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from roofline import ops
from roofline.call import Call
from roofline.capture.book import NOTHING, Book
from roofline.capture.calls import blocked, flexible, nested
from roofline.capture.calls.blocked import any_blocked
from roofline.capture.calls.nested import any_nested
from roofline.capture.calls.operator import Operator
from roofline.capture.calls.signature import opaque_name
from roofline.work import Ledger


def number(
    book: Book,
    operator: Operator,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    made: Sequence[Any],
    *,
    account: Callable[[Call], Ledger],
    device: Literal["cpu", "cuda"] | None = None,
    wait: bool = False,
) -> int:
    """The number of one such call: counted where something here can, else named.

    `account` counts one component of nested tensors; `wait` allows reading a mask's blocks from
    another device.
    """
    flex = flexible.call(operator.name, args, device, wait) if operator.opaque else None
    if flex is not None:
        return book.number(flex)
    values = [*args, *kwargs.values(), *made]
    name = opaque_name(operator, values)
    if operator.is_view or ops.free_of_work(operator.name):
        return book.counted(name, NOTHING)
    if any_nested(values):
        ledger = nested.counted(operator, args, kwargs, made, account)
        if ledger is not None:
            return book.counted(name, ledger)
    elif any_blocked(values):
        ledger = blocked.counted(operator, args, kwargs, made, account)
        if ledger is not None and not ledger.unaccounted:
            return book.counted(name, ledger)
    return book.named(name)
