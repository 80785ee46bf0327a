"""The generated matrix loops: what they count, and that a compiler takes them."""

import shutil
import subprocess

import pytest

from roofline.bench.gpu import tensor
from roofline.bench.gpu.card import Card
from roofline.bench.gpu.kernels import mma, wgmma
from roofline.device import TENSOR_BF16, TENSOR_FP16_SPARSE, TENSOR_FP64, TENSOR_INT8, TENSOR_TF32

NVCC = shutil.which("nvcc")


def chip(capability, units=132):
    return Card(index=0, name="chip", units=units, l2=1, memory=1, capability=capability, uuid="")


def test_work_of_a_warpgroup_turn():
    """64 x 256 x 16 FMA, 64 instructions, 2 warpgroups: 2*64*256*16*64*2 flop."""
    assert wgmma.flop(wgmma.FORMATS["bf16"], sparse=False) == 67_108_864
    assert wgmma.flop(wgmma.FORMATS["bf16"], sparse=True) == 2 * 67_108_864  # zeros count
    assert wgmma.flop(wgmma.FORMATS["tf32"], sparse=False) == 67_108_864 // 2  # k is 8
    # Ones times ones, k = 16, 64 instructions, 2 turns.
    assert wgmma.expected(wgmma.FORMATS["bf16"], 2) == 16 * 64 * 2
    assert wgmma.SHARED == 48 * 1024  # what a block has without asking


def test_work_of_a_warp_turn():
    """16 x 8 x 16 FMA, added and taken away, 8 chains, 8 warps: 2*16*8*16*2*8*8 flop."""
    found = mma.best("bf16", 80)
    assert found is not None
    assert mma.flop(found) == 524_288
    assert mma.expected(found, 2) == 16 * 2 * 2


def test_each_chip_gets_its_best_instruction():
    shapes = {
        cc: [(f := mma.best(name, cc)) and f.shape for name in ("fp16", "fp8", "fp64")]
        for cc in (75, 80, 89, 90)
    }
    assert shapes == {
        75: [None, None, None],
        80: [(16, 8, 16), None, (8, 8, 4)],
        89: [(16, 8, 16), (16, 8, 32), (8, 8, 4)],
        90: [(16, 8, 16), (16, 8, 32), (16, 8, 16)],
    }
    hopper, ampere = chip(90), chip(80, units=108)
    assert tensor.loop(hopper, TENSOR_BF16).instruction == "wgmma m64n256k16"
    assert tensor.loop(hopper, TENSOR_TF32).instruction == "wgmma m64n256k8"
    assert tensor.loop(hopper, TENSOR_FP16_SPARSE).instruction == "wgmma.sp m64n256k32"
    assert tensor.loop(hopper, TENSOR_FP64).instruction == "mma.sync m16n8k16"
    assert tensor.loop(ampere, TENSOR_INT8).instruction == "mma.sync m16n8k32"
    assert tensor.loop(ampere, TENSOR_INT8).grid == 216  # two blocks a multiprocessor
    assert tensor.loop(ampere, TENSOR_FP16_SPARSE) is None
    assert tensor.loop(chip(75), TENSOR_BF16) is None


@pytest.mark.parametrize("capability", [80, 89, 90, 120])
def test_targets(capability):
    wanted = {80: "80", 89: "89", 90: "90a", 120: "120a"}
    assert chip(capability).target == wanted[capability]


@pytest.mark.skipif(NVCC is None, reason="no CUDA compiler on this machine")
@pytest.mark.parametrize(
    ("name", "opcode"), [("bf16", 0x79F0), ("fp8-acc16", 0x79F3), ("int8", 0x79F1)]
)
def test_the_loop_keeps_every_instruction(name, opcode, tmp_path):
    """A turn that starts from zero in plain sight lets the compiler drop all turns but the last, and
    leave empty instructions in their place.  Instructions are 16 B, and the low half-word of a
    warpgroup product is 0x79f0, 0x79f1 or 0x79f3 (HGMMA, IGMMA, QGMMA in a disassembly): the loop
    must hold its 64, and no more.
    """
    image = compiled(wgmma.source(wgmma.FORMATS[name], sparse=False), "90a", tmp_path)
    words = [int.from_bytes(image[at : at + 2], "little") for at in range(0, len(image) - 1, 16)]
    assert words.count(opcode) == 64


@pytest.mark.skipif(NVCC is None, reason="no CUDA compiler on this machine")
@pytest.mark.parametrize(("name", "target"), [("fp64", "90a"), ("fp16", "80"), ("int8", "89")])
def test_a_compiler_takes_warp_loops(name, target, tmp_path):
    form = mma.best(name, int(target.rstrip("a")))
    assert compiled(mma.source(form), target, tmp_path).startswith(b"\x7fELF")


def compiled(source, target, folder):
    (folder / "k.cu").write_text(source)
    subprocess.run(
        [NVCC, "-cubin", "-O3", f"-gencode=arch=compute_{target},code=sm_{target}",
         str(folder / "k.cu"), "-o", str(folder / "k.cubin")],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return (folder / "k.cubin").read_bytes()
