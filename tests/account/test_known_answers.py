"""Formulas against what the counters of an H200 saw of the same operators."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from roofline.device import VECTOR_FP32

ROOT = Path(__file__).parents[2]


def load_tool():
    path = ROOT / "tools" / "known_answers.py"
    spec = importlib.util.spec_from_file_location("known_answers_tool", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tool = load_tool()
MACHINE = json.loads(tool.MACHINE.read_text())
HAS_TRITON = importlib.util.find_spec("triton") is not None
NAMES = [case.name for case in tool.cases().CASES if HAS_TRITON or not case.kernel]


@pytest.fixture(scope="module")
def answers():
    return {answer.name: answer for answer in tool.answers(kernels=HAS_TRITON)}


def test_every_case_was_profiled(answers):
    assert list(answers) == NAMES
    assert not MACHINE["skipped"]


MATRICES = ("gemm", "conv", "attention", "lstm", "gru", "triton product")
ON_TENSOR_CORES = [
    name
    for name in NAMES
    if name.startswith(MATRICES) and ("fp32" not in name or name == "attention forward fp32")
]


@pytest.mark.parametrize("name", ON_TENSOR_CORES)
def test_tensor_flop_are_the_formula_where_nothing_is_padded(answers, name):
    answer = answers[name]
    pipe = answer.pipe
    assert pipe.name.startswith("tensor")
    formula, counter = answer.algorithmic.demand()[pipe], tool.ran(answer, pipe)
    if answer.padded:
        assert counter > formula
        assert counter >= answer.by_rule[pipe]
    else:
        assert counter == formula == answer.by_rule.get(pipe, formula)


def test_sizes_of_the_products(answers):
    cube = 2 * 4096**3
    assert cube == 137_438_953_472
    for kind, pipe in (("tf32", "tensor-tf32"), ("bf16", "tensor-bf16"), ("fp16", "tensor-fp16"),
                       ("fp8", "tensor-fp8"), ("int8", "tensor-int8")):  # fmt: skip
        seen = {r.name: n for r, n in answers[f"gemm {kind} 4096"].executed.items()}
        assert seen[pipe] == cube
    # Without tensor cores: every multiply-add, and two more flop a result (alpha and beta).
    seen = {r.name: n for r, n in answers["gemm fp32 4096"].executed.items()}
    assert cube < seen["vector-fp32"] == cube + 2 * 4096**2


def test_attention_runs_the_tiles_and_products_that_its_rule_says(answers):
    # B4 H16 S2048 D128: 4*64*2048*2048*128; causal 136 of 256 tiles; backward five halves.
    dense = 4 * 64 * 2048 * 2048 * 128
    causal = dense * 136 // 256
    expected = {
        "attention forward": dense, "attention forward causal": causal,
        "attention backward": dense * 5 // 2, "attention backward causal": causal * 5 // 2,
        "attention forward efficient": dense, "attention forward cudnn": dense,
        # flex: the scores once for dQ and once for dK and dV, so seven products where there are two
        "attention flex forward": dense, "attention flex backward": dense * 7 // 2,
        # B2 H8 S1024 D64 in fp32: three products of tf32 each
        "attention forward fp32": 3 * 4 * 16 * 1024 * 1024 * 64,
    }  # fmt: skip
    for name, flop in expected.items():
        answer = answers[name]
        assert answer.executed[answer.pipe] == answer.by_rule[answer.pipe] == flop


def test_a_library_may_run_less_than_the_formula(answers):
    """By Fourier transforms, or without the taps that fall on padding: 2 * 9 flop an output else."""

    def flop(name):
        seen = answers[name]
        return seen.algorithmic.demand()[VECTOR_FP32], seen.executed[VECTOR_FP32]

    formula, counter = flop("conv fp32 3x3")
    assert formula == 2 * 9 * 64 * 128 * 16 * 56 * 56
    assert 0.49 * formula < counter < 0.5 * formula
    assert {case.name for case in tool.cases().CASES if case.fewer} == {
        "conv fp32 3x3", "conv fp32 depthwise"
    }  # fmt: skip
    assert any("fft2d" in kernel for kernel in answers["conv fp32 3x3"].kernels)
    formula, counter = flop("conv fp32 depthwise")
    assert formula == 2 * (3 * 112) ** 2 * 256 * 16
    assert counter == 2 * (3 * 112 - 2) ** 2 * 256 * 16
    formula, counter = flop("conv fp32 5x5")
    assert formula == 2 * 25 * 64 * 64 * 16 * 64 * 64
    assert formula <= counter < 1.001 * formula


def test_a_fourier_transform_is_near_its_estimate(answers):
    """4,096 transforms of 16,384 points: 5 n log2 n."""
    answer = answers["fft complex"]
    estimate = answer.algorithmic.demand()[VECTOR_FP32]
    assert estimate == 4096 * 5 * 16_384 * 14
    assert answer.executed[VECTOR_FP32] == pytest.approx(estimate, rel=0.01)


STREAMS = [case.name for case in tool.cases().CASES if case.streams and case.name in NAMES]


@pytest.mark.parametrize("name", STREAMS)
def test_bytes_of_what_streams(answers, name):
    answer = answers[name]
    read = answer.algorithmic.traffic(tool.DRAM, "read")
    written = answer.algorithmic.traffic(tool.DRAM, "write")
    assert read + written > 4 * MACHINE["l2"]
    assert read <= answer.read <= 1.02 * read
    launches = len(answer.kernels)
    assert launches == 1 or name == "adam fused"
    assert 0 <= written - answer.written <= launches * MACHINE["l2"]


def test_nothing_reads_less_than_its_operands(answers):
    for answer in answers.values():
        assert answer.read >= answer.algorithmic.traffic(tool.DRAM, "read")


@pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed here")
def test_the_interpreter_counts_what_a_gpu_counts(answers):
    for name in ("triton add", "triton softmax"):
        assert answers[name].algorithmic.demand()[tool.L2] == answers[name].requested
    # Some of what a product's programs ask for is still in their L1.
    product = answers["triton product"]
    assert 0.8 < product.requested / product.algorithmic.demand()[tool.L2] < 1


@pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed here")
def test_the_page_is_what_the_tool_writes(answers):
    assert (ROOT / "docs" / "known-answers.md").read_text() == tool.table(
        list(answers.values()), MACHINE
    )
