"""What loops in registers work on, which decides the power that they draw."""

import math
import random

import pytest

from roofline.bench.gpu import tensor, vector
from roofline.bench.gpu.kernels import wgmma


@pytest.mark.parametrize("resource", tensor.PIPES, ids=lambda r: r.name)
def test_matrix_loops_say_what_they_draw_and_that_zeros_count(resource):
    name, sparse, _ = tensor.PIPES[resource]
    drawn, *zeros = tensor._operands(name, sparse)
    if name in wgmma.FORMATS:  # all bits are kept, or those that leave the exponent as it is
        assert ("any bits" in drawn) == (wgmma.FORMATS[name].keep == 0xFFFFFFFF)
    else:
        assert "uniform in 0.5 to 1" in drawn
    assert zeros == ["2:4 sparse, the zeros left out count as work"] * sparse


def test_special_functions_meet_and_multiplications_stay_apart():
    """60 of the 4096 steps of a launch, from 1000 starts: both special functions end at one value,
    the FMA (x = -x - 1) keeps the distance that it began with."""
    starts = [random.Random(0).uniform(0.5, 1.5) for _ in range(1000)]
    steps = {"exp": lambda x: math.exp(-x), "rsqrt": lambda x: x**-0.5, "fma": lambda x: -x - 1}
    ends = {}
    for step, run in steps.items():
        values = starts
        for _ in range(60):
            values = [run(x) for x in values]
        ends[step] = max(values) - min(values), values[0]
    assert ends["fma"][0] == pytest.approx(max(starts) - min(starts))
    for step in ("exp", "rsqrt"):
        apart, value = ends[step]
        assert apart < 1e-12
        assert vector.STARTS[step].endswith(f" {value:.3g}")
        assert "soon meet" in vector.STARTS[step]
    assert {loop.step for loop in vector.LOOPS} == set(vector.STARTS)
