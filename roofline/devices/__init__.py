"""Printed and measured ceilings, with their provenance."""
