"""Measured ceilings of this machine's GPUs."""

from roofline.bench.gpu.card import count
from roofline.bench.gpu.ceilings import measure

__all__ = ["count", "measure"]
