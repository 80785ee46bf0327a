"""What the vector pipes can do: chains of arithmetic that never leave the registers."""

from collections.abc import Callable, Sequence

from roofline.bench.cpu.chosen import Chosen, sampled
from roofline.bench.cpu.crew import Crew, Load
from roofline.bench.cpu.kernels import Chain, Kernels
from roofline.bench.record import Found
from roofline.device import Reach, Variant


def chains(
    crew: Crew, kernels: Kernels, count: int, seconds: float, conditions: Sequence[str]
) -> list[Found]:
    """Register ceilings from `count` samples of `seconds`, of all threads of `crew` together."""
    chosen = [
        Chosen(
            resource,
            Variant(threads=len(crew), reach=Reach.REGISTER),
            Load(_alone(chain), chain.work * len(crew), seconds),
            method=f"{chain.what} in registers, kernels {kernels.code}",
            conditions=(f"instructions {kernels.instructions}", *conditions),
        )
        for resource, chain in kernels.chains.items()
    ]
    return sampled(crew, chosen, count)


def _alone(chain: Chain) -> Callable[[int, int], object]:
    return lambda _, passes: chain.run(passes)
