"""Hardware counters of an NVIDIA GPU, sampled while a program runs on it at its own speed.

bindings    CUPTI's C interface, as far as it is needed
session     one session of sampling: set up, started, stopped, read
sampler     the session of a recording; why there is none, where there is none
join        samples of the whole device -> what each thing on it moved (arrays, no device)
attach      that, as counters of kernels and of steps

Only this file may be imported without PyTorch.
"""

from roofline.errors import Missing


def driver() -> bool:
    """Whether there is an NVIDIA driver; nothing is started."""
    import ctypes

    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def require_driver() -> None:
    """Raise Missing, in a sentence, where no NVIDIA driver is that could be asked for counters."""
    if not driver():
        raise Missing(
            "counters are sampled on an NVIDIA GPU, and there is no NVIDIA driver here "
            "(libcuda.so.1); without them a run rests on formulas and times"
        )
