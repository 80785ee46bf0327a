"""JAX profiler traces, written by hand in the form of its trace.json.gz."""

import gzip
import json

import pytest

from roofline.device import DRAM
from roofline.errors import BadInput
from roofline.importers import Options, load

HEAD = [
    {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
    {"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}},
    {
        "ph": "M",
        "pid": 1,
        "tid": 20,
        "name": "thread_name",
        "args": {"name": "Stream #20(Compute)"},
    },
    {"ph": "M", "pid": 1, "tid": 99, "name": "thread_name", "args": {"name": "XLA Modules"}},
    {"ph": "M", "pid": 701, "tid": 5, "name": "thread_name", "args": {"name": "python"}},
]


def ran(name, ts, dur, tid=20, pid=1, **args):
    """One complete event."""
    return {"ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": dur, "name": name, "args": args}


def imported(folder, *events, head=HEAD, **options):
    """A gzipped trace of these events."""
    text = json.dumps(
        {
            "displayTimeUnit": "ns",
            "metadata": {"highres-ticks": True},
            "traceEvents": [*head, *events, {}],
        }
    )
    (folder / "trace").write_bytes(gzip.compress(text.encode()))
    return load([folder / "trace"], Options(**options))


FUSION = {
    "hlo_module": "jit_train", "hlo_op": "fusion.3", "tf_op": "jit(train)/jit(main)/layer1/dot_general",
    "kernel_details": "regs:32 static_shared:0 dynamic_shared:1024 grid:264,2,1 block:128,1,1 occ_pct:75",
}  # fmt: skip


def test_kernels_of_a_gpu(tmp_path):
    """1.5 us at 10 us, in the scope layer1; 528 blocks of 128; the module's own view is not a kernel."""
    run = imported(
        tmp_path,
        ran("fusion_3", 10.0, 1.5, **FUSION),
        ran("jit_train", 10.0, 9.0, tid=99),
        device="h100-sxm",
    )
    (row,) = run.rows()

    assert run.signatures[0].name == "fusion_3"
    assert (row["start_ns"], row["duration_ns"], row["module"], row["stream"]) == (
        0,
        1500,
        "layer1",
        20,
    )
    assert row["counters"] == {
        "registers per thread": 32, "grid": 528, "block": 128, "est. achieved occupancy %": 75, "shared memory": 1024,
    }  # fmt: skip


def test_copies(tmp_path):
    """4,096 B from the host."""
    copy = ran(
        "MemcpyH2D",
        1.0,
        2.0,
        memcpy_details="kind_src:pinned kind_dst:device size:4096 dest:0 async:1",
    )
    run = imported(tmp_path, copy)

    assert run.rows()[0]["kind"] == "memcpy"
    assert run.signatures[0].ledger.demand()[DRAM] == 4096


def test_annotated_steps(tmp_path):
    """A step lasts until the next; the last until the device is done."""
    steps = [ran("train", 100.0 * n, 5.0, tid=5, pid=701, step_num=n) for n in (1, 2)]
    kernels = [ran("k", 150.0, 10.0, hlo_op="a"), ran("k", 250.0, 30.0, hlo_op="a")]
    run = imported(tmp_path, *steps, *kernels)

    assert [step.name for step in run.steps] == ["train 1", "train 2"]
    assert [row["step"] for row in run.rows()] == [0, 1]
    assert [step.duration_ns for step in run.steps] == [100_000, 80_000]


def test_operations_of_a_tpu(tmp_path):
    """Exact durations in picoseconds, bytes by XLA's cost model; its flop name no type."""
    head = [
        {"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "/device:TPU:0"}},
        {"ph": "M", "pid": 3, "tid": 1, "name": "thread_name", "args": {"name": "XLA Ops"}},
        {"ph": "M", "pid": 3, "tid": 2, "name": "thread_name", "args": {"name": "Steps"}},
    ]
    fusion = ran("fusion.1", 5.0, 2.0, tid=1, pid=3, device_duration_ps="2500000", model_flops="128",
                 raw_bytes_accessed="65536")  # fmt: skip
    run = imported(tmp_path, fusion, ran("0", 0.0, 99.0, tid=2, pid=3), head=head)
    ledger = run.signatures[0].ledger

    assert [row["duration_ns"] for row in run.rows()] == [2500]
    assert ledger.demand() == {DRAM: 65_536}
    assert ledger.unaccounted == ("flop: XLA's count names no type",)


def test_a_cpu_only_trace(tmp_path):
    """Host events that name an operation are what ran; others are not."""
    run = imported(
        tmp_path,
        ran("dot.3", 1.0, 4.0, tid=5, pid=701, hlo_op="dot.3"),
        ran("python call", 0.0, 9.0, tid=5, pid=701),
    )

    assert [run.signatures[r["signature"]].name for r in run.rows()] == ["dot.3"]


def test_two_devices(tmp_path):
    """The busier is the run, the other a gap."""
    head = [*HEAD, {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/device:GPU:1"}}]
    run = imported(tmp_path, ran("a", 0.0, 5.0), ran("b", 0.0, 50.0, pid=2), head=head)

    assert [s.name for s in run.signatures] == ["b"]
    assert [(gap.name, gap.seconds) for gap in run.gaps] == [("/device:GPU:0", 5e-6)]


def test_the_time_of_another_device_may_be_unknown(tmp_path):
    """A negative duration is none: how long it took nobody knows, which is not 0."""
    head = [*HEAD, {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/device:GPU:1"}}]
    run = imported(tmp_path, ran("a", 0.0, -5.0), ran("b", 0.0, 50.0, pid=2), head=head)
    (gap,) = (gap for gap in run.gaps if gap.name == "/device:GPU:0")

    assert (gap.seconds, gap.count) == (None, 1)


@pytest.mark.parametrize("events", [[], [{"ph": "X", "pid": 1, "tid": 20, "ts": "soon", "dur": 1}]])
def test_nothing_that_ran(events, tmp_path):
    """One sentence."""
    with pytest.raises(BadInput):
        imported(tmp_path, *events)


def said(run) -> str:
    return "\n".join(run.recorder.warnings)


def test_times_since_1970(tmp_path):
    """Microseconds of the year 2023: two operations, 10 us apart."""
    epoch = 1.7e15
    run = imported(tmp_path, ran("a", epoch, 1.5), ran("b", epoch + 10, 1.5))

    assert [row["start_ns"] for row in run.rows()] == [0, 10_000]


def test_times_that_cannot_be(tmp_path):
    """One of another epoch, one beyond any clock, one that later ones contradict: counted."""
    late, early = ran("k", 1.7e15, 5.0), ran("k", 5e17, 5.0)
    run = imported(
        tmp_path, ran("k", 1.0, 1.0), ran("k", 3.0, 2e8), ran("k", 5.0, 1.0), ran("k", 7.0, 1.0),
        late, early,
    )  # fmt: skip

    assert [row["duration_ns"] for row in run.rows()] == [1000, None, 1000, 1000]
    assert run.steps[0].duration_ns == 7000
    assert said(run).count("left out, without a usable start: 1 device activity") == 2
    assert "1 device activity would still run after later ones" in said(run)


def test_one_event_that_cannot_be_read(tmp_path):
    """It is left out and counted."""
    run = imported(tmp_path, ran("a", "x", 1.0), ran("b", 5.0, 1.0))

    assert [s.name for s in run.signatures] == ["b"]
    assert "left out, since not to be read: 1 event" in said(run)


def test_a_number_that_is_none(tmp_path):
    """NaN for a duration: unknown; in a text it is a text."""
    run = imported(tmp_path, ran("NaN, inf", 1.0, float("nan")), ran("b", 5.0, 1.0))

    assert [row["duration_ns"] for row in run.rows()] == [None, 1000]
    assert run.signatures[0].name == "NaN, inf"
    assert "unknown, since no number (NaN or infinite): 1 value" in said(run)


@pytest.mark.parametrize("packed", [True, False])
def test_cut_off(packed, tmp_path):
    """What stands whole before that is read."""
    text = json.dumps({"traceEvents": [*HEAD, *(ran(f"k{n}", 10.0 * n, 1.0) for n in range(2000))]})
    data = gzip.compress(text.encode()) if packed else text.encode()
    (tmp_path / "trace").write_bytes(data[: len(data) // 2])
    run = load([tmp_path / "trace"])
    names = [run.signatures[row["signature"]].name for row in run.rows()]

    assert names == [f"k{n}" for n in range(len(names))]
    assert 500 < len(names) < 2000
    assert "cut off" in said(run)


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("jit(train)/home/ann/dot", ""),
        ("jit(train)/layer1/home/ann/model.py/attn/dot", "layer1.model.py.attn"),
        ("/home/ann/model.py:12/dot", "model.py:12"),
    ],
)
def test_scopes_without_paths(path, module, tmp_path):
    """The file's name stays, where one is named."""
    run = imported(tmp_path, ran("a", 1.0, 1.0, tf_op=path))

    assert run.rows()[0]["module"] == module
    assert "ann" in imported(tmp_path, ran("a", 1.0, 1.0, tf_op=path), keep_private=True).rows()[0]["module"]  # fmt: skip


def test_a_loop_of_a_tpu_is_around_its_body(tmp_path):
    """Operations inside it end before it does; its time is believed."""
    head = [
        {"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "/device:TPU:0"}},
        {"ph": "M", "pid": 3, "tid": 1, "name": "thread_name", "args": {"name": "XLA Ops"}},
    ]
    body = [ran("fusion", 1.0 + 2 * n, 1.0, tid=1, pid=3) for n in range(200)]
    run = imported(tmp_path, ran("while", 0.0, 500.0, tid=1, pid=3), *body, head=head)

    assert run.rows()[0]["duration_ns"] == 500_000
