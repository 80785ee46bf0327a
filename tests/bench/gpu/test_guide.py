"""What the guide says of a measurement is what the code and a recorded one say."""

import re
from pathlib import Path

import pytest

from roofline.bench.gpu import ceilings, gemm
from roofline.bench.gpu.card import Card
from roofline.cli import measure
from roofline.device import ELEMENTS
from roofline.devices import kept

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs/guide/measure-gpu.md").read_text()
RECORDED = ROOT / "tests/data/h200-measured-648ac89b.json"
CARD = Card(
    index=0, name="NVIDIA H200", units=132, l2=1, memory=1, capability=90, uuid=""
)  # fmt: skip
WORDS = {3: "three", 4: "four", 5: "five", 6: "six"}


@pytest.mark.parametrize(
    ("told", "way"),
    [
        (r"casts (\d+) G", "library, casts"),
        (r"6,144 rows (\d+) G", "library, transposed copies, 2 B, rows of 6144"),
        (r"softmax of rows of 4,096 (\d+) G", "library, softmax, 2 B, rows of 4096"),
    ],
)
def test_paces_are_those_of_the_recording(told, way):
    paces = {str(c.variant): c.rate for c in kept.read_file(RECORDED).ceilings
             if c.resource == ELEMENTS}  # fmt: skip
    assert int(re.search(told, GUIDE.replace("\n", " "))[1]) == round(paces[way] / 1e9)


def test_one_duration_is_told_everywhere():
    found = [
        re.search(r"takes about (\d+) seconds", GUIDE),
        re.search(r"GPU \((\d+) seconds\)", Path(measure.__file__).read_text()),
        re.search(r"About (\d+) s", ceilings.measure.__doc__),
    ]
    assert {match[1] for match in found} == {"80"}


def test_the_search_has_as_many_shapes_as_told():
    many, few = (WORDS[len(gemm.shapes(132, slow=slow))] for slow in (False, True))
    assert f"the best of {many} shapes ({few} for fp32 and fp64)" in GUIDE
    slow = {p.dtype for p in gemm.products(CARD) if p.slow}
    assert slow == {"float32", "float64"}
