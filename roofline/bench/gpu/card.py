"""Which GPU this is, and what its driver says of its state.

Torch names the card; clocks, power and throttle reasons come from NVML (nvidia-ml-py).  Without
it, and on cards of other makers, they are unknown and said to be.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from roofline.errors import Missing, NotFound

# NVML's bits, in nvidia-smi's words.  The lowest, an idle GPU, holds nothing back.
REASONS = {
    0x2: "applications clocks setting", 0x4: "sw power cap", 0x8: "hw slowdown",
    0x10: "sync boost", 0x20: "sw thermal slowdown", 0x40: "hw thermal slowdown",
    0x80: "hw power brake", 0x100: "display clock setting",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One GPU as torch describes it."""

    index: int
    name: str
    units: int  # multiprocessors or compute units
    l2: int  # B
    memory: int  # B
    capability: int | None  # 90 is compute capability 9.0; None where that means nothing (HIP)
    uuid: str  # "" is not told
    lanes: int = 32  # of a warp; a wavefront of AMD's data centre cards has 64
    arch: str = ""  # as HIP calls it: "gfx942"; "" is none

    @property
    def nvidia(self) -> bool:
        """Whether CUDA C++ runs on it."""
        return self.capability is not None

    @property
    def target(self) -> str:
        """What compilers call it; "a" for the instructions of one generation alone."""
        return f"{self.capability}a" if (self.capability or 0) >= 90 else f"{self.capability}"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One moment of the card; None is not reported."""

    clock_hz: float | None = None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    held_back: str = ""


def count() -> int:
    """How many GPUs torch can use; 0 without torch."""
    if find_spec("torch") is None:
        return 0
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def card(index: int) -> Card:
    """The GPU that torch calls ``cuda:index``."""
    if find_spec("torch") is None:
        raise Missing("measuring a GPU needs torch: pip install 'roofline[torch]'")
    there = count()
    if index >= there:
        names = ", ".join(f"cuda:{i}" for i in range(there)) or "no GPU that torch can use"
        raise NotFound(f"no device 'cuda:{index}'; there is {names}, and cpu")
    import torch

    told = torch.cuda.get_device_properties(index)
    hip = torch.version.hip is not None
    return Card(
        index=index,
        name=told.name,
        units=told.multi_processor_count,
        l2=int(getattr(told, "L2_cache_size", 0)),
        memory=told.total_memory,
        capability=None if hip else 10 * told.major + told.minor,
        uuid=str(getattr(told, "uuid", "")),
        lanes=int(getattr(told, "warp_size", 32)),
        arch=str(getattr(told, "gcnArchName", "")).split(":")[0] if hip else "",
    )


class Driver:
    """The driver's view of one card: NVML where it is there, silence where it is not."""

    def __init__(self, card: Card) -> None:
        self._nvml: Any = None
        self.handle: Any = None  # NVML's, of the card
        self.why_not = ""
        if not card.nvidia:
            self.why_not = "clocks and power are read on NVIDIA cards only"
        elif find_spec("pynvml") is None:
            self.why_not = "clocks and power need nvidia-ml-py: pip install 'roofline[nvidia]'"
        else:
            import pynvml

            try:
                pynvml.nvmlInit()
                self.handle = _handle(pynvml, card)
                self._nvml = pynvml
            except pynvml.NVMLError as error:
                self.why_not = f"the driver does not tell clocks and power: {error}"

    def state(self) -> State:
        """Clocks, power, temperature and what holds the clock back, now."""
        n, h = self._nvml, self.handle
        if n is None:
            return State()
        reasons = self._ask(n.nvmlDeviceGetCurrentClocksThrottleReasons, h)
        return State(
            clock_hz=_times(1e6, self._ask(n.nvmlDeviceGetClockInfo, h, n.NVML_CLOCK_SM)),
            memory_clock_hz=_times(1e6, self._ask(n.nvmlDeviceGetClockInfo, h, n.NVML_CLOCK_MEM)),
            power_w=_times(1e-3, self._ask(n.nvmlDeviceGetPowerUsage, h)),
            temperature_c=_times(
                1.0, self._ask(n.nvmlDeviceGetTemperature, h, n.NVML_TEMPERATURE_GPU)
            ),
            held_back=", ".join(text for bit, text in REASONS.items() if (reasons or 0) & bit),
        )

    def settings(self) -> dict[str, str]:
        """What stays the same over a measurement: driver, power cap, ECC, MIG, highest clock."""
        n, h = self._nvml, self.handle
        if n is None:
            return {}
        cap = self._ask(n.nvmlDeviceGetEnforcedPowerLimit, h)
        highest = self._ask(n.nvmlDeviceGetMaxClockInfo, h, n.NVML_CLOCK_SM)
        ecc = self._ask(n.nvmlDeviceGetEccMode, h)
        mig = self._ask(n.nvmlDeviceGetMigMode, h)
        told = {
            "driver": self._ask(n.nvmlSystemGetDriverVersion),
            "power cap": None if cap is None else f"{cap / 1e3:.0f} W",
            "highest clock": None if highest is None else f"{highest} MHz",
            "ECC": None if ecc is None else ("on" if ecc[0] else "off"),
            "MIG": None if mig is None else ("on" if mig[0] else "off"),
        }
        return {name: str(value) for name, value in told.items() if value is not None}

    def ask(self, question: str, *about: Any) -> Any:
        """NVML's answer to one of its questions about this card; None where nobody tells."""
        asked = getattr(self._nvml, question, None)  # older ones know fewer questions
        return None if asked is None else self._ask(asked, self.handle, *about)

    def _ask(self, question: Any, *about: Any) -> Any:
        """The answer, or None: cards differ in what they support."""
        with suppress(self._nvml.NVMLError):
            return question(*about)
        return None


def _handle(nvml: Any, card: Card) -> Any:
    # CUDA_VISIBLE_DEVICES renumbers what torch sees, so the number is the last resort.
    if card.uuid:
        name = card.uuid if card.uuid.startswith(("GPU-", "MIG-")) else f"GPU-{card.uuid}"
        with suppress(nvml.NVMLError):
            return nvml.nvmlDeviceGetHandleByUUID(name)
    return nvml.nvmlDeviceGetHandleByIndex(card.index)


def _times(scale: float, value: float | None) -> float | None:
    return None if value is None else value * scale


def versions() -> dict[str, str]:
    """The software between a program and the card."""
    import torch

    found = {"torch": str(torch.__version__)}
    if torch.version.cuda:
        found["CUDA"] = torch.version.cuda
    if torch.version.hip:
        found["HIP"] = torch.version.hip
    with suppress(metadata.PackageNotFoundError):
        found["triton"] = metadata.version("triton")
    return found


def fingerprint(card: Card) -> str:
    """Eight digits that tell two cards of one kind apart without naming either."""
    return hashlib.sha256(card.uuid.encode()).hexdigest()[:8] if card.uuid else ""


@contextmanager
def working_on(card: Card) -> Iterator[None]:
    """Make it torch's current device meanwhile."""
    import torch

    with torch.cuda.device(card.index):
        yield
