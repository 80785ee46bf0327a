"""LSTM, GRU and plain recurrent layers, whole or a cell at a time, forward and backward.

Weights are read once for all steps: the algorithmic bytes.  A kernel that fetches them every step
moves more.
"""

from dataclasses import dataclass
from functools import partial

from roofline.call import Call, Tensor
from roofline.device import SFU
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe, vector_pipe
from roofline.ops.lines import Operands, ledger
from roofline.ops.rule import Rule, Unaccountable
from roofline.work import Entry, Ledger

ONCE = "weights are counted once for all steps; what training keeps for the backward is left out"


@dataclass(frozen=True, slots=True)
class Cell:
    """Arithmetic of one hidden element of one step beside the matrix products."""

    name: str
    gates: int
    flop: int
    sfu: int
    backward: int  # flop; the activations are kept, so nothing is computed again


# sigmoid is 3 and exp on sfu; c = f c + i g 3, h = o tanh(c) 1
LSTM = Cell("lstm", 4, 3 * 3 + 3 + 1, 5, 22)
# n = tanh(x + r h) 2, h = n + z (h - n) 3
GRU = Cell("gru", 3, 2 * 3 + 2 + 3, 3, 17)
TANH = Cell("rnn_tanh", 1, 0, 1, 3)
RELU = Cell("rnn_relu", 1, 1, 0, 1)
MODES = (RELU, TANH, LSTM, GRU)  # numbers that cuDNN and oneDNN give them


def layers(cell: Cell, call: Call) -> Ledger:
    """aten::lstm, gru, rnn_tanh(x[T,N,I], hidden, weights, has_biases, num_layers, ...).

    arithmetic   2*T*N*|W|              flop   every weight matrix, every step of every sequence
                 T*N*(rows of biases)   flop   an add each
                 T*N*H*directions*layers  times the cell's own, on the vector pipe and on sfu
    read         x, the hidden states, weights and biases, once each
    write        y[T,N,directions*H], the last hidden states

    With packed sequences (data, batch_sizes, hidden, weights, ...) T*N is the rows of data.
    """
    x = arguments.tensor(call, 0)
    packed = isinstance(call.arg(1), Tensor) and isinstance(call.arg(2), (tuple, Tensor)) and (
        isinstance(call.arg(3), tuple))  # fmt: skip
    at = 2 if packed else 1
    hidden = call.arg(at)
    states = [hidden] if isinstance(hidden, Tensor) else list(arguments.tensors(call, at))
    weights = arguments.tensors(call, at + 1)
    return _layers(call, cell, x, [t for t in states if isinstance(t, Tensor)], weights)


def cudnn(call: Call) -> Ledger:
    """aten::_cudnn_rnn(x, weights, stride, buffer, h, c, mode, ...), miopen_rnn; as `layers`."""
    x, weights = arguments.tensor(call, 0), arguments.tensors(call, 1)
    first = 3 if call.op == "aten::miopen_rnn" else 4  # it has no buffer of weights
    states = [t for i in (0, 1) if (t := arguments.optional(call, first + i)) is not None]
    return _layers(call, _mode(call, first + 2), x, states, weights)


def cudnn_backward(call: Call) -> Ledger:
    """aten::_cudnn_rnn_backward(x, weights, .., h, c, y, dy, dh, dc, mode, ...): twice."""
    x, weights = arguments.tensor(call, 0), arguments.tensors(call, 1)
    states = [t for i in (4, 5) if (t := arguments.optional(call, i)) is not None]
    y = arguments.tensor(call, 6)
    grads = [t for i in (7, 8, 9) if (t := arguments.optional(call, i)) is not None]
    return _layers_backward(call, _mode(call, 10), x, states, weights, [y, *grads])


def onednn(call: Call) -> Ledger:
    """aten::mkldnn_rnn_layer(x, w_ih, w_hh, b_ih, b_hh, h, c, reverse, sizes, mode, ...)."""
    x = arguments.tensor(call, 0)
    weights = tuple(arguments.tensor(call, i) for i in range(1, 5))
    states = [arguments.tensor(call, i) for i in (5, 6)]
    return _layers(call, _mode(call, 9), x, states, weights)


def onednn_backward(call: Call) -> Ledger:
    """aten::mkldnn_rnn_layer_backward(x, weights, h, c, y, hy, cy, dy, dhy, dcy, ..)."""
    x = arguments.tensor(call, 0)
    weights = tuple(arguments.tensor(call, i) for i in range(1, 5))
    states = [arguments.tensor(call, i) for i in (5, 6)]
    kept = [t for i in range(7, 13) if (t := arguments.optional(call, i)) is not None]
    return _layers_backward(call, _mode(call, 14), x, states, weights, kept)


def cell(kind: Cell, call: Call) -> Ledger:
    """aten::lstm_cell(x[N,I], hidden, w_ih, w_hh, b_ih, b_hh), gru_cell, rnn_tanh_cell."""
    x = arguments.tensor(call, 0)
    hidden = call.arg(1)
    states = [hidden] if isinstance(hidden, Tensor) else list(arguments.tensors(call, 1))
    weights = [t for i in range(2, 6) if (t := arguments.optional(call, i)) is not None]
    return _layers(call, kind, x, [t for t in states if isinstance(t, Tensor)], weights)


def fused_gates(kind: Cell, call: Call) -> Ledger:
    """aten::_thnn_fused_lstm_cell(input gates[N,4H], hidden gates, c, biases): after the products.

    arithmetic   the cell's own, and an add a gate for the hidden gates and each bias
    write        h (and c), and the workspace: the activated gates (GRU: one more)
    """
    given, hidden, state = (arguments.tensor(call, i) for i in range(3))
    biases = [("bias", t) for i in (3, 4) if (t := arguments.optional(call, i)) is not None]
    h = state.numel
    workspace = Tensor((h * (5 if kind is GRU else 4),), given.dtype)
    results = 2 if kind is LSTM else 1
    return ledger(
        [
            Entry(vector_pipe(given.dtype), (1 + len(biases)) * given.numel, "add gates, biases"),
            *_own(kind, given, h),
        ],
        reads=[("input gates", given), ("hidden gates", hidden), ("the state", state), *biases],
        writes=[*[("the state", Tensor(state.shape, state.dtype))] * results,
                ("workspace", workspace)],
    )  # fmt: skip


def fused_gates_backward(kind: Cell, call: Call) -> Ledger:
    """aten::_thnn_fused_lstm_cell_backward(dh, dc, c, c', workspace, has_bias), gru."""
    places = (0, 1, 2, 3, 4) if kind is LSTM else (0, 1)
    reads = [(f"operand {i}", t) for i in places if (t := arguments.optional(call, i)) is not None]
    if len(reads) < 2:
        raise Unaccountable(f"{call.op}: its operands are not recorded")
    workspace = reads[-1][1]
    h = workspace.numel // (5 if kind is GRU else 4)
    gates = Tensor((h * kind.gates,), workspace.dtype)
    writes = [("gate gradients", gates), ("the state's gradient", Tensor((h,), gates.dtype))]
    writes += [("hidden gate gradients", gates)] if kind is GRU else []
    bias = arguments.flag(call, 5 if kind is LSTM else 2) * gates.numel * (2 if kind is GRU else 1)
    return ledger(
        [
            Entry(vector_pipe(gates.dtype), kind.backward * h, "gradients of the cell"),
            Entry(vector_pipe(gates.dtype), bias, "sum of the bias gradients"),
        ],
        reads=reads,
        writes=writes,
    )


def _layers(
    call: Call,
    kind: Cell,
    x: Tensor,
    states: list[Tensor],
    weights: tuple[Tensor, ...] | list[Tensor],
) -> Ledger:
    rows, hidden, biases = _sizes(call, kind, x, states, weights)
    y = Tensor((rows, hidden), x.dtype)
    return ledger(
        [
            *_products(call, x, rows, weights, 1),
            Entry(vector_pipe(x.dtype), rows * biases, "add biases"),
            *_own(kind, x, rows * hidden),
        ],
        reads=[("x", x), *_named(states, weights)],
        writes=[
            ("y", y),
            *(("the state", Tensor(t.shape, t.dtype)) for t in states[: _kept(kind)]),
        ],
        conventions=(ONCE,),
    )


def _layers_backward(
    call: Call,
    kind: Cell,
    x: Tensor,
    states: list[Tensor],
    weights: tuple[Tensor, ...],
    kept: list[Tensor],
) -> Ledger:
    rows, hidden, biases = _sizes(call, kind, x, states, weights)
    return ledger(
        [
            *_products(call, x, rows, weights, 2),
            Entry(vector_pipe(x.dtype), rows * biases, "sum bias gradients"),
            Entry(vector_pipe(x.dtype), kind.backward * rows * hidden, "gradients of the cells"),
        ],
        reads=[("x", x), *_named(states, weights), *(("kept", t) for t in kept)],
        writes=[("dx", Tensor(x.shape, x.dtype)),
                *(("gradient", Tensor(t.shape, t.dtype)) for t in (*weights, *states))],
        conventions=(ONCE,),
    )  # fmt: skip


def _sizes(
    call: Call,
    kind: Cell,
    x: Tensor,
    states: list[Tensor],
    weights: tuple[Tensor, ...] | list[Tensor],
) -> tuple[int, int, int]:
    """Rows (steps times sequences), hidden elements a row of all layers, and bias elements."""
    matrices = [w for w in weights if len(w.shape) == 2]
    if not x.shape or not matrices or not states:
        raise Unaccountable(f"{call.op}: the input, weights or states are not recorded")
    rows = x.numel // max(1, x.shape[-1])
    # Every layer and direction has one input matrix and one recurrent one, gates*H rows each.
    hidden = sum(w.shape[0] for w in matrices) // (2 * kind.gates)
    return rows, hidden, sum(w.numel for w in weights if len(w.shape) == 1)


def _products(
    call: Call, x: Tensor, rows: int, weights: tuple[Tensor, ...] | list[Tensor], times: int
) -> list[Entry]:
    elements = sum(w.numel for w in weights if len(w.shape) == 2)
    why = "every weight, every step" if times == 1 else "dx and dW: twice the forward"
    return [Entry(matmul_pipe(x.dtype, call.math), 2 * times * rows * elements, why)]


def _own(kind: Cell, x: Tensor, elements: int) -> list[Entry]:
    return [
        Entry(
            vector_pipe(x.dtype), kind.flop * elements, f"{kind.name}: {kind.flop} a hidden element"
        ),
        Entry(SFU, kind.sfu * elements, f"{kind.name}: {kind.sfu} a hidden element"),
    ]


def _named(states: list[Tensor], weights: tuple[Tensor, ...] | list[Tensor]) -> Operands:
    return [*(("a state", t) for t in states), *(("weights", t) for t in weights)]


def _kept(kind: Cell) -> int:
    return 2 if kind is LSTM else 1


def _mode(call: Call, index: int) -> Cell:
    mode = arguments.integer(call, index)
    if not 0 <= mode < len(MODES):
        raise Unaccountable(f"{call.op}: no recurrent cell has the number {mode}")
    return MODES[mode]


RULES = (
    *(Rule(f"aten::{kind.name}", partial(layers, kind)) for kind in MODES),
    *(Rule(f"aten::{kind.name}_cell", partial(cell, kind)) for kind in MODES),
    Rule("aten::_cudnn_rnn", cudnn),
    Rule("aten::miopen_rnn", cudnn),
    Rule("aten::_cudnn_rnn_backward", cudnn_backward),
    Rule("aten::mkldnn_rnn_layer", onednn),
    Rule("aten::mkldnn_rnn_layer_backward", onednn_backward),
    Rule("aten::_thnn_fused_lstm_cell", partial(fused_gates, LSTM)),
    Rule("aten::_thnn_fused_gru_cell", partial(fused_gates, GRU)),
    Rule("aten::_thnn_fused_lstm_cell_backward_impl", partial(fused_gates_backward, LSTM)),
    Rule("aten::_thnn_fused_lstm_cell_backward", partial(fused_gates_backward, LSTM)),
    Rule("aten::_thnn_fused_gru_cell_backward", partial(fused_gates_backward, GRU)),
)
