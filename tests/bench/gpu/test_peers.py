"""Which link a copy between cards crosses, what is said of it, and where there is none."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from roofline.bench.gpu import peers  # noqa: E402
from roofline.bench.gpu.card import Card  # noqa: E402
from roofline.bench.gpu.neighbours import Neighbours  # noqa: E402
from roofline.bench.gpu.topology import Join  # noqa: E402
from roofline.device import NVLINK, PCIE  # noqa: E402

CARD = Card(index=0, name="Toy", units=4, l2=1, memory=1, capability=90, uuid="")
HERE = SimpleNamespace(index=0, why_not="")
SLOW = "clocks and power need nvidia-ml-py: pip install 'roofline[nvidia]'"
OVER_NVLINK, OVER_PCIE = Join(NVLINK, "4 NVLinks up between the cards"), Join(PCIE, "no NVLink")


class Recorder:
    """Keeps what it is told."""

    timer = SimpleNamespace(card=CARD, driver=HERE)

    def ceiling(self, link, _load, _method, about, variant, *, circumstances):
        return SimpleNamespace(
            resource=link, about=about, way=variant.way, circumstances=circumstances
        )


@pytest.fixture
def found(monkeypatch):
    """What `peers` yields where the other cards are joined to this one as `joins` says."""

    def measure(joins, reached, why_not=""):
        monkeypatch.setattr(torch.cuda, "can_device_access_peer", lambda *_: reached)
        monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
        monkeypatch.setattr(peers, "card", lambda index: index)
        monkeypatch.setattr(
            peers, "Driver", lambda index: SimpleNamespace(index=index, why_not=why_not)
        )
        monkeypatch.setattr(peers, "joined", lambda here, there: joins[here.index, there.index])
        monkeypatch.setattr(peers, "pcie", lambda driver: f"PCIe of {driver.index}")
        monkeypatch.setattr(peers, "neighbours", lambda driver: Neighbours(driver.index))
        array = torch.zeros(1 << 18)
        monkeypatch.setattr(
            peers, "_pair", lambda here, there, _quick: peers.Pair(here, there, *[array] * 4)
        )
        monkeypatch.setattr(peers, "_joined", lambda *_: None)
        return list(peers.peers(Recorder(), len(joins) + 1, quick=True))

    return measure


def test_cards_that_do_not_reach_each_other_are_said_to_be(found):
    [absent] = found({(0, 1): OVER_NVLINK}, reached=False)
    assert (absent.resource, str(absent.variant)) == (NVLINK, "with cuda:1")
    assert absent.why == "the cards do not reach each other directly"
    assert [a.resource for a in found({(0, 1): OVER_PCIE}, reached=False)] == [PCIE]


@pytest.mark.parametrize(
    ("why_not", "told"), [(SLOW, SLOW), ("", "the driver does not tell")]
)  # fmt: skip
def test_a_link_that_nobody_names_is_not_called_nvlink(found, why_not, told):
    [absent] = found({(0, 1): None}, reached=True, why_not=why_not)
    assert absent.why == f"which link joins the cards is not known ({told})"


def test_each_pair_is_filed_under_its_own_link(found):
    """Cards bridged in pairs: 0 and 1 over NVLink, 0 and 2 over PCIe."""
    told = found({(0, 1): OVER_NVLINK, (0, 2): OVER_PCIE}, reached=True)
    assert [one.resource for one in told] == 6 * [NVLINK] + 6 * [PCIE]
    assert [one.way for one in told[:6]] == [
        f"{way} cuda:1, {by}" for by in ("copy engine", "copy kernel")
        for way in ("to", "from", "both ways with")
    ]  # fmt: skip
    size = "1 MiB of normal random fp32 a direction"
    assert told[0].about == (size, "4 NVLinks up between the cards")
    assert told[6].about == (size, "no NVLink")
    # The second card is asked about its processes too.
    assert told[0].circumstances == ["1 other process on cuda:1"]
    assert told[6].circumstances == [
        "2 other processes on cuda:2", "cuda:0: PCIe of 0", "cuda:2: PCIe of 2"
    ]  # fmt: skip
