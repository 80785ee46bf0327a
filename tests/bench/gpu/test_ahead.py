"""Kernels are compiled side by side, on the card they are for."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from roofline.bench.gpu import ahead, memory, vector  # noqa: E402
from roofline.bench.gpu.card import Card  # noqa: E402
from roofline.bench.gpu.ways import own, way  # noqa: E402

CARD = Card(index=1, name="Toy", units=4, l2=1, memory=1, capability=90, uuid="")


@pytest.fixture(autouse=True)
def on_card(monkeypatch):
    """The card that each thread works on."""
    here = threading.local()

    @contextmanager
    def device(index):
        here.index = index
        yield

    monkeypatch.setattr(torch.cuda, "device", device)
    return here


def test_every_kernel_is_compiled_on_its_card_and_one_that_fails_is_left(on_card):
    done, together = [], threading.Barrier(2, timeout=60)

    def make(name):
        together.wait()  # breaks where one comes after the other
        done.append((name, on_card.index))

    def fails():
        raise RuntimeError("no such instruction")

    ahead.compiled(CARD, [lambda: make("a"), fails, lambda: make("b")])
    assert sorted(done) == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("quick", [True, False])
def test_loads_compile_what_they_launch(monkeypatch, quick):
    """Every kernel of memory and L2 once: as many as there are accesses and ways."""
    pytest.importorskip("triton", reason="triton is not installed: it is what is compiled with")
    from roofline.bench.gpu.kernels import streams

    asked = []

    def run(*_args, warmup, **options):
        asked.append((warmup, options))
        return SimpleNamespace(run=None)

    for kernel in (streams.once, streams.around):
        monkeypatch.setattr(kernel, "run", run)
    pool = memory.Pool(torch.zeros(3, 1 << 16))
    loads = list(memory.loads(pool, CARD.units, quick))
    for load in loads:
        load.compile()
        load.run(0)
    ways = (memory.QUICK_WAYS, memory.QUICK_L2_WAYS) if quick else (memory.WAYS, memory.L2_WAYS)
    assert len(loads) == 4 * sum(map(len, ways))
    assert [warmup for warmup, _ in asked] == [True, False] * len(loads)
    for (_, ahead_of), (_, launched) in zip(asked[::2], asked[1::2], strict=True):
        assert ahead_of == launched


def test_rows_are_compiled_as_they_are_launched(monkeypatch):
    """With the same operands, whose sizes decide what is compiled; everything of its own kernels."""
    pytest.importorskip("triton", reason="triton is not installed: it is what is compiled with")
    from roofline.bench.gpu.kernels import rows

    asked = []

    def run(*args, grid, warmup, **options):
        tensors = [x.shape if isinstance(x, torch.Tensor) else x for x in args]
        asked.append((warmup, grid, tensors, options))
        return SimpleNamespace(run=None)

    kernels = (rows.scaled, rows.widened, rows.biased_gelu, rows.normed, rows.softmax)
    for kernel in kernels:
        monkeypatch.setattr(kernel, "run", run)
    monkeypatch.setattr(way, "DEVICE", "cpu")
    monkeypatch.setattr(own, "DEVICE", "cpu")
    made = list(own.of_triton())
    with FakeTensorMode():
        for one in made:
            one.compile(*one.operands())
            one.run(*one.operands())
    assert len(asked) == 2 * len(made)
    for compiled, launched in zip(asked[::2], asked[1::2], strict=True):
        assert (compiled[0], launched[0]) == (True, False)
        assert compiled[1:] == launched[1:]


def test_slow_pipes_turn_fewer_rounds():
    """16 a clock and multiprocessor, against 128: as many rounds would take eight times as long."""
    rounds = {loop.resource.name: loop.rounds for loop in vector.LOOPS}
    assert rounds["sfu"] * 4 == rounds["vector-fp32"]
