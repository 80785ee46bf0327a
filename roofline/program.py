"""A run -> placed items, groups, coverage: what diagnosis and report read."""
