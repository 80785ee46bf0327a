"""Nothing of the user is in a run: of paths the last part is kept, of texts that there were some."""

import pytest

from roofline.call import worded
from roofline.importers import Options, load
from tests.importers.kineto.traces import Trace
from tests.importers.ncu.exports import WIDE, quoted

X = ((64, 64), "fp16")
RANGE = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"


def said(path, **options) -> str:
    """Everything that a run holds, as text."""
    run = load([path], Options(**options))
    return repr((run.recorder, run.signatures, run.gaps, run.steps, run.rows()))


def trace(folder):
    made = Trace()
    built = {
        "kernel_backend": "triton",
        "kernel_kwargs": "XBLOCK=64,SOURCE=/home/secret/x.py,TYPE=fp16",
    }
    made.op("triton_poi_fused_1", 0, 5, X, args=built)
    made.kernel("triton_poi_fused_1", 20, 30, launch=1)
    made.op("/home/secret/train.py: step", 100, 5, X)
    made.kernel("/home/secret/lib.so:kernel", 120, 30, launch=101)
    made.op("aten::_assert_async", 200, 5, X, "secret fails")
    made.kernel("check", 220, 3, launch=201)
    return made.write(folder / "trace.json")


def page(folder):
    cells = [
        0,
        7,
        "app",
        "host",
        "/home/secret/lib.so:k",
        1,
        7,
        "(256, 1, 1)",
        "(100, 1, 1)",
        0,
        "9.0",
    ]
    ranges = [
        f'"<default domain>:{name}:none:none:none:none:none:none"'
        for name in ("outer", "/home/secret/step")
    ]
    path = folder / "page.csv"
    path.write_text(
        quoted([
            [*WIDE, RANGE, "gpu__time_duration.sum"], [*[""] * len(WIDE), "", "us"],
            [*cells, " ".join(ranges), "100"],
        ])
    )  # fmt: skip
    return path


@pytest.mark.parametrize("write", [trace, page])
def test_nothing_of_the_user_unless_asked(tmp_path, write):
    path = write(tmp_path)

    assert "secret" not in said(path)
    assert "secret" in said(path, keep_private=True)


def test_what_is_left_still_tells(tmp_path):
    found = said(trace(tmp_path))
    assert "XBLOCK=64,SOURCE=text,TYPE=fp16" in found
    assert "train.py: step" in found
    assert "outer.step" in said(page(tmp_path))


@pytest.mark.parametrize(
    ("op", "text", "kept"),
    [
        ("aten::einsum", "b i j, bjk -> b i k", True),
        ("aten::pad", "reflect", True),
        ("aten::div", "floor", True),
        ("c10d::allreduce_", "group of 8", True),
        ("aten::to", "cuda:0", True),
        ("aten::_assert_async", "secret", False),
        ("aten::pad", "two words", False),
        ("mine::load", "word", False),
    ],
)
def test_words_of_pytorch_are_kept_and_no_sentence(op, text, kept):
    assert worded(op, (text,)) == ((text if kept else "text"),)
