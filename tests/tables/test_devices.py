"""The device files are data, so every one of them is checked, and cells against hand-written rows."""

from datetime import date

import pytest

from roofline import devices
from roofline.device import (
    DRAM,
    L2,
    TENSOR_BF16,
    TENSOR_FP8,
    TENSOR_FP16,
    TENSOR_FP16_ACC16,
    TENSOR_FP64,
    TENSOR_INT8,
    VECTOR_FP16,
    VECTOR_FP32,
    VECTOR_FP64,
    resource,
)
from roofline.devices import datasheet
from roofline.errors import BadInput, NotFound
from roofline.placement import attainable, place, ridge_point
from roofline.provenance import Basis
from roofline.units import parse, show
from roofline.work import Entry, algorithmic

ALL = devices.known()
PRINTED = (Basis.DATASHEET, Basis.DERIVED)


@pytest.fixture(autouse=True)
def _nothing_measured(monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "home"))


def rate(name, pipe):
    """The one rate of `name` on the resource called `pipe`; None when nobody stated it."""
    found = [c for c in devices.find(name).ceilings if c.resource.name == pipe]
    assert len(found) < 2, f"{name} has two ceilings on {pipe}"
    return found[0].rate if found else None


def test_there_are_67():
    assert len(ALL) == 67
    assert len({devices.find(i).name for i in ALL}) == 67
    assert sum(devices.find(i).kind == "cpu" for i in ALL) == 4  # 2 EPYC, Xeon, Grace


@pytest.mark.parametrize("device_id", ALL)
def test_every_number_is_traced(device_id):
    device = devices.find(device_id)
    assert device.id == device_id
    assert device.ceilings
    assert len({c.resource for c in device.ceilings}) == len(device.ceilings)
    assert len({f.name for f in device.facts}) == len(device.facts)
    for number in (*device.ceilings, *device.facts):
        where = number.provenance
        assert where.basis in PRINTED
        assert where.confidence in ("A", "B", "C")
        assert where.as_of <= date.today()
        assert len(where.source) > 10
        if where.basis is Basis.DERIVED:
            formula, _, document = where.source.partition(", from ")
            assert formula
            assert document
        if where.confidence == "A":
            assert "third party" not in where.source
    for ceiling in device.ceilings:
        dense = ceiling.resource.name.startswith("tensor")
        assert ceiling.provenance.conditions.startswith("dense") == dense
        assert "sparse" not in ceiling.resource.name
    for mapped in device.mapped:
        rates = {c.resource for c in device.ceilings}
        assert mapped.lacks not in rates  # it is the pipe it lacks,
        assert mapped.uses in rates  # and the one that does its work has a rate


# Written down from the vendors' documents, not from the data files.
CELLS = [
    ("nvidia-h100-sxm5-80gb", "tensor-bf16", 989.4e12),
    ("nvidia-h100-sxm5-80gb", "tensor-fp8", 1978.9e12),
    ("nvidia-h100-sxm5-80gb", "tensor-int8", 1978.9e12),
    ("nvidia-h100-sxm5-80gb", "vector-fp32", 66.9e12),
    ("nvidia-h100-sxm5-80gb", "dram", 3.35e12),
    ("nvidia-h100-sxm5-80gb", "nvlink", 450e9),  # 900 is both directions
    ("nvidia-h100-sxm5-80gb", "pcie", 64e9),
    ("nvidia-h100-pcie-80gb", "tensor-bf16", 756e12),  # 1513 is sparse
    ("nvidia-h100-pcie-80gb", "dram", 2.0e12),
    ("nvidia-h100-nvl-94gb", "tensor-bf16", 835.5e12),  # one card; 1671 is two, or sparse
    ("nvidia-h200-sxm-141gb", "dram", 4.8e12),
    ("nvidia-h200-sxm-141gb", "tensor-bf16", 989e12),
    ("nvidia-a100-sxm4-80gb", "dram", 2.039e12),
    ("nvidia-a100-pcie-80gb", "dram", 1.935e12),
    ("nvidia-a100-sxm4-40gb", "dram", 1.555e12),
    ("nvidia-a100-sxm4-80gb", "tensor-tf32", 156e12),
    ("nvidia-a100-sxm4-80gb", "tensor-int4", 1248e12),
    ("nvidia-a100-sxm4-80gb", "tensor-fp64", 19.5e12),
    ("nvidia-v100-sxm2-16gb", "tensor-fp16", 125e12),
    ("nvidia-t4", "tensor-fp16", 65e12),
    ("nvidia-t4", "vector-fp64", 0.254e12),
    ("nvidia-p100-sxm2-16gb", "vector-fp16", 21.2e12),
    ("nvidia-rtx-2080-ti", "tensor-fp16", 53.8e12),  # GeForce: half of the next
    ("nvidia-rtx-2080-ti", "tensor-fp16-acc16", 107.6e12),
    ("nvidia-rtx-3090", "tensor-bf16", 71.2e12),  # 142 is with fp16 accumulate
    ("nvidia-rtx-4090", "tensor-fp16", 165.2e12),
    ("nvidia-rtx-4090", "tensor-fp16-acc16", 330.3e12),
    ("nvidia-rtx-4090", "tensor-fp8", 330.3e12),  # 660.6 in the first edition of the whitepaper
    ("nvidia-rtx-4090", "tensor-fp8-acc16", 660.6e12),
    ("nvidia-rtx-a6000", "tensor-bf16", 154.8e12),  # 309.7 is sparse
    ("nvidia-l4", "tensor-bf16", 121e12),
    ("nvidia-l40s", "tensor-fp8", 733e12),
    ("nvidia-rtx-5070", "vector-fp32", 30.9e12),
    ("nvidia-rtx-5070", "tensor-fp16", 61.7e12),
    ("nvidia-rtx-5070", "dram", 672e9),
    ("nvidia-rtx-5090", "tensor-fp4", 1676e12),  # 3352 "AI TOPS" is sparse
    ("nvidia-b200-sxm", "tensor-fp4", 9000e12),
    ("nvidia-b200-sxm", "dram", 7.7e12),
    ("nvidia-gb200", "tensor-bf16", 2500e12),
    ("nvidia-b300-sxm", "tensor-int8", 153.5e12),  # cut on Blackwell Ultra
    ("nvidia-jetson-agx-orin-64gb", "tensor-int8", 85e12),  # 275 adds the DLAs and is sparse
    ("amd-mi100", "tensor-bf16", 92.3e12),  # half of its fp16
    ("amd-mi250x-package", "tensor-bf16", 383e12),
    ("amd-mi250x-gcd", "tensor-bf16", 191.5e12),
    ("amd-mi300x", "tensor-fp8", 2614.9e12),
    ("amd-mi300x", "dram", 5.3e12),
    ("amd-mi355x", "tensor-fp8", 5033e12),  # 10.1 Pflop/s is sparse
    ("intel-gaudi-2", "tensor-bf16", 432e12),
    ("intel-gaudi-2", "network", 300e9),  # RoCE, one direction
    ("intel-max-1550", "dram", 3276.8e9),
    ("google-tpu-v5p", "tensor-bf16", 459e12),
    ("google-tpu-v5p", "dram", 2765e9),
    ("apple-m3-max-40gpu", "vector-fp32", 14.3e12),
    ("amd-epyc-9654", "vector-fp64", 3.69e12),  # 96 cores x 2.4 GHz x 16 = 3.686e12
    ("intel-xeon-8480plus", "tensor-bf16", 114.7e12),  # 56 x 2.0 GHz x 1024 = 114.688e12
    ("nvidia-grace", "vector-fp64", 3.55e12),  # 7.1 / 2
    # Nobody printed these: they are absent, not zero and not guessed.
    ("nvidia-h200-sxm-141gb", "vector-fp16", None),
    ("nvidia-h200-sxm-141gb", "tensor-fp16-acc16", None),
    ("nvidia-h100-sxm5-80gb", "tensor-int4", None),  # gone from Hopper on
    ("nvidia-l4", "tensor-fp16-acc16", None),  # the sheet does not split
    ("nvidia-gb10", "tensor-fp16", None),
    ("nvidia-jetson-thor-t5000", "dram", None),
    ("nvidia-gh200-96gb", "pcie", None),
    ("nvidia-gh200-96gb", "nvlink", None),  # NVLink-C2C goes to its CPU: a fact
    ("amd-mi300x", "nvlink", None),
    ("amd-mi355x", "tensor-tf32", None),
    ("amd-epyc-9754", "vector-fp32", None),
    ("google-tpu-v4", "nvlink", None),
]


@pytest.mark.parametrize(("device_id", "pipe", "expected"), CELLS)
def test_cells(device_id, pipe, expected):
    found = rate(device_id, pipe)
    assert found is None if expected is None else found == pytest.approx(expected, rel=1e-12)


FACTS = [
    ("nvidia-h100-sxm5-80gb", "l2_capacity", 50 * 2**20),
    ("nvidia-h100-sxm5-80gb", "shared_per_sm", 228 * 2**10),
    ("nvidia-h100-sxm5-80gb", "shared_per_block_max", 227 * 2**10),
    ("nvidia-h100-sxm5-80gb", "register_file_per_sm", 65536 * 4),  # 65536 registers of 4 B
    ("nvidia-h100-sxm5-80gb", "sm_count", 132),
    ("nvidia-h100-sxm5-80gb", "boost_clock", 1.98e9),
    ("nvidia-h100-sxm5-80gb", "tensor_clock", 1.83e9),
    ("nvidia-h100-sxm5-80gb", "compute_capability", "9.0"),
    ("nvidia-h100-sxm5-80gb", "link_total", 900e9),
    ("nvidia-h200-sxm-141gb", "memory_label", "141 GB"),
    ("nvidia-a100-sxm4-80gb", "shared_per_block_max", 163 * 2**10),
    ("nvidia-rtx-4090", "warps_per_sm_max", 48),
    ("nvidia-t4", "blocks_per_sm_max", 16),
    ("nvidia-rtx-2080-ti", "l2_capacity", 5.5 * 2**20),
    ("nvidia-b200-sxm", "l2_capacity", 126.5 * 2**20),
    ("amd-mi300x", "l3_capacity", 256 * 2**20),
    ("amd-mi300x", "warp_size", 64),
    ("amd-mi355x", "shared_per_sm", 160 * 2**10),
    ("intel-max-1550", "l2_capacity", 408 * 2**20),
    ("amd-epyc-9654", "l3_capacity", 384 * 2**20),
    ("amd-epyc-9654", "core_count", 96),
    ("google-tpu-v4", "link_per_direction", 6 * 45e9),
    ("nvidia-gh200-96gb", "link_per_direction", 450e9),
]


@pytest.mark.parametrize(("device_id", "name", "expected"), FACTS)
def test_facts(device_id, name, expected):
    fact = devices.find(device_id).fact(name)
    assert fact is not None
    if isinstance(expected, str):
        assert fact.value == expected
    else:
        assert fact.value == pytest.approx(expected, rel=1e-12)
    binary = name.endswith("_capacity") or name.startswith(("shared_", "register_"))
    assert (fact.unit == "B") == binary


# Every device: DRAM [GB/s], L2 [MiB], confidence of its file.
EVERY = {
    "nvidia-p100-sxm2-16gb": (732, 4, "A"),
    "nvidia-p100-pcie-16gb": (732, 4, "B"),
    "nvidia-v100-sxm2-16gb": (900, 6, "A"),
    "nvidia-v100-sxm2-32gb": (900, 6, "A"),
    "nvidia-t4": (320, 4, "A"),
    "nvidia-rtx-2080-ti": (616, 5.5, "A"),
    "nvidia-a10": (600, 6, "B"),
    "nvidia-a30": (933, 24, "B"),
    "nvidia-a40": (696, 6, "A"),
    "nvidia-a100-pcie-40gb": (1555, 40, "A"),
    "nvidia-a100-sxm4-40gb": (1555, 40, "A"),
    "nvidia-a100-pcie-80gb": (1935, 40, "A"),
    "nvidia-a100-sxm4-80gb": (2039, 40, "A"),
    "nvidia-rtx-3090": (936, 6, "A"),
    "nvidia-rtx-a6000": (768, 6, "A"),
    "nvidia-l4": (300, 48, "B"),
    "nvidia-l40": (864, 96, "A"),
    "nvidia-l40s": (864, 96, "A"),
    "nvidia-rtx-4070": (504.2, 36, "B"),
    "nvidia-rtx-4080": (716.8, 64, "B"),
    "nvidia-rtx-4090": (1008, 72, "A"),
    "nvidia-rtx-6000-ada": (960, 96, "A"),
    "nvidia-rtx-5070": (672, 48, "A"),
    "nvidia-rtx-5070-ti": (896, 48, "B"),
    "nvidia-rtx-5080": (960, 64, "B"),
    "nvidia-rtx-5090": (1792, 96, "A"),
    "nvidia-rtx-pro-6000-workstation": (1792, 128, "A"),
    "nvidia-rtx-pro-6000-server": (1597, 128, "C"),
    "nvidia-h100-pcie-80gb": (2000, 50, "A"),
    "nvidia-h100-sxm5-80gb": (3350, 50, "A"),
    "nvidia-h100-nvl-94gb": (3938, 50, "A"),
    "nvidia-h200-sxm-141gb": (4800, 50, "A"),
    "nvidia-h20-96gb": (4000, 60, "C"),
    "nvidia-gh200-96gb": (4000, 50, "A"),
    "nvidia-gh200-144gb": (4900, 50, "A"),
    "nvidia-b100": (8000, None, "C"),
    "nvidia-b200-sxm": (7700, 126.5, "A"),
    "nvidia-gb200": (8000, 129.25, "A"),
    "nvidia-b300-sxm": (7700, 129.25, "B"),
    "nvidia-jetson-agx-orin-64gb": (204.8, 4, "A"),
    "nvidia-jetson-thor-t5000": (None, 32, "C"),
    "nvidia-gb10": (273, None, "B"),
    "amd-mi100": (1228.8, 8, "A"),
    "amd-mi210": (1600, 8, "B"),
    "amd-mi250x-package": (3200, 16, "A"),
    "amd-mi250x-gcd": (1600, 8, "A"),
    "amd-mi300x": (5300, 32, "A"),
    "amd-mi300a": (5300, 24, "A"),
    "amd-mi325x": (6000, 32, "B"),
    "amd-mi350x": (8000, 32, "B"),
    "amd-mi355x": (8000, 32, "B"),
    "amd-rx-7900-xtx": (960, 6, "B"),
    "intel-gaudi-2": (2450, None, "A"),
    "intel-gaudi-3": (3670, None, "A"),
    "intel-max-1550": (3276.8, 408, "B"),
    "google-tpu-v4": (1200, None, "A"),
    "google-tpu-v5e": (819, None, "A"),
    "google-tpu-v5p": (2765, None, "A"),
    "google-tpu-v6e": (1638, None, "A"),
    "apple-m1-max-32gpu": (409.6, None, "C"),
    "apple-m2-max-38gpu": (409.6, None, "C"),
    "apple-m3-max-40gpu": (400, None, "C"),
    "apple-m4-max-40gpu": (546, None, "C"),
    "amd-epyc-9654": (460.8, None, "B"),
    "amd-epyc-9754": (460.8, None, "B"),
    "intel-xeon-8480plus": (307.2, None, "B"),
    "nvidia-grace": (512, None, "A"),
}


@pytest.mark.parametrize("device_id", ALL)
def test_memory_and_confidence_of_every_device(device_id):
    gb_per_s, l2_mib, letter = EVERY[device_id]
    assert rate(device_id, "dram") == (gb_per_s and pytest.approx(gb_per_s * 1e9, rel=1e-12))
    l2 = devices.find(device_id).fact("l2_capacity")
    assert (l2 and l2.value) == (l2_mib and l2_mib * 2**20)
    device = devices.find(device_id)
    # A number may be softer than its file, never firmer.
    assert min(n.provenance.confidence for n in (*device.ceilings, *device.facts)) == letter


def test_memory_labels_are_never_bytes():
    for device_id in ALL:
        label = devices.find(device_id).fact("memory_label")
        assert label is None or (isinstance(label.value, str) and not label.unit)


# Cells that the vendor did not print himself, or that are computed: (device, number, what)
ORIGINS = [
    (
        "nvidia-t4",
        "vector-fp64",
        Basis.DERIVED,
        "A",
        "40 SM x 1.59 GHz x 4 flop/clock, from NVIDIA",
    ),
    ("nvidia-t4", "vector-fp16", Basis.DATASHEET, "C", "TechPowerUp"),
    ("nvidia-h100-sxm5-80gb", "tensor-bf16", Basis.DATASHEET, "A", "NVIDIA H100 Tensor Core GPU"),
    ("nvidia-h20-96gb", "dram", Basis.DATASHEET, "C", "third party"),
    ("nvidia-rtx-a6000", "nvlink", Basis.DATASHEET, "C", "third party"),  # half of a third party's
    ("nvidia-rtx-4080", "tensor-bf16", Basis.DERIVED, "B", "76 SM x 2.505 GHz x 512 flop/clock"),
    ("nvidia-rtx-5070", "tensor-tf32", Basis.DERIVED, "A", "48 SM x 2.512 GHz x 256 flop/clock"),
    ("nvidia-p100-pcie-16gb", "dram", Basis.DATASHEET, "C", "TechPowerUp"),
    ("amd-mi250x-gcd", "tensor-fp16", Basis.DERIVED, "A", "half of the package"),
    ("amd-mi355x", "tensor-fp8", Basis.DERIVED, "B", "256 CU x 2.4 GHz x 8192 flop/clock"),
    ("google-tpu-v5p", "tensor-int8", Basis.DATASHEET, "C", "third party"),
    ("apple-m4-max-40gpu", "vector-fp32", Basis.DERIVED, "C", "13.74 Tflop/s"),  # x 40/32 = 17.2
    ("amd-epyc-9654", "vector-fp32", Basis.DERIVED, "B", "96 cores x 2.4 GHz (base) x 32"),
    ("nvidia-grace", "vector-fp64", Basis.DERIVED, "A", "7.1 Tflop/s of the superchip"),
]


@pytest.mark.parametrize(("device_id", "pipe", "basis", "letter", "words"), ORIGINS)
def test_origins(device_id, pipe, basis, letter, words):
    found = {c.resource.name: c.provenance for c in devices.find(device_id).ceilings}[pipe]
    assert (found.basis, found.confidence) == (basis, letter)
    assert words in found.source


# Flop (op for int8, int4) a clock and SM or CU, FMA = 2, dense, by family.
PER_CLOCK = {
    "gp100": {"vector-fp64": 64, "vector-fp32": 128, "vector-fp16": 256},
    "gv100": {"vector-fp64": 64, "vector-fp32": 128, "vector-fp16": 256, "tensor-fp16": 1024, "tensor-fp16-acc16": 1024},
    "turing geforce": {"vector-fp64": 4, "vector-fp32": 128, "vector-fp16": 256, "tensor-fp16": 512, "tensor-fp16-acc16": 1024, "tensor-int8": 2048, "tensor-int4": 4096},
    "turing": {"vector-fp64": 4, "vector-fp32": 128, "vector-fp16": 256, "tensor-fp16": 1024, "tensor-fp16-acc16": 1024, "tensor-int8": 2048, "tensor-int4": 4096},
    "ga100": {"vector-fp64": 64, "vector-fp32": 128, "vector-fp16": 512, "tensor-fp64": 128, "tensor-tf32": 1024, "tensor-fp16": 2048, "tensor-fp16-acc16": 2048, "tensor-bf16": 2048, "tensor-int8": 4096, "tensor-int4": 8192},
    "ga10x": {"vector-fp64": 4, "vector-fp32": 256, "vector-fp16": 256, "tensor-tf32": 512, "tensor-fp16": 1024, "tensor-fp16-acc16": 1024, "tensor-bf16": 1024, "tensor-int8": 2048, "tensor-int4": 4096},
    "ga10x geforce": {"vector-fp64": 4, "vector-fp32": 256, "vector-fp16": 256, "tensor-tf32": 256, "tensor-fp16": 512, "tensor-fp16-acc16": 1024, "tensor-bf16": 512, "tensor-int8": 2048, "tensor-int4": 4096},
    "orin": {"vector-fp32": 256, "tensor-int8": 4096},
    "ada": {"vector-fp64": 4, "vector-fp32": 256, "vector-fp16": 256, "tensor-tf32": 512, "tensor-fp16": 1024, "tensor-fp16-acc16": 1024, "tensor-bf16": 1024, "tensor-fp8": 2048, "tensor-int8": 2048, "tensor-int4": 4096},
    "ada geforce": {"vector-fp64": 4, "vector-fp32": 256, "vector-fp16": 256, "tensor-tf32": 256, "tensor-fp16": 512, "tensor-fp16-acc16": 1024, "tensor-bf16": 512, "tensor-fp8": 1024, "tensor-fp8-acc16": 2048, "tensor-int8": 2048, "tensor-int4": 4096},
    "gh100": {"vector-fp64": 128, "vector-fp32": 256, "vector-fp16": 512, "tensor-fp64": 256, "tensor-tf32": 2048, "tensor-fp16": 4096, "tensor-fp16-acc16": 4096, "tensor-bf16": 4096, "tensor-fp8": 8192, "tensor-fp8-acc16": 8192, "tensor-int8": 8192},
    "gb100": {"vector-fp64": 128, "vector-fp32": 256, "tensor-fp64": 128, "tensor-tf32": 4096, "tensor-fp16": 8192, "tensor-bf16": 8192, "tensor-fp8": 16384, "tensor-fp4": 32768, "tensor-int8": 16384},
    "gb110": {"vector-fp64": 4, "vector-fp32": 256, "tensor-tf32": 4096, "tensor-fp16": 8192, "tensor-bf16": 8192, "tensor-fp8": 16384, "tensor-fp4": 49152, "tensor-int8": 512},
    "thor": {"tensor-fp4": 32768},
    "gb20x geforce": {"vector-fp64": 4, "vector-fp32": 256, "vector-fp16": 256, "tensor-tf32": 256, "tensor-fp16": 512, "tensor-fp16-acc16": 1024, "tensor-bf16": 512, "tensor-fp8": 1024, "tensor-fp8-acc16": 2048, "tensor-fp4": 4096, "tensor-int8": 2048},
    "gb202": {"vector-fp64": 4, "vector-fp32": 256, "vector-fp16": 256, "tensor-tf32": 512, "tensor-fp16": 1024, "tensor-fp16-acc16": 1024, "tensor-bf16": 1024, "tensor-fp8": 2048, "tensor-fp4": 4096, "tensor-int8": 2048},
    "mi100": {"vector-fp64": 64, "vector-fp32": 128, "tensor-fp16": 1024, "tensor-bf16": 512, "tensor-int8": 1024},
    "mi200": {"vector-fp64": 128, "vector-fp32": 128, "tensor-fp64": 256, "tensor-fp16": 1024, "tensor-bf16": 1024, "tensor-int8": 1024, "tensor-int4": 1024},
    "mi300": {"vector-fp64": 128, "vector-fp32": 256, "tensor-fp64": 256, "tensor-tf32": 1024, "tensor-fp16": 2048, "tensor-bf16": 2048, "tensor-fp8": 4096, "tensor-int8": 4096},
    "mi350": {"vector-fp64": 128, "vector-fp32": 256, "tensor-fp64": 128, "tensor-fp16": 4096, "tensor-bf16": 4096, "tensor-fp8": 8192, "tensor-fp4": 16384, "tensor-int8": 8192},
    "rdna3": {"vector-fp64": 8, "vector-fp32": 256, "vector-fp16": 512},
    "max": {"vector-fp64": 256, "vector-fp32": 256, "tensor-bf16": 4096, "tensor-int8": 8192},
}  # fmt: skip
FAMILY = {
    "gp100": ["p100-sxm2-16gb", "p100-pcie-16gb"], "gv100": ["v100-sxm2-16gb", "v100-sxm2-32gb"],
    "turing geforce": ["rtx-2080-ti"], "turing": ["t4"],
    "ga100": ["a30", "a100-pcie-40gb", "a100-sxm4-40gb", "a100-pcie-80gb", "a100-sxm4-80gb"],
    "ga10x": ["a10", "a40", "rtx-a6000"], "ga10x geforce": ["rtx-3090"], "orin": ["jetson-agx-orin-64gb"],
    "ada": ["l4", "l40", "l40s", "rtx-6000-ada"], "ada geforce": ["rtx-4070", "rtx-4080", "rtx-4090"],
    "gh100": ["h100-pcie-80gb", "h100-sxm5-80gb", "h100-nvl-94gb", "h200-sxm-141gb", "gh200-96gb", "gh200-144gb"],
    "gb100": ["b200-sxm", "gb200"], "gb110": ["b300-sxm"], "thor": ["jetson-thor-t5000"],
    "gb20x geforce": ["rtx-5070", "rtx-5070-ti", "rtx-5080", "rtx-5090"], "gb202": ["rtx-pro-6000-workstation"],
    "mi100": ["mi100"], "mi200": ["mi210", "mi250x-gcd", "mi250x-package"],
    "mi300": ["mi300x", "mi300a", "mi325x"], "mi350": ["mi350x", "mi355x"], "rdna3": ["rx-7900-xtx"],
    "max": ["max-1550"],
}  # fmt: skip
# Printed over computed, where the sheet is known to use another clock or to disagree with itself;
# 1.0 everywhere else.  A sparse figure would stand at twice its number here.
SLOWER_TENSOR = ("tensor-tf32", "tensor-fp16", "tensor-bf16", "tensor-fp8", "tensor-fp4", "tensor-int8", "tensor-int4")  # fmt: skip
ODD = (
    # tensor rates printed at half of 142 SM x the professional Ada rate
    {("nvidia-l40", pipe): 0.500 for pipe in SLOWER_TENSOR}
    | {("nvidia-l40s", "tensor-int4"): 0.500}  # printed equal to int8
    | {("nvidia-h100-nvl-94gb", pipe): 0.866 for pipe in SLOWER_TENSOR}  # 1545 / 1785 MHz
    | {("nvidia-b200-sxm", pipe): 0.944 for pipe in SLOWER_TENSOR}  # 1856 / 1965 MHz
    | {("nvidia-gb200", pipe): 0.974 for pipe in SLOWER_TENSOR}  # 2008 / 2062 MHz
    | {("nvidia-b300-sxm", pipe): 0.913 for pipe in SLOWER_TENSOR}  # 1856 / 2032 MHz
    # The sheets print tf32 as 2.2 Pflop/s sparse, which is 2.25 rounded: 1100 / 1125 of the above.
    | {("nvidia-b200-sxm", "tensor-tf32"): 0.923, ("nvidia-b300-sxm", "tensor-tf32"): 0.893}
    | {("nvidia-b300-sxm", "tensor-int8"): 0.997, ("nvidia-b300-sxm", "vector-fp32"): 0.974}
    # 9.3 Tflop/s implies 1297 MHz, TechPowerUp lists 1329.
    | {("nvidia-p100-pcie-16gb", "vector-fp32"): 0.976}
)


@pytest.mark.parametrize("member", [m for members in FAMILY.values() for m in members])
def test_no_rate_is_sparse(member):
    """Units x clock x flop a clock, for every rate of the device."""
    (family,) = (name for name, members in FAMILY.items() if member in members)
    device = devices.find(member)
    units, boost = device.fact("sm_count").value, device.fact("boost_clock").value
    tensor = device.fact("tensor_clock")
    for ceiling in device.ceilings:
        pipe = ceiling.resource.name
        if not ceiling.resource.is_pipe:
            continue
        # Hopper's matrix units run slower than its other pipes, but for fp64.
        slow = tensor is not None and pipe.startswith("tensor") and pipe != "tensor-fp64"
        clock = tensor.value if slow else boost
        ratio = ceiling.rate / (units * clock * PER_CLOCK[family][pipe])
        assert ratio == pytest.approx(ODD.get((device.id, pipe), 1.0), rel=0.02), pipe


def test_devices_without_a_family_have_too_little_to_check():
    """No clock or no unit count was published, or there is no constant per clock."""
    families = {devices.find(member).id for members in FAMILY.values() for member in members}
    assert set(ALL) - families == {
        "nvidia-h20-96gb", "nvidia-b100", "nvidia-gb10", "nvidia-rtx-pro-6000-server", "nvidia-grace",
        "intel-gaudi-2", "intel-gaudi-3", "intel-xeon-8480plus", "amd-epyc-9654", "amd-epyc-9754",
        "google-tpu-v4", "google-tpu-v5e", "google-tpu-v5p", "google-tpu-v6e",
        "apple-m1-max-32gpu", "apple-m2-max-38gpu", "apple-m3-max-40gpu", "apple-m4-max-40gpu",
    }  # fmt: skip


# The ridge points that name devices: flop/s over B/s.
RIDGES = [
    ("nvidia-rtx-5070", "vector-fp32", 45.98),  # 30.9 / 0.672 = 45.982
    ("nvidia-rtx-5070", "tensor-fp16", 91.82),  # 61.7 / 0.672 = 91.815
    ("nvidia-h100-sxm5-80gb", "tensor-bf16", 295.34),  # 989.4 / 3.35 (989 / 3.35 = 295.22)
    ("nvidia-h100-sxm5-80gb", "tensor-fp8", 590.72),  # 1978.9 / 3.35
    ("nvidia-a100-sxm4-80gb", "tensor-bf16", 153.02),  # 312 / 2.039 (156 at 2.0 TB/s)
    ("nvidia-h200-sxm-141gb", "tensor-bf16", 206.04),  # 989 / 4.8
]


@pytest.mark.parametrize(("device_id", "pipe", "expected"), RIDGES)
def test_ridge_points(device_id, pipe, expected):
    roof = devices.find(device_id).roof(*PRINTED)
    ridge = ridge_point(roof.ceiling(resource(pipe)), roof.ceiling(DRAM))
    assert ridge == pytest.approx(expected, abs=0.005)


def test_intensity_ten_on_the_rtx_5070():
    """10 flop/B x 672 GB/s = 6.72 Tflop/s, 21.7 % of 30.9; quantisation moves the H100's ridge."""
    roof = devices.find("rtx-5070").roof(*PRINTED)
    reached = attainable(10.0, DRAM, roof.ceiling(VECTOR_FP32), roof.ceiling(DRAM))
    assert reached == pytest.approx(6.72e12, rel=1e-12)
    assert reached / 30.9e12 == pytest.approx(0.2175, abs=5e-5)
    h100 = devices.find("h100-sxm").roof(*PRINTED)
    memory = h100.ceiling(DRAM)
    assert ridge_point(h100.ceiling(TENSOR_BF16), memory) < 400
    assert ridge_point(h100.ceiling(TENSOR_FP8), memory) > 400


def test_p1_dense_is_half_of_the_headline():
    """H100 SXM bf16: 132 SM x 4096 flop/clock x 1.83 GHz = 989.4e12; 480 Tflop/s is 48.5 % of it."""
    peak = rate("h100-sxm", "tensor-bf16")
    assert peak == pytest.approx(132 * 4096 * 1.83e9, rel=1e-4)
    assert 480e12 / peak == pytest.approx(0.485, abs=5e-4)


def test_p3_two_accumulators_are_two_pipes():
    """A GeForce runs fp16 with fp32 accumulate at half rate; a professional card does not.

    The RTX 4060 (24 SM, 2.46 GHz) has the same rates per clock as the RTX 4090 here: 24 x 2.46e9 x
    512 = 30.23e12 and x 1024 = 60.46e12; a 2048^3 product (2 x 2048^3 = 17.18e9 flop) in 602.720 us
    is 94.3 % of the first, in 336.352 us 84.5 % of the second.
    """
    geforce = devices.find("rtx-4090")
    per_clock = {
        pipe: rate("rtx-4090", pipe.name)
        / (geforce.fact("sm_count").value * geforce.fact("boost_clock").value)
        for pipe in (TENSOR_FP16, TENSOR_FP16_ACC16)
    }
    flop = 2 * 2048**3
    wide = round(per_clock[TENSOR_FP16]) * 24 * 2.46e9
    narrow = round(per_clock[TENSOR_FP16_ACC16]) * 24 * 2.46e9
    assert (wide, narrow) == pytest.approx((30.23e12, 60.46e12), rel=2e-4)
    assert flop / 602.720e-6 / wide == pytest.approx(0.943, abs=5e-4)
    assert flop / 336.352e-6 / narrow == pytest.approx(0.845, abs=5e-4)
    assert rate("rtx-6000-ada", "tensor-fp16") == rate("rtx-6000-ada", "tensor-fp16-acc16")


def test_b4_decimal_rates_and_binary_capacities():
    """1 GiB in 1 ms is 1073.74 GB/s; 3.35 TB/s is 3119.9 GiB/s; a cache of 50 MiB is 52,428,800 B."""
    assert show(2**30 / 1e-3, "B/s") == "1.07 TB/s"
    assert round(2**30 / 1e-3 / 1e9, 2) == 1073.74
    assert parse("1000 GiB/s", "B/s") == pytest.approx(2**30 / 1e-3, rel=1e-12)
    assert rate("h100-sxm", "dram") / 2**30 == pytest.approx(3119.9, abs=0.05)
    assert devices.find("h100-sxm").fact("l2_capacity").value == 52_428_800


def test_pipes_that_a_device_lacks():
    """A P100 has no tensor cores: half products run on its fp32 units when they accumulate in fp32."""
    p100 = devices.find("p100-sxm2")
    roof = p100.roof(*PRINTED)
    assert roof.ceiling(TENSOR_FP16).resource == VECTOR_FP32
    assert roof.ceiling(TENSOR_FP16_ACC16).resource == VECTOR_FP16
    assert roof.ceiling(TENSOR_FP64).resource == VECTOR_FP64
    flop = algorithmic(Entry(TENSOR_FP16, 10_600_000_000, "a product"))
    assert place(flop, roof).roof_s == pytest.approx(1e-3)  # 10.6e9 flop / 10.6e12 flop/s
    # Turing and Volta have fp16 tensor cores, but neither bf16 nor tf32.
    assert devices.find("t4").roof(*PRINTED).ceiling(TENSOR_BF16).resource == VECTOR_FP32
    # An empty cell is not evidence: the H20 may have the pipe.
    assert devices.find("h20").roof(*PRINTED).ceiling(TENSOR_FP64) is None
    for device_id in ALL:
        for mapped in devices.find(device_id).mapped:
            assert mapped.lacks.name.startswith("tensor")
            assert mapped.uses.name.startswith("vector")
            assert mapped.why


def test_a_datasheet_roof_has_no_cache_rates():
    roof = devices.find("h100-sxm").roof(*PRINTED)
    assert roof.ceiling(L2) is None
    assert roof.innermost(1 << 20) == DRAM  # capacity is known, its rate is not


def test_the_gcd_is_half_of_the_package():
    gcd, package = (devices.find(f"mi250x-{part}") for part in ("gcd", "package"))
    for pipe in (TENSOR_BF16, TENSOR_INT8, DRAM):
        half, whole = (
            next(c.rate for c in d.ceilings if c.resource == pipe) for d in (gcd, package)
        )
        assert 2 * half == pytest.approx(whole, rel=1e-12)


NAMES = [
    ("NVIDIA H100 80GB HBM3", "nvidia-h100-sxm5-80gb"),
    ("h100-sxm", "nvidia-h100-sxm5-80gb"), ("h100-sxm5", "nvidia-h100-sxm5-80gb"),
    ("H100_SXM5 80GB", "nvidia-h100-sxm5-80gb"), ("nvidia-h100-sxm5-80gb", "nvidia-h100-sxm5-80gb"),
    ("NVIDIA H100 PCIe", "nvidia-h100-pcie-80gb"), ("NVIDIA H100 NVL", "nvidia-h100-nvl-94gb"),
    ("NVIDIA H200", "nvidia-h200-sxm-141gb"), ("h200", "nvidia-h200-sxm-141gb"),
    ("NVIDIA H20", "nvidia-h20-96gb"), ("NVIDIA GH200 480GB", "nvidia-gh200-96gb"),
    ("NVIDIA GH200 144G HBM3e", "nvidia-gh200-144gb"), ("NVIDIA B200", "nvidia-b200-sxm"),
    ("b200", "nvidia-b200-sxm"), ("NVIDIA GB200", "nvidia-gb200"),
    ("NVIDIA B300 SXM6 AC", "nvidia-b300-sxm"), ("NVIDIA GB10", "nvidia-gb10"),
    ("a100-sxm4-80gb", "nvidia-a100-sxm4-80gb"), ("NVIDIA A100-SXM4-80GB", "nvidia-a100-sxm4-80gb"),
    ("NVIDIA A100-PG509-200", "nvidia-a100-sxm4-40gb"), ("NVIDIA PG509-210", "nvidia-a100-sxm4-80gb"),
    ("NVIDIA A100-SXM4-40GB", "nvidia-a100-sxm4-40gb"), ("NVIDIA A100-PCIE-40GB", "nvidia-a100-pcie-40gb"),
    ("NVIDIA A100 80GB PCIe", "nvidia-a100-pcie-80gb"),
    ("Tesla V100-SXM2-16GB", "nvidia-v100-sxm2-16gb"), ("Tesla V100-SXM2-32GB", "nvidia-v100-sxm2-32gb"),
    ("v100 32gb", "nvidia-v100-sxm2-32gb"), ("Tesla P100-PCIE-16GB", "nvidia-p100-pcie-16gb"),
    ("Tesla T4", "nvidia-t4"), ("NVIDIA GeForce RTX 2080 Ti", "nvidia-rtx-2080-ti"),
    ("NVIDIA GeForce RTX 3090", "nvidia-rtx-3090"), ("NVIDIA GeForce RTX 4090", "nvidia-rtx-4090"),
    ("4090", "nvidia-rtx-4090"), ("rtx-5070", "nvidia-rtx-5070"), ("RTX 5070 Ti", "nvidia-rtx-5070-ti"),
    ("NVIDIA RTX A6000", "nvidia-rtx-a6000"), ("NVIDIA RTX 6000 Ada Generation", "nvidia-rtx-6000-ada"),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "nvidia-rtx-pro-6000-server"),
    ("NVIDIA A10", "nvidia-a10"), ("NVIDIA L4", "nvidia-l4"), ("NVIDIA L40", "nvidia-l40"),
    ("l40s", "nvidia-l40s"), ("AMD Instinct MI300X", "amd-mi300x"), ("mi300x", "amd-mi300x"),
    ("AMD Instinct MI300X OAM", "amd-mi300x"), ("AMD Instinct MI250X", "amd-mi250x-gcd"),
    ("AMD Instinct MI210", "amd-mi210"), ("AMD Radeon RX 7900 XTX", "amd-rx-7900-xtx"),
    ("GAUDI2", "intel-gaudi-2"), ("Intel(R) Data Center GPU Max 1550", "intel-max-1550"),
    ("TPU v5 lite", "google-tpu-v5e"), ("TPU v5", "google-tpu-v5p"), ("v6e", "google-tpu-v6e"),
    ("Apple M1 Max", "apple-m1-max-32gpu"), ("m3 max", "apple-m3-max-40gpu"),
    ("AMD EPYC 9654 96-Core Processor", "amd-epyc-9654"),
    ("Intel(R) Xeon(R) Platinum 8480+", "intel-xeon-8480plus"), ("grace", "nvidia-grace"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "device_id"), NAMES)
def test_names(name, device_id):
    assert devices.find(name).id == device_id


def test_every_device_answers_to_its_id_and_its_names_and_to_nobody_elses():
    claimed = {}
    for device_id in ALL:
        device = devices.find(device_id)
        for name in (device_id, device.name, *device.aliases):
            assert devices.find(name).id == device_id, name
            assert claimed.setdefault(name.lower(), device_id) == device_id
        assert devices.find(device.name.partition(" ")[2]).id == device_id  # without its maker
    assert set(datasheet.aliases()) == set(ALL)


AMBIGUOUS = [
    ("h100", {"nvidia-h100-nvl-94gb", "nvidia-h100-pcie-80gb", "nvidia-h100-sxm5-80gb"}),
    ("NVIDIA H100", {"nvidia-h100-nvl-94gb", "nvidia-h100-pcie-80gb", "nvidia-h100-sxm5-80gb"}),
    ("a100", {f"nvidia-a100-{form}-{size}gb" for form in ("pcie", "sxm4") for size in (40, 80)}),
    ("a100 80gb", {"nvidia-a100-pcie-80gb", "nvidia-a100-sxm4-80gb"}),
    ("a100-sxm", {"nvidia-a100-sxm4-40gb", "nvidia-a100-sxm4-80gb"}),
    ("v100", {"nvidia-v100-sxm2-16gb", "nvidia-v100-sxm2-32gb"}),
    ("mi250x", {"amd-mi250x-gcd", "amd-mi250x-package"}),
    ("gh200", {"nvidia-gh200-96gb", "nvidia-gh200-144gb"}),
]


@pytest.mark.parametrize(("name", "candidates"), AMBIGUOUS)
def test_an_ambiguous_name_lists_its_candidates_and_no_others(name, candidates):
    with pytest.raises(NotFound, match="is more than one device") as error:
        devices.find(name)
    assert {word.strip(",;:") for word in str(error.value).split()} & set(ALL) == candidates


UNKNOWN = [
    ("rtx 2080", "nvidia-rtx-2080-ti"),  # another card, not a short form
    ("NVIDIA A10G", "nvidia-a10"),
    ("NVIDIA GeForce RTX 5070 Laptop GPU", "nvidia-rtx-5070"),
    ("NVIDIA H200 NVL", "nvidia-h200-sxm-141gb"),
    ("h100-sxm4", "nvidia-h100-sxm5-80gb"),
    ("Apple M4", "apple-m4-max-40gpu"),
    ("NVIDIA GB300", "nvidia-b300-sxm"),
    ("Orin", "nvidia-jetson-agx-orin-64gb"),  # what every Orin prints
    ("mi300", "amd-mi300x"),
]


@pytest.mark.parametrize(("name", "near"), UNKNOWN)
def test_an_unknown_name_lists_the_nearest(name, near):
    with pytest.raises(NotFound, match=f"no device '{name}'; the nearest (is|are) .*{near}"):
        devices.find(name)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("rtx4091", {"nvidia-rtx-4090"}),  # not the 4080, nor the 5090
        ("h20o", {"nvidia-h20-96gb", "nvidia-h200-sxm-141gb"}),
        ("epyc 9655", {"amd-epyc-9654", "amd-epyc-9754"}),
    ],
)
def test_only_what_is_near_is_named(name, near):
    with pytest.raises(NotFound, match="the nearest") as error:
        devices.find(name)
    assert {word.strip(",;:") for word in str(error.value).split()} & set(ALL) == near


@pytest.mark.parametrize("name", ["", "  ", "---", "zzzzzz", "h9000", "NVIDIA Z900", "rtx 12345"])
def test_a_name_that_is_near_nothing_says_where_the_list_is(name):
    with pytest.raises(
        NotFound, match=f"no device '{name}'; `roofline devices` lists the 67 there are"
    ):
        devices.find(name)


def test_one_device_by_id_reads_one_data_file(monkeypatch):
    opened = []
    read_bytes = datasheet.Path.read_bytes
    monkeypatch.setattr(
        datasheet.Path, "read_bytes", lambda path: opened.append(path.name) or read_bytes(path)
    )
    devices.find("NVIDIA H100 80GB HBM3")
    assert [name for name in opened if name in {f"{i}.toml" for i in ALL}] == [
        "nvidia-h100-sxm5-80gb.toml"
    ]


GOOD = """
name = "Toy"
kind = "gpu"
sources = ["H200DS"]
confidence = "A"
as_of = 2026-11-29
ceilings = [{ resource = "dram", rate = "4.8 TB/s" }]
"""

FAULTS = [
    ("rate =", "rat =", r"toy.toml: .*rat.* - at `\$.ceilings\[0\]`"),
    ('"4.8 TB/s"', '"4.8 TiB"', r"toy.toml: ceilings\[0\]: expected a quantity in B/s"),
    ('"4.8 TB/s"', "4.8e12", r"toy.toml: Expected `str`, got `float` - at `\$.ceilings\[0\].rate`"),
    ('"dram"', '"hbm"', r"toy.toml: ceilings\[0\]: no resource 'hbm'"),
    ('"4.8 TB/s"', '"0 TB/s"', r"toy.toml: ceilings\[0\]: ceiling on 'dram' must be a positive"),
    ('"H200DS"', '"H201DS"', r"toy.toml: ceilings\[0\]: no source 'H201DS'"),
    ('"A"', '"D"', r"toy.toml: Invalid enum value 'D' - at `\$.confidence`"),
    ('kind = "gpu"', "", r"toy.toml: Object missing required field `kind`"),
    ("2026-11-29", '"soon"', r"toy.toml: .*`\$.as_of`"),
    ('"4.8 TB/s" }', '"4.8 TB/s", basis = "derived" }', r"toy.toml: ceilings\[0\]: a derived number needs"),
    ("ceilings = [", 'mapped = [{ lacks = "tensor-fp99", uses = "dram", why = "" }]\nceilings = [', r"toy.toml: mapped\[0\]: no resource"),
    ("ceilings = [", 'facts = [{ name = "l2_capacity", value = 50, unit = "B" }]\nceilings = [', r"toy.toml: facts\[0\] l2_capacity: expected a quantity in B"),
    ("ceilings = [", "ceilings = [[", r"toy.toml: "),
]  # fmt: skip


def test_a_file_is_decoded_strictly(monkeypatch, tmp_path):
    monkeypatch.setattr(datasheet, "DATA", tmp_path)
    (tmp_path / "toy.toml").write_text(GOOD)
    assert datasheet.load("toy").ceilings[0].rate == 4.8e12
    for old, new, message in FAULTS:
        assert old in GOOD
        (tmp_path / "toy.toml").write_text(GOOD.replace(old, new))
        with pytest.raises(BadInput, match=message):
            datasheet.load("toy")
