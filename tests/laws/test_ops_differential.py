"""Ledgers against definitions: every operator as plain loops over numbers that count.

For random tiny shapes, strides and types three things are compared: the loops' value with
PyTorch's (so the definition is the operator), their counts with the ledger's arithmetic, and the
bytes they touched with the ledger's traffic.  Where a ledger gives a range, the truth lies in it.
"""

import itertools
import math

import pytest

from roofline import ops
from roofline.call import Call
from roofline.device import DRAM, SFU
from tests.laws.ops_counting import Array, Bench, Num, aligned, largest, total

torch = pytest.importorskip("torch")
functional = torch.nn.functional

CASES = 150  # of each definition

DEFINITIONS = {}


def definition(function):
    """A function of a bench: the call, what PyTorch says, what the loops say."""
    DEFINITIONS[function.__name__] = function
    return function


def call(op, *args):
    """Arrays become tensors."""

    def described(a):
        if isinstance(a, Array):
            return a.tensor
        return tuple(map(described, a)) if isinstance(a, (tuple, list)) else a

    return Call(f"aten::{op}", tuple(map(described, args)))


# -- pointwise ------------------------------------------------------------------------------------


def broadcastable(bench, rank):
    """A shape, and one that broadcasts to it."""
    shape = bench.sizes(rank)
    narrow = tuple(bench.choice(n, 1) for n in shape)
    return shape, narrow[bench.random.randint(0, rank - 1) :]


@definition
def binary(bench):
    op = bench.choice("add", "sub", "mul", "div", "maximum", "minimum")
    shape, narrow = broadcastable(bench, bench.size(3))
    x, y = bench.full(*shape), bench.full(*narrow, low=0.5)
    if bench.random.random() < 0.2:
        y = x  # the same memory twice
    out = bench.empty(*shape)
    each = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
            "div": lambda a, b: a / b, "maximum": lambda a, b: a.max(b), "minimum": lambda a, b: a.min(b)}[op]  # fmt: skip
    expected = getattr(torch, op)(x.torch(), y.torch())
    for at in out.places:
        out[at] = each(x[at], y[aligned(at, y.shape)])
    return call(op, x, y), [(out, expected)]


@definition
def scaled(bench):
    op = bench.choice("add", "addcmul", "addcdiv", "lerp")
    shape, factor = bench.sizes(2), bench.choice(1, 0.5, -2)
    x, y, z = bench.full(*shape), bench.full(*shape), bench.full(*shape, low=0.5)
    out = bench.empty(*shape)
    times = (lambda n: n) if factor == 1 else (lambda n: n * factor)
    if op == "add":
        described, expected = call(op, x, y, factor), torch.add(x.torch(), y.torch(), alpha=factor)
    elif op == "lerp":
        described, expected = call(op, x, y, 0.3), torch.lerp(x.torch(), y.torch(), 0.3)
    else:
        described = call(op, x, y, z, factor)
        expected = getattr(torch, op)(x.torch(), y.torch(), z.torch(), value=factor)
    for at in out.places:
        if op == "add":
            out[at] = x[at] + times(y[at])
        elif op == "lerp":
            a, b = x[at], y[at]
            out[at] = a + (b - a) * 0.3
        elif op == "addcmul":
            out[at] = x[at] + times(y[at] * z[at])
        else:
            out[at] = x[at] + times(y[at] / z[at])
    return described, [(out, expected)]


def _sigmoid(x):
    return 1.0 / (1.0 + (-x).special(math.exp))


UNARY = {
    "relu": lambda x: x.max(0.0),
    "neg": lambda x: -x,
    "abs": abs,
    "reciprocal": lambda x: 1.0 / x,
    "exp": lambda x: x.special(math.exp),
    "tanh": lambda x: x.special(math.tanh),
    "sin": lambda x: x.special(math.sin),
    "erf": lambda x: x.special(math.erf),
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "gelu": lambda x: x * 0.5 * ((x * math.sqrt(0.5)).special(math.erf) + 1.0),
    "hardtanh": lambda x: x.max(-1.0).min(1.0),
    "relu6": lambda x: x.max(0.0).min(6.0),
    "hardsigmoid": lambda x: (x + 3.0).max(0.0).min(6.0) / 6.0,
    "hardswish": lambda x: x * ((x + 3.0).max(0.0).min(6.0) / 6.0),
}


@definition
def unary(bench):
    op = bench.choice(*UNARY)
    shape = bench.sizes(bench.size(3))
    x, out = bench.full(*shape), bench.empty(*shape)
    function = getattr(functional, op, None) or getattr(torch, op)
    expected = function(x.torch())
    for at in out.places:
        out[at] = UNARY[op](x[at])
    return call(op, x), [(out, expected)]


@definition
def in_place(bench):
    op = bench.choice("add_", "mul_", "sub_")
    shape, narrow = broadcastable(bench, bench.size(3))
    x, y = bench.whole(*shape), bench.full(*narrow)
    expected = getattr(x.torch().clone(), op)(y.torch())
    for at in x.places:
        a, b = x[at], y[aligned(at, y.shape)]
        x[at] = {
            "add_": lambda a, b: a + b,
            "mul_": lambda a, b: a * b,
            "sub_": lambda a, b: a - b,
        }[op](a, b)
    return call(op, x, y), [(x, expected)]


@definition
def gradients(bench):
    op = bench.choice("threshold_backward", "sigmoid_backward", "tanh_backward", "silu_backward")
    shape = bench.sizes(2)
    g, y, out = bench.full(*shape), bench.full(*shape), bench.empty(*shape)
    extra = (0.0,) if op.startswith("threshold") else ()
    expected = getattr(torch.ops.aten, op)(g.torch(), y.torch(), *extra)
    for at in out.places:
        a, b = g[at], y[at]
        if op == "threshold_backward":
            kept = b._new(b.value > 0)  # one comparison
            out[at] = a if kept.value else 0.0
        elif op == "sigmoid_backward":
            out[at] = a * (1.0 - b) * b
        elif op == "tanh_backward":
            out[at] = a * (1.0 - b * b)
        else:
            s = _sigmoid(b)
            out[at] = a * s * (b * (1.0 - s) + 1.0)
    return call(op, g, y, *extra), [(out, expected)]


# -- reductions -----------------------------------------------------------------------------------


def groups(x, dims):
    """For every place of the reduced shape, the places that reduce to it."""
    kept = {}
    for at in x.places:
        kept.setdefault(tuple(0 if d in dims else i for d, i in enumerate(at)), []).append(at)
    return kept


@definition
def reduction(bench):
    op = bench.choice("sum", "mean", "amax", "var")
    rank = bench.size(3)
    x = bench.full(*bench.sizes(rank))
    dims = tuple(sorted(bench.random.sample(range(rank), bench.random.randint(1, rank))))
    out = bench.empty(*(1 if d in dims else n for d, n in enumerate(x.shape)))
    keep = {"keepdim": True}
    if op == "var":
        described = call(op, x, dims, 0, True)
        expected = torch.var(x.torch(), dims, correction=0, **keep)
    else:
        described = call(op, x, dims, True, *([None] if op != "amax" else []))
        expected = getattr(torch, op)(x.torch(), dims, **keep)
    for at, members in groups(x, dims).items():
        numbers = [x[m] for m in members]
        n = len(numbers)
        if op == "amax":
            out[at] = largest(numbers, bench.tape)
        elif op == "sum":
            out[at] = total(numbers, bench.tape)
        elif op == "mean":
            out[at] = total(numbers, bench.tape) / n
        else:
            mean = total(numbers, bench.tape) / n
            parts = [a - mean for a in numbers]
            out[at] = total((p * p for p in parts), bench.tape) / n
    return described, [(out, expected)]


@definition
def running(bench):
    x = bench.full(*bench.sizes(2))
    out = bench.empty(*x.shape)
    expected = torch.cumsum(x.torch(), 1)
    for row in range(x.shape[0]):
        sofar = 0.0
        for col in range(x.shape[1]):
            sofar = sofar + x[row, col]
            out[row, col] = sofar
    return call("cumsum", x, 1, None), [(out, expected)]


@definition
def softmax(bench):
    log = bench.choice(False, True)
    x = bench.full(*bench.sizes(2))
    out = bench.empty(*x.shape)
    expected = (torch.log_softmax if log else torch.softmax)(x.torch(), 1)
    for row in range(x.shape[0]):
        numbers = [x[row, col] for col in range(x.shape[1])]
        top = largest(numbers, bench.tape)
        shifted = [a - top for a in numbers]
        exps = [a.special(math.exp) for a in shifted]
        whole = total(exps, bench.tape)
        for col in range(x.shape[1]):
            if log:
                out[row, col] = shifted[col] - whole.left_out(math.log)
            else:
                out[row, col] = exps[col] * whole.left_out(lambda w: 1 / w)
    return call("_log_softmax" if log else "_softmax", x, 1, False), [(out, expected)]


@definition
def softmax_backward(bench):
    log = bench.choice(False, True)
    shape = bench.sizes(2)
    g, y, out = bench.full(*shape), bench.whole(*shape), bench.empty(*shape)
    op = "_log_softmax_backward_data" if log else "_softmax_backward_data"
    expected = getattr(torch.ops.aten, op)(g.torch(), y.torch(), 1, torch.float64)
    for row in range(shape[0]):
        grads = [g[row, col] for col in range(shape[1])]
        ys = [y[row, col] for col in range(shape[1])]
        if log:
            whole = total(grads, bench.tape)
            for col in range(shape[1]):
                out[row, col] = grads[col] - ys[col].special(math.exp) * whole
        else:
            whole = total((a * b for a, b in zip(grads, ys, strict=True)), bench.tape)
            for col in range(shape[1]):
                out[row, col] = ys[col] * (grads[col] - whole)
    return call(op, g, y, 1, bench.dtype), [(out, expected)]


@definition
def logsumexp(bench):
    x = bench.full(*bench.sizes(2))
    out = bench.empty(x.shape[0])
    expected = torch.logsumexp(x.torch(), 1)
    for row in range(x.shape[0]):
        numbers = [x[row, col] for col in range(x.shape[1])]
        top = largest(numbers, bench.tape)
        whole = total([(a - top).special(math.exp) for a in numbers], bench.tape)
        out[(row,)] = whole.special(math.log) + top
    return call("logsumexp", x, (1,), False), [(out, expected)]


@definition
def layer_norm(bench):
    rows, cols = bench.sizes(2)
    affine = bench.choice(False, True)
    x, out = bench.full(rows, cols), bench.empty(rows, cols)
    gamma, beta = (bench.whole(cols), bench.whole(cols)) if affine else (None, None)
    weights = [w.torch() if w else None for w in (gamma, beta)]
    expected = functional.layer_norm(x.torch(), (cols,), *weights, eps=1e-5)
    for row in range(rows):
        numbers = [x[row, col] for col in range(cols)]
        mean = total(numbers, bench.tape).left_out(lambda s: s / cols)
        squares = total((_square(a - mean) for a in numbers), bench.tape)
        scale = squares.left_out(lambda s: 1 / math.sqrt(s / cols + 1e-5))
        for col in range(cols):
            y = (numbers[col] - mean) * scale
            out[row, col] = y * gamma[(col,)] + beta[(col,)] if affine else y
    return call("layer_norm", x, (cols,), gamma, beta, 1e-5, True), [(out, expected)]


def _square(a):
    return a * a


@definition
def rms_norm(bench):
    rows, cols = bench.sizes(2)
    x, gamma, out = bench.full(rows, cols), bench.whole(cols), bench.empty(rows, cols)
    expected = functional.rms_norm(x.torch(), (cols,), gamma.torch(), eps=1e-5)
    for row in range(rows):
        numbers = [x[row, col] for col in range(cols)]
        squares = total((_square(a) for a in numbers), bench.tape)
        scale = squares.left_out(lambda s: 1 / math.sqrt(s / cols + 1e-5))
        for col in range(cols):
            out[row, col] = numbers[col] * scale * gamma[(col,)]
    return call("rms_norm", x, (cols,), gamma, 1e-5), [(out, expected)]


# -- products -------------------------------------------------------------------------------------


def inner(pairs, tape):
    """A multiply and an add a step."""
    return total((a * b for a, b in pairs), tape)


@definition
def mm(bench):
    m, k, n = bench.sizes(3)
    a, b, out = bench.full(m, k), bench.full(k, n), bench.empty(m, n)
    expected = a.torch() @ b.torch()
    for i, j in out.places:
        out[i, j] = inner(((a[i, s], b[s, j]) for s in range(k)), bench.tape)
    return call("mm", a, b), [(out, expected)]


@definition
def addmm(bench):
    m, k, n = bench.sizes(3)
    bias = bench.whole(*bench.choice((n,), (m, n), (1, n), (m, 1)))
    a, b, out = bench.full(m, k), bench.full(k, n), bench.empty(m, n)
    beta, alpha = bench.choice(1, 0, 0.5), bench.choice(1, 2)
    expected = torch.addmm(bias.torch(), a.torch(), b.torch(), beta=beta, alpha=alpha)
    for at in out.places:
        value = inner(((a[at[0], s], b[s, at[1]]) for s in range(k)), bench.tape)
        value = value if alpha == 1 else value * alpha
        if beta:
            added = bias[aligned(at, bias.shape)]
            value = value + (added if beta == 1 else added * beta)
        out[at] = value
    return call("addmm", bias, a, b, beta, alpha), [(out, expected)]


@definition
def bmm(bench):
    batch, m, k, n = bench.sizes(4, 3)
    a, b, out = bench.full(batch, m, k), bench.full(batch, k, n), bench.empty(batch, m, n)
    expected = a.torch() @ b.torch()
    for z, i, j in out.places:
        out[z, i, j] = inner(((a[z, i, s], b[z, s, j]) for s in range(k)), bench.tape)
    return call("bmm", a, b), [(out, expected)]


@definition
def matmul(bench):
    m, k, n, p, q = bench.sizes(5, 3)
    a = bench.full(*bench.choice((k,), (m, k), (p, m, k), (q, 1, m, k)))
    b = bench.full(*bench.choice((k,), (k, n), (p, k, n)))
    expected = torch.matmul(a.torch(), b.torch())
    out = bench.empty(*expected.shape)
    left, right = len(a.shape) > 1, len(b.shape) > 1
    for at in out.places:
        batch = at[: len(at) - left - right]
        row, col = at[len(batch) : len(batch) + left], at[len(at) - right :] if right else ()
        of_a, of_b = aligned(batch, a.shape[:-2]), aligned(batch, b.shape[:-2])
        steps = ((a[(*of_a, *row, s)], b[(*of_b, s, *col)]) for s in range(k))
        out[at] = inner(steps, bench.tape)
    return call("matmul", a, b), [(out, expected)]


@definition
def linear(bench):
    m, k, n = bench.sizes(3)
    x, w = bench.full(m, k), bench.full(n, k)
    bias = bench.choice(None, bench.whole(n))
    out = bench.empty(m, n)
    expected = functional.linear(x.torch(), w.torch(), bias and bias.torch())
    for i, j in out.places:
        value = inner(((x[i, s], w[j, s]) for s in range(k)), bench.tape)
        out[i, j] = value + bias[(j,)] if bias else value
    return call("linear", x, w, bias), [(out, expected)]


@definition
def vectors(bench):
    op = bench.choice("dot", "mv", "outer")
    m, k = bench.sizes(2)
    if op == "dot":
        x, y, out = bench.full(k), bench.full(k), bench.empty()
        out[()] = inner(((x[(s,)], y[(s,)]) for s in range(k)), bench.tape)
    elif op == "mv":
        x, y, out = bench.full(m, k), bench.full(k), bench.empty(m)
        for i in range(m):
            out[(i,)] = inner(((x[i, s], y[(s,)]) for s in range(k)), bench.tape)
    else:
        x, y, out = bench.full(m), bench.full(k), bench.empty(m, k)
        for i, j in out.places:
            out[i, j] = x[(i,)] * y[(j,)]
    return call(op, x, y), [(out, getattr(torch, op)(x.torch(), y.torch()))]


@definition
def einsum(bench):
    sizes = dict(zip("ijkl", bench.sizes(4, 3), strict=True))
    left, right, result = bench.choice(("ij", "jk", "ik"), ("ijk", "jkl", "il"), ("ij", "ij", "i"),
                                       ("i", "j", "ij"), ("ijk", "ikl", "ijl"))  # fmt: skip
    a, b = (bench.full(*(sizes[x] for x in term)) for term in (left, right))
    out = bench.empty(*(sizes[x] for x in result))
    summed = sorted({*left, *right} - {*result})
    expected = torch.einsum(f"{left},{right}->{result}", a.torch(), b.torch())
    for at in out.places:
        fixed = dict(zip(result, at, strict=True))
        products = []
        for inside in itertools.product(*(range(sizes[x]) for x in summed)):
            where = fixed | dict(zip(summed, inside, strict=True))
            products.append(a[tuple(where[x] for x in left)] * b[tuple(where[x] for x in right)])
        out[at] = total(products, bench.tape) if summed else products[0]
    return call("einsum", f"{left},{right}->{result}", (a, b), None), [(out, expected)]


# -- convolutions and windows ---------------------------------------------------------------------


@definition
def convolution(bench):
    groups_, each_in, each_out = bench.choice(1, 1, 2), bench.size(2), bench.size(2)
    kernel, stride, padding, dilation = (
        bench.size(3),
        bench.size(2),
        bench.choice(0, 1),
        bench.choice(1, 2),
    )
    batch, size = bench.size(2), bench.random.randint(dilation * (kernel - 1) + 1, 6)
    x = bench.whole(batch, groups_ * each_in, size)
    w = bench.full(groups_ * each_out, each_in, kernel)
    bias = bench.choice(None, bench.whole(groups_ * each_out))
    expected = functional.conv1d(
        x.torch(), w.torch(), bias and bias.torch(), stride, padding, dilation, groups_
    )
    out = bench.empty(*expected.shape)
    for n, co, o in out.places:
        first = co // each_out * each_in
        steps = []
        for ci in range(each_in):
            for t in range(kernel):
                at = o * stride + t * dilation - padding
                inside = 0 <= at < size  # a tap on padding is a multiplication with zero
                steps.append(
                    (x[n, first + ci, at] if inside else Num(bench.tape, 0.0), w[co, ci, t])
                )
        value = inner(steps, bench.tape)
        out[n, co, o] = value + bias[(co,)] if bias else value
    described = call(
        "convolution", x, w, bias, (stride,), (padding,), (dilation,), False, (0,), groups_
    )
    return described, [(out, expected)]


@definition
def transposed(bench):
    groups_, each_in, each_out = bench.choice(1, 2), bench.size(2), bench.size(2)
    kernel, stride, batch, size = bench.size(3), bench.size(2), bench.size(2), bench.size(4)
    x, w = (
        bench.whole(batch, groups_ * each_in, size),
        bench.full(groups_ * each_in, each_out, kernel),
    )
    expected = functional.conv_transpose1d(x.torch(), w.torch(), None, stride, groups=groups_)
    out = bench.empty(*expected.shape)
    sums = dict.fromkeys(out.places, 0.0)
    for n, ci, i in x.places:
        for co in range(each_out):
            for t in range(kernel):
                at = (n, ci // each_in * each_out + co, i * stride + t)
                sums[at] = sums[at] + x[n, ci, i] * w[ci, co, t]
    for at, value in sums.items():
        out[at] = value
    described = call("convolution", x, w, None, (stride,), (0,), (1,), True, (0,), groups_)
    return described, [(out, expected)]


@definition
def convolution_backward(bench):
    channels, filters, kernel = bench.size(2), bench.size(2), bench.size(3)
    batch, size = bench.size(2), bench.random.randint(kernel, 5)
    x, w = bench.whole(batch, channels, size), bench.whole(filters, channels, kernel)
    g = bench.whole(batch, filters, size - kernel + 1)
    rest = ((1,), (0,), (1,), False, (0,), 1, (True, True, True))
    expected = torch.ops.aten.convolution_backward(
        g.torch(), x.torch(), w.torch(), (filters,), *rest
    )
    dx, dw, db = bench.empty(*x.shape), bench.empty(*w.shape), bench.empty(filters)
    sums = {out: dict.fromkeys(out.places, 0.0) for out in (dx, dw, db)}
    for n, co, o in g.places:
        sums[db][(co,)] = sums[db][(co,)] + g[n, co, o]
        for ci in range(channels):
            for t in range(kernel):
                at, weight = (n, ci, o + t), (co, ci, t)
                sums[dx][at] = sums[dx][at] + g[n, co, o] * w[weight]
                sums[dw][weight] = sums[dw][weight] + g[n, co, o] * x[at]
    for out, values in sums.items():
        for at, value in values.items():
            out[at] = value
    described = call("convolution_backward", g, x, w, (filters,), *rest)
    return described, list(zip((dx, dw, db), expected, strict=True))


@definition
def pooling(bench):
    op = bench.choice("max_pool2d", "avg_pool2d")
    kernel = bench.size(2)
    stride = bench.size(3)  # a stride longer than the kernel skips elements
    x = bench.whole(
        bench.size(2), bench.size(2), bench.random.randint(2, 4), bench.random.randint(2, 4)
    )
    expected = getattr(functional, op)(x.torch(), kernel, stride)
    out = bench.empty(*expected.shape)
    for n, c, i, j in out.places:
        window = [
            x[n, c, i * stride + a, j * stride + b] for a in range(kernel) for b in range(kernel)
        ]
        if op == "max_pool2d":
            out[n, c, i, j] = largest(window, bench.tape)
        else:
            out[n, c, i, j] = total(window, bench.tape) / len(window)
    extra = ((0, 0), (1, 1), False) if op == "max_pool2d" else ((0, 0), False, True, None)
    return call(op, x, (kernel, kernel), (stride, stride), *extra), [(out, expected)]


@definition
def adaptive_pooling(bench):
    x = bench.whole(bench.size(2), *bench.sizes(2, 5))
    size = bench.sizes(2, 4)
    expected = functional.adaptive_avg_pool2d(x.torch(), size)
    out = bench.empty(*expected.shape)

    def window(o, n, length):
        return range(o * length // n, math.ceil((o + 1) * length / n))

    for c, i, j in out.places:
        members = [
            x[c, a, b]
            for a in window(i, size[0], x.shape[1])
            for b in window(j, size[1], x.shape[2])
        ]
        out[c, i, j] = total(members, bench.tape) / len(members)
    return call("_adaptive_avg_pool2d", x, size), [(out, expected)]


# -- attention ------------------------------------------------------------------------------------


@definition
def attention(bench):
    batch, kv_heads, group, queries, size = bench.sizes(5, 3)
    causal = bench.choice(False, True)
    keys = queries if causal else bench.size(4)
    q = bench.full(batch, kv_heads * group, queries, size)
    k, v = (bench.full(batch, kv_heads, keys, size) for _ in range(2))
    out = bench.empty(*q.shape)
    # PyTorch's fused kernel for CPUs returned memory that nobody wrote, once in many thousand cases.
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        expected = functional.scaled_dot_product_attention(
            q.torch(), k.torch(), v.torch(), is_causal=causal, enable_gqa=True
        )
    for n, head, i in (
        (n, h, i) for n in range(batch) for h in range(kv_heads * group) for i in range(queries)
    ):
        shared = head // group
        seen = range(i + 1) if causal else range(keys)
        scores = [
            inner(((q[n, head, i, d], k[n, shared, j, d]) for d in range(size)), bench.tape)
            for j in seen
        ]
        # Scaling and the softmax on the scores are left out by convention.
        weights = [math.exp(s.value / math.sqrt(size)) for s in scores]
        for d in range(size):
            steps = (
                (v[n, shared, j, d], w / sum(weights)) for j, w in zip(seen, weights, strict=True)
            )
            out[n, head, i, d] = inner(steps, bench.tape)
    return call("scaled_dot_product_attention", q, k, v, None, 0.0, causal, None, True), [
        (out, expected)
    ]


# -- rows picked by an index ----------------------------------------------------------------------


@definition
def embedding(bench):
    rows, dim, count = bench.sizes(3)
    w, index = bench.whole(rows, dim), bench.indices((count,), rows)
    out = bench.empty(count, dim)
    expected = w.torch()[index.torch().long()]
    for n, d in out.places:
        out[n, d] = w[int(index[(n,)].value), d]
    return call("embedding", w, index, -1, False, False), [(out, expected)]


@definition
def picked(bench):
    op = bench.choice("index_select", "gather", "index")
    rows, dim, count = bench.sizes(3)
    x = bench.whole(rows, dim)
    if op == "gather":
        index = bench.indices((count, dim), rows)
        out, expected = bench.empty(count, dim), torch.gather(x.torch(), 0, index.torch().long())
        for n, d in out.places:
            out[n, d] = x[int(index[n, d].value), d]
        return call(op, x, 0, index), [(out, expected)]
    index = bench.indices((count,), rows)
    out, expected = bench.empty(count, dim), x.torch()[index.torch().long()]
    for n, d in out.places:
        out[n, d] = x[int(index[(n,)].value), d]
    return call(op, x, *([(index,)] if op == "index" else [0, index])), [(out, expected)]


@definition
def added_rows(bench):
    op = bench.choice("index_add_", "scatter_add_", "index_put_")
    rows, dim, count = bench.sizes(3)
    x, source = bench.whole(rows, dim), bench.whole(count, dim)
    shape = (count, dim) if op == "scatter_add_" else (count,)
    index = bench.indices(shape, rows)
    places, before = index.torch().long(), x.torch().clone()
    if op == "index_add_":
        described, expected = (
            call(op, x, 0, index, source, 1),
            before.index_add_(0, places, source.torch()),
        )
    elif op == "scatter_add_":
        described, expected = (
            call(op, x, 0, index, source),
            before.scatter_add_(0, places, source.torch()),
        )
    else:
        described = call(op, x, (index,), source, True)
        expected = before.index_put_((places,), source.torch(), accumulate=True)
    for n, d in source.places:
        row = int(index[(n, d) if op == "scatter_add_" else (n,)].value)
        x[row, d] = x[row, d] + source[n, d]
    return described, [(x, expected)]


@definition
def table_gradient(bench):
    rows, dim, count = bench.sizes(3)
    g, index, out = bench.whole(count, dim), bench.indices((count,), rows), bench.empty(rows, dim)
    expected = torch.zeros(rows, dim, dtype=torch.float64).index_add_(
        0, index.torch().long(), g.torch()
    )
    sums = dict.fromkeys(out.places, 0.0)
    for n, d in g.places:
        at = (int(index[(n,)].value), d)
        sums[at] = sums[at] + g[n, d]
    for at, value in sums.items():
        out[at] = value
    return call("embedding_dense_backward", g, index, rows, -1, False), [(out, expected)]


# -- moving ---------------------------------------------------------------------------------------


@definition
def copies(bench):
    op = bench.choice("clone", "copy_", "_to_copy", "flip")
    shape = bench.sizes(bench.size(3))
    x = bench.full(*shape)
    if op == "copy_":
        y = bench.empty(*shape, dtype=bench.choice("fp32", "fp64"))
        described, expected = call(op, y, x), x.torch()
    elif op == "_to_copy":
        wanted = bench.choice("fp32", "fp16", "fp64")
        y, described, expected = bench.empty(*shape, dtype=wanted), call(op, x, wanted), x.torch()
    else:
        y, expected = bench.empty(*shape), x.torch() if op == "clone" else x.torch().flip(0)
        described = call(op, x, None if op == "clone" else (0,))
    for at in y.places:
        y[at] = x[(shape[0] - 1 - at[0], *at[1:]) if op == "flip" else at]
    return described, [(y, expected)]


@definition
def joined(bench):
    op = bench.choice("cat", "stack")
    rows, cols = bench.sizes(2)
    parts = [
        bench.full(rows if op == "stack" else bench.size(), cols) for _ in range(bench.size(3))
    ]
    if bench.random.random() < 0.2:
        parts.append(parts[0])
    expected = getattr(torch, op)([p.torch() for p in parts], 0)
    out, row = bench.empty(*expected.shape), 0
    for number, part in enumerate(parts):
        for at in part.places:
            out[(number, *at) if op == "stack" else (row + at[0], at[1])] = part[at]
        row += part.shape[0]
    return call(op, parts, 0), [(out, expected)]


@definition
def triangle(bench):
    op, offset = bench.choice("tril", "triu"), bench.random.randint(-3, 3)
    x = bench.whole(*bench.sizes(3))
    out = bench.empty(*x.shape)
    expected = getattr(torch, op)(x.torch(), offset)
    for n, i, j in out.places:
        kept = j <= i + offset if op == "tril" else j >= i + offset
        out[n, i, j] = x[n, i, j] if kept else 0.0
    return call(op, x, offset), [(out, expected)]


@definition
def padding(bench):
    x = bench.whole(*bench.sizes(2))
    pads = tuple(bench.random.randint(0, 2) for _ in range(4))
    expected = functional.pad(x.torch(), pads)
    out = bench.empty(*expected.shape)
    for i, j in out.places:
        at = (i - pads[2], j - pads[0])
        inside = all(0 <= a < n for a, n in zip(at, x.shape, strict=True))
        out[i, j] = x[at] if inside else 0.0
    return call("constant_pad_nd", x, pads, 0), [(out, expected)]


@definition
def repeats(bench):
    x, times = bench.full(*bench.sizes(2)), bench.sizes(2, 3)
    expected = x.torch().repeat(times)
    out = bench.empty(*expected.shape)
    for i, j in out.places:
        out[i, j] = x[i % x.shape[0], j % x.shape[1]]
    return call("repeat", x, times), [(out, expected)]


@definition
def columns(bench):
    kernel, channels = bench.size(2), bench.size(2)
    x = bench.whole(1, channels, bench.random.randint(kernel, 4), bench.random.randint(kernel, 4))
    expected = functional.unfold(x.torch(), kernel)
    out, across = bench.empty(*expected.shape), x.shape[3] - kernel + 1
    for _, row, col in out.places:
        c, a, b = row // kernel**2, row % kernel**2 // kernel, row % kernel
        out[0, row, col] = x[0, c, col // across + a, col % across + b]
    return call("im2col", x, (kernel,) * 2, (1, 1), (0, 0), (1, 1)), [(out, expected)]


@definition
def nearest(bench):
    x = bench.whole(1, bench.size(2), *bench.sizes(2, 3))
    factor = bench.size(3)
    expected = functional.interpolate(x.torch(), scale_factor=factor, mode="nearest")
    out = bench.empty(*expected.shape)
    for n, c, i, j in out.places:
        out[n, c, i, j] = x[n, c, i // factor, j // factor]
    return call("upsample_nearest2d", x, out.shape[2:], None, None), [(out, expected)]


@definition
def halves(bench):
    x = bench.full(bench.size(), 2 * bench.size())
    half = x.shape[1] // 2
    out, expected = bench.empty(x.shape[0], half), functional.glu(x.torch(), 1)
    for i, j in out.places:
        out[i, j] = x[i, j] * _sigmoid(x[i, half + j])
    return call("glu", x, 1), [(out, expected)]


# -- losses and optimizers ------------------------------------------------------------------------


@definition
def squared_error(bench):
    reduction = bench.choice(0, 1, 2)
    shape = bench.sizes(2)
    x, y = bench.full(*shape), bench.full(*shape)
    name = ("none", "mean", "sum")[reduction]
    expected = functional.mse_loss(x.torch(), y.torch(), reduction=name)
    out = bench.empty(*expected.shape)
    errors = {at: _square(x[at] - y[at]) for at in x.places}
    if reduction:
        whole = total(errors.values(), bench.tape)
        out[()] = whole / len(errors) if reduction == 1 else whole
    for at, error in errors.items() if not reduction else ():
        out[at] = error
    return call("mse_loss", x, y, reduction), [(out, expected)]


@definition
def likelihood(bench):
    rows, classes = bench.sizes(2)
    logp, target = bench.whole(rows, classes), bench.indices((rows,), classes)
    out, weight = bench.empty(), bench.empty()
    expected = torch.ops.aten.nll_loss_forward(logp.torch(), target.torch().long(), None, 1, -100)
    losses = [-logp[row, int(target[(row,)].value)] for row in range(rows)]
    out[()] = total(losses, bench.tape) / rows
    weight[()] = rows
    return call("nll_loss_forward", logp, target, None, 1, -100), [
        (out, expected[0]),
        (weight, expected[1]),
    ]


@definition
def click_loss(bench):
    shape = bench.sizes(2)
    x, y = bench.full(*shape, low=0.1, high=0.9), bench.full(*shape, low=0.0, high=1.0)
    out, expected = (
        bench.empty(*shape),
        functional.binary_cross_entropy(x.torch(), y.torch(), reduction="none"),
    )
    for at in out.places:
        a, t = x[at], y[at]
        out[at] = -(t * a.special(math.log) + (1.0 - t) * (1.0 - a).special(math.log))
    return call("binary_cross_entropy", x, y, None, 0), [(out, expected)]


@definition
def adamw(bench):
    shape, lr, b1, b2, decay, eps = bench.sizes(2), 0.1, 0.9, 0.99, 0.1, 1e-8
    p, g, m, v = (
        bench.whole(*shape),
        bench.full(*shape),
        bench.whole(*shape),
        bench.whole(*shape, low=0.1),
    )
    old = [t.torch().clone() for t in (p, g, m, v)]
    wanted_m = b1 * old[2] + (1 - b1) * old[1]
    wanted_v = b2 * old[3] + (1 - b2) * old[1] ** 2
    c1, c2 = 1 - b1, math.sqrt(1 - b2)
    wanted_p = old[0] * (1 - lr * decay) - lr / c1 * wanted_m / (wanted_v.sqrt() / c2 + eps)
    for at in p.places:
        grad = g[at]
        kept = p[at] * (1 - lr * decay)
        moment = m[at]
        moment = moment + (grad - moment) * (1 - b1)
        second = v[at] * b2 + grad * grad * (1 - b2)
        m[at], v[at] = moment, second
        p[at] = kept - moment * (lr / c1) / (second.special(math.sqrt) / c2 + eps)
    step = Array(bench.tape, (), "fp32", (), 99)
    described = call(
        "_fused_adamw_",
        (p,),
        (g,),
        (m,),
        (v,),
        (),
        (step,),
        lr,
        b1,
        b2,
        decay,
        eps,
        False,
        False,
        None,
        None,
    )
    return described, [(p, wanted_p), (m, wanted_m), (v, wanted_v)]


@definition
def momentum(bench):
    shape, lr, factor = bench.sizes(2), 0.1, bench.choice(0.0, 0.9)
    decay = bench.choice(0.0, 0.1)
    p, g, b = bench.whole(*shape), bench.full(*shape), bench.whole(*shape)
    grads = g.torch() + decay * p.torch()
    wanted_b = factor * b.torch() + grads if factor else b.torch()
    wanted_p = p.torch() - lr * (wanted_b if factor else grads)
    for at in p.places:
        grad, value = g[at], p[at]
        if decay:
            grad = grad + value * decay
        if factor:
            grad = b[at] * factor + grad
            b[at] = grad
        p[at] = value - grad * lr
    described = call(
        "_fused_sgd_",
        (p,),
        (g,),
        (b,) if factor else (),
        decay,
        factor,
        lr,
        0.0,
        False,
        False,
        False,
        None,
        None,
    )
    return described, [(p, wanted_p), *([(b, wanted_b)] if factor else [])]


# -- the comparison -------------------------------------------------------------------------------


def bounds(entries):
    """Least and most of some lines together."""
    low = sum(e.amount if e.low is None else e.low for e in entries)
    return low, sum(e.amount if e.high is None else e.high for e in entries)


def compare(made, tape):
    """Value, arithmetic, bytes."""
    described, results = made
    for out, expected in results:
        assert torch.allclose(out.torch(), expected.double(), rtol=1e-9, atol=1e-9)
    ledger = ops.account(described)
    assert ledger.unaccounted == (), ledger.conventions
    lines = ledger.entries
    found = {
        "flop": bounds([e for e in lines if e.resource.is_pipe and e.resource != SFU]),
        "sfu": bounds([e for e in lines if e.resource == SFU]),
        "read": bounds([e for e in lines if e.resource == DRAM and e.access == "read"]),
        "write": bounds([e for e in lines if e.resource == DRAM and e.access == "write"]),
    }
    counted = {
        "flop": tape.flop,
        "sfu": tape.sfu,
        "read": len(tape.reads),
        "write": len(tape.writes),
    }
    for what, (low, high) in found.items():
        assert low <= counted[what] <= high, (what, counted[what], (low, high), described)
    if all(low == high for low, high in found.values()):
        assert ledger.footprint == len(tape.reads | tape.writes), described


def run(name, seeds):
    """A seed is a case; the message of a failure shows the call."""
    for seed in seeds:
        bench = Bench(f"{name} {seed}")
        compare(DEFINITIONS[name](bench), bench.tape)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definition(name):
    """Ledger and loops agree on every case."""
    run(name, range(CASES))


@pytest.mark.long
@pytest.mark.parametrize("name", DEFINITIONS)
def test_definition_long(name):
    """The same, on many more."""
    run(name, range(CASES, 20 * CASES))


def test_there_are_five_thousand_cases():
    """All definitions together."""
    assert len(DEFINITIONS) * CASES >= 5_000
