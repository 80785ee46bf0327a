"""Which device the launches ran on; where there were several, the one most worked on."""

import re
from collections.abc import Callable, Iterable, Sequence

from roofline.counters import seconds
from roofline.device import Device, Fact
from roofline.devices import resolve
from roofline.errors import NotFound
from roofline.importers.cells import Mark, number
from roofline.importers.ncu.pages import DEVICE_NAME, L2_CAPACITY, Launch
from roofline.importers.stated import contradicts, stated
from roofline.provenance import Basis, Provenance
from roofline.runfile import Gap

_GENERATION = re.compile(r"\d{1,3}\.\d{1,2}")
Kind = tuple[str, str]  # what the profiler calls a GPU, its compute capability; "" is not told


def of_one(
    found: Sequence[Launch], option: str | None, mark: Mark
) -> tuple[Sequence[Launch], list[Gap]]:
    """The launches on one kind of GPU, and what the others did.

    Of several kinds it is the one that the user states, else the one that was at work for longest.
    """
    kind_of = _kinds(found)
    kinds = dict.fromkeys(map(kind_of, found))
    if len(kinds) == 1:
        return found, []
    spent: dict[Kind, float] = dict.fromkeys(kinds, 0.0)
    count = dict.fromkeys(kinds, 0)
    for launch in found:
        kind = kind_of(launch)
        spent[kind] += (seconds(launch.counters(mark, {})).value or 0.0) * launch.invocations
        count[kind] += launch.invocations
    fits = [k for k in kinds if option is None or not contradicts(resolve(option), k[:1], k[1:])]
    most = max(fits or kinds, key=lambda kind: (spent[kind], count[kind]))
    gaps = [
        Gap(
            name=kind[0] or f"a GPU of compute capability {kind[1]}",
            what="a run is of one device: what ran on this one is not in it",
            seconds=spent[kind],
            count=count[kind],
        )
        for kind in kinds
        if kind != most
    ]
    return [launch for launch in found if kind_of(launch) == most], gaps


def device_of(
    found: Sequence[Launch], option: str | None, mark: Mark, file: str
) -> tuple[Device | None, str]:
    """The stated device, else the recorded one with its known ceilings, else what is recorded.

    And what to say where there is none.  BadInput where the two contradict.
    """
    names, generations = _distinct(map(_name, found)), _distinct(map(_generation, found))
    if option is not None:
        return stated(option, file, names, generations), ""
    if not names:
        of = f", of compute capability {generations[0]}" if len(generations) == 1 else ""
        return None, f"the export does not name the GPU{of}; --device NAME does"
    try:
        return resolve(names[0]), ""
    except NotFound:
        return _bare(names[0], found, mark), ""


def _kinds(found: Iterable[Launch]) -> Callable[[Launch], Kind]:
    """What kind of GPU each launch ran on: one that is told in part is of the only one like it."""
    told = dict.fromkeys((_name(launch), _generation(launch)) for launch in found)
    named: dict[str, str] = {}
    for name, generation in told:
        if name:
            named[name] = named.get(name) or generation
    alone = {generation for name, generation in told if not name} - {"", *named.values()}
    known = [*named.items(), *(("", generation) for generation in sorted(alone))]
    meant = {}
    for name, generation in told:
        like = [kind for kind in known if name in ("", kind[0]) and generation in ("", kind[1])]
        meant[name, generation] = like[0] if len(like) == 1 else (name, generation)
    return lambda launch: meant[_name(launch), _generation(launch)]


def _name(launch: Launch) -> str:
    return launch.cells[DEVICE_NAME][0] if DEVICE_NAME in launch.cells else ""


def _generation(launch: Launch) -> str:
    text = launch.cc.replace(",", ".")
    return text if _GENERATION.fullmatch(text) else ""


def _distinct(found: Iterable[str]) -> list[str]:
    return [each for each in dict.fromkeys(found) if each]


_FACTS = {
    "device__attribute_multiprocessor_count": ("sm_count", ""),
    L2_CAPACITY: ("l2_capacity", "B"),
}


def _bare(name: str, found: Iterable[Launch], mark: Mark) -> Device:
    """A device of which only the profiler's attributes are known: no ceilings."""
    from datetime import date

    where = Provenance(
        basis=Basis.COUNTER, source="Nsight Compute device attributes", as_of=date.today()
    )
    cells = next(launch.cells for launch in found if DEVICE_NAME in launch.cells)
    facts = [
        Fact(name=fact, value=value, unit=unit, provenance=where)
        for attribute, (fact, unit) in _FACTS.items()
        if attribute in cells and (value := number(cells[attribute][0], mark)) is not None
    ]
    identity = "-".join(name.lower().split())
    return Device(id=identity, name=name, kind="gpu", ceilings=(), facts=tuple(facts))
