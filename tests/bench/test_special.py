"""Special functions: one ceiling for each, with torch's own operator, on values it has."""

import torch

from roofline.bench.cpu import special
from roofline.bench.cpu.chosen import sampled
from roofline.bench.sample import Sample, Samples


class Leader:
    """Runs every load once; the more elements, the faster it says it was."""

    def sample(self, load):
        load.run(0, 1)
        return Sample(rate=load.amount, busy=1.0)

    def in_turns(self, loads, count, least_s):
        return [Samples((self.sample(load),) * count) for load in loads]


def test_every_function_is_a_way_of_its_own(monkeypatch):
    called = []
    for name in special.FUNCTIONS:
        own = getattr(torch, name)

        def noted(x, out, name=name, own=own):
            called.append((name, x.numel()))
            assert torch.isfinite(own(x, out=out)).all()

        monkeypatch.setattr(torch, name, noted)
    found = sampled(Leader(), list(special.functions(Leader(), 1, 1e-3, ["here"])), 6)

    assert [c.variant.way for c in found] == list(special.FUNCTIONS)
    assert {c.rate for c in found} == {float(1 << 17)}  # the fastest of the sizes
    assert {name for name, _ in called} == set(special.FUNCTIONS)
    assert found[0].provenance.source.startswith("torch.exp of 131072 fp32 a thread")


def test_all_threads_have_elements_of_their_own(monkeypatch):
    """torch gives a second thread work from 32,768 elements each on; fewer are one thread's rate."""
    sizes = set()
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    monkeypatch.setattr(torch, "exp", lambda x, out: sizes.add(x.numel()))
    monkeypatch.setattr(special, "FUNCTIONS", ("exp",))
    list(special.functions(Leader(), 2, 1e-3, []))

    assert min(sizes) == 2 * 32_768
