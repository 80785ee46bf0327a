"""What this machine says about itself.  Hints for the search and text for provenance only."""

import json
import os
import platform
import re
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from roofline.device import L1, L2, L3, Resource

_LEVELS = {1: L1, 2: L2, 3: L3}
_CPUS = Path("/sys/devices/system/cpu")
_NODES = Path("/sys/devices/system/node")
_CPUINFO = Path("/proc/cpuinfo")
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/proc/self/cgroup")
_CGROUPS = Path("/sys/fs/cgroup")
_SCALE = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Cpu:
    """The processor, as the system names it."""

    vendor: str  # "AMD"
    model: str  # "AMD EPYC 9755 128-Core Processor"
    features: str  # instruction sets, blank separated; "" is not reported


@cache
def cpu() -> Cpu:
    """Vendor, model and instruction sets, from lscpu or else from the kernel."""
    try:
        told = subprocess.run(["lscpu", "-J"], capture_output=True, check=True, timeout=10).stdout
        rows = _flat(json.loads(told)["lscpu"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        rows = _kernel_rows(_read(_CPUINFO))
    vendor = rows.get("Vendor ID", "")
    vendor = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}.get(vendor, vendor)
    model = rows.get("Model name", "").strip("- ") or platform.machine()
    return Cpu(vendor, model, rows.get("Flags", ""))


def _kernel_rows(cpuinfo: str) -> dict[str, str]:
    """The first processor of /proc/cpuinfo, under lscpu's names; Arm's kernels tell no model."""
    pairs = (line.partition(":") for line in cpuinfo.partition("\n\n")[0].splitlines())
    told = {key.strip(): value.strip() for key, _, value in pairs}
    names = {"Vendor ID": "vendor_id", "Model name": "model name", "Flags": "flags"}
    return {name: told[key] for name, key in names.items() if key in told}


def _flat(rows: list[dict[str, object]]) -> dict[str, str]:
    """lscpu's rows by name; newer versions nest them."""
    table: dict[str, str] = {}
    for row in rows:
        table.setdefault(str(row["field"]).rstrip(":"), str(row.get("data") or ""))
        children = row.get("children")
        if isinstance(children, list):
            table = _flat(children) | table
    return table


@cache
def cores() -> tuple[int, ...]:
    """One CPU number for every core this process may run on, lowest first."""
    chosen: dict[tuple[str, str], int] = {}
    for number in sorted(os.sched_getaffinity(0)):
        topology = _CPUS / f"cpu{number}" / "topology"
        core = (_read(topology / "physical_package_id"), _read(topology / "core_id"))
        # Where the system does not tell, every CPU is a core of its own.
        chosen.setdefault(core if all(core) else ("", str(number)), number)
    return tuple(chosen.values())


def caches(cpus: Collection[int]) -> Mapping[Resource, int]:
    """Advertised data cache sizes [B] behind all of `cpus` together; levels not told are absent."""
    sizes: dict[Resource, dict[str, int]] = {}
    for number in cpus:
        for folder in (_CPUS / f"cpu{number}" / "cache").glob("index*"):
            level, size = _read(folder / "level"), _read(folder / "size")
            match = re.fullmatch(r"(\d+)([KMG])", size)
            known = level.isdecimal() and int(level) in _LEVELS
            if match and known and _read(folder / "type") != "Instruction":
                shared_by = _read(folder / "shared_cpu_list") or str(number)
                bytes_ = int(match[1]) * _SCALE[match[2]]
                sizes.setdefault(_LEVELS[int(level)], {})[shared_by] = bytes_
    return {level: sum(one.values()) for level, one in sizes.items()}


def free_memory() -> int | None:
    """Bytes this process may take without swapping or being killed; None where nothing tells."""
    match = re.search(r"MemAvailable:\s+(\d+) kB", _read(_MEMINFO))
    rooms = [int(match[1]) * 1024] if match else []
    for folder in _control_groups():
        most, taken = _read(folder / "memory.max"), _read(folder / "memory.current")
        if most.isdecimal() and taken.isdecimal():  # "max" is no limit
            rooms.append(max(0, int(most) - int(taken)))
    return min(rooms, default=None)


def _control_groups() -> list[Path]:
    """Folders of the control groups (version 2) this process is in, the innermost first."""
    match = re.search(r"^0::(/.*)$", _read(_CGROUP), flags=re.MULTILINE)
    inner = _CGROUPS / match[1].lstrip("/") if match else _CGROUPS
    return [inner, *(p for p in inner.parents if p.is_relative_to(_CGROUPS))]


def vectors(width: int) -> str:
    """The instruction set that vectors of `width` bytes belong to here: "AVX-512"."""
    features = cpu().features.split()
    if platform.machine() in ("x86_64", "i686"):
        of_32 = "AVX2" if "avx2" in features else "AVX"
        return {64: "AVX-512", 32: of_32}.get(width, "SSE2")
    if platform.machine() == "aarch64":
        return "SVE" if sve_bytes() == width and "sve" in features else "NEON"
    return f"{8 * width} bit vectors"


def nodes(cpus: Collection[int]) -> Mapping[int, tuple[int, ...]]:
    """The CPUs among `cpus` of every NUMA node that has any; one node 0 where nobody tells."""
    found: dict[int, tuple[int, ...]] = {}
    for folder in _NODES.glob("node[0-9]*"):
        there = _cpu_list(_read(folder / "cpulist"))
        if mine := tuple(cpu for cpu in cpus if cpu in there):
            found[int(folder.name.removeprefix("node"))] = mine
    return dict(sorted(found.items())) or {0: tuple(cpus)}


def _cpu_list(text: str) -> set[int]:
    """The kernel's way to write numbers: ``0-3,8,10-11``."""
    numbers: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def sve_bytes() -> int | None:
    """Length of a scalable vector register on arm64; None where there is none."""
    length = _read(Path("/proc/sys/abi/sve_default_vector_length"))
    return int(length) if length.isdecimal() else None


def device_id() -> str:
    """The name under which this CPU's ceilings are kept: ``cpu-amd-epyc-2c``."""
    model = cpu().model
    if not model.lower().startswith(cpu().vendor.lower()):
        model = f"{cpu().vendor} {model}"
    model = re.sub(r"\((R|TM|C)\)|\b(CPU|Processor|\d+-Core)\b|@.*", " ", model, flags=re.I)
    slug = "-".join(re.findall(r"[a-z0-9.]+", model.lower()))
    return f"cpu-{slug}-{len(cores())}c"


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
