"""PyTorch's fused inference paths of multi-head attention and of a whole encoder layer."""

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.attending.attention import MATRICES
from roofline.ops.dtype import matmul_pipe, vector_pipe
from roofline.ops.elements.pointwise_table import GELU_ERF
from roofline.ops.lines import ledger
from roofline.ops.products.matmul import FMA
from roofline.ops.rule import Unaccountable, named
from roofline.work import Entry, Ledger

INSIDE = "one fused operator: tensors between its parts stay out of DRAM by this count"


def multi_head(call: Call) -> Ledger:
    """aten::_native_multi_head_attention(q[B,S,E], k, v, E, heads, W_qkv, b, W_out, b, mask, ...).

    arithmetic   2*B*S*E*4E   projections of q, k, v and the result;   4*B*S*S*E   attention
                 B*S*4E       biases
    read         q, k, v (shared memory once), the weights; write the result
    """
    q, k, v = (arguments.tensor(call, i) for i in range(3))
    weights = [("weights", arguments.tensor(call, i)) for i in range(5, 9)]
    mask = arguments.optional(call, 9)
    return ledger(
        _attention(call, q),
        reads=[("Q", q), ("K", k), ("V", v), *weights, *([("mask", mask)] if mask else [])],
        writes=[("the result", Tensor(q.shape, q.dtype))],
        conventions=(FMA, MATRICES, INSIDE),
    )


def encoder_layer(call: Call) -> Ledger:
    """aten::_transformer_encoder_layer_fwd(x[B,S,E], E, heads, W_qkv, b, W_out, b, gelu, ...).

    arithmetic   attention as above, and its two residual adds 2*B*S*E
                 2*B*S*2*E*F   two layers of the feed-forward, biases B*S*(F + E)
                 16*B*S*E      two layer norms;   B*S*F times the activation
    read         x and all parameters once; write the result
    """
    x = arguments.tensor(call, 0)
    parameters = [arguments.tensor(call, i) for i in (3, 4, 5, 6, *range(10, 18))]
    mask = arguments.optional(call, 18)
    up = parameters[8]
    if len(up.shape) != 2:
        raise Unaccountable(f"{call.op}: feed-forward weights of shape {up.shape}")
    rows, width, inner = x.numel // max(1, x.shape[-1] if x.shape else 1), up.shape[1], up.shape[0]
    gelu = arguments.flag(call, 7)
    vector = vector_pipe(x.dtype)
    return ledger(
        [
            *_attention(call, x),
            Entry(matmul_pipe(x.dtype, call.math), 4 * rows * width * inner, "feed-forward"),
            Entry(vector, rows * (inner + width), "add biases"),
            Entry(vector, 2 * x.numel, "add residuals"),
            Entry(vector, 16 * x.numel, "two layer norms: 8 an element each"),
            Entry(vector, (5 if gelu else 1) * rows * inner, "activation"),
        ],
        reads=[
            ("x", x),
            *(("weights", t) for t in parameters),
            *([("mask", mask)] if mask else []),
        ],
        writes=[("the result", Tensor(x.shape, x.dtype))],
        conventions=(FMA, MATRICES, INSIDE, *([GELU_ERF] if gelu else [])),
    )


def _attention(call: Call, x: Tensor) -> list[Entry]:
    if len(x.shape) != 3:
        raise Unaccountable(f"{call.op}: an input of shape {x.shape}")
    batch, length, width = x.shape
    pipe = matmul_pipe(x.dtype, call.math)
    return [
        Entry(pipe, 8 * batch * length * width * width, "projections of q, k, v and the result"),
        Entry(pipe, 4 * batch * length * length * width, "Q K^T and P V"),
        Entry(vector_pipe(x.dtype), 4 * batch * length * width, "add biases"),
    ]


RULES = (
    *named(multi_head, "_native_multi_head_attention"),
    *named(encoder_layer, "_transformer_encoder_layer_fwd"),
)
