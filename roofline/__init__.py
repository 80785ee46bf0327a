"""Rooflines: what a device allows, what work needs, what was measured, and what to do next."""

__version__ = "0.1.0"
