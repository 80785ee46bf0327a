"""One recording: everything started together, stopped together, and put into a run."""

import os
import platform
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils._python_dispatch import _get_current_dispatch_mode

from roofline.capture.book import Book
from roofline.capture.calibrate import around_backward, calibrate
from roofline.capture.columns import BACKWARD, OTHER, Columns
from roofline.capture.compiled.code import Regions
from roofline.capture.device.kernels import Kernels, kind, parents
from roofline.capture.frames import leave_alone
from roofline.capture.mode import Mode, silence
from roofline.capture.modules import Modules
from roofline.capture.sampling.attach import attach
from roofline.capture.sampling.sampler import Sampler
from roofline.capture.steps import OUTSIDE, End, Recorded, cut, disturbed
from roofline.capture.threads import Elsewhere
from roofline.capture.waiting import waited_ns
from roofline.device import Device
from roofline.devices import resolve
from roofline.errors import BadInput, NotFound
from roofline.runfile import Gap, Recorder, Run, Signature
from roofline.version import __version__

_HOST_TIMER = "wall clock around each operator below autograd"
_DEVICE_TIMER = "device kernels by CUPTI, joined to the operator that launched them"
# CUPTI's timestamps resolve tens of nanoseconds: below this they say as much of the start of a
# kernel as of its work.
_SHORTEST_KERNEL_S = 1e-6


class Recording:
    """Records the operators of this thread between entry and exit; then `result` is the run."""

    def __init__(
        self,
        *,
        program: str = "",
        device: Device | None = None,
        warmup: int | None = None,
        steps: int | None = None,
        sampler: Sampler | None = None,
        when_full: Callable[[Run], None] | None = None,
    ):
        """`when_full` is called with the run once `steps` are recorded, if the program goes on."""
        for name, value, least in (("warmup", warmup, 0), ("steps", steps, 1)):
            if value is not None and value < least:
                raise BadInput(f"{name} must be at least {least}; got {value}")
        self._program = program
        self._device = device
        self._warmup = warmup
        self._limit = None if steps is None else steps + (1 if warmup is None else warmup)
        self._when_full = when_full
        self._columns = Columns()
        self._book = Book()
        self._modules = Modules(self._columns.modules)
        self._kernels = Kernels(sampler)
        self._mode = Mode(
            self._columns, self._book, self._modules, self._begins, self._kernels.start
        )
        self._regions = Regions(self._mode, self._book, self._modules)
        self._elsewhere = Elsewhere()
        self._ends: list[End] = []
        self._hooks: list[Any] = []
        self._stepping: list[int] = []  # ids of the optimizers inside of whose step we are
        self._origin = 0  # ns, perf_counter: when the recording began
        self._begin = End(0, 0, 0)  # when its first operator came by
        self._entered = False
        self._stopped: End | None = None
        self._result: Run | None = None

    def __enter__(self) -> Self:
        """Start."""
        calibrate()  # now, so that its time is not the program's
        leave_alone(Recording._optimizer_begins)
        leave_alone(Recording._optimizer_ends)
        self._hooks = [
            register_optimizer_step_pre_hook(self._optimizer_begins),
            register_optimizer_step_post_hook(self._optimizer_ends),
        ]
        self._modules.install()
        self._regions.install()
        self._elsewhere.install()
        os.register_at_fork(after_in_child=silence(weakref.ref(self._mode)))
        self._origin = perf_counter_ns()
        self._mode.__enter__()
        self._entered = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        """Stop; an exception passes on, and what was recorded until then is kept."""
        if self._stopped is None:
            self._stop()
        self._leave()
        self._mode.close()
        for hook in self._hooks:  # not in _stop, which one of them may have called
            hook.remove()
        if self._result is None:
            self._result = self._assemble()

    def step(self, name: str = "") -> None:
        """End one repetition of the program's work here."""
        self._end(name, asked=True)

    @property
    def result(self) -> Run:
        """What was recorded: after the block, or from the call of `when_full` on.

        Raises BadInput before that.
        """
        if self._result is None:
            raise BadInput("there is no result yet: the recording's block has not ended")
        return self._result

    def _begins(self, entered: int) -> None:
        self._begin = replace(self._now(), time=entered)

    def _optimizer_begins(self, optimizer: Any, *_: Any) -> None:
        self._drop(optimizer)
        self._stepping.append(id(optimizer))
        self._mode.optimizing = True

    def _optimizer_ends(self, optimizer: Any, *_: Any) -> None:
        self._drop(optimizer)
        if not self._stepping:
            self._mode.optimizing = False
            self._end("", asked=False)

    def _drop(self, optimizer: Any) -> None:
        """Forget `optimizer` and those within it: at its end, or when an exception ended it."""
        if id(optimizer) in self._stepping:
            del self._stepping[self._stepping.index(id(optimizer)) :]

    def _end(self, name: str, *, asked: bool) -> None:
        if not self._mode.on:
            return
        self._ends.append(self._now(name, asked=asked))
        if len(self._ends) == (1 if self._warmup is None else self._warmup):
            self._sample_afresh()
        if self._limit is not None and len(self._ends) >= self._limit:
            self._stop()
            if _get_current_dispatch_mode() is self._mode:  # else it lets everything through
                self._leave()
            if self._when_full is not None:
                self._result = self._assemble()
                self._when_full(self._result)

    def _sample_afresh(self) -> None:
        """Forget the counters of the warm-up; the time that takes is the recorder's."""
        if self._kernels.sampler is not None:
            began = perf_counter_ns()
            self._kernels.sampler.afresh()
            self._mode.bookkeeping += perf_counter_ns() - began

    def _stop(self) -> None:
        """Record no longer; what was watched is as it was, but for the mode."""
        self._kernels.stop()
        self._stopped = self._now()
        self._mode.on = False
        self._modules.remove()
        self._regions.remove()
        self._elsewhere.remove()

    def _leave(self) -> None:
        if self._entered:
            self._mode.__exit__(None, None, None)
            self._entered = False

    def _now(self, name: str = "", *, asked: bool = False) -> End:
        spent = self._mode.bookkeeping + self._modules.bookkeeping
        return End(
            time=perf_counter_ns(),
            bookkeeping=spent,
            ignored=self._mode.ignored,
            waited=waited_ns(),
            name=name,
            asked=asked,
        )

    def _assemble(self) -> Run:
        recorded = Recorded(
            columns=self._columns,
            origin=self._origin,
            begin=self._begin,
            ends=self._ends,
            total=self._stopped or self._now(),
            device_end=max((k.start + k.duration for k in self._kernels.kernels), default=0),
            around=calibrate().around,
            around_backward=around_backward() if (self._columns.phase == BACKWARD).any() else 0.0,
        )
        division = cut(recorded, self._warmup)
        of_kernel = self._add_kernels(division.of_event)
        counted = attach(
            self._kernels.kernels, of_kernel.tolist(), division.steps, self._kernels.sampler
        )
        first = len(self._columns) - len(of_kernel)
        self._columns.counters = {
            first + at: kernel.configuration | sampled
            for at, (kernel, sampled) in enumerate(
                zip(self._kernels.kernels, counted.kernels, strict=True)
            )
        }
        return Run(
            recorder=replace(
                self._recorder(division.how, disturbed(division.steps)), counters=counted.how
            ),
            device=self._on_device() if self._kernels.kernels else self._device,
            signatures=tuple(self._book.signatures),
            steps=counted.steps,
            gaps=(
                *division.gaps,
                *self._regions.gaps(),
                *self._elsewhere.gaps(),
                *self._kernels.gaps(),
                *counted.gaps,
                *self._unknown_device(),
            ),
            events=self._columns.table(
                steps=np.concatenate([division.of_event, of_kernel]), origin=self._origin
            ),
        )

    def _unknown_device(self) -> Iterator[Gap]:
        if self._kernels.kernels and self._on_device() is None:
            card = self._kernels.kernels[0].device
            name = torch.cuda.get_device_name(card)
            what = f"no ceilings of {name} are known here; `roofline measure --device cuda:{card}`"
            yield Gap(name="ceilings", what=what)

    def _on_device(self) -> Device | None:
        """The CUDA device that the first kernel ran on; None, and a gap, when nobody knows it."""
        try:
            return resolve(torch.cuda.get_device_name(self._kernels.kernels[0].device))
        except NotFound:
            return None

    def _add_kernels(self, of_event: np.ndarray) -> np.ndarray:
        """Put the kernels behind the operators that launched them; return their steps."""
        columns, kernels = self._columns, self._kernels.kernels
        launching = parents(kernels, columns)
        phases, modules = columns.phase, columns.module
        steps = []
        signatures: dict[str, int] = {}
        for kernel, (row, inside) in zip(kernels, launching, strict=True):
            if kernel.name not in signatures:
                signatures[kernel.name] = self._book.add(Signature(name=kernel.name))
            phase, module = OTHER, 0
            if row is not None and inside:
                phase, module = int(phases[row]), int(modules[row])
            columns.launched[len(columns)] = (kernel.stream, row if inside else None)
            context = (kind(kernel), phase, module, 0)
            columns.add(signatures[kernel.name], kernel.start, kernel.duration, context)
            steps.append(OUTSIDE if row is None else int(of_event[row]))
        return np.array(steps, dtype=np.int32)

    def _recorder(self, how: str, disturbed: str | None) -> Recorder:
        cost, on_device = calibrate(), bool(self._kernels.kernels)
        broken = (f"the rule of {op} failed: {why}" for op, why in self._book.broken.items())
        return Recorder(
            tool=f"roofline {__version__}",
            program=self._program,
            recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
            versions={"torch": str(torch.__version__), "python": platform.python_version()},
            threads=torch.get_num_threads(),
            timer=f"{_DEVICE_TIMER if on_device else _HOST_TIMER}; {how}",
            overhead_s=None if on_device else cost.overhead_s,
            shortest_s=_SHORTEST_KERNEL_S if on_device else cost.shortest_s,
            warnings=(*([disturbed] if disturbed else []), *broken, *self._regions.warnings()),
        )
