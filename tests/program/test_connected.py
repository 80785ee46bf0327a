"""Which calls of a run of streaming calls are one chain: those that reads connect."""

import sys
from collections.abc import Callable

import pytest

from roofline.device import DRAM
from roofline.program import read
from roofline.program.chains.chain import Link
from roofline.program.chains.connected import connected
from tests.runs import Script, call, tensor

X = tensor(1000, 1000)  # 4 MB


def links(*calls: tuple[tuple[int, ...], int], nbytes: int = 4_000_000) -> list[Link]:
    """One for each call: the storages that it reads, and the one that it writes."""
    return [
        Link(at, 0, DRAM, [(storage, nbytes) for storage in reads], [(written, nbytes)])
        for at, (reads, written) in enumerate(calls)
    ]


def found(some: list[Link]) -> list[tuple[int, ...]]:
    return [tuple(chain) for chain in connected(some, ["forward"] * len(some), follow=True)]


def test_what_lies_between_and_shares_nothing_is_no_part_of_a_chain():
    """0 and 5 pass data on, over two chains of others between them."""
    calls = links(((1,), 2), ((10,), 11), ((11,), 12), ((20,), 21), ((21,), 22), ((2, 3), 4))

    assert found(calls) == [(0, 5), (1, 2), (3, 4)]


def test_parts_that_a_later_one_reads_are_one_from_the_first_on():
    """3 reads from 0, then 4 from 1 and from 3."""
    calls = links(((1,), 2), ((10,), 11), ((20,), 21), ((2,), 3), ((11, 3), 5))

    assert found(calls) == [(0, 1, 3, 4)]


def test_what_is_written_anew_is_another_result():
    """2 writes 2 again without reading it; 4 reads that and nothing of 0."""
    calls = links(((1,), 2), ((10,), 11), ((5,), 2), ((20,), 21), ((2,), 3))

    assert found(calls) == [(2, 4)]


def test_a_scalar_between_two_parts_does_not_keep_them_apart():
    """The step's number, 4 B, is moved between two parts of one update."""
    step = links(((9,), 9), nbytes=4)
    calls = [*links(((1,), 2)), *step, *links(((10,), 11), ((2, 11), 3))]

    assert found(calls) == [(0, 2, 3)]


def test_what_is_wider_or_narrower_keeps_parts_apart():
    """1 kB between two parts of 4 MB: they are no neighbours."""
    calls = [*links(((1,), 2)), *links(((9,), 9), nbytes=1024), *links(((10,), 11), ((2, 11), 3))]

    assert found(calls) == [(2, 3)]


def test_a_chain_over_others_moves_its_own_bytes_only():
    """exp, then a log of other data, then neg of exp's result: 2 x 8 MB, its ends 8 MB."""
    script = Script()
    script.add(call("aten::exp", X, out=X), 900, reads=(1,), writes=(2,))
    script.add(call("aten::log", X, out=X), 900, reads=(11,), writes=(12,))
    script.add(call("aten::neg", X, out=X), 900, reads=(2,), writes=(3,))
    (chain,) = read(script.end_step().run()).chains

    assert chain.names == ("aten::exp", "aten::neg")
    assert (chain.moved, chain.least) == (16_000_000, 8_000_000)
    assert chain.measured_s == pytest.approx(1.8e-3)


@pytest.mark.parametrize(
    "made",
    [
        lambda n: [((2 * at,), 2 * at + 1) for at in range(n)],
        lambda n: [((at % 100,), at % 100) for at in range(n)],
        lambda n: [*(((at,), n + at) for at in range(n - 1)), (tuple(range(n, 2 * n)), 0)],
    ],
    ids=["independent", "again and again", "met at the end"],
)
def test_twice_the_calls_are_twice_the_work(made: Callable[[int], list]):
    """Counted in lines that run, which no other program disturbs: 20,000 calls against 10,000."""
    half, whole = (_lines_run(links(*made(n))) for n in (10_000, 20_000))

    assert whole < 2.2 * half


def _lines_run(calls: list[Link]) -> int:
    """Lines of the module under test that run for `calls`; more than two million are too many."""
    module, lines = connected.__code__.co_filename, 0

    def trace(frame, event, _):
        nonlocal lines
        if frame.f_code.co_filename != module:
            return None
        lines += event == "line"
        assert lines < 2_000_000
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found(calls)
    finally:
        sys.settrace(before)
    return lines
