"""The table in the terminal: what a line is called, and shares that round to nothing."""

import re
from dataclasses import replace
from io import StringIO

from rich.console import Console

from roofline.cli.output import print_run
from roofline.report import text
from roofline.report.document import of_run
from tests.runs import Script, call, device, tensor

LONG = "Model." + "block." * 12
MM = call("aten::mm", tensor(64, 64), tensor(64, 64), out=tensor(64, 64))


def printed(script, by, width=110):
    console = Console(file=StringIO(), width=width, highlight=False)
    text.print_document(of_run(script.end_step().run(device()), by), console)
    return console.file.getvalue()


def as_text(document):
    console = Console(file=StringIO(), width=200, highlight=False)
    text.print_document(document, console)
    return console.file.getvalue()


def test_modules_are_told_apart_by_the_end_of_their_paths():
    script = Script().add(MM, 10.0, module=LONG + "query").add(MM, 10.0, module=LONG + "value")
    shown = printed(script, "module")
    assert re.search(r"^module +calls", shown, re.MULTILINE)
    assert "shapes" not in shown
    cut = "\N{HORIZONTAL ELLIPSIS}"
    for end in ("query", "value"):
        assert re.search(rf"^{cut}\S*block\.{end} +1 ", shown, re.MULTILINE)


def test_phases_have_no_shapes():
    shown = printed(Script().add(MM, 10.0, phase="forward"), "phase")
    assert re.search(r"^phase +calls", shown, re.MULTILINE)
    assert re.search(r"^forward +1 ", shown, re.MULTILINE)


def test_a_share_that_rounds_to_nothing_is_not_nothing():
    # 5.24 us at the roof, as below, of a second.
    shown = printed(Script().add(MM, 1e6), "call")
    assert "<1% of that" in shown
    assert re.search(r"^mm .* <1%  ", shown, re.MULTILINE)
    assert " 0%" not in shown


def test_a_narrow_terminal_cuts_no_name_and_no_number():
    # 2*64^3 = 524288 flop at 100 Gflop/s: 5.24 us.
    shown = printed(Script().add(MM, 10.0), "call", width=40)
    assert re.search(r"^mm +1 +10.0 us +5.24 us +4.76 us +52% +vector-fp32", shown, re.MULTILINE)


def test_an_encoding_without_an_ellipsis(tmp_path, monkeypatch):
    long = call("aten::" + "x" * 40, tensor(2, 3), out=tensor(2, 3))
    run = Script().add(long, 10.0).end_step().run(device())
    with (tmp_path / "out.txt").open("w", encoding="ascii") as plain:
        monkeypatch.setattr("sys.stdout", plain)
        print_run(run, as_json=False)
    assert "xxx?" in (tmp_path / "out.txt").read_text()


def test_a_run_without_kernels_says_so_where_they_are_asked_for():
    asked = printed(Script().add(MM, 10.0), "kernel")
    assert "this run has no kernels: its lines are operators" in asked
    assert "no kernels" not in printed(Script().add(MM, 10.0), "operator")

    gpu = replace(device(), kind="gpu")
    made = of_run(Script().add(MM, 10.0).end_step().run(gpu), "kernel")
    assert "counted with the operators that started them" in as_text(made)
    made["items"][0]["kind"] = "kernel"
    assert "started them" not in as_text(made)


def test_a_coverage_that_is_unknown_is_a_sentence():
    made = of_run(Script().add(MM, 10.0).end_step().run(device())) | {"coverage": None}
    assert as_text(made).startswith("coverage: unknown, since there are no times; Toy CPU")


def test_hfu_is_left_out_where_it_says_what_mfu_says():
    """5.63 Gflop both, and shares on either side of a digit: 0.979 % and 0.98 %."""
    made = of_run(Script().add(MM, 10.0).end_step().run(device()))
    of = made["program"]["mfu"]
    useful = of | {"share": 0.00979449, "amount": 5_630_000_000}
    for executed, said in ((5_632_000_000, False), (5_640_000_000, True)):
        ran = of | {"share": 0.009798 * executed / 5_632_000_000, "amount": executed}
        made["program"] |= {"mfu": useful, "hfu": ran}
        assert ("HFU" in as_text(made)) == said
