"""What a device did over a step, and what its host did meanwhile."""
