"""What names in a trace mean: which spans are operators, and how kernels are called on a page."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

Role = Literal["operator", "composite", "wrapper"]

# Spans that stand around operators and are none: autograd's bookkeeping, the compiler's, that of
# gradients in buckets, records.
_WRAPPER = re.compile(
    r"autograd::|torch::autograd::|torch::jit::|torch(?:::|\.)distributed(?:::|\.)|prim::|"
    r"profiler::|record_param_comms|"
    r"(?:\w+::)*\w*Backward\w*$"
)
_BACKWARD = re.compile(r"autograd::engine::evaluate_function|(?:\w+::)*\w+Backward\d*$")
_OPTIMIZER = re.compile(r"(?:torch\.optim\.)?Optimizer\.step#|Optimizer\.step$")
_STEP = re.compile(r"ProfilerStep\s?#?\s?\d+")
_COMPILED = re.compile(r"triton_|cpp_fused|graph_\d+_cpp_")
GRAPH = re.compile(r"(?:cuda|cu|hip)Graph(?:Exec)?Launch")

# Operators of other libraries that do what one of PyTorch's does, with the same arguments.
SAME: dict[str, str] = {"vllm::rocm_unquantized_gemm": "aten::linear"}

# torch.optim calls these with the gradient twice, as the two factors of its square.
SQUARES = frozenset({"aten::addcmul_"})

# An operator whose own name covers two: one that runs, and one that only calls another.
CALLS = {"aten::max": "aten::maximum", "aten::min": "aten::minimum"}


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is known of a span by its name."""

    role: Role = "wrapper"
    backward: bool = False
    optimizer: bool = False
    step: bool = False
    module: str = ""

    @property
    def marks(self) -> bool:
        """Whether it says something of everything inside it."""
        return self.backward or self.optimizer or self.step or bool(self.module)


@cache
def composites() -> frozenset[str]:
    """Operators that PyTorch always builds from others: what runs is those others.

    The list is that of the dispatcher of the PyTorch version its first line names.
    """
    text = (files("roofline.importers.kineto.join") / "composites.txt").read_text("utf-8")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))


def operator(name: str, compiled: bool = False) -> Meaning:
    """The meaning of a span recorded as an operator; `compiled`: it launches a compiled kernel."""
    if compiled or _COMPILED.match(name):
        return Meaning("operator")
    if _OPTIMIZER.match(name):
        return Meaning(optimizer=True)
    if _STEP.fullmatch(name):
        return Meaning(step=True)
    if _BACKWARD.match(name):
        return Meaning(backward=True)
    if "::" not in name or _WRAPPER.match(name):
        return Meaning()
    return Meaning("composite" if name in composites() else "operator")


def annotation(name: str, module: str = "nn.Module: ") -> Meaning:
    """The meaning of a user's annotation, or of a module's span."""
    if name.startswith(module):
        return Meaning(module=name.removeprefix(module))
    return Meaning(optimizer=bool(_OPTIMIZER.match(name)), step=bool(_STEP.fullmatch(name)))


def launches_graph(name: str) -> bool:
    """Whether a launch starts a captured graph: many kernels, whose operators are not recorded."""
    return GRAPH.match(name) is not None


def one_line(text: str) -> str:
    """A text of the trace as part of a sentence, whatever a damaged file holds.

    >>> one_line("cp\\n_op")
    'cp _op'
    """
    return " ".join(text.split())
