"""Printed ceilings: one TOML file a device under data/, every number with its source.

A file states sources, confidence and date once; a number that came another way says so beside
itself.  ``sources.toml`` spells out the documents, ``names.toml`` what else each device is called.
"""

from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeVar

import msgspec

from roofline.device import Ceiling, Device, Fact, Mapped, resource
from roofline.errors import BadInput, RooflineError
from roofline.provenance import Basis, Provenance
from roofline.units import parse

HERE = Path(__file__).parent
DATA = HERE / "data"

_Letter = Literal["A", "B", "C"]
_T = TypeVar("_T")


# Structs, not dataclasses, because only a Struct can refuse a key that it does not know: a
# misspelt "confidance" must not fall back to the file's own letter in silence.
class _Number(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    conditions: str = ""
    basis: Literal["datasheet", "derived"] = "datasheet"
    formula: str = ""  # of a derived number
    sources: tuple[str, ...] = ()  # keys of sources.toml; empty is the file's own
    confidence: _Letter | None = None  # None is the file's own


class _Ceiling(_Number, forbid_unknown_fields=True, kw_only=True):
    resource: str
    rate: str


class _Fact(_Number, forbid_unknown_fields=True, kw_only=True):
    name: str
    value: float | str
    unit: Literal["", "B", "B/s", "Hz"] = ""


class _Mapped(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    lacks: str
    uses: str
    why: str


class _File(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    name: str
    kind: Literal["cpu", "gpu"]
    sources: tuple[str, ...]
    confidence: _Letter
    as_of: date
    ceilings: tuple[_Ceiling, ...]
    facts: tuple[_Fact, ...] = ()
    mapped: tuple[_Mapped, ...] = ()
    note: str = ""


class _Source(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    title: str
    address: str = ""
    third_party: bool = False

    def __str__(self) -> str:
        title = f"{self.title} (third party)" if self.third_party else self.title
        return f"{title}, {self.address}" if self.address else title


@cache
def known() -> tuple[str, ...]:
    """The ids of the devices that come with the package, in order."""
    return tuple(sorted(path.stem for path in DATA.glob("*.toml")))


@cache
def aliases() -> MappingProxyType[str, tuple[str, ...]]:
    """What each device is called beside its id."""
    return MappingProxyType(_decode(HERE / "names.toml", dict[str, tuple[str, ...]]))


def load(device_id: str) -> Device:
    """Read one device; `device_id` is one of `known()`.

    A file that is not as it should be raises BadInput with the file and the key at fault.
    """
    path = DATA / f"{device_id}.toml"
    file = _decode(path, _File)
    return Device(
        id=device_id,
        name=file.name,
        kind=file.kind,
        ceilings=tuple(_ceiling(path, file, i, row) for i, row in enumerate(file.ceilings)),
        facts=tuple(_fact(path, file, i, row) for i, row in enumerate(file.facts)),
        mapped=tuple(_mapped(path, i, row) for i, row in enumerate(file.mapped)),
        aliases=aliases().get(device_id, ()),
        note=file.note,
    )


def _ceiling(path: Path, file: _File, index: int, row: _Ceiling) -> Ceiling:
    try:
        wanted = resource(row.resource)
        rate = parse(row.rate, f"{wanted.unit}/s")
        return Ceiling(resource=wanted, rate=rate, provenance=_provenance(file, row))
    except RooflineError as error:
        raise _at(path, f"ceilings[{index}]", error) from None


def _fact(path: Path, file: _File, index: int, row: _Fact) -> Fact:
    try:
        value = row.value
        if row.unit:
            value = parse(str(value), row.unit)
        return Fact(name=row.name, value=value, unit=row.unit, provenance=_provenance(file, row))
    except RooflineError as error:
        raise _at(path, f"facts[{index}] {row.name}", error) from None


def _mapped(path: Path, index: int, row: _Mapped) -> Mapped:
    try:
        return Mapped(lacks=resource(row.lacks), uses=resource(row.uses), why=row.why)
    except RooflineError as error:
        raise _at(path, f"mapped[{index}]", error) from None


def _provenance(file: _File, row: _Number) -> Provenance:
    if (row.basis == "derived") != bool(row.formula):
        raise BadInput("a derived number needs its formula, and a printed one has none")
    documents = "; ".join(str(_source(key)) for key in row.sources or file.sources)
    return Provenance(
        basis=Basis(row.basis),
        source=f"{row.formula}, from {documents}" if row.formula else documents,
        as_of=file.as_of,
        conditions=row.conditions,
        confidence=row.confidence or file.confidence,
    )


def _source(key: str) -> _Source:
    table = _sources()
    if key not in table:
        raise BadInput(f"no source {key!r}; there is {', '.join(table)}")
    return table[key]


@cache
def _sources() -> dict[str, _Source]:
    return _decode(HERE / "sources.toml", dict[str, _Source])


def _decode(path: Path, form: type[_T]) -> _T:
    try:
        return msgspec.toml.decode(path.read_bytes(), type=form)
    except msgspec.DecodeError as error:
        raise BadInput(f"{path.name}: {error}") from None


def _at(path: Path, key: str, error: RooflineError) -> BadInput:
    return BadInput(f"{path.name}: {key}: {error}")
