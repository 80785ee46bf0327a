"""What is said of a copy between host and card."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from roofline.bench.gpu import link  # noqa: E402


class Recorder:
    """Keeps what it is told."""

    timer = SimpleNamespace(driver="driver")

    def ceiling(self, _link, load, _method, about, variant, *, circumstances, count):
        assert load.amount in (link.SIZE, link.PAGEABLE_SIZE)
        assert count == 20
        return variant.way, (about, circumstances)


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setattr(torch, "empty", lambda size, **_: SimpleNamespace(copy_=print))
    monkeypatch.setattr(torch, "randint", lambda *_, **__: None)
    monkeypatch.setattr(link.topology, "pcie", lambda driver: f"link of the {driver}")
    monkeypatch.setattr(link.topology, "nodes", lambda driver: f"nodes of the {driver}")
    return dict(link.host(Recorder(), quick=False))


def test_host_time_inside_is_said_of_pageable_copies_alone(told):
    assert {way: link.HOST_INSIDE in about for way, (about, _) in told.items()} == {
        "h2d, pinned": False, "d2h, pinned": False, "h2d, pageable": True, "d2h, pageable": True,
    }  # fmt: skip


def test_the_link_and_the_nodes_are_named(told):
    assert told["h2d, pinned"] == (
        ("128 MiB of uniform random bytes",),
        ("link of the driver, asked right after a copy", "nodes of the driver"),
    )
