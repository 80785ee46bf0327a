"""What is on this machine, looked at without loading it."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from roofline.errors import RooflineError
from roofline.version import __version__

# extra -> (packages to import, what it is for)
EXTRAS = {
    "torch": (("torch", "numpy"), "capturing PyTorch programs"),
    "cpu": (("llvmlite",), "CPU ceilings without a C compiler"),
    "triton": (("triton",), "Triton kernels"),
    "nvidia": (("pynvml",), "clocks and power of NVIDIA GPUs"),
    "nsys": (("adbc_driver_sqlite",), "Nsight Systems databases, read six times as fast"),
    "plot": (("matplotlib",), "images of the chart"),
}
PROFILERS = ("ncu", "nsys", "rocprofv3", "perf")
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
NVIDIA = Path("/proc/driver/nvidia")
TORCH_SECONDS = 60  # an import that takes longer counts as broken

_PROBE = """
import json, torch
gpus = range(torch.cuda.device_count())
print(json.dumps({"cuda": torch.version.cuda, "hip": torch.version.hip,
                  "devices": ["cpu", *(torch.cuda.get_device_name(i) for i in gpus)]}))
"""


def start_torch() -> "subprocess.Popen[str] | None":
    """Begin to import torch in a process of its own: a broken one may end it in any way."""
    if find_spec("torch") is None:
        return None
    return subprocess.Popen(
        [sys.executable, "-c", _PROBE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def facts(probe: "subprocess.Popen[str] | None") -> dict[str, Any]:
    """Everything about this machine that decides what works, as a document."""
    from roofline.bench.cpu import host

    return {
        "roofline": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": {"id": host.device_id(), "model": host.cpu().model, "cores": len(host.cores())},
        "compiler": _compiler(),
        "ceilings": _ceilings(),
        "home": _home(),
        "counters": _counters(),
        "profilers": {name: shutil.which(name) for name in PROFILERS},
        "extras": [_extra(name) for name in EXTRAS],
        "torch": _torch(probe),
    }


def _compiler() -> dict[str, str] | None:
    from roofline.bench.cpu.native import COMPILERS

    for name in COMPILERS:
        if path := shutil.which(name):
            told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
            first = (told.stdout.splitlines() or [name])[0]
            return {"path": path, "version": first}
    return None


def _torch(probe: "subprocess.Popen[str] | None") -> dict[str, Any] | None:
    if probe is None:
        return None
    told: dict[str, Any] = {"cuda": None, "hip": None, "devices": [], "problem": None}
    told["version"] = metadata.version("torch")
    try:
        out, err = probe.communicate(timeout=TORCH_SECONDS)
        told |= json.loads(out)
    except subprocess.TimeoutExpired:
        probe.kill()
        told["problem"] = f"importing it takes more than {TORCH_SECONDS} s"
    except json.JSONDecodeError:
        last = (err.strip().splitlines() or ["no message"])[-1]
        told["problem"] = f"{last} (exit code {probe.returncode})"
    return told


def _ceilings() -> list[dict[str, Any]]:
    from roofline.devices import kept

    rows = []
    for device_id in kept.kept_ids():
        row: dict[str, Any] = {
            "device": device_id, "count": None, "age_s": None, "partial": None, "problem": None
        }  # fmt: skip
        try:
            path, device = next(kept.counting(device_id))
            row["count"] = len(device.ceilings)
            row["age_s"] = (datetime.now(UTC) - kept.taken_at(path)).total_seconds()
            row["partial"] = device.note.startswith(kept.PARTIAL)
        except RooflineError as error:
            row["problem"] = str(error)
        rows.append(row)
    return rows


def _home() -> dict[str, Any]:
    """Where results are kept, and whether that works; nothing is made there."""
    from roofline.devices import kept

    path = kept.home()
    there = next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())
    return {"path": str(path), "writable": there.is_dir() and os.access(there, os.W_OK)}


def _counters() -> dict[str, dict[str, Any]]:
    """Who may read hardware counters; a system that does not say is left out."""
    rows: dict[str, dict[str, Any]] = {}
    if (text := _read(PARANOID)) is not None:
        level = int(text)
        rows["cpu"] = {"perf_event_paranoid": level, "meaning": _perf(level)}
    if (text := _read(NVIDIA / "params")) is not None:
        admin_only = re.search(r"RmProfilingAdminOnly: *(\d)", text)
        rows["nvidia"] = {"admin_only": admin_only and admin_only[1] == "1"}
        rows["nvidia"]["meaning"] = {
            None: "the driver does not say who may read them",
            True: "for administrators only (RmProfilingAdminOnly: 1)",
            False: "open to every user",
        }[rows["nvidia"]["admin_only"]]
    return rows


def _perf(level: int) -> str:
    # Documentation/admin-guide/sysctl/kernel.rst of Linux; 3 and more is Debian's own.
    open_to = (
        "no user without CAP_PERFMON" if level > 2
        else "every user, for user code of own processes" if level == 2
        else "every user, for own processes" if level == 1
        else "every user"
    )  # fmt: skip
    return f"perf_event_paranoid is {level}: open to {open_to}"


def _extra(name: str) -> dict[str, Any]:
    packages, purpose = EXTRAS[name]
    missing = [package for package in packages if find_spec(package) is None]
    install = f"pip install 'roofline[{name}]'"
    return {"name": name, "purpose": purpose, "missing": missing, "install": install}


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None
