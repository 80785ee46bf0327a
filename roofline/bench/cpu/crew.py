"""Threads pinned to CPUs of their own, that work together and are timed together.

The calling thread is never pinned, so there is nothing to restore.  Kernels are called through
ctypes or PyTorch, which release the interpreter lock while they run.
"""

import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from glob import glob
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypeVar

from roofline.bench.sample import Sample, Samples

T = TypeVar("T")
TIMER = "wall clock against CPU time"
_PATIENCE_S = 3.0  # and however many there are then
_TOGETHER_S = 200e-6  # until every thread has heard when to start
_PATIENCE = 3  # samples taken at most, for each clean one that is wanted; 1 while none is clean


@dataclass(slots=True)
class Load:
    """Work to time: what one pass of every thread does, and how often it is repeated."""

    run: Callable[[int, int], object]  # (index of the thread, passes)
    amount: float  # units of work in one pass of all threads together
    seconds: float  # how long one sample should take
    passes: int = 1  # grows until a sample takes that long
    keeps: object = None  # memory that `run` knows by its address only


class Crew:
    """One thread for each set of CPUs it may run on; a context manager.

    A thread with one CPU is judged by its own CPU time.  A thread with several leads a library's
    threads, which inherit the set.  These may wait for each other, which is the library's affair;
    they are judged by how long any of them was ready and had no CPU.
    """

    def __init__(self, cpus: Sequence[Collection[int]]) -> None:
        self.cpus = tuple(frozenset(allowed) for allowed in cpus)
        self._tasks: list[SimpleQueue[Callable[[int], Any] | None]] = [SimpleQueue() for _ in cpus]
        self._done: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
        self._threads = [
            Thread(target=self._work, args=(index,), daemon=True) for index in range(len(cpus))
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        for tasks in self._tasks:
            tasks.put(None)
        # What they work on must not go before they do.
        for thread in self._threads:
            thread.join()

    def __len__(self) -> int:
        return len(self.cpus)

    def each(self, task: Callable[[int], T]) -> list[T]:
        """Run `task(index)` on every thread; their results in order, or the first error."""
        for tasks in self._tasks:
            tasks.put(task)
        answers = sorted((self._done.get() for _ in self._tasks), key=lambda answer: answer[0])
        for _, _, error in answers:
            if error is not None:
                raise error
        return [result for _, result, _ in answers]

    def sample(self, load: Load) -> Sample:
        """Time one stretch of `load`; one that turns out too short is repeated with more passes.

        Wall time is from the first start to the last end, so that a thread which came late makes
        the sample slow and, for want of CPU time, unclean.
        """
        while (taken := self._once(load)) is None:
            pass
        return taken

    def _once(self, load: Load) -> Sample | None:
        """One stretch, or None (and more passes for the next) when it was too short to time."""
        start_at = time.perf_counter() + (_TOGETHER_S if len(self) > 1 else 0.0)
        times = self.each(lambda index: self._timed(load, index, start_at))
        wall_s = max(end for _, end, _ in times) - min(start for start, _, _ in times)
        if wall_s < load.seconds / 2:
            load.passes = int(load.passes * min(64.0, max(2.0, load.seconds / wall_s)))
            return None
        busy = sum(cpu_s for _, _, cpu_s in times) / (sum(map(len, self.cpus)) * wall_s)
        return Sample(rate=load.amount * load.passes / wall_s, busy=busy)

    def samples(self, load: Load, count: int) -> Samples:
        """Samples one after the other until `count` are clean, or patience is over."""
        return self.in_turns([load], count)[0]

    def in_turns(
        self, loads: Sequence[Load], count: int, least_s: float = 0.0
    ) -> tuple[Samples, ...]:
        """The same of several loads, one sample of each in turn.

        What slows the machine down for a moment then touches every load once instead of spoiling
        one, and what lasts for seconds shows in all.  Turns go on for `least_s` however many
        samples there are.  A pass before each finds back what the others pushed out of the caches.
        """
        taken: list[list[Sample]] = [[] for _ in loads]
        started = time.perf_counter()
        while True:
            spent_s = time.perf_counter() - started
            left = [
                i
                for i, of in enumerate(taken)
                if not of
                or spent_s < least_s
                or (spent_s < least_s + _PATIENCE_S and _wanting(of, count))
            ]
            if not left:
                return tuple(Samples(tuple(of)) for of in taken)
            for i in left:
                if len(loads) > 1:
                    self.each(partial(_pass, loads[i]))
                taken[i].append(self.sample(loads[i]))

    def _timed(self, load: Load, index: int, start_at: float) -> tuple[float, float, float]:
        """Start, end and undisturbed CPU seconds of one call at the agreed moment."""
        cpus = len(self.cpus[index])
        if (early_s := start_at - time.perf_counter()) > 0:
            time.sleep(early_s)
        waited_s = _waited_s() if cpus > 1 else None
        cpu_s = time.thread_time() if cpus == 1 else time.process_time()
        start = time.perf_counter()
        load.run(index, load.passes)
        end = time.perf_counter()
        cpu_s = (time.thread_time() if cpus == 1 else time.process_time()) - cpu_s
        if waited_s is not None and (after_s := _waited_s()) is not None:
            cpu_s = cpus * (end - start) - (after_s - waited_s)
        return start, end, cpu_s

    def _work(self, index: int) -> None:
        os.sched_setaffinity(0, self.cpus[index])
        while (task := self._tasks[index].get()) is not None:
            try:
                self._done.put((index, task(index), None))
            except BaseException as error:
                self._done.put((index, None, error))


def _pass(load: Load, index: int) -> None:
    load.run(index, 1)


def _wanting(taken: Sequence[Sample], count: int) -> bool:
    """Whether more samples may still bring `count` clean ones."""
    clean = sum(sample.clean for sample in taken)
    return clean < count and len(taken) < (_PATIENCE * count if clean else count)


def _waited_s() -> float | None:
    """Seconds that threads of this process were ready and had no CPU; None if nothing tells."""
    waited_ns: list[int] = []
    for path in glob("/proc/self/task/*/schedstat"):
        try:
            with open(path) as file:
                waited_ns.append(int(file.read().split()[1]))
        except (OSError, IndexError, ValueError):
            continue  # the thread has ended since, or the kernel does not count
    return 1e-9 * sum(waited_ns) if waited_ns else None
