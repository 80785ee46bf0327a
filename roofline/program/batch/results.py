"""Where the results of an operator carry the batch, from where its operands do.

One rule a family.  Most operators keep a dimension where it is; what reduces, multiplies or moves
dimensions says so here, and what is not named is followed by position and size.
"""

from collections.abc import Callable, Mapping, Sequence

from roofline.call import Argument, Call, Tensor
from roofline.ops.elements import pointwise
from roofline.ops.shapes import dims_of
from roofline.program.batch.carried import Carried, Unclear

Operands = Mapping[int, Carried]  # argument -> its dimensions; of a list those of all together
Rule = Callable[[Call, Operands], Sequence[Carried]]
NOTHING: Carried = {}


def results(call: Call, operands: Sequence[Carried]) -> Sequence[Carried]:
    """For each output of `call` the dimensions that carry the batch; one entry a tensor given."""
    named = _by_argument(call, operands)
    rule = RULES.get(call.op.removeprefix("aten::"))
    if rule is not None:
        found = [*rule(call, named), *[NOTHING] * len(call.outputs)][: len(call.outputs)]
    elif call.op in POINTWISE:
        found = [_broadcast(call.tensors, operands, out) for out in call.outputs]
    else:
        found = [_in_place(call.tensors, operands, out) for out in call.outputs]
    if any(
        d >= len(out.shape) for out, dims in zip(call.outputs, found, strict=True) for d in dims
    ):
        raise Unclear
    return found


def _by_argument(call: Call, operands: Sequence[Carried]) -> Operands:
    given = iter(operands)
    named: dict[int, Carried] = {}
    for at, argument in enumerate(call.args):
        if isinstance(argument, Tensor):
            named[at] = next(given)
        elif isinstance(argument, tuple):
            parts = [next(given) for part in argument if isinstance(part, Tensor)]
            named[at] = {dim: inner for part in parts for dim, inner in part.items()}
    return named


def _broadcast(tensors: Sequence[Tensor], operands: Sequence[Carried], out: Tensor) -> Carried:
    """Dimensions meet from the last one on."""
    found: dict[int, int] = {}
    for tensor, dims in zip(tensors, operands, strict=True):
        ahead = len(out.shape) - len(tensor.shape)
        for dim, inner in dims.items():
            if dim + ahead >= 0 and out.shape[dim + ahead] == tensor.shape[dim]:
                found[dim + ahead] = inner
    return found


def _in_place(tensors: Sequence[Tensor], operands: Sequence[Carried], out: Tensor) -> Carried:
    """A dimension stays where it was, as long as it is."""
    found: dict[int, int] = {}
    for tensor, dims in zip(tensors, operands, strict=True):
        for dim, inner in dims.items():
            if dim < len(out.shape) and out.shape[dim] == tensor.shape[dim]:
                found[dim] = inner
    return found


def _product(left: int, right: int) -> Rule:
    """(m, k) x (k, n) -> (m, n), of the arguments `left` and `right`."""

    def rule(_: Call, given: Operands) -> Sequence[Carried]:
        rows, cols = given.get(left, NOTHING), given.get(right, NOTHING)
        return [_kept({0: rows.get(0), 1: cols.get(1)})]

    return rule


def _batched(left: int, right: int) -> Rule:
    """(b, m, k) x (b, k, n) -> (b, m, n)."""

    def rule(_: Call, given: Operands) -> Sequence[Carried]:
        rows, cols = given.get(left, NOTHING), given.get(right, NOTHING)
        return [_kept({0: rows.get(0) or cols.get(0), 1: rows.get(1), 2: cols.get(2)})]

    return rule


def _vector(_: Call, given: Operands) -> Sequence[Carried]:
    """(m, k) x (k) -> (m)."""
    return [_kept({0: given[0].get(0)})]


def _reduced(call: Call, given: Operands) -> Sequence[Carried]:
    """Dimensions of argument 0 without those of argument 1; kept as 1 where the rank stays."""
    x = call.args[0]
    if not isinstance(x, Tensor):
        raise Unclear
    gone = _dims(call, call.arg(1), len(x.shape))
    found = []
    for out in call.outputs:
        keep = len(out.shape) == len(x.shape)
        found.append({
            dim if keep else dim - sum(d < dim for d in gone): inner
            for dim, inner in given[0].items()
            if dim not in gone
        })  # fmt: skip
    return found


def _dims(call: Call, argument: Argument, rank: int) -> tuple[int, ...]:
    if isinstance(argument, int) and not isinstance(argument, bool):
        return dims_of(call, rank, (argument,))
    if isinstance(argument, tuple) and all(isinstance(d, int) for d in argument):
        return dims_of(call, rank, argument)  # type: ignore[arg-type]
    return tuple(range(rank))


def _like(*arguments: int | None, mask: bool = False) -> Rule:
    """Each result as the argument it belongs to; with `mask` the last argument says which exist."""

    def rule(call: Call, given: Operands) -> Sequence[Carried]:
        wanted = call.args[-1] if mask else None
        kept = [
            at
            for nth, at in enumerate(arguments)
            if not isinstance(wanted, tuple) or (nth < len(wanted) and wanted[nth])
        ]
        return [NOTHING if at is None else given.get(at, NOTHING) for at in kept]

    return rule


def _grown(dim: int) -> Rule:
    """One dimension more than argument 0, at the place that argument `dim` says."""

    def rule(call: Call, given: Operands) -> Sequence[Carried]:
        (out,), place = call.outputs, call.arg(dim)
        at = place % len(out.shape) if isinstance(place, int) else 0
        return [{d + (d >= at): inner for d, inner in given[0].items()}]

    return rule


def _first(_: Call, given: Operands) -> Sequence[Carried]:
    """Argument 0 in another length, its dimensions in place."""
    return [given[0]]


def _kept(dims: Mapping[int, int | None]) -> Carried:
    return {dim: inner for dim, inner in dims.items() if inner}


POINTWISE = frozenset(rule.op for rule in pointwise.RULES)
_REDUCTIONS = (
    "sum", "nansum", "mean", "prod", "amax", "amin", "any", "all", "argmax", "argmin",
    "count_nonzero", "var", "std", "logsumexp", "var_mean", "std_mean", "aminmax", "max", "min",
)  # fmt: skip
RULES: Mapping[str, Rule] = {
    "mm": _product(0, 1), "addmm": _product(1, 2), "_addmm_activation": _product(1, 2),
    "bmm": _batched(0, 1), "baddbmm": _batched(1, 2), "linear": _first, "mv": _vector,
    **dict.fromkeys(_REDUCTIONS, _reduced),
    "convolution_backward": _like(1, None, None, mask=True),
    "native_layer_norm_backward": _like(1, None, None, mask=True),
    "native_group_norm_backward": _like(1, None, None, mask=True),
    "native_batch_norm_backward": _like(1, None, None, mask=True),
    "_fused_rms_norm_backward": _like(1, None, mask=True),
    "cudnn_batch_norm_backward": _like(0, None, None),
    "embedding_dense_backward": _like(None),
    "select_backward": _grown(2), "stack": _grown(1), "cat": _first, "slice_backward": _first,
    "mkldnn_rnn_layer": _like(0, 5, 6, None),
    "mkldnn_rnn_layer_backward": _like(0, None, None, None, None, 5, 6),
}  # fmt: skip
