"""Which of the three ways of making kernels this machine has: compiled C, llvmlite, or PyTorch."""

from collections.abc import Callable
from dataclasses import replace

from roofline.bench.cpu import jit, native, operators
from roofline.bench.cpu.kernels import Kernels
from roofline.errors import Missing


def make() -> Kernels:
    """The best kernels this machine can make; Missing, with every reason, when it can make none."""
    reasons: list[str] = []
    ways: tuple[Callable[[], Kernels], ...] = (native.make, jit.make, operators.make)
    for make_them in ways:
        try:
            return replace(make_them(), passed_over=tuple(reasons))
        except Missing as missing:
            reasons.append(str(missing))
    raise Missing(f"nothing here can run a measuring loop: {'; '.join(reasons)}")
