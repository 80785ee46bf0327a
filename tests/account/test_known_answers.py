"""Formulas against what the counters of an H200 saw of the same operators."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

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


ON_TENSOR_CORES = [
    name
    for name in NAMES
    if name.startswith(("gemm", "conv", "attention", "triton product")) and "fp32" not in name
]


@pytest.mark.parametrize("name", ON_TENSOR_CORES)
def test_tensor_flop_are_the_formula_where_nothing_is_padded(answers, name):
    answer = answers[name]
    pipe = answer.pipe
    assert pipe.name.startswith("tensor")
    formula, counter = answer.algorithmic.demand()[pipe], answer.executed[pipe]
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
    }  # fmt: skip
    for name, flop in expected.items():
        answer = answers[name]
        assert answer.executed[answer.pipe] == answer.by_rule[answer.pipe] == flop


STREAMS = [case.name for case in tool.cases().CASES if case.streams and case.name in NAMES]


@pytest.mark.parametrize("name", STREAMS)
def test_bytes_of_what_streams(answers, name):
    answer = answers[name]
    read = answer.algorithmic.traffic(tool.DRAM, "read")
    written = answer.algorithmic.traffic(tool.DRAM, "write")
    assert read + written > 4 * MACHINE["l2"]
    assert read <= answer.read <= 1.02 * read
    assert 0 <= written - answer.written <= MACHINE["l2"]


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
