"""NUMA nodes: each is measured alone on a machine that has several, and never taken for the whole."""

from dataclasses import replace
from functools import partial

import pytest

from roofline.bench.cpu import ceilings, host
from roofline.bench.cpu.sweep import Plan
from roofline.bench.record import Absent
from roofline.device import DRAM, Ceiling, Device, Variant
from roofline.devices import kept
from roofline.provenance import Basis
from tests.roofs import STATED

MIB = 1 << 20
CORES = (0, 1, 2, 3)


class Made:
    chains = ()
    made_by = "toy"
    smallest = 8192


def names(parts):
    return [part.what for part in parts]


def test_each_node_of_several_is_a_part_of_its_own(monkeypatch):
    monkeypatch.setattr(host, "nodes", lambda cpus: {0: (0, 1), 1: (2, 3)})
    named = names(ceilings._parts(ceilings._QUICK, Made(), CORES, []))
    assert [n for n in named if "node" in n] == ["memory, NUMA node 0", "memory, NUMA node 1"]
    assert "2 NUMA nodes (2 on 0, 2 on 1), memory local" in ceilings._conditions(CORES)


def test_one_node_is_said_to_be_one(monkeypatch):
    monkeypatch.setattr(host, "nodes", lambda cpus: {0: tuple(cpus)})
    assert not any("node" in n for n in names(ceilings._parts(ceilings._QUICK, Made(), CORES, [])))
    assert "one NUMA node" in ceilings._conditions(CORES)


@pytest.fixture
def asked(monkeypatch):
    """What a node's part asks of the sweep: its kernels, plan and number."""
    seen = {}

    def bandwidths(crew, kernels, plan, advertised, conditions, tick, node):
        seen.update(threads=len(crew), smallest=kernels.smallest, plan=plan, node=node)
        yield Absent(DRAM, Variant(access="read", threads=len(crew), node=node), "toy")

    monkeypatch.setattr(ceilings, "bandwidths", bandwidths)
    monkeypatch.setattr(ceilings, "_plan", lambda depth, used: PLAN)
    return seen


PLAN = Plan(per_octave=2, largest=1024 * MIB, caches=32 * MIB, sample_s=1e-3, visit=1,
            rounds=1, least_rounds=1, budget_s=8.0)  # fmt: skip


def test_a_node_is_asked_for_its_memory_only(asked):
    """Two threads with 32 MiB of caches: from 4 times that on, 64 MiB each; a quarter of the time."""
    from roofline.bench.cpu.making import make

    here = tuple(host.cores()[:2]) or (0,)
    run = partial(ceilings._node, ceilings._QUICK, make(), 1, here)
    (absent,) = run(lambda _: None)
    assert str(absent.variant).endswith("NUMA node 1")
    assert asked["node"] == 1
    assert asked["smallest"] == 4 * 32 * MIB // len(here)
    assert asked["plan"] == replace(PLAN, budget_s=2.0)


def test_a_placement_never_takes_a_nodes_rate_for_the_machines():
    """Four threads give 40 GB/s together and two on one node 22: a run of two threads is not on it."""
    both = [
        Ceiling(resource=DRAM, rate=rate, provenance=STATED, variant=variant)
        for rate, variant in (
            (12e9, Variant(access="read", threads=1)),
            (40e9, Variant(access="read", threads=4)),
            (22e9, Variant(access="read", threads=2, node=0)),
        )
    ]
    toy = Device(id="toy", name="toy", kind="cpu", ceilings=tuple(both))
    assert toy.roof(Basis.STATED, threads=2).ceiling(DRAM).rate == 12e9
    assert toy.roof(Basis.STATED).ceiling(DRAM).rate == 40e9
    assert str(both[2].variant) == "read, 2 threads, NUMA node 0"


def test_a_nodes_ceiling_is_kept_and_read_back(monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))
    one = Ceiling(
        resource=DRAM, rate=22e9, provenance=STATED,
        variant=Variant(access="update", threads=2, node=1),
    )  # fmt: skip
    device = Device(id="cpu-toy-4c", name="toy", kind="cpu", ceilings=(one,))
    assert kept.read(kept.keep(device)) == device
