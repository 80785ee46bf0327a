"""A run is of one GPU: which of those in a file it is, and how to have another.

``--device`` names what the GPU is, or as ``cuda:1`` says by its number which it is.  Of several the
run is of the one that the user means, else of the one with most kernel time.  Counters that
stand beside a timeline are of the timeline's GPU, by its number where both have one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from roofline.devices import resolve
from roofline.errors import BadInput, RooflineError
from roofline.importers.stated import another_maker, contradicts

_NUMBERED = re.compile(r"cuda:(\d{1,9})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as a file tells of it."""

    number: int | None  # as the profiler counts them; None is not told
    name: str = ""  # "" is not told
    generation: str = ""  # its compute capability, as ``9.0``; "" is not told
    cell: str = ""  # what a file has in the place of a number that is none


_DECIDED: ContextVar[list[Gpu] | None] = ContextVar("decided", default=None)


@contextmanager
def decided() -> Iterator[list[Gpu]]:
    """The GPUs that `of_several` decides for meanwhile, in order: a run keeps no number."""
    found: list[Gpu] = []
    before = _DECIDED.set(found)
    try:
        yield found
    finally:
        _DECIDED.reset(before)


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
    at = _of_several(option, gpus, file)
    decisions = _DECIDED.get()
    if decisions is not None and gpus:
        decisions.append(gpus[at])
    return at


def _of_several(option: str | None, gpus: Sequence[Gpu], file: str) -> int:
    number = numbered(option)
    if number is not None:
        if (at := _first(gpu.number == number for gpu in gpus)) is None:
            known = sorted({gpu.number for gpu in gpus if gpu.number is not None and _said(gpu)})
            there = ", ".join(f"cuda:{each}" for each in known)
            raise BadInput(
                f"nothing in {file} ran on cuda:{number}, which --device says; "
                f"there is {there or 'no GPU with a number'}"
            )
        return at
    if option is None or len(gpus) < 2:
        return 0
    return _first(_can_be(option, gpus)) or 0


def beside(timeline: Gpu, option: str | None, gpus: Sequence[Gpu], file: str) -> tuple[int, str]:
    """The place in `gpus` of `file`, the busiest first, of the one that is the timeline's.

    It is of the timeline's kind and has its number, else is the busiest of that kind; of several
    the second value then says that they are taken for the same, "" is that nothing speaks against.
    `option` is what the user says of the kind.
    """
    kinds = [True] * len(gpus) if option is None else [*_can_be(option, gpus)]
    alike = [
        at
        for at, (gpu, fits) in enumerate(zip(gpus, kinds, strict=True))
        if fits
        and (gpu.name == timeline.name or not (gpu.name and timeline.name))
        and (gpu.generation == timeline.generation or not (gpu.generation and timeline.generation))
    ] or [*range(len(gpus))]
    number = timeline.number
    if number is None:
        doubt = "the timeline does not number its GPU" if len(alike) > 1 else ""
    else:
        for at in alike:
            if gpus[at].number == number:
                return at, ""
        doubt = f"the timeline is of cuda:{number}"
    own = gpus[alike[0]]
    theirs = f"cuda:{own.number}" if own.number is not None else "a GPU without a number"
    return alike[0], doubt and (
        f"{doubt} and the counters of {file} are of {theirs}: taken for the same GPU, which "
        "CUDA_VISIBLE_DEVICES may number otherwise"
    )


def _can_be(option: str, gpus: Iterable[Gpu]) -> Iterator[bool]:
    """Of each GPU, whether it can be what the user names."""
    device = resolve(option)
    for gpu in gpus:
        yield not (
            contradicts(device, [gpu.name], [gpu.generation]) or another_maker(device, gpu.name)
        )


def _said(gpu: Gpu) -> bool:
    """Whether ``--device`` can say its number."""
    return gpu.number is not None and numbered(f"cuda:{gpu.number}") == gpu.number


def way_to(gpu: Gpu, gpus: Sequence[Gpu]) -> str:
    """What to say of a GPU that the run is not of: how to import it; "" where nothing tells it."""
    by_number = None if gpu.number is None else f"cuda:{gpu.number}"
    if by_number is not None and _means(by_number, gpu, gpus):
        return f"; --device {by_number} imports it instead"
    if gpu.name and _means(gpu.name, gpu, gpus):
        return f'; --device "{gpu.name}" imports it instead'
    return ""


def _means(option: str, gpu: Gpu, gpus: Sequence[Gpu]) -> bool:
    """Whether `option` is understood, and of `gpu` rather than of another."""
    try:
        return gpus[_of_several(option, gpus, "")] is gpu
    except RooflineError:
        return False


def _first(found: Iterable[bool]) -> int | None:
    return next((at for at, fits in enumerate(found) if fits), None)
