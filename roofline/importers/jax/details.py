"""What the arguments of a JAX operation say: its work, its launch, its scope."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from roofline.device import DRAM
from roofline.importers import copies
from roofline.work import Count, Entry, Ledger, unknown

_DETAIL = re.compile(r"(\w+):([\w.,]+)")
XLA_BYTES = "bytes accessed, by XLA's cost model"
# Folders that paths of users begin with: where scopes go on with one, they go on with a path.
_FOLDERS = frozenset({"home", "Users", "mnt", "scratch", "tmp"})
_FILE = re.compile(r".*\.[A-Za-z]\w*(?::.*)?")
_MADE_UP = re.compile(r"jit\([^)]*\)|pjit|main")  # scopes that the compiler makes up


def nbytes(args: Mapping[str, Any], is_copy: bool) -> int | None:
    """Bytes copied, or accessed as XLA counts them."""
    if is_copy:
        details = dict(_DETAIL.findall(str(args.get("memcpy_details", ""))))
        value = number(details.get("size"))
    else:
        value = number(args.get("raw_bytes_accessed", args.get("bytes_accessed")))
    return None if value is None else round(value)


def ledger(name: str, size: int | None) -> Ledger:
    """The work of one operation of `size` bytes, as far as it is known."""
    if name.startswith("Memcpy"):
        return copies.ledger(name, size)
    if size is None:
        return unknown(name)
    return Ledger(
        Count.ALGORITHMIC,
        (Entry(DRAM, size, XLA_BYTES),),
        ("flop: XLA's count names no type",),
        (XLA_BYTES,),
    )


def launched(args: Mapping[str, Any]) -> dict[str, float]:
    """``regs:32 grid:264,1,1 block:1024,1,1 occ_pct:100`` under the names of a PyTorch trace."""
    details = dict(_DETAIL.findall(str(args.get("kernel_details", ""))))
    names = {"regs": "registers per thread", "grid": "grid", "block": "block",
             "occ_pct": "est. achieved occupancy %"}  # fmt: skip
    found = {}
    for short, name in names.items():
        sizes = [number(part) for part in details.get(short, "").split(",")]
        known = [size for size in sizes if size is not None]
        if known and len(known) == len(sizes):
            product = 1.0
            for size in known:
                product *= size
            found[name] = product
    shared = [number(details.get(kind)) for kind in ("static_shared", "dynamic_shared")]
    if any(part is not None for part in shared):
        found["shared memory"] = sum(part for part in shared if part is not None)
    return found


def scope(args: Mapping[str, Any], keep_private: bool) -> str:
    """The user's scopes: of ``jit(train)/layer1/dot_general`` only ``layer1``.

    Of a path among them its file is kept, or nothing where none is named.
    """
    path = next((p for k in ("tf_op", "name") if "/" in (p := str(args.get(k, "")))), "")
    return _scopes(path, keep_private)


@lru_cache(maxsize=4096)
def _scopes(path: str, keep_private: bool) -> str:
    parts = path.rstrip(":").split("/")[:-1]
    if not keep_private:
        parts = _without_folders(parts)
    return ".".join(part for part in parts if part and not _MADE_UP.fullmatch(part))


def _without_folders(parts: list[str]) -> list[str]:
    begins = next((at for at, part in enumerate(parts) if part in _FOLDERS), len(parts))
    files = (at for at in range(begins, len(parts)) if _FILE.fullmatch(parts[at]))
    return parts[:begins] + parts[next(files, len(parts)) :]


def number(value: Any) -> float | None:
    """A count that may be written as text; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < 1e18 else None
