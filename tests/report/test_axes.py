"""The roofline in time: what a line needs on each axis."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from roofline import runfile
from roofline.cli import main
from roofline.program.whatif import what_if
from roofline.report import axes, text, whatif
from roofline.report.document import of_run
from tests.runs import Script, call, tensor

X = tensor(1000, 1000)
MM = call("aten::mm", X, X, out=X)  # 2 Gflop at 100 Gflop/s: 20 ms; 12 MB at 10 GB/s: 1.2 ms
RELU = call("aten::relu", X, out=X)  # 8 MB: 0.8 ms; a start 1 us
RUN = Script().add(MM, 25_000).add(RELU, 1_000).end_step().run()


def printed(by="call", rows=9):
    return lines(axes.table(of_run(RUN, by), rows))


def lines(table):
    console = Console(file=StringIO(), width=120)
    console.print(table)
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


def test_the_star_is_where_the_table_says_bound_by():
    """A product, 2.5 ms of flop and 0.3 ms of bytes; three exp, each 0.1 ms of sfu and 0.8 of bytes.

    Bytes need 2.7 ms, more than either pipe; the axis of both pipes adds up to 2.8 ms.
    """
    small = tensor(500, 500)
    script = Script().add(call("aten::mm", small, small, out=small), 3_000)
    for _ in range(3):
        script.add(call("aten::exp", X, out=X), 900)
    document = of_run(script.end_step().run(), "phase")
    _, line = lines(axes.table(document, 9))

    assert document["items"][0]["binding"] == "dram"
    assert line[-6:] == ["2.80", "ms", "2.70", "ms*", "4.00", "us"]


def test_a_name_is_told_apart_from_lines_that_are_not_shown():
    """Forward and backward begin alike: the one row shown is the backward."""
    name = "aten::_scaled_dot_product_cudnn_attention"
    script = Script().add(call(f"{name}_backward", X, out=X), 900).add(call(name, X, out=X), 300)
    run = script.end_step().run()
    document = of_run(run, "operator")

    for shown in (axes.table(document, 1), text._table(document["items"], 1, 120, "operator")):
        (row, *_) = [line for line in lines(shown) if line[0].startswith("_scaled")]
        assert row[0].endswith("backward")
    console = Console(file=StringIO(), width=120)
    whatif.print_document(whatif.document(what_if(run, dtype="bf16"), "operator"), console, 1)
    assert "ackward" in console.file.getvalue()


def test_kernels_that_are_not_there_are_operators_and_the_rest_is_said(tmp_path, capsys):
    """As in the ordinary table; and of a device whose starts nobody measured, why a dash stands."""
    bare = replace(RUN.device, ceilings=tuple(c for c in RUN.device.ceilings
                                              if c.resource.name != "dispatch"))  # fmt: skip
    runfile.save(replace(RUN, device=bare), tmp_path / "x.roof")
    assert main(["show", str(tmp_path / "x.roof"), "--times", "--by", "kernel", "--rows", "1"]) == 0
    out = capsys.readouterr().out

    assert "this run has no kernels: its lines are operators" in out
    assert "\noperator " in out
    assert "1 more line takes 1.00 ms" in out
    assert "overhead is not known: nobody measured what a start takes here" in out
