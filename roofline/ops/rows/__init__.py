"""Many elements to one, or a row at a time: reductions, norms, softmax, sorting, losses."""
