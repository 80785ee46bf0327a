"""``import roofline as rl`` offers what it says it offers, in whatever order it is used."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

import roofline as rl
from roofline.errors import BadInput, NotFound
from roofline.facade import Recording
from roofline.report.brief import of_account
from tests.importers.kineto.traces import H200, Trace
from tests.runs import Script, call, tensor


@pytest.mark.parametrize("name", rl.__all__)
def test_every_name_is_there_and_explained(name: str) -> None:
    assert getattr(rl, name).__doc__


@pytest.mark.parametrize(
    "before", ["pass", "import roofline.device", "from roofline.device import DRAM", "rl.ops.gemm"]
)
def test_device_is_a_function_though_a_module_has_its_name(before: str) -> None:
    code = (
        f"import roofline as rl\n{before}\n"
        "for _ in range(2): assert rl.device('h200').id == 'nvidia-h200-sxm-141gb'\n"
        "from roofline.device import Device\n"
        "assert isinstance(rl.device('h200'), Device)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'roof'"):
        rl.roof  # noqa: B018


@pytest.mark.parametrize("roof", [rl.device("h100-sxm"), rl.device("h100-sxm").in_force()])
def test_work_is_placed_under_a_device_or_a_roof(roof: object) -> None:
    """33,570,816 B over 3.35 TB/s take 10.0211 us, 58.9 % of the 17 us they took."""
    ledger = rl.ops.gemm(m=1, n=4096, k=4096, dtype="fp16")

    placed = rl.place(ledger, roof, time_s=17e-6)

    assert placed.roof_s == pytest.approx(33_570_816 / 3.35e12, rel=1e-12)
    assert placed.roof_fraction == pytest.approx(10.0211394e-6 / 17e-6, rel=1e-6)
    assert rl.place(ledger, roof).measured_s is None


def test_a_recording_is_one_line_in_a_prompt_and_a_table_in_a_notebook() -> None:
    """8 MB at 10 GB/s are 0.8 ms of the 2 ms that each of two steps takes: 40 %."""
    relu = call("aten::relu", tensor(1000, 1000), out=tensor(1000, 1000))
    script = Script().add(relu, 2_000).end_step().add(relu, 2_000).end_step()
    recording = Recording(script.run())

    assert repr(recording).startswith(
        "toy.py on Toy CPU: 2.00 ms a step against a roof of 800 us, 40%; coverage 100.0%; RF201 "
    )
    assert "\n" not in str(recording)
    page = recording._repr_html_()
    assert page.startswith("<pre")
    assert page.endswith("</pre>")
    assert "relu" in page
    assert "<style" not in page  # it would be the notebook's


def test_a_recording_says_what_would_be_elsewhere() -> None:
    """8 MB at 3.35 TB/s; in bf16 half of them; 16,000 samples instead of 1,000."""
    relu = call("aten::relu", tensor(1000, 1000), out=tensor(1000, 1000))
    recording = Recording(Script().add(relu, 2_000, reads=(1,), writes=(2,)).end_step().run())

    made = recording.what_if(device="h100-sxm", dtype="bf16", batch=16_000)
    assert made["change"] == "device NVIDIA H100 SXM5 80GB, dtype bf16, batch 1000 -> 16000"
    assert made["after"]["roof_s"] == pytest.approx(16 * 4e6 / 3.35e12)
    assert recording.what_if(batch=(1000, 2000))["batch"]["after"] == 2000


def test_a_recording_without_times_says_so() -> None:
    script = Script().add(call("aten::relu", tensor(10), out=tensor(10)), 0).end_step()
    assert "1 line without times" in repr(Recording(script.run()))


def test_a_recording_without_a_step_says_so_and_raises_nothing() -> None:
    script = Script().add(call("aten::relu", tensor(10), out=tensor(10)), 5)
    assert "no measured step" in repr(Recording(script.run()))


def test_a_recording_under_way_has_a_repr() -> None:
    assert repr(Recording()) == "a recording that is not finished"


def test_an_account_is_one_line_too() -> None:
    """8 flop a product of 2x2 by 2x1: 2*2*2*1; 4 + 2 read and 2 written, 4 B each: 32 B."""
    torch = pytest.importorskip("torch")

    counted = rl.account(torch.mm, torch.ones(2, 2), torch.ones(2, 1))

    assert repr(counted) == "mm: 1 operator call, 8.00 flop and 32.0 B over dram"
    assert counted._repr_html_().startswith("<pre")


def test_what_an_account_leaves_out_is_named() -> None:
    names = ["mine::a", "mine::b", "mine::c", "mine::d", "mine::e"]
    known = {"subject": "step", "calls": 6, "complete": False, "flop": 8, "read": 24, "written": 8}
    missing = [{"name": name, "calls": 1} for name in names]

    assert of_account(known | {"unaccounted": missing[:1]}) == (
        "step: 6 operator calls, at least 8.00 flop and at least 32.0 B over dram; "
        "nothing known of mine::a"
    )
    assert of_account(known | {"unaccounted": missing, "flop": None}) == (
        "step: 6 operator calls, nothing accounted for; "
        "nothing known of mine::a, mine::b, mine::c and 2 more"
    )


def test_a_placement_is_one_line_too() -> None:
    """33,570,816 B over 3.35 TB/s take 10.0 us, 59 % of 17 us."""
    ledger = rl.ops.gemm(m=1, n=4096, k=4096, dtype="fp16")
    sxm = rl.device("h100-sxm")

    assert repr(rl.place(ledger, sxm, time_s=17e-6)) == (
        "10.0 us at the roof, bound by dram: 33.6 MB at 3.35 TB/s (datasheet); "
        "measured 17.0 us, 59% of the roof"
    )
    only_memory = sxm.in_force()
    only_memory = replace(
        only_memory, ceilings=tuple(c for c in only_memory.ceilings if c.resource.unit == "B")
    )
    assert repr(rl.place(ledger, only_memory)).endswith("; no ceiling of tensor-fp16")


def test_wherever_a_device_is_asked_for_its_name_will_do(monkeypatch, tmp_path):
    """The same of the name as of the device, here of its datasheet."""
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))
    h100, ledger = rl.device("h100-sxm"), rl.ops.gemm(m=1, n=64, k=64, dtype="fp16")
    counted = rl.account(torch.mm, torch.zeros(8, 8), torch.zeros(8, 8))

    assert rl.place(ledger, "h100-sxm").roof_s == rl.place(ledger, h100).roof_s
    assert counted.expected("h100-sxm") == counted.expected(h100)
    assert counted.document(device="h100-sxm") == counted.document(device=h100)
    with pytest.raises(NotFound, match="no device 'abacus'"):
        counted.expected("abacus")


def test_files_are_loaded_as_the_command_line_reads_them(tmp_path) -> None:
    """Of two GPUs the one that is meant; and what is said of a saved run is refused."""
    trace = Trace(deviceProperties=[H200, {"id": 1, "name": "NVIDIA A100-SXM4-80GB"}])
    for device, long in ((0, 30), (1, 80)):
        at = 100 * device
        trace.op("aten::relu", at, 5, ([1024], "float"))
        trace.kernel("relu", at + 20, long, launch=at + 1, device=device)
    path = trace.write(tmp_path / "two.json")

    assert rl.load(path, device="cuda:0").run.device.name.startswith("NVIDIA H200")
    found = rl.load(path, device="cuda:1")
    assert found.run.device.name.startswith("NVIDIA A100")
    found.save(tmp_path / "two.roof")
    with pytest.raises(BadInput, match=r"two\.roof is a saved run"):
        rl.load(tmp_path / "two.roof", device="cuda:0")
    with pytest.raises(BadInput, match=r"none\.json"):
        rl.load(tmp_path / "none.json", device="cuda:0")


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"decimal": ";"}, "decimal is '.' or ',', not ';'"),
        ({"ncu_cache": "all"}, "ncu_cache is 'flush' or 'none', not 'all'"),
        ({"ncu_clock": "boost"}, "ncu_clock is 'base' or 'none', not 'boost'"),
    ],
)
def test_a_word_that_no_option_has_is_named(tmp_path, option, told) -> None:
    with pytest.raises(BadInput, match=re.escape(told)):
        rl.load(tmp_path / "any.json", **option)
