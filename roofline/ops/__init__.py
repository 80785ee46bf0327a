"""Accounting rules: from an operator call to a ledger.

Families stand in folders by what they do to data; what all rules are made of stands beside them.
Adding an operator: write its function beside its relatives, add one line to that file's RULES,
and one hand-counted row to tests/tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from roofline.call import Call
from roofline.errors import RooflineError
from roofline.ops import collective, formulas, free, hardware, own, recurrent, sized, sized_executed
from roofline.ops.attending import attention as _attention
from roofline.ops.attending import encoder, ragged, sdpa, varlen
from roofline.ops.attending.attention import attention
from roofline.ops.elements import creation, dropout, gated, optimizer, pointwise
from roofline.ops.formulas import Parameter
from roofline.ops.moving import bag, indexing, movement
from roofline.ops.moving import embedding as _embedding
from roofline.ops.moving.embedding import embedding
from roofline.ops.moving.movement import copy
from roofline.ops.products import contraction, distance, linalg, matmul, quantized, quantizing
from roofline.ops.products.matmul import bmm, gemm, gemv, linear
from roofline.ops.products.quantized import packed_gemm
from roofline.ops.rows import batch_norm, loss, margin, norm, reduce, segments, sorting, weight_norm
from roofline.ops.rows import softmax as _softmax
from roofline.ops.rows.norm import layer_norm, rms_norm
from roofline.ops.rows.softmax import softmax
from roofline.ops.rule import Rule, index
from roofline.ops.sized import add, elementwise, gelu, mean, mul, relu, saxpy, silu
from roofline.ops.sparsity import sparse, sparse_pairs, sparse_products
from roofline.ops.windows import conv, conv_calls, fourier, padding, pooling, resampling
from roofline.ops.windows.conv import conv2d
from roofline.work import Ledger, unknown

RULES: tuple[Rule, ...] = (
    *pointwise.RULES,
    *gated.RULES,
    *reduce.RULES,
    *_softmax.RULES,
    *norm.RULES,
    *batch_norm.RULES,
    *weight_norm.RULES,
    *matmul.RULES,
    *contraction.RULES,
    *quantized.RULES,
    *quantizing.RULES,
    *ragged.RULES,
    *segments.RULES,
    *sparse.RULES,
    *sparse_products.RULES,
    *conv_calls.RULES,
    *recurrent.RULES,
    *sdpa.RULES,
    *varlen.RULES,
    *encoder.RULES,
    *_embedding.RULES,
    *bag.RULES,
    *indexing.RULES,
    *sorting.RULES,
    *pooling.RULES,
    *resampling.RULES,
    *padding.RULES,
    *movement.RULES,
    *creation.RULES,
    *dropout.RULES,
    *loss.RULES,
    *margin.RULES,
    *fourier.RULES,
    *linalg.RULES,
    *distance.RULES,
    *optimizer.RULES,
    *collective.RULES,
    *free.RULES,
)

BY_OP = index(RULES)

# Operators that pass once over their data and could be one kernel with a neighbour that does too.
STREAMING = frozenset(
    rule.op
    for rule in (*pointwise.RULES, *reduce.RULES, *_softmax.RULES, *norm.RULES, *batch_norm.RULES)
)

# Matrix products, convolutions and attention, and what consists of them mostly.
PRODUCTS = frozenset(
    rule.op
    for rule in (
        *matmul.RULES,
        *contraction.RULES,
        *quantized.RULES,
        *quantizing.PRODUCTS,
        *conv_calls.RULES,
        *recurrent.RULES,
        *sdpa.RULES,
        *varlen.RULES,
        *encoder.RULES,
        *linalg.RULES,
        *sparse_products.RULES,
    )
)

# Copies read every element of their tensors as well, which is when sectors can be counted.
_COPIES = frozenset(f"aten::{name}" for name in ("clone", "_to_copy", "cat", "stack"))

_FREE = frozenset(rule.op for rule in free.RULES)

# Rules for dense tensors as they are when an argument is sparse.
_OF_SPARSE = {**sparse.OF_SPARSE, **sparse_pairs.OF_SPARSE, **sparse_products.OF_SPARSE}
_ON_VALUES = frozenset(rule.op for rule in pointwise.RULES) | {"aten::clone", "aten::_to_copy"}

_FORMULAS: tuple[Callable[..., Ledger], ...] = (
    *matmul.FORMULAS,
    *quantized.FORMULAS,
    *conv.FORMULAS,
    *_attention.FORMULAS,
    *_softmax.FORMULAS,
    *norm.FORMULAS,
    *sized.FORMULAS,
    *_embedding.FORMULAS,
    *movement.FORMULAS,
)
# The same accounting by sizes instead of tensors, for people: `roofline op NAME k=v ...`.
FORMULAS: Mapping[str, Callable[..., Ledger]] = {f.__name__.rstrip("_"): f for f in _FORMULAS}

__all__ = [
    "BY_OP", "FORMULAS", "PRODUCTS", "RULES", "STREAMING", "Parameter", "account", "add",
    "add_rule", "attention", "bmm", "conv2d", "copy", "elementwise", "embedding", "executed",
    "formula", "formula_executed", "free_of_work", "gelu", "gemm", "gemv", "known", "layer_norm",
    "linear", "mean", "mul", "packed_gemm", "parameters", "relu", "rms_norm", "saxpy", "silu",
    "softmax",
]  # fmt: skip


def known(op: str) -> bool:
    """Whether there is a rule for operator `op`, the library's or a user's."""
    return op in BY_OP or op in own.RULES


def free_of_work(op: str) -> bool:
    """Whether `op` is known to touch no data: a view, an allocation, a question about a tensor."""
    return op in _FREE


def add_rule(op: str) -> Callable[[own.Account], own.Account]:
    """Account for an operator of one's own, in this process, by the function that follows.

    The function takes a `roofline.call.Call` and returns a ledger; an operator can have one rule.
    """

    def add(function: own.Account) -> own.Account:
        own.add(op, function, BY_OP)
        return function

    return add


def account(call: Call) -> Ledger:
    """Algorithmic ledger of one call.

    An operator without a rule, and a call its rule cannot understand, is named in `unaccounted` and
    never counted as zero; in the second case the reason stands in `conventions`.
    """
    found = BY_OP.get(call.op) or own.RULES.get(call.op)
    if found is None:
        return unknown(call.op)
    try:
        return _algorithmic(found, call)
    except RooflineError as reason:
        return replace(unknown(call.op), conventions=(f"not accounted for: {reason}",))


def _algorithmic(found: Rule, call: Call) -> Ledger:
    if sparse.any_among(call):
        if call.op in _OF_SPARSE:
            return _OF_SPARSE[call.op](call)
        if call.op in _ON_VALUES:
            return sparse.on_values(found.account, call)
    return found.account(call)


def executed(call: Call) -> Ledger | None:
    """What the hardware is known to run and move for this call beyond the formula.

    Only lines that are known to differ stand in it, and None is "nothing known": whole tiles and
    scores computed again, lines fetched to be written, the rest of sectors read in part.
    """
    found = BY_OP.get(call.op) or own.RULES.get(call.op)
    if found is None:
        return None
    try:
        asked = _algorithmic(found, call)
        runs = None if sparse.any_among(call) else found.executed
        arithmetic = None if runs is None else runs(call)
    except RooflineError:
        return None  # `account` says why
    streamed = call.tensors if call.op in STREAMING or call.op in _COPIES else ()
    moved = hardware.moved(call, asked, streamed)
    if arithmetic is None or moved is None:
        return arithmetic or moved
    return arithmetic + moved


def formula_executed(
    name: str, asked: Ledger, kind: Literal["cpu", "gpu"], given: Mapping[str, str]
) -> Ledger | None:
    """What such hardware is known to run and move beyond a formula's ledger; None as above."""
    if kind == "cpu":
        return hardware.allocated(asked)
    twin = sized_executed.TWINS.get(name)
    return None if twin is None else formulas.evaluate(name, twin, given)


def parameters(name: str) -> tuple[Parameter, ...]:
    """Name, type and default of each parameter of the formula `name`."""
    return formulas.parameters(formulas.named(FORMULAS, name))


def formula(name: str, **given: str) -> Ledger:
    """The ledger of the formula `name`, its parameters given as text.

    >>> formula("gemm", m="1", n="4096", k="4096", dtype="fp16").flop
    33554432
    """
    return formulas.evaluate(name, formulas.named(FORMULAS, name), given)
