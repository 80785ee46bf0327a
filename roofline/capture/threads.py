"""Work the mode cannot see: operators on other threads, and other processes.

A mode belongs to the thread it was entered on.  Threads that start meanwhile get a mode of their
own that only counts, so that what is missing from the run has a name and a size.
"""

import multiprocessing.process
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter_ns
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from roofline.capture.frames import leave_alone
from roofline.runfile import Gap


class Elsewhere:
    """Counts what happens beside the recorded thread."""

    def __init__(self) -> None:
        self._threads: list[tuple[str, _Counting]] = []
        self._processes: Counter[str] = Counter()
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Begin to watch threads and processes that start from now on."""
        start_thread = threading.Thread.start
        start_process = multiprocessing.process.BaseProcess.start

        def start(thread: threading.Thread) -> None:
            work = thread.run

            def run() -> None:
                counting = _Counting()
                self._threads.append((thread.name, counting))
                with counting:
                    work()

            thread.run = run  # type: ignore[method-assign]
            start_thread(thread)

        def start_child(process: Any) -> None:
            self._processes[_kind(process)] += 1
            start_process(process)

        threading.Thread.start = start  # type: ignore[method-assign, assignment]
        multiprocessing.process.BaseProcess.start = start_child  # type: ignore[method-assign, assignment]
        self._undo = [
            lambda: setattr(threading.Thread, "start", start_thread),
            lambda: setattr(multiprocessing.process.BaseProcess, "start", start_process),
        ]

    def remove(self) -> None:
        """Put things back as they were."""
        for undo in self._undo:
            undo()
        self._undo.clear()

    def gaps(self) -> tuple[Gap, ...]:
        """What ran elsewhere: threads that called operators, and processes, by name."""
        threads = (
            Gap(
                name=f"thread {name}",
                what="its operators are not in the run: only the thread that started it is",
                seconds=mode.ns * 1e-9,
                count=mode.calls,
            )
            for name, mode in self._threads
            if mode.calls
        )
        processes = (
            Gap(
                name=f"process {kind}",
                what="what such processes do is not in the run: only the one that started it is",
                count=count,
            )
            for kind, count in self._processes.items()
        )
        return (*threads, *processes)


def _kind(process: Any) -> str:
    target = getattr(process, "_target", None)
    if getattr(target, "__module__", "") == "torch.utils.data._utils.worker":
        return "DataLoader worker"
    return str(getattr(target, "__name__", process.name))


class _Counting(TorchDispatchMode):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        leave_alone(_Counting.__torch_dispatch__)
        self.calls = 0
        self.ns = 0

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        start = perf_counter_ns()
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.calls += 1
            self.ns += perf_counter_ns() - start
