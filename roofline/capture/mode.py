"""Sees every operator below autograd, times it, and folds equal calls."""

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from resource import RUSAGE_SELF, getrusage
from time import perf_counter_ns
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode,
    _pop_mode,
    _pop_mode_temporarily,
    _push_mode,
)

from roofline.capture.book import Book
from roofline.capture.calls import bodies, odd
from roofline.capture.calls.layouts import any_sparse
from roofline.capture.calls.nested import any_nested
from roofline.capture.calls.operator import Operator, describe
from roofline.capture.calls.signature import (
    PLAIN,
    Describer,
    Key,
    Opaque,
    storage_of,
    takes_apart,
    tensors,
)
from roofline.capture.calls.storages import Storages
from roofline.capture.columns import (
    BACKWARD,
    FORWARD,
    NO_FAULTS,
    OP,
    OPTIMIZER,
    OTHER,
    RECOMPUTED,
    Columns,
)
from roofline.capture.frames import leave_alone
from roofline.capture.modules import Modules

_NEW = -1
_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
_NOTHING_RUNS = frozenset({"meta"})  # devices whose operators do no work


class Mode(TorchDispatchMode):  # type: ignore[misc]
    """The recorder proper.  While `on` is false it lets everything through untouched."""

    supports_higher_order_operators = True

    def __init__(
        self,
        columns: Columns,
        book: Book,
        modules: Modules,
        on_first: Callable[[int], None] = lambda entered: None,
        on_device: Callable[[int | None], None] = lambda card: None,
    ):
        super().__init__()
        leave_alone(Mode.__torch_dispatch__)
        self.on = True
        self.optimizing = False  # inside an Optimizer.step
        self.bookkeeping = 0  # ns spent here and not in operators
        self.ignored = 0  # calls that are no work but came by here
        self._busy = 0  # ns spent in operators
        self._columns = columns
        self._book = book
        self._modules = modules
        # Called once, with the moment at which the first operator came by.
        self._on_first: Callable[[int], None] | None = on_first
        # Called before every call on a CUDA device that is new, with the number of that device;
        # None is the current one.
        self.on_device = on_device
        self._operators: dict[int, Operator] = {}
        self._storages = Storages()
        self._known: dict[tuple[Any, ...], int | None] = {}
        self._main = threading.get_ident()

    def close(self) -> None:
        """Stop for good."""
        self.on = False
        self._storages.close()

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Let torch.compile compile, as no other mode does; `capture.compiled` times what it made.

        Dynamo would otherwise run every compiled function eagerly, without a word.
        """
        return True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # The default wraps __torch_dispatch__ in a call that imports Dynamo, a second, at once.
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run one operator and record it."""
        entered = perf_counter_ns()
        kwargs = kwargs or {}
        if not self.on:
            return func(*args, **kwargs)
        for kind in types:
            if kind not in PLAIN and takes_apart(kind):
                # A fake tensor has nothing to compute with.  Another subclass takes the call
                # apart, and its parts come back here.
                return func(*args, **kwargs) if issubclass(kind, FakeTensor) else NotImplemented
        operator = self._operators.get(id(func)) or self._describe(func)
        if operator.ignored:
            self.ignored += 1
            return func(*args, **kwargs)
        if operator.split and not any_nested([*args, *kwargs.values()]):
            return self._parts(entered, func, args, kwargs)
        if operator.opaque and bodies.has_bodies(operator, args):
            return bodies.run(func, args, kwargs, self)
        return self._record(entered, operator, args, kwargs)

    def _record(
        self,
        entered: int,
        operator: Operator,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Any:
        func = operator.func
        if self._on_first is not None:
            self._on_first(entered)
            self._on_first = None
        folded = describer = None
        strange = False
        reads: list[int] = []
        try:
            given = Key(operator, args, kwargs, self._storages)
            folded, reads = given.value, given.reads
            signature = self._known.get(folded, _NEW)
            if signature == _NEW or operator.shape_from_data:
                describer = Describer(operator, args, kwargs, self._storages)
                if "cuda" in describer.devices:
                    self.on_device(describer.card)
        except (Opaque, TypeError):
            signature, strange = None, True
        if operator.is_view:  # touches no memory
            start = perf_counter_ns()
            result = func(*args, **kwargs)
            end = perf_counter_ns()
            faults = NO_FAULTS
        else:
            before = getrusage(RUSAGE_SELF).ru_minflt
            start = perf_counter_ns()
            result = func(*args, **kwargs)
            end = perf_counter_ns()
            faults = getrusage(RUSAGE_SELF).ru_minflt - before
        made = [result] if isinstance(result, torch.Tensor) else _listed(result)
        if made and type(made[0]) is FakeTensor:
            return result  # made without computing
        if strange:
            signature = self._odd(operator, args, kwargs, made)
        elif describer is not None and folded is not None:
            signature = self._number(describer, args, kwargs, made)
            if not any_sparse(made):
                self._known[folded] = signature
        if signature is not None:
            self.append(signature, start, end - start, faults, reads, made)
        self._busy += end - start
        self.bookkeeping += perf_counter_ns() - entered - (end - start)
        return result

    def _describe(self, func: Any) -> Operator:
        # By identity: the hash of an overload is a Python function.  `describe` keeps it alive.
        operator = self._operators[id(func)] = describe(func)
        return operator

    def _parts(
        self, entered: int, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Run a composite operator as PyTorch would outside of inference_mode: as its parts."""
        recorded = self._busy + self.bookkeeping
        _push_mode(self)
        try:
            return func._op_dk(_COMPOSITE, *args, **kwargs)
        finally:
            _pop_mode()
            recorded = self._busy + self.bookkeeping - recorded
            self.bookkeeping += perf_counter_ns() - entered - recorded

    def _odd(
        self,
        operator: Operator,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        made: Sequence[Any],
    ) -> int | None:
        """The number of a call whose tensors are no single blocks of memory."""
        values = [*args, *kwargs.values(), *made]
        if any(tensor.device.type in _NOTHING_RUNS for tensor in tensors(values)):
            return None
        account = self._book.account
        return odd.number(self._book, operator, args, kwargs, made, account=account)

    def _number(
        self,
        describer: Describer,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        made: Sequence[Any],
    ) -> int | None:
        try:
            call = describer.call(made)
        except Opaque:
            return self._odd(describer.operator, args, kwargs, made)
        return None if describer.devices & _NOTHING_RUNS else self._book.number(call)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No recording within; where nothing else is in the way, no mode either."""
        if not self.on:
            yield
        elif _get_current_dispatch_mode() is self:
            with _pop_mode_temporarily():
                yield
        else:
            self.on = False
            try:
                yield
            finally:
                self.on = True

    def append(
        self,
        signature: int,
        start: int,
        duration: int,
        faults: int,
        reads: Sequence[int],
        made: Sequence[Any],
        kind: int = OP,
    ) -> None:
        """Record one event; `made` are the tensors it returned."""
        modules = self._modules
        module, task = modules.current, torch._C._current_graph_task_id()
        if task != -1:
            phase = RECOMPUTED if modules.again(task) else BACKWARD
            # A module entered within this backward pass is recomputing; else ask the node.
            if modules.task != task:
                node = torch._C._current_autograd_node()
                module = 0 if node is None else modules.of_node(node)
        elif module:
            phase = FORWARD
        else:
            phase = OPTIMIZER if self.optimizing else OTHER
        context = (kind, phase, module, self._thread())
        self._columns.add(signature, start, duration, context, faults, reads, self.numbers(made))

    def numbers(self, some: Sequence[Any]) -> list[int]:
        """The numbers of some tensors' storages."""
        try:
            return [self._storages.number(tensor.untyped_storage()) for tensor in some]
        except RuntimeError:  # one is sparse, or has no storage: then it is not recorded
            try:
                return [storage_of(tensor, self._storages) for tensor in some]
            except Opaque:
                return []

    def _thread(self) -> int:
        if threading.get_ident() == self._main:
            return 0
        return self._columns.threads.number(threading.current_thread().name)


def _listed(result: Any) -> list[Any]:
    return tensors(result) if isinstance(result, (list, tuple)) else []


def silence(mode: "weakref.ref[Mode]") -> Callable[[], None]:
    """What a forked child does first: it inherits the recorder, whose memory nobody will read."""

    def stop() -> None:
        inherited = mode()
        if inherited is not None:
            inherited.on = False

    return stop
