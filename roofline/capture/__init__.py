"""A running PyTorch program -> calls, times, modules, steps."""
