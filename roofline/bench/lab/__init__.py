"""Experiments that teach by measuring: the intensity dial, the matrix peak, starting work, banks.

Each is measured on a CPU or a GPU and answers one question that can be guessed before.
"""
