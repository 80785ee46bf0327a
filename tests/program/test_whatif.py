"""A run under other conditions: rewritten calls, other ceilings, no invented times."""

import json
from dataclasses import replace

import pytest

from roofline import runfile
from roofline.cli import main
from roofline.device import DRAM, L2, TENSOR_BF16, VECTOR_FP32, Ceiling, Device, Variant
from roofline.errors import BadInput, NotFound
from roofline.program import read
from roofline.program.whatif import parse_changes, what_if
from roofline.report import whatif
from roofline.report.console import console
from roofline.runfile import Signature
from roofline.work import unknown
from tests.roofs import STATED
from tests.runs import MEASURED, Script, call, device, tensor

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


def printed(made, capsys):
    whatif.print_document(made, console(), 15)
    return " ".join(capsys.readouterr().out.split())


def test_a_roof_without_what_binds_says_so_where_it_stands(capsys):
    """A device with memory alone: 12 MB at 1 TB/s are 12 us, of a product that took 40 ms."""
    memory = replace(OTHER, ceilings=OTHER.ceilings[:1])
    made = whatif.document(what_if(RUN, device=memory))
    (item,) = made["items"]

    assert made["after"] == {"device": "Other", "roof_s": pytest.approx(12e-6),
                             "same_fraction_s": None}  # fmt: skip
    assert item["same_fraction_s"] is None  # a share of fp32's roof says nothing of memory's
    assert made["not_compared_s"] == pytest.approx(40e-3)
    out = printed(made, capsys)
    assert "-> at least 12.0 us (Other), without vector-fp32, which has no ceiling there;" in out
    assert "no time as near to the roof as today is known" in out
    assert "dram without vector-fp32" in out


def test_lines_that_need_nothing_are_not_without_a_bound(capsys):
    view = call("aten::view", X, [1000, 1000], out=X)
    run = Script().add(MM, 40_000).add(view, 10).end_step().run()
    made = whatif.document(what_if(run, device=OTHER))

    assert made["unbounded_s"] == made["not_compared_s"] == 0
    assert made["needs_nothing_s"] == pytest.approx(10e-6)
    out = printed(made, capsys)
    assert "without a bound" not in out
    assert "calls that need nothing of the device, such as views, in no new time: 10.0 us" in out


def of_threads(resource, rate, threads):
    return Ceiling(
        resource=resource, rate=rate, provenance=MEASURED, variant=Variant(threads=threads)
    )


def test_a_ceiling_of_other_threads_is_used_and_said(capsys):
    """fp32 was measured with 1 and 2 threads, bf16 with 1 alone: 2e9 flop at 125 Gflop/s."""
    cpu = device(of_threads(TENSOR_BF16, 125e9, 1))
    fp32 = [of_threads(VECTOR_FP32, rate, n) for n, rate in ((1, 100e9), (2, 200e9))]
    others = [c for c in cpu.ceilings if c.resource != VECTOR_FP32]
    cpu = replace(cpu, ceilings=(*others, *fp32))
    run = Script().add(MM, 40_000).end_step().run(cpu, threads=2)
    said = "no ceiling of 2 threads was measured; that of 1 thread is used"

    assert read(run).gaps == ()  # as recorded nothing is mixed
    made = whatif.document(what_if(run, dtype="bf16"))
    assert [(gap["name"], gap["what"]) for gap in made["gaps"]] == [("tensor-bf16", said)]
    assert made["after"]["roof_s"] == pytest.approx(16e-3)
    assert f"tensor-bf16: {said}; other threads, other rates" in printed(made, capsys)

    mixed = read(replace(run, device=replace(cpu, ceilings=(*others, fp32[0]))))
    assert [(gap.name, gap.what) for gap in mixed.gaps] == [("vector-fp32", said)]
    assert read(replace(run, recorder=replace(run.recorder, threads=1))).gaps == ()


def test_a_run_that_mixes_threads_says_so_in_text_and_data(tmp_path, capsys):
    cpu = device()
    others = [c for c in cpu.ceilings if c.resource != VECTOR_FP32]
    cpu = replace(cpu, ceilings=(*others, of_threads(VECTOR_FP32, 100e9, 1)))
    runfile.save(Script().add(MM, 40_000).end_step().run(cpu, threads=2), tmp_path / "x.roof")
    said = "no ceiling of 2 threads was measured; that of 1 thread is used"

    assert main(["show", str(tmp_path / "x.roof"), "--json"]) == 0
    assert [gap["what"] for gap in json.loads(capsys.readouterr().out)["gaps"]] == [said]
    assert main(["show", str(tmp_path / "x.roof")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.count(f"not in this run: vector-fp32: {said}") == 1


def test_a_level_that_is_not_measured_there_is_not_compared_with_the_next(capsys):
    """relu of 400 kB lies in the L2 of the toy, 8 us; on the other 0.8 us at DRAM are no L2 roof."""
    small = tensor(100, 1000)
    relu = call("aten::relu", small, out=small)
    script = Script().add(relu, 16, reads=(1,), writes=(2,)).end_step(warmup=True)
    for _ in range(3):
        script.add(relu, 16, reads=(1,), writes=(2,))
    run = script.add(MM, 40_000, reads=(3, 4), writes=(5,)).end_step().run()
    elsewhere = what_if(run, device=OTHER)
    mm, held = elsewhere.by("operator")

    assert held.before.binding.demanded == L2
    assert held.after.binding.demanded == DRAM
    assert [calls.no_level for calls in held.calls] == [L2]
    assert held.same_fraction_s is None
    assert mm.same_fraction_s == pytest.approx(4e-3)
    made = whatif.document(elsewhere, "operator")
    assert made["no_level"] == ["l2"]
    assert made["not_compared_s"] == pytest.approx(48e-6)
    with_l2 = replace(OTHER, ceilings=(*OTHER.ceilings, device().ceilings[1]))
    assert whatif.document(what_if(run, device=with_l2))["no_level"] == []
    # Together they are bound by the product's pipe: the one time is as near, the other is left out.
    by_phase = whatif.document(elsewhere, "phase")
    assert by_phase["after"] == made["after"]
    assert by_phase["not_compared_s"] == made["not_compared_s"]
    assert by_phase["items"][0]["not_compared_s"] == pytest.approx(48e-6)
    whatif.print_document(by_phase, console(), 15)
    assert ">4.00 ms" in capsys.readouterr().out
