"""A run under other conditions: rewritten calls, other ceilings, no invented times."""

import json

import pytest

from roofline import runfile
from roofline.cli import main
from roofline.device import DRAM, TENSOR_BF16, VECTOR_FP32, Ceiling, Device
from roofline.errors import BadInput, NotFound
from roofline.program.whatif import parse_changes, what_if
from roofline.report import whatif
from tests.roofs import STATED
from tests.runs import Script, call, tensor

X = tensor(1000, 1000)
MM = call("aten::mm", X, X, out=X)  # toy CPU: 2e9 flop at 100 GFLOP/s = 20 ms; 12 MB = 1.2 ms
RUN = Script().add(MM, 40_000).end_step().run()
OTHER = Device(
    id="other", name="Other", kind="gpu",
    ceilings=tuple(
        Ceiling(resource=r, rate=rate, provenance=STATED)
        for r, rate in ((DRAM, 1e12), (VECTOR_FP32, 1e12), (TENSOR_BF16, 100e12))
    ),
)  # fmt: skip


def test_another_device():
    """2 ms at 1 TFLOP/s; today at half of its roof, so 4 ms as near to it."""
    (change,) = what_if(RUN, device=OTHER).by()

    assert change.roof_s == pytest.approx(2e-3)
    assert change.same_fraction_s == pytest.approx(4e-3)
    assert change.before.measured_s == pytest.approx(40e-3)


def test_another_type_and_device():
    """2e9 flop at 100 TFLOP/s is 20 us, 6 MB at 1 TB/s is 6 us: the tensor pipe binds."""
    (change,) = what_if(RUN, device=OTHER, dtype="bf16").by()

    assert change.after.binding.demanded == TENSOR_BF16
    assert change.roof_s == pytest.approx(20e-6)
    assert change.after.ledger.demand()[DRAM] == 6_000_000


def test_a_pipe_without_a_ceiling_stays_unknown():
    """The toy CPU has no bf16 pipe: only its memory bounds the product, and that is said."""
    made = whatif.document(what_if(RUN, dtype="bf16"))
    (item,) = made["items"]

    assert item["new_no_ceiling"] == ["tensor-bf16"]
    assert item["new_roof_s"] == pytest.approx(6e6 / 10e9)


def test_the_command(tmp_path, capsys):
    path = tmp_path / "x.roof"
    runfile.save(RUN, path)

    assert main(["show", str(path), "--what-if", "device=h100-sxm,dtype=bf16", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["schema"] == "roofline.whatif/1"
    # 6 MB at 3.35 TB/s, 2e9 flop at 989 TFLOP/s: 2.02 us
    assert made["after"]["roof_s"] == pytest.approx(2e9 / 989.4e12, rel=1e-3)
    assert main(["show", str(path), "--what-if", "dtype=bf16"]) == 0
    assert "what if dtype bf16: bounds, not measurements" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour=red", "cannot change 'colour' of a recorded run; there is device, dtype"),
        ("dtype", "changes are written k=v, such as dtype=bf16; got 'dtype'"),
    ],
)
def test_mistakes(text, message):
    with pytest.raises((BadInput, NotFound), match=message):
        parse_changes(text)
    with pytest.raises(NotFound, match="no floating-point type 'int8'; there is fp64, fp32"):
        what_if(RUN, dtype="int8")
