"""Phases of a program by number, as the columns hold them."""

PHASES = ("forward", "backward", "optimizer", "other", "recomputed")
FORWARD, BACKWARD, OPTIMIZER, OTHER, RECOMPUTED = range(len(PHASES))
