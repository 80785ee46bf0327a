"""Four linear layers trained on two H200 that sum their gradients: one rank's own recording.

`ranks/` has rank 0 of `torchrun --nproc-per-node 2` with DistributedDataParallel (NCCL 2.28 over
NVLink, bf16, 8192 wide), four steps of `roofline run` each: a batch of 256 rows, whose backward
pass is too short to hide the sums, and of 8192.  Ledgers and most ceilings were cut away.
"""

import gzip
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from roofline import runfile
from roofline.diagnosis import diagnose
from roofline.program import read

# Of a layer 8192 x 8192 weights and 8192 biases, 2 B each: with two ranks each sends all of it.
LAYER = 2 * (8192 * 8192 + 8192)


@cache
def program(name):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.roof"
        packed = Path(__file__).parent / "ranks" / f"{name}.roof.gz"
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        return read(runfile.load(path))


def found(name):
    return {finding.code: finding for finding in diagnose(program(name))}


@pytest.mark.parametrize("name", ["few", "many"])
def test_a_rank_sends_its_gradients_once(name):
    """The group is one of two: 2 (n - 1) / n of the bytes are all of them, exactly."""
    (item,) = [i for i in program(name).by("call") if i.name == "c10d::allreduce_"]
    (entry,) = item.ledger.entries

    assert item.calls == 4 * 4  # one bucket a layer, in four steps
    assert (entry.amount, entry.low) == (4 * 4 * LAYER, None)


def test_sums_that_the_backward_pass_is_too_short_for_are_exposed():
    """4 x 134.2 MB at 393 GB/s are 1.37 ms."""
    finding = found("few")["RF501"]

    assert "44% of it, the device only communicates" in finding.claim
    assert finding.evidence[1] == "its bytes need 1.37 ms a step at the ceiling of the link"
    assert "RF501" not in found("many")


def test_sums_that_are_hidden_are_no_time_of_the_step():
    """Both reach about half of what one card sends to the other alone; only few rows feel it."""
    few, many = found("few")["RF502"], found("many")["RF502"]

    assert "of the nvlink roof" in few.claim
    assert "of the nvlink roof" in many.claim
    assert few.saves_s == pytest.approx(few.now_s - 4 * LAYER / 393.15e9, rel=1e-3)
    assert many.saves_s == pytest.approx(program("many").overlap.exposed_s / 4)
    assert many.saves_s < 0.5 * many.now_s


def test_the_librarys_kernel_is_told_nothing_of_its_24_blocks():
    assert "RF402" not in found("few")
    assert "RF402" not in found("many")
