"""How many operators PyTorch can start in a second: the CPU twin of launch overhead."""

from collections.abc import Sequence

from roofline.bench.cpu.chosen import Chosen
from roofline.bench.cpu.crew import Load
from roofline.device import DISPATCH, Variant


def dispatch(seconds: float, conditions: Sequence[str]) -> Chosen:
    """Eager operators a second, from samples of `seconds` of in-place adds of one element.

    The operator's own work is a nanosecond; Python's loop around it is inside, as it is in any
    eager program.
    """
    import torch

    value, one = torch.zeros(1), torch.ones(1)

    def run(_: int, passes: int) -> None:
        with torch.inference_mode():
            for _ in range(passes):
                value.add_(one)

    return Chosen(
        DISPATCH,
        Variant(threads=1),
        Load(run, 1, seconds),
        method="eager torch add_ of one element, one after the other",
        conditions=(*conditions, f"torch {torch.__version__}"),
    )
