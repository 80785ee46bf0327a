"""The roofline in time: what a line needs on each axis."""

from io import StringIO

import pytest
from rich.console import Console

from roofline import runfile
from roofline.cli import main
from roofline.report import axes
from roofline.report.document import of_run
from tests.runs import Script, call, tensor

X = tensor(1000, 1000)
MM = call("aten::mm", X, X, out=X)  # 2 Gflop at 100 Gflop/s: 20 ms; 12 MB at 10 GB/s: 1.2 ms
RELU = call("aten::relu", X, out=X)  # 8 MB: 0.8 ms; a start 1 us
RUN = Script().add(MM, 25_000).add(RELU, 1_000).end_step().run()


def printed(by="call", rows=9):
    console = Console(file=StringIO(), width=120)
    console.print(axes.table(of_run(RUN, by), rows))
    return [line.split() for line in console.file.getvalue().splitlines()]


def test_every_axis_has_its_time_and_the_largest_is_marked():
    head, product, relu, both = printed()

    assert head == ["call", "calls", "starts", "time", "compute", "dram", "overhead"]
    assert product == ["mm", "1", "1", "25.0", "ms", "20.0", "ms*", "1.20", "ms", "1.00", "us"]
    assert relu[:5] == ["relu", "1", "1", "1.00", "ms"]
    assert relu[-4:] == ["800", "us*", "1.00", "us"]
    assert both[:5] == ["all", "lines", "2", "2", "26.0"]
    assert both[-4:] == ["2.00", "ms", "2.00", "us"]


def test_how_far_the_next_bound_is():
    """1.2 ms of bytes beside 20 ms of flop: 6 %; 10 us of comparisons beside 0.8 ms of bytes."""
    product, relu = of_run(RUN)["items"]

    assert product["next_bound"] == {"resource": "dram", "share": pytest.approx(0.06)}
    assert relu["next_bound"] == {"resource": "vector-fp32", "share": pytest.approx(0.0125)}


def test_a_group_is_a_line():
    (head, line) = printed(by="phase")

    assert head[0] == "phase"
    assert line[:4] == ["other", "2", "2", "26.0"]


def test_the_command(tmp_path, capsys):
    path = tmp_path / "x.roof"
    runfile.save(RUN, path)

    assert main(["show", str(path), "--times", "--rows", "1"]) == 0
    printed_text = capsys.readouterr().out
    assert "least time of a step on each axis" in printed_text
    assert "relu" not in printed_text.replace("all lines", "")
