"""Products of matrices, packed and scaled operands, factorisations, distances."""
