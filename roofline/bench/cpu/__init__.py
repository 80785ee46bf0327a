"""Measured ceilings of this machine's CPU."""

from roofline.bench.cpu.host import device_id
from roofline.bench.cpu.measure import Progress, Stopped, measure

__all__ = ["Progress", "Stopped", "device_id", "measure"]
