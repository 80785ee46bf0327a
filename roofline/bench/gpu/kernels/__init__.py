"""Device code: Triton modules, which import triton and are imported when used, and CUDA C++."""
