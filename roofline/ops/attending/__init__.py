"""Attention by each of its entry points, and layers that are fused around it."""
