"""What joins a card to another and to the host, as its driver and the system tell."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline.bench.cpu import host
from roofline.bench.gpu.card import Driver
from roofline.device import NVLINK, PCIE, Resource
from roofline.units import number_of

SYSTEM = Path("/sys")
# NVML's numbers; more links than any card has, those beyond its own are refused.
_LINKS, _UP, _TO_GPU, _OVER_NVLINK, _JOINED, _UNKNOWN = 36, 1, 0, 2, 0, 6


@dataclass(frozen=True, slots=True)
class Join:
    """The link between two cards, and what is known of it."""

    link: Resource
    about: str


def joined(here: Driver, there: Driver) -> Join | None:
    """What a copy between two cards crosses; None where nobody tells.

    That links of a card are up says nothing of where they lead: cards may be joined in pairs.
    """
    states = [here.ask("nvmlDeviceGetNvLinkState", i) for i in range(_LINKS)]
    up = [i for i, state in enumerate(states) if state == _UP]
    ends = [bus(here.ask("nvmlDeviceGetNvLinkRemotePciInfo", i)) for i in up]
    other = bus(there.ask("nvmlDeviceGetPciInfo"))
    if other and other in ends:
        return Join(NVLINK, f"{number_of(ends.count(other), 'NVLink')} up between the cards")
    told = here.ask("nvmlDeviceGetP2PStatus", there.handle, _OVER_NVLINK)
    if told == _JOINED:  # over a switch, the links of a card do not end at the other
        return Join(NVLINK, f"{number_of(len(up), 'NVLink')} up on this card")
    to_cards = [here.ask("nvmlDeviceGetNvLinkRemoteDeviceType", i) == _TO_GPU for i in up]
    elsewhere = all((other, *ends, *to_cards)) and any(state is not None for state in states)
    if told in (None, _UNKNOWN) and not elsewhere:
        return None
    return Join(PCIE, "no NVLink between the cards")


def bus(told: Any) -> str:
    """Where a card sits as Linux spells it: "0000:18:00.0"; "" where it was not told."""
    if told is None:
        return ""
    text = told.busId.decode() if isinstance(told.busId, bytes) else str(told.busId)
    return text.strip("\0").lower()[-12:]  # NVML writes eight digits of the domain


def pcie(driver: Driver) -> str:
    """Generation and width of a card's link now; one without traffic is slower."""
    generation, width = (
        [driver.ask(f"nvmlDeviceGet{which}PcieLink{what}") for which in ("Curr", "Max")]
        for what in ("Generation", "Width")
    )
    if None in (*generation, *width):
        return "generation and width of the PCIe link not known"
    return f"PCIe generation {generation[0]} of {generation[1]}, {width[0]} lanes of {width[1]}"


def nodes(driver: Driver) -> str:
    """NUMA nodes: the card's, and those that this process, which allocates, may run on."""
    there = sorted(int(p.name[4:]) for p in SYSTEM.glob("devices/system/node/node[0-9]*"))
    if len(there) == 1:
        return "one NUMA node"
    if not there:
        return "NUMA nodes not known"
    mine = list(host.nodes(os.sched_getaffinity(0)))
    bound = "not bound to one" if mine == there else f"bound to {_listed(mine)}"
    return f"GPU on {_node(driver)}, this process {bound} of {len(there)}"


def _node(driver: Driver) -> str:
    place = bus(driver.ask("nvmlDeviceGetPciInfo"))
    path = SYSTEM / "bus/pci/devices" / place / "numa_node"
    node = path.read_text().strip() if place and path.is_file() else "-1"
    return "a NUMA node that is not told" if node == "-1" else f"NUMA node {node}"


def _listed(numbers: list[int]) -> str:
    return ("node " if len(numbers) == 1 else "nodes ") + ", ".join(map(str, numbers))
