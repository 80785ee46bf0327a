"""Which GPU the launches ran on; where there were several, the user's or the one most worked on."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from roofline.counters import seconds
from roofline.device import Device, Fact
from roofline.devices import resolve
from roofline.errors import NotFound
from roofline.importers.cells import Mark, number
from roofline.importers.chosen import Gpu, beside, of_several, way_to
from roofline.importers.format import Options
from roofline.importers.limits import identifier
from roofline.importers.ncu.pages import DEVICE_NAME, L2_CAPACITY, Launch
from roofline.importers.stated import stated
from roofline.provenance import Basis, Provenance
from roofline.runfile import Gap
from roofline.units import number_of

_GENERATION = re.compile(r"\d{1,3}\.\d{1,2}")


def of_one(
    found: Sequence[Launch], options: Options, mark: Mark, file: str
) -> tuple[Sequence[Launch], list[Gap], list[str]]:
    """The launches on one GPU, what the others did, doubts; BadInput where it is not in `file`.

    Of several it is the one that the user means or that a timeline is of, else the one with most
    kernel time.
    """
    gpu_of, doubts = _gpus(found)
    spent: dict[Gpu, float | None] = {}
    known: dict[Gpu, float] = {}
    count: dict[Gpu, int] = {}
    for launch in found:
        gpu = gpu_of(launch)
        took = seconds(launch.counters(mark, {})).value
        before = spent.get(gpu, 0.0)
        lasted = None if took is None else took * launch.invocations
        spent[gpu] = None if lasted is None or before is None else before + lasted
        known[gpu] = known.get(gpu, 0.0) + (lasted or 0.0)
        count[gpu] = count.get(gpu, 0) + launch.invocations
    gpus = sorted(known, key=lambda gpu: (-known[gpu], -count[gpu]))
    if options.beside is None:
        own = gpus[of_several(options.device, gpus, file)]
    else:
        at, doubt = beside(options.beside, options.device, gpus, file)
        own = gpus[at]
        doubts += [doubt] if doubt else []
    gaps = [
        Gap(name=_called(gpu, gpus), what=_left_out(count[gpu]), count=count[gpu])
        if options.beside is not None
        else Gap(
            name=_called(gpu, gpus),
            what=f"a run is of one device: what ran on this one is not in it{way_to(gpu, gpus)}",
            seconds=spent[gpu],
            count=count[gpu],
        )
        for gpu in known
        if gpu != own
    ]
    return [launch for launch in found if gpu_of(launch) == own], gaps, doubts


def _left_out(count: int) -> str:
    """Of what stands beside a timeline: the timeline itself says what ran on its other GPUs."""
    return (
        f"left out: {number_of(count, 'replayed launch')}; counters of one GPU alone stand beside "
        "the timeline, and these are of another"
    )


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
    number = repr(gpu.cell) if gpu.number is None and gpu.cell else gpu.number
    if number is None or (name and len(alike) == 1):
        return name or "a GPU without a number"
    return f"{name}, device {number}" if name else f"device {number}"


def _gpus(found: Iterable[Launch]) -> tuple[Callable[[Launch], Gpu], list[str]]:
    """Which GPU each launch ran on, and what was taken for granted.

    One that is told in part is the only one that it can be: what is not told of it may be anything,
    what is told is no other.
    """
    counts = Counter(map(_told, found))
    by_number: dict[str, list[_Told]] = {}
    for told in counts:
        by_number.setdefault(told[0], []).append(told)
    whole = {
        told: not any(
            told != other and _fits(told, other)
            for other in (by_number[told[0]] if told[0] else counts)
        )
        for told in counts
    }
    meant: dict[_Told, _Told] = {}
    for told in counts:
        like = [
            other
            for other in (by_number[told[0]] if told[0] else counts)
            if whole[other] and _fits(told, other)
        ]
        meant[told] = like[0] if len(like) == 1 else told
    doubts = [
        f"{number_of(count, 'launch')} without a device number, taken for launches on the only GPU "
        f"that they can be of, device {meant[told][0]}"
        for told, count in counts.items()
        if meant[told][0] != told[0]
    ]
    return lambda launch: _gpu(*meant[_told(launch)]), doubts


# A device's number or what stands in its place, its name, its compute capability; "" is not told.
_Told = tuple[str, str, str]


def _told(launch: Launch) -> _Told:
    number = identifier(launch.device)
    cell = launch.device.strip() if number is None else str(number)
    return cell, _name(launch), _generation(launch)


def _fits(told: _Told, other: _Told) -> bool:
    return all(part in ("", its) for part, its in zip(told, other, strict=True))


def _gpu(cell: str, name: str, generation: str) -> Gpu:
    number = identifier(cell)
    return Gpu(number, name, generation, "" if number is not None else cell)


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
