"""A graph that torch.export made -> an account.

Its operators are counted as they stand in the graph (``aten::linear``, ``aten::rms_norm``); one
without a rule of its own is counted by the operators it is composed of.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from roofline import ops
from roofline.accounting.account import Account
from roofline.accounting.counting import Counting
from roofline.errors import BadInput

GRAPH = "counted from an exported graph, whose operators are not taken apart"
AS_EXPORTED = "sizes that may vary are those of the example it was exported with"


def is_exported(subject: Any) -> bool:
    """Whether `subject` is an ExportedProgram."""
    return isinstance(subject, torch.export.ExportedProgram)


def account(
    program: Any, inputs: Sequence[Any] = (), *, device: Literal["cpu", "cuda"] | None = None
) -> Account:
    """Count the graph of `program`; `inputs` give sizes that may vary their values."""
    graph = program.graph_module
    nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
    sizes = _Sizes(nodes, inputs)
    counting = Counting(device=device)
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        _Walk(graph, counting).run(*(sizes.example(node.meta.get("val")) for node in nodes))
    counting.close()
    root = next(iter(_stack(graph)), "graph")
    return Account(
        subject=root,
        signatures=counting.signatures(),
        lines=counting.lines(),
        how=(GRAPH, *([AS_EXPORTED] if sizes.assumed else []), *counting.broken()),
    )


class _Walk(torch.fx.Interpreter):  # type: ignore[misc]
    """Runs a graph on fake tensors, node by node."""

    def __init__(self, module: Any, counting: Counting):
        super().__init__(module)
        self._counting = counting

    def run_node(self, n: Any) -> Any:
        """Say which module the node is from, and run it."""
        stack = [*n.meta.get("nn_module_stack", {}).values()]
        self._counting.at(_path(stack))
        return super().run_node(n)

    def call_function(
        self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Count an operator; arithmetic on sizes just runs."""
        if isinstance(target, torch._ops.OpOverload):
            if ops.known(target._schema.name):
                return self._counting.whole(target, args, dict(kwargs))
            with self._counting:
                return target(*args, **kwargs)
        if isinstance(target, torch._ops.HigherOrderOperator):
            return self._counting.whole(target, args, dict(kwargs))
        return super().call_function(target, args, dict(kwargs))


class _Sizes:
    """Concrete tensors in the place of those whose sizes may be symbols."""

    def __init__(self, nodes: Sequence[Any], inputs: Sequence[Any]):
        self.assumed = False  # some symbol's value is not from the inputs
        self._values: dict[Any, int] = {}
        for node, given in zip(reversed(nodes), reversed(list(inputs)), strict=False):
            stated = node.meta.get("val")
            if not isinstance(stated, torch.Tensor) or not isinstance(given, torch.Tensor):
                continue
            if stated.dim() != given.dim():
                raise BadInput(
                    f"input {node.name} has {stated.dim()} dimensions in the graph; "
                    f"given are {given.dim()}"
                )
            for symbol, value in zip(stated.shape, given.shape, strict=True):
                if isinstance(symbol, torch.SymInt):
                    self._values[symbol.node.expr] = int(value)

    def example(self, stated: Any) -> Any:
        """What a placeholder is given."""
        if not isinstance(stated, torch.Tensor):
            return self._size(stated) if isinstance(stated, torch.SymInt) else stated
        return torch.empty_strided(
            [self._size(n) for n in stated.shape],
            [self._size(n) for n in stated.stride()],
            dtype=stated.dtype,
        )

    def _size(self, wanted: Any) -> int:
        if not isinstance(wanted, torch.SymInt):
            return int(wanted)
        found = wanted.node.expr.xreplace(self._values)
        if not getattr(found, "free_symbols", ()):
            return int(found)
        self.assumed = True
        return int(wanted.node.hint)


def _stack(graph: Any) -> list[str]:
    for node in graph.graph.nodes:
        if stack := [*node.meta.get("nn_module_stack", {}).values()]:
            return [_class(stack[0])]
    return []


def _path(stack: Sequence[tuple[str, Any]]) -> str:
    """The module path of a node, as a live recording writes it."""
    if not stack:
        return ""
    inner = stack[-1][0]
    return f"{_class(stack[0])}.{inner}" if inner else _class(stack[0])


def _class(entry: tuple[str, Any]) -> str:
    return str(getattr(entry[1], "__name__", entry[1])).rpartition(".")[2]
