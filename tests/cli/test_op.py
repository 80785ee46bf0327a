"""`roofline op` end to end, in this process."""

import json
from datetime import date

import pytest

from roofline.bench.cpu import host
from roofline.cli import main
from roofline.device import DRAM, Ceiling, Device
from roofline.devices import kept
from roofline.provenance import Basis, Provenance

GEMM = ["op", "gemm", "m=1", "n=4096", "k=4096", "dtype=fp16"]
STATED = ["--compute", "120 TFLOP/s", "--bandwidth", "2 TB/s"]


def document(capsys, *argv):
    assert main([*argv, "--json"]) == 0
    out = capsys.readouterr()
    assert out.err == ""
    return json.loads(out.out)


def test_the_documented_example(capsys):
    """33,570,816 B at 2 TB/s = 16.785408 us; 33,554,432 flop at 120 TFLOP/s = 0.27962 us."""
    made = document(capsys, *GEMM, *STATED)
    (item,) = made["items"]

    assert made["schema"] == "roofline.placement/1"
    assert (made["device"]["name"], made["device"]["basis"]) == (
        "stated on the command line",
        "stated",
    )
    assert (made["coverage"], made["findings"]) == (None, [])
    assert item["demand"] == {"tensor-fp16": 33554432, "dram": 33570816}
    assert item["intensity"] == {"dram": pytest.approx(0.9995, abs=5e-5)}
    assert item["ridge_point"] == {"dram": 60.0}
    first, second = item["bounds"]
    assert (first["resource"], first["amount"], first["rate"]) == ("dram", 33570816, 2e12)
    assert first["least_s"] == pytest.approx(1.6785408e-05, rel=1e-12)
    assert (second["resource"], second["basis"]) == ("tensor-fp16", "stated")
    assert second["least_s"] == pytest.approx(2.7962e-07, rel=1e-4)
    assert (item["binding"], item["placed_at"]) == ("dram", "dram")
    assert item["roof_s"] == pytest.approx(1.6785408e-05, rel=1e-12)
    assert item["serial_s"] == pytest.approx(1.7065028e-05, rel=1e-7)
    assert item["attainable_flop_per_s"] == pytest.approx(1.999e12, rel=1e-4)
    for unknown in ("measured_s", "roof_fraction", "lost_s", "overhead_s"):
        assert item[unknown] is None
    assert item["executed"] == {"tensor-fp16": None}
    assert item["achieved"].keys() == {"dram"}
    assert set(item["achieved"]["dram"].values()) == {None}
    assert item["excess"] == {"dram": None}
    assert (item["count"], item["calls"], item["unaccounted"], item["no_ceiling"]) == (
        "algorithmic", 1, [], [],
    )  # fmt: skip


def test_in_words_under_stated_rates_and_under_a_device(capsys):
    """Integer operations are no flop: no intensity of 0 is printed for them."""
    assert main([*GEMM, *STATED]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "gemm under the rates stated on the command line"
    assert "  intensity 1 flop/B at dram, ridge point 60 flop/B" in lines

    assert main(["op", "gemm", "m=16", "n=16", "k=16", "dtype=int8", "--device", "h200"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "gemm on NVIDIA H200 SXM 141GB (datasheet ceilings)"
    assert not any("intensity" in line for line in lines)


def test_a_datasheet_and_a_measured_time(capsys):
    """33,570,816 B at 3.35 TB/s = 10.02114 us of 17 us: 58.9 %."""
    (item,) = document(capsys, *GEMM, "--device", "h100-sxm", "--time", "17 us")["items"]

    assert item["roof_s"] == pytest.approx(33570816 / 3.35e12)
    assert item["roof_fraction"] == pytest.approx(0.58948, abs=1e-5)
    assert item["lost_s"] == pytest.approx(17e-6 - 33570816 / 3.35e12)


def test_the_text_says_the_same(capsys):
    assert main([*GEMM, *STATED, "--time", "20 us"]) == 0
    out = capsys.readouterr().out

    assert "> dram                   33.6 MB at     2.00 TB/s =  16.8 us  stated" in out
    assert "measured 20.0 us: 84% of the roof" in out


def test_faster_than_the_roof_is_a_finding(capsys):
    """16.785 us of least time in 8 us: 2.10 times."""
    made = document(capsys, *GEMM, *STATED, "--time", "8 us")

    assert [f["code"] for f in made["findings"]] == ["RF001"]
    assert made["items"][0]["roof_fraction"] == pytest.approx(16.785408 / 8)


def test_a_pipe_without_a_ceiling_is_named(capsys):
    """No sfu rate is stated, so exp is not bounded: named, and no error."""
    (item,) = document(capsys, "op", "softmax", "rows=8", "cols=8", *STATED)["items"]

    assert item["no_ceiling"] == ["sfu"]
    assert item["demand"]["sfu"] == 64


def test_a_window_is_counted_and_said(capsys):
    """S = 6, 2 keys back and the query's own: 1 + 2 + 4 * 3 = 15 scores of 21 causal, of 36.

    4 flop a score and element of the head.
    """
    sizes = ["op", "attention", "batch=1", "heads=2", "seq_q=6", "head_dim=8", *STATED]
    (seen,) = document(capsys, *sizes, "causal=true", "window=2")["items"]
    (both,) = document(capsys, *sizes, "window=2")["items"]

    assert seen["flop"] == 4 * 2 * 8 * 15
    assert both["flop"] == 4 * 2 * 8 * (15 + 15 - 6)  # as many ahead, the query's own once
    for item in (seen, both):
        words = " ".join(item["conventions"])
        assert "only scores inside the window" in words
        assert "every score" not in words
        assert "S(S+1)/2" not in words


def test_fp8_and_a_scaled_sum_under_the_names_that_people_use(capsys):
    """2 * 64^3 on tensor-fp8, 2 * 64^2 B read and 64^2 * 2 B written; beta reads C: 64^2 * 2 B."""
    sizes = ["op", "gemm", "m=64", "n=64", "k=64", "dtype=fp8", "out_dtype=bf16", *STATED]
    (plain,) = document(capsys, *sizes)["items"]
    (scaled,) = document(capsys, *sizes, "beta=0.5")["items"]

    assert plain["demand"] == {"tensor-fp8": 524_288, "dram": 2 * 4096 + 2 * 4096}
    assert scaled["demand"]["dram"] == 2 * 4096 + 4 * 4096
    assert [x["why"] for x in scaled["ledger"] if x["resource"].startswith("vector")] == [
        "add beta * C: 2 per output"
    ]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["op", "gem", "m=1", *STATED], "'gem'; there is gemm, gemv"),
        (["op", *STATED], "name an operator; there is gemm"),
        (["op", "gemm", "m=1", *STATED], "n"),
        (["op", "gemm", "m=1", "n=1", "k=1", "q=2", *STATED], "q"),
        (["op", "gemm", "m=0", "n=1", "k=1", *STATED], "m"),
        (["op", "gemm", "m=1.5", "n=1", "k=1", *STATED], "m"),
        (["op", "gemm", "m=1", "m=2", "n=1", "k=1", *STATED], "parameter 'm' is given twice"),
        (["op", "gemm", "4096", *STATED], "parameters are written k=v, such as m=4096; got '4096'"),
        ([*GEMM], "state a roof: --device NAME, or --compute RATE and --bandwidth RATE"),
        ([*GEMM, *STATED, "--device", "h100-sxm"], "not both"),
        ([*GEMM, "--compute", "-1 TFLOP/s"], "expected a finite, positive quantity in flop/s"),
        ([*GEMM, "--compute", "120"], "expected a quantity in flop/s"),
        ([*GEMM, "--bandwidth", "2 TFLOP/s"], "expected a quantity in B/s"),
        ([*GEMM, *STATED, "--time", "17"], "expected a quantity in s"),
        ([*GEMM, *STATED, "--time", "0 s"], "a measured time must be positive"),
        ([*GEMM, "--device", "h100"], "nvidia-h100-sxm5-80gb"),
        ([*GEMM, "--device", "h1000"], "no device 'h1000'"),
    ],
)
def test_mistakes_are_one_sentence(capsys, argv, message):
    assert main(argv) == 2
    out = capsys.readouterr()

    assert out.out == ""
    assert out.err.startswith("roofline: ")
    assert out.err.count("\n") == 1
    assert message in out.err


def test_list_names_every_operator_with_its_parameters(capsys):
    from roofline import ops

    assert main(["op", "--list"]) == 0
    out = capsys.readouterr().out
    for name in ops.FORMULAS:
        assert f"\n{name} " in f"\n{out}"
        for parameter in ops.parameters(name):
            assert parameter.name in out
    listed = document(capsys, "op", "--list")
    assert [o["name"] for o in listed["operators"]] == list(ops.FORMULAS)


def test_a_cpu_fetches_the_lines_it_writes(capsys):
    """fp64 triad of 1e7: 240 MB by the formula; 80 MB more are fetched to be written."""
    (item,) = document(capsys, "op", "triad", "n=10000000", "--device", "epyc-9654")["items"]
    assert item["demand"]["dram"] == 240_000_000
    assert item["executed"] == {"vector-fp64": None, "dram": 320_000_000}
    fetched = [e for e in item["executed_ledger"] if "write-allocate" in e["why"]]
    assert [(e["amount"], e["access"], e["exactness"]) for e in fetched] == [
        (80_000_000, "read", "estimate")
    ]
    assert any("fetches the lines it writes" in text for text in item["conventions"])
    # The roof time is the formula's: 240 MB at 460.8 GB/s.
    assert item["roof_s"] == pytest.approx(240e6 / 460.8e9)
    assert main(["op", "triad", "n=10000000", "--device", "epyc-9654"]) == 0
    assert (
        "320 MB  executed, 1.33 x the formula: 80.0 MB fetch the lines written"
        in capsys.readouterr().out
    )
    (on_gpu,) = document(capsys, "op", "triad", "n=10000000", "--device", "h100-sxm")["items"]
    assert on_gpu["executed"] == {"vector-fp64": None}


def test_tensor_cores_run_whole_tiles(capsys):
    """One row: 2*8*8192*8192 for 2*1*8192*8192; the backward of attention five halves, causal 136 of 256 tiles."""
    row = ["op", "gemm", "m=1", "n=8192", "k=8192", "dtype=bf16", "--device"]
    (item,) = document(capsys, *row, "h100-sxm")["items"]
    assert item["executed"]["tensor-bf16"] == 8 * item["demand"]["tensor-bf16"] == 1_073_741_824
    # Tiles of other makers and older generations are not known.
    for other in ("mi300x", "v100-sxm2-32gb"):
        (item,) = document(capsys, *row[:-2], "dtype=fp16", "--device", other)["items"]
        assert item["executed"] == {"tensor-fp16": None}
    (item,) = document(capsys, "op", "attention", "batch=4", "heads=16", "seq_q=2048", "head_dim=128",
                       "causal=true", "dtype=bf16", "backward=true", "--device", "h200")["items"]  # fmt: skip
    assert item["executed"]["tensor-bf16"] == 182_536_110_080


def test_the_pipe_that_stands_in_is_said_with_its_reason(capsys):
    """A V100 has no bf16: 2 * 512^3 flop at the 15.7 Tflop/s of fp32."""
    words = ["op", "gemm", "m=512", "n=512", "k=512", "dtype=bf16", "--device", "v100-sxm2-32gb"]
    (item,) = document(capsys, *words)["items"]
    (bound,) = [b for b in item["bounds"] if b["resource"] == "tensor-bf16"]
    assert (bound["served_by"], bound["rate"]) == ("vector-fp32", 15.7e12)
    assert bound["served_why"]
    assert main(words) == 0
    assert f"on vector-fp32: {bound['served_why']}" in capsys.readouterr().out


def test_cpu_is_the_one_measured_here(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))
    for command in ([*GEMM, "--device", "cpu"], ["devices", "cpu"]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert "nothing measured is kept for cpu" in said
        assert "`roofline measure` measures and keeps it" in said
    where = Provenance(basis=Basis.MEASURED, source="a loop", as_of=date(2026, 1, 2))
    ceiling = Ceiling(resource=DRAM, rate=2e10, provenance=where)
    kept.keep(Device(id=host.device_id(), name="Toy 9000", kind="cpu", ceilings=(ceiling,)))
    made = document(capsys, *GEMM, "--device", "cpu")
    assert made["device"]["name"] == "Toy 9000"
    # 33,570,816 B at 20 GB/s
    assert made["items"][0]["roof_s"] == pytest.approx(33570816 / 2e10)
    assert document(capsys, "devices", "cpu")["devices"][0]["id"] == host.device_id()
