"""Everything joined -> rows, signatures, steps and gaps of a run, and what is to be said of it."""
