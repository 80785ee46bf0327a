"""What ran on a device, by PyTorch's profiler, on the recorder's clock."""
