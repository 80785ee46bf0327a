"""A Python file run as `python FILE ARGS` would, whose recording outlives its end."""
