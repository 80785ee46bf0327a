"""Two recordings of one program: flop counted by formula in its trace, and by counters in Nsight Compute."""

from pathlib import Path

from roofline import counters
from roofline.importers import load

HERE = Path(__file__).parent
TRACE = HERE / "kineto" / "torch-2.11" / "train_eager.json.gz"
PAGE = HERE / "ncu" / "2025.3" / "train_eager.raw.csv.gz"


def _tensor(ledger) -> int:
    return sum(n for pipe, n in ledger.demand().items() if pipe.name.startswith("tensor"))


def test_counters_of_the_linears_equal_their_formula():
    """21 GEMM kernels = the first 21 of a step's 24 linears, in order, to the last digit.

    8192 tokens, d = 1024.  Each is 2MNK: qkv 2 x 8192 x 3072 x 1024 = 51,539,607,552; out
    2 x 8192 x 1024 x 1024 = 17,179,869,184; up and down 2 x 8192 x 4096 x 1024 = 68,719,476,736.
    """
    trace, page = load([TRACE]), load([PAGE])
    linears = [
        _tensor(signature.ledger)
        for row in trace.rows()
        if row["step"] == 0
        and row["kind"] == "op"
        and (signature := trace.signatures[row["signature"]]).name in ("aten::mm", "aten::addmm")
    ]
    gemms = [
        _tensor(counters.executed(row["counters"]))
        for row in page.rows()
        if page.signatures[row["signature"]].name.startswith("nvjet")
    ]

    assert len(gemms) == 21
    assert gemms == linears[:21]
    assert sum(gemms) == 1_116_691_496_960
    assert (len(linears), sum(linears)) == (24, 1_236_950_581_248)
    assert set(linears) == {51_539_607_552, 17_179_869_184, 68_719_476_736}
