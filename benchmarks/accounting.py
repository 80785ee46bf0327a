"""Accounting beside torch's FlopCounterMode: the same training steps on fake tensors, in turn.

Run with ``python benchmarks/accounting.py [LAYERS]`` (100 by default: about 18,000 calls forward and
backward).  Ours counts bytes, modules and phases as well.  Each round runs the step plainly, under
FlopCounterMode and under ours, one after the other; printed are medians of a round's processor time
(other programs do not count), the whole twice.  Then one layer of a model of 70 billion parameters.
"""

import resource
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from roofline import accounting

ROUNDS = 5


class Layer(nn.Module):
    """Grouped-query attention and a gated feed-forward, as in today's language models."""

    def __init__(self, width: int, heads: int, groups: int, inner: int):
        super().__init__()
        like = {"bias": False, "dtype": torch.bfloat16}
        self.heads, self.groups, each = heads, groups, width // heads
        self.q, self.o = nn.Linear(width, width, **like), nn.Linear(width, width, **like)
        self.k, self.v = (nn.Linear(width, groups * each, **like) for _ in "kv")
        self.up, self.gate = (nn.Linear(width, inner, **like) for _ in "ug")
        self.down = nn.Linear(inner, width, **like)
        self.norm1, self.norm2 = (nn.RMSNorm(width, dtype=torch.bfloat16) for _ in "12")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One block."""
        batch, length, width = x.shape
        y = self.norm1(x)
        q = self.q(y).view(batch, length, self.heads, -1).transpose(1, 2)
        k, v = (p(y).view(batch, length, self.groups, -1).transpose(1, 2) for p in (self.k, self.v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


def main() -> None:
    """Time, twice, and print."""
    layers = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with FakeTensorMode() as mode:
        model = nn.Sequential(*(Layer(512, 8, 2, 1408) for _ in range(layers)))
        x = torch.empty(1, 512, 512, dtype=torch.bfloat16, requires_grad=True)

    def step() -> None:
        y = model(x)
        torch.autograd.backward([y], [torch.ones_like(y)])
        model.zero_grad()
        x.grad = None

    def plain() -> None:
        with mode:
            step()

    def flop_counter() -> None:
        with mode, FlopCounterMode(display=False):
            step()

    def ours() -> None:
        accounting.account(model, [x], backward=True)

    calls = accounting.account(model, [x], backward=True).calls
    print(f"{layers} layers, forward and backward: {calls} calls")
    for attempt in (1, 2):
        medians = interleaved([plain, flop_counter, ours])
        print(f"{attempt}: " + ", ".join(f"{name} {s:.2f} s ({s / calls * 1e6:.0f} us a call)"
                                         for name, s in medians.items()))  # fmt: skip
        print(f"   ours / FlopCounterMode: {medians['ours'] / medians['flop_counter']:.2f}")
    large()


def interleaved(works: list[Callable[[], None]]) -> dict[str, float]:
    """Median processor time of each, taken in turn."""
    for work in works:
        work()
    times: dict[str, list[float]] = {work.__name__: [] for work in works}
    for _ in range(ROUNDS):
        for work in works:
            start = time.thread_time()
            work()
            times[work.__name__].append(time.thread_time() - start)
    return {name: statistics.median(each) for name, each in times.items()}


def large() -> None:
    """One layer of a 70B model, 8192 tokens, forward and backward."""
    start = time.perf_counter()
    with FakeTensorMode():
        layer = Layer(8192, 64, 8, 28672)
        x = torch.empty(1, 8192, 8192, dtype=torch.bfloat16, requires_grad=True)
    counted = accounting.account(layer, [x], backward=True)
    flop, wall = counted.flop, time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"a layer of a 70B model: {flop:.4e} flop in {wall:.2f} s, peak memory {memory:.0f} MB")


if __name__ == "__main__":
    main()
