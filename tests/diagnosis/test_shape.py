"""RF406 from the shape of a launch: one 32 x 32 tile of words under warps that are its rows."""

import pytest

from roofline.diagnosis import diagnose
from roofline.program import read
from roofline.runfile import Event, Run, Signature, Step, table
from tests.diagnosis.test_kernels import CARD
from tests.runs import RECORDER

# 32 * 32 * 4 B under a block of 32 x 8 threads, as a transposition is often written
TILE = {"grid": 4096.0, "block": 256.0, "block x": 32.0, "shared memory": 4096.0}


def found(changes):
    event = Event(signature=0, kind="kernel", step=0, start_ns=0, duration_ns=200_000,
                  counters=TILE | changes)  # fmt: skip
    run = Run(
        recorder=RECORDER, device=CARD, signatures=(Signature(name="transpose"),), gaps=(),
        steps=(Step(start_ns=0, duration_ns=200_000),), events=table([event]),
    )  # fmt: skip
    return {finding.code: finding for finding in diagnose(read(run))}


def test_a_tile_without_padding_may_have_conflicts():
    finding = found({})["RF406"]

    assert (
        finding.evidence[0] == "4096 B a block of 32 x 8 threads; rows of 33 words would make 4224"
    )
    assert finding.saves_s is None


@pytest.mark.parametrize(
    "changes",
    [
        {"shared memory": 4224.0},  # rows of 33 words
        {"block x": 256.0},  # one row of threads: a reduction's 4 B a thread, say
        {"shared memory": 8192.0},  # two tiles: a product's, walked by rows
        {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": 0.0},  # counted: there are none
    ],
    ids=["padded", "one row", "two tiles", "counted"],
)
def test_nothing_is_suspected_of(changes):
    assert "RF406" not in found(changes)
