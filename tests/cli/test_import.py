"""``roofline import``: the run file, the answer, the warnings, and where each goes."""

import json
from pathlib import Path

import pytest

import roofline
from roofline import runfile
from roofline.cli import main
from roofline.errors import BadInput

SAMPLES = Path(__file__).parents[1] / "importers" / "kineto" / "torch-2.11"
TRACE = str(SAMPLES / "ln_hand.json.gz")


def test_prints_like_show_and_writes_the_run(tmp_path, capsys):
    out = tmp_path / "ln.roof"
    assert main(["import", TRACE, "-o", str(out), "--rows", "3"]) == 0
    imported = capsys.readouterr()
    assert main(["show", str(out), "--rows", "3"]) == 0
    shown = capsys.readouterr()

    assert imported.out == shown.out
    assert imported.out.startswith("coverage: 100.0% of operator time accounted for; NVIDIA H200")
    assert imported.err == "roofline: wrote ln.roof\n"
    assert runfile.load(out).recorder.tool == "PyTorch profiler"


def test_json_is_one_document_and_warnings_stand_apart(tmp_path, capsys):
    trace = tmp_path / "cut.json"
    trace.write_text(
        '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, '
        '"ts": 1.0, "dur": 2.0, "args": {}}, {"ph": "X", "ca'
    )
    assert main(["import", str(trace), "--json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)

    assert document["schema"] == "roofline.placement/1"
    assert document["coverage"] == 0.0
    lines = captured.err.splitlines()
    assert all(line.startswith("roofline: ") for line in lines)
    assert any("the file ends in the middle of its list of events" in line for line in lines)
    assert any("record_shapes=True" in line for line in lines)
    assert document["recorder"]["warnings"] == [line.removeprefix("roofline: ") for line in lines]


def test_quiet_writes_and_says_nothing(tmp_path, capsys):
    assert main(["import", TRACE, "-o", str(tmp_path / "x.roof"), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "x.roof").exists()


def test_a_device_that_contradicts_the_file_is_refused(capsys):
    assert main(["import", TRACE, "--device", "a100-sxm4-80gb"]) == 2
    assert capsys.readouterr().err == (
        "roofline: ln_hand.json.gz was recorded on NVIDIA H200, and --device says NVIDIA A100 SXM4 "
        "80GB: leave it out; to place the run on another device, `roofline show RUN --what-if "
        "device=NAME`\n"
    )
    assert main(["import", TRACE, "--device", "h200", "--quiet"]) == 0
    assert main(["import", TRACE, "--device", "nothing"]) == 2
    assert "no device 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["absent.json"], "cannot read absent.json: No such file or directory"),
        ([__file__], "test_import.py is "),
        (
            [TRACE, "-o", "/absent/x.roof"],
            "cannot write /absent/x.roof: there is no folder /absent",
        ),
        ([TRACE, "-o", TRACE], "it is the file to import"),
        ([TRACE, "--by", "colour"], "no grouping 'colour'; there is call, operator, kernel"),
        ([], "Missing argument 'FILE...'"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_with_2(arguments, sentence, capsys):
    assert main(["import", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert captured.err.count("\n") == 1


def test_load_reads_both(tmp_path):
    recording = roofline.load(TRACE)
    recording.save(tmp_path / "x.roof")
    assert roofline.load(tmp_path / "x.roof").document() == recording.document()
    with pytest.raises(BadInput, match="no run file"):
        roofline.load(tmp_path / "absent.roof")
