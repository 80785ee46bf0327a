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
