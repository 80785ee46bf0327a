"""Names with characters that a terminal obeys: spelled out wherever they are shown."""

import pytest

from roofline.cli import main
from roofline.errors import BadInput
from roofline.importers import Options, load
from tests.importers.kineto.traces import Trace, matmul
from tests.importers.ncu.exports import details, metrics

ESCAPE = "\x1b[2J"
X = ((64, 64), "fp16")


def texts(run) -> str:
    """What a run holds, characters as they are."""
    found = [run.recorder.program, *run.recorder.warnings, *(s.name for s in run.signatures)]
    found += [text for s in run.signatures if s.ledger for text in s.ledger.unaccounted]
    found += [step.name for step in run.steps] + [f"{gap.name} {gap.what}" for gap in run.gaps]
    return "".join([*found, *(f"{row['module']} {row['thread']}" for row in run.rows())])


def trace(folder):
    made = Trace()
    made.add("python_function", f"nn.Module: Net{ESCAPE}", 0, 1000)
    made.add("user_annotation", f"ProfilerStep#0{ESCAPE}", 0, 500)
    made.op(f"my::op{ESCAPE}\u202e", 10, 5, X)
    made.kernel(f"k{ESCAPE}", 30, 30, launch=11)
    made.add(f"strange{ESCAPE}", "what", 200, 5)
    return made.write(folder / f"trace{ESCAPE}.json")


def page(folder):
    path = folder / "page.csv"
    line = f'==ERROR== failed {ESCAPE} on "kern{ESCAPE}"\n'
    path.write_text(
        line + details(*metrics(0, f"k{ESCAPE}", {"gpu__time_duration.sum": ("1", "us")}))
    )
    return path


@pytest.mark.parametrize("write", [trace, page])
def test_nothing_that_is_imported_moves_a_cursor(tmp_path, write, capsys):
    path = write(tmp_path)
    found = texts(load([path]))

    assert found.isprintable()
    assert "\\x1b[2J" in found
    assert main(["import", str(path)]) == 0
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err


def test_a_sentence_with_the_name_of_a_file(tmp_path, capsys):
    assert main(["import", str(tmp_path / f"absent{ESCAPE}.json")]) == 2
    assert "absent\\x1b[2J.json" in capsys.readouterr().err


def test_names_of_any_language_stay(tmp_path):
    made = Trace()
    made.op("my::Größe_核", 0, 5, X)
    run = load([made.write(tmp_path / "trace.json")])
    assert [signature.name for signature in run.signatures] == ["my::Größe_核"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"decimal": ","}, "--decimal says nothing of a PyTorch profiler trace; it is for Nsight"),
        ({"ncu_cache": "warm"}, "--ncu-cache says nothing of a PyTorch profiler trace"),
        ({"ncu_clock": "base"}, "--ncu-clock says nothing of a PyTorch profiler trace"),
    ],
)
def test_what_is_said_of_files_that_are_not_there(tmp_path, options, said):
    made = Trace()
    matmul(made, 0)
    with pytest.raises(BadInput, match=said):
        load([made.write(tmp_path / "trace.json")], Options(**options))
