"""What a device allows: resources, and the ceilings on each."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from roofline.errors import BadInput, NotFound, near
from roofline.provenance import Basis, Provenance
from roofline.units import number_of

Unit = Literal["flop", "op", "B", "launch", "element"]


@dataclass(frozen=True, slots=True, order=True)
class Resource:
    """Anything used up at a finite rate: a pipe, a memory boundary, a link, the launch path."""

    name: str
    unit: Unit

    @property
    def is_pipe(self) -> bool:
        """Whether this does arithmetic."""
        return self.unit in ("flop", "op")

    @property
    def is_boundary(self) -> bool:
        """Whether bytes cross it."""
        return self.unit == "B"


# The closed table.  Accumulate types, dense and sparse, tf32 and fp32 are different pipes.
VECTOR_FP64 = Resource("vector-fp64", "flop")
VECTOR_FP32 = Resource("vector-fp32", "flop")
VECTOR_FP16 = Resource("vector-fp16", "flop")  # packed arithmetic on two halves
VECTOR_BF16 = Resource("vector-bf16", "flop")
VECTOR_INT32 = Resource("vector-int32", "op")
SFU = Resource("sfu", "flop")  # one transcendental result is one flop here
TENSOR_FP64 = Resource("tensor-fp64", "flop")
TENSOR_TF32 = Resource("tensor-tf32", "flop")
TENSOR_FP16 = Resource("tensor-fp16", "flop")  # accumulates in fp32
TENSOR_FP16_ACC16 = Resource("tensor-fp16-acc16", "flop")
TENSOR_BF16 = Resource("tensor-bf16", "flop")
TENSOR_FP8 = Resource("tensor-fp8", "flop")
TENSOR_FP8_ACC16 = Resource("tensor-fp8-acc16", "flop")
TENSOR_FP4 = Resource("tensor-fp4", "flop")
TENSOR_INT8 = Resource("tensor-int8", "op")
TENSOR_INT4 = Resource("tensor-int4", "op")
TENSOR_FP16_SPARSE = Resource("tensor-fp16-sparse", "flop")  # 2:4; the zeros count as work
TENSOR_BF16_SPARSE = Resource("tensor-bf16-sparse", "flop")
TENSOR_FP8_SPARSE = Resource("tensor-fp8-sparse", "flop")
TENSOR_INT8_SPARSE = Resource("tensor-int8-sparse", "op")

DRAM = Resource("dram", "B")
L3 = Resource("l3", "B")
L2 = Resource("l2", "B")
L1 = Resource("l1", "B")
SHARED = Resource("shared", "B")
PCIE = Resource("pcie", "B")
NVLINK = Resource("nvlink", "B")
NETWORK = Resource("network", "B")

LAUNCH = Resource("launch", "launch")  # device kernels started
DISPATCH = Resource("dispatch", "launch")  # operators dispatched on the host
# Elements that a library's own kernels pass over, where something other than memory bounds them.
ELEMENTS = Resource("elements", "element")
SMALL_STREAM = "small stream"  # the way of LAUNCH that a kernel takes before its bytes
FOLLOWING = "small stream, following"  # the same right after another kernel of its call

PIPES = (
    VECTOR_FP64, VECTOR_FP32, VECTOR_FP16, VECTOR_BF16, VECTOR_INT32, SFU,
    TENSOR_FP64, TENSOR_TF32, TENSOR_FP16, TENSOR_FP16_ACC16, TENSOR_BF16,
    TENSOR_FP8, TENSOR_FP8_ACC16, TENSOR_FP4, TENSOR_INT8, TENSOR_INT4,
    TENSOR_FP16_SPARSE, TENSOR_BF16_SPARSE, TENSOR_FP8_SPARSE, TENSOR_INT8_SPARSE,
)  # fmt: skip
HIERARCHY = (L1, L2, L3, DRAM)  # innermost first: bytes of a smaller footprint stop further in
BOUNDARIES = (*HIERARCHY, SHARED, PCIE, NVLINK, NETWORK)
RESOURCES: Mapping[str, Resource] = MappingProxyType(
    {r.name: r for r in (*PIPES, *BOUNDARIES, LAUNCH, DISPATCH, ELEMENTS)}
)


def resource(name: str) -> Resource:
    """Look up a resource by its name in the table above."""
    if name not in RESOURCES:
        close = near(name, RESOURCES) or list(RESOURCES)
        raise NotFound(f"no resource {name!r}; there is {', '.join(close)}")
    return RESOURCES[name]


class Reach(StrEnum):
    """Who can come so far: a library call on real data, or a loop that only touches registers."""

    LIBRARY = "library"
    REGISTER = "register"


READ_SHARE = MappingProxyType(
    {"read": 1.0, "triad": 2 / 3, "copy": 0.5, "update": 0.5, "write": 0.0}
)
UPDATE = "update"  # writes where it read; all others write to lines that were not read


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """The circumstances one ceiling belongs to; None is "not distinguished"."""

    access: str | None = None  # a key of READ_SHARE: the mix of reads and writes
    threads: int | None = None  # CPU threads that worked together
    sustained: bool = False  # after seconds under load; False is the first moments (burst)
    reach: Reach | None = None
    node: int | None = None  # NUMA node of these threads and their memory; None is all together
    way: str | None = None  # one of several ways to do it: "h2d, pinned", "graph", "without FMA"

    def __post_init__(self) -> None:
        if self.access is not None and self.access not in READ_SHARE:
            raise NotFound(f"no access mix {self.access!r}; there is {', '.join(READ_SHARE)}")

    def __str__(self) -> str:
        threads = self.threads and number_of(self.threads, "thread")
        sustained = "sustained" if self.sustained else None
        node = None if self.node is None else f"NUMA node {self.node}"
        parts = (self.access, threads, node, self.reach, self.way, sustained)
        return ", ".join(str(part) for part in parts if part)


PLAIN = Variant()


def rows_of(way: str, row: int) -> str:
    """The way of a library's pace at one length of rows."""
    return f"{way}, rows of {row}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The most of one resource that one device can use in a second."""

    resource: Resource
    rate: float  # resource.unit per second
    provenance: Provenance
    variant: Variant = PLAIN
    capacity: int | None = None  # B held behind this boundary, where that was measured or printed
    clock_hz: float | None = None  # of the compute clock meanwhile; None is not sampled

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise BadInput(
                f"ceiling on {self.resource.name!r} must be a positive finite number of "
                f"{self.resource.unit}/s; got {self.rate!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How a device fared while one ceiling was measured, a row a moment; columns as long as at_s.

    None in a column is not reported.
    """

    resource: Resource
    variant: Variant
    at_s: tuple[float, ...]  # since the load began
    clock_hz: tuple[float | None, ...]
    memory_clock_hz: tuple[float | None, ...]
    power_w: tuple[float | None, ...]
    temperature_c: tuple[float | None, ...]
    held_back: tuple[str, ...]  # why the clock was held back, in the driver's words; "" is not


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A property that is not a rate: a capacity, a count, a clock, a limit."""

    name: str  # "sm_count", "l2_capacity", "boost_clock", "shared_per_block_max"
    value: float | str
    unit: str  # "B", "Hz", "", ...
    provenance: Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """A pipe this device lacks, the pipe that does its work instead, and why that is so."""

    lacks: Resource
    uses: Resource
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device and everything known about it."""

    id: str  # "nvidia-h100-sxm5-80gb"; the name of its file or folder
    name: str  # as its maker writes it
    kind: Literal["cpu", "gpu"]
    ceilings: tuple[Ceiling, ...]
    facts: tuple[Fact, ...] = ()
    mapped: tuple[Mapped, ...] = ()
    aliases: tuple[str, ...] = ()
    note: str = ""
    traces: tuple[Trace, ...] = ()

    def fact(self, name: str) -> Fact | None:
        """The fact of that name, or None when nobody stated it."""
        return next((fact for fact in self.facts if fact.name == name), None)

    def roof(self, *bases: Basis, threads: int | None = None) -> "Roof":
        """The ceilings in force together, of the stated bases only (at least one).

        `threads` picks the ceilings measured with that many CPU threads; where a resource was
        measured with other counts only, the nearest smaller one, else the nearest, is taken.
        """
        if not bases:
            raise BadInput(f"{self.name}: a roof needs at least one stated basis")
        chosen = [
            c
            for c in self.ceilings
            if c.provenance.basis in bases and not c.variant.sustained and c.variant.node is None
        ]
        return Roof(
            name=self.name,
            kind=self.kind,
            ceilings=tuple(_with_threads(chosen, threads)),
            mapped=MappingProxyType({m.lacks: m for m in self.mapped}),
            facts=self.facts,
        )

    def in_force(self, threads: int | None = None) -> "Roof":
        """The roof to use when nobody asked for a basis: measured alone, else printed and derived.

        Printed and derived ceilings complete each other; measured ones stand alone, since a gap
        filled from a datasheet would look like a measurement.
        """
        bases = self.bases()
        chosen = (Basis.MEASURED,) if Basis.MEASURED in bases or not bases else bases
        return self.roof(*chosen, threads=threads)

    def bases(self) -> tuple[Basis, ...]:
        """The bases its ceilings come from, firmest first."""
        present = {ceiling.provenance.basis for ceiling in self.ceilings}
        return tuple(basis for basis in Basis if basis in present)


def _with_threads(ceilings: list[Ceiling], threads: int | None) -> list[Ceiling]:
    by_resource: dict[Resource, list[Ceiling]] = {}
    for ceiling in ceilings:
        by_resource.setdefault(ceiling.resource, []).append(ceiling)
    kept: list[Ceiling] = []
    for group in by_resource.values():
        counts = {c.variant.threads for c in group if c.variant.threads is not None}
        if not counts:
            kept += group
            continue
        wanted = max(counts) if threads is None else threads
        best = max((n for n in counts if n <= wanted), default=min(counts))
        kept += [c for c in group if c.variant.threads in (best, None)]
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """The ceilings in force together.  Choosing among variants happens here and is visible."""

    name: str
    kind: Literal["cpu", "gpu"]
    ceilings: tuple[Ceiling, ...]
    mapped: Mapping[Resource, Mapped] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()

    def ceiling(
        self,
        wanted: Resource,
        read_share: float | None = None,
        *,
        in_place: bool = False,
        function: str | None = None,
    ) -> Ceiling | None:
        """The ceiling on `wanted` for work whose bytes are `read_share` reads; None is unknown.

        Among variants: of work that only writes where it reads (`in_place`) those that do likewise,
        where there are any; the nearest read share (all-read when none is stated), then the plain
        way, then the library's reach, else what was measured first.  Of special functions the
        `function` itself; where it was not measured, or none is named, the fastest of those that
        were: another's rate would be no upper bound.  A mixture of bases is refused: it would look
        like one roof and be two.
        """
        group = [c for c in self.ceilings if c.resource == wanted]
        if not group and wanted in self.mapped:
            return self.ceiling(
                self.mapped[wanted].uses, read_share, in_place=in_place, function=function
            )
        if not group:
            return None
        if len({c.provenance.basis for c in group}) > 1:
            raise BadInput(f"{self.name}: two bases for {wanted.name!r}; ask for one basis")
        if wanted == SFU:
            own = [c for c in group if function is not None and c.variant.way == function]
            return max(own or group, key=lambda c: c.rate)
        share = 1.0 if read_share is None else read_share
        return min(
            _writing(group, in_place),
            key=lambda c: (
                _distance(c, share),
                c.variant.way is not None,
                c.variant.reach is Reach.REGISTER,
            ),
        )

    def highest(self, wanted: Resource) -> float | None:
        """The highest rate known for `wanted`, of any access mix and reach; None is unknown."""
        return max((c.rate for c in self.ceilings if c.resource == wanted), default=None)

    def innermost(self, footprint: int) -> Resource:
        """The innermost boundary with a known rate and capacity that holds `footprint` bytes."""
        for boundary in HIERARCHY[:-1]:
            held = [c.capacity for c in self.ceilings if c.resource == boundary and c.capacity]
            if held and footprint <= max(held):
                return boundary
        return DRAM

    @property
    def bases(self) -> tuple[Basis, ...]:
        """The bases of its ceilings, firmest first."""
        present = {ceiling.provenance.basis for ceiling in self.ceilings}
        return tuple(basis for basis in Basis if basis in present)


def _writing(group: list[Ceiling], in_place: bool) -> list[Ceiling]:
    """Those that write where they read, or those that write elsewhere; all when there are none."""
    updates = [c for c in group if c.variant.access == UPDATE]
    others = [c for c in group if c.variant.access != UPDATE]
    if in_place and updates:
        return [*updates, *(c for c in others if c.variant.access == "read")]
    return others or updates


def _distance(ceiling: Ceiling, read_share: float) -> float:
    access = ceiling.variant.access
    return 0.0 if access is None else abs(READ_SHARE[access] - read_share)
