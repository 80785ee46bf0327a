"""Recorded texts -> calls and kernels, each distinct one accounted for once."""
