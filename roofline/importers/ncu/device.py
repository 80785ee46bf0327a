"""Which GPU the launches ran on; where there were several, the user's or the one most worked on."""

import re
from collections.abc import Callable, Iterable, Sequence

from roofline.counters import seconds
from roofline.device import Device, Fact
from roofline.devices import resolve
from roofline.errors import NotFound
from roofline.importers.cells import Mark, number
from roofline.importers.chosen import Gpu, of_several, way_to
from roofline.importers.limits import identifier
from roofline.importers.ncu.pages import DEVICE_NAME, L2_CAPACITY, Launch
from roofline.importers.stated import stated
from roofline.provenance import Basis, Provenance
from roofline.runfile import Gap

_GENERATION = re.compile(r"\d{1,3}\.\d{1,2}")
Kind = tuple[str, str]  # what the profiler calls a GPU, its compute capability; "" is not told


def of_one(
    found: Sequence[Launch], option: str | None, mark: Mark, file: str
) -> tuple[Sequence[Launch], list[Gap]]:
    """The launches on one GPU, and what the others did; BadInput where it is not in `file`.

    Of several it is the one that the user means, else the one that was at work for longest.
    """
    gpu_of = _gpus(found)
    there = list(dict.fromkeys(map(gpu_of, found)))
    if len(there) == 1:
        of_several(option, there, file)
        return found, []
    spent, count = dict.fromkeys(there, 0.0), dict.fromkeys(there, 0)
    for launch in found:
        gpu = gpu_of(launch)
        took = seconds(launch.counters(mark, {})).value or 0.0
        spent[gpu] += took * launch.invocations
        count[gpu] += launch.invocations
    gpus = sorted(there, key=lambda gpu: (-spent[gpu], -count[gpu]))
    own = gpus[of_several(option, gpus, file)]
    gaps = [
        Gap(
            name=_called(gpu, gpus),
            what=f"a run is of one device: what ran on this one is not in it{way_to(gpu, gpus)}",
            seconds=spent[gpu],
            count=count[gpu],
        )
        for gpu in there
        if gpu != own
    ]
    return [launch for launch in found if gpu_of(launch) == own], gaps


def together(found: Iterable[Launch]) -> str:
    """What to say where processes that each count their own GPUs may have meant several."""
    processes = {launch.process for launch in found} - {""}
    if len(processes) < 2:
        return ""
    return (
        f"launches of {len(processes)} processes stand together, as of one GPU: the export does "
        "not say whether each process counts the same GPUs (CUDA_VISIBLE_DEVICES)"
    )


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


def _called(gpu: Gpu, gpus: Iterable[Gpu]) -> str:
    """A GPU's name, with its number where others have the same one."""
    name = gpu.name or (f"a GPU of compute capability {gpu.generation}" if gpu.generation else "")
    alike = [each for each in gpus if (each.name, each.generation) == (gpu.name, gpu.generation)]
    if gpu.number is None or (name and len(alike) == 1):
        return name or "a GPU without a number"
    return f"{name}, device {gpu.number}" if name else f"device {gpu.number}"


def _gpus(found: Iterable[Launch]) -> Callable[[Launch], Gpu]:
    """Which GPU each launch ran on: one that is told in part is the only one like it."""
    kind_of = _kinds(found)
    numbers: dict[Kind, set[int | None]] = {}
    for launch in found:
        on = numbers.setdefault(kind_of(launch), set())
        on |= {_number(launch)} - {None}

    def gpu(launch: Launch) -> Gpu:
        kind = kind_of(launch)
        number = _number(launch)
        if number is None and len(numbers[kind]) == 1:
            (number,) = numbers[kind]
        return Gpu(number, *kind)

    return gpu


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


def _number(launch: Launch) -> int | None:
    return identifier(launch.device)


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
