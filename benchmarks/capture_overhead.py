"""What recording costs an operator call, beside a dispatch mode that does nothing.

    python benchmarks/capture_overhead.py [--rounds N]

A small transformer block, forward and backward, runs on one thread under: nothing, a null
dispatch mode, the recorder (its signatures known), and PyTorch's FlopCounterMode.  The four take
turns, so that a change of the machine's mood meets all of them; medians of processor time over the
rounds.
"""

import argparse
from contextlib import nullcontext
from statistics import median
from time import thread_time

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from roofline.capture.recording import Recording

GOAL_US = 25


class Null(TorchDispatchMode):
    """Sees every operator and does nothing with it."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Only call it."""
        return func(*args, **(kwargs or {}))


class Counting(TorchDispatchMode):
    """Says how many operator calls there are."""

    calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Count it and call it."""
        self.calls += 1
        return func(*args, **(kwargs or {}))


def block():
    """One step of a block so small that the operators themselves hardly matter."""
    layer = torch.nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True)
    x = torch.randn(2, 8, 32)

    def step():
        layer(x).sum().backward()
        layer.zero_grad()

    return step


def seconds(step, repeats):
    """Processor time of one step on this thread, mean of `repeats`: others may hold it up."""
    start = thread_time()
    for _ in range(repeats):
        step()
    return (thread_time() - start) / repeats


def measure(step, rounds, repeats=20):
    """Median time of a step under each kind, in seconds, by name."""
    kinds = {
        "nothing": nullcontext,
        "null mode": Null,
        "roofline": Recording,
        "FlopCounterMode": lambda: FlopCounterMode(display=False),
    }
    samples = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, kind in kinds.items():
            with kind():
                step()  # signatures become known, lazy imports happen
                samples[name].append(seconds(step, repeats))
    return {name: median(values) for name, values in samples.items()}


def main():
    """Measure twice and print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    step = block()
    with Counting() as counting:
        step()
    calls = counting.calls
    for attempt in (1, 2):
        times = measure(step, rounds)
        null = times["null mode"]
        print(f"measurement {attempt}: {calls} operator calls a step, {rounds} rounds")
        for name, value in times.items():
            print(
                f"  {name:<16} {value / calls * 1e6:6.1f} us a call, {value / null:5.2f} x null mode"
            )
        extra = (times["roofline"] - null) / calls * 1e6
        verdict = "met" if extra <= GOAL_US else "missed"
        print(f"  beyond a null mode: {extra:.1f} us a call (goal {GOAL_US} us: {verdict})")


if __name__ == "__main__":
    main()
