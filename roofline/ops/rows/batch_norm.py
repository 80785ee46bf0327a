"""Batch normalisation, whole and in the parts that several devices share, and instance norm."""

from functools import partial

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.lines import ledger
from roofline.ops.rows.norm import (
    PER_ROW,
    affine,
    backward,
    channels_of,
    each,
    forward,
    kept_statistics,
)
from roofline.ops.rule import Rule, named
from roofline.work import Entry, Exactness, Ledger

# Where the flag that tells training from evaluation stands; these have none.
ALWAYS, NEVER = None, -1


def batch(training_at: int | None, call: Call) -> Ledger:
    """aten::native_batch_norm and its kin (x[N,C,...], gamma, beta, running stats, ...).

    Training is layer norm's 8 an element over channels, and the running statistics cross twice;
    evaluation is subtract, scale, gamma, beta: 4 an element.
    """
    x = arguments.tensor(call, 0)
    channels = channels_of(call, x)
    stats = [(what, t) for i, what in ((3, "running mean"), (4, "running var"))
             if (t := arguments.optional(call, i)) is not None]  # fmt: skip
    if call.op == "aten::_native_batch_norm_legit" and isinstance(call.arg(3), bool):
        training_at, stats = 3, []
    if training_at in (ALWAYS, NEVER):
        training = training_at is ALWAYS
    else:
        training = arguments.flag(call, training_at or 5)
    reads, flop = affine(call, x, 6 if training else 2, (1, "gamma"), (2, "beta"))
    kept = (
        kept_statistics(call, reads, channels, 2)
        if training and call.op != "aten::batch_norm"
        else []
    )
    return ledger(
        [each(x, flop, "normalise")],
        reads=[*reads, *([] if training else stats)],
        updates=stats if training else [],
        writes=[("y", Tensor(x.shape, x.dtype)), *kept],
        conventions=(PER_ROW,),
    )


def instance(call: Call) -> Ledger:
    """aten::instance_norm(x[N,C,...], gamma, beta, running stats, use_input_stats, ...)."""
    x = arguments.tensor(call, 0)
    own = arguments.flag(call, 5, True)
    reads, flop = affine(call, x, 6 if own else 2, (1, "gamma"), (2, "beta"))
    return forward(x, flop, reads, [("y", Tensor(x.shape, x.dtype))])


def batch_backward(call: Call) -> Ledger:
    """aten::native_batch_norm_backward(g, x, gamma, running.., saved.., train, eps, mask).

    In evaluation dx is g * rstd * gamma alone: 2 an element, and the sums only for the parameters.
    """
    # cuDNN's and MIOpen's have x first, no flag and no mask.
    cudnn = call.op.startswith(("aten::cudnn", "aten::miopen"))
    g, x = (arguments.tensor(call, i) for i in ((1, 0) if cudnn else (0, 1)))
    training = True if cudnn else arguments.flag(call, 7)
    places = (5, 6) if training else (3, 4)
    used = [(f"statistic {n}", t) for n, i in enumerate(places)
            if (t := arguments.optional(call, i)) is not None]  # fmt: skip
    gamma = arguments.optional(call, 2)
    mask_at = None if cudnn else 9
    return backward(call, g, x, used, gamma, mask_at, channels_of(call, x), training)


def shared_statistics(call: Call) -> Ledger:
    """aten::batch_norm_stats(x[N,C,...], eps): mean and 1/std of this device: 4 an element."""
    x = arguments.tensor(call, 0)
    kept = Tensor((channels_of(call, x),), "fp64" if x.dtype == "fp64" else "fp32")
    return ledger(
        [each(x, 4, "sum; subtract, square, sum")],
        reads=[("x", x)],
        writes=[("mean", kept), ("1/std", kept)],
        conventions=(PER_ROW,),
    )


def gathered_statistics(call: Call) -> Ledger:
    """aten::batch_norm_gather_stats(x, means[W,C], 1/stds[W,C], running.., ...): one of all.

    arithmetic   about 8 a device and channel, an estimate; x itself is not read
    """
    means, scales = arguments.tensor(call, 1), arguments.tensor(call, 2)
    channels = means.shape[-1] if means.shape else 1
    kept = Tensor((channels,), means.dtype)
    running = [t for i in (3, 4) if (t := arguments.optional(call, i)) is not None]
    return ledger(
        [Entry(vector_pipe(means.dtype), 8 * means.numel, "combine", None, Exactness.ESTIMATE)],
        reads=[("means", means), ("1/stds", scales)],
        updates=[("running statistics", t) for t in running],
        writes=[("mean", kept), ("1/std", kept)],
    )


def normalised(call: Call) -> Ledger:
    """aten::batch_norm_elemt(x, gamma, beta, mean, 1/std, eps): subtract, scale, gamma, beta: 4."""
    x = arguments.tensor(call, 0)
    reads, flop = affine(call, x, 2, (1, "gamma"), (2, "beta"))
    shared = [("mean", arguments.tensor(call, 3)), ("1/std", arguments.tensor(call, 4))]
    return forward(x, flop, [*reads, *shared], [("y", Tensor(x.shape, x.dtype))])


def reduced_gradient(call: Call) -> Ledger:
    """aten::batch_norm_backward_reduce(g, x, mean, 1/std, gamma, wants dx, dgamma, dbeta).

    arithmetic   sum of g 1; x - mean, times g, sum 3: 4 an element
    write        the two sums, dgamma and dbeta: a number a channel each
    """
    g, x = arguments.tensor(call, 0), arguments.tensor(call, 1)
    shared = [("mean", arguments.tensor(call, 2)), ("1/std", arguments.tensor(call, 3))]
    kept = Tensor((channels_of(call, x),), shared[0][1].dtype)
    wanted = (call.arg(5), call.arg(5), call.arg(6), call.arg(7))
    names = ("sum of g", "sum of g (x - mean)", "dgamma", "dbeta")
    return ledger(
        [each(x, 4, "sums of the gradient")],
        reads=[("grad", g), ("x", x), *shared],
        writes=[(name, kept) for name, want in zip(names, wanted, strict=True) if want],
        conventions=(PER_ROW,),
    )


def applied_gradient(call: Call) -> Ledger:
    """aten::batch_norm_backward_elemt(g, x, mean, 1/std, gamma, sum g, sum g (x - mean), counts).

    arithmetic   ((g - m) - (x - mean) * f) * scale: 5 an element
    """
    g, x = arguments.tensor(call, 0), arguments.tensor(call, 1)
    small = [(f"parameter {i}", t) for i in range(2, 8)
             if (t := arguments.optional(call, i)) is not None]  # fmt: skip
    return ledger(
        [each(x, 5, "gradient")],
        reads=[("grad", g), ("x", x), *small],
        writes=[("dx", Tensor(x.shape, x.dtype))],
        conventions=(PER_ROW,),
    )


RULES = (
    *(Rule(f"aten::{name}", partial(batch, 5))
      for name in ("native_batch_norm", "_native_batch_norm_legit", "batch_norm",
                   "cudnn_batch_norm", "miopen_batch_norm")),
    Rule("aten::_batch_norm_with_update", partial(batch, ALWAYS)),
    Rule("aten::_native_batch_norm_legit_no_training", partial(batch, NEVER)),
    *named(instance, "instance_norm"),
    *named(batch_backward, "native_batch_norm_backward", "batch_norm_backward",
           "cudnn_batch_norm_backward", "miopen_batch_norm_backward"),
    *named(shared_statistics, "batch_norm_stats"),
    *named(gathered_statistics, "batch_norm_gather_stats", "batch_norm_gather_stats_with_counts"),
    *named(normalised, "batch_norm_elemt"),
    *named(reduced_gradient, "batch_norm_backward_reduce"),
    *named(applied_gradient, "batch_norm_backward_elemt"),
)  # fmt: skip
