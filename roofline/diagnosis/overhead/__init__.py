"""RF3xx: time that does not follow the work."""
