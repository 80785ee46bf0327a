"""Measured ceilings of this machine: of its CPU in `cpu`, of its GPU in `gpu`."""
