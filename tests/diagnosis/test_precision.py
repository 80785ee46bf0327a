"""fp32 products on the cores of a device that has tf32."""

from dataclasses import replace

import pytest

from roofline.device import TENSOR_TF32, VECTOR_FP32, Ceiling, Mapped
from roofline.diagnosis import diagnose
from roofline.program import read
from tests.runs import MEASURED, Script, call, device, tensor

X = tensor(1000, 1000)
MM = call("aten::mm", X, X, out=X)  # 2e9 flop: 20 ms on the cores at 100 GFLOP/s; 12 MB: 1.2 ms
TF32 = Ceiling(resource=TENSOR_TF32, rate=800e9, provenance=MEASURED)


def found(us, on):
    program = read(Script().add(MM, us).end_step().run(on=on))
    return [f for f in diagnose(program) if f.code == "RF203"]


def test_it_predicts_the_time_on_the_other_pipe():
    """2e9 flop at 800 GFLOP/s are 2.5 ms, more than the 1.2 ms of its bytes."""
    (finding,) = found(22_000, device(TF32))

    assert finding.then_s == (pytest.approx(2.5e-3), pytest.approx(22e-3))
    assert finding.saves_s == pytest.approx(19.5e-3)
    assert "at most 8.8 times as fast" in finding.evidence[1]


def test_it_is_silent_without_a_tf32_pipe_of_its_own():
    assert found(22_000, device()) == []
    mapped = (Mapped(lacks=TENSOR_TF32, uses=VECTOR_FP32, why="no matrix unit"),)
    assert found(22_000, replace(device(), mapped=mapped)) == []


def test_it_is_silent_where_little_would_be_gained():
    slow = Ceiling(resource=TENSOR_TF32, rate=120e9, provenance=MEASURED)
    assert found(22_000, device(slow)) == []


def test_other_fp32_arithmetic_cannot_move():
    gelu = call("aten::gelu", X, "none", out=X)
    program = read(Script().add(gelu, 50_000).end_step().run(on=device(TF32)))
    assert "RF203" not in [f.code for f in diagnose(program)]
