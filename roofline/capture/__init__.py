"""A running PyTorch program -> a run: calls, times, modules, steps.

mode        sees every operator below autograd, times it, folds equal calls
calls       a call -> the key it folds under, and the noun that is saved
book        the distinct calls, each accounted for once
columns     the events
modules     which module is running; which module a backward node came from
steps       where one repetition ends, and which repetitions are warm-up
waiting     how long other programs held the processors
compiled    code that torch.compile made: timed without a mode, counted from its graph
device      what ran on a CUDA device, and who launched it
sampling    what it moved: hardware counters, sampled while it ran
threads     work that the mode cannot see: counted, and named as a gap
calibrate   what the recorder itself costs
recording   all of these together, started and stopped
script      runs a Python file as `python FILE ARGS` would
imports     tells when a module is imported
patches     changes to such modules, undone together
frames      keeps torch.compile from compiling the recorder

Only this file may be imported without PyTorch: the others import it when they are.
"""

from typing import TYPE_CHECKING

from roofline.errors import Missing

if TYPE_CHECKING:
    from roofline.capture.recording import Recording
    from roofline.device import Device

INSTALL = "PyTorch is not installed; install it with: python -m pip install 'roofline[torch]'"


def profile(
    *,
    program: str = "",
    device: "Device | None" = None,
    warmup: int | None = None,
    steps: int | None = None,
    counters: bool = False,
    levels: bool = False,
) -> "Recording":
    """Record the PyTorch operators that run inside a ``with`` block.

    ``with profile() as run: ...`` records; ``run.step()`` ends a repetition; after the block
    ``run.result`` is the :class:`roofline.runfile.Run`.  `warmup` repetitions are set apart
    (default: one, where there are several), and after `steps` more the recording stops.  With
    `counters` an NVIDIA GPU's counters are sampled meanwhile, of the L2 as well with `levels`.
    """
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise Missing(INSTALL) from None
    from roofline.capture.recording import Recording
    from roofline.capture.sampling import require_driver
    from roofline.capture.sampling.sampler import Sampler

    if counters:
        require_driver()
    sampler = Sampler(levels=levels) if counters else None
    return Recording(program=program, device=device, warmup=warmup, steps=steps, sampler=sampler)
