"""``roofline account``: what it prints, as text and as data, and what it says of mistakes."""

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from roofline.cli import main  # noqa: E402
from tests.account.programs import language_training  # noqa: E402

SCRIPT = """
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

print("imported")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return self.down(self.up(x).relu())

def model():
    return Net(), torch.zeros(8, 64)

def pair():
    return nn.Bilinear(4, 5, 6), (torch.zeros(2, 4), torch.zeros(2, 5))

def huge():
    return nn.Linear(2**20, 2**20, bias=False), torch.zeros(2**10, 2**20)

def attention(q, k, v):
    return scaled_dot_product_attention(q, k, v, is_causal=True)

def nothing():
    return 3

number = 3

def step():
    net = nn.Linear(4, 3, bias=False)
    torch.optim.SGD(net.parameters(), lr=0.1)
    loss = net(torch.zeros(2, 4)).sum()
    loss.backward()

def loss():
    return torch.mm(torch.zeros(2, 4), torch.zeros(4, 3)).sum()

def unlike():
    return torch.zeros(2, 4) @ torch.zeros(3, 4)

def product(x, w):
    return x @ x @ w

def picked(x):
    return x[x > 0] * 2
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path / "net.py"
    sys.modules.pop("net", None)


def document(capsys, *arguments):
    assert main(["account", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_factory_with_its_inputs(script, capsys):
    found = document(capsys, "net.py:model")
    # 8 rows, 64 x 256 and back, with biases and 8*256 comparisons.
    flop = 2 * 2 * 8 * 64 * 256 + 8 * 256 + 8 * 64 + 8 * 256
    assert found["schema"] == "roofline.account/1"
    assert (found["subject"], found["flop"], found["complete"]) == ("Net", flop, True)
    assert found["cross_check"] is None
    assert found["device"] is None
    pair = document(capsys, "net.py:pair")
    assert pair["complete"]


def test_a_class_with_shapes_backward_by_module(script, capsys):
    found = document(capsys, "net.py:Net", "--shape", "8,64", "--backward", "--by", "module")
    names = [item["name"] for item in found["items"]]
    assert {"Net.up", "Net.down", "Net"} <= set(names)
    up = next(item for item in found["items"] if item["name"] == "Net.up")
    # Forward with bias, dW and the bias's sum; no gradient of x.
    assert up["flop"] == 2 * (2 * 8 * 64 * 256) + 2 * 8 * 256


def test_a_function_of_shapes_on_a_device(script, capsys):
    shapes = ["--shape", "1,8,4096,128:bf16"] * 3
    found = document(capsys, "net.py:attention", *shapes, "--device", "h100-sxm")
    assert found["flop"] == 4 * 8 * 128 * (4096 * 4097 // 2) == 34_368_126_976
    assert found["device"]["id"].startswith("nvidia-h100-sxm")
    assert found["binding"] == "tensor-bf16"
    assert found["roof_s"] == pytest.approx(34_368_126_976 / 989.4e12, rel=0.01)
    executed = {e["resource"]: e["amount"] for e in found["executed"]}
    # 32 * 33 / 2 tiles of 128 x 128 a head.
    assert executed["tensor-bf16"] == 4 * 8 * 128 * 128 * 128 * (32 * 33 // 2)


def test_one_call_keeps_its_lines_apart(tmp_path, capsys):
    """Linear 8 to 16 on 4 rows, twice: 2*4*8*16 = 1,024 and a bias of 4*16 = 64 flop a call."""
    path = tmp_path / "net.py"
    path.write_text(
        "import torch\n\ndef both():\n    layer = torch.nn.Linear(8, 16)\n"
        "    return (lambda x: (layer(x), layer(x))), (torch.zeros(4, 8),)\n"
    )
    words = ["account", f"{path}:both", "--json", "--by"]
    assert main([*words, "call"]) == 0
    made = {i["name"]: i for i in json.loads(capsys.readouterr().out)["items"]}
    assert main([*words, "phase"]) == 0
    (whole,) = json.loads(capsys.readouterr().out)["items"]

    flop = [(x["amount"], x["why"]) for x in made["aten::addmm"]["ledger"] if x["unit"] == "flop"]
    assert flop == [
        (2 * 1024, "multiply-add, M*N*K times"), (2 * 64, "add bias: 1 per output"),
    ]  # fmt: skip
    assert made["aten::addmm"]["flop"] == 2 * 1088
    assert whole["ledger"] is None


def test_fake_tensors_take_no_memory(script, capsys):
    found = document(capsys, "net.py:huge")  # its weight would take 4 TiB
    assert found["flop"] == 2 * 2**10 * 2**20 * 2**20


def test_text_says_the_whole_then_the_lines(script, capsys):
    assert main(["account", "net.py:model", "--rows", "1"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Net: 529 kflop, ")
    assert "3 more lines" in out or "more lines: --rows" in out
    assert "conventions: --conventions prints them" in out
    assert "imported" in err
    assert main(["account", "net.py:model", "--conventions", "--by", "call"]) == 0
    out = capsys.readouterr().out
    assert "convention: every operator reads its operands from memory" in out
    assert "8x64 fp32" in out


def test_the_cross_check(script, capsys):
    found = document(capsys, "net.py:model", "--cross-check")["cross_check"]
    assert (found["ours"], found["theirs"]) == (528_896, 524_288)
    assert {d["operator"] for d in found["operators"] if d["why"]} == {"aten::addmm", "aten::relu"}
    assert main(["account", "net.py:model", "--cross-check"]) == 0
    out = capsys.readouterr().out
    assert "torch leaves out: add bias" in out
    assert f"torch {torch.__version__} FlopCounterMode" in out


def test_a_trace_and_a_run_file(tmp_path, capsys):
    step = language_training()
    with torch.profiler.profile(record_shapes=True) as profiler:
        step()
    trace = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(trace))
    found = document(capsys, str(trace))
    run = tmp_path / "trace.roof"
    assert main(["import", str(trace), "-o", str(run), "--quiet"]) == 0
    capsys.readouterr()
    again = document(capsys, str(run))
    assert found["flop"] == again["flop"] > 1_000_000
    assert main(["account", str(trace), "--cross-check"]) == 2
    assert "torch's counter can only see what runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["net.py"], "name it as script.py:name or module:name; got 'net.py'"),
        (["net.py:modle"], "net.py has no 'modle'; there is model"),
        (["nut.py:model"], "there is no file nut.py"),
        (["no.such:model"], "there is no module 'no'"),
        (["net.py:nothing"], "nothing to count: found int, neither a module nor a function"),
        (["net.py:number"], "nothing to count: found int"),
        (["net.py:attention"], "attention cannot be called with 0 inputs"),
        (["net.py:unlike"], "unlike raised RuntimeError: a and b must have same reduction dim"),
        (
            ["net.py:product", "--shape", "32,16", "--shape", "16,4"],
            "product raised RuntimeError with inputs 32x16, 16x4: a and b must have same",
        ),
        (["net.py:picked", "--shape", "8"], "count on real tensors (--real)"),
        (["net.py:Net", "--shape", "8;64"], "a shape is written 8,128,4096:bf16"),
        (["net.py:Net", "--shape", "8,64:fp17"], "a shape is written 8,128,4096:bf16"),
        (["net.py:model", "--by", "colour"], "no grouping 'colour'"),
        (["net.py:model", "--device", "abacus"], "abacus"),
    ],
)
def test_mistakes_are_one_sentence(script, capsys, arguments, sentence):
    if arguments == ["net.py"]:
        script.rename(script.with_name("other.py"))
    assert main(["account", *arguments]) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "x = 1\n\nf = 1 / 0\n",
            "raised ZeroDivisionError in line 3 when it was imported: division",
        ),
        ("def f(:\n", "raised SyntaxError in line 1 when it was imported: "),
        (
            "import no_such_module\n",
            "raised ModuleNotFoundError in line 1 when it was imported: No",
        ),
        ("def f(x):\n    raise KeyError\nf(1)\n", "raised KeyError in line 2 when it was imported"),
        ("raise SystemExit(3)\n", "ended itself when it was imported (exit code 3): put what runs"),
    ],
)
def test_a_script_that_cannot_be_imported_is_one_sentence(script, text, sentence):
    """In a process of its own: what torch logs and Python prints is seen too."""
    (script.parent / "broken.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "roofline", "account", "broken.py:f"],
        cwd=script.parent, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert f"broken.py {sentence}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_torch_logs_of_a_refusal_is_not_printed(script):
    done = subprocess.run(
        [sys.executable, "-m", "roofline", "account", "net.py:product",
         "--shape", "32,16", "--shape", "16,4"],
        cwd=script.parent, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    imported, sentence = done.stderr.splitlines()
    assert imported == "imported"
    assert sentence.startswith("roofline: product raised RuntimeError with inputs 32x16, 16x4")


@pytest.mark.parametrize("tensors", ["--fake", "--real"])
def test_a_function_that_does_a_whole_step_is_counted(script, capsys, tensors):
    """2x4 times 4x3: 48 flop, and as many for the weight's gradient; inputs need none."""
    phases = {
        i["name"]: i for i in document(capsys, "net.py:step", tensors, "--by", "phase")["items"]
    }
    assert phases["forward"]["flop"] == 48
    operators = {i["name"]: i for i in document(capsys, "net.py:step", tensors)["items"]}
    assert operators["aten::mm"]["flop"] == 96
    assert operators["aten::mm"]["calls"] == 2
    assert document(capsys, "net.py:loss", tensors)["flop"] == 48 + 6  # one a sum


def test_a_script_that_reads_its_arguments_has_none(script):
    """roofline's own words on the command line are not the script's."""
    path = script.parent / "reads.py"
    path.write_text(
        "import argparse, sys, torch\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--width', type=int, default=4)\n"
        "width = parser.parse_args().width\n"
        "def model():\n"
        "    assert sys.argv == ['reads.py']\n"
        "    return torch.mm, (torch.zeros(4, 4), torch.zeros(4, width))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "roofline", "account", "reads.py:model", "--json"],
        cwd=script.parent, capture_output=True, text=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["flop"] == 2 * 4 * 4 * 4


def test_json_is_alone_on_standard_output(script):
    done = subprocess.run(
        [sys.executable, "-m", "roofline", "account", "net.py:model", "--json"],
        cwd=script.parent, capture_output=True, text=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["flop"] == 528_896
    assert "imported" in done.stderr


def test_a_pipe_that_the_device_lacks_is_said(tmp_path, capsys):
    """bf16 on a V100 runs on its fp32 units."""
    path = tmp_path / "lacking.py"
    path.write_text("import torch\n\ndef product():\n    a = torch.ones(8, 8, dtype=torch.bfloat16)\n"
                    "    return torch.mm, (a, a)\n")  # fmt: skip
    words = ["account", f"{path}:product", "--device", "v100-sxm2-32gb"]
    assert main([*words, "--json"]) == 0
    (served,) = json.loads(capsys.readouterr().out)["served"]
    assert (served["resource"], served["by"]) == ("tensor-bf16", "vector-fp32")
    assert main(words) == 0
    assert f", on vector-fp32: {served['why']}" in " ".join(capsys.readouterr().out.split())
    assert main([*words[:-1], "h100-sxm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["served"] == []
