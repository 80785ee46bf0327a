"""Code that torch.compile made: how long it ran, and what its graph needs."""
