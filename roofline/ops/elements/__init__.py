"""One result for each element: pointwise work, random numbers, fills, optimizer steps."""
