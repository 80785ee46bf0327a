"""Windows that slide over an input: convolution, pooling, resampling, padding, transforms."""
