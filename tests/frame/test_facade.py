"""``import roofline as rl`` offers what it says it offers, in whatever order it is used."""

import subprocess
import sys

import pytest

import roofline as rl


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
