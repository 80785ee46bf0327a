"""Points above their roof: what is asked depends on what binds, and nothing is clipped."""

import json
from dataclasses import replace

import pytest

from roofline.cli import main
from roofline.device import DRAM, SFU, Ceiling, Device, Variant
from roofline.diagnosis import diagnose
from roofline.program import read
from roofline.runfile import Event, Run, Signature, Step, table
from tests.roofs import STATED
from tests.runs import MEASURED, RECORDER, Script, call, device, tensor


def finding(capsys, *argv):
    assert main(["op", *argv, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    (found,) = (f for f in made["findings"] if f["code"] == "RF001")
    return found, made["items"][0]


def test_saxpy_that_fits_the_l2(capsys):
    """4,194,304 * 12 B = 50.3 MB in 33.295 us: 1511.7 GB/s; x and y together are 33.6 MB of 48 MiB."""
    argv = ("saxpy", "n=4194304", "--device", "rtx-5070", "--time", "33.295 us")
    found, item = finding(capsys, *argv)

    assert "data that fits the 48 MiB L2: the dram roof does not apply" in found["claim"]
    assert "1.51 TB/s where dram gives 672 GB/s" in found["evidence"][0]
    assert item["roof_fraction"] == pytest.approx(1511.7 / 672, rel=1e-3)
    assert main(["op", *argv]) == 0
    text = capsys.readouterr().out
    assert "faster than its roof allows" in text
    assert "225%" not in text


def test_fp32_product_faster_than_the_cores_asks_for_tf32(capsys):
    """8192^3 in 9 ms: 122.2 TFLOP/s, 627 % of 19.5 and 78 % of tf32's 156."""
    found, item = finding(
        capsys, "gemm", "m=8192", "n=8192", "k=8192", "dtype=fp32", "--device", "a100-sxm4-80gb", "--time", "9 ms"
    )  # fmt: skip

    assert item["roof_fraction"] == pytest.approx(6.27, abs=5e-3)
    assert "was it computed in tf32" in found["next_step"]
    assert "cache" not in found["next_step"]
    assert any("78% of the tf32 ceiling, 156 Tflop/s" in line for line in found["evidence"])


def test_attention_over_peak_asks_whether_it_is_causal(capsys):
    """4 * 8 * 4096^2 * 128 = 68.7 GFLOP in 50 us: 1374 TFLOP/s on 989."""
    found, _ = finding(
        capsys, "attention", "batch=1", "heads=8", "seq_q=4096", "head_dim=128", "--device", "h100-sxm", "--time", "50 us"
    )  # fmt: skip

    assert "is it causal" in found["next_step"]
    assert "sparse" in found["next_step"]
    assert not any("L2" in line for line in found["evidence"])


def test_counters_can_be_above_the_roof_too():
    """5.319 GB in 1 ms under 3.35 TB/s: 1.59 times."""
    card = Device(
        id="card", name="Card", kind="gpu",
        ceilings=(Ceiling(resource=DRAM, rate=3.35e12, provenance=STATED),),
    )  # fmt: skip
    events = table([
        Event(signature=0, kind="kernel", step=0, start_ns=0, duration_ns=1_000_000,
              counters={"dram__bytes.sum": 5_318_969_728.0}),
    ])  # fmt: skip
    run = Run(recorder=RECORDER, device=card, signatures=(Signature(name="copy"),),
              steps=(Step(start_ns=0, duration_ns=1_000_000),), gaps=(), events=events)  # fmt: skip

    (found,) = (f for f in diagnose(read(run)) if f.code == "RF001")
    assert "ran 1.59 times as fast as its dram roof allows" in found.claim


def test_an_update_in_place_has_no_lines_to_allocate():
    """8 MB of mul_ in 0.6 ms: 13.3 GB/s where a copy is rated 10, 15 with what it allocates."""
    x = tensor(1000, 1000)
    update = call("aten::mul_", x, 0.9, out=x)
    copy = call("aten::relu", x, out=x)

    def codes(one, us):
        return [f.code for f in diagnose(read(Script().add(one, us).end_step().run()))]

    assert "RF001" not in codes(update, 600)
    assert "RF001" in codes(update, 400)  # 20 GB/s: more than that explains
    assert "RF001" in codes(copy, 600)


def test_an_update_that_has_a_ceiling_of_its_own_needs_no_allowance():
    """8 MB of mul_ in 0.6 ms are 13.3 GB/s: above an update's 12, which allocates nothing."""
    x = tensor(1000, 1000)
    update = call("aten::mul_", x, 0.9, out=x)
    script = Script().add(update, 600).end_step().run()
    own = replace(
        next(c for c in script.device.ceilings if c.resource == DRAM),
        rate=12e9,
        variant=Variant(access="update"),
    )
    device = replace(script.device, ceilings=(*script.device.ceilings, own))

    (found,) = (f for f in diagnose(read(replace(script, device=device))) if f.code == "RF001")
    assert "ran 1.11 times as fast as its dram roof allows" in found.claim
    assert "measured, update" in found.evidence[1]


ROOTS = call("aten::sqrt", tensor(300, 300), out=tensor(300, 300))


def special(function, rate):
    return Ceiling(
        resource=SFU, rate=rate, variant=Variant(threads=1, way=function), provenance=MEASURED
    )


def on(*functions):
    """The toy CPU with ceilings of these special functions and no other."""
    toy = device(*functions)
    kept = (c for c in toy.ceilings if c.resource != SFU or c.variant.way)
    return replace(toy, ceilings=tuple(kept))


@pytest.mark.parametrize(("function", "fraction"), [("sqrt", 0.6), ("exp", 1.2)])
def test_a_root_stands_under_the_ceiling_of_roots(function, fraction):
    """90,000 roots in 7.5 us are 12 G/s: 60 % of 20, and 120 % of exp's 10 where that is alone."""
    rate = {"sqrt": 20e9, "exp": 10e9}[function]
    toy = on(special("exp", 10e9), *([special("sqrt", 20e9)] if function == "sqrt" else []))
    program = read(Script().add(ROOTS, 7.5).end_step().run(on=toy))
    (item,) = program.by("call")
    above = [f for f in diagnose(program) if f.code == "RF001"]

    sfu = next(b for b in item.placement.bounds if b.demanded == SFU)
    assert (sfu.ceiling.variant.way, sfu.ceiling.rate) == (function, rate)
    assert sfu.least_s / item.measured_s == pytest.approx(fraction)
    assert bool(above) == (function == "exp")
    assert all("is its ceiling, of exp, that of sqrt" in f.next_step for f in above)


def test_a_ceiling_that_names_no_function_is_asked_which_it_is():
    """As measured by exp alone, which the ceiling does not say: 12 G/s of 10."""
    (found,) = diagnose(read(Script().add(ROOTS, 7.5).end_step().run()))

    assert found.code == "RF001"
    assert "is its ceiling that of sqrt (`roofline measure` takes each" in found.next_step


def test_a_function_that_was_not_measured_stands_under_the_fastest():
    """Nobody measured erf: 40 G/s of rsqrt bound it for certain, exp's 10 would not."""
    erf = call("aten::erf", tensor(300, 300), out=tensor(300, 300))
    toy = on(special("exp", 10e9), special("rsqrt", 40e9))
    (item,) = read(Script().add(erf, 9).end_step().run(on=toy)).by("call")

    sfu = next(b for b in item.placement.bounds if b.demanded == SFU)
    assert sfu.ceiling.variant.way == "rsqrt"


def test_better_than_the_library_is_asked_of_the_same_function_alone():
    """12 G/s of tanh on a ceiling of 10: that rsqrt reaches 40 makes it no less strange."""
    tanh = call("aten::tanh", tensor(300, 300), out=tensor(300, 300))
    toy = on(special("tanh", 10e9), special("rsqrt", 40e9))

    assert "RF001" in [
        f.code for f in diagnose(read(Script().add(tanh, 7.5).end_step().run(on=toy)))
    ]


def test_doubt_silences_advice_on_a_chain_of_what_is_in_doubt():
    """exp and neg of 8 MB in 0.2 ms each, 40 GB/s of 10; with neg alone at its pace it stands."""
    x = tensor(1000, 1000)
    exp, neg = call("aten::exp", x, out=x), call("aten::neg", x, out=x)

    def codes(exp_us, neg_us):
        script = Script().add(exp, exp_us, reads=(1,), writes=(2,))
        script.add(neg, neg_us, reads=(2,), writes=(3,))
        return [f.code for f in diagnose(read(script.end_step().run()))]

    assert codes(900, 900) == ["RF101"]
    assert "RF001" in codes(200, 200)
    assert "RF101" not in codes(200, 200)
    assert {"RF001", "RF101"} <= set(codes(200, 1600))  # 200 of 1800 us in doubt
