"""Traces in trouble, one test a kind: what is kept, what is marked, what is said."""

import gzip
import json

import pytest

from roofline.device import TENSOR_FP16, VECTOR_FP32
from roofline.errors import BadInput
from roofline.importers import Options, load
from roofline.program import read
from roofline.report.document import of_run
from tests.importers.kineto.traces import Trace, matmul

MM = 2 * 64 * 32 * 16  # flop of `matmul`


def said(run) -> str:
    return "\n".join([*run.recorder.warnings, *(f"{gap.name}: {gap.what}" for gap in run.gaps)])


def written(tmp_path, text: str | bytes, name="trace.json"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load([path])


def flop(run) -> int:
    return sum(item.ledger.flop for item in read(run).by("call") if item.ledger)


def test_fp8_as_amd_spells_it(tmp_path):
    """2 * 64^3 on tensor-fp8; 64^2 B twice in; the result, of ScalarType 15 (bf16), 2 * 64^2 B out."""
    trace = Trace()
    fnuz, scale = ((64, 64), "c10::Float8_e4m3fnuz"), ((1,), "fp32")
    trace.op("aten::_scaled_mm", 0, 5.0, fnuz, fnuz, scale, scale, "", "", "15", "False")
    trace.kernel("gemm", 10, 20, launch=1)
    (item,) = of_run(load([trace.write(tmp_path / "fp8.json")]))["items"]

    assert item["demand"]["tensor-fp8"] == 524_288
    assert item["unaccounted"] == []


# Durations and times


def test_one_graph_launch_for_most_of_the_time(tmp_path):
    """3 us of an operator and 97 us of a graph: coverage is 3 %."""
    trace = Trace()
    matmul(trace, 0, kernel_us=3.0)
    for at in range(97):
        trace.kernel(f"void layer<{at % 2}>(float*)", 100 + at, 1, correlation=900)
    trace.add("cuda_runtime", "cudaGraphLaunch", 50, 5, args={"correlation": 900})
    run = load([trace.write(tmp_path / "graph.json")])
    program = read(run)
    launch = next(at for at, row in enumerate(run.rows()) if row["kind"] == "launch"
                  and run.signatures[row["signature"]].name == "cudaGraphLaunch")  # fmt: skip

    assert program.whole.coverage == pytest.approx(0.03)
    assert {item.name: item.calls for item in program.by("kernel")} == {
        "aten::mm": 1, "layer<0>": 49, "layer<1>": 48,
    }  # fmt: skip
    assert [row["parent"] for row in run.rows() if row["kind"] == "kernel"][1:] == [launch] * 97
    (line,) = [item for item in program.by("kernel") if item.name == "layer<0>"]
    assert line.ledger.unaccounted
    assert not line.ledger.entries
    assert (
        "graph launches: 1 graph launch replayed 97 device activities, 97% of device time"
        in said(run)
    )


def test_kernels_from_before_the_recording(tmp_path):
    """7 us of a kernel whose launch is not there are in no step."""
    trace = Trace()
    trace.kernel("leftover", 0, 7)
    matmul(trace, 20)
    run = load([trace.write(tmp_path / "early.json")])

    assert [(gap.name, gap.count, gap.seconds) for gap in run.gaps] == [
        ("activities without a launch", 1, pytest.approx(7e-6))
    ]
    assert [item.name for item in read(run).by("kernel")] == ["aten::mm"]
    assert read(run).whole.busy_s == pytest.approx(100e-6)


def test_streams_that_overlap_are_not_busy_twice(tmp_path):
    """0..100 on one stream and 50..120 on another: 170 us of kernels in 120 us."""
    trace = Trace()
    trace.op("aten::mm", 0, 5.0, ((64, 32), "fp32"), ((32, 16), "fp32"))
    trace.kernel("a", 10, 100, launch=1, stream=7)
    trace.kernel("b", 60, 70, launch=2, stream=8)
    program = read(load([trace.write(tmp_path / "two.json")]))

    assert program.whole.busy_s == pytest.approx(120e-6)
    assert program.by("call")[0].measured_s == pytest.approx(170e-6)


def test_a_kernel_that_outlasts_the_next_of_its_stream(tmp_path):
    """(0, 10), (12, 3,400,000), (20, 5) on one stream: the second cannot be."""
    trace = Trace()
    for number, (at, us) in enumerate([(0, 10), (12, 3_400_000), (20, 5)]):
        trace.op(f"my::k{number}", at - 40, 2.0, ((4, 4), "fp32"))
        trace.kernel(f"k{number}", at, us, launch=at - 39)
    run = load([trace.write(tmp_path / "long.json")])
    program = read(run)

    assert [row["duration_ns"] for row in run.rows() if row["kind"] == "kernel"] == [
        10_000,
        None,
        5_000,
    ]
    assert [(item.name, item.measured_s) for item in program.by("call")] == [
        ("my::k0", pytest.approx(10e-6)), ("my::k2", pytest.approx(5e-6)), ("my::k1", None),
    ]  # fmt: skip
    assert "1 device activity would still run after later ones" in said(run)
    assert program.whole.step_s < 1e-3


def test_durations_below_zero_of_zero_and_a_start_of_zero(tmp_path):
    trace = Trace(base=1_700_000_000_000_000)
    matmul(trace, 0, kernel_us=-1)
    matmul(trace, 200, kernel_us=0)
    matmul(trace, 400, kernel_us=20)
    trace.op("aten::relu", 600, 5, ((4, 4), "fp32"))["ts"] = 0
    run = load([trace.write(tmp_path / "odd.json")])

    assert [row["duration_ns"] for row in run.rows() if row["kind"] == "kernel"] == [
        None,
        None,
        20_000,
    ]
    assert "unknown, since below zero or no number: 1 duration" in said(run)
    assert "shorter than the trace can tell (0 us): durations of 1 device activity" in said(run)
    assert "left out, without a usable start: 1 event" in said(run)
    assert run.steps[0].duration_ns == 430_001  # 0 to 410 + 20 us


def test_a_duration_that_is_not_there_is_said(tmp_path):
    """Of a kernel and of an operator, beside one below zero."""
    trace = Trace()
    for number in range(3):
        matmul(trace, 200 * number)
    del trace.events[2]["dur"]
    del trace.events[3]["dur"]
    trace.events[-1]["dur"] = -1
    run = load([trace.write(tmp_path / "absent.json")])

    assert "unknown, since not recorded: 2 durations" in said(run)
    assert "unknown, since below zero or no number: 1 duration" in said(run)


@pytest.mark.parametrize("unit", ["ns", "ms", "us"])
def test_times_are_microseconds_whatever_the_display_unit(tmp_path, unit):
    trace = Trace(displayTimeUnit=unit)
    matmul(trace, 0, kernel_us=12.345)
    run = load([trace.write(tmp_path / "unit.json")])
    assert [r["duration_ns"] for r in run.rows() if r["kind"] == "kernel"] == [12_345]


def test_nanoseconds_survive_times_since_1970(tmp_path):
    """1.7e15 us need 61 bits with three decimals: a double holds 53."""
    trace = Trace(base=0)
    trace.op("aten::relu", 111, 0.5, ((4, 4), "fp32"))
    trace.op("aten::abs", 222, 1.0, ((4, 4), "fp32"))
    text = trace.text().replace('"ts": 111', '"ts": 1700000000000000.001')
    run = written(tmp_path, text.replace('"ts": 222', '"ts": 1700000000000000.987'))
    starts = [row["start_ns"] for row in run.rows()]
    assert starts[1] - starts[0] == 986


def test_times_as_text(tmp_path):
    trace = Trace()
    for event in (
        trace.op("aten::relu", 0, 1.5, ((4, 4), "fp32")),
        trace.op("aten::abs", 3, 1, ((4, 4), "fp32")),
    ):
        event["ts"], event["dur"] = str(event["ts"]), str(event["dur"])
    run = load([trace.write(tmp_path / "text.json")])
    assert [(r["start_ns"], r["duration_ns"]) for r in run.rows()] == [(0, 1500), (3000, 1000)]


# Files that are cut, bent or odd


def test_truncated(tmp_path):
    trace = Trace()
    for at in range(5):
        matmul(trace, 1000 * at)
    text = trace.text()
    run = written(tmp_path, text[: text.rindex('"cudaLaunchKernel"') + 5])

    assert flop(run) == 4 * MM  # the last mm has lost its launch: nothing says it ran on the device
    assert (
        "the file ends in the middle of its list of events; what stands before that was read"
        in said(run)
    )


def test_a_gzip_file_that_is_cut(tmp_path):
    trace = Trace()
    for at in range(300):
        matmul(trace, 1000 * at)
    data = gzip.compress(trace.text().encode())
    run = written(tmp_path, data[: len(data) * 3 // 4])
    assert 100 * MM < flop(run) < 300 * MM
    assert "the file is damaged or cut off" in said(run)


@pytest.mark.parametrize(
    ("bad", "mended"),
    [
        ('"name": "aten::mm\n"', True),  # a raw line break in a name
        ('"name": "aten::\x01mm"', True),
        ('"name": "a "quoted" name"', True),
        (r'"name": "C:\queue"', True),  # \q is no escape
        ('"name": "aten::mm", "dur": NaN, "x": 1', True),
        ('"name": "aten::mm", "x": Infinity', True),
        ('"name": "aten::mm", "x": -Infinity', True),
        ('"name": "aten::mm" "x": 1', False),  # no comma
        ('"name": ["aten::mm"]', False),  # a list for a name
    ],
)
def test_one_event_that_is_not_json(tmp_path, bad, mended):
    trace = Trace()
    for at in range(3):
        matmul(trace, 1000 * at)
    first, rest = trace.text().split('"name": "aten::mm"', 1)
    run = written(tmp_path, first + bad + rest)

    assert (
        3 if mended and "aten::mm" in bad and "\n" not in bad and "\x01" not in bad else 2
    ) * MM == flop(run)
    assert ("not valid JSON: 1 event" if mended else "not to be read: 1 event") in said(run)


def test_numbers_beyond_64_bits_and_letters_that_are_none(tmp_path):
    trace = Trace()
    matmul(trace, 0)
    trace.op("aten::relu", 50, 5, ((4, 4), "fp32"), args={"External id": 2**70})
    trace.kernel("relu", 120, 5, launch=51, stream=2**66)
    text = trace.text().encode().replace(b"sgemm", b"sg\xff\xfeemm")
    run = written(tmp_path, text)
    assert flop(run) == MM + 16
    assert "mended" in said(run)


def test_keys_after_the_events_and_none_of_them(tmp_path):
    trace = Trace(distributedInfo={"rank": 3, "world_size": 8}, baseTimeNanoseconds=0)
    matmul(trace, 0)
    run = load([trace.write(tmp_path / "late.json", events_first=True)])
    assert run.device.id == "nvidia-h200-sxm-141gb"
    assert (run.recorder.versions["rank"], run.recorder.versions["world size"]) == ("3", "8")

    bare = written(tmp_path, json.dumps({"traceEvents": trace.events}), "job_rank12.pt.trace.json")
    assert bare.device is None
    assert bare.recorder.versions["rank"] == "12"
    assert "the trace does not name the GPU it ran on; --device NAME does" in said(bare)
    listed = written(tmp_path, json.dumps(trace.events), "list.json")
    assert flop(listed) == flop(bare) == flop(run) == MM


def test_any_layout_of_the_same_events_is_the_same_run(tmp_path):
    trace = Trace()
    for at in range(20):
        matmul(trace, 1000 * at)
    document = {**trace.about, "traceEvents": trace.events}
    texts = [trace.text(), json.dumps(document), json.dumps(document, indent=2),
             json.dumps(document, separators=(",", ":")), trace.text().replace("\n", "\r\n"),
             json.dumps(document, indent="\t")]  # fmt: skip
    runs = [written(tmp_path, text) for text in texts]
    assert all(run.rows() == runs[0].rows() for run in runs)
    assert all(run.signatures == runs[0].signatures for run in runs)


def test_many_chunks(tmp_path, monkeypatch):
    """Chunks of 4 kB cut the text in every place."""
    from roofline.importers.kineto.read import stream

    trace = Trace()
    for at in range(200):
        matmul(trace, 1000 * at)
        trace.op(f'odd "}},\n  {{ {at}', 1000 * at + 700, 5)
    whole = load([trace.write(tmp_path / "t.json")])
    monkeypatch.setattr(stream, "CHUNK", 4096)
    cut = load([tmp_path / "t.json"])

    assert flop(whole) == 200 * MM
    assert cut.rows() == whole.rows()
    assert cut.recorder == whole.recorder


# What is not recorded


def test_only_the_processor(tmp_path):
    trace = Trace(deviceProperties=[])
    trace.op("aten::mm", 0, 50.0, ((64, 32), "fp32"), ((32, 16), "fp32"))
    run = load([trace.write(tmp_path / "cpu.json")])

    assert flop(run) == MM
    assert read(run).by("call")[0].measured_s == pytest.approx(50e-6)
    assert "the trace does not name the processor it ran on; --device NAME does" in said(run)


def test_only_the_device(tmp_path):
    trace = Trace()
    trace.kernel("void gemm<float>(float*)", 0, 30)
    run = load([trace.write(tmp_path / "gpu.json")])

    assert [(i.name, i.measured_s) for i in read(run).by("kernel")] == [
        ("gemm<float>", pytest.approx(30e-6))
    ]
    assert read(run).whole.coverage == 0.0
    assert "the trace holds no operators, so the work of its kernels is unknown" in said(run)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"schema": "1.0.1", "pid": 1, "nodes": [{"name": "x", "id": 2, "rf_id": 0}]}',
         "is a PyTorch execution trace, which has no times: profile with torch.profiler.profile"),
        ('{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [{"name": "x", "id": 2}]}',
         "is a PyTorch execution trace, which has no times"),
        ('{"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": []}',
         "is a speedscope file, which has call stacks but no operators"),
        ('{"traceEvents": []}', "holds no trace event with a duration"),
        ('{"traceEvents": [{"ph": "X", "cat": "blink", "name": "paint", "ts": 1, "dur": 2}]}',
         "holds no operator and no kernel of a PyTorch profiler, only 1 of blink"),
        ('{"traceEvents": [{"ph": "X", "cat": "bl\\nink", "name": "paint", "ts": 1, "dur": 2}]}',
         "holds no operator and no kernel of a PyTorch profiler, only 1 of bl ink"),
        ('{"schemaVersion": 1, "deviceProperties": []}', "holds no list of trace events"),
    ],
)  # fmt: skip
def test_other_json_has_its_sentence(tmp_path, text, sentence):
    with pytest.raises(BadInput) as caught:
        written(tmp_path, text)
    assert str(caught.value).startswith(f"trace.json {sentence}")
    assert "\n" not in str(caught.value)


def test_flop_is_counted_from_shapes_not_from_a_flag(tmp_path):
    """with_flops writes no flop into a trace."""
    trace = Trace(with_flops=1, record_shapes=1)
    matmul(trace, 0)
    assert flop(load([trace.write(tmp_path / "flops.json")])) == MM


def test_shapes_that_were_not_recorded(tmp_path):
    trace = Trace()
    trace.op("aten::mm", 0, 5.0)
    trace.kernel("sgemm", 10, 30, launch=1)
    run = load([trace.write(tmp_path / "bare.json")])

    assert read(run).whole.coverage == 0.0
    assert flop(run) == 0
    assert "shapes were not recorded (record_shapes=True records them); such as aten::mm" in said(
        run
    )
    (unknown,) = [f for f in of_run(run)["findings"] if f["code"] == "RF002"]
    assert unknown["evidence"][0].endswith(
        "shapes were not recorded (record_shapes=True records them)"
    )
    assert unknown["next_step"] == (
        "record again with shapes: torch.profiler.profile(record_shapes=True)"
    )


def test_launch_limited_addmm(tmp_path):
    """addmm [141, 512] x [512, 512] fp16: 2 * 141 * 512 * 512 and 141 * 512 for the bias."""
    trace = Trace(deviceProperties=[{"id": 0, "name": "NVIDIA H100 80GB HBM3"}])
    trace.op(
        "aten::addmm",
        0,
        5.0,
        ((512,), "fp16"),
        ((141, 512), "fp16"),
        ((512, 512), "fp16"),
        "1",
        "1",
    )
    trace.kernel("ampere_h16816gemm", 10, 5.824, launch=1, grid=[4, 2, 1], block=[128, 1, 1])
    (line,) = read(load([trace.write(tmp_path / "small.json")])).by("call")
    demand = line.ledger.demand()

    assert (demand[TENSOR_FP16], demand[VECTOR_FP32]) == (73_924_608, 72_192)
    rate = next(b.ceiling.rate for b in line.placement.bounds if b.demanded == TENSOR_FP16)
    assert demand[TENSOR_FP16] / 5.824e-6 / rate == pytest.approx(0.0128, abs=2e-4)


def test_the_dialect_of_2021(tmp_path):
    """Categories in words, threads as text, ids in small letters, no types."""
    events = [
        {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 9, "tid": "77", "ts": 1610366662254362,
         "dur": 20, "args": {"Input dims": [[4, 8], [8, 2]], "Input type": [], "External id": 2}},
        {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": "77", "ts": 1610366662254365,
         "dur": 5, "args": {"cbid": 211, "correlation": 31, "external id": 2}},
        {"ph": "X", "cat": "Kernel", "name": "void gemm(float*)", "pid": 0, "tid": "stream 7",
         "ts": 1610366662254390, "dur": 9, "args": {"device": 0, "stream": 7, "correlation": 31, "external id": 0}},
        {"ph": "X", "cat": "Memset", "name": "Memset (Device)", "pid": 0, "tid": "stream 7",
         "ts": 1610366662254400, "dur": 2, "args": {"device": 0, "stream": 7, "correlation": 32, "bytes": 64}},
    ]  # fmt: skip
    run = written(tmp_path, json.dumps({"schemaVersion": 1, "traceEvents": events}, indent=1))
    rows = run.rows()

    assert [(r["kind"], r["parent"], r["stream"], r["duration_ns"]) for r in rows] == [
        ("op", None, None, 20_000), ("kernel", 0, 7, 9_000), ("memcpy", None, 7, 2_000),
        ("launch", 0, None, 5_000),
    ]  # fmt: skip
    assert "the trace does not hold the types of its tensors; such as aten::mm" in said(run)
    assert [row["step"] for row in rows] == [0, 0, -1, 0]  # the memset's launch is not there


def test_steps_of_the_profiler_without_the_one_that_was_cut(tmp_path):
    """Three annotations; the last holds nothing."""
    trace = Trace()
    for at in range(3):
        trace.add("user_annotation", f"ProfilerStep#{at + 5}", 1000 * at, 1000 if at < 2 else 3)
        if at < 2:
            matmul(trace, 1000 * at + 100, kernel_us=990 if at else 100)
    run = load([trace.write(tmp_path / "steps.json")])

    assert [(step.name, step.start_ns, step.duration_ns) for step in run.steps] == [
        ("ProfilerStep#5", 0, 1_000_000),
        ("ProfilerStep#6", 1_000_000, 1_100_000),  # the device ends at 1110 + 990 us
    ]
    assert [row["step"] for row in run.rows() if row["kind"] == "kernel"] == [0, 1]


def test_nothing_private_comes_along(tmp_path):
    trace = Trace(username="ann", host_name="node17", traceName="/home/ann/x.json")
    trace.op("triton_poi_0", 0, 9, ((4, 4), "fp32"),
             args={"kernel_backend": "triton", "kernel_file": "/home/ann/cache/k.py"})  # fmt: skip
    trace.add("python_function", "/home/ann/net.py(3): forward", 0, 8)
    trace.op("mine::load", 10, 9, ((4, 4), "fp32"), "/home/ann/weights.bin")
    trace.op("aten::from_file", 20, 9, "ann.bin", "True", "4")
    trace.op("aten::gelu", 30, 9, ((4, 4), "fp32"), "tanh")
    path = trace.write(tmp_path / "mine.json")
    run = load([path])
    kept = load([path], Options(keep_private=True))

    for secret in ("ann", "node17", "/home"):
        assert secret not in repr((run.recorder, run.signatures, run.gaps, run.rows()))
    assert [s.call.arg(1) for s in run.signatures if s.name == "aten::gelu"] == ["tanh"]
    assert "/home/ann/weights.bin" in repr(kept.signatures)
    assert (kept.recorder.versions["user"], kept.recorder.versions["host"]) == ("ann", "node17")


@pytest.mark.parametrize("name", ["NVIDIA PG506-230", "AMD Radeon Graphics"])
def test_a_device_without_a_datasheet_is_named(tmp_path, name):
    """It keeps its times; the warning says which device it is, so that one can be chosen."""
    trace = Trace(deviceProperties=[{"id": 0, "name": name}])
    matmul(trace, 0)
    run = load([trace.write(tmp_path / "unknown.json")])

    assert run.device is None
    assert any(f"no ceilings for the device of the trace: no device {name!r}" in w
               for w in run.recorder.warnings)  # fmt: skip


def test_work_that_needs_nothing_on_no_device_has_no_share_of_a_roof(tmp_path):
    """A rank that only allocates: its operators need nothing, and nobody knows on what."""
    trace = Trace(deviceProperties=[])
    trace.op("aten::empty", 0, 9, "[4, 4]", "6", "", "", "", "")
    document = of_run(load([trace.write(tmp_path / "rank-3.json")]))

    assert document["answer"][0].endswith(
        "without ceilings of its device, how far that is from the roof is unknown."
    )


def test_a_gpu_without_a_name_is_told_by_its_size(tmp_path):
    """ROCm of some versions writes none: 304 multiprocessors have the MI300X and the MI325X."""
    named = {"id": 0, "name": "", "numSms": 304, "totalGlobalMem": 206141652992}
    trace = Trace(deviceProperties=[named])
    matmul(trace, 0)
    run = load([trace.write(tmp_path / "nameless.json")])

    assert run.device is None
    assert run.recorder.warnings == (
        "the trace does not name the GPU it ran on; --device NAME does; it has 304 multiprocessors, "
        "as has amd-mi300x or amd-mi325x, and 206 GB of memory",
    )
