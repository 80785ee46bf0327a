"""Points above their roof: what is asked depends on what binds, and nothing is clipped."""

import json
from dataclasses import replace

import pytest

from roofline.cli import main
from roofline.device import DRAM, Ceiling, Device, Variant
from roofline.diagnosis import diagnose
from roofline.program import read
from roofline.runfile import Event, Run, Signature, Step, table
from tests.roofs import STATED
from tests.runs import RECORDER, Script, call, tensor


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


def test_a_root_may_be_faster_than_exp_which_rates_special_functions_on_a_cpu():
    """90,000 roots at 10 G/s: 9 us; their 720 kB fit the L2, 7.2 us at 100 GB/s; done in 7.5 us."""
    x = tensor(300, 300)
    roots = call("aten::sqrt", x, out=x)
    program = read(Script().add(roots, 7.5).end_step().run())

    assert program.by("call")[0].binding.demanded.name == "sfu"
    assert "RF001" not in [f.code for f in diagnose(program)]
