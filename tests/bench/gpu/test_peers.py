"""Which link a copy between cards crosses, and where there is none."""

import pytest

torch = pytest.importorskip("torch")

from roofline.bench.gpu import peers  # noqa: E402
from roofline.bench.gpu.card import Card  # noqa: E402
from roofline.bench.gpu.record import Recorder  # noqa: E402
from roofline.bench.gpu.timing import Effort, Timer  # noqa: E402
from roofline.device import NVLINK, PCIE  # noqa: E402

CARD = Card(index=0, name="Toy", units=4, l2=1, memory=1, capability=90, uuid="")


class Driver:
    why_not = "clocks and power need nvidia-ml-py: pip install 'roofline[nvidia]'"

    def __init__(self, links):
        self.links = links

    def nvlinks(self):
        return self.links


@pytest.fixture
def found(monkeypatch):
    def measure(links, reached):
        monkeypatch.setattr(torch.cuda, "can_device_access_peer", lambda *_: reached)
        timer = Timer(CARD, Driver(links), Effort(count=20, sample_s=1e-3, pause_s=0.0))
        return list(peers.peers(Recorder(timer, ()), 2, quick=True))

    return measure


def test_cards_that_do_not_reach_each_other_are_said_to_be(found):
    [absent] = found(18, reached=False)
    assert (absent.resource, str(absent.variant)) == (NVLINK, "with cuda:1")
    assert absent.why == "the cards do not reach each other directly"


def test_without_nvlink_a_copy_crosses_pcie(found):
    assert [a.resource for a in found(0, reached=False)] == [PCIE]


def test_a_link_that_nobody_names_is_not_called_nvlink(found):
    [absent] = found(None, reached=True)
    assert absent.why.startswith("which link joins the cards is not known (clocks and power need")
