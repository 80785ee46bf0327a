"""Columns -> stretches of time that fit in memory, with times as whole nanoseconds."""
