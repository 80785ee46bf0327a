"""Operands of which only some elements are stored."""
