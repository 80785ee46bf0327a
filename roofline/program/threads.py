"""Ceilings of another number of threads than the run worked with: used, and said."""

from collections.abc import Iterable

from roofline.program.item import Part
from roofline.runfile import Gap
from roofline.units import number_of


def other_threads(parts: Iterable[Part], threads: int | None) -> tuple[Gap, ...]:
    """What was placed under ceilings that were not measured with `threads`, by their own number.

    None is a run that does not say how many threads it had: then nothing can differ.
    """
    used: dict[int, set[str]] = {}
    for part in parts:
        for bound in part.once.bounds:
            of = bound.ceiling.variant.threads
            if threads is not None and of is not None and of != threads:
                used.setdefault(of, set()).add(bound.demanded.name)
    return tuple(
        Gap(
            name=", ".join(sorted(names)),
            what=(
                f"no ceiling of {number_of(threads or 0, 'thread')} was measured; that of "
                f"{number_of(of, 'thread')} is used"
            ),
        )
        for of, names in sorted(used.items())
    )
