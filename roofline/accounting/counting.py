"""Sees every operator below autograd, on real tensors and on fake ones, and counts equal calls."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils._python_dispatch import TorchDispatchMode, _pop_mode, _push_mode

from roofline import ops
from roofline.accounting.account import Line
from roofline.accounting.launches import Launches
from roofline.call import Call
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
    multiplied,
    takes_apart,
    tensors,
)
from roofline.capture.calls.storages import Storages
from roofline.capture.columns import BACKWARD, FORWARD, OPTIMIZER, PHASES, Names
from roofline.capture.frames import leave_alone
from roofline.capture.modules import Modules
from roofline.runfile import Phase, Signature
from roofline.work import Ledger

if TYPE_CHECKING:
    from roofline.accounting.against import Beside

_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
_DEVICE = torch.ops.prim.device.default
_SEEN = PLAIN | {FakeTensor}

_Where = tuple[int, int, int, bool]  # signature, phase, module, recomputed


class Counting(TorchDispatchMode):  # type: ignore[misc]
    """Counts while it is entered; `outside` is the phase of what runs outside every module.

    With `device` every call is counted as if it ran there; with `beside` torch's counter sees the
    same calls.
    """

    supports_higher_order_operators = True

    def __init__(
        self,
        outside: int = FORWARD,
        device: Literal["cpu", "cuda"] | None = None,
        beside: "Beside | None" = None,
    ):
        super().__init__()
        leave_alone(Counting.__torch_dispatch__)
        self._book = Book()
        self._names = Names("")
        self._modules = Modules(self._names)
        self._tally: dict[_Where, int] = {}
        self._operators: dict[int, Operator] = {}
        self._known: dict[tuple[Any, ...], int] = {}
        self._storages = Storages()
        self._outside = outside
        self._device = device
        self._beside = beside
        self._optimizing = 0
        self._launches = Launches(lambda call: self.tally(self._book.number(call)))
        self._hooks: list[Any] = []

    def __enter__(self) -> "Counting":
        """Start."""
        self._modules.install()
        self._launches.install()
        self._hooks = [
            register_optimizer_step_pre_hook(lambda *_: self._optimizer(1)),
            register_optimizer_step_post_hook(lambda *_: self._optimizer(-1)),
        ]
        if self._beside is not None:
            self._beside.counter.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        """Stop."""
        super().__exit__(*error)
        if self._beside is not None:
            self._beside.counter.__exit__(*error)
        for hook in self._hooks:
            hook.remove()
        self._launches.remove()
        self._modules.remove()
        self.close()

    def close(self) -> None:
        """Let go of what was remembered of memory; counts stay."""
        self._storages.close()

    def at(self, module: str) -> None:
        """What follows was called in `module`; for graphs, whose modules do not run."""
        self._modules.current = self._names.number(module)

    def whole(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Run one operator outside of the mode and count it, whether or not it is composite."""
        operator = self._operators.get(id(func)) or self._describe(func)
        return self._count(operator, args, kwargs)

    def signatures(self) -> tuple[Signature, ...]:
        """Distinct calls, with what hardware runs beyond the formula where that is known."""
        return tuple(
            s if s.call is None else replace(s, executed=self._executed(s.call))
            for s in self._book.signatures
        )

    def _executed(self, call: Call) -> Ledger | None:
        try:
            return ops.executed(call)
        except Exception as error:  # as in Book.account
            self._book.broken.setdefault(call.op, f"{type(error).__name__}: {error}")
            return None

    def lines(self) -> tuple[Line, ...]:
        """How often each was made, by phase and module."""
        modules = self._names.names
        return tuple(
            Line(
                signature=signature,
                calls=calls,
                phase=cast(Phase, PHASES[phase]),
                module=modules[module],
                recomputed=recomputed,
            )
            for (signature, phase, module, recomputed), calls in self._tally.items()
        )

    def broken(self) -> tuple[str, ...]:
        """Rules that failed, in words."""
        return tuple(f"the rule of {op} failed: {why}" for op, why in self._book.broken.items())

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
        """Run one operator and count it."""
        if func is _DEVICE and type(args[0]) is FakeTensor:
            return args[0].fake_device  # asked about twice a call, and slow to ask
        kwargs = kwargs or {}
        for kind in types:
            if kind not in _SEEN and takes_apart(kind):
                return NotImplemented  # it takes the call apart, and its parts come back here
        operator = self._operators.get(id(func)) or self._describe(func)
        if operator.ignored:
            return func(*args, **kwargs)
        if operator.split and not any_nested([*args, *kwargs.values()]):
            return self._parts(func, args, kwargs)
        return self._count(operator, args, kwargs)

    def _count(self, operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if operator.opaque and bodies.has_bodies(operator, args):
            return self._bodies(operator, args, kwargs)
        before = 0 if self._beside is None else self._beside.total()
        signature, key = self._look_up(operator, args, kwargs)
        if signature is not None:
            result = self._run(operator, args, kwargs)
        else:
            signature, result = self._first(operator, args, kwargs)
            if key is not None and not any_sparse(tensors([result])):
                self._known[key] = signature
        self.tally(signature)
        if self._beside is not None:
            self._beside.add(signature, self._beside.total() - before)
        return result

    def _run(self, operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Run one call; without torch's counter what that cannot look at."""
        if self._beside is None or not (operator.opaque or any_nested([*args, *kwargs.values()])):
            return operator.func(*args, **kwargs)
        with self._beside.aside():
            return operator.func(*args, **kwargs)

    def _bodies(self, operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if self._beside is None:
            return bodies.run(operator.func, args, kwargs, self)
        with self._beside.aside() as counter:
            return bodies.run(operator.func, args, kwargs, counter, self)

    def tally(self, signature: int) -> None:
        """Count one call of `signature` where the program is now."""
        where = (signature, *self._now())
        self._tally[where] = self._tally.get(where, 0) + 1

    def _look_up(
        self, operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[int | None, tuple[Any, ...] | None]:
        """The number of an equal call before, and the key that equal calls share."""
        if operator.shape_from_data:
            return None, None
        try:
            key = Key(operator, args, kwargs, self._storages).value
            return self._known.get(key), key
        except (Opaque, TypeError):
            return None, None

    def _first(
        self, operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[int, Any]:
        """Run and describe a call that is not known yet."""
        describer = None
        if not operator.opaque:
            with suppress(Opaque, TypeError):
                describer = Describer(operator, args, kwargs, self._storages)
        result = self._run(operator, args, kwargs)
        made = tensors([result])
        if describer is not None:
            with suppress(Opaque):
                call = describer.call(made)
                return self._book.number(self._moved(call)), result
        return self._odd(operator, args, kwargs, made), result

    def _odd(
        self, operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any], made: list[Any]
    ) -> int:
        """The number of a call whose tensors are no single blocks of memory."""
        return odd.number(
            self._book,
            operator,
            args,
            kwargs,
            made,
            account=lambda call: self._book.account(self._moved(call)),
            device=self._device,
            wait=True,
        )

    def _moved(self, call: Call) -> Call:
        """The call as if it ran on the device that was asked for."""
        if self._device is None or call.device == self._device:
            return call
        return multiplied(replace(call, device=self._device))

    def _now(self) -> tuple[int, int, bool]:
        """Phase, module, and whether this is done a second time for a backward pass."""
        modules, task = self._modules, torch._C._current_graph_task_id()
        if task == -1:
            if self._optimizing:
                return OPTIMIZER, modules.current, False
            return FORWARD if modules.current else self._outside, modules.current, False
        within = modules.task == task  # a module entered within this backward pass
        if within:
            module = modules.current
        else:
            node = torch._C._current_autograd_node()
            module = 0 if node is None else modules.of_node(node)
        return BACKWARD, module, modules.again(task)

    def _parts(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Run a composite operator as PyTorch would outside of inference_mode: as its parts."""
        _push_mode(self)
        try:
            return func._op_dk(_COMPOSITE, *args, **kwargs)
        finally:
            _pop_mode()

    def _describe(self, func: Any) -> Operator:
        operator = self._operators[id(func)] = describe(func)
        return operator

    def _optimizer(self, by: int) -> None:
        self._optimizing += by
