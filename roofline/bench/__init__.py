"""Measured ceilings of this machine, and timing that can be trusted."""
