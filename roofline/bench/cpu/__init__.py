"""Measured ceilings of this machine's CPU."""

from roofline.bench.cpu.ceilings import Progress, Stopped, measure
from roofline.bench.cpu.host import device_id

__all__ = ["Progress", "Stopped", "device_id", "measure"]
