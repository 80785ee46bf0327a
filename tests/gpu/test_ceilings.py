"""The kernels behind the ceilings compute what they say, and a measurement hangs together."""

import math

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu
if not torch.cuda.is_available():
    pytest.skip("no GPU that torch can use", allow_module_level=True)

from roofline.bench.gpu import (  # noqa: E402
    ceilings,
    gemm,
    launch,
    onchip,
    peers,
    tensor,
    timing,
    topology,
    vector,
)
from roofline.bench.gpu.card import Driver, card, count, working_on  # noqa: E402
from roofline.bench.gpu.cuda import module  # noqa: E402
from roofline.bench.gpu.kernels import loops, streams  # noqa: E402
from roofline.device import Ceiling, Resource  # noqa: E402

SENTINEL = 1.5e38  # a sum that reads write out


@pytest.fixture(scope="module")
def unit():
    return card(0)


def arrays(n):
    return (
        torch.randn(n, device="cuda"),
        torch.randn(n, device="cuda"),
        torch.full((n,), math.nan, device="cuda"),
    )


@pytest.mark.parametrize(("block", "unroll", "warps"), [(1024, 2, 4), (2048, 4, 8), (4096, 2, 16)])
def test_streams_move_every_element(block, unroll, warps):
    n = 3 * block * unroll
    for access in ("copy", "triad", "write"):
        x, y, z = arrays(n)
        streams.once[(3,)](x, y, z, BLOCK=block, UNROLL=unroll, ACCESS=access, num_warps=warps)
        if access == "write":
            assert bool(((z.abs() >= 1) & (z.abs() < 2)).all())
            assert z.unique().numel() > n // 2
        else:
            wanted = x if access == "copy" else x.double() + 1.25 * y.double()
            assert torch.allclose(z.double(), wanted.double(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("where", [0, 1, 2, 3])
def test_reads_see_every_block(where):
    """Only one block of four holds a number that a sum of it alone writes out."""
    block, unroll = 1024, 4
    x, y, z = torch.zeros(block * unroll, device="cuda"), None, torch.zeros(block, device="cuda")
    x[where * block : (where + 1) * block] = SENTINEL
    streams.once[(1,)](x, y, z, BLOCK=block, UNROLL=unroll, ACCESS="read", num_warps=4)
    assert bool((z == SENTINEL).all())


def test_going_around_covers_the_working_set():
    block, blocks = 1024, 12
    x, y, z = arrays(block * blocks)
    options = {"BLOCK": block, "UNROLL": 2, "num_warps": 4}
    streams.around[(3,)](x, y, z, blocks, 2, ACCESS="copy", **options)
    # 3 programs begin at blocks 0, 4 and 8 and each copies 2 * 2 blocks: all 12.
    assert torch.equal(x, z)
    seen = torch.zeros(block, device="cuda")
    x.zero_()
    x[-block:] = SENTINEL
    streams.around[(1,)](x, y, seen, blocks, 6, ACCESS="read", **options)
    assert bool((seen == SENTINEL).all())


@pytest.mark.parametrize("loop", vector.LOOPS, ids=lambda o: f"{o.resource.name} {o.way or ''}")
def test_register_loops_compute_their_step(loop):
    values, _, _ = vector.operands(loop, 1024)
    a, b = (0x5BD1E995, 0x2545F491) if loop.dtype == "int32" else (0.5, 0.25)
    wanted = values.to(torch.int64 if loop.dtype == "int32" else torch.float64)
    for _ in range(6):
        if loop.step == "fma":
            wanted = wanted * a + a
        elif loop.step == "int":
            wanted = (wanted + a) ^ b
        elif loop.step == "exp":
            wanted = torch.exp(-wanted)
        else:
            wanted = wanted.rsqrt()
        if loop.dtype == "int32":  # wraps at 32 bits
            wanted = (wanted + 2**31) % 2**32 - 2**31
    loops.registers[(1,)](
        values,
        a,
        b,
        2,
        BLOCK=1024,
        UNROLL=3,
        STEP=loop.step,
        num_warps=4,
        enable_fp_fusion=loop.fused,
    )
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float64": 1e-12}.get(loop.dtype, 1e-5)
    if loop.dtype == "int32":
        assert torch.equal(values.to(torch.int64), wanted)
    else:
        assert torch.allclose(values.double(), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("f", "rounds"), [(1, 1), (7, 1), (64, 4)])
def test_dial_does_f_fmas(f, rounds):
    x, _, z = arrays(2048)
    loops.dial[(1,)](x, z, 0.999, 0.5, 2, BLOCK=1024, F=f, ROUNDS=rounds, num_warps=8)
    wanted = x.double()
    for _ in range(f):
        wanted = wanted * 0.999 + 0.5
    assert torch.allclose(z.double(), wanted, rtol=1e-5, atol=1e-5)


def test_on_chip_reads_fold_what_is_there(unit):
    kernels = onchip.Kernels(unit)
    kernels.l1(rounds=1, keep=True).run(0)
    wanted = 0
    for word in kernels.data.tolist():
        wanted ^= word
    assert kernels.sums[0].item() == wanted
    kernels.sums.zero_()
    kernels.shared(rounds=1, keep=True).run(0)
    wanted = 0
    for i in range(onchip.SHARED_SIZE // 4):
        bits = (i * 2654435761) % 2**32
        bits ^= bits >> 15
        bits = (bits * 2246822519) % 2**32
        wanted ^= bits ^ (bits >> 13)
    assert kernels.sums[0].item() % 2**32 == wanted


@pytest.mark.parametrize("resource", tensor.PIPES, ids=lambda r: r.name)
def test_matrix_loops_multiply_ones(unit, resource: Resource):
    found = tensor.loop(unit, resource)
    if found is None:
        pytest.skip("this chip has no instruction for it")
    assert tensor.right(module(found.source, unit.target), found)


def test_clock_is_a_clock(unit):
    clock = timing.Clock(unit, 4)
    for slot in range(4):
        clock.launch(slot)
    assert all(2e8 < hz < 4e9 for hz in clock.read(4))


def test_sparse_and_scaled_products_multiply(unit):
    for product in gemm.products(unit):
        try:
            gemm.load(product, (256, 256, 256), product.layouts[-1]).run(0)
        except (RuntimeError, NotImplementedError):
            continue  # what torch lacks here is recorded as absent
    torch.cuda.synchronize()


def test_every_layout_is_the_same_product(unit):
    product = next(p for p in gemm.products(unit) if p.resource.name == "tensor-bf16")
    for layout in gemm.LAYOUTS:
        a, b = (gemm._random(product, 64, 64, order) for order in layout)
        assert [x.is_contiguous() for x in (a, b)] == [order == "n" for order in layout]
        wanted = a.double() @ b.double()
        got = product.multiply(a, b).double()
        assert float((got - wanted).norm() / wanted.norm()) < 1e-2


@pytest.mark.skipif(count() < 2, reason="one card has no peer")
@pytest.mark.parametrize("copy", [peers._by_engine, peers._by_kernel])
def test_what_crosses_the_link_arrives(copy):
    with working_on(card(0)):
        pair = peers._pair(0, 1, quick=True)
        sent, arrived = pair.own.cpu(), pair.other.cpu()
        for way, load, _ in peers._ways(pair, copy):
            for array in (pair.sent, pair.arrived):
                array.fill_(math.nan)
            synchronize()
            load.run(0)
            synchronize()
            if way != "from":
                assert torch.equal(pair.sent.cpu(), sent)
            if way != "to":
                assert torch.equal(pair.arrived.cpu(), arrived)
            assert load.amount == pair.size * (2 if way.startswith("both") else 1)


def synchronize():
    for i in range(count()):
        torch.cuda.synchronize(i)


@pytest.mark.skipif(count() < 2, reason="one card has no peer")
def test_launches_are_captured_on_whichever_card():
    for index in (0, 1):
        with working_on(card(index)):
            clock = timing.timer(card(index), Driver(card(index)), ceilings.FULL)
            start, _ = launch.kernel(clock)
            assert len(launch._from_graph(start, 2)) == 2


def test_quick_measurement_hangs_together():
    measured = ceilings.measured(0, quick=True)
    device = ceilings.device(measured)
    by = {(c.resource.name, str(c.variant)): c for c in device.ceilings}
    read = {name: by[name, "read"].rate for name in ("l1", "l2", "dram")}
    assert read["l1"] > read["l2"] > read["dram"]
    assert by["vector-fp32", "register"].rate > by["vector-fp32", "register, without FMA"].rate
    assert by["launch", launch.FROM_GRAPH].rate > by["launch", launch.AND_WAIT].rate
    assert all(isinstance(c, Ceiling) and c.provenance.spread for c in device.ceilings)
    assert all(c.provenance.spread.n >= 10 for c in device.ceilings)
    assert device.fact("l2_capacity") is not None
    driver = Driver(measured.card)
    assert bool(driver.settings()) != bool(driver.why_not)
    assert [since for since, _ in measured.watch.seen][-1] == "at the end"


@pytest.mark.skipif(count() < 2, reason="one card has no peer")
def test_cards_are_joined_alike_from_both_ends():
    one, other = (Driver(card(index)) for index in (0, 1))
    there, back = topology.joined(one, other), topology.joined(other, one)
    assert (there is None) == (back is None)
    assert there is None or there.link == back.link
