"""``roofline lab`` around experiments that are made up, and one real one."""

import importlib.util
import json

import pytest

from roofline.bench.lab import banks, cpu_dial, dial, gpu_dial, starts
from roofline.bench.lab import matmul as matrix
from roofline.cli import main
from tests.bench.lab.test_dial import machine


@pytest.fixture
def toy(monkeypatch):
    """A dial that is turned at once, and no GPU."""
    asked = []

    def measure(chains, tick):
        asked.append(chains)
        tick("F = 1", 0.0)
        return dial.outcome(
            "Toy CPU", machine(), gpu=False, chains=chains, latency=4.2, conditions=("here",)
        )

    monkeypatch.setattr(cpu_dial, "measure", measure)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    return asked


def test_prediction_beside_the_measurement(capsys, toy):
    """66/4.2 = 15.71; 15.71 / 12 = 1.31."""
    assert main(["lab", "dial", "--predict", "12 flop/B"]) == 0
    out = capsys.readouterr().out
    assert "measured   15.7 flop/B" in out
    assert "predicted  12 flop/B (measured is 1.31 of it)" in out
    assert toy == [4]


def test_json_and_file_hold_one_document(capsys, toy, tmp_path):
    path = tmp_path / "dial.json"
    assert main(["lab", "dial", "--json", "-o", str(path), "--predict", "4", "--chains", "1"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == json.loads(path.read_text())
    assert shown["schema"] == "roofline.lab/1"
    assert (shown["experiment"], shown["measured"], shown["prediction"]) == ("dial", 4.2, 4.0)
    assert shown["off_by"] == pytest.approx(1.05)
    assert shown["device"] == {"name": "Toy CPU", "kind": "cpu"}
    assert [c["unit"] for c in shown["columns"]] == ["", "flop/B", "B/s", "flop/s", ""]
    assert len(shown["rows"]) == 12  # F = 1 to 2048
    assert toy == [1]


def test_columns_without_a_single_value_are_left_out(capsys, toy):
    assert main(["lab", "dial"]) == 0
    heading = capsys.readouterr().out.splitlines()[2]
    assert heading.split() == ["F", "intensity", "memory", "arithmetic"]


def test_nobody_is_asked_where_nobody_can_answer(capsys, toy):
    assert main(["lab", "dial"]) == 0
    assert "predicted  nothing" in capsys.readouterr().out


def test_a_person_is_asked_first(capsys, toy, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_a, **_k: "20")
    assert main(["lab", "dial"]) == 0
    out = capsys.readouterr().out
    assert out.index("Before measuring: at which intensity") < out.index("dial on Toy CPU")
    assert "predicted  20 flop/B" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dial", "--predict", "many"], "a prediction is a positive number of flop/B; got 'many'"),
        (["dial", "--predict", "-1"], "a prediction is a positive number of flop/B; got '-1'"),
        (["dial", "--chains", "3"], "chains are a power of two, 1 to 16; got 3"),
        (["dial", "--device", "tpu"], "no device 'tpu' here; there is cpu"),
        (["dial", "-o", "/nowhere/x"], "cannot write /nowhere/x: there is no folder /nowhere"),
        (["launch", "--predict", "5 GB"], "expected a quantity in s"),
        (["banks"], "this experiment needs an NVIDIA GPU; there is cpu"),
    ],
)
def test_a_mistake_is_one_sentence(capsys, toy, arguments, said):
    assert main(["lab", *arguments]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert said in shown.err
    assert toy == []


def test_every_experiment_has_a_question_for_its_devices():
    for questions in (matrix.QUESTIONS, starts.QUESTIONS):
        assert set(questions) == {"cpu", "gpu"}
    assert banks.QUESTION.text
    assert gpu_dial.UNROLLED in dial.FS


def test_starting_an_operator_on_this_machine(capsys, monkeypatch):
    """Structure and sanity only: recording gradients costs more than not recording them."""
    pytest.importorskip("torch")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["lab", "launch", "--json", "--predict", "1 us"]) == 0
    shown = json.loads(capsys.readouterr().out)
    seconds = {row[0]: row[1] for row in shown["rows"]}
    assert shown["prediction"] == pytest.approx(1e-6)
    assert shown["measured"] == seconds[starts.EAGER] > 0
    assert seconds["eager operator, recording gradients"] > seconds[starts.EAGER]


@pytest.mark.parametrize("name", ["matmul", "launch"])
def test_an_experiment_with_pytorch_where_there_is_none(name, monkeypatch, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "torch" else found(name, *a)
    )
    assert main(["lab", name, "--predict", "1 us" if name == "launch" else "1"]) == 2
    assert "PyTorch is not installed" in capsys.readouterr().err


def test_the_dial_draws_its_steps_under_both_roofs(capsys, toy):
    """From 1.05 Tflop/s at 0.25 flop/B to 66 at 512; the roofs meet between 8 and 16."""
    assert main(["lab", "dial", "--predict", "12", "--chart"]) == 0
    lines = capsys.readouterr().out.splitlines()
    top = next(i for i, line in enumerate(lines) if line.startswith("66.0 Tflop/s"))
    drawn = lines[
        top - 1 : lines.index(next(line for line in lines if "0.25" in line[:20] and "256" in line))
    ]
    # Twelve steps; those on one line of the chart stand beside each other.
    assert sum(line.count("o") for line in drawn) == 12 + 2  # and two in "Tflop/s"
    assert lines[top].count("o") >= 6  # F = 64 and more: 16 flop/B on, all at the peak
    assert any(line.strip() == "flop/B" for line in lines)


def test_no_chart_unless_asked_for(capsys, toy):
    assert main(["lab", "dial", "--predict", "12"]) == 0
    assert "┤" not in capsys.readouterr().out
