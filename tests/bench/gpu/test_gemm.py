"""The search of shapes and layouts, on a card that is made up."""

import inspect
from dataclasses import replace

import pytest

from roofline.bench.gpu import gemm
from roofline.bench.gpu.card import Card
from roofline.bench.gpu.timing import Load

H200 = Card(index=0, name="NVIDIA H200", units=132, l2=1, memory=1, capability=90, uuid="")
BF16 = gemm.products(H200)[0]


class Toy:
    """Times a product by a table."""

    def __init__(self, rates):
        self.rates, self.asked = rates, []

    def quick_rate(self, load, *, cool):
        assert cool, "at its power cap a card makes shapes look alike"
        self.asked.append(load.amount)
        return self.rates[load.amount]


def test_the_best_shape_is_tried_in_every_layout(monkeypatch):
    """Of shapes 1, 2 and 3 (by their m) the second wins with b column-major, then with neither."""
    monkeypatch.setattr(gemm, "load", lambda _p, shape, layout: Load(print, (shape[0], layout)))
    toy = Toy({(1, "nt"): 90.0, (2, "nt"): 100.0, (3, "nt"): 80.0,
               (2, "nn"): 101.0, (2, "tn"): 99.0, (2, "tt"): 98.0})  # fmt: skip
    found = gemm.best(toy, BF16, [(m, 1, 1) for m in (1, 2, 3)], gemm.LAYOUTS)
    assert found == ((2, 1, 1), "nn")
    assert toy.asked == [*((m, "nt") for m in (1, 2, 3)), (2, "nn"), (2, "tn"), (2, "tt")]


def test_matrix_units_rest_and_vector_units_need_not():
    """An H200 multiplied fp32 for ten seconds under its cap; every matrix pipe meets it."""
    cool = {p.resource.name for p in gemm.products(H200) if p.cool}
    assert {p.resource.name for p in gemm.products(H200)} - cool == {"vector-fp32"}


def test_one_way_is_not_searched(monkeypatch):
    monkeypatch.setattr(gemm, "load", lambda *_: 1 / 0)
    assert gemm.best(None, BF16, [(1, 1, 1)], ("nt",)) == ((1, 1, 1), "nt")


def test_shapes_fill_the_card_in_whole_rounds():
    """8448 x 4096 in tiles of 128 x 256 are 66 * 16 = 1056 = 8 * 132; 8192 squared takes 15.5."""
    assert (8448, 4096, 8192) in gemm.shapes(132)
    assert 8448 // 128 * (4096 // 256) == 8 * 132
    assert gemm.shapes(132, quick=True) == ((8448, 4096, 8192),)
    assert all(2.0 * m * n * k < 0.6e12 for m, n, k in gemm.shapes(132, slow=True))


def test_fp8_is_the_one_that_the_card_multiplies():
    """gfx942 (MI300) has the variant without infinities; gfx950 and Hopper have OCP's."""

    def fp8(**card):
        return {p.dtype for p in gemm.products(replace(H200, **card)) if "fp8" in p.resource.name}

    assert fp8() == fp8(capability=None, arch="gfx950") == {"float8_e4m3fn"}
    assert fp8(capability=None, arch="gfx942") == {"float8_e4m3fnuz"}


def test_layouts_are_named():
    assert gemm.named((1, 2, 3), "nn") == "1 x 2 x 3"
    assert gemm.named((1, 2, 3), "nt") == "1 x 2 x 3, b column-major"
    assert gemm.named((1, 2, 3), "tt") == "1 x 2 x 3, a and b column-major"


def test_the_distribution_of_the_operands_is_said():
    """What a product draws depends on it; randn is normal, randint is not."""
    for product in gemm.products(H200):
        told = gemm.operands(product)
        wanted = "uniform from -127 to 127" if product.dtype == "int8" else "normal, of mean 0"
        assert wanted in told[0]
        zeros = [text for text in told if "its zeros count as work" in text]
        assert len(zeros) == product.sparse


def test_every_fp8_product_says_how_it_adds_up():
    """Dense ones as they ask; torch asks cuSPARSELt neither for the fast nor for the exact way."""
    told = {f"{p.resource.name} {p.variant}": p.accumulate
            for p in gemm.products(H200) if "fp8" in p.resource.name}  # fmt: skip
    assert told == {
        "tensor-fp8 library": "fp32 accumulate inside the matrix units",
        "tensor-fp8 library, exact accumulate":
            "fp32 accumulate, added up outside the matrix units now and then",
        "tensor-fp8-sparse library":
            "fp32 accumulate, fast or exact as cuSPARSELt does it: torch passes on no choice",
    }  # fmt: skip


def test_torch_passes_no_choice_of_accumulation_on_to_cusparselt():
    """Should it do so one day, the condition of sparse fp8 is no longer true."""
    ops = pytest.importorskip("torch.sparse._semi_structured_ops")
    source = inspect.getsource(ops.semi_sparse_scaled_mm)
    call = source[source.index("torch._cslt_sparse_mm(") :]
    assert "fast" not in call
