"""Findings: what a placement means, and what to do next."""
