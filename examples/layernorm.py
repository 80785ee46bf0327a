"""Layer norm twice: out of tensor operations, as one writes it first, and PyTorch's own.

    python layernorm.py [ROWS] [COLUMNS] [REPEATS]

Both compute y = (x - mean) / sqrt(variance + eps) * gamma + beta over the last dimension.  The
first walks over the whole tensor again for every operator; the second reads it and writes it.
"""

import argparse
import time

import torch
from torch.nn import functional

EPS = 1e-5


def handwritten(x, gamma, beta):
    """Nine operators, as the formula has them: twelve passes over the tensor."""
    mean = x.mean(dim=-1, keepdim=True)
    centered = x - mean
    variance = (centered * centered).mean(dim=-1, keepdim=True)
    normal = centered / torch.sqrt(variance + EPS)
    return normal * gamma + beta


def library(x, gamma, beta):
    """One operator."""
    return functional.layer_norm(x, x.shape[-1:], gamma, beta, EPS)


def best_ms(function, arguments, repeats):
    """Shortest of `repeats` calls, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main():
    """Compute both, compare them, time them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int, nargs="?", default=4096)
    parser.add_argument("columns", type=int, nargs="?", default=4096)
    parser.add_argument("repeats", type=int, nargs="?", default=5)
    options = parser.parse_args()

    torch.manual_seed(0)
    x = torch.randn(options.rows, options.columns)
    gamma, beta = torch.randn(options.columns), torch.randn(options.columns)
    difference = (handwritten(x, gamma, beta) - library(x, gamma, beta)).abs().max().item()

    print(f"{options.rows} x {options.columns} fp32, {x.nbytes / 1e6:.1f} MB")
    print(f"largest difference  {difference:.1e}")
    for function in (handwritten, library):
        milliseconds = best_ms(function, (x, gamma, beta), options.repeats)
        print(f"{function.__name__:<19} {milliseconds:.2f} ms")


if __name__ == "__main__":
    main()
