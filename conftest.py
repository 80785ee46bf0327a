"""What pytest must not import: modules that hold Triton kernels, where there is no Triton."""

from importlib.util import find_spec

collect_ignore = (
    []
    if find_spec("triton")
    else [f"roofline/bench/gpu/kernels/{name}.py" for name in ("streams", "loops", "rows")]
)
