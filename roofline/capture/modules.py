"""Which module is running, and which module a backward node came from.

Every module call passes `torch.nn.Module._call_impl`; it is wrapped while a recording runs.  That
costs less than forward hooks, ends on exceptions of every kind, and torch.compile neither breaks
its graphs on it nor guards on it.
"""

import weakref
from bisect import bisect_right
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import torch

from roofline.capture.columns import Names
from roofline.capture.frames import leave_alone, pass_over

_KEPT = 1_000_000  # module entries and exits remembered for backward

_LAST_NODE = 2**63  # nodes that accumulate gradients bear the largest number there is


class Modules:
    """The path of the running module, relative to the outermost one.

    ``"Net.blocks.0.attn"``: the class of the outermost module, then attribute names.  A shared
    module goes by the name under which it is called.
    """

    def __init__(self, names: Names):
        self.current = 0  # number of the path of the running module; 0 is none
        self.task = -1  # the backward pass that entered it, if any
        self.bookkeeping = 0  # ns spent here
        self._names = names
        self._stack: list[tuple[Any, str]] = []
        self._paths: dict[tuple[str, int], tuple[weakref.ref[Any], str]] = {}
        self._sequence: list[int] = [0]
        self._path_from: list[int] = [0]
        self._original: Callable[..., Any] | None = None

    @property
    def path(self) -> str:
        """The running module; "" is none."""
        return self._stack[-1][1] if self._stack else ""

    def install(self) -> None:
        """Begin to follow module calls."""
        original = self._original = torch.nn.Module._call_impl
        enter, leave, compiling = self._enter, self._leave, torch.compiler.is_compiling

        def _call_impl(module: Any, *args: Any, **kwargs: Any) -> Any:
            if compiling():
                return original(module, *args, **kwargs)
            before = enter(module)
            try:
                return original(module, *args, **kwargs)
            finally:
                leave(before)

        pass_over(_call_impl)  # it would be one compiled frame for all modules
        leave_alone(Modules._enter)
        leave_alone(Modules._leave)
        torch.nn.Module._call_impl = _call_impl

    def remove(self) -> None:
        """Put things back as they were."""
        if self._original is not None:
            torch.nn.Module._call_impl = self._original
            self._original = None

    def again(self, task: int) -> bool:
        """Whether what runs in the backward pass `task` is forward work done a second time.

        Backward records a graph of its own only to be differentiated again, and keeps it then.
        Checkpointing records one to have again what it threw away.
        """
        return torch.is_grad_enabled() and (
            self.task == task or not torch._C._autograd._get_current_graph_task_keep_graph()
        )

    def of_node(self, node: Any) -> int:
        """The module that ran when an autograd node was made; 0 where that is not known.

        Nodes are numbered as they are made, and the number at every module entry and exit is kept.
        """
        sequence = node._sequence_nr()
        if sequence > _LAST_NODE:
            return 0
        position = bisect_right(self._sequence, sequence) - 1
        return self._path_from[position] if position >= 0 else 0

    def _enter(self, module: Any) -> tuple[int, int]:
        started = perf_counter_ns()
        before = (self.current, self.task)
        path = self._path(module)
        self._stack.append((module, path))
        self.current = self._names.number(path)
        self.task = torch._C._current_graph_task_id()
        self._mark()
        self.bookkeeping += perf_counter_ns() - started
        return before

    def _leave(self, before: tuple[int, int]) -> None:
        started = perf_counter_ns()
        self._stack.pop()
        self.current, self.task = before
        self._mark()
        self.bookkeeping += perf_counter_ns() - started

    def _mark(self) -> None:
        now = torch.autograd._get_sequence_nr()
        if self._sequence[-1] == now:  # no node was made since the last mark
            self._path_from[-1] = self.current
            return
        self._sequence.append(now)
        self._path_from.append(self.current)
        if len(self._sequence) > 2 * _KEPT:
            del self._sequence[:_KEPT], self._path_from[:_KEPT]

    def _path(self, module: Any) -> str:
        parent = self._stack[-1][1] if self._stack else ""
        known = self._paths.get((parent, id(module)))
        if known is not None and known[0]() is module:  # an id may be used again
            return known[1]
        path = self._find(module)
        self._paths[parent, id(module)] = (weakref.ref(module), path)
        return path

    def _find(self, module: Any) -> str:
        for ancestor, path in reversed(self._stack):
            for name, child in ancestor.named_modules(remove_duplicate=False):
                if child is module:
                    inner = [part for part in name.split(".") if part and part != "_orig_mod"]
                    return ".".join([path, *inner])
        if not self._stack and torch._C._current_graph_task_id() != -1:
            for (_, known), (reference, path) in self._paths.items():
                if known == id(module) and reference() is module:
                    return path  # checkpointing calls inner modules again, by themselves
        own = getattr(module, "_orig_mod", module)  # torch.compile wraps a module in another
        parent = f"{self._stack[-1][1]}." if self._stack else ""
        return f"{parent}{type(own).__name__}"
