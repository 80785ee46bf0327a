"""On a device: kernels of a live run know their launch, and the slowest get their counters."""

import os
import shutil
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu
if not torch.cuda.is_available():
    pytest.skip("no GPU that torch can use", allow_module_level=True)

from roofline import counters, runfile  # noqa: E402
from roofline.device import DRAM  # noqa: E402

# 64 Mi fp32: relu reads and writes 268 MB each
SCRIPT = """
import torch
x = torch.randn(1 << 26, device="cuda")
for _ in range(4):
    y = x.relu()
torch.cuda.synchronize()
"""


def roofline(folder, *arguments):
    (folder / "toy.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "roofline", "run", *arguments, "-o", "toy.roof", "toy.py"]
    subprocess.run(command, cwd=folder, env={**os.environ}, check=True, capture_output=True)
    return runfile.load(folder / "toy.roof")


def relus(run):
    """Rows of the kernels that relu started."""
    rows = run.rows()
    at = {i for i, s in enumerate(run.signatures) if s.name == "aten::relu"}
    return [r for r in rows if r["parent"] is not None and rows[r["parent"]]["signature"] in at]


def test_a_live_kernel_knows_its_grid_and_its_registers(tmp_path):
    kernels = [row for row in relus(roofline(tmp_path)) if row["kind"] == "kernel"]

    assert len(kernels) == 4
    for kernel in kernels:
        facts = counters.facts(kernel["counters"])
        # no more than 16 elements a thread
        assert facts["grid_size"].value * facts["block_size"].value >= (1 << 26) / 16
        assert facts["registers_per_thread"].value > 0


@pytest.mark.skipif(shutil.which("ncu") is None, reason="no ncu on the PATH")
def test_the_slowest_kernel_is_replayed_beside_its_timeline(tmp_path):
    run = roofline(tmp_path, "--deep", "--kernels", "2")
    rows = run.rows()
    ran = [kernel for kernel in relus(run) if kernel["kind"] == "kernel"]
    replay, *_ = (r for r in rows if r["kind"] == "replay" and rows[r["parent"]] in ran)
    kernel = rows[replay["parent"]]
    seen = counters.achieved(replay["counters"])

    assert run.replays.tool == "Nsight Compute"
    assert seen.traffic(DRAM, "read") == pytest.approx(1 << 28, rel=0.01)
    assert 0.5 < replay["duration_ns"] / kernel["duration_ns"] < 2
