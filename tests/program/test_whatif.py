"""A run under other conditions: rewritten calls, other ceilings, no invented times."""

import json
from dataclasses import replace

import pytest

from roofline import runfile
from roofline.cli import main
from roofline.device import DRAM, TENSOR_BF16, VECTOR_FP32, Ceiling, Device
from roofline.errors import BadInput, NotFound
from roofline.program.whatif import parse_changes, what_if
from roofline.report import whatif
from roofline.report.console import console
from roofline.runfile import Signature
from roofline.work import unknown
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

    assert item["new_no_ceiling"] == made["no_ceiling"] == ["tensor-bf16"]
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


def test_what_no_rule_knows_is_in_no_new_time_and_said(capsys):
    """40 ms of the product can be placed anew, 10 ms of an unknown kernel cannot: never 0."""
    run = Script().add(MM, 40_000).add(call("mine::secret", X, out=X), 10_000).end_step().run()
    made = whatif.document(what_if(run, device=OTHER))

    assert made["unbounded_s"] == pytest.approx(10e-3)
    assert made["after"]["same_fraction_s"] == pytest.approx(4e-3)
    whatif.print_document(made, console(), 15)
    assert "in no new time: 10.0 ms of today's" in capsys.readouterr().out


def test_without_a_device_the_time_before_is_unknown_and_not_zero():
    view = call("aten::view", X, [1000, 1000], out=X)  # takes nothing, on any device
    run = Script().add(MM, 40_000).add(view, 10).end_step().run()
    made = whatif.document(what_if(replace(run, device=None), device=OTHER))

    assert made["before"]["roof_s"] is None
    assert made["after"]["roof_s"] == pytest.approx(2e-3)
    assert made["after"]["same_fraction_s"] is None


def test_counters_of_kernels_have_no_sizes_to_change():
    run = replace(RUN, signatures=(Signature(name="kernel", ledger=unknown("kernel")),))
    for change in ({"dtype": "bf16"}, {"batch": 4}):
        with pytest.raises(BadInput, match="holds no sizes of calls, only what counters saw"):
            what_if(run, **change)


def test_times_on_every_axis_are_those_of_the_run(tmp_path, capsys):
    runfile.save(RUN, tmp_path / "x.roof")
    assert main(["show", str(tmp_path / "x.roof"), "--what-if", "dtype=bf16", "--times"]) == 2
    assert "give one of --what-if and --times" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch=2,batch=3", "batch is changed twice, to 2 and to 3"),
        ("colour=red", "cannot change 'colour' of a recorded run; there is device, dtype"),
        ("dtype", "changes are written k=v, such as dtype=bf16; got 'dtype'"),
    ],
)
def test_mistakes(text, message):
    with pytest.raises((BadInput, NotFound), match=message):
        parse_changes(text)
    with pytest.raises(NotFound, match="no floating-point type 'int8'; there is fp64, fp32"):
        what_if(RUN, dtype="int8")
