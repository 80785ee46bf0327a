"""One way of `roofline.ops.pace` as a call, and what its operands are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from roofline.device import Reach, Variant, rows_of
from roofline.ops.pace import UNITS
from roofline.ops.pace.way import few, sized

DEVICE = "cuda"
EACH = 1 << 25  # elements of a call

Make = Callable[[], Any]
Run = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Way:
    """One way, at one size of elements and one length of rows."""

    name: str
    call: str  # in words
    makes: tuple[Make, ...]  # of its operands
    run: Run
    elements: int
    row: int | None = None
    size: int | None = None  # B of an element where the way was taken at several
    kernels: int = 1  # that the call starts
    alone: bool = False  # with few blocks
    compile: Run | None = None  # makes the kernels of the same operands ready; None has nothing to

    @property
    def variant(self) -> Variant:
        """Which ceiling it is."""
        name = few(self.name) if self.alone else self.name
        name = name if self.size is None else sized(name, self.size)
        return Variant(
            reach=Reach.LIBRARY, way=name if self.row is None else rows_of(name, self.row)
        )

    def operands(self) -> tuple[Any, ...]:
        """One set of them."""
        return tuple(make() for make in self.makes)


def of(size: int, *shape: int) -> Make:
    """Random numbers of 2 B (bf16) or 4 B (fp32)."""
    import torch

    dtype = torch.bfloat16 if size == 2 else torch.float32
    return lambda: torch.randn(shape, device=DEVICE, dtype=dtype)


def picks(below: int, count: int) -> Make:
    """Random indices."""
    import torch

    return lambda: torch.randint(0, below, (count,), device=DEVICE)


def units() -> int:
    """Multiprocessors of the card."""
    import torch

    if not torch.cuda.is_available():
        return UNITS
    return int(torch.cuda.get_device_properties(0).multi_processor_count)
