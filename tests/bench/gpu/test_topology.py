"""Which link joins two cards and what a link to the host is, from answers that are given."""

from types import SimpleNamespace

import pytest

from roofline.bench.cpu import host
from roofline.bench.gpu import topology
from roofline.bench.gpu.topology import Join, bus, joined, nodes, pcie
from roofline.device import NVLINK, PCIE

UP, DOWN, GPU, SWITCH = 1, 0, 0, 2
OK, NOT_SUPPORTED, UNKNOWN = 0, 5, 6  # of the cards' reaching each other over NVLink


def place(number):
    return SimpleNamespace(busId=f"00000000:{number:02X}:00.0")


class Driven:
    """A card on bus `number` whose links end at `ends`: bus numbers, None is a link that is down."""

    def __init__(self, number, ends=(), reached=None, kind=GPU, tells_ends=True):
        self.number, self.ends, self.reached, self.kind = number, ends, reached or {}, kind
        self.tells_ends, self.handle = tells_ends, number

    def ask(self, question, *about):
        if question == "nvmlDeviceGetPciInfo":
            return place(self.number)
        if question == "nvmlDeviceGetP2PStatus":
            assert about[1] == 2  # over NVLink
            return self.reached.get(about[0])
        [link] = about
        if link >= len(self.ends):
            return None
        end = self.ends[link]
        if question == "nvmlDeviceGetNvLinkState":
            return DOWN if end is None else UP
        if question == "nvmlDeviceGetNvLinkRemoteDeviceType":
            return self.kind
        assert question == "nvmlDeviceGetNvLinkRemotePciInfo"
        return place(end) if self.tells_ends else None


def test_of_four_cards_bridged_in_pairs_only_pairs_are_joined():
    """0 and 1 by four links, 2 and 3 too: from 0 to 2 it goes over PCIe, though links of 0 are up."""
    reached = {1: OK, 2: NOT_SUPPORTED, 3: NOT_SUPPORTED}
    card = Driven(0, [1, 1, 1, 1], reached)
    assert joined(card, Driven(1)) == Join(NVLINK, "4 NVLinks up between the cards")
    for other in (2, 3):
        assert joined(card, Driven(other)) == Join(PCIE, "no NVLink between the cards")


def test_where_links_end_is_enough():
    """A driver that answers nothing about the pair, but where each link ends."""
    card = Driven(0, [1, None, 1])
    assert joined(card, Driven(1)) == Join(NVLINK, "2 NVLinks up between the cards")
    assert joined(card, Driven(2)).link == PCIE
    assert joined(Driven(0, [1], {2: UNKNOWN}), Driven(2)).link == PCIE


def test_over_a_switch_no_link_ends_at_the_other_card():
    card = Driven(0, [0x40] * 18, {1: OK}, kind=SWITCH)
    assert joined(card, Driven(1)) == Join(NVLINK, "18 NVLinks up on this card")


@pytest.mark.parametrize(
    "card",
    [
        Driven(0),
        Driven(0, [0x40] * 18, kind=SWITCH),  # which may lead on to the other card
        Driven(0, [1, 1], tells_ends=False),
        Driven(0, [0x40], {1: UNKNOWN}, kind=None),
    ],
)
def test_where_nobody_tells_no_link_is_named(card):
    assert joined(card, Driven(1)) is None


def test_a_card_without_links_is_joined_over_pcie():
    assert joined(Driven(0, [None, None]), Driven(1)).link == PCIE
    assert joined(Driven(0, [], {1: NOT_SUPPORTED}), Driven(1)).link == PCIE


def test_a_place_is_spelt_as_linux_does():
    assert bus(place(0x18)) == "0000:18:00.0"
    assert bus(SimpleNamespace(busId=b"0000:AF:00.0\0")) == "0000:af:00.0"
    assert bus(None) == ""


class Link:
    """A driver that knows one link to the host, and where the card sits."""

    def __init__(self, **told):
        self.told = told

    def ask(self, question):
        return self.told.get(question.removeprefix("nvmlDeviceGet"))


def test_a_link_to_the_host_has_generation_and_width():
    told = {"CurrPcieLinkGeneration": 4, "MaxPcieLinkGeneration": 5, "CurrPcieLinkWidth": 8,
            "MaxPcieLinkWidth": 16}  # fmt: skip
    assert pcie(Link(**told)) == "PCIe generation 4 of 5, 8 lanes of 16"
    del told["CurrPcieLinkWidth"]
    assert pcie(Link(**told)) == "generation and width of the PCIe link not known"


@pytest.fixture
def system(monkeypatch, tmp_path):
    """A /sys with some NUMA nodes of two CPUs each, and a card on one of them."""

    def made(count, mine, card=None):
        folder = tmp_path / "devices/system/node"
        for node in range(count):
            (folder / f"node{node}").mkdir(parents=True)
            (folder / f"node{node}" / "cpulist").write_text(f"{2 * node}-{2 * node + 1}\n")
        if card is not None:
            device = tmp_path / "bus/pci/devices/0000:18:00.0"
            device.mkdir(parents=True)
            (device / "numa_node").write_text(f"{card}\n")
        monkeypatch.setattr(topology, "SYSTEM", tmp_path)
        monkeypatch.setattr(host, "_NODES", folder)
        monkeypatch.setattr(topology.os, "sched_getaffinity", lambda _pid: mine)
        return nodes(Link(PciInfo=place(0x18)))

    return made


@pytest.mark.parametrize(
    ("of", "told"),
    [
        ((2, {0, 1, 2, 3}, 1), "GPU on NUMA node 1, this process not bound to one of 2"),
        ((2, {2, 3}, 0), "GPU on NUMA node 0, this process bound to node 1 of 2"),
        ((3, {0, 5}, -1),
         "GPU on a NUMA node that is not told, this process bound to nodes 0, 2 of 3"),
        ((2, {0}), "GPU on a NUMA node that is not told, this process bound to node 0 of 2"),
        ((1, {0}, 0), "one NUMA node"),
        ((0, {0}, 0), "NUMA nodes not known"),
    ],
)  # fmt: skip
def test_where_host_memory_and_card_are(system, of, told):
    assert system(*of) == told
