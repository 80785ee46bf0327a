"""What is known of one operator before any call: read from its schema, once."""

from dataclasses import dataclass
from typing import Any

import torch

from roofline.capture.calls import precision

# A view by behaviour whose schema does not say so.
_UNMARKED_VIEWS = frozenset({"aten::_unsafe_view"})
_BEGINS = frozenset({"cum_seq_q", "cum_seq_k", "cu_seqlens_q", "cu_seqlens_k", "cu_seq_q",
                     "cu_seq_k"})  # fmt: skip
_MARKS = ("prim::", "profiler::")


@dataclass(frozen=True, slots=True)
class Operator:
    """One overload, as the recorder needs it."""

    func: Any  # the OpOverload; its id is part of every key, so it must stay alive
    name: str  # "aten::addmm": overloads folded
    parameters: tuple[tuple[str, Any], ...]  # name and default, in schema order
    numbers: frozenset[str]  # parameters of type Scalar: data, not sizes
    positions: tuple[str, ...]  # names of the parameters that may come by position
    is_view: bool  # returns other eyes on the same memory; moves nothing
    shape_from_data: bool  # the shape of its result is not known from its arguments' shapes
    split: bool  # only a composition of other operators here: record those instead
    ignored: bool  # asks for a property or marks a moment; no work
    products: precision.Library | None  # whose settings say how it multiplies
    begins: frozenset[str]  # parameters that say where packed sequences begin: data that count
    opaque: bool = False  # takes functions, not only tensors and numbers: known by name only


def describe(func: Any) -> Operator:
    """Read one overload's schema.

    A composite operator arrives whole under inference_mode, and as its parts otherwise.  It is
    split where no kernel of its own exists, so that both ways of running give the same calls.
    """
    if not isinstance(func, torch._ops.OpOverload):
        return _higher_order(func)
    schema = func._schema
    aliases = [r.alias_info for r in schema.returns]
    ignored = schema.name.startswith(_MARKS)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    # The dispatcher does not know operators of the prim namespace, and raises when asked.
    own_kernel = not ignored and any(has(func.name(), key) for key in ("CPU", "CUDA"))
    return Operator(
        func=func,
        name=schema.name,
        parameters=tuple((a.name, a.default_value) for a in schema.arguments),
        numbers=frozenset(a.name for a in schema.arguments if str(a.type) == "number"),
        positions=tuple(a.name for a in schema.arguments if not a.kwarg_only),
        is_view=schema.name in _UNMARKED_VIEWS
        or any(alias is not None and not alias.is_write for alias in aliases),
        shape_from_data=torch.Tag.dynamic_output_shape in func.tags,
        split=not ignored and has(func.name(), "CompositeImplicitAutograd") and not own_kernel,
        ignored=ignored,
        products=precision.library_of(schema.name),
        begins=frozenset(a.name for a in schema.arguments if a.name in _BEGINS),
    )


def _higher_order(func: Any) -> Operator:
    return Operator(
        func=func,
        name=f"higher_order::{func.name()}",
        parameters=(),
        numbers=frozenset(),
        positions=(),
        is_view=False,
        shape_from_data=False,
        split=False,
        ignored=False,
        products=None,
        begins=frozenset(),
        opaque=True,
    )
