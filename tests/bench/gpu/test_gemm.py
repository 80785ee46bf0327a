"""The search of shapes and layouts, on a card that is made up."""

from dataclasses import dataclass

from roofline.bench.gpu import gemm
from roofline.bench.gpu.card import Card
from roofline.bench.gpu.timing import Load

H200 = Card(index=0, name="NVIDIA H200", units=132, l2=1, memory=1, capability=90, uuid="")
BF16 = gemm.products(H200)[0]


class Toy:
    """Times a product by a table: a quick look, and a median that may say otherwise."""

    def __init__(self, quick, median):
        self.quick, self.median, self.asked = quick, median, []

    def quick_rate(self, load):
        self.asked.append(load.amount)
        return self.quick[load.amount]

    def take(self, load, count, *, cool):
        assert cool, "matrix units must rest"
        return Rates((self.median[load.amount],) * count)


@dataclass
class Rates:
    rates: tuple[float, ...]


def search(monkeypatch, quick, median):
    """The best of shapes 1, 2 and 3 (by their m) in four layouts; amounts are (m, layout)."""
    toy = Toy(quick, median)
    monkeypatch.setattr(gemm, "load", lambda _p, shape, layout: Load(print, (shape[0], layout)))
    return gemm.best(toy, BF16, [(m, 1, 1) for m in (1, 2, 3)], gemm.LAYOUTS), toy.asked


def test_the_best_two_shapes_are_tried_in_every_layout(monkeypatch):
    """Shape 3 is far behind with b column-major and never gets another layout; of the four best
    looks the median decides.
    """
    quick = {(m, layout): 100.0 * m for m in (1, 2) for layout in gemm.LAYOUTS}
    quick |= {(3, "nt"): 1.0, (2, "tt"): 220.0, (2, "nn"): 210.0}
    median = {(2, "tt"): 190.0, (2, "nn"): 205.0}
    found, asked = search(monkeypatch, quick, median)
    assert found == ((2, 1, 1), "nn")
    assert asked[:3] == [(1, "nt"), (2, "nt"), (3, "nt")]
    assert {m for m, _ in asked[3:]} == {1, 2}
    assert len(asked) == 3 + 2 * 4


def test_one_way_is_not_searched(monkeypatch):
    monkeypatch.setattr(gemm, "load", lambda *_: 1 / 0)
    assert gemm.best(None, BF16, [(1, 1, 1)], ("nt",)) == ((1, 1, 1), "nt")


def test_shapes_fill_the_card_in_whole_rounds():
    """8448 x 8192 in tiles of 128 x 256 are 66 * 32 = 2112 = 16 * 132; 8192 cubed takes 15.5."""
    assert (8448, 8192, 8192) in gemm.shapes(132)
    assert 8448 // 128 * (8192 // 256) == 16 * 132
    assert gemm.shapes(132, quick=True) == ((8448, 4096, 8192),)
    assert all(2.0 * m * n * k < 0.6e12 for m, n, k in gemm.shapes(132, slow=True))


def test_layouts_are_named():
    assert gemm.named((1, 2, 3), "nn") == "1 x 2 x 3"
    assert gemm.named((1, 2, 3), "nt") == "1 x 2 x 3, b column-major"
    assert gemm.named((1, 2, 3), "tt") == "1 x 2 x 3, a and b column-major"
