"""What lines are called: different things never alike, and nothing by a name that does not exist."""

import pytest

from roofline.called import told_apart
from roofline.report.names import line_names


@pytest.mark.parametrize(
    ("names", "called"),
    [
        (["ns::f(int)", "ns::f(float)"], ["f(int)", "f(float)"]),  # overloads
        (["k<int>(int)", "k<int>(float)", "k<half>(int)"],
         ["k<int>(int)", "k<int>(float)", "k<half>"]),
        (["_ZN2at4gemmIfEEvPT_", "_ZN2at4gemmIdEEvPT_"], ["gemm", "gemm #2"]),  # mangled templates
        (["Memset (Device)"], ["Memset (Device)"]),  # words
        (["op<a> #1 (forward)", "op<b> #1 (forward)"], ["op<a> #1 (forward)", "op<b> #1 (forward)"]),
        (["k", "k<int>"], ["k", "k<int>"]),  # no template of the same arguments
        (["m::k", "m::k<int>", "i::k"], ["m::k", "m::k<int>", "i::k"]),
        (["void k<A<int> >(int)", "k<A<int>>(int)"], ["k", "k"]),  # one kernel, written two ways
    ],
)  # fmt: skip
def test_kernels_are_told_apart_by_names_that_exist(names, called):
    assert [*told_apart(names).values()] == called


def test_a_number_is_none_that_another_has():
    """Both mangled names are `k`, and one kernel is called `k #2`."""
    assert len({*told_apart(["_Z1kIfE", "_Z1kIdE", "k #2"]).values()}) == 3


def test_an_operator_and_a_kernel_of_one_name_are_two_lines():
    lines = [
        {"name": "aten::mul", "kind": "op"},
        {"name": "mul", "kind": "op"},
        {"name": "mine::mul(int)", "kind": "kernel"},
    ]

    assert line_names(lines, 26) == ["aten::mul", "mul", "mine::mul(int)"]
