"""Triton kernels: declared, undeclared, and counted in the interpreter."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="Triton is not installed here")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

import roofline as rl  # noqa: E402
from roofline.device import DRAM, L2  # noqa: E402
from roofline.errors import BadInput  # noqa: E402
from roofline.ops import own  # noqa: E402
from tests.account import triton_kernels as kernels  # noqa: E402


@pytest.fixture
def no_rules_left():
    before = dict(own.RULES)
    yield
    own.RULES.clear()
    own.RULES.update(before)


def nowhere(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype, device="meta")


def named(amounts):
    return {resource.name: amount for resource, amount in amounts.items()}


def test_softmax_in_the_interpreter():
    """64 rows of 1000 of 1024 lanes: loads and stores of 64*1000*4 B."""
    counted = rl.count_triton(
        kernels.softmax, (64,), nowhere(64, 1000), nowhere(64, 1000), 1000, 1000, BLOCK=1024
    )
    assert counted.exact
    assert counted.requested == counted.touched == {"read": 256_000, "write": 256_000}
    # A lane: subtract and divide; max and sum of 1024 are 1023 each.
    assert named(counted.flop) == {"vector-fp32": 64 * (2 * 1024 + 2 * 1023), "sfu": 64 * 1024}


def test_a_product_asks_for_more_than_it_touches():
    """256 cubed in tiles of 64 x 64: A and B are asked for four times."""
    a, b, c = (nowhere(256, 256, dtype=torch.bfloat16) for _ in "abc")
    counted = rl.count_triton(kernels.product, (4, 4), a, b, c, 256, 256, 256, BM=64, BN=64, BK=32)
    assert named(counted.flop) == {"tensor-bf16": 2 * 256**3}
    assert counted.requested == {"read": 2 * 4 * 256 * 256 * 2, "write": 256 * 256 * 2}
    assert counted.touched == {"read": 2 * 256 * 256 * 2, "write": 256 * 256 * 2}


def test_part_of_a_grid_is_scaled_to_the_whole():
    """4 Mi elements by 4096 programs, of which 16 are run."""
    x, y, out = (nowhere(2**22) for _ in "xyo")
    counted = rl.count_triton(kernels.add, (4096,), x, y, out, 2**22, BLOCK=1024, programs=16)
    assert (counted.programs, counted.ran, counted.exact) == (4096, 16, False)
    assert named(counted.flop) == {"vector-fp32": 2**22}
    assert counted.touched == {"read": 2 * 2**24, "write": 2**24}
    # Tiles that all programs share are counted once, however few were run.
    a, b, c = (nowhere(1024, 1024, dtype=torch.bfloat16) for _ in "abc")
    sizes = {"BM": 128, "BN": 128, "BK": 64}
    shared = rl.count_triton(kernels.product, (8, 8), a, b, c, *[1024] * 3, programs=4, **sizes)
    assert named(shared.flop) == {"tensor-bf16": 2 * 1024**3}
    assert shared.touched == {"read": 2 * 1024 * 1024 * 2, "write": 1024 * 1024 * 2}


def test_an_index_has_its_own_values():
    """Every eighth element of a table: each is a sector of its own."""
    index = torch.arange(0, 1024, 8)
    counted = rl.count_triton(kernels.gather, (1,), nowhere(1024), index, nowhere(128), BLOCK=128)
    assert counted.requested["read"] == 128 * 4 + 128 * 8
    assert counted.touched["read"] == 128 * 32 + 128 * 8
    same = rl.count_triton(
        kernels.gather, (1,), nowhere(1024), torch.zeros(128, dtype=torch.int64), nowhere(128),
        BLOCK=128,
    )  # fmt: skip
    assert same.touched["read"] == 32 + 128 * 8


def test_atomics_read_and_write():
    counted = rl.count_triton(kernels.count_up, (4,), nowhere(64), BLOCK=64)
    assert counted.requested == {"read": 4 * 256, "write": 4 * 256}
    assert counted.touched == {"read": 256, "write": 256}


def test_the_ledger_is_an_estimate_and_says_how_it_was_made():
    counted = rl.count_triton(kernels.add, (4,), *(nowhere(4096) for _ in "xyo"), 4096, BLOCK=1024)
    ledger = counted.ledger
    assert ledger.exactness == "estimate"
    assert ledger.demand()[DRAM] == ledger.demand()[L2] == 3 * 4096 * 4
    assert "4 of 4 programs in Triton's interpreter" in ledger.entries[0].why


def test_what_cannot_be_interpreted_is_one_sentence(tmp_path):
    with pytest.raises(BadInput, match="cannot be launched like this: missing a required argument"):
        rl.count_triton(kernels.add, (1,), nowhere(4))
    with pytest.raises(BadInput, match=r"interpreter cannot run assembly: .*inline_asm"):
        rl.count_triton(kernels.assembly, (1,), torch.zeros(1, dtype=torch.int32))
    with pytest.raises(BadInput, match="at least 1"):
        rl.count_triton(kernels.add, (0,), *(nowhere(4) for _ in "xyo"), 4, BLOCK=4)


def launch(kernel=kernels.add, **options):
    """A function that launches `kernel` twice on fake tensors and adds something."""
    with FakeTensorMode():
        x, y, out = (torch.empty(1000) for _ in "xyo")

    def work(x, y, out):
        for _ in range(2):
            kernel[lambda given: (-(-given["count"] // 256),)](x, y, out, 1000, **options)
        return out + 1

    return rl.account(work, x, y, out)


def test_a_launch_nobody_declared_is_named():
    counted = launch(BLOCK=256)
    assert counted.unaccounted == {"triton::add": 2}
    assert counted.flop == 1000
    (call,) = [s.call for s in counted.account.signatures if s.name == "triton::add"]
    assert call.args[3:] == (1000, 256, (4, 1, 1))


def test_a_declared_kernel_is_counted(no_rules_left):
    rl.declare(
        kernels.add,
        lambda call: rl.ledger(
            {"vector-fp32": call.args[3]},
            read=call.args[0].nbytes + call.args[1].nbytes,
            write=call.args[2].nbytes,
        ),
    )
    counted = launch(BLOCK=256)
    assert not counted.unaccounted
    assert counted.flop == 2 * 1000 + 1000
    # Twice x and y read and out written, then out read and the sum written.
    assert counted.account.read == 2 * 8000 + 4000
    with pytest.raises(BadInput, match="triton::add has a rule already"):
        rl.declare(kernels.add, rl.ledger(read=1))


def test_the_trials_of_an_autotuner_are_not_work(no_rules_left):
    fixed = rl.ledger({"vector-fp32": 1000}, read=8000, write=4000)
    rl.declare(kernels.tuned, fixed)
    counted = launch(kernels.tuned)
    assert counted.flop == 2 * 1000 + 1000
    (call,) = [s.call for s in counted.account.signatures if s.name == "triton::add"]
    assert call.args[4] == 128  # without data to tune on, the first configuration
