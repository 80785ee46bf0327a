"""RF1xx: bound by a memory boundary."""
