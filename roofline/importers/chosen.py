"""A run is of one GPU: which of those in a file it is, and how to have another.

``--device`` names what the GPU is, or as ``cuda:1`` says by its number which it is.  Of several the
run is of the one that the user means, else of the one that was at work for longest.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from roofline.devices import resolve
from roofline.errors import BadInput
from roofline.importers.stated import another_maker, contradicts

_NUMBERED = re.compile(r"cuda:(\d{1,9})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as a file tells of it."""

    number: int | None  # as the profiler counts them; None is not told
    name: str = ""  # "" is not told
    generation: str = ""  # its compute capability, as ``9.0``; "" is not told


def numbered(option: str | None) -> int | None:
    """The number in ``cuda:1``; None for a name.

    >>> numbered("cuda:1"), numbered("h100-sxm"), numbered(None)
    (1, None, None)
    """
    match = _NUMBERED.fullmatch(option.strip()) if option is not None else None
    return None if match is None else int(match[1])


def named(option: str | None) -> str | None:
    """What ``--device`` says of the kind of the GPU; None where it says only which it is."""
    return None if numbered(option) is not None else option


def of_several(option: str | None, gpus: Sequence[Gpu], file: str) -> int:
    """The place in `gpus`, the busiest first, of the one that the run is of.

    BadInput where none of them has the number that the user says.
    """
    number = numbered(option)
    if number is not None:
        if (at := _first(gpu.number == number for gpu in gpus)) is None:
            known = sorted({gpu.number for gpu in gpus if gpu.number is not None})
            there = ", ".join(f"cuda:{each}" for each in known)
            raise BadInput(
                f"nothing in {file} ran on cuda:{number}, which --device says; "
                f"there is {there or 'no GPU with a number'}"
            )
        return at
    if option is None or len(gpus) < 2:
        return 0
    device = resolve(option)
    fits = _first(
        not (contradicts(device, [gpu.name], [gpu.generation]) or another_maker(device, gpu.name))
        for gpu in gpus
    )
    return fits or 0


def way_to(gpu: Gpu, gpus: Iterable[Gpu]) -> str:
    """What to say of a GPU that the run is not of: how to import it; "" where nothing tells it."""
    others = [other for other in gpus if other is not gpu]
    if gpu.number is not None and all(other.number != gpu.number for other in others):
        return f"; --device cuda:{gpu.number} imports it instead"
    if gpu.name and all(other.name != gpu.name for other in others):
        return f'; --device "{gpu.name}" imports it instead'
    return ""


def _first(found: Iterable[bool]) -> int | None:
    return next((at for at, fits in enumerate(found) if fits), None)
