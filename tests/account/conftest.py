"""What pytest must not import where there is no Triton."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("triton") else ["triton_kernels.py"]
