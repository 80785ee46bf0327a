"""Nobody, so many others, or not known: three answers about who else uses a card."""

import os
from types import SimpleNamespace

import pytest

from roofline.bench.gpu import card as cards
from roofline.bench.gpu.card import Card, Driver
from roofline.bench.gpu.neighbours import NOBODY, Neighbours, Watch, neighbours

CARD = Card(index=0, name="Toy", units=4, l2=1, memory=1, capability=90, uuid="")


class Driven:
    """A driver that lists these processes; None is one that does not answer."""

    def __init__(self, pids, why_not="", busy=None):
        self.pids, self.why_not, self.busy = pids, why_not, busy

    def ask(self, question, *_about):
        if question == "nvmlDeviceGetUtilizationRates":
            return None if self.busy is None else SimpleNamespace(gpu=self.busy)
        assert question == "nvmlDeviceGetComputeRunningProcesses"
        return None if self.pids is None else [SimpleNamespace(pid=pid) for pid in self.pids]


ME = os.getpid()


@pytest.mark.parametrize(
    ("pids", "told"),
    [
        ([ME], "no other process on cuda:0"),
        ([ME, 1], "1 other process on cuda:0"),
        ([1, ME, 2], "2 other processes on cuda:0"),
        # Numbers of the host, seen from a container: one of them may be this process.
        ([-1, -2], "at least 1 other process on cuda:0"),
        ([-1], "whether other processes use cuda:0 is not known "
               "(the driver does not list this process by its number)"),
        ([], "whether other processes use cuda:0 is not known "
             "(the driver does not list this process by its number)"),
        (None, "whether other processes use cuda:0 is not known "
               "(the driver does not list processes)"),
    ],
)  # fmt: skip
def test_a_driver_that_does_not_answer_is_not_nobody(pids, told):
    assert neighbours(Driven(pids)).on("cuda:0") == told


def test_without_nvml_others_are_not_known(monkeypatch):
    monkeypatch.setattr(cards, "find_spec", lambda _name: None)
    found = neighbours(Driver(CARD))
    assert found.count is None
    assert found.why_not.startswith("clocks and power need nvidia-ml-py")


def test_an_error_of_nvml_and_a_question_it_lacks_are_no_answer(monkeypatch):
    class NVMLError(Exception):
        pass

    def refuse(_handle):
        raise NVMLError

    nvml = SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda index: f"handle {index}",
        nvmlDeviceGetComputeRunningProcesses=refuse,
        nvmlDeviceGetNvLinkState=lambda handle, link: (handle, link),
    )
    monkeypatch.setattr(cards, "find_spec", lambda _name: True)
    monkeypatch.setitem(__import__("sys").modules, "pynvml", nvml)
    driver = Driver(CARD)
    assert driver.ask("nvmlDeviceGetNvLinkState", 3) == ("handle 0", 3)
    assert driver.ask("nvmlDeviceOfTomorrow") is None
    assert str(neighbours(driver)) == "not known"


def watched(*seen, busy=None):
    watch = Watch()
    watch.begin(Driven(None, busy=busy))
    for since, pids in seen:
        watch.look(Driven(pids), since)
    return watch.note()


def test_what_comes_and_goes_is_said_with_when():
    assert watched(
        ("from products on", [ME]),
        ("from memory on", [ME, 7, 8]),
        ("from L2 on", [ME, 7, 8]),
        ("from links on", [ME]),
        ("at the end", None),
    ) == (
        "beside this one on this GPU: no other process at first, 2 other processes from memory on, "
        "no other process from links on, not known at the end"
    )


def test_nobody_all_along_needs_no_note_and_unknown_does():
    assert watched(("from products on", [ME]), ("at the end", [ME])) == ""
    assert watched(("from products on", None), ("at the end", None)).startswith("whether other")
    assert Watch().note() == ""
    assert Neighbours(0) == NOBODY


def test_how_busy_others_were_is_asked_before_own_work():
    """Of the use after one's own load nobody can tell whose it was."""
    found = ("from products on", [ME, 7]), ("at the end", [ME, 7])
    assert watched(*found, busy=97) == (
        "1 other process on this GPU; the GPU was 97 % busy before this measurement began"
    )
    assert watched(*found) == "1 other process on this GPU"
    came = ("from products on", [ME]), ("at the end", [ME, 7])
    assert "busy" not in watched(*came, busy=0)
